//! A window that never changes.

use super::{AckSample, ConfigureController, Controller, Decision, LossSample};
use crate::digest::Digest;
use crate::units::Time;
use core::hash::Hasher;

/// The configuration of a [`Fixed`] window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedConfig {
    /// The window in segments, at least 1.
    pub window: f64,
}

/// No congestion control: a window of fixed size.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    window: f64,
}

impl Fixed {
    /// A window as `config` says.
    pub fn new(config: &FixedConfig) -> Self {
        Self { window: config.window.max(1.0) }
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

impl ConfigureController for FixedConfig {
    type Controller = Fixed;
    const NAME: &'static str = "fixed";

    fn make(&self) -> Fixed {
        Fixed::new(self)
    }
}
