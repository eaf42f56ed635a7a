//! SEARCH, slow start exit at the right chokepoint (draft-chung-ccwg-search; version 3.0 of the algorithm, from its
//! authors' text of June 2024). Slow start ends when the data delivered in a round trip is no longer twice that of the
//! previous one.
//!
//! ```text
//!        |<------ previous: 10 bins ------>|
//!   bins  . . . . . . . . . . . . . . . . . . . .   each 0.35 of the first round trip
//!              |<- a round trip ->|<------ current: 10 bins ------>|
//!
//!   (2 previous - current) / (2 previous) >= 0.35: the window becomes that of two round trips ago
//! ```
//!
//! Detection takes two round trips. Meanwhile the window grows to four times the data in flight, and a queue that holds
//! less than three times that amount overflows first.
//!
//! # Differences from the specification
//!
//! | SEARCH 3.0 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the first bin begins when the connection opens (lines 7 to 9) | at the first acknowledgement with a round-trip sample | the bin length is a share of that round-trip time | a check is up to a round trip later |
//! | 25 bins (line 4) | 26 | the bin at the far edge of the previous window, of which a fraction counts, is the one being filled if a round trip has 15 bins | none for other round-trip times |
//! | deliveries are cumulative (line 30) | including selectively acknowledged data | it is delivered | none without losses |
//! | application-limited senders deliver less | bins restart while the sender is application-limited | an application limit is not a chokepoint; later versions compare with the data sent | slow start continues |
//! | 3.1, the authors' kernel code of 2025: bins are scaled down to 16 bits, and detection restarts after bins without acknowledgements (by default never) and at an application limit | 64 bits; restart only at an application limit | scaling saves kernel memory; the restart after empty bins is off by default | none known; the text of the draft's later versions was not compared |
//! | the congestion window is reduced by the data delivered in two round trips (line 41) | the same, but two segments remain | minimum of ssthresh (RFC 5681, equation 4) | none if windows doubled |

use super::AckSample;
use super::slow_start_exit_decision::Step;
use crate::units::{Duration, Time};

/// Bins per window (`W`, line 2), which is 3.5 round trips long (line 1).
const W: usize = 10;
const WINDOW_SIZE_PERCENT: u64 = 350;
/// Additional bins, which hold the window one round trip ago (line 3).
const EXTRA_BINS: usize = 15;
const NUM_BINS: usize = W + EXTRA_BINS + 1;
/// Threshold of the normalised difference: shortfall of deliveries relative to twice the previous ones (line 6).
const THRESH: f64 = 0.35;

/// State of SEARCH.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// Bytes delivered per bin; the last [`NUM_BINS`] bins are kept (`bin`).
    bins: [u64; NUM_BINS],
    /// Number of complete bins (`curr_idx` is one less).
    complete: usize,
    /// First round-trip time, and length of a bin; `None` before the first sample.
    clock: Option<Clock>,
    /// Bytes delivered since the end of the last complete bin.
    delivered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    /// `INITIAL_RTT`, line 1.
    initial_rtt: Duration,
    /// `BIN_DURATION`, line 5.
    bin: Duration,
    /// `bin_end`.
    bin_end: Time,
}

impl Clock {
    fn new(now: Time, initial_rtt: Duration) -> Self {
        let bin = Duration::from_picos(initial_rtt.as_picos() / 100 * WINDOW_SIZE_PERCENT / W as u64);
        // Spans are divided by the length: a round-trip time of zero must not make it zero.
        let bin = bin.max(Duration::from_nanos(1));
        Self { initial_rtt, bin, bin_end: now + bin }
    }

    /// Returns `span` as whole bins and a fraction of a bin.
    fn bins(&self, span: Duration) -> (usize, f64) {
        let (span, bin) = (span.as_picos(), self.bin.as_picos());
        (usize::try_from(span / bin).unwrap_or(usize::MAX), (span % bin) as f64 / bin as f64)
    }
}

impl Search {
    /// Creates the state before the first acknowledgement.
    pub fn new() -> Self {
        Self { bins: [0; NUM_BINS], complete: 0, clock: None, delivered: 0 }
    }

    /// Handles an acknowledgement in slow start (lines 10 to 23).
    pub fn on_ack(&mut self, sample: &AckSample) -> Step {
        let grow = Step::Grow(f64::from(sample.counted));
        let now = sample.connection.now;
        if sample.app_limited {
            *self = Self::new();
            return grow;
        }
        // Lines 7 to 9.
        let Some(clock) = self.clock else {
            self.clock = sample.rtt.map(|rtt| Clock::new(now, rtt));
            return grow;
        };
        self.delivered += sample.acked_bytes;
        if now <= clock.bin_end {
            return grow;
        }
        self.update_bins(now, &clock);
        let (bins, fraction) = clock.bins(sample.rtt.unwrap_or(sample.connection.smoothed_rtt));
        // Lines 12 to 14.
        let current = self.complete - 1;
        let Some(previous) =
            current.checked_sub(bins).filter(|&previous| previous >= W && bins <= EXTRA_BINS)
        else {
            return grow;
        };
        // Lines 15 to 19.
        let expected = 2.0 * self.sum_bins(previous - W, previous, fraction);
        // After a pause without deliveries there is no previous window to compare with.
        if expected > 0.0 && (expected - self.sum_bins(current - W, current, 0.0)) / expected >= THRESH {
            return Step::Leave {
                overshoot: self.overshoot(current, &clock) / f64::from(sample.connection.segment),
            };
        }
        grow
    }

    /// Updates the bins: lines 24 to 31.
    fn update_bins(&mut self, now: Time, clock: &Clock) {
        let (passed, _) = clock.bins(now.since(clock.bin_end));
        // Lines 24 to 28: bins without acknowledgements are empty. More of them than are kept change nothing.
        for _ in 0..passed.min(NUM_BINS) {
            self.complete += 1;
            self.bins[(self.complete - 1) % NUM_BINS] = 0;
        }
        // For expired bins only their number matters.
        self.complete += 1;
        self.bins[(self.complete - 1) % NUM_BINS] = core::mem::take(&mut self.delivered);
        let end = clock.bin_end + clock.bin * (passed as u64 + 1);
        self.clock = Some(Clock { bin_end: end, ..*clock });
    }

    /// Sums bins: lines 32 to 38.
    fn sum_bins(&self, first: usize, last: usize, fraction: f64) -> f64 {
        let bin = |at: usize| self.bins[at % NUM_BINS] as f64;
        let between: f64 = (first + 1..last).map(bin).sum();
        between + bin(first) * fraction + bin(last) * (1.0 - fraction)
    }

    /// Returns the bytes delivered since the chokepoint was reached, two round trips ago (lines 39 and 40).
    fn overshoot(&self, current: usize, clock: &Clock) -> f64 {
        let (bins, _) = clock.bins(clock.initial_rtt * 2);
        self.sum_bins(current.saturating_sub(bins), current, 0.0)
    }
}

#[cfg(test)]
mod tests {
    //! Checks the worked examples of the draft ("Threshold"), with round trips of 100 ms and bins of 35 ms.
    use super::*;
    use crate::congestion::ConnectionState;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn sample(millis: u64, bytes: u64) -> AckSample {
        let connection = ConnectionState {
            now: Time::ZERO + MS(millis),
            outstanding: 10,
            in_flight: 10,
            in_flight_bytes: 10_000,
            smoothed_rtt: MS(100),
            min_rtt: MS(100),
            segment: 1000,
            next_sequence: 0,
        };
        AckSample {
            connection,
            acked: 1,
            acked_bytes: bytes,
            counted: 1,
            cumulative: 0,
            sent_at: Time::ZERO,
            in_flight_bytes: 0,
            rtt: Some(MS(100)),
            ce: 0,
            one_way_delay: None,
            recovering: false,
            app_limited: false,
        }
    }

    /// Returns the rate in bytes per millisecond at `millis`: it doubles each round trip, up to the rate of the path.
    fn rate(millis: u64, max_rate: f64) -> f64 {
        (10.0 * libm::exp2(millis as f64 / 100.0)).min(max_rate)
    }

    /// Feeds an acknowledgement each millisecond; returns the end of slow start, and the reduction of the window.
    fn run(search: &mut Search, millis: core::ops::Range<u64>, max_rate: f64) -> Option<(u64, f64)> {
        millis.into_iter().find_map(|at| match search.on_ack(&sample(at, rate(at, max_rate) as u64)) {
            Step::Leave { overshoot } => Some((at, overshoot)),
            Step::Grow(growth) => {
                assert_eq!(growth, 1.0);
                None
            }
        })
    }

    /// While deliveries double each round trip, the normalised difference is zero.
    #[test]
    fn slow_start_continues_while_deliveries_double() {
        assert_eq!(run(&mut Search::new(), 0..2000, f64::INFINITY), None);
    }

    /// The path's rate is reached after six and a half round trips; "detected about 2 round trips" later, and never
    /// with the window still below the path's capacity: the window is reduced by the data delivered in two round trips
    /// at that rate.
    #[test]
    fn a_plateau_is_found_two_round_trips_later() {
        let max_rate = rate(650, f64::INFINITY);
        let (at, overshoot) = run(&mut Search::new(), 0..3000, max_rate).expect("it ends");
        assert!((800..=900).contains(&at), "{at} ms");
        // Two round trips hold at most five whole bins of 35 ms.
        let segments = 175.0 * max_rate / 1000.0;
        assert!((overshoot / segments - 1.0).abs() < 0.05, "{overshoot} of {segments}");
    }

    /// Lines 12 to 14: no decision before 11 bins, plus the bins of a round trip, are complete.
    #[test]
    fn nothing_is_decided_before_two_windows_are_known() {
        let (at, _) = run(&mut Search::new(), 0..3000, 10.0).expect("constant from the start");
        // Bin 12 (from 0, with 2 whole bins per round trip) ends at 13 bins.
        assert_eq!(at, 13 * 35 + 1);
    }

    /// Lines 13 and 14: a round trip of 15 bins is within the history, one of more is not.
    #[test]
    fn a_round_trip_of_sixteen_bins_is_too_long() {
        for (rtt, ends) in [(MS(15 * 35), true), (MS(16 * 35), false)] {
            let mut search = Search::new();
            let _ = search.on_ack(&sample(0, 1000));
            let left = (1..3000).any(|at| {
                let sample = AckSample { rtt: Some(rtt), ..sample(at, 1000) };
                matches!(search.on_ack(&sample), Step::Leave { .. })
            });
            assert_eq!(left, ends, "{rtt}");
        }
    }

    /// The draft's example of a reached capacity: 1, 2, 4, 8, 16, 16, 16 in round trips of five bins. Ten bins are two
    /// round trips: after the second 16 the difference is (2 * 24 - 32) / (2 * 24) = 0.333, and a bin later (2 * 25.6 -
    /// 32) / (2 * 25.6) = 0.375. With round trips of 5.8 bins the previous window is 0.8 bins older: 24.32 gives 0.342,
    /// and a bin later 25.92 gives 0.383 (lines 16, 36 and 37).
    #[test]
    fn the_difference_matches_the_example() {
        for (rtt, bin) in [(175, 31), (203, 32)] {
            let mut search = Search::new();
            let _ = search.on_ack(&sample(0, 0));
            let left = (1..60).find(|bin| {
                let bytes = 2000 << ((bin - 1) / 5).min(4);
                let sample = AckSample { rtt: Some(MS(rtt)), ..sample(35 * bin + 1, bytes) };
                matches!(search.on_ack(&sample), Step::Leave { .. })
            });
            assert_eq!(left, Some(bin), "round trips of {rtt} ms");
        }
    }

    /// An application-limited sender reveals nothing about the path.
    #[test]
    fn an_application_limit_does_not_end_slow_start() {
        let mut search = Search::new();
        assert_eq!(run(&mut search, 0..600, f64::INFINITY), None);
        for at in 600..2000 {
            let limited = AckSample { app_limited: true, ..sample(at, 1000) };
            assert_eq!(search.on_ack(&limited), Step::Grow(1.0));
        }
        assert_eq!(run(&mut search, 2000..2400, 1000.0), None, "it begins anew");
    }

    /// Lines 24 to 28: bins without acknowledgements are empty, however long the silence.
    #[test]
    fn bins_without_acknowledgements_are_empty() {
        for gap in [200, 100_000] {
            let mut search = Search::new();
            assert_eq!(run(&mut search, 0..600, f64::INFINITY), None);
            let step = search.on_ack(&sample(600 + gap, 1000));
            let left = matches!(step, Step::Leave { .. });
            // After a short silence deliveries have not doubled; after a long one there is no previous window.
            assert_eq!(left, gap == 200, "{step:?}");
        }
    }
}
