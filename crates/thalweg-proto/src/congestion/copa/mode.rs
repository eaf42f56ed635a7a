//! Default and competitive mode (section 2.2).

use crate::units::{Duration, Time};

/// A queue is nearly empty below this share of the range of round trips, as its inverse (section 2.2: a tenth).
const NEARLY_EMPTY: u64 = 10;
/// Round trips without such a moment after which it competes (section 2.2).
const PATIENCE: u64 = 5;

/// The mode, and the delta that comes with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// 1 / delta of default mode.
    usual: f64,
    /// 1 / delta now.
    inverse_delta: f64,
    enabled: bool,
    competing: bool,
    /// The queue was nearly empty, or nothing was known of it yet.
    emptied: Option<Time>,
    /// Something was lost in this round trip.
    lost: bool,
}

impl Mode {
    pub fn new(delta: f64, enabled: bool) -> Self {
        let usual = 1.0 / delta.max(f64::from(f32::EPSILON));
        Self { usual, inverse_delta: usual, enabled, competing: false, emptied: None, lost: false }
    }

    /// 1 / delta, in packets.
    pub const fn inverse_delta(&self) -> f64 {
        self.inverse_delta
    }

    pub const fn is_competing(&self) -> bool {
        self.competing
    }

    /// An acknowledgement tells how long the queue is now, and how far the last four round trips were apart.
    pub fn update(&mut self, now: Time, smoothed_rtt: Duration, queueing: Duration, range: Duration) {
        let emptied = self.emptied.get_or_insert(now);
        if queueing * NEARLY_EMPTY <= range {
            *emptied = now;
        }
        self.competing = self.enabled && now.since(*emptied) > smoothed_rtt * PATIENCE;
        if !self.competing {
            (self.inverse_delta, self.lost) = (self.usual, false);
        }
    }

    /// A round trip is over: without a loss 1 / delta grows by a packet, as the window of NewReno does.
    pub fn end_round(&mut self) {
        if self.competing && !self.lost {
            self.inverse_delta += 1.0;
        }
        self.lost = false;
    }

    /// The first loss of an episode: half, and never less than in default mode.
    pub fn on_loss(&mut self) {
        if self.competing {
            self.inverse_delta = (self.inverse_delta / 2.0).max(self.usual);
            self.lost = true;
        }
    }

    /// The losses since it was `before` were none.
    pub fn undo(&mut self, before: &Self) {
        if self.competing {
            self.inverse_delta = self.inverse_delta.max(before.inverse_delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Time {
        Time::ZERO + MS(millis)
    }

    /// Section 2.2: five round trips without a queue below a tenth of the range, and back at the first that is.
    #[test]
    fn competes_after_five_round_trips_without_an_empty_queue() {
        let mut mode = Mode::new(0.5, true);
        assert_eq!(mode.inverse_delta(), 2.0);
        mode.update(at(0), MS(100), MS(3), MS(30));
        for time in (10..=500).step_by(10) {
            mode.update(at(time), MS(100), MS(4), MS(30));
            assert!(!mode.is_competing(), "{time} ms");
        }
        mode.update(at(501), MS(100), MS(4), MS(30));
        assert!(mode.is_competing());
        for packets in 3..=20 {
            mode.end_round();
            assert_eq!(mode.inverse_delta(), f64::from(packets));
        }
        // Multiplicative decrease, no increase in the same round trip, and no less than in default mode.
        mode.on_loss();
        mode.end_round();
        assert_eq!(mode.inverse_delta(), 10.0);
        for _ in 0..5 {
            mode.on_loss();
        }
        assert_eq!(mode.inverse_delta(), 2.0);
        mode.end_round();
        mode.end_round();
        mode.update(at(520), MS(100), MS(3), MS(30));
        assert!(!mode.is_competing());
        assert_eq!(mode.inverse_delta(), 2.0);
    }

    /// Without a queue there is nobody to compete with.
    #[test]
    fn an_empty_path_is_no_competitor() {
        let mut mode = Mode::new(0.5, true);
        for time in (0..10_000).step_by(100) {
            mode.update(at(time), MS(100), MS(0), MS(0));
            assert!(!mode.is_competing(), "{time} ms");
        }
    }

    #[test]
    fn does_not_compete_unless_it_may() {
        let mut mode = Mode::new(0.5, false);
        for time in (0..10_000).step_by(100) {
            mode.update(at(time), MS(100), MS(50), MS(60));
            mode.end_round();
            mode.on_loss();
        }
        assert!(!mode.is_competing());
        assert_eq!(mode.inverse_delta(), 2.0);
    }
}
