//! Heavy losses: more than no path that works loses by itself.
//!
//! A queue that is always full, or one that drops and never delays, adds nothing to the shortest round trip: no delay bounds the window
//! then, and losses have to.

use crate::units::{Duration, Time};

/// The share of packets above which losses are heavy (the authors' code: 0.3).
const HEAVY: f64 = 0.3;
/// Round trips that are counted together (the authors' code: 2).
const ROUND_TRIPS: u64 = 2;
/// The packets that tell no share yet (the authors' code: 20, which takes a window of few segments many round trips).
const FEWEST: u32 = 10;
/// Lost packets, of few, that keep a window from growing.
const SOME: u32 = 2;
/// The largest share of the window that heavy losses leave (the authors' code: 0.7).
const LARGEST_SHARE: f64 = 0.7;

/// The packets of the last round trips, and those of them that were lost. What left before the window was last cut says nothing of
/// the window now, and does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// The time at which the window was last cut, for heavy losses or after a time-out.
    cut_at: Time,
    /// The time at which heavy losses last cut it.
    heavy_at: Time,
    since: Time,
    acked: u32,
    lost: u32,
}

impl Losses {
    /// Counts a lost packet, which left at `sent_at`.
    pub fn on_lost(&mut self, sent_at: Time) {
        self.lost = self.lost.saturating_add(u32::from(sent_at >= self.cut_at));
    }

    /// Counts acknowledged packets, of which the newest left at `sent_at`. After two round trips counting begins anew; heavy losses
    /// give the share of the window that arrived, at most [`LARGEST_SHARE`].
    pub fn on_ack(&mut self, now: Time, sent_at: Time, acked: u32, smoothed_rtt: Duration) -> Option<f64> {
        if sent_at < self.cut_at {
            return None;
        }
        self.acked = self.acked.saturating_add(acked);
        if self.count() <= FEWEST || now.since(self.since) <= smoothed_rtt * ROUND_TRIPS {
            return None;
        }
        let heavy = self.are_heavy().then(|| (1.0 - self.share()).min(LARGEST_SHARE));
        *self = Self { since: now, acked: 0, lost: 0, ..*self };
        if heavy.is_some() {
            (self.cut_at, self.heavy_at) = (now, now);
        }
        heavy
    }

    /// True if an acknowledgement of what left at `sent_at` must not let the window grow: of the packets that were counted so far
    /// more were lost than a path loses by itself, or it left before heavy losses cut the window.
    pub fn forbid_growth(&self, sent_at: Time) -> bool {
        self.lost >= SOME && self.are_heavy() || sent_at < self.heavy_at
    }

    /// The window was cut for another reason.
    pub fn on_timeout(&mut self, now: Time) {
        *self = Self { cut_at: now, since: now, acked: 0, lost: 0, ..*self };
    }

    fn are_heavy(&self) -> bool {
        self.share() > HEAVY
    }

    const fn count(&self) -> u32 {
        self.acked.saturating_add(self.lost)
    }

    fn share(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.count().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(round_trips: u64) -> Time {
        Time::ZERO + RTT * round_trips
    }

    /// The share that is left after `round_trips` of 50 packets each, of which so many are lost.
    fn left(round_trips: u64, lost: u32) -> Option<f64> {
        let mut losses = Losses::default();
        losses.on_timeout(Time::ZERO);
        let mut left = None;
        for round_trip in 0..round_trips {
            (0..lost).for_each(|_| losses.on_lost(at(round_trip)));
            let now = at(round_trip + 1) + Duration::from_picos(1);
            left = left.or(losses.on_ack(now, at(round_trip), 50 - lost, RTT));
        }
        left
    }

    /// The authors' `ReduceOnLoss`: above 0.3, once in two round trips.
    #[test]
    fn more_than_three_in_ten_lost_in_two_round_trips_are_heavy() {
        assert_eq!(left(1, 40), None, "one round trip");
        assert_eq!(left(2, 15), None, "three in ten");
        let share = left(2, 16).unwrap();
        assert!((share - 0.68).abs() < 1e-9, "{share}");
        let share = left(2, 45).unwrap();
        assert!((share - 0.1).abs() < 1e-9, "{share}");
    }

    #[test]
    fn few_packets_tell_no_share() {
        let mut losses = Losses::default();
        (0..5).for_each(|_| losses.on_lost(at(1)));
        assert_eq!(losses.on_ack(at(10), at(9), 5, RTT), None);
        assert!(losses.forbid_growth(at(9)), "though few keep the window from growing");
        assert_eq!(losses.on_ack(at(10), at(9), 1, RTT), Some(1.0 - 5.0 / 11.0));
        assert!(losses.forbid_growth(at(9)) && !losses.forbid_growth(at(10)), "what left before the cut");
        assert_eq!(losses.on_ack(at(20), at(19), 30, RTT), None, "counting began anew");
    }

    /// A cut answers for all that left before it.
    #[test]
    fn what_left_before_a_cut_does_not_count() {
        let mut losses = Losses::default();
        losses.on_timeout(at(5));
        (0..50).for_each(|_| losses.on_lost(at(4)));
        assert_eq!(losses.on_ack(at(8), at(4), 1, RTT), None);
        assert_eq!(losses.on_ack(at(8), at(7), 21, RTT), None);
    }
}
