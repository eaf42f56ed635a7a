//! Router feedback at the sender.

use super::Sender;
use super::loss_notification::notify_dropped;
use crate::congestion::{Controller, FeedbackSample};
use crate::payload::Payload;
use crate::transport::{Feedback, Signal};
use crate::units::Time;

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Handles feedback of a router about this flow.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: Feedback) {
        self.application.report(Signal::Feedback);
        let connection = self.connection(now);
        let mut known = false;
        // An immediate retransmission would hide the loss from a controller without support for feedback.
        if let Some(sequence) = feedback.dropped.filter(|_| self.controller.retransmits_reported_drops()) {
            // The retransmission waits for the window, after the controller's response (Liang 1991, section 3.3).
            let path_since = self.path_since();
            let lost = |record: &_| notify_dropped(&mut self.controller, &connection, path_since, record);
            known = !self.scoreboard.mark_dropped(sequence, now, lost);
            if !known && self.is_first(sequence) {
                self.timer.set(now + self.rtt.timeout());
            }
        }
        self.controller.on_feedback(&FeedbackSample { connection, feedback, known });
    }
}
