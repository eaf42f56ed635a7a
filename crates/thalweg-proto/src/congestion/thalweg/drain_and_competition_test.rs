//! Periodic drains, which also test for competing traffic: for one round trip a flow reduces its window by a quarter, if
//! it has not seen the shortest delay for some seconds.
//!
//! All flows of the scheme on a path see the shortest delay during such a drain at the same time, so their next drains
//! coincide: those of four flows that started two seconds apart begin within 50 ms. What remains of the queue in a common
//! drain does not belong to the scheme. One experiment answers two questions:
//!
//! - a queue that falls less than a common reduction explains is filled by competing traffic;
//! - a delay that remains the same in consecutive drains, without losses, is that of a longer path.

use super::Thalweg;
use super::steady_state;
use crate::units::{Duration, Time};

/// Minimum time without the shortest delay before a drain, and its minimum in round trips, as a drain takes some of them.
/// The time is the same in all modes and beside any queue: with two intervals only some flows take part in every second
/// drain, and others of the scheme look like competing traffic.
const DRAIN_INTERVAL: (Duration, f64) = (Duration::from_secs(3), 8.0);
/// Minimum time to the next drain, and its minimum in round trips, after one in which the delay did not fall. A drain is
/// lossless if there was no congestion in this time before it.
const MIN_DRAIN_INTERVAL: (Duration, f64) = (Duration::from_millis(500), 4.0);
/// Reductions of the window in a drain, as shares of it: by default, and beside a long queue, where growth of competing
/// traffic in the same round trip would hide a smaller decrease. A flow that competes reduces it by no more than would
/// empty the queue, if all did: a queue that is empty in any case does not show whose it was.
const DRAIN_REDUCTIONS: (f64, f64) = (0.25, 0.5);
/// Round trips of a drain: the reduction, and its effect one round trip later. Beside a long queue the reduction lasts
/// two round trips, as drains of other flows begin within one round trip.
const DRAIN_ROUNDS: u32 = 2;
const LONG_ROUNDS: u32 = 3;
/// Number of first drains, and of drains after one that lowered the base delay by this share of the target, in which the
/// larger reduction is used: flows that start beside a queue take it for the path's delay, and the smaller reduction of
/// all need not empty it.
const DEEP_DRAINS: u32 = 2;
const LOWER_REDUCTION: f64 = 0.1;
/// Multiple of the target without its segment above which a queue is long. The target of a flow that has lost its rate to
/// competing traffic approaches the queue of that traffic, which would then never be long.
const LONG_QUEUE_FACTOR: f64 = 1.5;
/// Minimum time with a long queue that does not fall, and its minimum in round trips, before competing traffic may be its
/// cause: flows that start fill the queue for a while. The share of the longest delay below which the queue falls.
const MIN_QUEUE: (Duration, f64) = (Duration::from_millis(500), 6.0);
const SHRINKS: f64 = 0.9;
/// Share of the common reduction's effect below which the queue is that of competing traffic.
const ELASTIC_SHARE: f64 = 0.85;
/// Consecutive drains that show competing traffic before a flow competes, as drains of many flows of the scheme coincide
/// after a few, and that show none before it stops, as CUBIC's window also changes in a drain. One suffices beside a queue
/// above twice the target that did not fall before.
const COMPETING_TESTS: u32 = 4;
const STOPPING_TESTS: u32 = 2;
/// Share of the common reduction's effect below which the delay did not fall.
const UNCHANGED_DELAY_SHARE: f64 = 0.1;
/// Share of the common reduction's effect from which the remaining delay is that of others' queue, not of a longer path.
const OTHERS_QUEUE_SHARE: f64 = 0.5;
/// Round trips since the delay of the last drain was seen, up to which it is still the same.
const SAME_DELAY_ROUNDS: f64 = 2.0;
/// Maximum difference of the shortest delays of consecutive drains, as a share of their excess over the base delay, and
/// number of such differences at which the delay is the path's.
const MAX_DELAY_DIFFERENCE: f64 = 0.02;
const SAME_DRAINS: u32 = 2;
/// Multiple of the largest window since the queue was short up to which a flow that begins to compete grows by slow
/// start: competing traffic took what the flow has yielded meanwhile.
const REGAINED_WINDOW: f64 = 4.0;

/// Returns a time and a number of round trips of `rtt` seconds, whichever is longer.
fn longer_of_time_and_round_trips((time, round_trips): (Duration, f64), rtt: f64) -> Duration {
    time.max(Duration::from_secs_f64(round_trips * rtt))
}

/// Returns the minimum time to a drain that follows soon, with this round-trip time in seconds.
fn min_interval(rtt: f64) -> Duration {
    longer_of_time_and_round_trips(MIN_DRAIN_INTERVAL, rtt)
}

/// Returns the minimum time without the shortest delay before a drain, with this shortest round-trip time in seconds.
pub(super) fn interval(min_rtt: f64) -> Duration {
    longer_of_time_and_round_trips(DRAIN_INTERVAL, min_rtt)
}

/// State of drains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// Reduction in effect, as a share of the window.
    window_reduction: f64,
    /// Remaining round trips of the drain, and its beginning.
    rounds: u32,
    start_time: Time,
    /// Queueing delay before, its minimum since, and the decrease that a common reduction would cause, in seconds.
    queue: f64,
    min_queue: f64,
    falls: f64,
    /// Shortest delay of the last drain, without a deduction for jitter, and consecutive drains with the same.
    last_delay: Option<f64>,
    same: u32,
    /// Consecutive drains in which the delay did not fall; the next one follows soon.
    repeats: u32,
    /// The drain followed soon on one in which the delay did not fall: it shows no more than that one.
    is_repeat: bool,
    /// Time of the last congestion, and the time before a drain in which congestion counts as congestion during it.
    last_congestion: Option<Time>,
    counted_before: Duration,
    /// The last drain left a queue, and its delay has been seen in each round trip since.
    left_queue: bool,
    /// The queue before exceeded that of flows of the scheme.
    is_excessive: bool,
    /// Consecutive drains that contradict the mode: competing traffic where none was known, or none where it was.
    contrary: u32,
    /// Competing traffic was shown by a drain after which others follow soon: the path may be longer.
    is_pending: bool,
    /// Time since when the queue is long and does not fall, until now or the beginning of the drain, and the longest
    /// delay since then.
    long: Option<Time>,
    longest: f64,
    /// Largest window since the last drain without a long queue, in bytes.
    peak: f64,
    /// Consecutive drains that did not lower the base delay, up to [`DEEP_DRAINS`], and the base delay at the beginning of the
    /// last drain, in seconds.
    confirmed: u32,
    base: f64,
}

impl Drain {
    /// Returns the share of the window in use.
    pub fn share(&self) -> f64 {
        1.0 - self.window_reduction
    }

    /// Returns true while the rate is reduced.
    #[cfg(test)]
    pub fn is_reducing(&self) -> bool {
        self.window_reduction > 0.0
    }

    /// Records a response to congestion.
    pub fn note_congestion(&mut self, now: Time) {
        self.last_congestion = Some(now);
    }

    /// Returns true if there was congestion since the drain began, or shortly before.
    fn has_lost(&self) -> bool {
        self.last_congestion.is_some_and(|at| self.start_time.since(at) < self.counted_before)
    }

    /// Sets the largest window since the queue was short, in bytes.
    pub fn set_peak(&mut self, window: f64) {
        self.peak = window;
    }

    /// Returns the number of consecutive drains that contradict the mode.
    #[cfg(test)]
    pub fn contrary(&self) -> u32 {
        self.contrary
    }

    /// Counts a round trip with this queueing delay and target, in seconds, and window in bytes.
    fn record_round_trip(&mut self, now: Time, queueing: f64, target: f64, window: f64) {
        let is_long = queueing > LONG_QUEUE_FACTOR * target;
        if !is_long || queueing < SHRINKS * self.longest {
            (self.long, self.longest) = (None, queueing);
        }
        if is_long {
            self.long.get_or_insert(now);
            self.longest = self.longest.max(queueing);
        }
        self.peak = self.peak.max(window);
    }

    /// Returns true if a further drain is due after one in which the delay did not fall. The argument is the round-trip
    /// time in seconds.
    fn is_repeat_due(&self, now: Time, rtt: f64) -> bool {
        self.repeats > 0 && now.since(self.start_time) >= min_interval(rtt)
    }

    /// Evaluates a finished drain with this target, shortest delay and base delay. The delays of two drains are compared
    /// without a deduction for jitter, which falls for some time after the path has changed. Returns the share of a common
    /// reduction's effect, and whether the path is longer.
    fn evaluate(&mut self, target: f64, shortest: f64, base: f64) -> (f64, bool) {
        let fell = ((self.queue - self.min_queue) / self.falls).clamp(0.0, 1.0);
        // The rate falls until the target is the excess of a longer path's delay: then hardly more than the target remains.
        let is_queue = self.min_queue > steady_state::SHORT_QUEUE_SHARE * target;
        let has_lost = self.has_lost();
        let is_near = |last: f64| (shortest - last).abs() < MAX_DELAY_DIFFERENCE * (shortest - base);
        let is_same =
            !has_lost && is_queue && fell < OTHERS_QUEUE_SHARE && self.last_delay.is_some_and(is_near);
        self.same = if is_same { self.same + 1 } else { 0 };
        self.last_delay = Some(shortest);
        let is_longer_path = self.same >= SAME_DRAINS;
        if is_longer_path {
            self.same = 0;
        }
        self.left_queue = is_queue && !is_longer_path;
        // If the path became longer again during these drains, the new delay is compared as soon as the first one was.
        let repeats = if self.is_repeat { self.repeats } else { 0 };
        let is_open = (repeats < SAME_DRAINS || is_same) && !is_longer_path;
        let is_unchanged = !has_lost && is_queue && fell < UNCHANGED_DELAY_SHARE;
        self.repeats = if is_unchanged && is_open { repeats + 1 } else { 0 };
        // A remaining queue within the flow's own target shows no competing traffic.
        (if self.min_queue > target { fell } else { 1.0 }, is_longer_path)
    }
}

impl Thalweg {
    /// Handles the end of a round trip with this queueing delay, target and round-trip time in seconds. Returns true if
    /// the delay does not reflect the full window.
    pub(super) fn run_drain(&mut self, now: Time, queueing: f64, target: f64, rtt: f64) -> bool {
        let without_segment = target.min(self.target_rule().without_segment(self.rate(), self.min_rtt));
        if self.drain.rounds > 0 {
            self.drain.rounds -= 1;
            self.drain.min_queue = self.drain.min_queue.min(queueing);
            if self.drain.rounds == 1 {
                self.drain.window_reduction = 0.0;
            }
            if self.drain.rounds == 0 {
                self.end_drain(now, without_segment);
            }
            return true;
        }
        self.drain.record_round_trip(now, queueing, without_segment, self.full_window());
        (self.drain.queue, self.drain.is_excessive) =
            (queueing, queueing > steady_state::LONG_QUEUE_TARGETS * target);
        if self.delay.age(now).as_secs_f64() > SAME_DELAY_ROUNDS * rtt {
            // The delay is no longer that of the last drain, so it is not the path's.
            (self.drain.repeats, self.drain.left_queue) = (0, false);
            self.compete_if_pending(now);
        }
        let is_due = self.is_drain_due(now);
        let begins = is_due || self.drain.is_repeat_due(now, rtt);
        if begins {
            self.begin_drain(now, rtt, !is_due);
        }
        begins
    }

    /// Begins a drain within a round trip if one is due. Flows that wait for the end of a round trip would drain up to
    /// two round trips after others, when the queue is no longer that of all.
    pub(super) fn drain_at_once(&mut self, now: Time) {
        if self.drain.rounds == 0 && self.rtt > 0.0 && self.is_drain_due(now) {
            self.begin_drain(now, self.rtt, false);
            // The rest of this round trip comes in addition.
            self.drain.rounds += 1;
        }
    }

    /// Returns true if the shortest delay was last seen an interval ago, or if the delay that the last drain left is seen in
    /// each round trip since then, as on a longer path.
    fn is_drain_due(&self, now: Time) -> bool {
        let interval = self.drain_interval;
        let remains = self.drain.left_queue && now.since(self.drain.start_time) >= interval;
        // Competing traffic that responds to losses shortens its queue before an interval has passed, again and again.
        self.delay.age(now) >= interval
            || remains
            || self.delay.age_in_interval(now) >= interval
                && !self.is_competing
                && self.suspects_competition(now)
    }

    /// Begins a drain, with the round-trip time `rtt` in seconds. One that `is_repeat` shows no more than the last one.
    fn begin_drain(&mut self, now: Time, rtt: f64, is_repeat: bool) {
        self.delay.begin_drain(now, self.drain_interval);
        self.drain.is_repeat = is_repeat;
        // All flows see a long queue, and the expected decrease counts on all.
        let is_long = self.drain.long.is_some();
        let is_deep = is_long || self.drain.confirmed < DEEP_DRAINS;
        self.drain.base = self.delay.base();
        self.drain.start_time = now;
        self.drain.counted_before = min_interval(rtt);
        let queueing = self.drain.queue;
        self.drain.window_reduction = match (self.is_competing, is_deep) {
            (true, _) => (queueing / rtt).clamp(DRAIN_REDUCTIONS.0, DRAIN_REDUCTIONS.1),
            (false, true) => DRAIN_REDUCTIONS.1,
            (false, false) => DRAIN_REDUCTIONS.0,
        };
        self.drain.rounds = if self.is_competing || is_long { LONG_ROUNDS } else { DRAIN_ROUNDS };
        self.drain.min_queue = f64::INFINITY;
        self.drain.falls = (self.drain.window_reduction * rtt).min(queueing);
    }

    /// Returns true if the queue before `until` may be competing traffic's.
    fn suspects_competition(&self, until: Time) -> bool {
        let min = longer_of_time_and_round_trips(MIN_QUEUE, self.rtt);
        self.drain.long.is_some_and(|since| until.since(since) >= min)
    }

    fn end_drain(&mut self, now: Time, target: f64) {
        let (fell, is_longer_path) = self.drain.evaluate(target, self.delay.shortest(), self.delay.base());
        if is_longer_path {
            self.delay.accept_longer_path();
            // The window was reduced because of a queue that did not exist.
            self.window = self.window.max(self.drain.peak);
        }
        let is_lower = self.delay.base() < self.drain.base - LOWER_REDUCTION * target;
        self.drain.confirmed = if is_lower { 0 } else { DEEP_DRAINS.min(self.drain.confirmed + 1) };
        let is_common = fell >= ELASTIC_SHARE;
        let is_contrary = match self.is_competing {
            true => is_common,
            false => !is_common && !is_longer_path && self.drain.long.is_some(),
        };
        if is_common != self.is_competing {
            self.drain.contrary = 0;
        } else if is_contrary && !self.drain.is_repeat {
            self.drain.contrary += 1;
        }
        let is_certain = self.drain.is_excessive && self.suspects_competition(self.drain.start_time);
        let needed = match self.is_competing {
            true => STOPPING_TESTS,
            false if is_certain => 1,
            false => COMPETING_TESTS,
        };
        let is_decided = self.drain.contrary >= needed && !self.drain.is_repeat;
        if self.is_competing {
            if is_longer_path || is_decided {
                self.stop_competing();
            }
        } else if self.drain.long.is_none() {
            self.drain.peak = self.full_window();
        } else {
            self.drain.is_pending |= is_decided;
        }
        self.drain.is_pending &= !is_longer_path;
        if self.drain.repeats == 0 {
            self.compete_if_pending(now);
        }
        (self.drain.longest, self.drain.long) = (0.0, None);
        self.pace.rest();
    }

    /// Begins to compete if competing traffic was shown.
    fn compete_if_pending(&mut self, now: Time) {
        if core::mem::take(&mut self.drain.is_pending) {
            self.start_competing(now);
        }
    }

    /// Begins to compete, with a window that may regain what competing traffic has taken.
    pub(super) fn start_competing(&mut self, now: Time) {
        if self.config.compete {
            let peak = self.drain.peak.max(self.full_window());
            self.set_competing(true);
            self.cubic = Some(self.cubic_at(now, peak, REGAINED_WINDOW * peak));
        }
    }

    /// Sets the mode; drains that contradict it are counted from here on.
    pub(super) fn set_competing(&mut self, competing: bool) {
        if competing != self.is_competing {
            (self.is_competing, self.drain.contrary, self.drain.is_pending) = (competing, 0, false);
        }
    }

    /// Returns to the delay rule, with the window of before the drain, or CUBIC's if that is smaller.
    fn stop_competing(&mut self) {
        self.window = self.full_window();
        self.set_competing(false);
        self.cubic = None;
        self.pace.slow_down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ThalwegConfig;
    use crate::congestion::thalweg::tests;

    /// Evaluates a drain that ends with this excess and began with a queue longer by `fall`. Returns whether the next one
    /// follows soon, and whether the path is longer.
    fn evaluated(drain: &mut Drain, excess: f64, fall: f64) -> (bool, bool) {
        (drain.queue, drain.min_queue, drain.falls) = (excess + fall, excess, excess);
        drain.is_repeat = drain.repeats > 0;
        let (_, is_longer_path) = drain.evaluate(4e-3, excess, 0.0);
        (drain.repeats > 0, is_longer_path)
    }

    /// "Drains": after one in which the delay did not fall, further ones follow soon: two, or more while the delay is that of
    /// the last drain. (When the path became longer between the first two, the third was the last, and the flow lost a tenth
    /// of its window per round trip for five further seconds.)
    #[test]
    fn drains_follow_soon_until_the_same_delay_is_confirmed() {
        let outcomes = |delays: &[f64]| {
            let mut drain = Drain::default();
            delays.iter().map(|delay| evaluated(&mut drain, *delay, 0.0)).collect::<Vec<(bool, bool)>>()
        };
        let (soon, last, longer) = ((true, false), (false, false), (false, true));
        assert_eq!(outcomes(&[0.043, 0.043, 0.043]), [soon, soon, longer]);
        assert_eq!(outcomes(&[0.013, 0.043, 0.043, 0.043]), [soon, soon, soon, longer]);
        assert_eq!(outcomes(&[0.013, 0.02, 0.03, 0.04]), [soon, soon, last, soon]);
    }

    /// "Drains": a flow does not begin to compete on a longer path that it has just accepted, though the drains before showed
    /// competing traffic.
    #[test]
    fn a_longer_path_ends_what_drains_have_shown() {
        let mut thalweg = Thalweg::new(&ThalwegConfig::default());
        let (last, now) = (Time::ZERO + Duration::from_secs(9), Time::ZERO + Duration::from_secs(10));
        let rtt = |millis: u64| Some(Duration::from_millis(millis));
        thalweg.delay.sample(&tests::acked(Duration::from_secs(8), rtt(80)), 1e-4);
        thalweg.delay.begin_drain(last, Duration::from_secs(3));
        thalweg.delay.sample(&tests::acked(Duration::from_secs(9), rtt(120)), 1e-4);
        (thalweg.drain.same, thalweg.drain.last_delay) = (SAME_DRAINS - 1, Some(0.12));
        (thalweg.drain.contrary, thalweg.drain.long) = (COMPETING_TESTS, Some(last));
        (thalweg.drain.queue, thalweg.drain.min_queue, thalweg.drain.falls) = (0.04, 0.04, 0.02);
        thalweg.end_drain(now, 2.5e-3);
        assert_eq!((thalweg.is_competing(), thalweg.delay.base()), (false, 0.12));
    }

    /// "Drains": congestion up to half a second before a drain counts as congestion during it, earlier congestion does not.
    /// (All since the last drain counted: with bursts of others every two seconds a longer path was never recognised.)
    #[test]
    fn congestion_shortly_before_a_drain_counts() {
        for (millis_before, expected) in [(400, true), (600, false)] {
            let mut thalweg = Thalweg::new(&ThalwegConfig::default());
            let lost_at = Time::ZERO + Duration::from_secs(10);
            thalweg.drain.note_congestion(lost_at);
            thalweg.begin_drain(lost_at + Duration::from_millis(millis_before), 0.08, false);
            assert_eq!(thalweg.drain.has_lost(), expected, "{millis_before} ms");
        }
    }

    /// "Drains": a path longer by about the target is recognised as well, as the rate falls until they are equal. A remaining
    /// delay below half of the target is not a queue. (At the target the flow remained, with 7 to 50 % of the rate.)
    #[test]
    fn a_path_longer_by_the_target_is_accepted() {
        for (excess, expected) in [(0.003, true), (0.001, false)] {
            let mut drain = Drain::default();
            assert_eq!((0..3).any(|_| evaluated(&mut drain, excess, 0.0).1), expected, "{excess}");
        }
    }

    /// "Drains": a delay that falls by half of what a common reduction would cause is others' queue, although three drains may
    /// end with the same, as CUBIC's window is periodic. (Beside CUBIC with a queue of 4 BDP a flow took it for the path's and
    /// had 38 % of the rate instead of 49.)
    #[test]
    fn the_same_remaining_queue_is_no_longer_path() {
        for (falls_by, expected) in [(0.4, true), (0.6, false)] {
            let mut drain = Drain::default();
            let longer = (0..6).any(|_| evaluated(&mut drain, 0.2, 0.2 * falls_by).1);
            assert_eq!(longer, expected, "{falls_by}");
        }
    }
}
