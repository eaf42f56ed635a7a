//! The options of Thalweg.

use super::Thalweg;
use crate::congestion::{CeResponse, ConfigureController, FeedbackKind};
use crate::units::Duration;

/// The configuration of [`Thalweg`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThalwegConfig {
    /// The window at the start, in segments; at least 1; more than RFC 6928 has, as it is paced.
    pub initial_window: f64,
    /// The queueing delay that a fast flow asks for, above what slower ones add by a rule of their rate.
    pub queueing: Duration,
    /// Share with senders that fill the queue by the rules of CUBIC, in place of leaving the path to them.
    pub compete: bool,
    /// The time for which the shortest delay counts as that of an empty path.
    pub base_window: Duration,
}

impl Default for ThalwegConfig {
    fn default() -> Self {
        Self {
            initial_window: 32.0,
            queueing: Duration::from_millis(1),
            compete: true,
            base_window: Duration::from_secs(10),
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
