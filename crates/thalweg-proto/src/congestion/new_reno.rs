//! NewReno: the window rules of RFC 5681 for a sender that repairs several losses per window (RFC 6582, RFC 6675).
//!
//! ```text
//!   slow start ---ssthresh reached----> congestion avoidance
//!     ^     \                                /
//!     |      +-- duplicates: window = ssthresh = half of the outstanding data --> recovery
//!     |                                                                             |
//!     +---------- timeout: ssthresh = half, window = 1 <---------------------------+--> avoidance, when repaired
//! ```
//!
//! # Differences from the specification
//!
//! | Spec | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | RFC 5681 inflates the window by a segment for each duplicate acknowledgement | the sender counts that segment as having left the network instead | one rule for cumulative and selective acknowledgement | none: the same segments are sent at the same times |
//! | congestion avoidance counts acknowledged bytes (recommended in RFC 5681, section 3.1, and RFC 3465) or grows with each acknowledgement (equation 3) | with each acknowledgement, unless the sender [counts bytes](crate::window::SenderConfig::byte_counting) | as in published simulations of NewReno | half as fast if receivers acknowledge every second segment; `cubic` counts segments there |
//! | RFC 8511 (ABE) leaves slow start unchanged | the same, unless `slow_start_beta` is configured | stacks differ there | one factor for losses and marks that end slow start |
//! | a loss halves the outstanding amount (RFC 5681, equation 4) | at most the window | while a lost retransmission waits for its timer, selectively acknowledged segments above it count as outstanding, far beyond the window | no slow start to a multiple of the window after the timeout, which would repeat the loss |

use super::decrease_factors::DecreaseFactors;
use super::slow_start_exit::ExitWatch;
use super::slow_start_exit_decision::Step;
use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample,
    SenderRules, SlowStartExit,
};

/// Multiplicative-decrease factor after a loss (RFC 5681, equation 4).
const BETA: f64 = 0.5;
/// Minimum ssthresh, in segments (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;

/// Configuration of [`NewReno`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewRenoConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Signal that ends the first slow start.
    pub slow_start_exit: SlowStartExit,
    /// Decrease factor after a mark in congestion avoidance (beta_ecn of RFC 8511); `None` uses that of a loss.
    pub ecn_beta: Option<f64>,
    /// Decrease factor after the loss or mark that ends slow start; `None` uses that of later ones.
    pub slow_start_beta: Option<f64>,
}

/// NewReno controller.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: f64,
    ssthresh: f64,
    initial_window: f64,
    betas: DecreaseFactors,
    exit: ExitWatch,
}

impl NewReno {
    /// Creates the controller described by `config`.
    pub fn new(config: &NewRenoConfig) -> Self {
        let initial_window = config.initial_window.max(1.0);
        let ssthresh = config.initial_ssthresh.max(MIN_SSTHRESH);
        Self {
            window: initial_window,
            ssthresh,
            initial_window,
            betas: DecreaseFactors::new(BETA, config.ecn_beta, config.slow_start_beta),
            exit: ExitWatch::new(config.slow_start_exit),
        }
    }

    /// Continues in congestion avoidance with a smaller window.
    pub(super) fn reduce_to(&mut self, window: f64) {
        self.ssthresh = window.max(MIN_SSTHRESH);
        self.window = self.ssthresh;
        self.exit.end();
    }

    /// Handles an acknowledgement in slow start; `may_grow` permits growth.
    fn slow_start_ack(&mut self, sample: &AckSample, may_grow: bool) {
        match self.exit.on_ack(sample, self.window) {
            // RFC 5681, equation 2: by at most one segment for each acknowledgement of new data, or RFC 3465, section 2.2.
            Step::Grow(growth) if may_grow => self.window += growth,
            Step::Grow(_) => {}
            Step::Leave { overshoot } => self.reduce_to(self.window - overshoot),
        }
    }
}

impl Controller for NewReno {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let may_grow = !(sample.recovering || sample.app_limited);
        if self.window < self.ssthresh {
            self.slow_start_ack(sample, may_grow);
        } else if may_grow {
            // RFC 5681, equation 3: about one segment per round-trip time.
            self.window += f64::from(sample.counted) / self.window;
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        // RFC 5681, equation 4: half of the outstanding data, not of the window, which may be unused.
        // RFC 5681, section 3.1: ssthresh is constant while the same segment times out again; halving it for
        // each timeout would forget the path.
        if !sample.repeated {
            let outstanding = f64::from(sample.connection.outstanding).min(self.window);
            let beta = self.betas.factor(sample.kind, self.window < self.ssthresh);
            self.ssthresh = (outstanding * beta).max(MIN_SSTHRESH);
        }
        self.window = match sample.kind {
            // RFC 3168, section 6.1.2: the window falls to ssthresh after a mark as after a loss.
            LossKind::Detected | LossKind::Mark => self.ssthresh,
            // RFC 5681, section 3.1: the loss window. No acknowledgement clock is left.
            LossKind::Timeout => 1.0,
        };
        // RFC 9406, section 4.3: ssthresh is known now, so later slow starts end at it.
        self.exit.end();
    }

    fn on_idle(&mut self, _connection: &ConnectionState) {
        // RFC 5681, section 4.1: the restart window.
        self.window = self.window.min(self.initial_window);
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

impl ConfigureController for NewRenoConfig {
    type Controller = NewReno;
    const NAME: &'static str = "newreno";
    const SENDER_RULES: SenderRules = SenderRules::ALL;

    fn make(&self) -> NewReno {
        NewReno::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
