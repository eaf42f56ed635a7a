//! Protocol-family adapter of two-level flow control: the PDU and endpoint traits that all drivers use.

use super::{Data, Pdu, Position, Receiver, Report, Sender, wire};
use crate::data_unit_numbers::{numbers_below, single_number_range, unwrap_number};
use crate::endpoint::{End, EndCounters, Notice};
use crate::payload::{Length, Payload, Slice};
use crate::pdu::{COMPACT, CapturedBytes, CompactPdu, DataUnit, Packing, SegmentStep, Wire, unpack_bytes};
use crate::transport::{Limit, ReceiverCounts, SegmentCounts, SenderStats};
use crate::units::{Duration, Time};
use core::ops::Range;

/// Packet numbers reserved per segment.
const PACKETS: u64 = 1 << 16;

/// Returns the number of a segment's first packet.
fn first_packet_number(number: u16, near: u64) -> u64 {
    unwrap_number(u64::from(number), 1 << 16, near / PACKETS) * PACKETS
}

/// Packets carry a connection identifier. Live flows are demultiplexed at a lower layer.
const CONNECTION: u32 = 0;

/// UDP port of sinks in captures; dissectors recognise SSTP by it.
const PORT: u16 = 5003;

impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        match self {
            Self::Data(data) => Some(&data.payload),
            _ => None,
        }
    }

    fn data(&self, near: u64) -> Option<Range<u64>> {
        match self {
            Self::Data(data) => {
                Some(single_number_range(first_packet_number(data.segment, near) | u64::from(data.packet)))
            }
            _ => None,
        }
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Pack(report) => {
                let accepted = first_packet_number(report.accepted, near);
                Some(vec![0..first_packet_number(report.cumulative, near), accepted..accepted + PACKETS])
            }
            Self::Snak(report, request) => {
                let start = first_packet_number(request.segment, near);
                let held = (0..request.bitmap.len()).filter(|packet| request.bitmap.is_received(*packet));
                let held = held.map(|packet| single_number_range(start + u64::from(packet)));
                Some(numbers_below(first_packet_number(report.cumulative, near)).chain(held).collect())
            }
            _ => None,
        }
    }

    fn sequence(&self) -> Option<u64> {
        match self {
            Self::Data(data) => Some(data.shipment.into()),
            _ => None,
        }
    }

    /// Packets are labelled by segment and by index within it, the unit of a SNAK's bitmap.
    fn label(&self) -> String {
        match self {
            Self::Data(data) => format!("DATA {}.{}", data.segment, data.packet),
            Self::KeepAlive(position) => format!("KEEP-ALIVE {}.{}", position.segment, position.packet),
            Self::EndOfStream(position) => format!("END {}.{}", position.segment, position.packet),
            Self::Pack(report) => format!("PACK {}, expects {}", report.accepted, report.cumulative),
            Self::Snak(_, request) => {
                let first = request.bitmap.first_missing(0).map(|packet| format!(", first {packet}"));
                let missing = request.bitmap.count_missing();
                format!("SNAK {}, {missing} missing{}", request.segment, first.unwrap_or_default())
            }
        }
    }

    fn description(&self) -> String {
        let position = |position: &Position| {
            let Position { shipment, segment, packet } = position;
            format!("shipment {shipment}, segment {segment}, packet {packet}")
        };
        let report = |Report { control, cumulative, limit, .. }: &Report| {
            format!("report {control}: all before segment {cumulative}, window up to {limit}")
        };
        match self {
            Self::Data(Data { shipment, segment, packet, resent, .. }) => {
                let again = if *resent { " again" } else { "" };
                format!("shipment {shipment}: packet {packet} of segment {segment}{again}")
            }
            Self::KeepAlive(of) => format!("keep-alive at {}", position(of)),
            Self::EndOfStream(of) => format!("end of stream at {}", position(of)),
            Self::Pack(of) => format!("PACK {}, {}", of.accepted, report(of)),
            Self::Snak(of, request) => {
                let packets: Vec<String> =
                    request.bitmap.missing_from(0).map(|packet| packet.to_string()).collect();
                let packets = packets.join(", ");
                format!("SNAK of segment {} (packets {packets}), {}", request.segment, report(of))
            }
        }
    }

    /// Numbers wrap quickly, but packets carry a retransmission flag.
    fn is_repeated(&self) -> Option<bool> {
        match self {
            Self::Data(data) => Some(data.resent),
            _ => None,
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::KeepAlive(_) => 1,
            Self::EndOfStream(_) => 2,
            Self::Data(_) | Self::Pack(_) | Self::Snak(..) => 0,
        }
    }

    fn segment_step(&self) -> Option<SegmentStep> {
        match self {
            Self::Data(data) if data.packet == 0 && !data.resent => Some(SegmentStep::Begun),
            Self::Pack(report) => {
                Some(SegmentStep::Accepted { segment: report.accepted, cumulative: report.cumulative })
            }
            _ => None,
        }
    }

    fn captured(&self, connection: u32) -> CapturedBytes {
        let (bytes, checksum) = wire::packet_framing(connection, self);
        CapturedBytes { bytes, checksum: Some(checksum), port: PORT, includes_payload: false }
    }
}

impl Wire for Pdu<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        wire::encode(CONNECTION, self, to);
    }

    fn decode(bytes: Slice) -> Option<Self> {
        match wire::decode(&bytes) {
            Ok((CONNECTION, pdu)) => Some(pdu),
            _ => None,
        }
    }
}

const LAST_FLAG: u8 = 1;
const FULL_FLAG: u8 = 2;
const RESENT_FLAG: u8 = 4;
const PACK: u8 = 8;

impl CompactPdu for Pdu<Length> {
    /// Data, and acceptance reports.
    fn pack(&self) -> Option<[u8; COMPACT]> {
        let kind = |kind: u8| Packing::default().put([kind]);
        match *self {
            Self::Data(data) => {
                let Data { shipment, segment, packet, last, is_full: full, resent, payload: Length(length) } =
                    data;
                let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
                let shipment = shipment.to_le_bytes();
                let number = kind(flag(last, LAST_FLAG) | flag(full, FULL_FLAG) | flag(resent, RESENT_FLAG))
                    .put(shipment);
                let place = number.put(segment.to_le_bytes()).put(packet.to_le_bytes());
                place.put(length.to_le_bytes()).done()
            }
            Self::Pack(Report { control, accepted, cumulative, limit }) => {
                let number = kind(PACK).put(control.to_le_bytes()).put(accepted.to_le_bytes());
                number.put(cumulative.to_le_bytes()).put(limit.to_le_bytes()).done()
            }
            _ => None,
        }
    }

    fn unpack(bytes: [u8; COMPACT]) -> Self {
        let flags = bytes[0];
        let number = u32::from_le_bytes(unpack_bytes(&bytes, 1));
        let half = |at| u16::from_le_bytes(unpack_bytes(&bytes, at));
        if flags == PACK {
            let (accepted, cumulative, limit) = (half(5), half(7), half(9));
            return Self::Pack(Report { control: number, accepted, cumulative, limit });
        }
        Self::Data(Data {
            shipment: number,
            segment: half(5),
            packet: half(7),
            last: flags & LAST_FLAG != 0,
            is_full: flags & FULL_FLAG != 0,
            resent: flags & RESENT_FLAG != 0,
            payload: Length(u32::from_le_bytes(unpack_bytes(&bytes, 9))),
        })
    }
}

impl<P: Payload> End for Sender<P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        Some(self.stats(now).common)
    }

    fn take_rtt(&mut self) -> Option<Duration> {
        self.answers.latest.take()
    }

    fn counters(&self, now: Time) -> EndCounters {
        let stats = self.stats(now);
        let segments = SegmentCounts {
            max_segments: stats.buffered_peak,
            max_bytes: stats.bytes_peak,
            ..SegmentCounts::default()
        };
        EndCounters { segments: Some(segments), ..EndCounters::default() }
    }

    fn backlog(&self) -> u64 {
        self.backlog()
    }

    fn limit(&self) -> Option<Limit> {
        self.limit()
    }
}

impl<P: Payload> End for Receiver<P> {
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts()
    }

    fn counters(&self, _now: Time) -> EndCounters {
        let stats = self.stats();
        let segments = SegmentCounts {
            incomplete: stats.incomplete,
            holes: stats.holes,
            refused: stats.refused,
            evictions: stats.evictions,
            max_segments: stats.buffered_peak,
            max_bytes: stats.bytes_peak,
        };
        EndCounters { duplicates: stats.duplicates, segments: Some(segments), ..EndCounters::default() }
    }

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::Memory(bytes) => self.set_memory(bytes),
            Notice::ReadingShare(share) => self.set_reading_share(share),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sstp::{Bitmap, Request};

    #[test]
    fn packets_held_out_of_order_count_as_acknowledged() {
        let report = Report { control: 1, accepted: 1, cumulative: 2, limit: 9 };
        let bitmap = Bitmap::from_bytes(&[0b1100_0000]);
        let snak = Pdu::<Length>::Snak(report, Request { segment: 2, bitmap });
        let first = 2 * PACKETS;
        let expected = vec![0..first, first..first + 1, first + 1..first + 2];
        assert_eq!(snak.acknowledged(3 * PACKETS), Some(expected));
    }

    #[test]
    fn packets_are_identified_by_segment_and_position() {
        let data = Data {
            shipment: 9,
            segment: 2,
            packet: 5,
            last: false,
            is_full: true,
            resent: true,
            payload: Length(1),
        };
        let report = Report { control: 1, accepted: 3, cumulative: 2, limit: 7 };
        let bitmap = Bitmap::from_bytes(&[0b1101_0111]);
        let request = Request { segment: 2, bitmap };
        let missing = request.bitmap.first_missing(0).unwrap();
        let labels = [Pdu::Data(data), Pdu::Pack(report), Pdu::Snak(report, request)].map(|pdu| pdu.label());
        let request = format!("SNAK 2, 2 missing, first {missing}");
        assert_eq!(labels, ["DATA 2.5".to_owned(), "PACK 3, expects 2".to_owned(), request]);
    }
}
