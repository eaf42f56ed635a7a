//! The packets that an SSTP sender and receiver exchange.

use super::Bitmap;
use crate::payload::Payload;

/// A packet of the protocol: the five types of Gong and Parulkar 1992, section 3.4.
///
/// Numbers are those of the wire and wrap: shipment and control numbers at 2^32, segment numbers at 2^16. They are
/// compared by serial arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// Type 0, to the receiver.
    Data(Data<P>),
    /// Type 1, to the receiver: the sender has nothing that it may send now.
    KeepAlive(Position),
    /// Type 2, to the receiver: the stream has ended at this position.
    EndOfStream(Position),
    /// Type 3, to the sender: a segment was accepted.
    Pack(Report),
    /// Type 4, to the sender: a segment lacks packets.
    Snak(Report, Request),
}

/// A packet of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data<P> {
    /// Counts what the sender has put on the wire, retransmissions included.
    pub shipment: u32,
    /// The segment.
    pub segment: u16,
    /// The packet within the segment, from 0.
    pub packet: u16,
    /// No packet of the segment comes after it.
    pub last: bool,
    /// The segment has all the packets that a segment has; one that ends early has fewer.
    pub full: bool,
    /// It has been sent before.
    pub resent: bool,
    /// The application data of the packet.
    pub payload: P,
}

/// The position that a sender has reached when it has nothing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The shipment number used last.
    pub shipment: u32,
    /// The newest segment.
    pub segment: u16,
    /// The last packet of that segment.
    pub packet: u16,
}

/// The state of the receiver that both acknowledgements report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// Counts reports; one that is not newer than those before it is dropped.
    pub control: u32,
    /// A segment that was accepted: the one that this report is for, in a PACK.
    pub accepted: u16,
    /// The lowest segment that has not been accepted.
    pub cumulative: u16,
    /// The window upper limit: the highest segment that may be sent.
    pub limit: u16,
}

/// The packets of a segment that a SNAK asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The segment.
    pub segment: u16,
    /// The packets of the segment that are wanted: those with a 0.
    pub bitmap: Bitmap,
}

impl<P: Payload> Pdu<P> {
    /// True for what carries application data.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Data(_))
    }

    /// The application data in the packet, in bytes; 0 in all but data packets.
    pub fn payload_len(&self) -> u32 {
        match self {
            Self::Data(data) => data.payload.len(),
            _ => 0,
        }
    }
}

/// The number nearest to `reference` that ends in these 16 bits; `None` where that is below zero.
pub(super) fn expand(number: u16, reference: u64) -> Option<u64> {
    let distance = number.wrapping_sub(reference as u16) as i16;
    reference.checked_add_signed(i64::from(distance))
}

/// The distance by which `number` is ahead of `reference`, in serial arithmetic.
pub(super) fn ahead(number: u32, reference: u32) -> i32 {
    number.wrapping_sub(reference) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_nearest_ones() {
        assert_eq!(expand(5, 3), Some(5));
        assert_eq!(expand(u16::MAX, 0), None);
        assert_eq!(expand(u16::MAX, 65_540), Some(65_535));
        assert_eq!(expand(2, 65_534), Some(65_538));
        assert_eq!((ahead(1, u32::MAX), ahead(u32::MAX, 1)), (2, -2));
    }
}
