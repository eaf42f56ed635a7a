//! Wire format of PDUs. The paper gives sizes (ACKs of 32 bytes) but no layout; this one has them.
//!
//! All numbers are big-endian.
//!
//! | bytes | DATA | ACK |
//! | --- | --- | --- |
//! | 0 | 1 | 2 |
//! | 1 | version, 1 | version, 1 |
//! | 2-3 | zero | zero |
//! | 4-7 | payload length | zero |
//! | 8-15 | sequence number | gap-in |
//! | 16-23 | payload from here | gap-out |
//! | 24-31 | | cumulative |
//!
//! There is no checksum: the lower layer (AAL 5 in the paper, UDP elsewhere) drops damaged packets.

use super::{Data, Pdu, Report};
use crate::payload::{Payload, Slice};
use core::fmt;

/// Header length of a DATA, in bytes.
pub const DATA_HEADER: usize = 16;
/// Length of an ACK, in bytes.
pub const ACK_SIZE: usize = 32;

const VERSION: u8 = 1;
const DATA: u8 = 1;
const ACK: u8 = 2;

/// Error of a malformed PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Shorter than the PDU.
    TooShort,
    /// Longer than the PDU.
    TooLong,
    /// Unknown version.
    Version(u8),
    /// Unknown kind.
    Kind(u8),
    /// Reserved bytes that are not zero.
    Reserved,
    /// DATA with number 0 or an empty payload.
    Empty,
    /// Report with gap-in below the cumulative number or above gap-out.
    Gap,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("fewer bytes than the PDU has"),
            Self::TooLong => f.write_str("more bytes than the PDU has"),
            Self::Version(version) => write!(f, "version {version}; this is version {VERSION}"),
            Self::Kind(kind) => write!(f, "kind {kind}; there are {DATA} (DATA) and {ACK} (ACK)"),
            Self::Reserved => f.write_str("reserved bytes that are not zero"),
            Self::Empty => f.write_str("a DATA without number or payload"),
            Self::Gap => f.write_str("a gap that lies below the cumulative number, or ends before it begins"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Returns the header of a DATA whose payload has `length` bytes.
pub fn data_header(sequence: u64, length: u32) -> [u8; DATA_HEADER] {
    let mut bytes = [0; DATA_HEADER];
    bytes[..2].copy_from_slice(&[DATA, VERSION]);
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    bytes[8..].copy_from_slice(&sequence.to_be_bytes());
    bytes
}

/// Encodes an ACK.
pub fn encode_ack(report: &Report) -> [u8; ACK_SIZE] {
    let mut bytes = [0; ACK_SIZE];
    bytes[..2].copy_from_slice(&[ACK, VERSION]);
    for (at, number) in [(8, report.gap_in), (16, report.gap_out), (24, report.cumulative)] {
        bytes[at..at + 8].copy_from_slice(&number.to_be_bytes());
    }
    bytes
}

/// Appends the encoded `pdu` to `bytes`.
pub fn encode(pdu: &Pdu<Slice>, bytes: &mut Vec<u8>) {
    match pdu {
        Pdu::Data(data) => {
            bytes.extend(data_header(data.sequence, data.payload.len()));
            bytes.extend(data.payload.as_bytes());
        }
        Pdu::Ack(report) => bytes.extend(encode_ack(report)),
    }
}

/// Decodes a PDU, which must be all of `bytes`. The payload of a DATA shares their memory.
///
/// # Errors
///
/// An error if the bytes are malformed. A decoded PDU is encoded by [`encode`] to the same bytes.
pub fn decode(bytes: &Slice) -> Result<Pdu<Slice>, DecodeError> {
    let (head, rest) = bytes.as_bytes().split_first_chunk::<8>().ok_or(DecodeError::TooShort)?;
    let [kind, version, reserved @ ..] = *head;
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    let [high, low, length @ ..] = reserved;
    let length = u32::from_be_bytes(length);
    if [high, low] != [0, 0] {
        return Err(DecodeError::Reserved);
    }
    match kind {
        DATA => {
            let (sequence, payload) = rest.split_first_chunk::<8>().ok_or(DecodeError::TooShort)?;
            let sequence = u64::from_be_bytes(*sequence);
            match payload.len().cmp(&(length as usize)) {
                core::cmp::Ordering::Less => Err(DecodeError::TooShort),
                core::cmp::Ordering::Greater => Err(DecodeError::TooLong),
                core::cmp::Ordering::Equal if sequence == 0 || length == 0 => Err(DecodeError::Empty),
                core::cmp::Ordering::Equal => {
                    Ok(Pdu::Data(Data { sequence, payload: bytes.slice(DATA_HEADER as u32, bytes.len()) }))
                }
            }
        }
        ACK if length != 0 => Err(DecodeError::Reserved),
        ACK => {
            let numbers: &[u8; 24] = rest
                .try_into()
                .map_err(|_| if rest.len() < 24 { DecodeError::TooShort } else { DecodeError::TooLong })?;
            let number = |at: usize| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&numbers[at..at + 8]);
                u64::from_be_bytes(bytes)
            };
            let report = Report { gap_in: number(0), gap_out: number(8), cumulative: number(16) };
            if report.is_valid_below(u64::MAX) { Ok(Pdu::Ack(report)) } else { Err(DecodeError::Gap) }
        }
        kind => Err(DecodeError::Kind(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The layout of the table above, byte by byte.
    #[test]
    fn the_layout_is_the_documented_one() {
        let mut bytes = Vec::new();
        encode(&Pdu::Data(Data { sequence: 0x0102, payload: Slice::new(*b"abc") }), &mut bytes);
        assert_eq!(bytes, [&[1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2][..], b"abc"].concat());
        bytes.clear();
        encode(&Pdu::Ack(Report { gap_in: 2, gap_out: 6, cumulative: 2 }), &mut bytes);
        let number = |n: u8| [0, 0, 0, 0, 0, 0, 0, n];
        assert_eq!(bytes, [[2, 1, 0, 0, 0, 0, 0, 0], number(2), number(6), number(2)].concat());
        assert_eq!(bytes.len(), ACK_SIZE);
    }

    #[test]
    fn each_decode_error_is_distinguished() {
        let data = |edit: fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            encode(&Pdu::Data(Data { sequence: 7, payload: Slice::new(*b"abc") }), &mut bytes);
            edit(&mut bytes);
            decode(&Slice::new(bytes)).map(|_| ())
        };
        let ack = |edit: fn(&mut Vec<u8>)| {
            let mut bytes = super::encode_ack(&Report { gap_in: 3, gap_out: 5, cumulative: 2 }).to_vec();
            edit(&mut bytes);
            decode(&Slice::new(bytes)).map(|_| ())
        };
        assert_eq!(data(|_| ()), Ok(()));
        assert_eq!(data(|bytes| bytes.truncate(5)), Err(DecodeError::TooShort));
        assert_eq!(data(|bytes| bytes.truncate(12)), Err(DecodeError::TooShort));
        assert_eq!(data(|bytes| bytes.truncate(18)), Err(DecodeError::TooShort));
        assert_eq!(data(|bytes| bytes.push(0)), Err(DecodeError::TooLong));
        assert_eq!(data(|bytes| bytes[1] = 9), Err(DecodeError::Version(9)));
        assert_eq!(data(|bytes| bytes[0] = 3), Err(DecodeError::Kind(3)));
        assert_eq!(data(|bytes| bytes[3] = 1), Err(DecodeError::Reserved));
        assert_eq!(data(|bytes| bytes[15] = 0), Err(DecodeError::Empty));
        assert_eq!(ack(|_| ()), Ok(()));
        assert_eq!(ack(|bytes| bytes.truncate(31)), Err(DecodeError::TooShort));
        assert_eq!(ack(|bytes| bytes.push(0)), Err(DecodeError::TooLong));
        assert_eq!(ack(|bytes| bytes[7] = 1), Err(DecodeError::Reserved));
        assert_eq!(ack(|bytes| bytes[15] = 1), Err(DecodeError::Gap));
        assert_eq!(ack(|bytes| bytes[23] = 2), Err(DecodeError::Gap));
        assert_eq!(ack(|bytes| bytes[31] = 0), Err(DecodeError::Gap));
    }

    fn pdu() -> impl Strategy<Value = Pdu<Slice>> {
        let data = (1u64.., prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(sequence, bytes)| Pdu::Data(Data { sequence, payload: Slice::new(bytes) }));
        let ack = prop::array::uniform3(1u64..).prop_map(|mut numbers| {
            numbers.sort_unstable();
            let [cumulative, gap_in, gap_out] = numbers;
            Pdu::Ack(Report { gap_in, gap_out, cumulative })
        });
        prop_oneof![data, ack]
    }

    proptest! {
        #[test]
        fn encoded_pdus_decode_unchanged(pdu in pdu()) {
            let mut bytes = Vec::new();
            encode(&pdu, &mut bytes);
            let again = decode(&Slice::new(bytes.clone())).unwrap();
            let mut bytes_again = Vec::new();
            encode(&again, &mut bytes_again);
            prop_assert_eq!(bytes, bytes_again);
        }

        /// Near-PDUs: an encoded one with bytes changed, cut or added. Decoding never panics, and a decoded PDU encodes
        /// to the same bytes.
        #[test]
        fn any_bytes_give_a_pdu_or_an_error(
            pdu in pdu(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            length in prop::option::of(0usize..60),
        ) {
            let mut bytes = Vec::new();
            encode(&pdu, &mut bytes);
            for (at, value) in edits {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(length) = length {
                bytes.resize(length, 0);
            }
            if let Ok(pdu) = decode(&Slice::new(bytes.clone())) {
                let mut again = Vec::new();
                encode(&pdu, &mut again);
                prop_assert_eq!(bytes, again);
            }
        }

        #[test]
        fn random_bytes_give_a_pdu_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&Slice::new(bytes));
        }
    }
}
