//! CUBIC (RFC 9438).
//!
//! After a loss the window follows `W(t) = C (t - K)^3 + W_max`: it grows fast far below the window of the last loss,
//! slowly near it, then fast again to probe for bandwidth. It is never below NewReno's window.
//!
//! # Differences from the specification
//!
//! | RFC 9438 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | a loss multiplies the outstanding amount (section 4.6) | at most the window | while a lost retransmission waits for its timer, selectively acknowledged segments above it count as outstanding, far beyond the window | no slow start to a multiple of the window after the timeout, which would repeat the loss |
//! | no rule for RFC 8511 (ABE) | `ecn_beta` replaces beta at marks in congestion avoidance; fast convergence and the growth of section 4.3 keep beta | RFC 8511 changes only the decrease | a flow with marks is slightly faster than one with losses |
//! | spurious losses are undone (section 4.9) | only if the sender [detects losses by time](crate::window::SenderConfig::rack) | published simulations of CUBIC have no such detection | slower on paths that reorder |
//! | after slow start the curve begins flat (sections 4.2 and 4.10) | the same, but with Linux's [HyStart](SlowStartExit::Hystart) at least 5 % per round trip until the first loss, as in Linux | HyStart may exit at half of the path's capacity, long before a loss reveals that capacity | the path is full after some seconds instead of ten |

use super::decrease_factors::DecreaseFactors;
use super::slow_start_exit::ExitWatch;
use super::slow_start_exit_decision::Step;
use super::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossKind, LossSample,
    SenderRules, SlowStartExit,
};
use crate::units::Time;

/// Minimum ssthresh, in segments (RFC 9438, section 4.6).
const MIN_SSTHRESH: f64 = 2.0;
/// Minimum growth per round trip before the first loss, as in Linux.
const MIN_FIRST_GROWTH: f64 = 0.05;

/// Configuration of [`Cubic`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicConfig {
    /// Initial window, in segments; at least 1.
    pub initial_window: f64,
    /// Initial slow-start threshold, in segments; at least 2.
    pub initial_ssthresh: f64,
    /// Scale of the cubic function (C; 0.4 in the RFC).
    pub c: f64,
    /// Multiplicative-decrease factor after a loss (0.7 in the RFC).
    pub beta: f64,
    /// Fast convergence: gives up part of the window to new flows if it stopped growing below its last maximum.
    pub fast_convergence: bool,
    /// Signal that ends the first slow start (RFC 9438, section 4.10).
    pub slow_start_exit: SlowStartExit,
    /// Decrease factor after a mark in congestion avoidance (beta_ecn of RFC 8511); `None` uses that of a loss.
    pub ecn_beta: Option<f64>,
    /// Decrease factor after the loss or mark that ends slow start; `None` uses that of later ones.
    pub slow_start_beta: Option<f64>,
}

/// CUBIC controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: f64,
    ssthresh: f64,
    initial_window: f64,
    c: f64,
    beta: f64,
    betas: DecreaseFactors,
    fast_convergence: bool,
    /// Minimum growth of [`MIN_FIRST_GROWTH`] is in effect, until the first loss.
    grows_first: bool,
    /// Window just before the last loss, reduced by fast convergence.
    w_max: f64,
    /// Window just before the last loss.
    cwnd_prior: f64,
    /// Start of the current growth epoch; `None` until the first acknowledgement in congestion avoidance.
    epoch: Option<Time>,
    /// Seconds from the epoch until the window is back at `w_max`.
    k: f64,
    /// Window of NewReno with the same average (W_est, section 4.3).
    w_est: f64,
    exit: ExitWatch,
}

impl Cubic {
    /// Creates the controller described by `config`.
    pub fn new(config: &CubicConfig) -> Self {
        let initial_window = config.initial_window.max(1.0);
        Self {
            window: initial_window,
            ssthresh: config.initial_ssthresh.max(MIN_SSTHRESH),
            initial_window,
            c: config.c,
            beta: config.beta,
            betas: DecreaseFactors::new(config.beta, config.ecn_beta, config.slow_start_beta),
            fast_convergence: config.fast_convergence,
            grows_first: config.slow_start_exit == SlowStartExit::Hystart,
            w_max: 0.0,
            // RFC 9438, section 4.10: below any window, so alpha is 1 until the first loss.
            cwnd_prior: 0.0,
            epoch: None,
            k: 0.0,
            w_est: 0.0,
            exit: ExitWatch::new(config.slow_start_exit),
        }
    }

    fn begin_epoch(&mut self, now: Time) -> Time {
        self.epoch = Some(now);
        // RFC 9438, section 4.3: W_est begins at the window of the epoch's start.
        self.w_est = self.window;
        if self.window < self.w_max {
            // RFC 9438, section 4.2, figure 2: the curve begins at the present window.
            self.k = libm::cbrt((self.w_max - self.window) / self.c);
        } else {
            // RFC 9438, sections 4.8 and 4.10: after a timeout or an early exit the curve begins at its
            // plateau.
            self.k = 0.0;
            self.w_max = self.window;
        }
        now
    }

    /// Returns the window `seconds` after the epoch (section 4.2, figure 1).
    fn curve(&self, seconds: f64) -> f64 {
        let t = seconds - self.k;
        self.c * t * t * t + self.w_max
    }

    /// Handles an acknowledgement in slow start; `may_grow` permits growth.
    fn slow_start_ack(&mut self, sample: &AckSample, may_grow: bool) {
        match self.exit.on_ack(sample, self.window) {
            Step::Grow(growth) if may_grow => self.window += growth,
            Step::Grow(_) => {}
            Step::Leave { overshoot } => {
                self.exit.end();
                // RFC 9438, section 4.10: congestion avoidance begins without a loss, so without a W_max.
                self.ssthresh = (self.window - overshoot).max(MIN_SSTHRESH);
                self.window = self.ssthresh;
            }
        }
    }

    fn avoid_congestion(&mut self, sample: &AckSample) {
        let now = sample.connection.now;
        let epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(now));
        let t = now.since(epoch).as_secs_f64();
        let (acked, before) = (f64::from(sample.acked), self.window);
        // RFC 9438, section 4.3: alpha makes the average window equal to NewReno's; from the old maximum on
        // it is NewReno's own.
        let alpha =
            if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
        self.w_est += alpha * acked / self.window;
        if self.curve(t) < self.w_est {
            // RFC 9438, section 4.3: on short paths the curve is slower than NewReno, and CUBIC would lose
            // its share.
            self.window = self.window.max(self.w_est);
        } else {
            // RFC 9438, sections 4.2 and 4.4: the value of the curve one round trip from now, at most 1.5
            // times the window, so growth stays below that of slow start.
            let target = self.curve(t + sample.connection.smoothed_rtt.as_secs_f64());
            let target = target.clamp(self.window, 1.5 * self.window);
            self.window += (target - self.window) / self.window * acked;
        }
        if self.grows_first {
            self.window = self.window.max(before + MIN_FIRST_GROWTH * acked);
        }
    }
}

impl Controller for Cubic {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let may_grow = !(sample.recovering || sample.app_limited);
        if self.window < self.ssthresh {
            self.slow_start_ack(sample, may_grow);
        } else if may_grow {
            self.avoid_congestion(sample);
        }
        if sample.app_limited && !sample.recovering {
            // RFC 9438, section 5.8: the curve would otherwise jump by the growth of the unused time.
            self.epoch = None;
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.exit.end();
        self.grows_first = false;
        if sample.repeated {
            // RFC 5681, section 3.1: a repeated timeout keeps ssthresh.
            self.window = 1.0;
            return;
        }
        // RFC 9438, section 4.7: a window that stopped below its last maximum releases capacity to new flows.
        self.w_max = if self.fast_convergence && self.window < self.w_max {
            self.window * (1.0 + self.beta) / 2.0
        } else {
            self.window
        };
        self.cwnd_prior = self.window;
        self.epoch = None;
        // RFC 9438, sections 4.6 and 4.8: decrease from the outstanding data, for a mark as for a loss unless
        // RFC 8511, section 3, applies.
        let outstanding = f64::from(sample.connection.outstanding).min(self.window);
        let beta = self.betas.factor(sample.kind, self.window < self.ssthresh);
        self.ssthresh = (outstanding * beta).max(MIN_SSTHRESH);
        match sample.kind {
            LossKind::Detected | LossKind::Mark => self.window = self.ssthresh,
            LossKind::Timeout => {
                self.window = 1.0;
                // RFC 9438, section 4.8: the next epoch starts at K = 0, with the window at the end of slow
                // start as W_max.
                self.w_max = 0.0;
            }
        }
    }

    fn on_idle(&mut self, _connection: &ConnectionState) {
        // RFC 5681, section 4.1: the restart window.
        self.window = self.window.min(self.initial_window);
        self.epoch = None;
    }

    fn on_window_unused(&mut self, window: f64, _connection: &ConnectionState) {
        // RFC 7661, section 4.4.3: slow start leads back to three quarters of the unused window.
        self.ssthresh = self.ssthresh.max(0.75 * self.window);
        self.window = self.window.min(window.max(1.0));
        self.epoch = None;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for CubicConfig {
    type Controller = Cubic;
    const NAME: &'static str = "cubic";
    const SENDER_RULES: SenderRules = SenderRules::ALL;

    fn make(&self) -> Cubic {
        Cubic::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
