//! Configurations of an SSTP sender and receiver.

use super::{RateSpec, Resume};
use crate::units::Duration;
use std::sync::Arc;

/// Maximum window in segments: numbers are compared modulo 2^16.
pub const MAX_WINDOW: u16 = (1 << 15) - 1;

/// Policy for segments that exceed the receive buffer, and meaning of the acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// Hard acknowledgement: packets beyond the buffer, counted from the lowest unconsumed segment, are discarded and
    /// requested again at once. Acknowledged data is kept (Gong and Parulkar 1992, section 4.3.1).
    Hard,
    /// Soft acknowledgement: any segment is stored while a slot is free. A packet of a segment below the highest one
    /// stored evicts that one. The sender keeps acknowledged data until all data before it is acknowledged too (same
    /// section).
    Soft(Evicted),
    /// Firm acknowledgement: as [`Hard`](Self::Hard), but after three round trips without loss the window stands still
    /// until every discarded segment is received; segments discarded because the application is slow are requested once
    /// there is room. Not in the paper; the [module](super) explains why it cannot deadlock.
    Firm,
}

impl Acknowledgement {
    /// Returns true if the sender must keep acknowledged segments until the cumulative acknowledgement has passed them.
    pub const fn is_soft(self) -> bool {
        matches!(self, Self::Soft(_))
    }
}

/// Request time of segments that a receiver with soft acknowledgement acknowledged and later discarded. The paper
/// states only that discarding delays the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evicted {
    /// Request one of them when it is the lowest missing segment, and no other.
    One,
    /// Request all of them when one is the lowest missing segment.
    All,
    /// Request them when they are discarded.
    AtOnce,
}

/// Loss tolerance of a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Number of packets; 0 is full reliability.
    Packets(u16),
    /// Share of the segment's packets, rounded down.
    Fraction(f64),
}

impl Tolerance {
    /// Returns the maximum number of lost packets in a segment of `packets`.
    pub fn of(self, packets: u16) -> u32 {
        match self {
            Self::Packets(maximum) => u32::from(maximum.min(packets)),
            // Saturates at both ends; not a number is zero.
            Self::Fraction(share) => u32::from(((f64::from(packets) * share) as u16).min(packets)),
        }
    }
}

/// Configuration of a [`Sender`](super::Sender).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// Packets per segment (s), at least 1.
    pub segment_packets: u16,
    /// Maximum payload of a packet in bytes, at least 1.
    pub max_payload: u32,
    /// Sending rate of packets.
    pub rate: RateSpec,
    /// Resumption time of an idle sender.
    pub resume: Resume,
    /// Segments that may be sent before the first report, 1 to [`MAX_WINDOW`]: at least `1 + w_a`.
    pub window: u16,
    /// Keep acknowledged segments until all earlier ones are acknowledged, for soft acknowledgement.
    pub soft: bool,
}

/// Configuration of a [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// Packets per segment (s), as at the sender.
    pub segment_packets: u16,
    /// Maximum payload of a packet in bytes, as at the sender.
    pub max_payload: u32,
    /// Window in segments (W), 1 to [`MAX_WINDOW`].
    pub window: u16,
    /// Receive buffer in segments (B), at least 1; no more than the window is used.
    pub buffer: u16,
    /// Policy for segments that exceed the buffer, if the window is larger than the buffer.
    pub acknowledgement: Acknowledgement,
    /// Loss tolerance of a segment.
    pub tolerance: Tolerance,
    /// Reordering threshold: packets with higher shipment numbers that must arrive before a packet counts as lost; 0 on
    /// paths that keep order.
    pub reordering: u16,
    /// Repetition interval of the latest state while data is outstanding, and of answers to keep-alive packets: the
    /// round-trip time, at least 10 ms.
    pub repeat: Duration,
    /// Delivered segments occupy the buffer until the application reports them consumed.
    pub wait_for_consumption: bool,
}

/// Configurations of both endpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct EndsConfig {
    /// Configuration of the sender.
    pub sender: Arc<SenderConfig>,
    /// Configuration of the receiver.
    pub receiver: Arc<ReceiverConfig>,
}

impl EndsConfig {
    /// Combines the configurations of both endpoints.
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        Self { sender: Arc::new(sender), receiver: Arc::new(receiver) }
    }
}
