//! Encoding of the PDUs of the window transport.
//!
//! Numbers are big-endian and of fixed length: all full segments have the same size, as segmentation offload requires.
//!
//! | bytes | segment | acknowledgement |
//! | --- | --- | --- |
//! | 0, upper half | 1 | 2, or 3 if it ends with a delay |
//! | 0, lower half | 1 for a retransmission, plus 2 with a timestamp, plus 4 to request an immediate acknowledgement | 1 with a CE count, plus 2 for each SACK block, plus 8 with an arrival report |
//! | 1-8 | sequence number | cumulative |
//! | 9-16 | timestamp (4) if present, then payload | window |
//! | 17-40 | | up to three SACK blocks: start (4), end (4), relative to `cumulative` |
//! | 5 more | | arrival report: 1 late, 2 repair, 3 spurious (1); start of the segment, relative to `cumulative`, in two's complement (4) |
//! | 2 more | | number of segments received with CE, modulo 65536, if not 0 |
//! | 4 more | | delay |
//!
//! A PDU has neither a length nor a checksum: the lower layer delimits PDUs and drops damaged ones.

use super::{Ack, Arrival, Pdu, RelativeDelay, SackBlock, Segment, Timestamp};
use crate::payload::{Payload, Slice};
use core::fmt;

/// Bytes before the payload of a segment.
pub const SEGMENT_HEADER: usize = 9;
/// Bytes of an acknowledgement without SACK blocks.
pub const ACK_LENGTH: usize = 17;
/// Bytes of a SACK block.
pub const SACK_BLOCK: usize = 8;

const SEGMENT: u8 = 1;
const ACK: u8 = 2;
const ACK_WITH_DELAY: u8 = 3;
const RETRANSMISSION: u8 = 1;
const TIMESTAMP: u8 = 2;
const ACK_NOW: u8 = 4;
const CE: u8 = 1;
const ARRIVAL: u8 = 8;

/// Bytes of an arrival report in an acknowledgement.
pub const ARRIVAL_LENGTH: usize = 5;
/// Bytes of a timestamp and of a delay.
pub const TIMESTAMP_LENGTH: usize = 4;
/// Bytes of the count of segments with CE.
pub const CE_LENGTH: usize = 2;

/// A decoding error of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer bytes than the PDU has.
    TooShort,
    /// More bytes than the PDU has.
    TooLong,
    /// Unknown kind.
    Kind(u8),
    /// Unknown flags.
    Flags(u8),
    /// Unknown arrival code.
    Arrival(u8),
    /// A segment without payload, a SACK block of no bytes, or a count of no segments.
    Empty,
    /// A segment, or a range in an acknowledgement, ends beyond the largest number.
    Range,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("fewer bytes than the PDU has"),
            Self::TooLong => f.write_str("more bytes than the PDU has"),
            Self::Kind(kind) => {
                write!(
                    f,
                    "kind {kind}; there are {SEGMENT} (segment), {ACK} and {ACK_WITH_DELAY} (acknowledgement)"
                )
            }
            Self::Flags(flags) => write!(f, "undefined flags in {flags:#x}"),
            Self::Arrival(kind) => write!(f, "an arrival of kind {kind}; there are 1 to 3"),
            Self::Empty => f.write_str("a segment or a SACK block of no bytes, or a count of none"),
            Self::Range => f.write_str("numbers beyond the maximum"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Appends `pdu` to `bytes`; omits empty SACK blocks.
#[inline]
pub fn encode(pdu: &Pdu<Slice>, bytes: &mut Vec<u8>) {
    match pdu {
        Pdu::Segment(segment) => {
            let again = if segment.retransmission { RETRANSMISSION } else { 0 };
            let timestamp_bit = if segment.sent_at.is_some() { TIMESTAMP } else { 0 };
            let now = if segment.ack_now { ACK_NOW } else { 0 };
            bytes.push((SEGMENT << 4) | again | timestamp_bit | now);
            bytes.extend_from_slice(&segment.sequence.to_be_bytes());
            if let Some(sent_at) = segment.sent_at {
                bytes.extend_from_slice(&sent_at.bits().to_be_bytes());
            }
            bytes.extend_from_slice(segment.payload.as_bytes());
        }
        Pdu::Ack(ack) => encode_ack(ack, bytes),
    }
}

#[inline(never)]
fn encode_ack(ack: &Ack, bytes: &mut Vec<u8>) {
    let blocks = ack.sack.iter().filter(|block| !block.is_empty());
    // At most three.
    let count = blocks.clone().count() as u8;
    let arrival = match ack.arrival {
        Arrival::Plain => 0,
        Arrival::Late => 1,
        Arrival::Repair => 2,
        Arrival::Spurious => 3,
    };
    let ce = if ack.ce > 0 { CE } else { 0 };
    let arrival_bit = if arrival > 0 { ARRIVAL } else { 0 };
    let kind = if ack.delay.is_some() { ACK_WITH_DELAY } else { ACK };
    bytes.push((kind << 4) | (count << 1) | ce | arrival_bit);
    bytes.extend_from_slice(&ack.cumulative.to_be_bytes());
    bytes.extend_from_slice(&ack.window.to_be_bytes());
    for block in blocks {
        bytes.extend_from_slice(&block.start.to_be_bytes());
        bytes.extend_from_slice(&block.end.to_be_bytes());
    }
    if arrival > 0 {
        bytes.push(arrival);
        bytes.extend_from_slice(&ack.arrival_at.to_be_bytes());
    }
    if ack.ce > 0 {
        bytes.extend_from_slice(&ack.ce.to_be_bytes());
    }
    if let Some(delay) = ack.delay {
        bytes.extend_from_slice(&delay.bits().to_be_bytes());
    }
}

/// Decodes a PDU, which must fill `bytes`. The payload of a segment shares their memory.
///
/// # Errors
///
/// Returns an error for any bytes except those that [`encode`] writes for the decoded PDU.
#[inline]
pub fn decode(bytes: Slice) -> Result<Pdu<Slice>, DecodeError> {
    let (&first, rest) = bytes.as_bytes().split_first().ok_or(DecodeError::TooShort)?;
    let (kind, flags) = (first >> 4, first & 0xf);
    match kind {
        SEGMENT if flags & !(RETRANSMISSION | TIMESTAMP | ACK_NOW) != 0 => Err(DecodeError::Flags(flags)),
        SEGMENT => {
            let (sequence, payload) = rest.split_first_chunk().ok_or(DecodeError::TooShort)?;
            let sequence = u64::from_be_bytes(*sequence);
            let (sent_at, payload) = if flags & TIMESTAMP != 0 {
                let (bits, payload) = payload.split_first_chunk().ok_or(DecodeError::TooShort)?;
                (Some(Timestamp::from_bits(u32::from_be_bytes(*bits))), payload)
            } else {
                (None, payload)
            };
            if payload.is_empty() {
                return Err(DecodeError::Empty);
            }
            let (start, end) = (bytes.len() - payload.len() as u32, bytes.len());
            if sequence.checked_add(u64::from(end - start)).is_none() {
                return Err(DecodeError::Range);
            }
            let payload = bytes.into_part(start, end);
            let retransmission = flags & RETRANSMISSION != 0;
            let ack_now = flags & ACK_NOW != 0;
            Ok(Pdu::Segment(Segment { sequence, payload, retransmission, sent_at, ack_now, not_ect: false }))
        }
        ACK => decode_ack(flags, rest).map(Pdu::Ack),
        ACK_WITH_DELAY => {
            let (rest, bits) = rest.split_last_chunk().ok_or(DecodeError::TooShort)?;
            let delay = Some(RelativeDelay::from_bits(u32::from_be_bytes(*bits)));
            decode_ack(flags, rest).map(|ack| Pdu::Ack(Ack { delay, ..ack }))
        }
        kind => Err(DecodeError::Kind(kind)),
    }
}

/// Returns the sequence number of a segment from its first bytes; `None` for any other PDU.
pub fn segment_sequence_number(bytes: &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first >> 4 != SEGMENT {
        return None;
    }
    rest.first_chunk().copied().map(u64::from_be_bytes)
}

#[inline(never)]
fn decode_ack(flags: u8, rest: &[u8]) -> Result<Ack, DecodeError> {
    let count = usize::from((flags & !ARRIVAL) >> 1);
    let mut ack = Ack::default();
    let (cumulative, rest) = rest.split_first_chunk().ok_or(DecodeError::TooShort)?;
    let (window, mut rest) = rest.split_first_chunk().ok_or(DecodeError::TooShort)?;
    if flags & CE != 0 {
        let (before, ce) = rest.split_last_chunk().ok_or(DecodeError::TooShort)?;
        (rest, ack.ce) = (before, u16::from_be_bytes(*ce));
        if ack.ce == 0 {
            return Err(DecodeError::Empty);
        }
    }
    if flags & ARRIVAL != 0 {
        let (blocks, arrival) = rest.split_last_chunk().ok_or(DecodeError::TooShort)?;
        rest = blocks;
        decode_arrival(*arrival, &mut ack)?;
    }
    let used = ack.sack.get_mut(..count).ok_or(DecodeError::Flags(flags))?;
    let (blocks, more) = rest.as_chunks::<SACK_BLOCK>();
    if blocks.len() > count || blocks.len() == count && !more.is_empty() {
        return Err(DecodeError::TooLong);
    }
    if blocks.len() < count {
        return Err(DecodeError::TooShort);
    }
    ack.cumulative = u64::from_be_bytes(*cumulative);
    ack.window = u64::from_be_bytes(*window);
    for (block, &[a, b, c, d, e, f, g, h]) in used.iter_mut().zip(blocks) {
        *block = SackBlock { start: u32::from_be_bytes([a, b, c, d]), end: u32::from_be_bytes([e, f, g, h]) };
        if block.is_empty() {
            return Err(DecodeError::Empty);
        }
    }
    let end = used.iter().map(|block| u64::from(block.end)).max().unwrap_or(0);
    let is_within = ack.cumulative.checked_add_signed(i64::from(ack.arrival_at)).is_some();
    if ack.cumulative.checked_add(end.max(ack.window)).is_none() || !is_within {
        return Err(DecodeError::Range);
    }
    Ok(ack)
}

/// Decodes the arrival report of an acknowledgement.
fn decode_arrival([kind, at @ ..]: [u8; ARRIVAL_LENGTH], ack: &mut Ack) -> Result<(), DecodeError> {
    ack.arrival = match kind {
        1 => Arrival::Late,
        2 => Arrival::Repair,
        3 => Arrival::Spurious,
        kind => return Err(DecodeError::Arrival(kind)),
    };
    ack.arrival_at = i32::from_be_bytes(at);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode_pdu(pdu: &Pdu<Slice>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(pdu, &mut bytes);
        bytes
    }

    fn segment(sequence: u64, bytes: Vec<u8>, retransmission: bool) -> Pdu<Slice> {
        Pdu::Segment(Segment {
            sequence,
            payload: Slice::new(bytes),
            retransmission,
            sent_at: None,
            ack_now: false,
            not_ect: false,
        })
    }

    fn number(number: u8) -> [u8; 8] {
        [0, 0, 0, 0, 0, 0, 0, number]
    }

    /// The layout of the table above, byte by byte.
    #[test]
    fn the_layout_is_the_documented_one() {
        let pdu = segment(0x0102, b"abc".to_vec(), true);
        assert_eq!(encode_pdu(&pdu), [&[0x11, 0, 0, 0, 0, 0, 0, 1, 2][..], b"abc"].concat());
        let pdu = segment(7, b"a".to_vec(), false);
        assert_eq!(encode_pdu(&pdu), [0x10, 0, 0, 0, 0, 0, 0, 0, 7, b'a']);
        assert_eq!(encode_pdu(&pdu).len(), SEGMENT_HEADER + 1);
        let Pdu::Segment(fields) = segment(7, b"a".to_vec(), true) else { panic!("a segment") };
        let pdu = Pdu::Segment(Segment { sent_at: Some(Timestamp::from_bits(0x0102_0304)), ..fields });
        assert_eq!(encode_pdu(&pdu), [0x13, 0, 0, 0, 0, 0, 0, 0, 7, 1, 2, 3, 4, b'a']);
        assert_eq!(encode_pdu(&pdu).len(), SEGMENT_HEADER + TIMESTAMP_LENGTH + 1);
        let mut ack = Ack { cumulative: 5, window: 9, ..Ack::default() };
        assert_eq!(encode_pdu(&Pdu::Ack(ack)), [&[0x20][..], &number(5), &number(9)].concat());
        assert_eq!(encode_pdu(&Pdu::Ack(ack)).len(), ACK_LENGTH);
        // Number of segments received with CE.
        ack.ce = 0x0102;
        let ce = [1, 2];
        assert_eq!(encode_pdu(&Pdu::Ack(ack)), [&[0x21][..], &number(5), &number(9), &ce].concat());
        assert_eq!(encode_pdu(&Pdu::Ack(ack)).len(), ACK_LENGTH + CE_LENGTH);
        // The unused block in the middle is left out.
        ack.sack = [SackBlock { start: 1, end: 2 }, SackBlock::default(), SackBlock { start: 3, end: 4 }];
        let blocks = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
        assert_eq!(encode_pdu(&Pdu::Ack(ack)), [&[0x25][..], &number(5), &number(9), &blocks, &ce].concat());
        // A late segment that starts two below the cumulative number.
        (ack.arrival, ack.arrival_at) = (Arrival::Late, -2);
        let arrival = [1, 0xff, 0xff, 0xff, 0xfe];
        assert_eq!(
            encode_pdu(&Pdu::Ack(ack)),
            [&[0x2d][..], &number(5), &number(9), &blocks, &arrival, &ce].concat()
        );
        ack.delay = Some(RelativeDelay::from_bits(0x0506_0708));
        assert_eq!(
            encode_pdu(&Pdu::Ack(ack)),
            [&[0x3d][..], &number(5), &number(9), &blocks, &arrival, &ce, &[5, 6, 7, 8]].concat()
        );
    }

    #[test]
    fn payloads_are_not_copied() {
        let bytes = Slice::new(encode_pdu(&segment(7, b"payload".to_vec(), false)));
        let Ok(Pdu::Segment(segment)) = decode(bytes.clone()) else { panic!("a segment") };
        assert_eq!(segment.payload.as_bytes().as_ptr(), bytes.as_bytes()[SEGMENT_HEADER..].as_ptr());
    }

    #[test]
    fn each_error_has_its_own_variant() {
        let after = |pdu: &Pdu<Slice>, edit: fn(&mut Vec<u8>)| {
            let mut bytes = encode_pdu(pdu);
            edit(&mut bytes);
            decode(Slice::new(bytes)).map(|_| ())
        };
        let data = |edit| after(&segment(7, b"abc".to_vec(), false), edit);
        let sack = [SackBlock { start: 1, end: 2 }, SackBlock::default(), SackBlock::default()];
        let ack = |edit| after(&Pdu::Ack(Ack { cumulative: 1, window: 2, sack, ..Ack::default() }), edit);
        assert_eq!(data(|_| ()), Ok(()));
        assert_eq!(data(Vec::clear), Err(DecodeError::TooShort));
        assert_eq!(data(|bytes| bytes.truncate(8)), Err(DecodeError::TooShort));
        assert_eq!(data(|bytes| bytes.truncate(9)), Err(DecodeError::Empty));
        assert_eq!(data(|bytes| bytes[0] = 0x12), Err(DecodeError::TooShort));
        assert_eq!(data(|bytes| bytes[0] = 0x14), Ok(()));
        assert_eq!(data(|bytes| bytes[0] = 0x18), Err(DecodeError::Flags(8)));
        assert_eq!(data(|bytes| bytes[0] = 0x40), Err(DecodeError::Kind(4)));
        assert_eq!(data(|bytes| bytes[1..9].fill(0xff)), Err(DecodeError::Range));
        assert_eq!(ack(|_| ()), Ok(()));
        assert_eq!(ack(|bytes| bytes.truncate(16)), Err(DecodeError::TooShort));
        assert_eq!(ack(|bytes| bytes.truncate(17)), Err(DecodeError::TooShort));
        assert_eq!(ack(|bytes| bytes.push(0)), Err(DecodeError::TooLong));
        assert_eq!(ack(|bytes| bytes.extend([0; 8])), Err(DecodeError::TooLong));
        assert_eq!(ack(|bytes| bytes[0] |= 8), Err(DecodeError::TooShort));
        let no_arrival = |bytes: &mut Vec<u8>| {
            bytes[0] |= 8;
            bytes.extend([0; 5]);
        };
        assert_eq!(ack(no_arrival), Err(DecodeError::Arrival(0)));
        assert_eq!(ack(|bytes| bytes[0] = 0x28), Err(DecodeError::TooLong));
        assert_eq!(ack(|bytes| bytes[0] |= 1), Err(DecodeError::TooShort));
        let none_with_ce = |bytes: &mut Vec<u8>| {
            bytes[0] |= 1;
            bytes.extend([0; 2]);
        };
        assert_eq!(ack(none_with_ce), Err(DecodeError::Empty));
        assert_eq!(ack(|bytes| bytes[24] = 1), Err(DecodeError::Empty));
        assert_eq!(ack(|bytes| bytes[1..9].fill(0xff)), Err(DecodeError::Range));
        assert_eq!(ack(|bytes| bytes[9..17].fill(0xff)), Err(DecodeError::Range));
    }

    fn pdu() -> impl Strategy<Value = Pdu<Slice>> {
        let data = (
            0u64..u64::MAX - 40,
            prop::collection::vec(any::<u8>(), 1..40),
            any::<[bool; 2]>(),
            any::<Option<u32>>(),
        )
            .prop_map(|(sequence, bytes, [retransmission, ack_now], stamp)| {
                let sent_at = stamp.map(Timestamp::from_bits);
                let payload = Slice::new(bytes);
                Pdu::Segment(Segment { sequence, payload, retransmission, sent_at, ack_now, not_ect: false })
            });
        let block = (any::<u32>(), any::<u32>()).prop_map(|(start, end)| SackBlock { start, end });
        let arrival = (1u8..4, -1000i32..i32::MAX);
        let ack = (1000..=u64::MAX / 2, 0..=u64::MAX / 2, prop::collection::vec(block, 0..=3), any::<u16>());
        let ack = (ack, prop::option::of(arrival), any::<Option<u32>>()).prop_map(
            |((cumulative, window, blocks, ce), arrival, delay)| {
                let delay = delay.map(RelativeDelay::from_bits);
                let mut ack = Ack { cumulative, window, ce, delay, ..Ack::default() };
                ack.sack.iter_mut().zip(blocks).for_each(|(place, block)| *place = block);
                if let Some((kind, at)) = arrival {
                    let kinds = [Arrival::Late, Arrival::Repair, Arrival::Spurious];
                    (ack.arrival, ack.arrival_at) = (kinds[usize::from(kind) - 1], at);
                }
                Pdu::Ack(ack)
            },
        );
        prop_oneof![data, ack]
    }

    /// Returns a PDU as it is encoded: without empty SACK blocks.
    fn without_empty_blocks(pdu: Pdu<Slice>) -> Pdu<Slice> {
        let Pdu::Ack(mut ack) = pdu else { return pdu };
        let blocks: Vec<_> = ack.sack.into_iter().filter(|block| !block.is_empty()).collect();
        ack.sack = [SackBlock::default(); 3];
        ack.sack[..blocks.len()].copy_from_slice(&blocks);
        Pdu::Ack(ack)
    }

    proptest! {
        #[test]
        fn pdus_round_trip_through_the_codec(pdu in pdu()) {
            let again = decode(Slice::new(encode_pdu(&pdu))).unwrap();
            prop_assert_eq!(again, without_empty_blocks(pdu));
        }

        /// Mutations of encoded PDUs with bytes changed, removed or added: decoding never panics, and decoded PDUs
        /// encode to the same bytes.
        #[test]
        fn any_bytes_give_a_pdu_or_an_error(
            pdu in pdu(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            length in prop::option::of(0usize..60),
        ) {
            let mut bytes = encode_pdu(&pdu);
            for (at, value) in edits {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(length) = length {
                bytes.resize(length, 0);
            }
            if let Ok(pdu) = decode(Slice::new(bytes.clone())) {
                prop_assert_eq!(bytes, encode_pdu(&pdu));
            }
        }

        #[test]
        fn random_bytes_give_a_pdu_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(Slice::new(bytes));
        }
    }
}
