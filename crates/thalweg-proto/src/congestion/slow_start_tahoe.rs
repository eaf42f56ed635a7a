//! Slow Start with congestion avoidance (Jacobson 1988), known as Tahoe.
//!
//! ```text
//!            window < ssthresh             window >= ssthresh
//!   start -> slow start (+1 an ack) -----> congestion avoidance (+1 a window)
//!               ^                                   |
//!               +----- any loss: ssthresh = half, window = 1 (a mark: window = half)
//! ```

use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample,
    SenderRules,
};

/// Window growth in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Growth {
    /// Growth by a fraction of a segment per acknowledgement, while the window is used (Jacobson 1988, section 3).
    #[default]
    Fractional,
    /// Growth by one segment after each whole window of acknowledgements, as in the simulators of that time (Liang
    /// 1991, section 3.3, describes Slow Start so). The window grows even if unused, up to a maximum.
    Counted {
        /// Maximum window, in segments.
        max_window: f64,
    },
}

/// Minimum ssthresh, in segments.
const MIN_SSTHRESH: f64 = 2.0;

/// Configuration of [`SlowStart`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStartConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Growth rule of congestion avoidance.
    pub growth: Growth,
}

/// Slow Start with congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    window: f64,
    ssthresh: f64,
    growth: Growth,
    /// Acknowledgements since the last change of the window, for the counting rule.
    acks: u32,
}

impl SlowStart {
    /// Creates the controller described by `config`.
    pub fn new(config: &SlowStartConfig) -> Self {
        Self {
            window: config.initial_window.max(1.0),
            ssthresh: config.initial_ssthresh.max(MIN_SSTHRESH),
            growth: config.growth,
            acks: 0,
        }
    }

    fn count(&mut self, max_window: f64) {
        self.acks = self.acks.saturating_add(1);
        if self.window < self.ssthresh || f64::from(self.acks) >= self.window.floor() {
            self.acks = 0;
            self.window = (self.window + 1.0).min(max_window.max(1.0));
        }
    }
}

impl Controller for SlowStart {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        // Jacobson 1988, sections 1 and 3: by one for each acknowledgement, or for each window of them.
        match self.growth {
            Growth::Fractional if sample.app_limited => {}
            Growth::Fractional if self.window < self.ssthresh => self.window += f64::from(sample.counted),
            Growth::Fractional => self.window += f64::from(sample.counted) / self.window,
            Growth::Counted { max_window } => self.count(max_window),
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        // Jacobson 1988, section 3: after any loss, ssthresh is half the window and slow start restarts. A mark keeps
        // the acknowledgement clock, and no slow start follows it (RFC 3168, section 6.1.2).
        self.ssthresh = (self.window / 2.0).max(MIN_SSTHRESH);
        self.window = if sample.kind == LossKind::Mark { self.ssthresh } else { 1.0 };
        self.acks = 0;
    }

    fn on_idle(&mut self, _connection: &ConnectionState) {
        // As after a loss: an idle connection has no acknowledgement clock.
        self.window = 1.0;
    }

    fn on_window_unused(&mut self, window: f64, _connection: &ConnectionState) {
        // RFC 7661, section 4.4.3: slow start leads back to three quarters of the unused window.
        self.ssthresh = self.ssthresh.max(0.75 * self.window);
        self.window = self.window.min(window.max(1.0));
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for SlowStartConfig {
    type Controller = SlowStart;
    const NAME: &'static str = "slow-start";
    const SENDER_RULES: SenderRules = SenderRules::ALL;

    fn make(&self) -> SlowStart {
        SlowStart::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
