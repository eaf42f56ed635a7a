//! PDUs of the window transport.

use crate::payload::Payload;
use crate::window::{RelativeDelay, Timestamp};
use core::ops::Range;

/// A PDU of the window transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// Data segment, from sender to receiver.
    Segment(Segment<P>),
    /// Acknowledgement, from receiver to sender.
    Ack(Ack),
}

/// A segment of the byte stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment<P> {
    /// Position of the first byte in the stream, from 0.
    pub sequence: u64,
    /// Payload.
    pub payload: P,
    /// True for a retransmission.
    pub retransmission: bool,
    /// Departure time by the sender's clock, where [timestamps](super::SenderConfig::timestamps) are on.
    pub sent_at: Option<Timestamp>,
    /// Requests an immediate acknowledgement.
    pub ack_now: bool,
    /// Sent as Not-ECT by a sender whose other segments are ECN-capable. Known to the sender only.
    pub not_ect: bool,
}

impl<P: Payload> Segment<P> {
    /// Creates a first transmission without options.
    pub fn new(sequence: u64, payload: P) -> Self {
        Self { sequence, payload, retransmission: false, sent_at: None, ack_now: false, not_ect: false }
    }

    /// Returns the position after the last byte.
    pub fn end(&self) -> u64 {
        self.sequence.saturating_add(u64::from(self.payload.len()))
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ack {
    /// Cumulative acknowledgement: every byte below this position has arrived.
    pub cumulative: u64,
    /// Advertised window, in bytes beyond `cumulative`.
    pub window: u64,
    /// Data held out of order, as positions after `cumulative`, the block with the newest arrival first (RFC 2018);
    /// empty blocks are unused.
    pub sack: [SackBlock; 3],
    /// Number of segments received with CE since the connection began; it wraps. Every acknowledgement carries the
    /// count: lost acknowledgements lose no marks (as in RFC 9768, section 3.2.2.2).
    pub ce: u16,
    /// Arrival report of the segment that caused this acknowledgement, where the receiver [reports
    /// arrivals](super::ReceiverConfig::report_arrivals).
    pub arrival: Arrival,
    /// Start of that segment in the stream, relative to `cumulative`.
    pub arrival_at: i32,
    /// One-way delay of the newest timestamped segment since the last acknowledgement.
    pub delay: Option<RelativeDelay>,
}

impl Ack {
    /// Returns the number of CE-marked segments beyond a count of `before`; 0 for an acknowledgement overtaken by the
    /// one with that count.
    #[inline]
    pub const fn newly_ce(&self, before: u16) -> u16 {
        let more = self.ce.wrapping_sub(before);
        if more <= u16::MAX / 2 { more } else { 0 }
    }

    /// Returns true if this acknowledgement makes `older`, sent before it, redundant, for acknowledgement filters. The
    /// rules follow Linux's CAKE: this one acknowledges more bytes, cumulatively or, with equal cumulative number,
    /// selectively; each block of the older one is within one of this; and the older one reports no duplicate (RFC
    /// 2883) or other arrival of its own. Equal acknowledgements are never redundant, as they count as duplicates (RFC
    /// 5681).
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

    /// Returns the selectively acknowledged ranges, as positions in the stream.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<u64>> + Clone {
        let cumulative = self.cumulative;
        let used = self.sack.into_iter().filter(|block| !block.is_empty());
        used.map(move |block| cumulative + u64::from(block.start)..cumulative + u64::from(block.end))
    }

    /// Returns the start of the segment of `arrival` in the stream.
    pub const fn arrival_start(&self) -> u64 {
        self.cumulative.wrapping_add_signed(self.arrival_at as i64)
    }
}

/// A report on the arrival of a segment, for loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// No report.
    #[default]
    Plain,
    /// A first transmission arrived after later ones: it was late, not lost. RFC 3522 detects this by timestamps.
    Late,
    /// A retransmission brought new data.
    Repair,
    /// A spurious retransmission: it brought no new data (a duplicate SACK, RFC 2883).
    Spurious,
}

/// Bytes `cumulative + start .. cumulative + end` have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlock {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset of the byte after the last.
    pub end: u32,
}

impl SackBlock {
    /// Returns true for an unused block.
    pub const fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

#[cfg(test)]
mod tests {
    //! Tests which acknowledgements a newer one makes redundant, by the cases of CAKE's filter.
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
    fn redundant_acknowledgements_are_superseded() {
        for (newer, older) in [
            (ack(2000, &[]), ack(1000, &[])),
            // A larger block, with the same cumulative number and with a higher one.
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
    fn acknowledgements_with_information_are_kept() {
        let needless = Ack { arrival: Arrival::Spurious, ..ack(1000, &[]) };
        for (newer, older) in [
            // Duplicates, even with a larger window.
            (ack(1000, &[]), ack(1000, &[])),
            (Ack { window: 9, ..ack(1000, &[]) }, ack(1000, &[])),
            (ack(1000, &[(3000, 4000)]), ack(1000, &[(3000, 4000)])),
            // The older block is in none of the newer blocks.
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
