//! HyStart++ (RFC 9406): slow start ends when round-trip times increase, before the queue overflows.
//!
//! ```text
//!                       shortest round trip of a round an eighth above that of the last (4 to 16 ms)
//!   slow start ------------------------------------------------------------> conservative slow start (CSS)
//!   (+1 a segment)  <------------------------------------------------------  (+1/4 a segment)
//!                       shortest round trip of a round below that of the entry      |
//!                                                                                   | five rounds
//!                                                                                   v
//!                                             congestion avoidance, ssthresh = window
//! ```
//!
//! A loss or a mark ends either, as the controller answers it.
//!
//! # Differences from the specification
//!
//! | RFC 9406 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | acknowledged bytes are counted (section 4.2) | segments | windows are in segments | none if segments are full |
//! | L is 8 segments without pacing and unlimited with it (section 4.3) | 8, or the sender's [byte counting](crate::window::SenderConfig::byte_counting) if that is larger | hosts acknowledge entire batches; with 8 slow start would not double | live senders may answer one acknowledgement with more than 8 segments, as they do without HyStart++ |
//! | every acknowledgement yields a round-trip sample (section 4.2) | retransmitted segments yield no sample (RFC 6298, section 3) | the acknowledged transmission is ambiguous | fewer samples, none of them wrong |
//! | may be used for the restart after an idle time (section 4.3) | only until the first exit from slow start | section 4.3 requires no more | none on connections that are not idle |

use super::AckSample;
use super::slow_start_exit_decision::Step;
use crate::units::Duration;

/// Minimum significant increase of the round-trip time (`MIN_RTT_THRESH`, section 4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Increase that is always significant (`MAX_RTT_THRESH`).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Divisor of the round-trip time that gives the significant increase between those bounds (`MIN_RTT_DIVISOR`).
const MIN_RTT_DIVISOR: u64 = 8;
/// Minimum number of round-trip samples per round (`N_RTT_SAMPLE`).
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of window growth in conservative slow start (`CSS_GROWTH_DIVISOR`).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start, including the first (`CSS_ROUNDS`).
const CSS_ROUNDS: u32 = 5;
/// Minimum of the limit on segments counted per acknowledgement (L).
const LIMIT: u32 = 8;

/// Infinite round-trip time.
pub(super) const INFINITY: Duration = Duration::MAX;

/// Returns the significant increase of a round-trip time.
pub(super) fn delay_threshold(rtt: Duration) -> Duration {
    (rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// State of HyStart++ (section 4.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Hystart {
    /// Sequence number whose acknowledgement ends the round (`windowEnd`).
    window_end: u64,
    /// Minimum round-trip time of the previous round (`lastRoundMinRTT`).
    last_round_min_rtt: Duration,
    /// Minimum round-trip time of this round (`currentRoundMinRTT`).
    current_round_min_rtt: Duration,
    /// Number of round-trip samples in this round (`rttSampleCount`).
    samples: u32,
    /// Conservative slow start, if active.
    css: Option<Css>,
}

/// State of conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// Minimum round-trip time of the round that started it (`cssBaselineMinRtt`).
    baseline_min_rtt: Duration,
    /// Rounds completed since.
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
    /// Handles an acknowledgement in slow start (section 4.2).
    pub fn on_ack(&mut self, sample: &AckSample) -> Step {
        // RFC 9406, section 4.2: rounds end by sequence number, not by time, which a queue would lengthen.
        if sample.cumulative > self.window_end && self.begin_round(sample.connection.next_sequence) {
            return Step::Leave { overshoot: 0.0 };
        }
        // RFC 9406, section 4.2: at most L segments count, which bounds the burst after one acknowledgement.
        let counted = f64::from(sample.counted.max(sample.acked.min(LIMIT)));
        let growth = if self.css.is_some() { counted / CSS_GROWTH_DIVISOR } else { counted };
        if let Some(rtt) = sample.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.samples += 1;
            self.check_delay();
        }
        Step::Grow(growth)
    }

    /// Starts a round with the data sent from `window_end` on. Returns true if the last round of conservative slow
    /// start ended.
    fn begin_round(&mut self, window_end: u64) -> bool {
        self.window_end = window_end;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = INFINITY;
        self.samples = 0;
        self.css.as_mut().is_some_and(|css| {
            // RFC 9406, section 4.2: a partial first round counts.
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    /// Tests for an increased delay, or for a false alarm.
    fn check_delay(&mut self) {
        // RFC 9406, section 4.2: the minimum of few samples may be jitter alone.
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.css {
            // RFC 9406, section 4.2: the increase was jitter, so slow start resumes.
            Some(css) if self.current_round_min_rtt < css.baseline_min_rtt => self.css = None,
            Some(_) => {}
            // The first round has no reference.
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
