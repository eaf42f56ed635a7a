//! Marks (RFC 3168): a queue that is kept short by who owns it.
//!
//! A mark is no loss of the path, so that nothing is asked of it: it is answered at once. And whoever marks decides how long the queue
//! is and shares it out among those who heed that, where the rule of the delay would find no queue to go by, or one that stays whatever
//! it does. So a flow among marks does as it does among others that fill the queue, until they stop.

use super::rival::BETA;
use super::{Phase, Thalweg};
use crate::congestion::Path;

/// The share of the window that a mark leaves of a start, which has doubled it since what was marked left.
pub(super) const OF_START: f64 = 0.5;

impl Thalweg {
    /// The first mark of a window of data.
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
