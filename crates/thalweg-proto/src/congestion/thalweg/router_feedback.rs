//! Router feedback (Liang 1991): warnings of a nearly full queue, and reports of dropped packets.
//!
//! All sources are notified at once, so all reduce at once and none is at a disadvantage. The reduction is the smallest
//! that halves the target queue: the queue is too long, not the rate too high. Competing traffic does not receive the
//! messages; beside it only reports of drops count, as losses do.

use super::{Cause, Thalweg};
use crate::congestion::FeedbackSample;
use crate::units::{Duration, Time};

/// Factor applied to the share of the target queue at each message, and minimum share.
const MESSAGE_FACTOR: f64 = 0.5;
const MIN_TARGET_SHARE: f64 = 1.0 / 32.0;
/// Recovery time of a flow's queue target from zero to its full value.
const RECOVERY_TIME: Duration = Duration::from_secs(10);
/// Minimum and maximum share of the window kept after a message.
const WINDOW_SHARE_LIMITS: (f64, f64) = (0.5, 0.95);

/// State kept about router messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouterFeedback {
    /// Share of the target queue in use, and the time it applied.
    part: f64,
    last_message: Time,
    /// End of the hold-off: earlier messages concern the congestion already answered.
    holdoff_end: Time,
}

impl Default for RouterFeedback {
    fn default() -> Self {
        Self { part: 1.0, last_message: Time::ZERO, holdoff_end: Time::ZERO }
    }
}

impl RouterFeedback {
    /// Returns the share of the target queue that the flow uses.
    pub fn target_share(&mut self, now: Time) -> f64 {
        let passed = now.since(self.last_message).as_secs_f64() / RECOVERY_TIME.as_secs_f64();
        (self.part, self.last_message) = ((self.part + passed).min(1.0), now);
        self.part
    }

    /// Returns true if no router message arrived for long.
    pub fn has_recovered(&self) -> bool {
        self.part >= 1.0
    }
}

impl Thalweg {
    /// Handles a router's message. Messages with a rate are not supported by this scheme.
    pub(super) fn on_router_feedback(&mut self, sample: &FeedbackSample) {
        let (connection, is_warning) = (&sample.connection, sample.feedback.dropped.is_none());
        let is_answered = sample.known || connection.now < self.router_feedback.holdoff_end.max(self.epoch);
        let is_ignored = is_warning && self.is_competing || sample.feedback.rate.is_some();
        if self.segment == 0.0 || is_answered || is_ignored {
            return;
        }
        self.router_feedback.holdoff_end = connection.now + connection.smoothed_rtt;
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
        self.router_feedback.part =
            (MESSAGE_FACTOR * self.router_feedback.target_share(now)).max(MIN_TARGET_SHARE);
        self.pace.ceiling = self.window;
        self.pace.slow_down();
        let wanted = self.router_feedback.part * self.target(self.rate());
        let empty = (self.rtt - self.delay.newest()).max(0.0);
        let useful = self.round.previous.rate * (empty + wanted);
        self.window = useful
            .clamp(WINDOW_SHARE_LIMITS.0 * self.window, WINDOW_SHARE_LIMITS.1 * self.window)
            .max(self.min_window());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth per second.
    #[test]
    fn the_queue_target_recovers_with_time() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut router_feedback =
            RouterFeedback { part: 0.25, last_message: at(1), ..RouterFeedback::default() };
        assert_eq!((router_feedback.target_share(at(3)), router_feedback.has_recovered()), (0.45, false));
        assert_eq!((router_feedback.target_share(at(20)), router_feedback.has_recovered()), (1.0, true));
    }
}
