//! Estimator of acknowledgement aggregation: data acknowledged in a burst beyond the expected amount
//! ("BBR.extra_acked").

use super::{AckedData, Bbr};
use crate::units::Time;

/// Lifetime of a value after Startup, in round trips (ExtraAckedFilterLen).
const FILTER_ROUNDS: usize = 10;
/// Lifetime of a value in Startup, in round trips.
const STARTUP_ROUNDS: usize = 1;

/// Degree of acknowledgement aggregation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// BBR.extra_acked_interval_start.
    pub since: Time,
    /// BBR.extra_acked_delivered, in bytes.
    delivered: f64,
    /// Maximum per recent round trip, in a ring by round number (BBR.extra_acked_filter).
    maxima: [f64; FILTER_ROUNDS + 1],
    round: u64,
    /// Maximum over the valid round trips (BBR.extra_acked), in bytes.
    pub extra: f64,
}

impl Aggregation {
    fn slot(round: u64) -> usize {
        (round % (FILTER_ROUNDS as u64 + 1)) as usize
    }

    /// Returns the bytes beyond the amount expected at the rate `bw` when `acked` more are acknowledged
    /// (UpdateACKAggregation).
    fn beyond(&mut self, now: Time, bw: f64, acked: f64) -> f64 {
        let mut expected = bw * now.since(self.since).as_secs_f64();
        // The acknowledgements are below the expected rate, so the episode of aggregation has ended.
        if self.delivered <= expected {
            (self.delivered, self.since, expected) = (0.0, now, 0.0);
        }
        self.delivered += acked;
        self.delivered - expected
    }

    /// Adds a value of `round`, and updates the maximum over the last `rounds` round trips.
    fn add(&mut self, round: u64, extra: f64, rounds: usize) {
        if round != self.round {
            for passed in (self.round + 1..=round).rev().take(FILTER_ROUNDS + 1) {
                self.maxima[Self::slot(passed)] = 0.0;
            }
            self.round = round;
            let counted = (0..=rounds as u64).filter_map(|ago| round.checked_sub(ago));
            self.extra = counted.map(|round| self.maxima[Self::slot(round)]).fold(0.0, f64::max);
        }
        let maximum = &mut self.maxima[Self::slot(round)];
        *maximum = maximum.max(extra);
        self.extra = self.extra.max(extra);
    }
}

impl Bbr {
    /// Implements UpdateACKAggregation().
    pub(super) fn update_aggregation(&mut self, ack: &AckedData) {
        let extra = self.aggregation.beyond(ack.now, self.bw, ack.rs.newly_acked as f64).min(self.cwnd);
        // In Startup a rate that doubles each round trip is not aggregation.
        let rounds = if self.full_bw.is_reached { FILTER_ROUNDS } else { STARTUP_ROUNDS };
        self.aggregation.add(self.sampler.rounds(), extra, rounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    /// "BBR.extra_acked": data acknowledged beyond bw times the interval; the interval restarts when acknowledgements
    /// fall behind. At 1000 B/s, 500 B at once exceed the expected amount by 500 B; 100 ms later 100 B were expected
    /// and 800 B acknowledged.
    #[test]
    fn simultaneous_acknowledgements_exceed_the_expected_amount() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut aggregation = Aggregation { since: at(0), ..Aggregation::default() };
        assert!((aggregation.beyond(at(0), 1000.0, 500.0) - 500.0).abs() < 1e-9);
        assert!((aggregation.beyond(at(100), 1000.0, 300.0) - 700.0).abs() < 1e-9);
        // 800 B are expected within 800 ms: the interval restarts.
        assert!((aggregation.beyond(at(800), 1000.0, 50.0) - 50.0).abs() < 1e-9);
        assert_eq!(aggregation.since, at(800));
    }

    /// "BBR.extra_acked": the maximum over 1 round trip in Startup and 10 after.
    #[test]
    fn values_expire_after_ten_round_trips() {
        let mut aggregation = Aggregation::default();
        aggregation.add(5, 700.0, FILTER_ROUNDS);
        for round in 6..=15 {
            aggregation.add(round, 100.0, FILTER_ROUNDS);
            assert!((aggregation.extra - 700.0).abs() < 1e-9, "round {round}");
        }
        aggregation.add(16, 100.0, FILTER_ROUNDS);
        assert!((aggregation.extra - 100.0).abs() < 1e-9);
        let mut startup = Aggregation::default();
        startup.add(1, 700.0, STARTUP_ROUNDS);
        startup.add(2, 10.0, STARTUP_ROUNDS);
        assert!((startup.extra - 700.0).abs() < 1e-9);
        startup.add(3, 10.0, STARTUP_ROUNDS);
        assert!((startup.extra - 10.0).abs() < 1e-9);
        // A gap of many rounds clears the filter.
        startup.add(1_000_000, 3.0, STARTUP_ROUNDS);
        assert!((startup.extra - 3.0).abs() < 1e-9);
    }
}
