//! Yield: a flow with more than its fair share gives up part of it.
//!
//! Flows that share a queue converge to one rate, since slower ones target a longer queue. But the queue is short
//! compared with a round trip, and so is the change per round trip: with that rule alone a second flow has half of its
//! share after half a minute. A queue that stays above a flow's target reveals the rate at which this queue would be
//! the target, the fair rate of all flows. The flow gives up half of the difference at once, and leaves it to other
//! flows for some round trips. If no flow takes it, this flow is alone and waits longer before the next yield.

use super::Thalweg;

/// Excess of the queue over the target, as a share of the target. The rule applies within the range; above it the queue
/// belongs to competing traffic ([`drain`](super::drain_and_competition_test)).
const EXCESS_RANGE: core::ops::Range<f64> = 0.1..1.0;
/// Minimum share of the largest excess that must remain in each of these round trips, or the count restarts: the excess
/// of a single flow, and that of starting flows, drains in them.
const PERSISTING_EXCESS: f64 = 0.5;
/// Minimum and maximum round trips with an excess before a yield; the maximum applies if no flow took the last yield.
const ROUNDS_BEFORE_YIELD: (u32, u32) = (8, 128);
/// Share of the distance to the fair rate given up, and minimum share of the window kept.
const YIELDED_PART: f64 = 0.5;
const YIELDED_WINDOW_SHARE: f64 = 0.75;
/// Round trips without growth after a yield.
const ROUNDS_WITHOUT_GROWTH: u32 = 10;
/// Share of the former window that is reached again if no flow took the yield.
const REGAINED_WINDOW_SHARE: f64 = 0.95;
/// Maximum uncertainty of delays, as a share of the target, at which queues can be distinguished.
const MAX_UNCERTAINTY: f64 = 0.5;

/// State of the yield rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Yielding {
    /// Round trips with too long a queue, and the largest excess in them.
    rounds: u32,
    max_excess: f64,
    /// Window before the last yield, in bytes; 0 if that is long ago.
    window_before_yield: f64,
    /// Remaining round trips without growth.
    rounds_without_growth: u32,
    rounds_before_yield: u32,
}

impl Default for Yielding {
    fn default() -> Self {
        Self {
            rounds: 0,
            max_excess: 0.0,
            window_before_yield: 0.0,
            rounds_without_growth: 0,
            rounds_before_yield: ROUNDS_BEFORE_YIELD.0,
        }
    }
}

impl Yielding {
    /// Counts a finished round trip; returns true if the window must not grow.
    pub fn ends_round_without_growth(&mut self) -> bool {
        let is_without_growth = self.rounds_without_growth > 0;
        self.rounds_without_growth = self.rounds_without_growth.saturating_sub(1);
        is_without_growth
    }

    /// Records a round trip with a window of `window` bytes and this excess of the queue over the target; returns true
    /// if the excess persists.
    fn excess_persists(&mut self, window: f64, excess: f64) -> bool {
        if !EXCESS_RANGE.contains(&excess) {
            self.rounds = 0;
            return false;
        }
        if self.window_before_yield > 0.0 {
            let is_alone = window > REGAINED_WINDOW_SHARE * self.window_before_yield;
            self.rounds_before_yield = if is_alone {
                (2 * self.rounds_before_yield).min(ROUNDS_BEFORE_YIELD.1)
            } else {
                ROUNDS_BEFORE_YIELD.0
            };
            self.window_before_yield = 0.0;
        }
        if excess < PERSISTING_EXCESS * self.max_excess {
            self.rounds = 0;
        }
        self.max_excess = if self.rounds == 0 { excess } else { self.max_excess.max(excess) };
        self.rounds += 1;
        self.rounds >= self.rounds_before_yield
    }

    fn record_yield(&mut self, window: f64) {
        *self = Self {
            rounds: 0,
            window_before_yield: window,
            rounds_without_growth: ROUNDS_WITHOUT_GROWTH,
            ..*self
        };
    }
}

impl Thalweg {
    /// Yields part of the window if the queue stays above `target`; returns true if it did.
    pub(super) fn yield_share(&mut self, queueing: f64, target: f64) -> bool {
        let excess = queueing / target - 1.0;
        if self.delay.uncertainty() > MAX_UNCERTAINTY * target
            || !self.yielding.excess_persists(self.window, excess)
        {
            return false;
        }
        self.yielding.record_yield(self.window);
        let share = self.target_rule().rate_share(target, queueing, self.min_rtt);
        self.window *= (1.0 - YIELDED_PART * (1.0 - share)).max(YIELDED_WINDOW_SHARE);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the round trips until a yield, for this excess by round trip; at most 200.
    fn round_trips_until_yield(
        yielding: &mut Yielding,
        window: f64,
        mut excess: impl FnMut(i32) -> f64,
    ) -> Option<i32> {
        (0..200).find(|&round| yielding.excess_persists(window, excess(round)))
    }

    /// The excess of a single flow drains in time, and that of competing traffic is outside this rule.
    #[test]
    fn only_a_standing_queue_triggers_a_yield() {
        assert_eq!(round_trips_until_yield(&mut Yielding::default(), 1e6, |_| 0.3), Some(7));
        assert_eq!(
            round_trips_until_yield(&mut Yielding::default(), 1e6, |round| 0.9 * 0.75f64.powi(round)),
            None
        );
        assert_eq!(round_trips_until_yield(&mut Yielding::default(), 1e6, |_| 0.09), None);
        assert_eq!(round_trips_until_yield(&mut Yielding::default(), 1e6, |_| 1.5), None);
        assert_eq!(
            round_trips_until_yield(&mut Yielding::default(), 1e6, |round| if round % 5 == 0 {
                0.0
            } else {
                0.3
            }),
            None
        );
    }

    /// A starting flow lengthens the queue temporarily.
    #[test]
    fn the_count_restarts_after_a_longer_queue_drains() {
        let begins = |round| if round < 3 { 0.9 } else { 0.3 };
        assert_eq!(round_trips_until_yield(&mut Yielding::default(), 1e6, begins), Some(3 + 7));
    }

    #[test]
    fn a_flow_alone_waits_longer_before_each_yield() {
        let mut yielding = Yielding::default();
        let mut waits = Vec::new();
        for _ in 0..5 {
            waits.push(round_trips_until_yield(&mut yielding, 1e6, |_| 0.3).expect("stays") + 1);
            yielding.record_yield(1e6);
        }
        assert_eq!(waits, [8, 16, 32, 64, 128]);
        // Another flow took the yielded part.
        assert_eq!(round_trips_until_yield(&mut yielding, 0.8e6, |_| 0.3), Some(7));
        yielding.record_yield(0.8e6);
        assert_eq!(
            (0..20).filter(|_| yielding.ends_round_without_growth()).count(),
            ROUNDS_WITHOUT_GROWTH as usize
        );
    }
}
