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
    /// Lifetime of the minimum delay as the base delay.
    pub base_window: Duration,
}

impl Default for ThalwegConfig {
    fn default() -> Self {
        Self {
            initial_window: 10.0,
            queueing: Duration::from_millis(1),
            compete: true,
            base_window: Duration::from_secs(60),
        }
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
