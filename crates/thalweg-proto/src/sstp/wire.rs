//! Wire format of SSTP packets.
//!
//! Rows of 4 bytes, big-endian (Gong and Parulkar 1992, section 3.2):
//!
//! | row | data, keep-alive, end of stream | PACK, SNAK |
//! | --- | --- | --- |
//! | 0 | connection identifier (4) | the same |
//! | 1 | type (2), version (1), flags (1) | the same |
//! | 2 | shipment number (4) | control number (4) |
//! | 3 | segment number (2), packet number (2) | accepted segment (2), cumulative acknowledgement (2) |
//! | 4 | data, any length; none but in data packets | window upper limit (2); SNAK: segment asked for (2), bitmap |
//! | end | checksum (2) | the same |
//!
//! The checksum is the Internet checksum (RFC 1071) of the whole packet, with the checksum field zero and, if the
//! length is odd, a zero byte appended. Version and flags are an extension: the paper leaves those two bytes open. Data
//! packets have these flags: 1 for the last packet of its segment, 2 for a retransmission, 4 for a segment with the
//! full number of packets. Other flags are ignored.

use super::{Bitmap, Data, Pdu, Position, Report, Request};
use crate::payload::{Payload, Slice};
use core::fmt;

/// Version of the format: the second byte of the type row.
pub const VERSION: u8 = 1;
/// Overhead of a data packet, and length of a keep-alive or end-of-stream packet, in bytes.
pub const DATA_OVERHEAD: usize = 18;
/// Length of a PACK, in bytes.
pub const PACK_LENGTH: usize = 20;

/// Flag: last packet of the segment.
const LAST_FLAG: u8 = 1;
/// Flag: retransmission.
const RESENT_FLAG: u8 = 2;
/// Flag: segment with the full number of packets.
const FULL_FLAG: u8 = 4;
const FIXED_BYTES: usize = 16;
const CHECKSUM: usize = 2;

/// Error of a malformed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The packet is too short or too long for its type.
    Length(usize),
    /// The checksum is wrong.
    Checksum,
    /// The type is unknown.
    Type(u16),
    /// The protocol version is unknown.
    Version(u8),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "{length} bytes are not a packet of that type"),
            Self::Checksum => f.write_str("the checksum is wrong"),
            Self::Type(found) => write!(f, "there is no packet type {found}"),
            Self::Version(found) => write!(f, "version {found}; this is version {VERSION}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Returns the bytes of a packet up to its data, and the bytes after it.
///
/// For packets without actual data, such as simulated ones, `sum` is that of all-zero data.
pub fn packet_framing<P: Payload>(connection: u32, pdu: &Pdu<P>) -> (Vec<u8>, [u8; 2]) {
    let mut bytes = Vec::with_capacity(64);
    put_header(connection, pdu, &mut bytes);
    let checksum = checksum(&bytes);
    (bytes, checksum)
}

fn put_header<P: Payload>(connection: u32, pdu: &Pdu<P>, bytes: &mut Vec<u8>) {
    bytes.extend(connection.to_be_bytes());
    let (kind, flags) = match pdu {
        Pdu::Data(Data { last, resent, is_full: full, .. }) => (
            0u16,
            (u8::from(*last) * LAST_FLAG) | (u8::from(*resent) * RESENT_FLAG) | (u8::from(*full) * FULL_FLAG),
        ),
        Pdu::KeepAlive(_) => (1, 0),
        Pdu::EndOfStream(_) => (2, 0),
        Pdu::Pack(_) => (3, 0),
        Pdu::Snak(..) => (4, 0),
    };
    bytes.extend(kind.to_be_bytes());
    bytes.extend([VERSION, flags]);
    match pdu {
        Pdu::Data(Data { shipment, segment, packet, .. })
        | Pdu::KeepAlive(Position { shipment, segment, packet })
        | Pdu::EndOfStream(Position { shipment, segment, packet }) => {
            bytes.extend(shipment.to_be_bytes());
            bytes.extend(segment.to_be_bytes());
            bytes.extend(packet.to_be_bytes());
        }
        Pdu::Pack(report) | Pdu::Snak(report, _) => {
            bytes.extend(report.control.to_be_bytes());
            bytes.extend(report.accepted.to_be_bytes());
            bytes.extend(report.cumulative.to_be_bytes());
            bytes.extend(report.limit.to_be_bytes());
        }
    }
    if let Pdu::Snak(_, request) = pdu {
        bytes.extend(request.segment.to_be_bytes());
        bytes.extend(request.bitmap.to_bytes());
    }
}

/// Appends an encoded packet.
pub fn encode(connection: u32, pdu: &Pdu<Slice>, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    put_header(connection, pdu, bytes);
    if let Pdu::Data(data) = pdu {
        bytes.extend_from_slice(data.payload.as_bytes());
    }
    let checksum = checksum(&bytes[start..]);
    bytes.extend(checksum);
}

/// Writes the checksum of a packet into its last two bytes, for captures that have the header only; shorter ones stay as they are.
pub fn write_checksum(packet: &mut [u8]) {
    if let Some(end) = packet.len().checked_sub(CHECKSUM) {
        let (body, last) = packet.split_at_mut(end);
        last.copy_from_slice(&checksum(body));
    }
}

/// Decodes the connection and packet in `packet`, which must hold exactly one packet. The data shares its memory.
///
/// # Errors
///
/// [`DecodeError`] if the packet is malformed; the caller counts and drops it.
pub fn decode(packet: &Slice) -> Result<(u32, Pdu<Slice>), DecodeError> {
    let bytes = packet.as_bytes();
    let length = DecodeError::Length(bytes.len());
    if bytes.len() < DATA_OVERHEAD {
        return Err(length);
    }
    let (body, found) = bytes.split_at(bytes.len() - CHECKSUM);
    if checksum(body) != found {
        return Err(DecodeError::Checksum);
    }
    let half = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
    let (kind, version, flags) = (half(4), body[6], body[7]);
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    let position = Position { shipment: word(8), segment: half(12), packet: half(14) };
    let report = || Report { control: word(8), accepted: half(12), cumulative: half(14), limit: half(16) };
    let rest = body.len() - FIXED_BYTES;
    let pdu = match kind {
        0 if rest > 0 => Pdu::Data(Data {
            shipment: position.shipment,
            segment: position.segment,
            packet: position.packet,
            last: flags & LAST_FLAG != 0,
            is_full: flags & FULL_FLAG != 0,
            resent: flags & RESENT_FLAG != 0,
            payload: packet.slice(FIXED_BYTES as u32, body.len() as u32),
        }),
        1 if rest == 0 => Pdu::KeepAlive(position),
        2 if rest == 0 => Pdu::EndOfStream(position),
        3 if rest == 2 => Pdu::Pack(report()),
        4 if rest > 4 && rest - 4 <= MAX_BITMAP => {
            let request = Request { segment: half(18), bitmap: Bitmap::from_bytes(&body[20..]) };
            Pdu::Snak(report(), request)
        }
        0..=4 => return Err(length),
        other => return Err(DecodeError::Type(other)),
    };
    Ok((word(0), pdu))
}

/// A bitmap for 65535 packets.
const MAX_BITMAP: usize = 8192;

/// Returns the Internet checksum of a packet consisting of these bytes and a zero checksum.
fn checksum(body: &[u8]) -> [u8; 2] {
    let words = body.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    //! Checks the layout against bytes written by hand from the specification.
    use super::*;

    const ID: u32 = 0x0102_0304;

    fn encode(connection: u32, pdu: &Pdu<Slice>) -> Vec<u8> {
        // Encoding leaves earlier contents of the buffer alone.
        let mut bytes = vec![0xff; 3];
        super::encode(connection, pdu, &mut bytes);
        bytes.split_off(3)
    }

    fn decode(bytes: &[u8]) -> Result<(u32, Pdu<Slice>), DecodeError> {
        super::decode(&Slice::new(bytes))
    }

    fn data(payload: &[u8], last: bool) -> Pdu<Slice> {
        Pdu::Data(Data {
            shipment: 7,
            segment: 2,
            packet: 3,
            last,
            is_full: !last,
            resent: false,
            payload: Slice::new(payload),
        })
    }

    #[test]
    fn every_type_has_the_bytes_of_the_specification() {
        let report = Report { control: 9, accepted: 5, cumulative: 4, limit: 61 };
        let position = Position { shipment: 7, segment: 2, packet: 3 };
        let request = Request { segment: 4, bitmap: Bitmap::from_bytes(&[0b1011_1111, 0xff]) };
        let head = [1, 2, 3, 4];
        for (pdu, rest) in [
            (data(b"abcd", false), [&[0, 0, 1, 4, 0, 0, 0, 7, 0, 2, 0, 3][..], b"abcd"].concat()),
            (data(b"ab", true), [&[0, 0, 1, 1, 0, 0, 0, 7, 0, 2, 0, 3][..], b"ab"].concat()),
            (Pdu::KeepAlive(position), vec![0, 1, 1, 0, 0, 0, 0, 7, 0, 2, 0, 3]),
            (Pdu::EndOfStream(position), vec![0, 2, 1, 0, 0, 0, 0, 7, 0, 2, 0, 3]),
            (Pdu::Pack(report), vec![0, 3, 1, 0, 0, 0, 0, 9, 0, 5, 0, 4, 0, 61]),
            (
                Pdu::Snak(report, request),
                vec![0, 4, 1, 0, 0, 0, 0, 9, 0, 5, 0, 4, 0, 61, 0, 4, 0b1011_1111, 0xff],
            ),
        ] {
            let bytes = encode(ID, &pdu);
            let (body, sum) = bytes.split_at(bytes.len() - 2);
            assert_eq!(body, [&head[..], &rest].concat(), "{pdu:?}");
            // RFC 1071: the words of a packet with its checksum add up to all ones.
            let total: u32 =
                bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
            assert_eq!((total & 0xffff) + (total >> 16), 0xffff, "{sum:?}");
            let (id, found) = decode(&bytes).unwrap();
            assert_eq!((id, encode(id, &found)), (ID, bytes), "{pdu:?}");
        }
    }

    #[test]
    fn encoded_lengths_match_the_constants() {
        let position = Position { shipment: 0, segment: 0, packet: 0 };
        let report = Report { control: 0, accepted: 0, cumulative: 0, limit: 0 };
        assert_eq!(encode(0, &Pdu::KeepAlive(position)).len(), DATA_OVERHEAD);
        assert_eq!(encode(0, &data(b"abc", false)).len(), DATA_OVERHEAD + 3);
        assert_eq!(encode(0, &Pdu::Pack(report)).len(), PACK_LENGTH);
    }

    #[test]
    fn damage_of_any_byte_is_detected() {
        for payload in [&b"some data"[..], b"some datum"] {
            let good = encode(ID, &data(payload, true));
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 0x10;
                assert_eq!(decode(&bad), Err(DecodeError::Checksum), "byte {at}");
            }
        }
    }

    #[test]
    fn invalid_packets_are_refused() {
        let sealed = |mut body: Vec<u8>| {
            let sum = checksum(&body);
            body.extend(sum);
            decode(&body)
        };
        let body = |kind: u8, version: u8, length: usize| {
            let mut body = vec![0; length];
            (body[5], body[6]) = (kind, version);
            body
        };
        assert_eq!(sealed(body(5, VERSION, 16)), Err(DecodeError::Type(5)));
        assert_eq!(sealed(body(0, 2, 17)), Err(DecodeError::Version(2)));
        for (kind, length) in [(0, 16), (1, 17), (2, 18), (3, 16), (3, 19), (4, 20), (4, 20 + 8193)] {
            assert_eq!(
                sealed(body(kind, VERSION, length)),
                Err(DecodeError::Length(length + 2)),
                "type {kind}"
            );
        }
        assert_eq!(decode(&[]), Err(DecodeError::Length(0)));
    }
}
