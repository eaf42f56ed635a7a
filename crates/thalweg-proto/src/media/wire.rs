//! Encoding of the PDUs of media connections.
//!
//! All numbers are big-endian.
//!
//! | bytes | DATA | REPORT |
//! | --- | --- | --- |
//! | 0 | 1 | 2 |
//! | 1 | flags: 1 first, 2 last, 4 key | flags: 1 key frame requested |
//! | 2-3 | zero | the number of packets reported, 1 to 256 |
//! | 4-7 | sequence number | the first packet reported |
//! | 8-11 | timestamp | time of the report |
//! | 12-15 | frame | two bytes a packet: arrived (1 bit), ECN (2 bits), time before the report (13 bits) |
//! | 16 | payload from here | |

use super::pdu::{Arrival, Data, MAX_REPORTED, MAX_TIME_OFFSET, Pdu, Report};
use crate::Ecn;
use crate::payload::{Payload, Slice};

/// Bytes before the payload of a DATA: an RTP header, and a descriptor of four bytes.
pub const DATA_HEADER: u32 = 16;
/// Bytes of a REPORT before its packets.
pub(super) const REPORT_HEADER: u32 = 12;
/// Bytes per reported packet.
pub(super) const BYTES_PER_REPORTED_PACKET: u32 = 2;

const DATA: u8 = 1;
const REPORT: u8 = 2;
const FIRST_FLAG: u8 = 1;
const LAST_FLAG: u8 = 2;
const KEY: u8 = 4;

/// Appends `pdu` to `bytes`.
pub fn encode(pdu: &Pdu<Slice>, bytes: &mut Vec<u8>) {
    match pdu {
        Pdu::Data(data) => {
            bytes.extend([DATA, data_flags(data), 0, 0]);
            for number in [data.sequence, data.timestamp, data.frame] {
                bytes.extend(number.to_be_bytes());
            }
            bytes.extend(data.payload.as_bytes());
        }
        Pdu::Report(report) => {
            bytes.extend([REPORT, u8::from(report.wants_key)]);
            bytes.extend((report.packets.len() as u16).to_be_bytes());
            bytes.extend(report.begin.to_be_bytes());
            bytes.extend(report.report_time.to_be_bytes());
            for packet in &report.packets {
                let arrival = |of: Arrival| {
                    1 << 15 | u16::from(of.ecn.bits()) << 13 | of.time_offset.min(MAX_TIME_OFFSET)
                };
                bytes.extend(packet.map_or(0, arrival).to_be_bytes());
            }
        }
    }
}

/// Returns the flags of a DATA.
pub(super) fn data_flags<P>(data: &Data<P>) -> u8 {
    let flag = |is: bool, bit: u8| if is { bit } else { 0 };
    flag(data.is_first, FIRST_FLAG) | flag(data.is_last, LAST_FLAG) | flag(data.is_key, KEY)
}

/// Creates the DATA with these flags and numbers.
pub(super) fn data_from_fields<P>(flags: u8, [sequence, timestamp, frame]: [u32; 3], payload: P) -> Data<P> {
    let has = |bit: u8| flags & bit != 0;
    Data {
        sequence,
        frame,
        timestamp,
        is_first: has(FIRST_FLAG),
        is_last: has(LAST_FLAG),
        is_key: has(KEY),
        payload,
    }
}

/// Decodes a PDU, which must fill `bytes`; `None` for invalid bytes. The payload of a DATA shares their memory.
pub fn decode(bytes: &Slice) -> Option<Pdu<Slice>> {
    let (head, rest) = bytes.as_bytes().split_first_chunk::<4>()?;
    let [kind, flags, high, low] = *head;
    let count = usize::from(u16::from_be_bytes([high, low]));
    match kind {
        DATA if count == 0 && flags <= FIRST_FLAG | LAST_FLAG | KEY => {
            let (numbers, payload) = rest.split_at_checked(DATA_HEADER as usize - 4)?;
            if payload.is_empty() {
                return None;
            }
            let payload = bytes.slice(DATA_HEADER, bytes.len());
            Some(Pdu::Data(data_from_fields(
                flags,
                [read_number(numbers, 0), read_number(numbers, 4), read_number(numbers, 8)],
                payload,
            )))
        }
        REPORT if flags <= 1 && (1..=MAX_REPORTED).contains(&count) => {
            let (numbers, packets) = rest.split_at_checked(REPORT_HEADER as usize - 4)?;
            if packets.len() != count * BYTES_PER_REPORTED_PACKET as usize {
                return None;
            }
            let packets =
                packets.as_chunks().0.iter().map(|of: &[u8; 2]| decode_arrival(u16::from_be_bytes(*of)));
            Some(Pdu::Report(Report {
                begin: read_number(numbers, 0),
                report_time: read_number(numbers, 4),
                wants_key: flags == 1,
                packets: packets.collect::<Option<_>>()?,
            }))
        }
        _ => None,
    }
}

fn read_number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Decodes the report of one packet; `None` for invalid bits.
fn decode_arrival(word: u16) -> Option<Option<Arrival>> {
    if word == 0 {
        return Some(None);
    }
    let before = word & 0x1FFF;
    (word >> 15 == 1 && before <= MAX_TIME_OFFSET)
        .then(|| Some(Arrival { ecn: Ecn::from_bits((word >> 13) as u8), time_offset: before }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded_bytes(pdu: &Pdu<Slice>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(pdu, &mut bytes);
        bytes
    }

    /// The layout of the table above, byte by byte; a packet's report follows figure 1 of RFC 8888, section 3.1.
    #[test]
    fn the_layout_is_the_documented_one() {
        let pdu = Pdu::Data(data_from_fields(LAST_FLAG | KEY, [7, 0x0102, 3], Slice::new(*b"abc")));
        assert_eq!(
            encoded_bytes(&pdu),
            [&[1, 6, 0, 0, 0, 0, 0, 7, 0, 0, 1, 2, 0, 0, 0, 3][..], b"abc"].concat()
        );
        let packets = vec![
            Some(Arrival { ecn: Ecn::Ce, time_offset: 5 }),
            None,
            Some(Arrival { ecn: Ecn::Ect1, time_offset: MAX_TIME_OFFSET }),
        ];
        let pdu = Pdu::Report(Report { begin: 9, report_time: 0x0001_8000, wants_key: true, packets });
        assert_eq!(
            encoded_bytes(&pdu),
            [2, 1, 0, 3, 0, 0, 0, 9, 0, 1, 0x80, 0, 0xE0, 5, 0, 0, 0b1011_1111, 0b1111_1110]
        );
    }

    #[test]
    fn malformed_pdus_are_rejected() {
        let good = encoded_bytes(&Pdu::Report(Report { packets: vec![None], ..Report::default() }));
        assert!(decode(&Slice::new(good.clone())).is_some());
        for (at, value) in [(0, 3), (1, 2), (3, 0), (3, 2), (12, 1), (13, 1)] {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert_eq!(decode(&Slice::new(bytes)), None, "byte {at} as {value}");
        }
        let data = encoded_bytes(&Pdu::Data(data_from_fields(FIRST_FLAG, [1, 2, 3], Slice::new(*b"x"))));
        assert!(decode(&Slice::new(data.clone())).is_some());
        assert_eq!(decode(&Slice::new(&data[..16])), None, "no payload");
        assert_eq!(decode(&Slice::new([&data[..1], &[8], &data[2..]].concat())), None, "an unknown flag");
    }

    proptest! {
        /// Any bytes decode to a PDU that encodes to the same bytes, or to nothing.
        #[test]
        fn any_bytes_give_a_pdu_or_nothing(
            kind in 0u8..4, flags in 0u8..10, count in 0u16..5,
            rest in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..40),
        ) {
            let mut bytes = vec![kind, flags];
            bytes.extend(count.to_be_bytes());
            bytes.extend(rest);
            if let Some(pdu) = decode(&Slice::new(bytes.clone())) {
                prop_assert_eq!(encoded_bytes(&pdu), bytes);
            }
        }
    }
}
