//! ECN marks (RFC 3168): the queue length is controlled by the marking router.
//!
//! A mark is not a random loss, so it needs no loss probe: the response is immediate. The router decides the length of
//! the queue and its division among ECN flows; the delay rule would find no usable queue, or a persistent one. A flow
//! that receives marks therefore behaves as beside competing traffic, until the marks stop.

use super::competition::BETA;
use super::{Phase, Thalweg};
use crate::congestion::Path;

/// Share of the window kept after a mark in slow start, where the window has doubled since the marked packet was sent.
pub(super) const OF_START: f64 = 0.5;

impl Thalweg {
    /// Handles the first mark in a window of data.
    pub(super) fn on_mark(&mut self, path: &Path) {
        if let Phase::Start { .. } = self.phase {
            self.leave_start(path.now, OF_START * self.window);
            return;
        }
        self.loss_probe = None;
        self.epoch = path.now;
        if self.config.compete && !self.competition.is_there() {
            self.competition.start_competing(path.now, self.window / self.segment);
        }
        if self.competition.is_there() {
            self.competition.on_loss(path.now, path.smoothed_rtt);
        } else {
            self.window = (self.window * BETA).max(self.least());
            self.pace.slow_down();
        }
    }
}
