//! Steady state: the window converges to the flow's queue target.
//!
//! ```text
//!   window  +=  1/4 (rate x target - rate x queueing delay)                     each round trip
//! ```
//!
//! This is the rule of FAST TCP (Jin, Wei and Low 2004, equation 1), with a number of queued packets derived from the
//! rate. With almost no queue the step doubles every round trip, but grows cautiously near the window at which the path
//! was last full.

use super::{Round, Thalweg};

/// Share of the distance to the target covered per round trip. Its effect appears one round trip later; a step of half
/// the distance would oscillate.
const STEP_SHARE: f64 = 0.25;
/// Shares of the target below which a queue is short, and below which it is almost empty.
pub(super) const SHORT_QUEUE_SHARE: f64 = 0.5;
pub(super) const ALMOST_EMPTY_SHARE: f64 = 0.25;
/// Multiple of the target above which a queue exceeds that of flows of this scheme.
pub(super) const LONG_QUEUE_TARGETS: f64 = 2.0;
/// Range of cautious growth, as shares of the last full window, and the velocity in it.
const CAUTIOUS_GROWTH_SHARES: core::ops::Range<f64> = 0.75..1.05;
const CAUTIOUS_VELOCITY: f64 = 4.0;
/// Minimum growth in that range, as a share of the window: on long paths the default steps are negligible.
const MIN_GROWTH: f64 = 1.0 / 128.0;
/// Multiple of the last full window beyond which the path has changed, and growth may accelerate.
const CHANGED_PATH_WINDOW: f64 = 1.5;
/// Maximum growth per round trip, as a share of the window; it doubles every few round trips far from the last full
/// window.
const MAX_GROWTH: f64 = 0.0625;
/// Round trips per doubling, and maximum number of doublings.
const ACCELERATION: (u32, u32) = (3, 3);
/// Share of the window that must have been in flight for it to grow.
const MIN_USED_SHARE: f64 = 0.8;
/// Maximum window, as a multiple of the data arriving in a round trip.
const MAX_WINDOW_ROUNDS: f64 = 2.0;
/// Number of round trips after a drain during which delays do not reflect the window.
const REST_ROUND_TRIPS: u32 = 2;
/// Segments by which the window may exceed that maximum.
const MARGIN_SEGMENTS: f64 = 2.0;
/// Share of the previous round's rate below which a delay is attributed to a host, not to the path. A sleeping host has
/// few arrivals in one round trip, and the rest in the next.
const HOST_SLEEP: f64 = 0.5;

/// Growth rate of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Multiple of the default step.
    velocity: f64,
    /// Consecutive round trips with growth away from the last full window.
    growth_streak: u32,
    /// Window at which the path was last full, in bytes.
    pub ceiling: f64,
    /// Round trips until delays reflect the window again, after a temporary reduction.
    rest_rounds: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { velocity: 1.0, growth_streak: 0, ceiling: f64::INFINITY, rest_rounds: 0 }
    }
}

impl Pace {
    /// Resets growth to the default step.
    pub fn slow_down(&mut self) {
        (self.velocity, self.growth_streak) = (1.0, 0);
    }

    /// Starts the wait after a window is restored: packets sent under the smaller window arrive for two more round
    /// trips.
    pub fn rest(&mut self) {
        self.rest_rounds = REST_ROUND_TRIPS;
    }

    /// Returns the growth in bytes of a window with this default `step`; `hardly` means the queue is almost empty, not
    /// only short.
    fn growth(&mut self, window: f64, step: f64, hardly: bool) -> f64 {
        let reached = window / self.ceiling;
        self.velocity = match (hardly, CAUTIOUS_GROWTH_SHARES.contains(&reached)) {
            (false, _) => 1.0,
            (true, true) => CAUTIOUS_VELOCITY,
            (true, false) => 2.0 * self.velocity,
        };
        let is_far = !(CAUTIOUS_GROWTH_SHARES.start..=CHANGED_PATH_WINDOW).contains(&reached);
        self.growth_streak = if is_far { self.growth_streak.saturating_add(1) } else { 0 };
        let maximum = MAX_GROWTH
            * f64::from(1u32 << (self.growth_streak / ACCELERATION.0).min(ACCELERATION.1))
            * window;
        if step * self.velocity > maximum {
            self.velocity = (maximum / step).max(1.0);
        }
        let minimum = if hardly { MIN_GROWTH * window } else { 0.0 };
        (step * self.velocity).max(minimum).min(maximum)
    }
}

impl Thalweg {
    /// Evaluates a round trip with `last.in_flight` bytes in flight, this queueing delay in seconds, the delivery rate
    /// `rate`, the round-trip time `rtt`, and the target of the flow.
    pub(super) fn steer(&mut self, last: &Round, queueing: f64, rate: f64, rtt: f64, target: f64) {
        if self.pace.rest_rounds > 0 {
            self.pace.rest_rounds -= 1;
            return;
        }
        if self.target_share.has_recovered() && self.yield_share(queueing, target) {
            return;
        }
        let pauses = self.yielding.ends_round_without_growth();
        let flow_rate = self.full_window() / rtt;
        if queueing > SHORT_QUEUE_SHARE * target {
            self.pace.slow_down();
            self.pace.ceiling = self.window;
            let maximum = if pauses { 0.0 } else { target };
            self.window += STEP_SHARE * flow_rate * (target - queueing).min(maximum);
        } else {
            if pauses {
                // The yielded part is left to other flows, and growth does not accelerate meanwhile.
            } else if last.in_flight + self.segment > MIN_USED_SHARE * self.window {
                let step = STEP_SHARE * flow_rate * target;
                self.window += self.pace.growth(self.window, step, queueing < ALMOST_EMPTY_SHARE * target);
            } else {
                self.pace.slow_down();
            }
        }
        let arrives = if rate < HOST_SLEEP * last.previous.rate { last.previous.rate } else { rate };
        let useful = MAX_WINDOW_ROUNDS * arrives * rtt / (1.0 - self.evidence.rate());
        let used = last.in_flight.max(last.previous.in_flight);
        let maximum = useful.max(used) + MARGIN_SEGMENTS * self.segment;
        self.window = self.window.min(maximum).max(self.min_window());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "The queue": near the window at which the path was last full, growth is four steps, or a 128th of the window if
    /// that is more, as on long paths. Beside a queue it is the default step.
    #[test]
    fn growth_is_limited_and_not_negligible() {
        let pace = Pace { ceiling: 1e6, ..Pace::default() };
        let growth = |step: f64, hardly: bool| { pace }.growth(1e6, step, hardly);
        assert_eq!(growth(5e3, true), 2e4);
        assert_eq!(growth(1e3, true), 1e6 / 128.0);
        assert_eq!(growth(1e3, false), 1e3);
    }
}
