//! The settings of both ends.

use super::{RateSpec, Resume};
use crate::units::Duration;
use std::sync::Arc;

/// The largest window in segments: numbers are compared modulo 2^16.
pub const MAX_WINDOW: u16 = (1 << 15) - 1;

/// The treatment of segments for which a receiver has no room, and the promise of its acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// Packets beyond the buffer, counted from the lowest segment that is not consumed, are discarded and asked for
    /// again at once. What is acknowledged is kept (Gong and Parulkar 1992, section 4.3.1).
    Hard,
    /// Anything is stored while there is a slot. A packet of a lower segment than the highest one stored takes that
    /// one's place. The sender keeps what is acknowledged until all before it is acknowledged too (the same section).
    Soft(Evicted),
    /// As [`Hard`](Self::Hard), but if nothing has been lost for three round trips the window stands still until every
    /// segment that was discarded is there, and what was discarded because the application is slow is asked for when
    /// there is room. Ours; see the [module](super) for why it cannot get stuck.
    Firm,
}

impl Acknowledgement {
    /// True if the sender must keep acknowledged segments until the cumulative acknowledgement has passed them.
    pub const fn is_soft(self) -> bool {
        matches!(self, Self::Soft(_))
    }
}

/// The time at which a receiver with soft acknowledgement asks for segments that it has acknowledged and then
/// discarded. The paper says only that discarding delays the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evicted {
    /// Ask for one of them when it is the lowest missing one, and for that one alone.
    One,
    /// Ask for all of them when one is the lowest missing one.
    All,
    /// Ask for them when they are discarded.
    AtOnce,
}

/// The part of a segment that may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// So many packets; 0 is full reliability.
    Packets(u16),
    /// This share of the segment's packets, rounded down.
    Fraction(f64),
}

impl Tolerance {
    /// The largest number of lost packets in a segment of `packets`.
    pub fn of(self, packets: u16) -> u32 {
        match self {
            Self::Packets(most) => u32::from(most.min(packets)),
            // Saturates at both ends; not a number is zero.
            Self::Fraction(share) => u32::from(((f64::from(packets) * share) as u16).min(packets)),
        }
    }
}

/// The settings of a [`Sender`](super::Sender).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// s: the packets of a segment, at least 1.
    pub segment: u16,
    /// The largest payload of a packet in bytes, at least 1.
    pub packet: u32,
    /// The rate at which packets leave.
    pub rate: RateSpec,
    /// The time at which an idle sender goes on.
    pub resume: Resume,
    /// The segments that may be sent before the first report, 1 to [`MAX_WINDOW`]: at least `1 + w_a`.
    pub window: u16,
    /// Keep acknowledged segments until all before them are acknowledged: the receiver's acknowledgements are soft.
    pub soft: bool,
}

/// The settings of a [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// s: the packets of a segment, as at the sender.
    pub segment: u16,
    /// The largest payload of a packet in bytes, as at the sender.
    pub packet: u32,
    /// W: the window in segments, 1 to [`MAX_WINDOW`].
    pub window: u16,
    /// B: how many segments there is room for, at least 1; no more than the window are ever used.
    pub buffer: u16,
    /// The treatment of segments for which there is no room, where the window is larger than the buffer.
    pub acknowledgement: Acknowledgement,
    /// The part of a segment that may be missing.
    pub tolerance: Tolerance,
    /// So many packets with higher shipment numbers must have come before one is given up; 0 on paths that keep order.
    pub reordering: u16,
    /// The interval at which the latest state is repeated while something is outstanding, and at which keep-alive
    /// packets are answered: the round-trip time, at least 10 ms.
    pub repeat: Duration,
    /// Delivered segments take room until the application reports them consumed.
    pub wait_for_consumption: bool,
}

/// The settings of both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct EndsConfig {
    /// The sender.
    pub sender: Arc<SenderConfig>,
    /// The receiver.
    pub receiver: Arc<ReceiverConfig>,
}

impl EndsConfig {
    /// Both ends.
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        Self { sender: Arc::new(sender), receiver: Arc::new(receiver) }
    }
}
