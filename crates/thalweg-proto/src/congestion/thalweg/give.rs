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
/// The share of the largest excess of these round trips that must be left in each, or they begin anew: what a flow alone has too much
/// goes away in them, and what flows that begin bring with them does, too.
const STAYS: f64 = 0.5;
/// Round trips in which it stays before something is given away: the fewest, and the most, which they are where nobody took it.
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
    /// Round trips in which the queue was too long, and the largest excess in them.
    rounds: u32,
    most: f64,
    /// The window before something was given away, in bytes; 0 if that is long ago.
    before: f64,
    /// Round trips without growth that are left.
    pause: u32,
    patience: u32,
}

impl Default for Giving {
    fn default() -> Self {
        Self { rounds: 0, most: 0.0, before: 0.0, pause: 0, patience: PATIENCE.0 }
    }
}

impl Giving {
    /// A round trip ended. True if the window shall not grow.
    pub fn pauses(&mut self) -> bool {
        let pauses = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        pauses
    }

    /// A round trip with a `window` of so many bytes had this excess of its queue over the target. True if it stays.
    fn stays(&mut self, window: f64, excess: f64) -> bool {
        if !EXCESS.contains(&excess) {
            self.rounds = 0;
            return false;
        }
        if self.before > 0.0 {
            let is_alone = window > AGAIN * self.before;
            self.patience = if is_alone { (2 * self.patience).min(PATIENCE.1) } else { PATIENCE.0 };
            self.before = 0.0;
        }
        if excess < STAYS * self.most {
            self.rounds = 0;
        }
        self.most = if self.rounds == 0 { excess } else { self.most.max(excess) };
        self.rounds += 1;
        self.rounds >= self.patience
    }

    fn give(&mut self, window: f64) {
        *self = Self { rounds: 0, before: window, pause: PAUSE, ..*self };
    }
}

impl Thalweg {
    /// Gives some of the window away where the queue stays longer than `target`. True if it did.
    pub(super) fn give(&mut self, queueing: f64, target: f64) -> bool {
        let excess = queueing / target - 1.0;
        if excess < EXCESS.start {
            self.rival.forget_given();
        }
        if self.delay.doubt() > DOUBTFUL * target || !self.giving.stays(self.window, excess) {
            return false;
        }
        self.rival.note_given(self.window / self.segment);
        self.giving.give(self.window);
        let share = self.target_rule().share(target, queueing, self.min_rtt);
        self.window *= (1.0 - PART * (1.0 - share)).max(KEPT);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The round trips until something is given away, if the excess of one in 200 round trips is this.
    fn until(giving: &mut Giving, window: f64, mut excess: impl FnMut(i32) -> f64) -> Option<i32> {
        (0..200).find(|&round| giving.stays(window, excess(round)))
    }

    /// The excess that a flow alone has is gone by the time, and that of rivals is no affair of this rule.
    #[test]
    fn only_a_queue_that_stays_is_shared() {
        assert_eq!(until(&mut Giving::default(), 1e6, |_| 0.3), Some(7));
        assert_eq!(until(&mut Giving::default(), 1e6, |round| 0.9 * 0.75f64.powi(round)), None);
        assert_eq!(until(&mut Giving::default(), 1e6, |_| 0.09), None);
        assert_eq!(until(&mut Giving::default(), 1e6, |_| 1.5), None);
        assert_eq!(until(&mut Giving::default(), 1e6, |round| if round % 5 == 0 { 0.0 } else { 0.3 }), None);
    }

    /// A flow that begins makes the queue longer than it is going to stay.
    #[test]
    fn what_is_left_of_a_longer_queue_is_looked_at_anew() {
        let begins = |round| if round < 3 { 0.9 } else { 0.3 };
        assert_eq!(until(&mut Giving::default(), 1e6, begins), Some(3 + 7));
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
