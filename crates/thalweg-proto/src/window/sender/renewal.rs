//! A new path in the midst of a connection (RFC 9000, section 9.4): what was learnt of the old one says nothing of it.

use super::{Extensions, Sender};
use crate::congestion::Controller;
use crate::payload::Payload;
use crate::units::Time;
use crate::window::RttEstimator;

impl<P: Payload, C: Controller> Sender<P, C> {
    /// From `now` on segments take another path, on which `controller` has seen nothing: it takes the place of the old one,
    /// and round-trip times are measured anew. What becomes of segments sent before tells neither of them anything. Those
    /// that are lost are repaired as ever, the first after the initial time-out at the latest, as the old one may have been
    /// backed off far beyond it.
    pub fn renew(&mut self, now: Time, controller: C) {
        self.controller = controller;
        self.rtt = RttEstimator::new(&self.config.rtt);
        match &mut self.extensions {
            Some(extensions) => extensions.renew(now),
            None => self.extensions = Some(Extensions::renewed(now)),
        }
        if self.timer < Time::MAX {
            self.timer = self.timer.min(now + self.rtt.timeout());
        }
    }

    /// The time at which the path of today was first used.
    pub(super) fn renewed(&self) -> Time {
        self.extensions.as_ref().map_or(Time::ZERO, |extensions| extensions.renewed)
    }

    /// True if the data that was sent at `sent_at` took the path of today.
    pub(super) fn is_of_path(&self, sent_at: Time) -> bool {
        sent_at >= self.renewed()
    }
}
