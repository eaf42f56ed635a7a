//! Router feedback (Liang 1991): warnings of a nearly full queue, and reports of dropped packets.
//!
//! All sources are notified at once, so all reduce at once and none is at a disadvantage. The reduction is the smallest
//! that halves the target queue: the queue is too long, not the rate too high. Where competing traffic does not receive
//! the messages, a flow that reduces its window loses its share. A queue that falls less than the common reduction
//! predicts reveals such traffic.

use super::competition::Competition;
use super::marks::OF_START;
use super::{Phase, Thalweg};
use crate::congestion::{FeedbackSample, Path};
use crate::units::{Duration, Time};

/// Factor applied to the share of the target queue at each message, and minimum share.
const PART: f64 = 0.5;
const MIN_TARGET_SHARE: f64 = 1.0 / 32.0;
/// Recovery time of a flow's queue target from zero to its full value, and interval at which a flow beside competing
/// traffic tests again for a response of that traffic to messages.
const RECOVERY: Duration = Duration::from_secs(10);
/// Minimum and maximum share of the window kept after a message.
const KEPT: (f64, f64) = (0.5, 0.95);
/// Minimum window, in segments, of a recently notified flow. A window below one segment is paced, as a path may hold
/// fewer packets than it has flows (Kumar et al. 2020, section 3.4).
const FEWEST: f64 = 0.25;
/// Round trips after a message until the flow's queue peaks, and until the reduction has full effect.
const ROUNDS: (u32, u32) = (1, 4);
/// Weight of the last message in the mean ratio of observed to predicted queue decrease, and mean below which competing
/// traffic is assumed.
const WEIGHT: f64 = 0.25;
const MIN_RESPONSE_RATIO: f64 = 0.3;
/// Response ratio above which no competing traffic is assumed, for a flow that behaves as beside competing traffic.
const ALONE: f64 = 0.5;

/// State kept about router messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouterFeedback {
    /// Share of the target queue in use, and the time it applied.
    part: f64,
    at: Time,
    /// End of the hold-off: earlier messages concern the congestion already answered.
    until: Time,
    answer: Option<Answer>,
    /// Recent mean ratio of the queue's decrease to the decrease expected if all flows reduce.
    pub response_ratio: f64,
    /// The response ratio was measured since the flow began to compete, or led to that.
    known: bool,
    again: Time,
    /// Window before the first message, in bytes.
    before: f64,
}

/// Window reduction after a warning, and its effect on the queue.
#[derive(Clone, Copy, Debug)]
struct Answer {
    rounds: u32,
    /// This reduction alone decides whether competing traffic responds to messages.
    decides: bool,
    /// Expected decrease of the queueing delay if all flows reduce alike, in seconds, and the range of delays observed
    /// since.
    falls: f64,
    longest: f64,
    shortest: f64,
}

impl Default for RouterFeedback {
    fn default() -> Self {
        Self {
            part: 1.0,
            at: Time::ZERO,
            until: Time::ZERO,
            answer: None,
            response_ratio: 1.0,
            known: false,
            again: Time::ZERO,
            before: 0.0,
        }
    }
}

impl RouterFeedback {
    /// Returns the share of the target queue that the flow uses.
    pub fn target_share(&mut self, now: Time) -> f64 {
        let passed = now.since(self.at).as_secs_f64() / RECOVERY.as_secs_f64();
        (self.part, self.at) = ((self.part + passed).min(1.0), now);
        self.part
    }

    /// Returns true if no router message arrived for long.
    pub fn has_recovered(&self) -> bool {
        self.part >= 1.0
    }

    /// Returns the minimum window in segments; `default_minimum` is the minimum without messages.
    pub fn least(&self, default_minimum: f64) -> f64 {
        if self.has_recovered() { default_minimum } else { default_minimum.min(FEWEST) }
    }

    /// Records the queueing delay of a finished round trip and that of the newest packets, in seconds.
    pub fn watch(&mut self, queueing: f64, newest: f64) {
        let Some(answer) = &mut self.answer else { return };
        answer.rounds += 1;
        if answer.rounds <= ROUNDS.0 {
            answer.longest = answer.longest.max(queueing).max(newest);
        } else {
            answer.shortest = answer.shortest.min(queueing);
        }
        if answer.rounds < ROUNDS.1 {
            return;
        }
        // A queue that was never observed cannot have fallen.
        if answer.longest > 0.0 {
            let falls = answer.falls.min(answer.longest);
            let response_ratio = ((answer.longest - answer.shortest) / falls).clamp(0.0, 1.0);
            self.response_ratio +=
                if answer.decides { 1.0 } else { WEIGHT } * (response_ratio - self.response_ratio);
        }
        self.answer = None;
    }
}

impl Thalweg {
    /// Handles a router's message. Messages with a rate are not supported by this scheme.
    pub(super) fn on_router_feedback(&mut self, sample: &FeedbackSample) {
        let (path, is_warning) = (&sample.path, sample.feedback.dropped.is_none());
        let now = path.now;
        let is_answered = sample.known || now < self.router_feedback.until.max(self.epoch);
        if self.segment == 0.0 || is_answered || sample.feedback.rate.is_some() {
            return;
        }
        if !is_warning {
            // Other flows may have lost packets too, and reduced for that reason.
            self.router_feedback.answer = None;
        } else if self.router_feedback.answer.is_some() || self.competing_traffic_ignores(now) {
            return;
        }
        self.router_feedback.until = now + path.smoothed_rtt;
        if let Phase::Start { .. } = self.phase {
            self.leave_start(now, OF_START * self.window);
            return;
        }
        self.loss_probe = None;
        self.epoch = now;
        self.reduce_on_feedback(path, is_warning);
    }

    /// Returns true if a warning is ignored because competing traffic does not respond to it.
    fn competing_traffic_ignores(&mut self, now: Time) -> bool {
        let router_feedback = &mut self.router_feedback;
        if self.competition.is_there() {
            if router_feedback.known && router_feedback.response_ratio > ALONE {
                // The competing flows run the same scheme.
                self.competition = Competition::default();
            } else if now < router_feedback.again {
                return true;
            } else {
                router_feedback.again = now + RECOVERY;
            }
        } else if self.config.compete && router_feedback.response_ratio < MIN_RESPONSE_RATIO {
            self.competition.start_competing(now, router_feedback.before.max(self.window) / self.segment);
            (router_feedback.part, router_feedback.known, router_feedback.again) =
                (1.0, true, now + RECOVERY);
            return true;
        } else {
            router_feedback.known = false;
        }
        false
    }

    fn reduce_on_feedback(&mut self, path: &Path, is_warning: bool) {
        let (now, before, competes) = (path.now, self.window_without_drain(), self.competition.is_there());
        if competes {
            self.competition.on_loss(now, path.smoothed_rtt);
        } else {
            if self.router_feedback.has_recovered() {
                self.router_feedback.before = self.window;
            }
            self.router_feedback.part = (PART * self.router_feedback.target_share(now)).max(MIN_TARGET_SHARE);
            self.pace.ceiling = self.window;
            self.pace.slow_down();
            let wanted = self.router_feedback.part * self.target(self.rate());
            let empty = (self.rtt - self.delay.newest()).max(0.0);
            let useful = self.round.before.rate * (empty + wanted);
            self.window = useful.clamp(KEPT.0 * self.window, KEPT.1 * self.window).max(self.least());
        }
        let falls = (1.0 - self.window_without_drain() / before) * self.rtt;
        if is_warning && falls > 0.0 {
            if competes {
                (self.router_feedback.response_ratio, self.router_feedback.known) = (0.0, true);
            }
            let longest = self.delay.newest();
            self.router_feedback.answer =
                Some(Answer { rounds: 0, decides: competes, falls, longest, shortest: f64::INFINITY });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// A tenth per second.
    #[test]
    fn the_queue_target_recovers_with_time() {
        let mut router_feedback = RouterFeedback { part: 0.25, at: at(1), ..RouterFeedback::default() };
        assert_eq!(
            (
                router_feedback.target_share(at(3)),
                router_feedback.has_recovered(),
                router_feedback.least(4.0)
            ),
            (0.45, false, 0.25)
        );
        assert_eq!(
            (
                router_feedback.target_share(at(20)),
                router_feedback.has_recovered(),
                router_feedback.least(4.0)
            ),
            (1.0, true, 4.0)
        );
    }

    /// A queue of 10 ms falls by the 4 ms of a reduction made by all flows, and by half of that if half of the queue
    /// belongs to competing traffic.
    #[test]
    fn a_queue_that_does_not_fall_belongs_to_competing_traffic() {
        for (falls_to, expected) in [(0.006, 1.0), (0.008, 0.875), (0.009, 0.8125), (0.0, 1.0)] {
            let answer =
                Answer { rounds: 0, decides: false, falls: 0.004, longest: 0.008, shortest: f64::INFINITY };
            let mut router_feedback = RouterFeedback { answer: Some(answer), ..RouterFeedback::default() };
            [0.010, 0.009, falls_to, 0.009]
                .into_iter()
                .for_each(|queueing| router_feedback.watch(queueing, queueing));
            assert!(
                (router_feedback.response_ratio - expected).abs() < 1e-9,
                "{falls_to}: {}",
                router_feedback.response_ratio
            );
            assert!(router_feedback.answer.is_none());
        }
        // No queue was observed: nothing is learnt.
        let answer = Answer { rounds: 0, decides: true, falls: 0.004, longest: 0.0, shortest: f64::INFINITY };
        let mut router_feedback = RouterFeedback { answer: Some(answer), ..RouterFeedback::default() };
        (0..4).for_each(|_| router_feedback.watch(0.0, 0.0));
        assert!((router_feedback.response_ratio - 1.0).abs() < 1e-9 && router_feedback.answer.is_none());
    }
}
