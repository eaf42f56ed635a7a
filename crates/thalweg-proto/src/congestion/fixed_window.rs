//! A congestion controller whose window never changes.

use super::{AckSample, ConfigureController, Controller, Decision, LossSample};
use crate::state_digest::Digest;
use crate::units::Time;
use core::hash::Hasher;

/// Configuration of a [`FixedWindow`] window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedWindowConfig {
    /// Window in segments, at least 1.
    pub window: f64,
}

/// No congestion control: a window of fixed size.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    window: f64,
}

impl FixedWindow {
    /// Creates the controller described by `config`.
    pub fn new(config: &FixedWindowConfig) -> Self {
        Self { window: config.window.max(1.0) }
    }
}

impl Digest for FixedWindow {
    /// The controller has no state.
    fn feed_state<H: Hasher>(&self, _now: Time, _into: &mut H) {}
}

impl Controller for FixedWindow {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, _info: ()) {}

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}

impl ConfigureController for FixedWindowConfig {
    type Controller = FixedWindow;
    const NAME: &'static str = "fixed";

    fn make(&self) -> FixedWindow {
        FixedWindow::new(self)
    }
}
