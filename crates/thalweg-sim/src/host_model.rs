//! Host model of user-space transports: a thread that wakes late, works for a while, and sleeps again.

use thalweg_proto::units::{Bytes, Duration};

/// The host of one endpoint of a flow: a thread with its own socket that receives what has arrived, sends what is due,
/// and sleeps. A round takes only the time of its configured costs; later arrivals wait for the next round. Schemes
/// that need ordered packets receive them through a [`Resequencer`](thalweg_proto::resequencer::Resequencer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSpec {
    /// Median wake-up latency, after an arrival or the expiry of a timer.
    pub wake_up_latency: Duration,
    /// 99th percentile of the wake-up latency, which is log-normally distributed.
    pub wake_up_latency_p99: Duration,
    /// Mean running time between two preemptions, exponentially distributed; zero for no preemption. Sleep does not
    /// count: a scheduler preempts only running threads.
    pub preemption_every: Duration,
    /// Mean duration of a preemption, exponentially distributed.
    pub preemption: Duration,
    /// Minimum sleep without arrivals: the timer granularity.
    pub granularity: Duration,
    /// Duration of the sleep after a round with many packets, regardless of arrivals (interrupt and wake-up
    /// coalescing).
    pub coalescing: Duration,
    /// Cost of each round, for its system calls.
    pub call: Duration,
    /// Cost of each packet sent or received.
    pub packet_cost: Duration,
    /// Cost of each byte sent or received.
    pub byte_cost: Duration,
    /// Size of the socket receive buffer; packets beyond it are dropped.
    pub buffer: Bytes,
}

/// Number of packets, in a round or in rounds without sleep between them, from which the thread sleeps for
/// `coalescing`, as the live transport does.
pub const COALESCED_PACKETS: usize = 16;

/// Maximum number of packets sent in a round before the thread receives again.
pub const MAX_SENT: usize = 256;

/// 99 % quantile of the standard normal distribution.
const P99: f64 = 2.326_347_874;

impl HostSpec {
    /// A host that responds at once and without cost.
    pub const IDEAL: Self = Self {
        wake_up_latency: Duration::ZERO,
        wake_up_latency_p99: Duration::ZERO,
        preemption_every: Duration::ZERO,
        preemption: Duration::ZERO,
        granularity: Duration::ZERO,
        coalescing: Duration::ZERO,
        call: Duration::ZERO,
        packet_cost: Duration::ZERO,
        byte_cost: Duration::ZERO,
        buffer: Bytes::new(4 << 20),
    };

    /// An idle Linux server: a virtual machine with four processors, measured by `thalweg doctor` like the others.
    pub const LINUX_SERVER: Self = Self {
        wake_up_latency: Duration::from_nanos(3600),
        wake_up_latency_p99: Duration::from_micros(28),
        preemption_every: Duration::from_millis(40),
        preemption: Duration::from_micros(65),
        granularity: Duration::from_micros(50),
        coalescing: Duration::from_micros(50),
        call: Duration::from_nanos(1150),
        packet_cost: Duration::from_nanos(200),
        byte_cost: Duration::from_picos(224),
        buffer: Bytes::new(4 << 20),
    };

    /// The same host with sixteen other threads always busy.
    pub const LINUX_LOADED: Self = Self {
        wake_up_latency: Duration::from_micros(9),
        wake_up_latency_p99: Duration::from_micros(290),
        preemption_every: Duration::from_micros(3900),
        preemption: Duration::from_micros(12_200),
        ..Self::LINUX_SERVER
    };

    /// One processor of the same host, shared with one thread that is always busy.
    pub const LINUX_SHARED: Self = Self {
        wake_up_latency: Duration::from_nanos(2900),
        wake_up_latency_p99: Duration::from_micros(14),
        preemption_every: Duration::from_micros(4000),
        preemption: Duration::from_micros(4000),
        ..Self::LINUX_SERVER
    };

    /// Returns the cost of a packet of `size` bytes.
    pub fn cost(&self, size: u32) -> Duration {
        self.packet_cost + self.byte_cost * u64::from(size)
    }

    /// Returns the standard deviation of the natural logarithm of the wake-up latency.
    pub fn sigma(&self) -> f64 {
        let ratio = self.wake_up_latency_p99.as_secs_f64()
            / self.wake_up_latency.as_secs_f64().max(f64::MIN_POSITIVE);
        if self.wake_up_latency.is_zero() { 0.0 } else { libm::log(ratio.max(1.0)) / P99 }
    }

    /// Returns the reason why the host is invalid, if it is.
    pub fn fault(&self) -> Option<&'static str> {
        let max = thalweg_queue::random_delay::LONGEST_DELAY;
        let times = [
            self.wake_up_latency_p99,
            self.preemption,
            self.granularity,
            self.coalescing,
            self.call,
            self.packet_cost,
        ];
        if !self.wake_up_latency.is_zero() && self.wake_up_latency_p99.is_zero() {
            Some("`late` needs `late-p99`, which one wake-up in a hundred exceeds")
        } else if self.wake_up_latency_p99 < self.wake_up_latency {
            Some("`late-p99` is below `late`, which half of all wake-ups exceed")
        } else if self.preemption_every.is_zero() != self.preemption.is_zero() {
            Some("`preemption` and `preemption-every` go together")
        } else if times.into_iter().any(|time| time > max) {
            Some("it answers later than after an hour")
        } else if self.buffer == Bytes::ZERO {
            Some("its socket has no room for a packet")
        } else {
            None
        }
    }
}
