//! The messages between a window sender and its receiver.

use crate::payload::Payload;
use crate::window::{RelativeDelay, Timestamp};

/// A PDU of the window transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// From sender to receiver.
    Segment(Segment<P>),
    /// From receiver to sender.
    Ack(Ack),
}

/// A piece of the byte stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment<P> {
    /// The position of the first byte in the stream, from 0.
    pub sequence: u64,
    /// The bytes.
    pub payload: P,
    /// It was sent before.
    pub retransmission: bool,
    /// The time at which it left by the sender's clock, where the sender [says it](super::SenderConfig::timestamps).
    pub sent_at: Option<Timestamp>,
}

impl<P: Payload> Segment<P> {
    /// The position after the last byte.
    pub fn end(&self) -> u64 {
        self.sequence.saturating_add(u64::from(self.payload.len()))
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ack {
    /// Every byte below this position has arrived.
    pub cumulative: u64,
    /// The number of bytes beyond `cumulative` that the receiver accepts.
    pub window: u64,
    /// Data held out of order, as positions after `cumulative`, the block with the newest arrival first (RFC 2018);
    /// empty blocks are unused.
    pub sack: [SackBlock; 3],
    /// The number of segments that have arrived with CE since the connection began; it wraps. Every acknowledgement tells the
    /// count, so that those that are lost take no marks with them (as RFC 9768, section 3.2.2.2).
    pub ce: u16,
    /// The news told by the segment that brought the acknowledgement about, where the receiver [reports
    /// that](super::ReceiverConfig::report_arrivals).
    pub arrival: Arrival,
    /// The start of that segment in the stream, counted from `cumulative`.
    pub arrival_at: i32,
    /// The one-way delay of the newest segment that came since the last acknowledgement, if it said when it left.
    pub delay: Option<RelativeDelay>,
}

impl Ack {
    /// The number of segments with CE that this acknowledgement tells of beyond a count of `before`; 0 for one that was
    /// overtaken by the one that told that.
    #[inline]
    pub const fn newly_ce(&self, before: u16) -> u16 {
        let more = self.ce.wrapping_sub(before);
        if more <= u16::MAX / 2 { more } else { 0 }
    }

    /// The start in the stream of the segment of `arrival`.
    pub const fn arrival_start(&self) -> u64 {
        self.cumulative.wrapping_add_signed(self.arrival_at as i64)
    }
}

/// The news of losses that the arrival of a segment tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// Nothing.
    #[default]
    Plain,
    /// A segment that was sent for the first time came after what was sent later: it was late, not lost. This is what
    /// timestamps tell senders in RFC 3522.
    Late,
    /// A segment that was sent again brought something new.
    Repair,
    /// A segment that was sent again brought nothing new: it need not have been (a duplicate SACK, RFC 2883).
    Needless,
}

/// Bytes `cumulative + start .. cumulative + end` have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlock {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl SackBlock {
    /// True for a block that says nothing.
    pub const fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}
