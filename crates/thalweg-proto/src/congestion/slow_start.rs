//! Slow Start with congestion avoidance (Jacobson 1988), known as Tahoe.
//!
//! ```text
//!            window < threshold            window >= threshold
//!   start -> slow start (+1 an ack) -----> congestion avoidance (+1 a window)
//!               ^                                   |
//!               +----- any loss: threshold = half, window = 1
//! ```

use super::{AckSample, Controller, Decision, LossSample, Path};

/// The least threshold in segments.
const MIN_THRESHOLD: f64 = 2.0;

/// Slow Start with congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    window: f64,
    threshold: f64,
}

impl SlowStart {
    /// Starts with these, in segments.
    pub fn new(initial_window: f64, initial_threshold: f64) -> Self {
        Self { window: initial_window.max(1.0), threshold: initial_threshold.max(MIN_THRESHOLD) }
    }
}

impl Controller for SlowStart {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        if sample.app_limited {
            return;
        }
        // Jacobson 1988, sections 1 and 3: by one for each acknowledgement, or for each window of them.
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        // Jacobson 1988, section 3: on any loss, half the window is remembered and the clock is started anew.
        self.threshold = (self.window / 2.0).max(MIN_THRESHOLD);
        self.window = 1.0;
    }

    fn on_idle(&mut self, _path: &Path) {
        self.window = 1.0;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }

    fn threshold(&self) -> Option<f64> {
        Some(self.threshold)
    }
}
