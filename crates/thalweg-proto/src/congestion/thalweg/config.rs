//! Configuration of the scheme `thalweg`.

use super::Thalweg;
use super::queue_target::Target;
use crate::congestion::{CeResponse, ConfigureController, FeedbackKind, SharedPath};
use crate::units::Duration;

/// Configuration of [`Thalweg`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThalwegConfig {
    /// Initial window, in segments; at least 1. Default: that of RFC 6928.
    pub initial_window: f64,
    /// Queueing-delay target of a fast flow; slower flows add a rate-dependent amount.
    pub queueing: Duration,
    /// If true, competes by the rules of CUBIC with senders that fill the queue; if false, yields to them.
    pub compete: bool,
    /// Loss ratio that is attributed to the path without proof, from 0 to a quarter. Default: 0.
    pub tolerated_loss: f64,
    /// If true, `tolerated_loss` is at least 15 %: for private links on which no queue overflows.
    pub aggressive: bool,
    /// Lifetime of the minimum delay as the base delay.
    pub base_window: Duration,
}

impl Default for ThalwegConfig {
    fn default() -> Self {
        Self {
            initial_window: 10.0,
            queueing: Duration::from_millis(1),
            compete: true,
            tolerated_loss: 0.0,
            aggressive: false,
            base_window: Duration::from_secs(60),
        }
    }
}

/// Share of packets whose loss is tolerated by `aggressive`.
const AGGRESSIVE: f64 = 0.15;

impl ThalwegConfig {
    /// Returns the share of packets whose loss is the path's without proof.
    pub(super) fn tolerated(&self) -> f64 {
        let min = if self.aggressive { AGGRESSIVE } else { 0.0 };
        self.tolerated_loss.max(min)
    }
}

impl ConfigureController for ThalwegConfig {
    type Controller = Thalweg;

    const NAME: &'static str = "thalweg";

    fn make(&self) -> Thalweg {
        Thalweg::new(self)
    }

    /// The target of a flow with an equal share of the rate.
    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        let target = Target { constant: self.queueing.as_secs_f64() };
        let share = path.rate.as_f64() / 8.0 / f64::from(path.flows.max(1));
        let seconds = target.at(share, f64::from(path.packet), path.min_rtt.as_secs_f64());
        Some(Duration::from_secs_f64(seconds))
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }

    fn feedback(&self) -> Option<FeedbackKind> {
        Some(FeedbackKind::Seif)
    }

    fn needs_feedback(&self) -> bool {
        false
    }
}
