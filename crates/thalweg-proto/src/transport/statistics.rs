//! Counters and estimates of senders and receivers.

use super::Limit;
use crate::units::{Duration, Rate};

/// Counters and estimates common to senders of every family. A quantity that a sender does not know is zero or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Congestion window, in packets; `None` where it is unbounded.
    pub window: Option<f64>,
    /// Slow-start threshold (RFC 5681), in segments; `None` for controllers without one, and while it is unbounded.
    pub ssthresh: Option<f64>,
    /// Packets outstanding, by the sender's estimate.
    pub in_flight: u32,
    /// Pacing rate, if the sender paces.
    pub pacing_rate: Option<Rate>,
    /// Smoothed round-trip time, if known.
    pub smoothed_rtt: Option<Duration>,
    /// Minimum round-trip time, if known.
    pub min_rtt: Option<Duration>,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer, or of the family's equivalent.
    pub timeouts: u64,
    /// The peer or the path conceals marks, and packets are no longer ECN-capable.
    pub marks_concealed: bool,
    /// Time spent under each of [`Limit::ALL`].
    pub limits: [Duration; Limit::COUNT],
}

impl SenderStats {
    /// Returns the smoothed round-trip time, or the minimum for a sender that does not smooth.
    pub fn rtt(&self) -> Option<Duration> {
        self.smoothed_rtt.or(self.min_rtt)
    }
}

/// The state of a controller, for results of simulations and tests of implementations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionState {
    /// Name of the state, such as `startup`.
    pub name: &'static str,
    /// State variables, by names that end in their unit; unused entries have an empty name. An unbounded value is
    /// infinite.
    pub state_variables: [(&'static str, f64); Self::MAX_VARIABLES],
}

impl CongestionState {
    /// Maximum number of state variables.
    pub const MAX_VARIABLES: usize = 8;

    /// Returns the state variables that have a name.
    pub fn state_variables(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.state_variables.into_iter().filter(|(name, _)| !name.is_empty())
    }
}

/// Data accepted by a receiver of any family; with the fixed header size it gives the bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Data packets that brought new data in order; in two-level flow control, those of delivered segments.
    pub packets: u64,
    /// New payload of those packets in bytes, delivered or about to be.
    pub payload: u64,
    /// Variable overhead of those packets in bytes (padding and trailers), without payload and the fixed header.
    pub framing: u64,
}

impl ReceiverCounts {
    /// Adds the counts of another receiver.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.payload += other.payload;
        self.framing += other.framing;
    }

    /// Returns the counts since `base`; data discarded from before `base` counts as zero.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(base.packets),
            payload: self.payload.saturating_sub(base.payload),
            framing: self.framing.saturating_sub(base.framing),
        }
    }
}

/// Counters of an endpoint whose protocol sends segments: groups of packets that are accepted as a whole. The counters
/// of the other endpoint are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    /// Segments delivered with missing packets, as the application tolerates.
    pub incomplete: u64,
    /// Packets missing from those segments.
    pub holes: u64,
    /// Packets refused for lack of buffer space.
    pub refused: u64,
    /// Complete segments discarded to make room.
    pub evictions: u64,
    /// Maximum number of segments held at a time.
    pub max_segments: u32,
    /// Maximum number of data bytes held at a time.
    pub max_bytes: u64,
}
