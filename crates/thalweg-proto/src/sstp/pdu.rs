//! The packets that an SSTP sender and receiver exchange.

use super::Bitmap;
use crate::payload::Payload;

/// A packet of the protocol: the five types of Gong and Parulkar 1992, section 3.2.
///
/// Numbers are those of the wire and wrap: shipment and control numbers at 2^32, segment numbers at 2^16. They are
/// compared by serial arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// Type 0, to the receiver: a data packet.
    Data(Data<P>),
    /// Type 1, to the receiver: the sender has nothing to send or may not send.
    KeepAlive(Position),
    /// Type 2, to the receiver: the stream has ended at this position.
    EndOfStream(Position),
    /// Type 3, to the sender: a segment was accepted.
    Pack(Report),
    /// Type 4, to the sender: a segment lacks packets.
    Snak(Report, Request),
}

/// Data packet of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data<P> {
    /// Shipment number: counts transmissions, including retransmissions.
    pub shipment: u32,
    /// Segment number.
    pub segment: u16,
    /// Packet number within the segment, from 0.
    pub packet: u16,
    /// True for the last packet of the segment.
    pub last: bool,
    /// True if the segment has the full number of packets; a segment that ends early has fewer.
    pub is_full: bool,
    /// True for a retransmission.
    pub resent: bool,
    /// Application data of the packet.
    pub payload: P,
}

/// Position of a sender that has nothing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Last shipment number used.
    pub shipment: u32,
    /// Newest segment.
    pub segment: u16,
    /// Last packet of that segment.
    pub packet: u16,
}

/// Receiver state carried by both acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// Control number: counts reports. A report that is not newer than earlier ones is dropped.
    pub control: u32,
    /// An accepted segment; in a PACK, the segment that the report acknowledges.
    pub accepted: u16,
    /// Lowest unaccepted segment.
    pub cumulative: u16,
    /// Window upper limit: the highest segment that may be sent.
    pub limit: u16,
}

/// Retransmission request of a SNAK.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Segment number.
    pub segment: u16,
    /// Bitmap of the segment; packets with a 0 are requested.
    pub bitmap: Bitmap,
}

impl<P: Payload> Pdu<P> {
    /// Returns true if the packet carries application data.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Data(_))
    }

    /// Returns the length of the application data, in bytes; 0 in all but data packets.
    pub fn payload_len(&self) -> u32 {
        match self {
            Self::Data(data) => data.payload.len(),
            _ => 0,
        }
    }
}

/// Returns the number nearest to `reference` with these low 16 bits; `None` if it would be negative.
pub(super) fn expand_number(number: u16, reference: u64) -> Option<u64> {
    let distance = number.wrapping_sub(reference as u16) as i16;
    reference.checked_add_signed(i64::from(distance))
}

/// Returns the distance of `number` ahead of `reference`, in serial arithmetic.
pub(super) fn serial_distance(number: u32, reference: u32) -> i32 {
    number.wrapping_sub(reference) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_nearest_ones() {
        assert_eq!(expand_number(5, 3), Some(5));
        assert_eq!(expand_number(u16::MAX, 0), None);
        assert_eq!(expand_number(u16::MAX, 65_540), Some(65_535));
        assert_eq!(expand_number(2, 65_534), Some(65_538));
        assert_eq!((serial_distance(1, u32::MAX), serial_distance(u32::MAX, 1)), (2, -2));
    }
}
