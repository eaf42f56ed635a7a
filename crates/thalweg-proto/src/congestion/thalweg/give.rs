//! A flow that has more than its share gives some of it away.
//!
//! Flows that share a queue meet at one rate, since slower ones ask for a longer queue. But the queue is short beside a round trip, and
//! so is what a round trip moves: alone with that rule a second flow has half of its share after half a minute. A queue that stays
//! longer than a flow asks for tells it the rate at which it would ask for this queue, which is the rate of all who share it. Half of
//! the way there is given away at once, and for some round trips left to those who ask for more. Where nobody takes it the flow is
//! alone, and is slower to give the next time.

use super::Thalweg;

/// The excess of the queue over the target, as a share of the target, beyond which it is too long, and from which on it is the queue of
/// others ([`rival`](super::rival)).
const EXCESS: core::ops::Range<f64> = 0.1..1.0;
/// The share of the largest excess that must be left: what a flow alone has too much goes away in these round trips, as does what flows
/// that begin bring with them.
const STAYS: f64 = 0.5;
/// Round trips that are judged together, since each measures a queue of a few milliseconds with an error of as much: the fewest, and the
/// most, which they are where nobody took what was given away.
const PATIENCE: (u32, u32) = (8, 128);
/// The part of the way to the fair rate, and the share of the window that is kept at least.
const PART: f64 = 0.5;
const KEPT: f64 = 0.75;
/// Round trips without growth after that.
const PAUSE: u32 = 10;
/// The share of the window before that is had again where nobody took anything.
const AGAIN: f64 = 0.95;
/// The share of the target that the doubt about delays may be: by less than that queues can be told apart.
const DOUBTFUL: f64 = 0.5;

/// The knowledge of what this flow has too much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Giving {
    /// Round trips that are judged together so far, the sum of the excess in them, and the largest.
    rounds: u32,
    sum: f64,
    most: f64,
    /// The window before something was given away, in bytes; 0 if that is long ago.
    before: f64,
    /// Round trips without growth that are left.
    pause: u32,
    patience: u32,
}

impl Default for Giving {
    fn default() -> Self {
        Self { rounds: 0, sum: 0.0, most: 0.0, before: 0.0, pause: 0, patience: PATIENCE.0 }
    }
}

impl Giving {
    /// A round trip ended. True if the window shall not grow.
    pub fn pauses(&mut self) -> bool {
        let pauses = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        pauses
    }

    /// A round trip with a `window` of so many bytes had this excess of its queue over the target. The mean of the last ones if it is too
    /// much, and stays.
    fn stays(&mut self, window: f64, excess: f64) -> Option<f64> {
        if excess >= EXCESS.end {
            return None;
        }
        if self.before > 0.0 && excess > EXCESS.start {
            let is_alone = window > AGAIN * self.before;
            self.patience = if is_alone { (2 * self.patience).min(PATIENCE.1) } else { PATIENCE.0 };
            self.before = 0.0;
        }
        self.rounds += 1;
        self.sum += excess;
        self.most = self.most.max(excess);
        if self.rounds < self.patience {
            return None;
        }
        let (mean, most) = (self.sum / f64::from(self.rounds), self.most);
        (self.rounds, self.sum, self.most) = (0, 0.0, 0.0);
        (mean > EXCESS.start && excess >= STAYS * most).then_some(mean)
    }

    fn give(&mut self, window: f64) {
        (self.before, self.pause) = (window, PAUSE);
    }
}

impl Thalweg {
    /// Gives some of the window away where the queue stays longer than `target`. True if it did.
    pub(super) fn give(&mut self, queueing: f64, target: f64) -> bool {
        let excess = queueing / target - 1.0;
        if excess < EXCESS.start {
            self.rival.forget_given();
        }
        if self.delay.doubt() > DOUBTFUL * target {
            return false;
        }
        let Some(mean) = self.giving.stays(self.window, excess) else { return false };
        self.rival.note_given(self.window / self.segment);
        self.giving.give(self.window);
        let share = self.target_rule().share(target, target * (1.0 + mean), self.min_rtt);
        self.window *= (1.0 - PART * (1.0 - share)).max(KEPT);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The round trips before the one in which something is given away, if the excess of each of 200 is this.
    fn until(giving: &mut Giving, window: f64, mut excess: impl FnMut(i32) -> f64) -> Option<i32> {
        (0..200).find(|&round| giving.stays(window, excess(round)).is_some())
    }

    /// The excess that a flow alone has is gone by the time, and that of rivals is no affair of this rule.
    #[test]
    fn only_a_queue_that_stays_is_shared() {
        assert_eq!(until(&mut Giving::default(), 1e6, |_| 0.3), Some(7));
        assert_eq!(until(&mut Giving::default(), 1e6, |round| 0.9 * 0.75f64.powi(round)), None);
        assert_eq!(until(&mut Giving::default(), 1e6, |_| 0.09), None);
        assert_eq!(until(&mut Giving::default(), 1e6, |_| 1.5), None);
        assert_eq!(until(&mut Giving::default(), 1e6, |round| if round % 2 == 0 { -0.3 } else { 0.3 }), None);
    }

    /// Flows that begin make the queue longer than it is going to stay, and what is measured of it differs from round trip to round trip.
    #[test]
    fn what_stays_after_a_longer_queue_is_shared_whatever_its_noise() {
        let begins = |round| if round < 3 { 0.9 } else { 0.3 };
        assert_eq!(until(&mut Giving::default(), 1e6, begins), Some(8 + 7));
        let noisy = |round| if round % 3 == 0 { 0.05 } else { 0.2 };
        assert_eq!(until(&mut Giving::default(), 1e6, noisy), Some(7));
        let mut giving = Giving::default();
        let means: Vec<_> = (0..8).filter_map(|round| giving.stays(1e6, noisy(round))).collect();
        assert!(means.len() == 1 && (means[0] - 0.14375).abs() < 1e-9, "{means:?}");
    }

    #[test]
    fn who_is_alone_learns_to_wait() {
        let mut giving = Giving::default();
        let mut waits = Vec::new();
        for _ in 0..5 {
            waits.push(until(&mut giving, 1e6, |_| 0.3).expect("stays") + 1);
            giving.give(1e6);
        }
        assert_eq!(waits, [8, 16, 32, 64, 128]);
        // Somebody took it.
        assert_eq!(until(&mut giving, 0.8e6, |_| 0.3), Some(7));
        giving.give(0.8e6);
        assert_eq!((0..20).filter(|_| giving.pauses()).count(), PAUSE as usize);
    }
}
