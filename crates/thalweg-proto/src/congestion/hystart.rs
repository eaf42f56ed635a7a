//! HyStart++ (RFC 9406): slow start ends when round trips grow longer, before the queue overflows.
//!
//! ```text
//!                       shortest round trip of a round an eighth above that of the last (4 to 16 ms)
//!   slow start ------------------------------------------------------------> conservative slow start (CSS)
//!   (+1 a segment)  <------------------------------------------------------  (+1/4 a segment)
//!                       shortest round trip of a round below that of the entry      |
//!                                                                                   | five rounds
//!                                                                                   v
//!                                             congestion avoidance, threshold = window
//! ```
//!
//! A loss or a mark ends either, as the controller answers it.
//!
//! # Differences from the specification
//!
//! | RFC 9406 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | acknowledged bytes count (section 4.2) | segments do | windows are of segments | none where segments are full |
//! | L is 8 segments without pacing and unlimited with it (section 4.3) | 8, or the sender's [byte counting](crate::window::SenderConfig::byte_counting) where that is more | hosts acknowledge whole batches, with which slow start would not double | live senders may answer one acknowledgement by more than 8 segments, as they do without |
//! | every acknowledgement gives a sample of the round trip (section 4.2) | not one of what was sent more than once (RFC 6298, section 3) | which transmission it answers is not known | fewer samples, and none that are wrong |
//! | may be used for the restart after an idle time (section 4.3) | only until slow start was left once | section 4.3 asks for no more | none on connections that are not idle |

use super::AckSample;
use super::step::Step;
use crate::units::Duration;

/// The least growth of the round trip that counts (`MIN_RTT_THRESH`, section 4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// The growth that counts in any case (`MAX_RTT_THRESH`).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Between those, the share of the round trip that counts (`MIN_RTT_DIVISOR`).
const MIN_RTT_DIVISOR: u64 = 8;
/// So many round trips must have been measured in a round (`N_RTT_SAMPLE`).
const N_RTT_SAMPLE: u32 = 8;
/// The window grows so many times more slowly in conservative slow start (`CSS_GROWTH_DIVISOR`).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// The rounds of conservative slow start, with the one in which it begins (`CSS_ROUNDS`).
const CSS_ROUNDS: u32 = 5;
/// One acknowledgement counts for so many segments at least (L).
const LIMIT: u32 = 8;

/// Infinity, for round trips.
pub(super) const INFINITY: Duration = Duration::MAX;

/// The growth of a round trip that counts.
pub(super) fn delay_threshold(rtt: Duration) -> Duration {
    (rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// The state of HyStart++ (section 4.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Hystart {
    /// The round ends when the byte of this number is acknowledged (`windowEnd`).
    window_end: u64,
    /// The shortest round trip of the round before (`lastRoundMinRTT`).
    last_round_min_rtt: Duration,
    /// The shortest of this round so far (`currentRoundMinRTT`).
    current_round_min_rtt: Duration,
    /// The round trips measured in this round (`rttSampleCount`).
    samples: u32,
    /// Conservative slow start, while it lasts.
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// The shortest round trip of the round that began it (`cssBaselineMinRtt`).
    baseline_min_rtt: Duration,
    /// The rounds that have ended since.
    rounds: u32,
}

impl Default for Hystart {
    fn default() -> Self {
        Self {
            window_end: 0,
            last_round_min_rtt: INFINITY,
            current_round_min_rtt: INFINITY,
            samples: 0,
            css: None,
        }
    }
}

impl Hystart {
    /// An acknowledgement in slow start (section 4.2).
    pub fn on_ack(&mut self, sample: &AckSample) -> Step {
        if sample.cumulative > self.window_end && self.begin_round(sample.path.next_sequence) {
            return Step::Leave { overshoot: 0.0 };
        }
        let counted = f64::from(sample.counted.max(sample.acked.min(LIMIT)));
        let growth = if self.css.is_some() { counted / CSS_GROWTH_DIVISOR } else { counted };
        if let Some(rtt) = sample.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.samples += 1;
            self.judge();
        }
        Step::Grow(growth)
    }

    /// A round begins, with what is sent from `window_end` on. True if it was the last of conservative slow start that ended.
    fn begin_round(&mut self, window_end: u64) -> bool {
        self.window_end = window_end;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = INFINITY;
        self.samples = 0;
        self.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    /// Looks whether the delay has grown, or whether what looked so was none.
    fn judge(&mut self) {
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.css {
            Some(css) if self.current_round_min_rtt < css.baseline_min_rtt => self.css = None,
            Some(_) => {}
            None if self.last_round_min_rtt == INFINITY => {}
            None => {
                let threshold = delay_threshold(self.last_round_min_rtt);
                if self.current_round_min_rtt >= self.last_round_min_rtt + threshold {
                    self.css = Some(Css { baseline_min_rtt: self.current_round_min_rtt, rounds: 0 });
                }
            }
        }
    }
}
