//! A queue that stays long whatever this flow does: losses are congestion then.
//!
//! A trial asks whether losses depend on this flow's rate. Where many share a path none of them does for any one flow: all would hold the
//! path to lose what all of them together lose, and none would give way. The queue tells the two apart, since losses of a path leave it
//! as short as flows want it.

use super::Thalweg;
use super::hold::LONG;
use super::loss::Tally;

/// Round trips of a long queue after which it is held to stay.
const PATIENCE: u32 = 3;
/// The share of the shortest round trip below which a queue is no crowd's: one flow on a long way makes such a queue, and takes more than
/// these round trips to empty it. Flows of a crowd are slow, so that twice the queue that they ask for is longer.
const SHORTEST: f64 = 0.0625;
/// The share of the longest queue of these round trips below which it goes away by itself.
const SHRINKS: f64 = 0.8;
/// The share of packets that a path is believed to lose beside such a queue, as BBR's bound for losses of congestion.
pub(super) const BELIEVED: f64 = 0.02;
/// The share of what arrives in a round trip that is taken away where more is lost; as CUBIC's (RFC 9438, section 4.6).
const CUT: f64 = 0.3;
/// Packets after which what was counted of losses weighs half.
const MEMORY: f64 = 200.0;
/// The least window in segments: usually, and in a crowd, as CUBIC's (RFC 5681, section 3.1).
const LEAST: (f64, f64) = (4.0, 2.0);

/// The knowledge of a queue that stays, and what was lost of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    rounds: u32,
    longest: f64,
    recent: Tally,
}

impl Crowd {
    /// A round trip ended in which the queueing delay was so many seconds, which is longer than it should be if `is_long` says so.
    fn watch(&mut self, queueing: f64, is_long: bool) {
        if !is_long || queueing < SHRINKS * self.longest {
            self.rounds = u32::from(is_long);
            self.longest = if is_long { queueing } else { 0.0 };
        } else {
            self.rounds += 1;
            self.longest = self.longest.max(queueing);
        }
    }

    /// True while the queue stays.
    pub fn is_there(self) -> bool {
        self.rounds >= PATIENCE
    }

    /// The least window in segments. Four let a path that loses much be told by what comes after a loss; where many share a path that may
    /// be more than it holds.
    fn least(self) -> f64 {
        if self.is_there() || self.recent.is_hopeless() { LEAST.1 } else { LEAST.0 }
    }

    /// The share of packets that the path is believed to lose at most, beside what is known of it.
    pub fn believes(self) -> f64 {
        if self.is_there() { BELIEVED } else { f64::INFINITY }
    }
}

impl Thalweg {
    /// The least window in bytes.
    pub(super) fn least(&self) -> f64 {
        self.told.least(self.crowd.least()) * self.segment
    }

    /// A round trip ended with these losses: looks whether the queue is one that stays, beside the shortest delay that was seen for long, since the
    /// shortest of a few seconds is soon that of a full queue.
    pub(super) fn watch_crowd(&mut self, tally: Tally) {
        self.crowd.recent.add_to_memory(tally, MEMORY);
        let queueing = self.delay.standing();
        let is_long = queueing > (LONG * self.target(self.rate())).max(SHORTEST * self.min_rtt);
        self.crowd.watch(queueing, is_long);
    }

    /// Answers more losses than are believed beside a queue that stays, in a round trip that took `useful` bytes without it.
    pub(super) fn give_way(&mut self, useful: f64) {
        self.delay.remember();
        self.window = (self.window.min(useful) * (1.0 - CUT)).max(self.least());
        self.pace.slow_down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_goes_away_is_no_crowds() {
        let mut crowd = Crowd::default();
        let mut watch = |queueing: f64, is_long| {
            crowd.watch(queueing, is_long);
            crowd.is_there()
        };
        // As after slow start.
        assert!(![12.0, 9.0, 7.0, 5.5, 4.0].map(|queueing| watch(queueing, true)).contains(&true));
        assert!(!watch(1.0, false));
        assert_eq!([10.0, 11.0, 10.0, 9.5].map(|queueing| watch(queueing, true)), [false, false, true, true]);
        assert!(!watch(9.0, false), "it is short enough");
        assert!(!watch(9.0, true));
    }

    #[test]
    fn windows_of_two_are_for_crowds() {
        let mut crowd = Crowd::default();
        let mut lose = |lost| {
            crowd.recent.add_to_memory(Tally { sent: 100.0, lost, events: lost }, MEMORY);
            crowd.least()
        };
        assert_eq!([20.0, 40.0, 10.0].map(&mut lose), [4.0, 2.0, 4.0]);
        (0..3).for_each(|_| crowd.watch(10.0, true));
        assert_eq!(crowd.least(), 2.0);
    }

    #[test]
    fn little_is_believed_beside_it() {
        let mut crowd = Crowd::default();
        assert_eq!(crowd.believes(), f64::INFINITY);
        (0..3).for_each(|_| crowd.watch(10.0, true));
        assert_eq!(crowd.believes(), BELIEVED);
    }
}
