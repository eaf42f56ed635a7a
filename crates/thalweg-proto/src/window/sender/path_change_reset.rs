//! Path change within a connection (RFC 9000, section 9.4): estimates of the old path are dropped.

use super::{Extensions, Sender};
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::units::Time;
use crate::window::RttEstimator;

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Switches to a new path at `now`, with `controller` in its initial state, and resets the round-trip times.
    /// Segments sent before affect neither. Lost ones are repaired as usual, the first after the initial timeout at
    /// the latest, as the old timeout may have been backed off far beyond it.
    pub fn on_path_change(&mut self, now: Time, controller: C) {
        self.controller = controller;
        self.rtt = RttEstimator::new(&self.config.rtt);
        match &mut self.extensions {
            Some(extensions) => extensions.on_path_change(now),
            None => self.extensions = Some(Extensions::with_path_change(now)),
        }
        if self.timer.is_set() {
            self.timer.set(self.timer.at().min(now + self.rtt.timeout()));
        }
    }

    /// Returns the time since when the current path is used.
    pub(super) fn path_since(&self) -> Time {
        self.extensions.as_ref().map_or(Time::ZERO, |extensions| extensions.path_since)
    }

    /// Returns true if data sent at `sent_at` took the current path.
    pub(super) fn was_sent_on_current_path(&self, sent_at: Time) -> bool {
        sent_at >= self.path_since()
    }
}
