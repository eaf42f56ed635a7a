//! Routers' messages, the sender's part.

use super::Sender;
use super::losses::tell_named;
use crate::congestion::{Controller, FeedbackSample};
use crate::payload::Payload;
use crate::transport::{Feedback, Signal};
use crate::units::Time;

impl<P: Payload, C: Controller> Sender<P, C> {
    /// A router speaks of this flow.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: Feedback) {
        self.signal = Some(Signal::Feedback);
        let path = self.path(now);
        let mut known = false;
        // Sent again at once, the packet would never be missed: a controller that does not know of such messages would
        // be told of no loss at all.
        if let Some(sequence) = feedback.dropped.filter(|_| self.controller.retransmits_reported_drops()) {
            // It goes again when the window allows, after the controller's answer (Liang 1991, section 3.3).
            let renewed = self.renewed();
            let lost = |record: &_| tell_named(&mut self.controller, &path, renewed, record);
            known = !self.scoreboard.mark_dropped(sequence, now, lost);
            if !known && self.is_first(sequence) {
                self.timer = now + self.rtt.timeout();
            }
        }
        self.controller.on_feedback(&FeedbackSample { path, feedback, known });
    }
}
