//! Hosts as transports in user space meet them: a thread that is woken late, works for a while, and sleeps again.

use thalweg_proto::units::{Bytes, Duration};

/// The host of one end of a flow: a thread with a socket of its own, that takes what has come, sends what is due, and sleeps. A
/// round of it ends in no time but for its cost; what comes meanwhile waits for the next. Schemes that need order get packets in order
/// ([`Resequencer`](thalweg_proto::resequence::Resequencer)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSpec {
    /// Half of all wake-ups come later than this after what they are for: a packet that has come, a deadline that has passed.
    pub late: Duration,
    /// One wake-up in a hundred comes later than this. The logarithm of lateness is normal.
    pub late_p99: Duration,
    /// The mean time, exponentially distributed, for which the thread works between two spans in which the system runs something
    /// else; zero for never. Sleep does not count: a scheduler takes the processor from those that use it.
    pub away_every: Duration,
    /// The mean length, exponentially distributed, of such a span.
    pub away: Duration,
    /// A thread that goes to sleep sleeps at least this long where nothing comes: deadlines are no finer.
    pub granularity: Duration,
    /// The time for which a thread that has just had many packets sleeps, whatever comes (interrupts and wake-ups put together).
    pub coalescing: Duration,
    /// The cost of each round: of its system calls.
    pub call: Duration,
    /// The cost of each packet that is sent or received.
    pub packet_cost: Duration,
    /// The cost of each byte of it.
    pub byte_cost: Duration,
    /// The room of the socket for packets that have come and have not been taken; others are dropped.
    pub buffer: Bytes,
}

/// The packets that are many in a round, or in rounds with no sleep between them: those that the live transport sleeps longer for.
pub const MANY: usize = 16;

/// The packets that a round sends at most before it looks at what has come.
pub const MOST_SENT: usize = 256;

/// The standard normal distribution's quantile of 99 %.
const P99: f64 = 2.326_347_874;

impl HostSpec {
    /// A host that answers at once and works for nothing.
    pub const IDEAL: Self = Self {
        late: Duration::ZERO,
        late_p99: Duration::ZERO,
        away_every: Duration::ZERO,
        away: Duration::ZERO,
        granularity: Duration::ZERO,
        coalescing: Duration::ZERO,
        call: Duration::ZERO,
        packet_cost: Duration::ZERO,
        byte_cost: Duration::ZERO,
        buffer: Bytes::new(4 << 20),
    };

    /// A server under Linux with nothing else to do: a virtual machine with four processors, measured by `thalweg doctor`, as the
    /// others are.
    pub const LINUX_SERVER: Self = Self {
        late: Duration::from_nanos(3600),
        late_p99: Duration::from_micros(28),
        away_every: Duration::from_millis(40),
        away: Duration::from_micros(65),
        granularity: Duration::from_micros(50),
        coalescing: Duration::from_micros(50),
        call: Duration::from_nanos(1150),
        packet_cost: Duration::from_nanos(200),
        byte_cost: Duration::from_picos(224),
        buffer: Bytes::new(4 << 20),
    };

    /// The same host while sixteen other threads are always busy.
    pub const LINUX_LOADED: Self = Self {
        late: Duration::from_micros(9),
        late_p99: Duration::from_micros(290),
        away_every: Duration::from_micros(3900),
        away: Duration::from_micros(12_200),
        ..Self::LINUX_SERVER
    };

    /// One processor of it, shared with one thread that is always busy.
    pub const LINUX_SHARED: Self = Self {
        late: Duration::from_nanos(2900),
        late_p99: Duration::from_micros(14),
        away_every: Duration::from_micros(4000),
        away: Duration::from_micros(4000),
        ..Self::LINUX_SERVER
    };

    /// The cost of a packet of `size` bytes.
    pub fn cost(&self, size: u32) -> Duration {
        self.packet_cost + self.byte_cost * u64::from(size)
    }

    /// The standard deviation of the natural logarithm of lateness.
    pub fn sigma(&self) -> f64 {
        let ratio = self.late_p99.as_secs_f64() / self.late.as_secs_f64().max(f64::MIN_POSITIVE);
        if self.late.is_zero() { 0.0 } else { libm::log(ratio.max(1.0)) / P99 }
    }

    /// The reason for which there is no such host, if there is none.
    pub fn fault(&self) -> Option<&'static str> {
        let most = thalweg_queue::delay::LONGEST_DELAY;
        let times =
            [self.late_p99, self.away, self.granularity, self.coalescing, self.call, self.packet_cost];
        if !self.late.is_zero() && self.late_p99.is_zero() {
            Some("`late` needs `late-p99`, which one wake-up in a hundred exceeds")
        } else if self.late_p99 < self.late {
            Some("`late-p99` is below `late`, which half of all wake-ups exceed")
        } else if self.away_every.is_zero() != self.away.is_zero() {
            Some("`away` and `away-every` go together")
        } else if times.into_iter().any(|time| time > most) {
            Some("it answers later than after an hour")
        } else if self.buffer == Bytes::ZERO {
            Some("its socket has no room for a packet")
        } else {
            None
        }
    }
}
