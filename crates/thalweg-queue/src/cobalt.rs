//! COBALT: CoDel, and BLUE for flows that do not respond to it.

use crate::Entry;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Largest packet that the queues are tuned for, in bytes.
pub(crate) const MTU: u64 = 1514;

/// Parameters of [`Cobalt`] on a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CobaltParameters {
    target: Duration,
    interval: Duration,
    /// Delay below which nothing is dropped: four full packets.
    floor: Duration,
    ecn: bool,
}

impl CobaltParameters {
    /// Returns the parameters for round trips of `rtt`, on a link of `rate` if it is known. The target is a twentieth of
    /// the round-trip time and at least one and a half full packets, by which slow links would always exceed it.
    pub fn new(rtt: Duration, ecn: bool, rate: Option<Rate>) -> Self {
        // Zero for an unknown rate.
        let packet = rate.map_or(Duration::ZERO, |rate| rate.transmission_time(Bytes::new(MTU)));
        let min = packet * 3 / 2;
        let target = (rtt / 20).max(min);
        let interval = (rtt + target).saturating_sub(rtt / 20).max(min * 2);
        Self { target, interval, floor: packet * 4, ecn }
    }
}

/// Share of dropped packets that BLUE adds at an overflow, and removes when the queue is empty.
const DROP_INCREASE: f64 = 1.0 / 256.0;
const DROP_DECREASE: f64 = 1.0 / 4096.0;

/// State of a queue under COBALT (Høiland-Jørgensen, Täht and Morton 2018, section III-D; Palmei et al., "Design and
/// evaluation of COBALT queue discipline", LANMAN 2019).
///
/// CoDel's law schedules signals while packets wait for longer than the target. In contrast to RFC 8289 the first one
/// comes an interval after the delay exceeded it, whatever the queue's length, and the number of signals decreases by
/// one per scheduled time after the delay has fallen below it, instead of a restart. BLUE drops at random, with a
/// probability that rises at overflows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cobalt {
    /// Signals since the queue's delay was last at rest.
    count: u32,
    is_dropping: bool,
    /// Time of the next signal, or of the next decrease of `count`.
    next: Option<Time>,
    /// Probability of BLUE, and the time of its last change.
    probability: f64,
    changed: Option<Time>,
}

impl Cobalt {
    /// Returns the time of the signal after one at `at`.
    fn law(&self, at: Time, parameters: &CobaltParameters) -> Time {
        at + parameters.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && self.next.is_some_and(|next| now >= next)
    }

    /// Handles a packet that leaves after `delay`: marks it, or returns true if it must be dropped.
    pub fn must_drop(
        &mut self,
        now: Time,
        delay: Duration,
        entry: &mut Entry,
        parameters: &CobaltParameters,
        chance: &mut RandomStream,
    ) -> bool {
        let is_late = delay > parameters.target && delay > parameters.floor;
        let was_due = self.is_due(now);
        if is_late && !self.is_dropping {
            self.is_dropping = true;
            self.count = self.count.max(1);
            self.next = Some(self.law(now, parameters));
        } else if !is_late {
            self.is_dropping = false;
        }
        let mut must_drop = false;
        if was_due && self.is_dropping && self.is_due(now) {
            must_drop = !(parameters.ecn && entry.mark());
            self.count = self.count.saturating_add(1);
            // From the schedule, not from now: late departures would otherwise lower the rate of signals.
            self.next = self.next.map(|next| self.law(next, parameters));
        } else if !self.is_dropping {
            while self.is_due(now) {
                self.count -= 1;
                self.next = self.next.map(|next| self.law(next, parameters));
            }
        }
        // An unresponsive flow is not marked.
        must_drop |= self.probability > 0.0 && chance.unit() < self.probability;
        if self.count == 0 {
            self.next = None;
        } else if !must_drop && self.next.is_some_and(|next| now > next) {
            // Signals that a pause of departures left out are not made up for.
            self.next = Some(now);
        }
        must_drop
    }

    fn may_change(&self, now: Time, parameters: &CobaltParameters) -> bool {
        self.changed.is_none_or(|changed| now.since(changed) > parameters.target)
    }

    /// Handles an overflow that dropped a packet of the queue.
    pub fn overflow(&mut self, now: Time, parameters: &CobaltParameters) {
        if self.may_change(now, parameters) {
            self.probability = (self.probability + DROP_INCREASE).min(1.0);
            self.changed = Some(now);
        }
        self.is_dropping = true;
        self.count = self.count.max(1);
        self.next = Some(now);
    }

    /// Handles a queue that a departure finds empty.
    pub fn empty(&mut self, now: Time, parameters: &CobaltParameters) {
        if self.probability > 0.0 && self.may_change(now, parameters) {
            self.probability = (self.probability - DROP_DECREASE).max(0.0);
            self.changed = Some(now);
        }
        self.is_dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.next = self.next.map(|next| self.law(next, parameters)).filter(|_| self.count > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests CoDel's schedule, its decay, and BLUE's probability.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::Ecn;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn parameters() -> CobaltParameters {
        CobaltParameters::new(Duration::from_millis(100), true, None)
    }

    /// Returns the times of signals, in ms, of a queue with a packet each millisecond that waits for `delay` ms.
    fn signals(control: &mut Cobalt, ecn: Ecn, delay: u64, during: core::ops::Range<u64>) -> Vec<u64> {
        let mut chance = RandomStream::new(1, "test", 0);
        during
            .filter(|&now| {
                let mut entry = Entry { ecn, ..ordinary_entry(0) };
                let delay = Duration::from_millis(delay);
                let dropped = control.must_drop(ms(now), delay, &mut entry, &parameters(), &mut chance);
                dropped || entry.marked
            })
            .collect()
    }

    /// As CoDel's: 100 ms after the delay exceeded the target, then 100/sqrt(2), 100/sqrt(3) ... ms later.
    #[test]
    fn signals_follow_the_square_root_law() {
        let expected = [100, 171, 229, 279, 324, 364];
        assert_eq!(signals(&mut Cobalt::default(), Ecn::NotEct, 20, 0..380), expected);
        assert_eq!(signals(&mut Cobalt::default(), Ecn::Ect0, 20, 0..380), expected);
        assert_eq!(signals(&mut Cobalt::default(), Ecn::NotEct, 5, 0..1000), [0u64; 0]);
    }

    /// After a pause below the target signals resume at a rate between that before and none.
    #[test]
    fn the_rate_of_signals_decays() {
        let mut control = Cobalt::default();
        signals(&mut control, Ecn::NotEct, 20, 0..1000);
        let before = control.count;
        signals(&mut control, Ecn::NotEct, 1, 1000..1100);
        let (after, rest) = (control.count, signals(&mut control, Ecn::NotEct, 1, 1100..5000));
        assert!(after < before && after > 0, "{before} {after}");
        assert_eq!((rest.len(), control.count), (0, 0));
    }

    /// Overflows raise the probability once per target, and empty queues lower it.
    #[test]
    fn blue_drops_from_flows_that_overflow_the_buffer() {
        let mut control = Cobalt::default();
        (0..640).for_each(|now| control.overflow(ms(now), &parameters()));
        // 640 ms have a change each 6 ms, above the target of 5 ms: 107.
        assert!((control.probability - 107.0 / 256.0).abs() < 1e-9, "{}", control.probability);
        control.is_dropping = false;
        let dropped = signals(&mut control, Ecn::Ect0, 1, 1000..3000).len();
        assert!((700..980).contains(&dropped), "{dropped}");
        (3000..60_000).for_each(|now| control.empty(ms(now), &parameters()));
        assert_eq!(control.probability, 0.0);
    }

    /// A full packet takes 12 ms at 1 Mbit/s: a target of 5 ms would count every packet as late.
    #[test]
    fn slow_links_have_a_longer_target() {
        let slow = CobaltParameters::new(Duration::from_millis(100), true, Some(Rate::from_mbits_per_sec(1)));
        assert!(slow.target > Duration::from_millis(18) && slow.target < Duration::from_millis(19));
        assert_eq!(parameters().target, Duration::from_millis(5));
    }
}
