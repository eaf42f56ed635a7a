//! Losses of the path, and losses of congestion: those that go on at a lower rate are the path's.
//!
//! What is counted are events: packets that are lost one after the other are one, since paths lose in bursts.

/// Packets after which what was counted weighs half.
const MEMORY: f64 = 20_000.0;
/// The deviations above what the path loses from which a round trip's losses are not its own.
const DEVIATIONS: f64 = 4.0;
/// The deviations below what was lost at the higher rate from which a lower rate has helped.
const FEWER: f64 = 1.7;
/// The events that must be expected for their absence to say something.
pub(super) const CONTROLLED: f64 = 3.0;
/// The multiple of the events that were confirmed, and the events for each packet, that are believed without.
const CREEP: f64 = 1.5;
const UNCONFIRMED: f64 = 0.002;
/// The share of packets that no path loses by itself.
const MOST: f64 = 0.25;
/// Events of loss in a round trip that may be chance even where the path is thought to lose nothing.
const DOUBT: f64 = 2.0;
/// Packets from which on it is known what the path loses.
const KNOWN: f64 = 60.0;

/// Packets, those of them that were lost, and the events at which they were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub sent: f64,
    pub lost: f64,
    pub events: f64,
}

impl Tally {
    /// The share of packets that were lost.
    pub fn share(self) -> f64 {
        if self.sent > 0.0 { self.lost / self.sent } else { 0.0 }
    }

    /// Events for each packet.
    fn rate(self) -> f64 {
        if self.sent > 0.0 { self.events / self.sent } else { 0.0 }
    }

    /// More were lost than any path loses by itself.
    pub fn is_hopeless(self) -> bool {
        self.share() > MOST
    }

    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.events += other.events;
    }

    /// The same, where what was counted before weighs half once there are more than `memory` packets.
    pub fn add_to_memory(&mut self, other: Self, memory: f64) {
        self.add(other);
        if self.sent > memory {
            *self = Self { sent: self.sent / 2.0, lost: self.lost / 2.0, events: self.events / 2.0 };
        }
    }

    /// The events that so many packets would have met at the rate of these.
    pub fn expected_in(self, sent: f64) -> f64 {
        self.rate() * sent
    }

    /// So many events are fewer than `expected` by more than chance.
    pub fn is_fewer_than(self, expected: f64) -> bool {
        self.events <= expected - FEWER * expected.sqrt()
    }
}

/// The losses of the path itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathLoss {
    tally: Tally,
    /// Events for each packet as a lower rate last showed them, or a start that grew nevertheless.
    confirmed: f64,
    /// The packets that left while the rate was lower for other reasons.
    control: Tally,
}

impl PathLoss {
    /// The share of packets that the path loses.
    pub fn share(&self) -> f64 {
        self.tally.share()
    }

    /// Enough packets have told of it.
    pub fn is_known(&self) -> bool {
        self.tally.sent >= KNOWN
    }

    /// These were sent when there was no congestion.
    pub fn learn(&mut self, tally: Tally) {
        if !tally.is_hopeless() {
            self.tally.add_to_memory(tally, MEMORY);
            self.confirmed = self.tally.rate();
        }
    }

    /// These met no more than the path's own losses, as far as that can be told. They count as long as what is known does not creep
    /// away from what was confirmed.
    pub fn refine(&mut self, tally: Tally) {
        let mut sum = self.tally;
        sum.add(tally);
        if sum.rate() <= CREEP * self.confirmed + UNCONFIRMED {
            self.tally.add_to_memory(tally, MEMORY);
        }
    }

    /// These were sent at a lower rate. Where they say that the path loses less than was thought, nothing else counts any more.
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

    /// More of these were lost than the path loses, of which no more is believed than the share `most`, by more than chance.
    pub fn exceeded_by(&self, tally: Tally, most: f64) -> bool {
        is_exceeded(tally, self.expects(tally, most), DOUBT)
    }

    /// The same, where hardly anything is left to chance if the path loses nothing.
    pub fn exceeded_at_all_by(&self, tally: Tally, most: f64) -> bool {
        let expected = self.expects(tally, most);
        is_exceeded(tally, expected, expected.min(1.0))
    }

    fn expects(&self, tally: Tally, most: f64) -> f64 {
        self.tally.expected_in(tally.sent).min(most * tally.sent)
    }
}

fn is_exceeded(tally: Tally, expected: f64, doubt: f64) -> bool {
    let is_hopeless = tally.events > doubt && tally.is_hopeless();
    is_hopeless || tally.events > expected + DEVIATIONS * expected.sqrt() + doubt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(sent: f64, events: f64) -> Tally {
        Tally { sent, lost: events, events }
    }

    #[test]
    fn what_is_lost_at_a_lower_rate_too_is_the_paths() {
        let mut path = PathLoss::default();
        assert!(!path.exceeded_by(tally(800.0, 2.0), f64::INFINITY), "chance");
        assert!(path.exceeded_by(tally(800.0, 8.0), f64::INFINITY));
        path.learn(tally(700.0, 7.0));
        assert!((path.share() - 0.01).abs() < 1e-9);
        assert!(!path.exceeded_by(tally(800.0, 8.0), f64::INFINITY));
        assert!(!path.exceeded_by(tally(800.0, 20.0), f64::INFINITY));
        assert!(path.exceeded_by(tally(800.0, 40.0), f64::INFINITY));
        // Among rivals hardly anything is chance where the path loses nothing.
        assert!(PathLoss::default().exceeded_at_all_by(tally(800.0, 1.0), f64::INFINITY));
        assert!(!path.exceeded_at_all_by(tally(800.0, 9.0), f64::INFINITY));
    }

    /// Round trip by round trip a little more is lost, and never enough for a trial: what is known must not creep along.
    #[test]
    fn what_is_known_does_not_creep_away() {
        let mut path = PathLoss::default();
        path.learn(tally(1000.0, 10.0));
        for round in 0..1000 {
            path.refine(tally(100.0, 1.0 + f64::from(round) / 10.0));
        }
        assert!(path.share() < 0.02, "{}", path.share());
        // A lower rate shows that it is not the path that loses.
        path.control(tally(500.0, 0.0));
        assert!(path.share() < 0.001, "{}", path.share());
    }

    #[test]
    fn no_path_loses_most_of_what_is_sent() {
        let mut path = PathLoss::default();
        path.learn(tally(100.0, 60.0));
        assert_eq!(path.share(), 0.0);
        path.learn(tally(100.0, 20.0));
        assert!(path.exceeded_by(tally(100.0, 30.0), f64::INFINITY));
    }

    #[test]
    fn few_events_say_little() {
        assert!(!tally(300.0, 0.0).is_fewer_than(2.0));
        assert!(tally(300.0, 0.0).is_fewer_than(3.0));
        assert!(!tally(300.0, 5.0).is_fewer_than(8.0));
        assert!(tally(300.0, 3.0).is_fewer_than(8.0));
        assert_eq!(tally(100.0, 4.0).expected_in(50.0), 2.0);
    }
}
