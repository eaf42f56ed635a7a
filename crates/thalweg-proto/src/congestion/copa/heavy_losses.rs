//! Heavy losses: loss rates above those of any working path.
//!
//! With a queue that is always full, or one that drops without delaying, the minimum round-trip time includes the full
//! delay. Delay then does not bound the window, so losses must.

use crate::units::{Duration, Time};

/// Loss rate above which losses are heavy (the authors' code: 0.3).
const HEAVY_LOSS_RATE: f64 = 0.3;
/// Counting period, in round trips (the authors' code: 2).
const ROUND_TRIPS: u64 = 2;
/// Number of packets up to which a loss rate is chance (the authors' code: 20, which takes a window of few segments many
/// round trips).
const MAX_INCONCLUSIVE_PACKETS: u32 = 10;
/// Number of lost packets, out of few, that stops window growth.
const MIN_LOSSES: u32 = 2;
/// Maximum share of the window that remains after heavy losses (the authors' code: 0.7).
const MAX_REMAINING_SHARE: f64 = 0.7;

/// Counts of packets and losses in the last round trips. Packets sent before the last window reduction are not counted,
/// since they do not reflect the current window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeavyLossDetector {
    /// Packets sent from here on count: the last window reduction, for heavy losses or after a timeout.
    counted_from: Time,
    /// Time of the last reduction for heavy losses.
    heavy_cut_at: Time,
    /// Start of the counting period.
    since: Time,
    acked: u32,
    lost: u32,
}

impl HeavyLossDetector {
    /// Counts a lost packet, sent at `sent_at`.
    pub fn on_lost(&mut self, sent_at: Time) {
        self.lost = self.lost.saturating_add(u32::from(sent_at >= self.counted_from));
    }

    /// Counts acknowledged packets; the newest was sent at `sent_at`. The count restarts after two round trips. After
    /// heavy losses, returns the share of the window that arrived, at most [`MAX_REMAINING_SHARE`].
    pub fn on_ack(&mut self, now: Time, sent_at: Time, acked: u32, smoothed_rtt: Duration) -> Option<f64> {
        if sent_at < self.counted_from {
            return None;
        }
        self.acked = self.acked.saturating_add(acked);
        // A rate of few packets, or of a part of a burst, is chance.
        if self.count() <= MAX_INCONCLUSIVE_PACKETS || now.since(self.since) <= smoothed_rtt * ROUND_TRIPS {
            return None;
        }
        let heavy = self.are_heavy().then(|| (1.0 - self.loss_rate()).min(MAX_REMAINING_SHARE));
        *self = Self { since: now, acked: 0, lost: 0, ..*self };
        if heavy.is_some() {
            (self.counted_from, self.heavy_cut_at) = (now, now);
        }
        heavy
    }

    /// Returns true if an acknowledgement of data sent at `sent_at` must not grow the window: the counted losses exceed
    /// the loss rate of a working path, or the data was sent before heavy losses reduced the window.
    pub fn forbids_growth(&self, sent_at: Time) -> bool {
        self.lost >= MIN_LOSSES && self.are_heavy() || sent_at < self.heavy_cut_at
    }

    /// Records a reduction of the window for another reason.
    pub fn on_timeout(&mut self, now: Time) {
        *self = Self { counted_from: now, since: now, acked: 0, lost: 0, ..*self };
    }

    fn are_heavy(&self) -> bool {
        self.loss_rate() > HEAVY_LOSS_RATE
    }

    const fn count(&self) -> u32 {
        self.acked.saturating_add(self.lost)
    }

    fn loss_rate(&self) -> f64 {
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

    /// Returns the remaining share after `round_trips` of 50 packets each, with `lost` losses in each.
    fn remaining_share(round_trips: u64, lost: u32) -> Option<f64> {
        let mut losses = HeavyLossDetector::default();
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
        assert_eq!(remaining_share(1, 40), None, "one round trip");
        assert_eq!(remaining_share(2, 15), None, "three in ten");
        let share = remaining_share(2, 16).unwrap();
        assert!((share - 0.68).abs() < 1e-9, "{share}");
        let share = remaining_share(2, 45).unwrap();
        assert!((share - 0.1).abs() < 1e-9, "{share}");
    }

    #[test]
    fn few_packets_yield_no_loss_rate() {
        let mut losses = HeavyLossDetector::default();
        (0..5).for_each(|_| losses.on_lost(at(1)));
        assert_eq!(losses.on_ack(at(10), at(9), 5, RTT), None);
        assert!(losses.forbids_growth(at(9)), "though few keep the window from growing");
        assert_eq!(losses.on_ack(at(10), at(9), 1, RTT), Some(1.0 - 5.0 / 11.0));
        assert!(losses.forbids_growth(at(9)) && !losses.forbids_growth(at(10)), "what left before the cut");
        assert_eq!(losses.on_ack(at(20), at(19), 30, RTT), None, "counting began anew");
    }

    /// A reduction covers all data sent before it.
    #[test]
    fn losses_of_packets_sent_before_a_reduction_do_not_count() {
        let mut losses = HeavyLossDetector::default();
        losses.on_timeout(at(5));
        (0..50).for_each(|_| losses.on_lost(at(4)));
        assert_eq!(losses.on_ack(at(8), at(4), 1, RTT), None);
        assert_eq!(losses.on_ack(at(8), at(7), 21, RTT), None);
    }
}
