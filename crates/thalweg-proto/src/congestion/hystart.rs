//! HyStart (S. Ha and I. Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55, 2011), with the
//! constants of Linux. Slow start ends when the acknowledgement train of a round lasts half a round trip, or when
//! round-trip times increase.
//!
//! The acknowledgements of a burst have the spacing of its packets at the bottleneck. Acknowledgements within 2 ms of
//! each other form a train. A train that lasts longer than half of the minimum round-trip time shows that the window
//! fills half of the path. The next doubling would fill the path, and the one after that the queue.
//!
//! # Differences from the specification
//!
//! | Paper or Linux | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | one-way delays, assumed to be half of the round-trip time (section 4.1) | half of the round-trip time, as Linux | clocks need not be synchronised | none |
//! | Linux extends the limit of a train by up to 1 ms, for segmentation offload | no allowance | engines have no segmentation offload | at most 1 ms earlier |
//! | Linux requires a full round trip if the sender paces | half of a round trip | senders with these controllers do not pace | none |
//! | every acknowledgement yields a round-trip sample | retransmitted segments yield no sample (RFC 6298, section 3) | the acknowledged transmission is ambiguous | fewer samples, none of them wrong |

use super::AckSample;
use super::hystart_plus_plus::{INFINITY, delay_threshold};
use super::slow_start_exit_decision::Step;
use crate::units::{Duration, Time};

/// Maximum gap between acknowledgements of a train (`hystart_ack_delta`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Minimum number of round-trip samples per round (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Minimum window for detection, in segments (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;

/// State of the train and delay detectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckTrain {
    /// Sequence number whose acknowledgement ends the round.
    end: u64,
    /// Time of the first acknowledgement of the round.
    round_start: Time,
    /// Time of the last acknowledgement of the train.
    last_ack: Time,
    /// Minimum round-trip time of this round.
    shortest: Duration,
    /// Number of round-trip samples in this round.
    samples: u32,
}

impl Default for AckTrain {
    fn default() -> Self {
        Self { end: 0, round_start: Time::ZERO, last_ack: Time::ZERO, shortest: INFINITY, samples: 0 }
    }
}

impl AckTrain {
    /// Handles an acknowledgement in slow start with this window.
    pub fn on_ack(&mut self, sample: &AckSample, window: f64) -> Step {
        let grow = Step::Grow(f64::from(sample.counted));
        // A small window has short trains on any path, and too few samples for a minimum.
        if window < LOW_WINDOW {
            return grow;
        }
        let now = sample.connection.now;
        if sample.cumulative > self.end {
            *self = Self {
                end: sample.connection.next_sequence,
                round_start: now,
                last_ack: now,
                ..Self::default()
            };
        }
        let min_rtt = sample.connection.min_rtt;
        if min_rtt == INFINITY {
            return grow;
        }
        let is_long = self.follows(now) && now.since(self.round_start) > min_rtt / 2;
        if is_long || self.is_slower(sample.rtt, min_rtt) { Step::Leave { overshoot: 0.0 } } else { grow }
    }

    /// Returns true if an acknowledgement at `now` belongs to the train.
    fn follows(&mut self, now: Time) -> bool {
        let follows = now.since(self.last_ack) <= ACK_DELTA;
        if follows {
            self.last_ack = now;
        }
        follows
    }

    /// Returns true if all round-trip times of this round clearly exceed the minimum of the connection.
    fn is_slower(&mut self, rtt: Option<Duration>, min_rtt: Duration) -> bool {
        let Some(rtt) = rtt else { return false };
        self.shortest = self.shortest.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.shortest > min_rtt + delay_threshold(min_rtt)
    }
}
