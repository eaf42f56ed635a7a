//! Router feedback (Liang 1991): warnings of a nearly full queue, and reports of dropped packets.
//!
//! All sources are notified at once, so all reduce at once and none is at a disadvantage. The reduction is the smallest
//! that halves the target queue: the queue is too long, not the rate too high. Competing traffic does not receive the
//! messages; beside it only reports of drops count, as losses do.

use super::{Cause, Thalweg};
use crate::congestion::FeedbackSample;
use crate::units::Time;

/// Factor applied to the share of the target queue at each message.
const MESSAGE_FACTOR: f64 = 0.5;
/// Minimum and maximum share of the window kept after a message.
const WINDOW_SHARE_LIMITS: (f64, f64) = (0.5, 0.95);

impl Thalweg {
    /// Handles a router's message. Messages with a rate are not supported by this scheme.
    pub(super) fn on_router_feedback(&mut self, sample: &FeedbackSample) {
        let (connection, is_warning) = (&sample.connection, sample.feedback.dropped.is_none());
        let is_answered = sample.known || connection.now < self.message_holdoff_end.max(self.epoch);
        let is_ignored = is_warning && self.is_competing || sample.feedback.rate.is_some();
        if self.segment == 0.0 || is_answered || is_ignored {
            return;
        }
        self.message_holdoff_end = connection.now + connection.smoothed_rtt;
        if self.is_starting {
            self.leave_start(connection.now, super::OF_START * self.window);
        } else if self.is_competing {
            self.respond(connection, Cause::Report);
        } else {
            self.shorten_queue(connection.now);
        }
    }

    fn shorten_queue(&mut self, now: Time) {
        self.evidence.abandon();
        self.epoch = now;
        self.target_share.reduce(now, MESSAGE_FACTOR);
        self.pace.ceiling = self.window;
        self.pace.slow_down();
        let wanted = self.target_share.at(now) * self.target(self.rate());
        let empty = (self.rtt - self.delay.newest()).max(0.0);
        let useful = self.round.previous.rate * (empty + wanted);
        self.window = useful
            .clamp(WINDOW_SHARE_LIMITS.0 * self.window, WINDOW_SHARE_LIMITS.1 * self.window)
            .max(self.min_window());
    }
}
