//! Loss probe: a lower rate in response to losses, reverted if losses continue unchanged.

use super::loss::{CONTROLLED, Tally};
use super::{Round, Thalweg};
use crate::congestion::Path;

/// Reduction in response to losses, as a share of the data arriving in a round trip.
const CUT: f64 = 0.15;
/// Duration of a probe in round trips: one until the lower rate takes effect, one to count losses at it, and more if
/// few packets are sent per round trip.
const ROUNDS: core::ops::RangeInclusive<u32> = 2..=4;

/// Rate reduction, with the losses before and since.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossProbe {
    /// Former window, in bytes.
    window: f64,
    high: Tally,
    pub low: Tally,
    rounds: u32,
}

impl Thalweg {
    /// Responds to the losses of a round trip that took `useful` bytes without its queue; returns true if losses
    /// determined the response.
    pub(super) fn respond_to_losses(&mut self, last: &Round, path: &Path, useful: f64) -> bool {
        self.detect_many_flows(last.tally);
        let is_shared_by_many = self.crowd.is_there();
        if let Some(mut trial) = self.trial.take() {
            trial.rounds += 1;
            let expected = trial.high.expected_in(trial.low.sent);
            let is_over =
                trial.rounds >= *ROUNDS.start() && expected >= CONTROLLED || trial.rounds >= *ROUNDS.end();
            if is_over {
                self.end_loss_probe(&trial, expected);
            } else {
                self.trial = Some(trial);
            }
            return true;
        }
        if self.rival.is_there() {
            // Competing flows respond to the first loss, and so does this one.
            let most = if is_shared_by_many { 0.0 } else { f64::INFINITY };
            if !self.path_loss.exceeded_at_all_by(last.tally, most) {
                self.refine(last);
                return false;
            }
            self.rival.on_loss(path.now, path.smoothed_rtt);
            self.epoch = path.now;
            return true;
        }
        if !self.path_loss.exceeded_by(last.tally, self.crowd.max_path_loss()) {
            self.refine(last);
            return false;
        }
        if is_shared_by_many {
            self.yield_to_losses(useful);
            self.epoch = path.now;
            return true;
        }
        self.trial =
            Some(LossProbe { window: self.window, high: last.tally, low: Tally::default(), rounds: 0 });
        self.window = (self.window.min(useful) * (1.0 - CUT)).max(self.least());
        true
    }

    /// Attributes the losses of a round trip to the path, with little weight beside a persistent queue.
    fn refine(&mut self, last: &Round) {
        if !self.crowd.is_there() {
            self.path_loss.refine(last.tally);
        }
    }

    fn end_loss_probe(&mut self, trial: &LossProbe, expected: f64) {
        self.path_loss.learn(trial.low);
        // A loss rate beyond any path's is congestion, even if the reduction of one flow among many has no visible
        // effect.
        if trial.low.is_hopeless() || trial.low.is_fewer_than(expected) {
            self.pace.ceiling = trial.window;
            self.pace.slow_down();
        } else {
            self.path_loss.learn(trial.high);
            self.window = self.window.max(trial.window);
            if self.is_large() {
                // The path's capacity is unknown: slow start ended too early, by these losses.
                self.pace.ceiling = f64::INFINITY;
            }
            self.pace.rest();
        }
    }
}
