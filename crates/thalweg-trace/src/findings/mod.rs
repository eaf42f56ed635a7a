//! Findings about a connection, with their place, figures, and the rule that is broken.

mod delay_and_ack_findings;
mod loss_findings;
mod sending_findings;
#[cfg(test)]
mod tests;
mod token_bucket_fit;

pub use loss_findings::fit_token_bucket;

use crate::trace_model::{Connection, Direction};
use thalweg_units::{Duration, Time};

/// Finding in a direction of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Time of the first occurrence.
    pub start: Time,
    /// Time of the last occurrence.
    pub end: Time,
    /// Number of occurrences.
    pub occurrences: u64,
    /// Measured values, as one sentence.
    pub evidence: String,
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Retransmission timer that expired while packets were in flight.
    Timeout,
    /// Retransmissions of data that had arrived.
    SpuriousRetransmissions,
    /// Losses spread over the whole connection, without a queue.
    PersistentLoss,
    /// Losses like those of a token bucket that drops.
    Policer,
    /// Packets that arrive out of order.
    Reordering,
    /// Round-trip times that grow under load.
    Bufferbloat,
    /// Receive window that holds the sender back.
    ReceiverLimited,
    /// Acknowledgements of many segments each.
    StretchAcks,
    /// Silence of the receiver while packets arrive, then many acknowledged at once.
    AckGaps,
    /// Many packets sent at once.
    Bursts,
    /// Full window sent at once after a pause.
    IdleRestart,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Timeout,
        Self::SpuriousRetransmissions,
        Self::PersistentLoss,
        Self::Policer,
        Self::Reordering,
        Self::Bufferbloat,
        Self::ReceiverLimited,
        Self::StretchAcks,
        Self::AckGaps,
        Self::Bursts,
        Self::IdleRestart,
    ];

    /// Returns the name of the kind in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::SpuriousRetransmissions => "spurious-retransmissions",
            Self::PersistentLoss => "persistent-loss",
            Self::Policer => "policer",
            Self::Reordering => "reordering",
            Self::Bufferbloat => "bufferbloat",
            Self::ReceiverLimited => "receiver-limited",
            Self::StretchAcks => "stretch-acks",
            Self::AckGaps => "ack-gaps",
            Self::Bursts => "bursts",
            Self::IdleRestart => "idle-restart",
        }
    }

    /// Returns the title of the kind.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Timeout => "Timeouts of a busy flow",
            Self::SpuriousRetransmissions => "Spurious retransmissions",
            Self::PersistentLoss => "Persistent loss",
            Self::Policer => "Losses like those of a policer",
            Self::Reordering => "Reordering",
            Self::Bufferbloat => "Bufferbloat",
            Self::ReceiverLimited => "Limited by the receiver",
            Self::StretchAcks => "Stretch acknowledgements",
            Self::AckGaps => "Gaps between acknowledgements",
            Self::Bursts => "Bursts",
            Self::IdleRestart => "Burst after a pause",
        }
    }

    /// Returns the rule, with its source.
    pub const fn reference(self) -> &'static str {
        match self {
            Self::Timeout => {
                "RFC 8985, section 7: a tail loss probe repairs what duplicate acknowledgements cannot; RFC 5681, section 3.1: a timeout reduces the window to one segment"
            }
            Self::SpuriousRetransmissions => {
                "RFC 4015: a sender that detects a spurious retransmission undoes the reduction of its window"
            }
            Self::PersistentLoss => {
                "RFC 5681, section 3.1: each loss counts as congestion and halves the window, whatever its cause"
            }
            Self::Policer => {
                "RFC 7567, section 2: buffers are there to absorb bursts; a policer drops them instead (Flach et al. 2016)"
            }
            Self::Reordering => {
                "RFC 8985, section 6.2: the reordering window adapts, where three duplicate acknowledgements (RFC 5681, section 3.2) do not"
            }
            Self::Bufferbloat => {
                "RFC 7567, section 4.1: networks should manage their queues actively; RFC 8289 and RFC 8290 keep the time in the queue short"
            }
            Self::ReceiverLimited => {
                "RFC 7323, section 2: the window has to exceed the bandwidth-delay product; RFC 9293, section 3.8.6: a sender must not exceed it"
            }
            Self::StretchAcks => {
                "RFC 5681, section 4.2: an acknowledgement should be sent for at least every second full-sized segment"
            }
            Self::AckGaps => {
                "RFC 5681, section 4.2: at least every second full-sized segment should be acknowledged, and any within 500 ms"
            }
            Self::Bursts => {
                "RFC 9002, section 7.7: a sender should pace its packets, or limit bursts to the initial window (ten packets, RFC 6928)"
            }
            Self::IdleRestart => {
                "RFC 5681, section 4.1: after a pause longer than the retransmission timeout the window restarts at its initial size"
            }
        }
    }
}

/// Returns what looks wrong in a direction (0: of the client, 1: of the server), by kind.
pub fn find_all(connection: &Connection, direction: usize) -> Vec<Finding> {
    let direction_data = &connection.directions[direction & 1];
    let measured = MeasuredDirection::new(direction_data);
    let policer = loss_findings::find_policer(&measured);
    // What a policer explains is not reported twice.
    let persistent_loss =
        if policer.is_some() { None } else { loss_findings::find_persistent_loss(&measured) };
    let findings = [
        loss_findings::find_timeouts(&measured),
        loss_findings::find_spurious_retransmissions(&measured),
        persistent_loss,
        policer,
        loss_findings::find_reordering(&measured),
        delay_and_ack_findings::find_bufferbloat(&measured),
        delay_and_ack_findings::find_receiver_limits(&measured, connection),
        delay_and_ack_findings::find_stretch_acks(&measured),
        delay_and_ack_findings::find_ack_gaps(&measured),
        sending_findings::find_bursts(&measured),
        sending_findings::find_idle_restarts(&measured),
    ];
    findings.into_iter().flatten().collect()
}

/// Direction with the figures that several rules need.
struct MeasuredDirection<'a> {
    direction: &'a Direction,
    /// Round-trip times in the order of time.
    rtt_samples: &'a [(Time, Duration)],
    min_rtt: Option<Duration>,
    median_rtt: Option<Duration>,
    /// Payload of a full packet, in bytes.
    segment_bytes: u64,
}

impl<'a> MeasuredDirection<'a> {
    fn new(direction: &'a Direction) -> Self {
        let rtt_samples = direction.rtt_samples();
        let mut sorted: Vec<Duration> = rtt_samples.iter().map(|trip| trip.1).collect();
        sorted.sort_unstable();
        let max_packet_bytes = direction.packets.iter().map(|packet| packet.length).max().unwrap_or(0);
        Self {
            direction,
            rtt_samples,
            min_rtt: sorted.first().copied(),
            median_rtt: crate::sorted_quantile(&sorted, 0.5),
            segment_bytes: u64::from(direction.segment.unwrap_or(max_packet_bytes).min(max_packet_bytes))
                .max(1),
        }
    }

    /// Returns the round-trip time measured last before `time`, or else the first one.
    fn rtt_at(&self, time: Time) -> Option<Duration> {
        let index = self.rtt_samples.partition_point(|sample| sample.0 <= time);
        self.rtt_samples.get(index.saturating_sub(1)).map(|sample| sample.1)
    }

    /// Returns true if there was no queue at `time`: the round trip was near the shortest.
    fn is_queue_empty_at(&self, time: Time) -> bool {
        self.rtt_at(time)
            .zip(self.min_rtt)
            .is_none_or(|(rtt, min_rtt)| rtt <= min_rtt + empty_queue_margin(min_rtt))
    }
}

/// Excess over the shortest round trip that is not queueing delay: a quarter, and 5 ms of late hosts.
fn empty_queue_margin(min_rtt: Duration) -> Duration {
    min_rtt / 4 + Duration::from_millis(5)
}

/// Formats a duration in milliseconds.
fn format_ms(duration: Duration) -> String {
    let millis = duration.as_millis_f64();
    match millis {
        ..10.0 => format!("{millis:.2} ms"),
        ..10_000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.1} s", millis / 1e3),
    }
}

/// Formats a share as a percentage.
fn format_percent(part: f64, whole: f64) -> String {
    format!("{:.2} %", 100.0 * part / whole.max(f64::MIN_POSITIVE))
}
