//! HyStart (S. Ha and I. Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55, 2011), with the constants of Linux:
//! slow start ends when the packets of a round fill half of a round trip, or when round trips grow longer.
//!
//! Acknowledgements of a burst are spaced as the bottleneck spaced its packets. While each follows the last within 2 ms they are one
//! train, and a train that lasts longer than half of the shortest round trip says that the window fills half of the path: the
//! next doubling would fill it, and the one after that the queue.
//!
//! # Differences from the specification
//!
//! | There | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | one-way delays, which are taken for half of the round trip (section 4.1) | half of the round trip, as Linux | clocks need not agree | none |
//! | Linux allows a train up to 1 ms more, for segmentation offload | no allowance | engines know of no offload | at most 1 ms earlier |
//! | Linux asks for a whole round trip of a sender that paces | half of one | senders with these controllers do not pace | none |
//! | every acknowledgement gives a sample of the round trip | not one of what was sent more than once (RFC 6298, section 3) | which transmission it answers is not known | fewer samples, and none that are wrong |

use super::AckSample;
use super::hystart::{INFINITY, delay_threshold};
use super::step::Step;
use crate::units::{Duration, Time};

/// Acknowledgements that are no further apart are one train (`hystart_ack_delta`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// So many round trips must have been measured in a round (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Smaller windows are left alone (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;

/// The state of the train and of the delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckTrain {
    /// The round ends when a byte beyond this number is acknowledged.
    end: u64,
    /// The time of the first acknowledgement of the round.
    round_start: Time,
    /// The time of the last acknowledgement of its train.
    last_ack: Time,
    /// The shortest round trip of this round so far.
    shortest: Duration,
    /// The round trips measured in this round.
    samples: u32,
}

impl Default for AckTrain {
    fn default() -> Self {
        Self { end: 0, round_start: Time::ZERO, last_ack: Time::ZERO, shortest: INFINITY, samples: 0 }
    }
}

impl AckTrain {
    /// An acknowledgement in slow start with this window.
    pub fn on_ack(&mut self, sample: &AckSample, window: f64) -> Step {
        let grow = Step::Grow(f64::from(sample.counted));
        if window < LOW_WINDOW {
            return grow;
        }
        let now = sample.path.now;
        if sample.cumulative > self.end {
            *self =
                Self { end: sample.path.next_sequence, round_start: now, last_ack: now, ..Self::default() };
        }
        let min_rtt = sample.path.min_rtt;
        if min_rtt == INFINITY {
            return grow;
        }
        let is_long = self.follows(now) && now.since(self.round_start) > min_rtt / 2;
        if is_long || self.is_slower(sample.rtt, min_rtt) { Step::Leave { overshoot: 0.0 } } else { grow }
    }

    /// True if an acknowledgement at `now` belongs to the train.
    fn follows(&mut self, now: Time) -> bool {
        let follows = now.since(self.last_ack) <= ACK_DELTA;
        if follows {
            self.last_ack = now;
        }
        follows
    }

    /// True if all round trips of this round are clearly longer than the shortest of the connection.
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
