//! ECN marks (RFC 3168): the queue length is controlled by the marking router.
//!
//! A mark is not a random loss, so it needs no loss probe: the response is immediate. The router decides the length of
//! the queue and its division among ECN flows; the delay rule would find no usable queue, or a persistent one. A flow
//! that receives marks therefore behaves as beside competing traffic, until the marks stop.

use super::rival::BETA;
use super::{Phase, Thalweg};
use crate::congestion::Path;

/// The share of the window that a mark leaves of a start, which has doubled it since what was marked left.
pub(super) const OF_START: f64 = 0.5;

impl Thalweg {
    /// Handles the first mark in a window of data.
    pub(super) fn on_mark(&mut self, path: &Path) {
        if let Phase::Start { .. } = self.phase {
            self.leave_start(path.now, OF_START * self.window);
            return;
        }
        self.trial = None;
        self.epoch = path.now;
        if self.config.compete && !self.rival.is_there() {
            self.rival.meet(path.now, self.window / self.segment);
        }
        if self.rival.is_there() {
            self.rival.on_loss(path.now, path.smoothed_rtt);
        } else {
            self.window = (self.window * BETA).max(self.least());
            self.pace.slow_down();
        }
    }
}
