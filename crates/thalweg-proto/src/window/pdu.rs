//! The messages between a window sender and its receiver.

use crate::payload::Payload;
use crate::window::{RelativeDelay, Timestamp};
use core::ops::Range;

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
    /// The receiver acknowledges it at once, where it may wait with others.
    pub ack_now: bool,
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

    /// True if `older`, which left before this one, tells its sender nothing more, so that a network may take it away. The rules are
    /// those of the acknowledgement filter of Linux's CAKE: this one acknowledges more, cumulatively or, in as many bytes,
    /// selectively; each block of the older one is within one of this; and the older one tells of no copy (RFC 2883) or other news
    /// of its own. Equal ones, which count as duplicates (RFC 5681), stay.
    pub fn supersedes(&self, older: &Self) -> bool {
        if older.arrival != Arrival::Plain || older.cumulative > self.cumulative {
            return false;
        }
        let held = self.blocks();
        let is_held =
            |block: Range<u64>| held.clone().any(|of| of.start <= block.start && block.end <= of.end);
        let bytes = |ack: &Self| ack.blocks().map(|block| block.end - block.start).sum::<u64>();
        older.blocks().all(is_held) && (older.cumulative < self.cumulative || bytes(self) > bytes(older))
    }

    /// The ranges that it acknowledges selectively, as positions in the stream.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<u64>> + Clone {
        let cumulative = self.cumulative;
        let used = self.sack.into_iter().filter(|block| !block.is_empty());
        used.map(move |block| cumulative + u64::from(block.start)..cumulative + u64::from(block.end))
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

#[cfg(test)]
mod tests {
    //! Proves which acknowledgements a newer one makes superfluous, by the cases of CAKE's filter.
    use super::*;

    fn ack(cumulative: u64, blocks: &[(u64, u64)]) -> Ack {
        let mut sack = [SackBlock::default(); 3];
        for (block, &(start, end)) in sack.iter_mut().zip(blocks) {
            let offset = |at: u64| u32::try_from(at - cumulative).unwrap();
            *block = SackBlock { start: offset(start), end: offset(end) };
        }
        Ack { cumulative, sack, ..Ack::default() }
    }

    #[test]
    fn those_that_tell_nothing_more_are_superseded() {
        for (newer, older) in [
            (ack(2000, &[]), ack(1000, &[])),
            // More of the same hole, from the same cumulative acknowledgement and from a later one.
            (ack(1000, &[(3000, 5000)]), ack(1000, &[(3000, 4000)])),
            (ack(1000, &[(3000, 4000)]), ack(1000, &[])),
            (ack(2000, &[(3000, 4000)]), ack(1000, &[(3000, 4000)])),
            (ack(2000, &[(6000, 7000), (3000, 4000)]), ack(1000, &[(3000, 4000)])),
        ] {
            assert!(newer.supersedes(&older), "{newer:?} {older:?}");
            assert!(!older.supersedes(&newer));
        }
    }

    #[test]
    fn others_stay() {
        let needless = Ack { arrival: Arrival::Needless, ..ack(1000, &[]) };
        for (newer, older) in [
            // Duplicates, be it with a larger window.
            (ack(1000, &[]), ack(1000, &[])),
            (Ack { window: 9, ..ack(1000, &[]) }, ack(1000, &[])),
            (ack(1000, &[(3000, 4000)]), ack(1000, &[(3000, 4000)])),
            // What came is in no block any more, or in another.
            (ack(5000, &[]), ack(1000, &[(3000, 4000)])),
            (ack(1000, &[(6000, 9000)]), ack(1000, &[(3000, 4000)])),
            (ack(2000, &[(3000, 3500)]), ack(1000, &[(3000, 4000)])),
            (ack(2000, &[]), needless),
            (ack(1000, &[]), ack(2000, &[])),
        ] {
            assert!(!newer.supersedes(&older), "{newer:?} {older:?}");
        }
    }
}
