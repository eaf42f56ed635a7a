//! SEARCH, slow start exit at the right chokepoint (draft-chung-ccwg-search; the algorithm's version 3.0, as its authors' text of June 2024
//! has it): slow start ends when what is delivered in a round trip is no longer twice what was in the last.
//!
//! ```text
//!        |<------ previous: 10 bins ------>|
//!   bins  . . . . . . . . . . . . . . . . . . . .   each 0.35 of the first round trip
//!              |<- a round trip ->|<------ current: 10 bins ------>|
//!
//!   (2 previous - current) / (2 previous) >= 0.35: the window becomes what it was two round trips ago
//! ```
//!
//! It takes two round trips to see, in which the window grows to four times what is on the way: a queue that holds less than three
//! times that overflows first.
//!
//! # Differences from the specification
//!
//! | SEARCH 3.0 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the first bin begins when the connection opens (lines 7 to 9) | at the first acknowledgement that measures a round trip | bins have a share of that as their length | a check is up to a round trip later |
//! | 25 bins (line 4) | 26 | the one at the far edge of the previous window, of which a fraction counts, is the one being filled where a round trip has 15 | none but there |
//! | deliveries are cumulative (line 30) | selectively acknowledged ones too | they are delivered | none without losses |
//! | what an application does not send is not delivered | bins begin anew while the application is the limit | it is no sign of a chokepoint; later versions compare with what was sent | slow start goes on |
//! | 3.1, the authors' kernel code of 2025: bins are scaled down to 16 bits, and all begins anew after bins without acknowledgements (by default never) and when the application is the limit | 64 bits; only the last | memory of kernels; what is never done by default | none known; the text of the draft's later versions was not compared |
//! | the congestion window loses what was delivered in two round trips (line 41) | but keeps two segments | a threshold is no less (RFC 5681) | none where windows doubled |

use super::AckSample;
use super::step::Step;
use crate::units::{Duration, Time};

/// The bins of a window (`W`, line 2), which is 3.5 round trips long (line 1).
const W: usize = 10;
const WINDOW_SIZE_PERCENT: u64 = 350;
/// More bins, so that a window a round trip ago can be looked at (line 3).
const EXTRA_BINS: usize = 15;
const NUM_BINS: usize = W + EXTRA_BINS + 1;
/// Deliveries that fall short of twice the previous ones by this share end slow start (line 6).
const THRESH: f64 = 0.35;

/// The state of SEARCH.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// Bytes delivered, by bins of which the last [`NUM_BINS`] are kept (`bin`).
    bins: [u64; NUM_BINS],
    /// The bins that are complete (`curr_idx` is one less).
    complete: usize,
    /// The first round trip, and the length of a bin; `None` before it was measured.
    clock: Option<Clock>,
    /// Bytes delivered since the last bin was complete.
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
        let bin = bin.max(Duration::from_nanos(1));
        Self { initial_rtt, bin, bin_end: now + bin }
    }

    /// A span as whole bins and the rest as a share of one.
    fn bins(&self, span: Duration) -> (usize, f64) {
        let (span, bin) = (span.as_picos(), self.bin.as_picos());
        (usize::try_from(span / bin).unwrap_or(usize::MAX), (span % bin) as f64 / bin as f64)
    }
}

impl Search {
    /// Before the first acknowledgement.
    pub fn new() -> Self {
        Self { bins: [0; NUM_BINS], complete: 0, clock: None, delivered: 0 }
    }

    /// An acknowledgement in slow start (lines 10 to 23).
    pub fn on_ack(&mut self, sample: &AckSample) -> Step {
        let grow = Step::Grow(f64::from(sample.counted));
        let now = sample.path.now;
        if sample.app_limited {
            *self = Self::new();
            return grow;
        }
        let Some(clock) = self.clock else {
            self.clock = sample.rtt.map(|rtt| Clock::new(now, rtt));
            return grow;
        };
        self.delivered += sample.acked_bytes;
        if now <= clock.bin_end {
            return grow;
        }
        self.update_bins(now, &clock);
        let (bins, fraction) = clock.bins(sample.rtt.unwrap_or(sample.path.smoothed_rtt));
        // Lines 12 to 14.
        let current = self.complete - 1;
        let Some(previous) =
            current.checked_sub(bins).filter(|&previous| previous >= W && bins <= EXTRA_BINS)
        else {
            return grow;
        };
        // Lines 15 to 19.
        let expected = 2.0 * self.sum_bins(previous - W, previous, fraction);
        if expected > 0.0 && (expected - self.sum_bins(current - W, current, 0.0)) / expected >= THRESH {
            return Step::Leave {
                overshoot: self.overshoot(current, &clock) / f64::from(sample.path.segment),
            };
        }
        grow
    }

    /// Lines 24 to 31.
    fn update_bins(&mut self, now: Time, clock: &Clock) {
        let (passed, _) = clock.bins(now.since(clock.bin_end));
        for _ in 0..passed.min(NUM_BINS) {
            self.complete += 1;
            self.bins[(self.complete - 1) % NUM_BINS] = 0;
        }
        // Without memory of them, it matters only how many have passed since the first.
        self.complete += 1;
        self.bins[(self.complete - 1) % NUM_BINS] = core::mem::take(&mut self.delivered);
        let end = clock.bin_end + clock.bin * (passed as u64 + 1);
        self.clock = Some(Clock { bin_end: end, ..*clock });
    }

    /// Lines 32 to 38.
    fn sum_bins(&self, first: usize, last: usize, fraction: f64) -> f64 {
        let bin = |at: usize| self.bins[at % NUM_BINS] as f64;
        let between: f64 = (first + 1..last).map(bin).sum();
        between + bin(first) * fraction + bin(last) * (1.0 - fraction)
    }

    /// The bytes delivered since the chokepoint was reached, two round trips ago (lines 39 and 40).
    fn overshoot(&self, current: usize, clock: &Clock) -> f64 {
        let (bins, _) = clock.bins(clock.initial_rtt * 2);
        self.sum_bins(current.saturating_sub(bins), current, 0.0)
    }
}

#[cfg(test)]
mod tests {
    //! Proves the worked figures of the draft ("Threshold"), with round trips of 100 ms and bins of 35 ms.
    use super::*;
    use crate::congestion::Path;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn sample(millis: u64, bytes: u64) -> AckSample {
        let path = Path {
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
            path,
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

    /// Bytes a millisecond at so many milliseconds: they double each round trip, up to the rate of the path.
    fn rate(millis: u64, most: f64) -> f64 {
        (10.0 * libm::exp2(millis as f64 / 100.0)).min(most)
    }

    /// Feeds an acknowledgement each millisecond; gives when slow start ends, and by how much less the window is then.
    fn run(search: &mut Search, millis: core::ops::Range<u64>, most: f64) -> Option<(u64, f64)> {
        millis.into_iter().find_map(|at| match search.on_ack(&sample(at, rate(at, most) as u64)) {
            Step::Leave { overshoot } => Some((at, overshoot)),
            Step::Grow(growth) => {
                assert_eq!(growth, 1.0);
                None
            }
        })
    }

    /// While deliveries double each round trip the normalised difference is zero.
    #[test]
    fn what_doubles_goes_on() {
        assert_eq!(run(&mut Search::new(), 0..2000, f64::INFINITY), None);
    }

    /// The rate is reached after six round trips and a half; "detected about 2 round trips" later, and never with the window still below what
    /// the path takes: what was delivered in two round trips at that rate goes off.
    #[test]
    fn a_plateau_is_found_two_round_trips_later() {
        let most = rate(650, f64::INFINITY);
        let (at, overshoot) = run(&mut Search::new(), 0..3000, most).expect("it ends");
        assert!((800..=900).contains(&at), "{at} ms");
        // Five whole bins of 35 ms are the most that two round trips hold.
        let segments = 175.0 * most / 1000.0;
        assert!((overshoot / segments - 1.0).abs() < 0.05, "{overshoot} of {segments}");
    }

    /// Lines 12 to 14: 11 bins, and as many as a round trip has, must be complete before anything is decided, whatever the deliveries
    /// are.
    #[test]
    fn nothing_is_decided_before_two_windows_are_known() {
        let (at, _) = run(&mut Search::new(), 0..3000, 10.0).expect("constant from the start");
        // Bin 12 (from 0, with 2 whole bins a round trip) ends at 13 bins.
        assert_eq!(at, 13 * 35 + 1);
    }

    /// Lines 13 and 14: a round trip of more than 15 bins cannot be looked back, one of 15 can.
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

    /// The draft's example, of a capacity that is reached: 1, 2, 4, 8, 16, 16, 16 in round trips of five bins. Ten bins are two of them: after
    /// the second 16 the difference is (2 * 24 - 32) / (2 * 24) = 0.333, and a bin later (2 * 25.6 - 32) / (2 * 25.6) = 0.375. With round
    /// trips of 5.8 bins the previous window is 0.8 bins older: 24.32 gives 0.342, and a bin later 25.92 gives 0.383 (lines 16, 36 and 37).
    #[test]
    fn the_difference_is_that_of_the_example() {
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

    /// An application that sends less tells nothing of the path.
    #[test]
    fn what_is_not_sent_is_no_sign() {
        let mut search = Search::new();
        assert_eq!(run(&mut search, 0..600, f64::INFINITY), None);
        for at in 600..2000 {
            let limited = AckSample { app_limited: true, ..sample(at, 1000) };
            assert_eq!(search.on_ack(&limited), Step::Grow(1.0));
        }
        assert_eq!(run(&mut search, 2000..2400, 1000.0), None, "it begins anew");
    }

    /// Lines 24 to 28: bins in which nothing came are empty, however long the silence was.
    #[test]
    fn a_silence_is_remembered_as_one() {
        for silence in [200, 100_000] {
            let mut search = Search::new();
            assert_eq!(run(&mut search, 0..600, f64::INFINITY), None);
            let step = search.on_ack(&sample(600 + silence, 1000));
            let left = matches!(step, Step::Leave { .. });
            // After a short one deliveries have not doubled; after a long one nothing is left to compare with.
            assert_eq!(left, silence == 200, "{step:?}");
        }
    }
}
