//! Rate control: bursts of packets at a peak rate, a fixed number of times per second.

use crate::state_digest::{hash_all, time_until};
use crate::units::{Bytes, Duration, Rate, Time};
use core::fmt;
use core::hash::Hasher;

/// Rate specification R = (P, F, L) of Gong and Parulkar 1992, section 3.3: at most L packets of `packet` bytes, back
/// to back at the peak rate P, in each period 1/F. The average rate is A = F·L·l·8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSpec {
    peak: Rate,
    average: Rate,
    burst: u32,
    period: Duration,
    packet: Bytes,
    slack: Duration,
}

/// Error of an invalid rate specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateError {
    /// The peak rate is zero, the burst has no packets, or the packet size is zero.
    ZeroValue,
    /// The bursts are longer than their period: F > P / (L·l·8).
    TooOften {
        /// Minimum period.
        shortest: Duration,
    },
    /// The average rate is above the peak rate, or zero.
    Average,
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroValue => f.write_str("a rate needs a peak above zero, a burst and a packet size"),
            Self::TooOften { shortest } => {
                write!(f, "bursts of this length need a period of at least {shortest}")
            }
            Self::Average => f.write_str("the average rate is above zero and at most the peak rate"),
        }
    }
}

impl core::error::Error for RateError {}

impl RateSpec {
    /// Creates a specification of `burst` packets of `packet` bytes at rate `peak`, every `period`.
    ///
    /// # Errors
    ///
    /// [`RateError::TooOften`] if the bursts do not fit into their period, [`RateError::ZeroValue`] if a value is zero.
    pub fn new(peak: Rate, burst: u32, period: Duration, packet: Bytes) -> Result<Self, RateError> {
        if peak.is_zero() || burst == 0 || packet.get() == 0 {
            return Err(RateError::ZeroValue);
        }
        let spacing = peak.transmission_time(packet).as_picos();
        let shortest = Duration::from_picos(spacing.saturating_mul(u64::from(burst)));
        // Times are rounded up to picoseconds, so a burst that fills its period may exceed it by 1 ps per packet.
        if shortest.as_picos() > period.as_picos().saturating_add(u64::from(burst)) {
            return Err(RateError::TooOften { shortest });
        }
        let bytes = Bytes::new(packet.get().saturating_mul(u64::from(burst)));
        let average = Rate::from_transfer(bytes, period).min(peak);
        let slack = Duration::from_picos(spacing);
        Ok(Self { peak, average, burst, period: period.max(shortest), packet, slack })
    }

    /// Creates a specification of `burst` packets of `packet` bytes at rate `peak`, with the period that yields
    /// `average`.
    ///
    /// # Errors
    ///
    /// [`RateError::Average`] if the average is zero or above the peak, otherwise the errors of [`RateSpec::new`].
    pub fn with_average(peak: Rate, average: Rate, burst: u32, packet: Bytes) -> Result<Self, RateError> {
        if average.is_zero() || average > peak {
            return Err(RateError::Average);
        }
        let bytes = Bytes::new(packet.get().saturating_mul(u64::from(burst)));
        Ok(Self { average, ..Self::new(peak, burst, average.transmission_time(bytes), packet)? })
    }

    /// Returns the same specification for a driver that may be late by `slack`, such as a host with coarse timers.
    /// Packets missed within the slack are sent at once, which preserves the average rate. The slack is at least the
    /// packet spacing, which is the default.
    #[must_use]
    pub fn with_slack(self, slack: Duration) -> Self {
        Self { slack: slack.max(self.spacing()), ..self }
    }

    /// Returns P, the rate within a burst.
    pub const fn peak(&self) -> Rate {
        self.peak
    }

    /// Returns L, the packets per burst.
    pub const fn burst(&self) -> u32 {
        self.burst
    }

    /// Returns 1/F, the interval between bursts.
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// Returns l, the size of a packet on the wire.
    pub const fn packet(&self) -> Bytes {
        self.packet
    }

    /// Returns A = F·L·l·8, the average rate.
    pub const fn average(&self) -> Rate {
        self.average
    }

    /// Returns t_p, the packet interval within a burst.
    pub fn spacing(&self) -> Duration {
        self.peak.transmission_time(self.packet)
    }
}

/// Resumption time of an idle sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resume {
    /// At the next timeout of the burst timer, which never stops (the paper, section 3.3).
    NextBurst,
    /// At once, with the rest of the burst, or with a new one if the period is over. No period of length 1/F that
    /// begins with a burst has more than L packets either way. The paper's analysis assumes this.
    AtOnce,
}

/// Burst timer with its counter.
#[derive(Clone, Debug)]
pub(super) struct BurstClock {
    spec: RateSpec,
    spacing: Duration,
    resume: Resume,
    /// Start of the burst; `None` before the first.
    start_time: Option<Time>,
    /// Packets sent in this burst.
    packets_sent: u32,
    /// Earliest time of the next packet at the peak rate.
    next: Time,
    /// A keep-alive packet was sent in this burst.
    idled: bool,
}

impl BurstClock {
    pub fn new(spec: RateSpec, resume: Resume) -> Self {
        let spacing = spec.spacing();
        Self { spec, spacing, resume, start_time: None, packets_sent: 0, next: Time::ZERO, idled: false }
    }

    /// Feeds `into` with the state that determines departure times.
    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self { spec, spacing: _, resume, start_time, packets_sent, next, idled } = self;
        let end = self.period_end();
        // Lateness within the slack does not slow the clock down. Larger values are equivalent, or are taken modulo the
        // period if the timer keeps running.
        let late = match resume {
            _ if now < end => Duration::ZERO,
            Resume::AtOnce => now.since(end).min(spec.slack),
            Resume::NextBurst => {
                Duration::from_picos(now.since(end).as_picos() % spec.period.as_picos().max(1))
            }
        };
        let of_burst = (now < end).then_some((packets_sent, idled));
        hash_all(into, (start_time.is_some(), time_until(end, now), late, of_burst));
        hash_all(into, (time_until(*next, now), now.since(*next).min(spec.slack)));
    }

    /// Returns the earliest start of the next burst.
    fn period_end(&self) -> Time {
        self.start_time.map_or(Time::ZERO, |start_time| start_time + self.spec.period)
    }

    /// Returns true if a late driver may still send the rest of the burst.
    fn is_behind(&self, now: Time) -> bool {
        let may_be_late = self.spec.slack > self.spacing && self.start_time.is_some();
        may_be_late && self.packets_sent < self.spec.burst && now.since(self.next) < self.spec.slack
    }

    /// Begins a new burst if one is due. The burst keeps its scheduled start if that is less than `slack` ago.
    fn turn(&mut self, now: Time, slack: Duration) {
        let end = self.period_end();
        if now < end {
            return;
        }
        let late = now.since(end);
        self.start_time = Some(match (self.start_time, self.resume) {
            (None, _) => now,
            // The timer kept running.
            (Some(_), Resume::NextBurst) => {
                let periods = late.as_picos() / self.spec.period.as_picos().max(1);
                Time::from_picos(end.as_picos() + periods * self.spec.period.as_picos())
            }
            // A driver that is a little late does not slow the clock down.
            (Some(_), Resume::AtOnce) if late < slack => end,
            (Some(_), Resume::AtOnce) => now,
        });
        // Gong and Parulkar 1992, section 3.3, steps 1 and 2: BT restarts, and TC is zero.
        self.packets_sent = 0;
        self.idled = false;
    }

    /// Returns `Err` with the next time to ask if a packet may not be sent yet.
    pub fn ready(&mut self, now: Time) -> Result<(), Time> {
        if !self.is_behind(now) {
            self.turn(now, self.spec.slack);
        }
        // Gong and Parulkar 1992, section 3.3, step 3: TC < L.
        if self.packets_sent >= self.spec.burst {
            return Err(self.period_end());
        }
        if self.next > now { Err(self.next) } else { Ok(()) }
    }

    /// Records a departure.
    pub fn on_departure(&mut self, now: Time) {
        self.packets_sent += 1;
        let late = now.since(self.next);
        self.next = if late < self.spec.slack { self.next } else { now } + self.spacing;
    }

    /// Handles an idle sender; returns `Ok` when a keep-alive packet is due, once a burst.
    pub fn on_idle(&mut self, now: Time) -> Result<(), Time> {
        // An idle sender misses no departures.
        self.turn(now, self.spacing);
        if self.idled {
            return Err(self.period_end());
        }
        if self.packets_sent < self.spec.burst && self.next > now {
            return Err(self.next);
        }
        if self.packets_sent >= self.spec.burst {
            return Err(self.period_end());
        }
        self.idled = true;
        if self.resume == Resume::NextBurst {
            // Gong and Parulkar 1992, section 3.3, step 3: the burst is over after a keep-alive packet.
            self.packets_sent = self.spec.burst;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Checks the specification's constraint and the departure times.
    use super::*;

    const KILOBYTE: Bytes = Bytes::new(1000);

    fn spec(burst: u32, period_us: u64) -> Result<RateSpec, RateError> {
        // 8 Mbit/s: 1 ms per packet.
        RateSpec::new(Rate::from_mbits_per_sec(8), burst, Duration::from_micros(period_us), KILOBYTE)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Returns the departure times until `end` of a sender that always has packets.
    fn departures(clock: &mut BurstClock, from: Time, end: Time) -> Vec<u64> {
        let (mut now, mut times) = (from, Vec::new());
        while now < end {
            match clock.ready(now) {
                Ok(()) => {
                    times.push(now.as_picos() / 1_000_000_000);
                    clock.on_departure(now);
                }
                Err(at) => now = at,
            }
        }
        times
    }

    #[test]
    fn bursts_fit_into_their_period() {
        // F <= P / (L·l·8): 4 packets of 1 ms need a period of 4 ms.
        assert!(spec(4, 4000).is_ok());
        assert_eq!(spec(4, 3999), Err(RateError::TooOften { shortest: Duration::from_millis(4) }));
        assert_eq!(spec(0, 4000), Err(RateError::ZeroValue));
        assert_eq!(spec(4, 8000).map(|spec| spec.average()), Ok(Rate::from_mbits_per_sec(4)));
        let peak = Rate::from_mbits_per_sec(8);
        let average = RateSpec::with_average(peak, Rate::from_mbits_per_sec(2), 4, KILOBYTE);
        assert_eq!(average.map(|spec| spec.period()), Ok(Duration::from_millis(16)));
        assert_eq!(RateSpec::with_average(peak, Rate::ZERO, 4, KILOBYTE), Err(RateError::Average));
        let above = RateSpec::with_average(Rate::from_mbits_per_sec(1), peak, 4, KILOBYTE);
        assert_eq!(above, Err(RateError::Average));
    }

    #[test]
    fn packets_leave_in_bursts() {
        let Ok(spec) = spec(3, 10_000) else { panic!("it fits") };
        let mut clock = BurstClock::new(spec, Resume::NextBurst);
        assert_eq!(departures(&mut clock, at(0), at(25)), [0, 1, 2, 10, 11, 12, 20, 21, 22]);
    }

    #[test]
    fn one_packet_a_burst_is_even_spacing() {
        let Ok(spec) = spec(1, 2000) else { panic!("it fits") };
        let mut clock = BurstClock::new(spec, Resume::NextBurst);
        assert_eq!(departures(&mut clock, at(0), at(7)), [0, 2, 4, 6]);
    }

    #[test]
    fn a_burst_that_fills_its_period_leaves_no_gap() {
        // 1024 bytes at 155 Mbit/s do not take a whole number of picoseconds.
        let rate = Rate::from_mbits_per_sec(155);
        let spec = RateSpec::with_average(rate, rate, 16, Bytes::new(1024))
            .unwrap_or_else(|error| panic!("{error}"));
        let mut clock = BurstClock::new(spec, Resume::AtOnce);
        let mut now = at(0);
        for _ in 0..100 {
            assert_eq!(clock.ready(now), Ok(()));
            clock.on_departure(now);
            now = clock.ready(now).expect_err("one at a time");
        }
        assert_eq!(now.since(at(0)).as_picos(), spec.spacing().as_picos() * 100);
    }

    #[test]
    fn a_driver_that_is_late_within_the_slack_keeps_the_average_rate() {
        let rate = Rate::from_mbits_per_sec(1000);
        let spec = RateSpec::with_average(rate, rate, 16, Bytes::new(1500))
            .unwrap_or_else(|error| panic!("{error}"));
        // The driver polls every 300 us, while packets take 12 us; then it pauses for 5 ms, beyond the slack.
        let sent = |spec: RateSpec| {
            let mut clock = BurstClock::new(spec, Resume::AtOnce);
            let mut counts = [0; 2];
            for poll in 0..=100 {
                let gone = if poll == 100 { Duration::from_millis(5) } else { Duration::ZERO };
                let now = Time::ZERO + Duration::from_micros(300) * poll + gone;
                while clock.ready(now).is_ok() {
                    clock.on_departure(now);
                    counts[usize::from(poll == 100)] += 1;
                }
            }
            counts
        };
        let [steady, after] = sent(spec.with_slack(Duration::from_millis(1)));
        assert!((2450..=2500).contains(&steady) && after <= 100, "{steady} {after}");
        // An idle clock returns a future time, however late it is polled.
        let mut clock = BurstClock::new(spec.with_slack(Duration::from_millis(1)), Resume::AtOnce);
        assert_eq!(clock.ready(at(0)), Ok(()));
        clock.on_departure(at(0));
        for now in (1..20).map(at) {
            assert_eq!(clock.on_idle(now), Ok(()));
            assert!(clock.on_idle(now).is_err_and(|next| next > now));
        }
        // Without slack, all but the first packet of each poll are lost.
        assert!(sent(spec)[0] < 300);
    }

    #[test]
    fn an_idle_sender_sends_a_keep_alive_once_a_period() {
        let Ok(spec) = spec(3, 10_000) else { panic!("it fits") };
        let mut clock = BurstClock::new(spec, Resume::NextBurst);
        assert_eq!(clock.ready(at(0)), Ok(()));
        clock.on_departure(at(0));
        // The keep-alive follows the last packet and ends the burst.
        assert_eq!(clock.on_idle(at(0)), Err(at(1)));
        assert_eq!(clock.on_idle(at(1)), Ok(()));
        assert_eq!((clock.on_idle(at(1)), clock.ready(at(2))), (Err(at(10)), Err(at(10))));
        assert_eq!((clock.on_idle(at(10)), clock.on_idle(at(10))), (Ok(()), Err(at(20))));
        // The timer runs on without polls.
        assert_eq!(clock.ready(at(36)), Ok(()));
        assert_eq!(departures(&mut clock, at(36), at(42)), [36, 37, 38, 40, 41]);
    }

    #[test]
    fn an_idle_sender_may_resume_at_once() {
        let Ok(spec) = spec(3, 10_000) else { panic!("it fits") };
        let mut clock = BurstClock::new(spec, Resume::AtOnce);
        assert_eq!(departures(&mut clock, at(0), at(1)), [0]);
        assert_eq!(clock.on_idle(at(1)), Ok(()));
        // The rest of the burst, then the next period; after a long pause a new burst begins at once.
        assert_eq!(departures(&mut clock, at(5), at(12)), [5, 6, 10, 11]);
        assert_eq!(departures(&mut clock, at(36), at(47)), [36, 37, 38, 46]);
    }
}
