//! The DEC bit (Ramakrishnan and Jain, "A binary feedback scheme for congestion avoidance in computer networks", 1988),
//! the source's part.
//!
//! Routers set a bit in packets while their queues are long, the receiver copies it into acknowledgements, and the source
//! decides once for every two windows of them: the first window still tells of the time before the last decision, the
//! bits of the second count.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the window before the last change is waited for, then the new one | two windows of the size after the change | one count; windows differ by one packet or an eighth | the decision comes at most an eighth of a window earlier or later |
//! | losses are not part of the scheme | any loss starts over with a window of one packet | what the same authors' companion does (Jain, "A timeout-based congestion control scheme", 1986) | as Slow Start's, without a threshold |

use super::{AckSample, CeResponse, ConfigureController, Controller, Decision, FeedbackKind, LossSample};
use crate::Ecn;

/// The configuration of a [`DecBit`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecBitConfig {
    /// The window at the start, in segments.
    pub initial_window: f64,
    /// The largest window in segments.
    pub max_window: f64,
    /// The amount that is added when fewer bits are set, in segments (1 in the paper).
    pub increase: f64,
    /// The factor that the window is multiplied by when more are set, from 0 to 1 (0.875 in the paper).
    pub decrease: f64,
    /// The share of bits from which on they are more, from 0 to 1 (0.5 in the paper).
    pub share: f64,
}

/// The source of the DEC bit.
#[derive(Clone, Copy, Debug)]
pub struct DecBit {
    config: DecBitConfig,
    window: f64,
    /// Acknowledgements since the last decision.
    acks: u32,
    /// The number of those that count that had the bit set.
    set: u32,
}

impl DecBit {
    /// Starts as `config` says; what is out of range is moved to the nearest that is not.
    pub fn new(config: &DecBitConfig) -> Self {
        let config = DecBitConfig {
            max_window: config.max_window.max(1.0),
            increase: config.increase.max(0.0),
            decrease: config.decrease.clamp(0.0, 1.0),
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
        CeResponse::Own(Ecn::Ect0)
    }

    fn feedback(&self) -> Option<FeedbackKind> {
        Some(FeedbackKind::DecBit)
    }
}
