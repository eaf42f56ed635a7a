//! DEC bit (Ramakrishnan and Jain, "A binary feedback scheme for congestion avoidance in computer networks with a
//! connectionless network layer", 1988): the source. The router follows the journal version of 1990, titled without
//! "with a connectionless network layer".
//!
//! Routers set a bit in packets while their queues are long. The receiver copies the bit into acknowledgements. The
//! source decides once every two windows of acknowledgements. The first window still reflects the time before the last
//! decision; the bits of the second window count.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the source waits for the window before the last change, then for the new one | two windows of the size after the change | one count; windows differ by one packet or an eighth | the decision comes at most an eighth of a window earlier or later |
//! | losses are not part of the scheme | any loss restarts with a window of one packet | as in the same authors' companion scheme (Jain, "A timeout-based congestion control scheme", 1986) | as Slow Start, without ssthresh |

use super::{AckSample, CeResponse, ConfigureController, Controller, Decision, FeedbackKind, LossSample};
use crate::Ecn;

/// Configuration of a [`DecBit`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecBitConfig {
    /// Initial window, in segments.
    pub initial_window: f64,
    /// Maximum window, in segments.
    pub max_window: f64,
    /// Additive increase if fewer bits are set, in segments (1 in the paper).
    pub increase: f64,
    /// Multiplicative-decrease factor if more bits are set, from 0 to 1 (0.875 in the paper).
    pub decrease: f64,
    /// Minimum share of set bits at which the window decreases, from 0 to 1 (0.5 in the paper).
    pub share: f64,
}

/// Source of the DEC bit scheme.
#[derive(Clone, Copy, Debug)]
pub struct DecBit {
    config: DecBitConfig,
    window: f64,
    /// Acknowledgements since the last decision.
    acks: u32,
    /// Number of counted acknowledgements with the bit set.
    set: u32,
}

impl DecBit {
    /// Creates the controller described by `config`; out-of-range values are clamped.
    pub fn new(config: &DecBitConfig) -> Self {
        let config = DecBitConfig {
            max_window: config.max_window.max(1.0),
            increase: config.increase.max(0.0),
            decrease: config.decrease.clamp(0.0, 1.0),
            share: config.share.clamp(0.0, 1.0),
            ..*config
        };
        Self { config, window: config.initial_window.clamp(1.0, config.max_window), acks: 0, set: 0 }
    }

    fn begin(&mut self, window: f64) {
        self.window = window.clamp(1.0, self.config.max_window);
        self.acks = 0;
        self.set = 0;
    }
}

impl Controller for DecBit {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        // Saturates for windows that no sender can fill.
        let window = self.window as u32;
        self.acks = self.acks.saturating_add(1);
        // Bits of the first window were set before the last decision took effect.
        self.set += u32::from(self.acks > window && sample.ce > 0);
        if self.acks < window.saturating_mul(2) {
            return;
        }
        let congested = f64::from(self.set) >= self.config.share * f64::from(window);
        let next =
            if congested { self.window * self.config.decrease } else { self.window + self.config.increase };
        self.begin(next);
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        self.begin(1.0);
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}

impl ConfigureController for DecBitConfig {
    type Controller = DecBit;
    const NAME: &'static str = "dec-bit";

    fn make(&self) -> DecBit {
        DecBit::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::ControllerSpecific(Ecn::Ect0)
    }

    fn feedback(&self) -> Option<FeedbackKind> {
        Some(FeedbackKind::DecBit)
    }
}
