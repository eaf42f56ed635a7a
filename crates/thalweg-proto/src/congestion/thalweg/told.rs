//! Router feedback (Liang 1991): warnings of a nearly full queue, and reports of dropped packets.
//!
//! All sources are notified at once, so all reduce at once and none is at a disadvantage. The reduction is the smallest
//! that halves the target queue: the queue is too long, not the rate too high. Where competing traffic does not receive
//! the messages, a flow that reduces its window loses its share. A queue that falls less than the common reduction
//! predicts reveals such traffic.

use super::marks::OF_START;
use super::rival::Competition;
use super::{Phase, Thalweg};
use crate::congestion::{FeedbackSample, Path};
use crate::units::{Duration, Time};

/// Factor applied to the share of the target queue at each message, and minimum share.
const PART: f64 = 0.5;
const LEAST: f64 = 1.0 / 32.0;
/// Time in which a flow's queue target recovers from zero to its full value, and after which a flow beside competing
/// traffic tests again whether that traffic responds to messages.
const RECOVERY: Duration = Duration::from_secs(10);
/// Minimum and maximum share of the window kept after a message.
const KEPT: (f64, f64) = (0.5, 0.95);
/// Minimum window, in segments, of a recently notified flow. A window below one segment is paced, as a path may hold
/// fewer packets than it has flows (Kumar et al. 2020, section 3.4).
const FEWEST: f64 = 0.25;
/// Round trips after a message in which the flow's queue peaks, and those after which the reduction has taken full
/// effect.
const ROUNDS: (u32, u32) = (1, 4);
/// Weight of the last message in the mean ratio of observed to predicted queue decrease, and mean below which competing
/// traffic is assumed.
const WEIGHT: f64 = 0.25;
const MIN_RESPONSE_RATIO: f64 = 0.3;
/// The share that says of a flow that does as others do that there are none.
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
    /// That share was found out while the flow does as others do, and is again from then on.
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
    pub fn is_quiet(&self) -> bool {
        self.part >= 1.0
    }

    /// Returns the minimum window in segments; `usual` is the minimum without messages.
    pub fn least(&self, usual: f64) -> f64 {
        if self.is_quiet() { usual } else { usual.min(FEWEST) }
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
        let is_answered = sample.known || now < self.told.until.max(self.epoch);
        if self.segment == 0.0 || is_answered || sample.feedback.rate.is_some() {
            return;
        }
        if !is_warning {
            // Other flows may have lost packets too, and reduced for that reason.
            self.told.answer = None;
        } else if self.told.answer.is_some() || self.competing_traffic_ignores(now) {
            return;
        }
        self.told.until = now + path.smoothed_rtt;
        if let Phase::Start { .. } = self.phase {
            self.leave_start(now, OF_START * self.window);
            return;
        }
        self.trial = None;
        self.epoch = now;
        self.reduce_on_feedback(path, is_warning);
    }

    /// Returns true if a warning is ignored because competing traffic does not respond to it.
    fn competing_traffic_ignores(&mut self, now: Time) -> bool {
        let told = &mut self.told;
        if self.rival.is_there() {
            if told.known && told.response_ratio > ALONE {
                // The competing flows run the same scheme.
                self.rival = Competition::default();
            } else if now < told.again {
                return true;
            } else {
                told.again = now + RECOVERY;
            }
        } else if self.config.compete && told.response_ratio < MIN_RESPONSE_RATIO {
            self.rival.meet(now, told.before.max(self.window) / self.segment);
            (told.part, told.known, told.again) = (1.0, true, now + RECOVERY);
            return true;
        } else {
            told.known = false;
        }
        false
    }

    fn reduce_on_feedback(&mut self, path: &Path, is_warning: bool) {
        let (now, before, competes) = (path.now, self.usual(), self.rival.is_there());
        if competes {
            self.rival.on_loss(now, path.smoothed_rtt);
        } else {
            if self.told.is_quiet() {
                self.told.before = self.window;
            }
            self.told.part = (PART * self.told.target_share(now)).max(LEAST);
            self.pace.ceiling = self.window;
            self.pace.slow_down();
            let wanted = self.told.part * self.target(self.rate());
            let empty = (self.rtt - self.delay.newest()).max(0.0);
            let useful = self.round.before.rate * (empty + wanted);
            self.window = useful.clamp(KEPT.0 * self.window, KEPT.1 * self.window).max(self.least());
        }
        let falls = (1.0 - self.usual() / before) * self.rtt;
        if is_warning && falls > 0.0 {
            if competes {
                (self.told.response_ratio, self.told.known) = (0.0, true);
            }
            let longest = self.delay.newest();
            self.told.answer =
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

    /// A tenth each second.
    #[test]
    fn what_is_asked_for_comes_back_with_time() {
        let mut told = RouterFeedback { part: 0.25, at: at(1), ..RouterFeedback::default() };
        assert_eq!((told.target_share(at(3)), told.is_quiet(), told.least(4.0)), (0.45, false, 0.25));
        assert_eq!((told.target_share(at(20)), told.is_quiet(), told.least(4.0)), (1.0, true, 4.0));
    }

    /// A queue of 10 ms falls by the 4 ms of a reduction made by all flows, and by half of that if half of the queue
    /// belongs to competing traffic.
    #[test]
    fn a_queue_that_does_not_fall_is_that_of_others() {
        for (falls_to, expected) in [(0.006, 1.0), (0.008, 0.875), (0.009, 0.8125), (0.0, 1.0)] {
            let answer =
                Answer { rounds: 0, decides: false, falls: 0.004, longest: 0.008, shortest: f64::INFINITY };
            let mut told = RouterFeedback { answer: Some(answer), ..RouterFeedback::default() };
            [0.010, 0.009, falls_to, 0.009].into_iter().for_each(|queueing| told.watch(queueing, queueing));
            assert!((told.response_ratio - expected).abs() < 1e-9, "{falls_to}: {}", told.response_ratio);
            assert!(told.answer.is_none());
        }
        // No queue was observed: nothing is learnt.
        let answer = Answer { rounds: 0, decides: true, falls: 0.004, longest: 0.0, shortest: f64::INFINITY };
        let mut told = RouterFeedback { answer: Some(answer), ..RouterFeedback::default() };
        (0..4).for_each(|_| told.watch(0.0, 0.0));
        assert!((told.response_ratio - 1.0).abs() < 1e-9 && told.answer.is_none());
    }
}
