//! Messages of routers (Liang 1991): a queue that says itself that it is nearly full, and which packets it dropped.
//!
//! All sources are told at once, so that all cut at once and nobody loses by it. As little is cut as leaves half of the queue that was
//! asked for, since the queue is what is too long and not the rate. Where others fill the queue that do not hear of it, who cuts leaves
//! them the path: a queue that does not fall by what all cut together tells.

use super::marks::OF_START;
use super::rival::Rival;
use super::{Phase, Thalweg};
use crate::congestion::{FeedbackSample, Path};
use crate::units::{Duration, Time};

/// The part of the share of its queue which a flow asks for that a message leaves, and the least share.
const PART: f64 = 0.5;
const LEAST: f64 = 1.0 / 32.0;
/// The time in which a flow that asked for nothing comes to ask for all of its queue, and after which a flow among others looks again
/// whether they heed messages.
const RECOVERY: Duration = Duration::from_secs(10);
/// The shares of the window that a message leaves, at least and at most.
const KEPT: (f64, f64) = (0.5, 0.95);
/// The least window in segments of a flow that was told of late: the rate of less than one is paced, as many may share a path that holds
/// fewer packets than there are flows (Kumar et al. 2020, section 3.4).
const FEWEST: f64 = 0.25;
/// The round trips after a message in which its queue is longest, and those after which it has been as short as the cut makes it.
const ROUNDS: (u32, u32) = (1, 4);
/// The weight of the last message in the mean share of the fall of a queue that came true, and the mean below which others fill the queue.
const WEIGHT: f64 = 0.25;
const HEEDED: f64 = 0.3;
/// The share that says of a flow that does as others do that there are none.
const ALONE: f64 = 0.5;

/// The messages of routers, as far as a flow remembers them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The share of its queue that the flow asks for, and when that was so.
    part: f64,
    at: Time,
    /// Messages before that are about what was answered.
    until: Time,
    answer: Option<Answer>,
    /// The share of the fall that a queue would have if all cut which it had of late.
    pub heeded: f64,
    /// That share was found out while the flow does as others do, and is again from then on.
    known: bool,
    again: Time,
    /// The window in bytes before the flow was first told.
    before: f64,
}

/// A window that was cut upon a warning, and what that did to the queue.
#[derive(Clone, Copy, Debug)]
struct Answer {
    rounds: u32,
    /// This one alone says whether others heed messages.
    decides: bool,
    /// The queueing delay by which the queue falls if all cut so, in seconds, and between which it was since.
    falls: f64,
    longest: f64,
    shortest: f64,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            part: 1.0,
            at: Time::ZERO,
            until: Time::ZERO,
            answer: None,
            heeded: 1.0,
            known: false,
            again: Time::ZERO,
            before: 0.0,
        }
    }
}

impl Told {
    /// The share of the queue of a flow's rate that it asks for.
    pub fn asks_for(&mut self, now: Time) -> f64 {
        let passed = now.since(self.at).as_secs_f64() / RECOVERY.as_secs_f64();
        (self.part, self.at) = ((self.part + passed).min(1.0), now);
        self.part
    }

    /// No router has told anything for long.
    pub fn is_quiet(&self) -> bool {
        self.part >= 1.0
    }

    /// The least window in segments, where it is `usual` without messages.
    pub fn least(&self, usual: f64) -> f64 {
        if self.is_quiet() { usual } else { usual.min(FEWEST) }
    }

    /// A round trip ended in which the queueing delay was so many seconds, and is that of the newest packets.
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
        // Where no queue was seen it cannot have fallen.
        if answer.longest > 0.0 {
            let falls = answer.falls.min(answer.longest);
            let heeded = ((answer.longest - answer.shortest) / falls).clamp(0.0, 1.0);
            self.heeded += if answer.decides { 1.0 } else { WEIGHT } * (heeded - self.heeded);
        }
        self.answer = None;
    }
}

impl Thalweg {
    /// A router's message came. One with a rate is none of those that this scheme knows.
    pub(super) fn on_told(&mut self, sample: &FeedbackSample) {
        let (path, is_warning) = (&sample.path, sample.feedback.dropped.is_none());
        let now = path.now;
        let is_answered = sample.known || now < self.told.until.max(self.epoch);
        if self.segment == 0.0 || is_answered || sample.feedback.rate.is_some() {
            return;
        }
        if !is_warning {
            // Others may have lost packets too, and cut for that.
            self.told.answer = None;
        } else if self.told.answer.is_some() || self.others_fill(now) {
            return;
        }
        self.told.until = now + path.smoothed_rtt;
        if let Phase::Start { .. } = self.phase {
            self.leave_start(now, OF_START * self.window);
            return;
        }
        self.trial = None;
        self.epoch = now;
        self.cut_as_told(path, is_warning);
    }

    /// A warning is passed over, as others fill the queue that do not heed it.
    fn others_fill(&mut self, now: Time) -> bool {
        let told = &mut self.told;
        if self.rival.is_there() {
            if told.known && told.heeded > ALONE {
                // It was flows like this one.
                self.rival = Rival::default();
            } else if now < told.again {
                return true;
            } else {
                told.again = now + RECOVERY;
            }
        } else if self.config.compete && told.heeded < HEEDED {
            self.rival.meet(now, told.before.max(self.window) / self.segment);
            (told.part, told.known, told.again) = (1.0, true, now + RECOVERY);
            return true;
        } else {
            told.known = false;
        }
        false
    }

    fn cut_as_told(&mut self, path: &Path, is_warning: bool) {
        let (now, before, competes) = (path.now, self.usual(), self.rival.is_there());
        if competes {
            self.rival.on_loss(now, path.smoothed_rtt);
        } else {
            if self.told.is_quiet() {
                self.told.before = self.window;
            }
            self.told.part = (PART * self.told.asks_for(now)).max(LEAST);
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
                (self.told.heeded, self.told.known) = (0.0, true);
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
        let mut told = Told { part: 0.25, at: at(1), ..Told::default() };
        assert_eq!((told.asks_for(at(3)), told.is_quiet(), told.least(4.0)), (0.45, false, 0.25));
        assert_eq!((told.asks_for(at(20)), told.is_quiet(), told.least(4.0)), (1.0, true, 4.0));
    }

    /// A queue of 10 ms falls by the 4 ms of a cut that all make, by half of that where half of it is that of others.
    #[test]
    fn a_queue_that_does_not_fall_is_that_of_others() {
        for (falls_to, expected) in [(0.006, 1.0), (0.008, 0.875), (0.009, 0.8125), (0.0, 1.0)] {
            let answer =
                Answer { rounds: 0, decides: false, falls: 0.004, longest: 0.008, shortest: f64::INFINITY };
            let mut told = Told { answer: Some(answer), ..Told::default() };
            [0.010, 0.009, falls_to, 0.009].into_iter().for_each(|queueing| told.watch(queueing, queueing));
            assert!((told.heeded - expected).abs() < 1e-9, "{falls_to}: {}", told.heeded);
            assert!(told.answer.is_none());
        }
        // No queue was seen: nothing is learnt.
        let answer = Answer { rounds: 0, decides: true, falls: 0.004, longest: 0.0, shortest: f64::INFINITY };
        let mut told = Told { answer: Some(answer), ..Told::default() };
        (0..4).for_each(|_| told.watch(0.0, 0.0));
        assert!((told.heeded - 1.0).abs() < 1e-9 && told.answer.is_none());
    }
}
