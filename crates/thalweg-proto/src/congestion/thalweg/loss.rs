//! Random losses of the path and congestion losses: losses that continue at a lower rate are the path's.
//!
//! Loss events are counted: consecutive lost packets are one event, since paths lose in bursts.

/// Number of packets after which the counts are halved.
const MEMORY: f64 = 20_000.0;
/// Number of standard deviations above the path's loss rate at which losses of a round trip indicate congestion.
const DEVIATIONS: f64 = 4.0;
/// Number of standard deviations below the losses at the higher rate at which a lower rate counts as effective.
const FEWER: f64 = 1.7;
/// Minimum expected events for their absence to be significant.
pub(super) const CONTROLLED: f64 = 3.0;
/// Loss rate accepted without confirmation: multiple of the confirmed rate, and events per packet.
const CREEP: f64 = 1.5;
const UNCONFIRMED: f64 = 0.002;
/// Maximum loss rate attributed to the path.
const MAX_ATTRIBUTED_LOSS: f64 = 0.25;
/// Loss events in a round trip that may be chance on a path with no known losses.
const CHANCE_EVENTS: f64 = 2.0;
/// Minimum number of packets for an estimate of the path's loss rate.
const KNOWN: f64 = 60.0;

/// Counts of packets, lost packets and loss events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub sent: f64,
    pub lost: f64,
    pub events: f64,
}

impl Tally {
    /// Returns the share of packets lost.
    pub fn share(self) -> f64 {
        if self.sent > 0.0 { self.lost / self.sent } else { 0.0 }
    }

    /// Returns the loss events per packet.
    fn rate(self) -> f64 {
        if self.sent > 0.0 { self.events / self.sent } else { 0.0 }
    }

    /// Returns true if the losses exceed those attributable to any path.
    pub fn is_hopeless(self) -> bool {
        self.share() > MAX_ATTRIBUTED_LOSS
    }

    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.events += other.events;
    }

    /// Adds counts, halving the earlier ones beyond `memory` packets.
    pub fn add_to_memory(&mut self, other: Self, memory: f64) {
        self.add(other);
        if self.sent > memory {
            *self = Self { sent: self.sent / 2.0, lost: self.lost / 2.0, events: self.events / 2.0 };
        }
    }

    /// Returns the expected loss events of `sent` packets at this rate.
    pub fn expected_in(self, sent: f64) -> f64 {
        self.rate() * sent
    }

    /// Returns true if the events are significantly fewer than `expected`.
    pub fn is_fewer_than(self, expected: f64) -> bool {
        self.events <= expected - FEWER * expected.sqrt()
    }
}

/// Estimate of the path's own loss rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathLoss {
    tally: Tally,
    /// Loss events per packet, as last confirmed by a lower rate or by a slow start that grew nevertheless.
    confirmed: f64,
    /// Packets sent while the rate was lower for other reasons.
    control: Tally,
}

impl PathLoss {
    /// Returns the estimated share of packets that the path loses.
    pub fn share(&self) -> f64 {
        self.tally.share()
    }

    /// Returns true if enough packets were observed.
    pub fn is_known(&self) -> bool {
        self.tally.sent >= KNOWN
    }

    /// Learns from packets sent without congestion.
    pub fn learn(&mut self, tally: Tally) {
        if !tally.is_hopeless() {
            self.tally.add_to_memory(tally, MEMORY);
            self.confirmed = self.tally.rate();
        }
    }

    /// Refines the estimate with packets that apparently met only the path's own losses. They count while the estimate
    /// stays near the confirmed value.
    pub fn refine(&mut self, tally: Tally) {
        let mut sum = self.tally;
        sum.add(tally);
        if sum.rate() <= CREEP * self.confirmed + UNCONFIRMED {
            self.tally.add_to_memory(tally, MEMORY);
        }
    }

    /// Learns from packets sent at a lower rate. If they show a lower loss rate than estimated, they replace the
    /// estimate.
    pub fn control(&mut self, tally: Tally) {
        self.control.add(tally);
        let expected = self.tally.expected_in(self.control.sent);
        if expected < CONTROLLED {
            return;
        }
        let control = core::mem::take(&mut self.control);
        if control.is_fewer_than(expected) {
            self.tally = control;
            self.confirmed = control.rate();
        } else {
            self.learn(control);
        }
    }

    /// Returns true if the losses significantly exceed the path's estimate, capped at `max_share`.
    pub fn exceeded_by(&self, tally: Tally, max_share: f64) -> bool {
        is_exceeded(tally, self.expects(tally, max_share), CHANCE_EVENTS)
    }

    /// Returns the same with almost no allowance for chance if the path loses nothing.
    pub fn exceeded_at_all_by(&self, tally: Tally, max_share: f64) -> bool {
        let expected = self.expects(tally, max_share);
        is_exceeded(tally, expected, expected.min(1.0))
    }

    fn expects(&self, tally: Tally, max_share: f64) -> f64 {
        self.tally.expected_in(tally.sent).min(max_share * tally.sent)
    }
}

fn is_exceeded(tally: Tally, expected: f64, allowance: f64) -> bool {
    let is_hopeless = tally.events > allowance && tally.is_hopeless();
    is_hopeless || tally.events > expected + DEVIATIONS * expected.sqrt() + allowance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(sent: f64, events: f64) -> Tally {
        Tally { sent, lost: events, events }
    }

    #[test]
    fn losses_that_persist_at_a_lower_rate_are_attributed_to_the_path() {
        let mut path = PathLoss::default();
        assert!(!path.exceeded_by(tally(800.0, 2.0), f64::INFINITY), "chance");
        assert!(path.exceeded_by(tally(800.0, 8.0), f64::INFINITY));
        path.learn(tally(700.0, 7.0));
        assert!((path.share() - 0.01).abs() < 1e-9);
        assert!(!path.exceeded_by(tally(800.0, 8.0), f64::INFINITY));
        assert!(!path.exceeded_by(tally(800.0, 20.0), f64::INFINITY));
        assert!(path.exceeded_by(tally(800.0, 40.0), f64::INFINITY));
        // Beside competing traffic, almost no loss is attributed to chance if the path loses nothing.
        assert!(PathLoss::default().exceeded_at_all_by(tally(800.0, 1.0), f64::INFINITY));
        assert!(!path.exceeded_at_all_by(tally(800.0, 9.0), f64::INFINITY));
    }

    /// Losses increase slightly each round trip, never enough for a loss probe: the estimate must not creep along.
    #[test]
    fn the_loss_estimate_does_not_creep_up() {
        let mut path = PathLoss::default();
        path.learn(tally(1000.0, 10.0));
        for round in 0..1000 {
            path.refine(tally(100.0, 1.0 + f64::from(round) / 10.0));
        }
        assert!(path.share() < 0.02, "{}", path.share());
        // A lower rate shows that the path is not the cause.
        path.control(tally(500.0, 0.0));
        assert!(path.share() < 0.001, "{}", path.share());
    }

    #[test]
    fn losing_most_packets_is_not_attributed_to_the_path() {
        let mut path = PathLoss::default();
        path.learn(tally(100.0, 60.0));
        assert_eq!(path.share(), 0.0);
        path.learn(tally(100.0, 20.0));
        assert!(path.exceeded_by(tally(100.0, 30.0), f64::INFINITY));
    }

    #[test]
    fn few_events_are_not_significant() {
        assert!(!tally(300.0, 0.0).is_fewer_than(2.0));
        assert!(tally(300.0, 0.0).is_fewer_than(3.0));
        assert!(!tally(300.0, 5.0).is_fewer_than(8.0));
        assert!(tally(300.0, 3.0).is_fewer_than(8.0));
        assert_eq!(tally(100.0, 4.0).expected_in(50.0), 2.0);
    }
}
