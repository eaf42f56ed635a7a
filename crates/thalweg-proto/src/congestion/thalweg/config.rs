//! Options of Thalweg.

use super::Thalweg;
use crate::congestion::{CeResponse, ConfigureController, FeedbackKind};
use crate::units::Duration;

/// Configuration of [`Thalweg`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThalwegConfig {
    /// Initial window, in segments; at least 1. Default: that of RFC 6928.
    pub initial_window: f64,
    /// Queueing-delay target of a fast flow; slower flows add a rate-dependent amount.
    pub queueing: Duration,
    /// Share with senders that fill the queue by the rules of CUBIC, instead of yielding the path to them.
    pub compete: bool,
    /// Share of packets whose loss is the path's without proof; up to a quarter. Default: 0.
    pub tolerated_loss: f64,
    /// Tolerate a loss of 15 % at least: for links of one's own, where no queue overflows.
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
