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
        let is_shared_by_many = self.many_flows.is_there();
        if let Some(mut loss_probe) = self.loss_probe.take() {
            loss_probe.rounds += 1;
            let expected = loss_probe.high.expected_in(loss_probe.low.sent);
            let is_over = loss_probe.rounds >= *ROUNDS.start() && expected >= CONTROLLED
                || loss_probe.rounds >= *ROUNDS.end();
            if is_over {
                self.end_loss_probe(&loss_probe, expected);
            } else {
                self.loss_probe = Some(loss_probe);
            }
            return true;
        }
        if self.competition.is_there() {
            // Competing flows respond to the first loss, and so does this one.
            let max_share = if is_shared_by_many { 0.0 } else { f64::INFINITY };
            if !self.path_loss.exceeded_at_all_by(last.tally, max_share) {
                self.refine(last);
                return false;
            }
            self.competition.on_loss(path.now, path.smoothed_rtt);
            self.epoch = path.now;
            return true;
        }
        if !self.path_loss.exceeded_by(last.tally, self.many_flows.max_path_loss()) {
            self.refine(last);
            return false;
        }
        if is_shared_by_many {
            self.yield_to_losses(useful);
            self.epoch = path.now;
            return true;
        }
        self.loss_probe =
            Some(LossProbe { window: self.window, high: last.tally, low: Tally::default(), rounds: 0 });
        self.window = (self.window.min(useful) * (1.0 - CUT)).max(self.least());
        true
    }

    /// Attributes the losses of a round trip to the path, with little weight beside a persistent queue.
    fn refine(&mut self, last: &Round) {
        if !self.many_flows.is_there() {
            self.path_loss.refine(last.tally);
        }
    }

    fn end_loss_probe(&mut self, loss_probe: &LossProbe, expected: f64) {
        self.path_loss.learn(loss_probe.low);
        // A loss rate beyond any path's is congestion, even if the reduction of one flow among many has no visible
        // effect.
        if loss_probe.low.is_hopeless() || loss_probe.low.is_fewer_than(expected) {
            self.pace.ceiling = loss_probe.window;
            self.pace.slow_down();
        } else {
            self.path_loss.learn(loss_probe.high);
            self.window = self.window.max(loss_probe.window);
            if self.is_large() {
                // The path's capacity is unknown: slow start ended too early, by these losses.
                self.pace.ceiling = f64::INFINITY;
            }
            self.pace.rest();
        }
    }
}
