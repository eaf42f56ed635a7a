//! The answer to losses: a lower rate, which is taken back where losses go on as before.

use super::loss::{CONTROLLED, Tally};
use super::{Round, Thalweg};
use crate::congestion::Path;

/// The share of what arrives in a round trip that an answer to losses takes away.
const CUT: f64 = 0.15;
/// The round trips that a trial takes: one until the lower rate shows, one of losses at it, and more where few packets leave in one.
const ROUNDS: core::ops::RangeInclusive<u32> = 2..=4;

/// A lower rate, and what was lost before and since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The window before, in bytes.
    window: f64,
    high: Tally,
    pub low: Tally,
    rounds: u32,
}

impl Thalweg {
    /// A round trip ended that took `useful` bytes without its queue. True if losses were what mattered in it.
    pub(super) fn answer_losses(&mut self, last: &Round, path: &Path, useful: f64) -> bool {
        self.watch_crowd(last.tally);
        let is_crowded = self.crowd.is_there();
        if let Some(mut trial) = self.trial.take() {
            trial.rounds += 1;
            let expected = trial.high.expected_in(trial.low.sent);
            let is_over =
                trial.rounds >= *ROUNDS.start() && expected >= CONTROLLED || trial.rounds >= *ROUNDS.end();
            if is_over {
                self.end_trial(&trial, expected);
            } else {
                self.trial = Some(trial);
            }
            return true;
        }
        if self.rival.is_there() {
            // Others answer the first loss, and this flow does what they do.
            let most = if is_crowded { 0.0 } else { f64::INFINITY };
            if !self.path_loss.exceeded_at_all_by(last.tally, most) {
                self.refine(last);
                return false;
            }
            self.rival.on_loss(path.now, path.smoothed_rtt);
            self.epoch = path.now;
            return true;
        }
        if !self.path_loss.exceeded_by(last.tally, self.crowd.believes()) {
            self.refine(last);
            return false;
        }
        if is_crowded {
            self.give_way(useful);
            self.epoch = path.now;
            return true;
        }
        self.trial = Some(Trial { window: self.window, high: last.tally, low: Tally::default(), rounds: 0 });
        self.window = (self.window.min(useful) * (1.0 - CUT)).max(self.least());
        true
    }

    /// The losses of a round trip were the path's own, as far as that can be told: hardly beside a queue that stays.
    fn refine(&mut self, last: &Round) {
        if !self.crowd.is_there() {
            self.path_loss.refine(last.tally);
        }
    }

    fn end_trial(&mut self, trial: &Trial, expected: f64) {
        self.path_loss.learn(trial.low);
        // What no path loses is congestion, though the cut of one among many does not show.
        if trial.low.is_hopeless() || trial.low.is_fewer_than(expected) {
            self.pace.ceiling = trial.window;
            self.pace.slow_down();
        } else {
            self.path_loss.learn(trial.high);
            self.window = self.window.max(trial.window);
            if self.is_large() {
                // Where the path is full is not known: a start that ended by these losses ended too early.
                self.pace.ceiling = f64::INFINITY;
            }
            self.pace.rest();
        }
    }
}
