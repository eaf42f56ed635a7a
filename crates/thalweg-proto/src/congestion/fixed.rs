//! A window that never changes.

use super::{AckSample, Controller, Decision, LossSample};
use crate::digest::Digest;
use crate::units::Time;
use core::hash::Hasher;

/// No congestion control: a window of fixed size.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    window: f64,
}

impl Fixed {
    /// A window of this many segments, at least 1.
    pub fn new(window: f64) -> Self {
        Self { window: window.max(1.0) }
    }
}

impl Digest for Fixed {
    /// There is nothing that changes.
    fn digest<H: Hasher>(&self, _now: Time, _into: &mut H) {}
}

impl Controller for Fixed {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, _info: ()) {}

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}
