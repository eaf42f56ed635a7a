//! Drains: for one round trip a flow reduces its window by a quarter, if it has not seen the shortest delay for some
//! seconds.
//!
//! All flows of the scheme on a path see the shortest delay during such a drain at the same time, so their next drains
//! coincide: after two of them those of ten flows lie within 50 ms. What remains of the queue in a common drain does not
//! belong to the scheme. One experiment answers three questions:
//!
//! - a queue that falls less than a common reduction explains is filled by competing traffic;
//! - a delay that remains the same in consecutive drains, without losses, is that of a longer path;
//! - losses that continue are the path's (`evidence`).

use super::Thalweg;
use super::steady_state::LONG;
use crate::units::{Duration, Time};

/// Time without the shortest delay before a drain, and the same beside a long queue or competing traffic.
const INTERVAL: Duration = Duration::from_secs(5);
const SHORT_INTERVAL: Duration = Duration::from_millis(2500);
/// Reduction of the window in a drain, as a share of the window.
const CUT: f64 = 0.25;
/// Round trips of a drain: the reduction, and its effect one round trip later. Beside a long queue the reduction lasts
/// two round trips, as drains of other flows begin within one round trip.
const ROUNDS: u32 = 2;
const LONG_ROUNDS: u32 = 3;
/// Round trips with a long queue that does not fall before competing traffic may be its cause, and the share of the
/// longest delay below which it falls.
const MIN_QUEUE_ROUNDS: u32 = 6;
const SHRINKS: f64 = 0.9;
/// Share of the common reduction's effect below which the queue is that of competing traffic.
const ELASTIC: f64 = 0.85;
/// Consecutive drains that must find no competing traffic until a flow that competes is alone.
const ALONE_DRAINS: u32 = 2;
/// Maximum difference of the remaining delay of consecutive drains, as a share of it, and number of such differences at
/// which the delay is the path's.
const SAME: f64 = 0.02;
const SAME_DRAINS: u32 = 2;
/// Share of the largest window since the queue was short at which a flow begins to compete. It returns to that window by
/// slow start: what it has yielded meanwhile was taken by the competing traffic.
const REGAINED: f64 = 0.7;

/// State of drains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// Reduction in effect, as a share of the window.
    cut: f64,
    /// Remaining round trips of the drain, and its beginning.
    rounds: u32,
    began: Time,
    /// Queueing delay before, shortest delay since, and the decrease that a common reduction would cause, in seconds.
    queue: f64,
    shortest: f64,
    falls: f64,
    /// Remaining delay of the last drain, and consecutive drains with the same delay.
    remaining: f64,
    same: u32,
    /// Congestion since the last drain.
    pub has_lost: bool,
    /// Consecutive drains without competing traffic.
    alone: u32,
    /// Round trips with a long queue, and the longest delay in them.
    long: u32,
    longest: f64,
    /// Largest window since the queue was short, in bytes.
    pub peak: f64,
}

impl Drain {
    /// Returns the share of the window in use.
    pub fn share(&self) -> f64 {
        1.0 - self.cut
    }

    /// Returns true while the rate is reduced.
    pub fn is_reducing(&self) -> bool {
        self.cut > 0.0
    }

    /// Returns true if this queueing delay, in seconds, is the one that remained in the last drain.
    fn is_remaining(&self, queueing: f64) -> bool {
        (queueing - self.remaining).abs() < SAME * queueing
    }

    /// Counts a round trip with this queueing delay and target, in seconds.
    fn watch(&mut self, queueing: f64, target: f64, window: f64) {
        let is_long = queueing > LONG * target;
        if !is_long || queueing < SHRINKS * self.longest {
            (self.long, self.longest) = (0, queueing);
        }
        if is_long {
            self.long += 1;
            self.longest = self.longest.max(queueing);
        }
        self.peak = if queueing <= target { 0.0 } else { self.peak.max(window) };
    }
}

/// Result of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    /// The delay is that of a longer path.
    LongerPath,
    CompetingTraffic,
    /// The queue is that of flows of this scheme, or empty.
    OwnQueue,
}

impl Thalweg {
    /// Handles the end of a round trip with this queueing delay, target and round-trip time in seconds. Returns true if
    /// the delay does not reflect the full window.
    pub(super) fn run_drain(&mut self, now: Time, queueing: f64, target: f64, rtt: f64) -> bool {
        if self.drain.rounds > 0 {
            self.drain.rounds -= 1;
            self.drain.shortest = self.drain.shortest.min(queueing);
            if self.drain.rounds == 1 {
                self.drain.cut = 0.0;
            }
            if self.drain.rounds == 0 {
                self.end_drain(now, target);
            }
            return true;
        }
        self.drain.watch(queueing, target, self.full_window());
        let is_suspect = self.is_competing || self.drain.long >= MIN_QUEUE_ROUNDS;
        // On a longer path every packet has the shortest delay.
        let is_constant = is_suspect && self.drain.is_remaining(queueing);
        let age = if is_constant { now.since(self.drain.began) } else { self.delay.age(now) };
        if age < if is_suspect { SHORT_INTERVAL } else { INTERVAL } {
            return false;
        }
        self.delay.begin_drain(now);
        self.drain.began = now;
        self.drain.cut = CUT;
        self.drain.rounds = if is_suspect { LONG_ROUNDS } else { ROUNDS };
        (self.drain.queue, self.drain.shortest) = (queueing, f64::INFINITY);
        self.drain.falls = (CUT * rtt).min(queueing);
        true
    }

    fn end_drain(&mut self, now: Time, target: f64) {
        let finding = self.evaluate_drain(target);
        self.evidence.evaluate_drains();
        match finding {
            Finding::LongerPath => self.delay.lengthen_base(self.drain.shortest),
            Finding::CompetingTraffic if !self.is_competing && self.config.compete => {
                self.is_competing = true;
                let window = self.full_window().max(REGAINED * self.drain.peak);
                self.cubic = Some(self.cubic_at(now, window, self.drain.peak));
            }
            Finding::CompetingTraffic | Finding::OwnQueue => {}
        }
        let is_alone = finding == Finding::LongerPath
            || self.drain.shortest <= target
            || self.drain.alone >= ALONE_DRAINS;
        if self.is_competing && is_alone {
            // The window of before the drain, or CUBIC's if that is smaller.
            self.is_competing = false;
            self.window = self.full_window();
            self.cubic = None;
            self.pace.slow_down();
        }
        (self.drain.longest, self.drain.long) = (0.0, 0);
        self.pace.rest();
    }

    fn evaluate_drain(&mut self, target: f64) -> Finding {
        let is_suspect = self.is_competing || self.drain.long >= MIN_QUEUE_ROUNDS;
        let drain = &mut self.drain;
        let remaining = drain.shortest;
        let is_queue = remaining > target;
        let is_same = !drain.has_lost && is_queue && drain.is_remaining(remaining);
        drain.same = if is_same { drain.same + 1 } else { 0 };
        (drain.remaining, drain.has_lost) = (remaining, false);
        let finding = if drain.same >= SAME_DRAINS {
            drain.same = 0;
            Finding::LongerPath
        } else if is_suspect
            && is_queue
            && drain.queue > LONG * target
            && drain.queue - remaining < ELASTIC * drain.falls
        {
            Finding::CompetingTraffic
        } else {
            Finding::OwnQueue
        };
        drain.alone = if finding == Finding::CompetingTraffic { 0 } else { drain.alone + 1 };
        finding
    }
}
