//! The window goes to where the flow has the queue that it asks for, and the queue is emptied now and then.
//!
//! ```text
//!   window  +=  1/4 (rate x target - rate x queueing delay)                     each round trip
//! ```
//!
//! That is the rule of FAST TCP (Jin, Wei and Low 2004, equation 1) with a number of queued packets that follows from the rate. Where
//! there is hardly a queue the step doubles from round trip to round trip, carefully near the window at which the path was last full.

use super::{Round, Thalweg};
use crate::units::{Duration, Time};

/// The part of the way to the target that a round trip goes. What it does shows a round trip later, so that half of it would swing.
const STEP: f64 = 0.25;
/// The share of the target below which a queue is short, and below which there is hardly one.
const SHORT: f64 = 0.5;
const HARDLY: f64 = 0.25;
/// The multiple of the target from which on a queue is longer than flows of this kind make it.
pub(super) const LONG: f64 = 2.0;
/// The same where the window is the least that there is, or within a twentieth of it: such flows can do nothing about a queue.
const LONG_FOR_LEAST: f64 = 1.15;
const NEARLY: f64 = 1.05;
/// The shares of the last full window between which growth is careful, and its velocity there.
const NEAR: core::ops::Range<f64> = 0.75..1.05;
const CAREFUL: f64 = 4.0;
/// The share of the window by which it grows there at least: on long ways the usual steps are next to nothing of it.
const SLOWEST: f64 = 1.0 / 128.0;
/// The multiple of the last full window from which on the path is another, and growth may become ever faster.
const BEYOND: f64 = 1.5;
/// The share of the window by which a round trip lets it grow at most; it doubles every few round trips far from the last full window.
const FASTEST: f64 = 0.0625;
/// These few round trips, and the doublings at most.
const HASTE: (u32, u32) = (3, 3);
/// The share of the window that must be in flight at some time for it to grow.
const USED: f64 = 0.8;
/// The multiple of what arrives in the time of a round trip that no window exceeds.
const USEFUL: f64 = 2.0;
/// The time after which an empty queue is looked for.
const REFRESH: Duration = Duration::from_secs(5);
/// The multiple of the flow's own queue that it takes away for that, the first time, and the share of its window at most.
const DIP: f64 = 1.5;
const DEEPEST: f64 = 0.25;
/// The round trips after that in which delays tell nothing of the window.
const REST: u32 = 2;
/// The share of the window that it takes away at least where the path loses packets, so that it shows whether it does so at a lower rate.
const CONTROL: f64 = 0.1;

/// The speed of growth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The multiple of the usual step.
    velocity: f64,
    /// Round trips in a row in which growth was not near the last full window.
    haste: u32,
    /// The window at which the path was last full, in bytes.
    pub ceiling: f64,
    /// The multiple of its own queue that a flow takes away when it next looks for an empty one.
    dip: f64,
    /// Round trips until delays tell again what the window does, after it was smaller for a while.
    rest: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { velocity: 1.0, haste: 0, ceiling: f64::INFINITY, dip: DIP, rest: 0 }
    }
}

impl Pace {
    /// Growth begins anew, at the usual step.
    pub fn slow_down(&mut self) {
        (self.velocity, self.haste) = (1.0, 0);
    }

    /// The window is what it was before, and packets that left while it was smaller will come for two round trips.
    pub fn rest(&mut self) {
        self.rest = REST;
    }

    /// The bytes by which a window grows whose usual step is so many, while there is `hardly` a queue or a short one.
    fn growth(&mut self, window: f64, step: f64, hardly: bool) -> f64 {
        let reached = window / self.ceiling;
        self.velocity = match (hardly, NEAR.contains(&reached)) {
            (false, _) => 1.0,
            (true, true) => CAREFUL,
            (true, false) => 2.0 * self.velocity,
        };
        let is_far = !(NEAR.start..=BEYOND).contains(&reached);
        self.haste = if is_far { self.haste.saturating_add(1) } else { 0 };
        let most = FASTEST * f64::from(1u32 << (self.haste / HASTE.0).min(HASTE.1)) * window;
        if step * self.velocity > most {
            self.velocity = (most / step).max(1.0);
        }
        let least = if hardly { SLOWEST * window } else { 0.0 };
        (step * self.velocity).max(least).min(most)
    }
}

impl Thalweg {
    /// A round trip ended in which the window was `last.in_flight` full, the queueing delay was so many seconds, `rate` was delivered
    /// and the round trip took `rtt`.
    pub(super) fn steer(&mut self, now: Time, last: &Round, queueing: f64, rate: f64, rtt: f64) {
        if self.pace.rest > 0 {
            self.pace.rest -= 1;
            return;
        }
        let own = self.window / rtt;
        let target = self.target(own);
        let is_least = self.window < NEARLY * self.least();
        let is_long = queueing > target * if is_least { LONG_FOR_LEAST } else { LONG };
        let window = (self.window / self.segment, is_least);
        if self.config.compete && self.rival.suspect(now, window, rate, queueing, is_long) {
            return;
        }
        let target = self.told.asks_for(now) * target;
        if self.told.is_quiet() && self.give(queueing, target) {
            return;
        }
        let pauses = self.giving.pauses();
        if queueing > SHORT * target {
            self.pace.slow_down();
            self.pace.ceiling = self.window;
            let most = if pauses { 0.0 } else { target };
            self.window += STEP * own * (target - queueing).min(most);
        } else {
            let growth = self.pace.growth(self.window, STEP * own * target, queueing < HARDLY * target);
            if pauses {
                // It is left to others.
            } else if last.in_flight + self.segment > USED * self.window {
                self.window += growth;
            } else {
                self.pace.slow_down();
            }
        }
        let useful = USEFUL * last.arrives(rate) * rtt / (1.0 - self.path_loss.share());
        let used = last.in_flight.max(last.before.in_flight);
        self.window = self.window.min(useful.max(used) + self.least()).max(self.least());
        self.refresh(now, self.window * queueing / rtt);
    }

    /// Empties the queue for a round trip where that has not been seen for long. `own` bytes of it are this flow's. Where that does
    /// not do, more is taken away the next time.
    fn refresh(&mut self, now: Time, own: f64) {
        if self.delay.age(now) < REFRESH {
            return;
        }
        let least = if self.path_loss.share() > 0.0 { CONTROL * self.window } else { 2.0 * self.segment };
        self.dip = (self.pace.dip * own).max(least).min(DEEPEST * self.window);
        self.pace.dip = (2.0 * self.pace.dip).min(1.0 / DEEPEST);
        self.delay.accept(now);
    }

    /// A round trip ended in which the window was smaller for [`refresh`](Self::refresh).
    pub(super) fn end_dip(&mut self, queueing: f64) {
        if self.dip <= 0.0 {
            return;
        }
        if queueing < HARDLY * self.target(self.rate()) {
            self.pace.dip = DIP;
        }
        self.dip = 0.0;
        self.pace.rest();
    }

    /// True if so much was taken away that losses show whether they go on at a lower rate.
    pub(super) fn is_low(&self) -> bool {
        self.trial.is_some() || self.dip >= CONTROL * self.window && self.dip > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "The queue": near the window at which the path was last full growth is four steps, or a 128th of the window where these are less,
    /// as on long ways. Beside a queue it is the usual step.
    #[test]
    fn growth_is_careful_and_not_next_to_nothing() {
        let pace = Pace { ceiling: 1e6, ..Pace::default() };
        let growth = |step: f64, hardly: bool| { pace }.growth(1e6, step, hardly);
        assert_eq!(growth(5e3, true), 2e4);
        assert_eq!(growth(1e3, true), 1e6 / 128.0);
        assert_eq!(growth(1e3, false), 1e3);
    }
}
