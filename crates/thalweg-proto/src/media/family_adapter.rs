//! The media family's implementation of the family-independent interfaces of PDUs and endpoints.

use super::pdu::{Data, Pdu};
use super::receiver::Receiver;
use super::sender::Sender;
use super::wire::{self, BYTES_PER_REPORTED_PACKET};
use crate::data_unit_numbers::{single_number_range, unwrap_number};
use crate::endpoint::{End, EndCounters, Notice};
use crate::payload::{Length, Payload, Slice};
use crate::pdu::{COMPACT, CapturedBytes, CompactPdu, DataUnit, Packing, Wire, unpack_bytes};
use crate::transport::{Limit, ReceiverCounts, SenderStats};
use crate::units::{Duration, Time};
use core::ops::Range;

const NUMBER_MODULUS: u64 = 1 << 32;

impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        match self {
            Self::Data(data) => Some(&data.payload),
            Self::Report(_) => None,
        }
    }

    fn framing(&self) -> u32 {
        match self {
            Self::Data(_) => 0,
            // In words of four bytes (RFC 8888, section 3.1).
            Self::Report(report) => {
                (report.packets.len() as u32 * BYTES_PER_REPORTED_PACKET).next_multiple_of(4)
            }
        }
    }

    fn data(&self, near: u64) -> Option<Range<u64>> {
        match self {
            Self::Data(data) => {
                Some(single_number_range(unwrap_number(u64::from(data.sequence), NUMBER_MODULUS, near)))
            }
            Self::Report(_) => None,
        }
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        let Self::Report(report) = self else { return None };
        let begin = unwrap_number(u64::from(report.begin), NUMBER_MODULUS, near);
        Some(
            (begin..)
                .zip(&report.packets)
                .filter(|(_, of)| of.is_some())
                .map(|(number, _)| single_number_range(number))
                .collect(),
        )
    }

    fn label(&self) -> String {
        match self {
            Self::Data(data) => {
                let kind = if data.is_key { "key frame" } else { "frame" };
                format!("{kind} {}, packet {}", data.frame, data.sequence)
            }
            Self::Report(report) => {
                let received = report.packets.iter().flatten().count();
                format!("report of {received} of {} from {}", report.packets.len(), report.begin)
            }
        }
    }

    fn is_repeated(&self) -> Option<bool> {
        Some(false)
    }

    fn captured(&self, _connection: u32) -> CapturedBytes {
        let mut bytes = Vec::new();
        match self {
            Self::Data(Data { sequence, frame, timestamp, .. }) => {
                let Self::Data(data) = self else { return CapturedBytes::default() };
                bytes.extend([1, wire::data_flags(data), 0, 0]);
                for number in [sequence, timestamp, frame] {
                    bytes.extend(number.to_be_bytes());
                }
            }
            Self::Report(report) => wire::encode(&Pdu::Report(report.clone()), &mut bytes),
        }
        CapturedBytes { bytes, ..CapturedBytes::default() }
    }
}

impl Wire for Pdu<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        wire::encode(self, to);
    }

    fn decode(bytes: Slice) -> Option<Self> {
        wire::decode(&bytes)
    }
}

/// Limit of payloads that fit beside the flags of their packet.
const SHORT_PAYLOAD_LIMIT: u32 = 1 << 13;

impl CompactPdu for Pdu<Length> {
    fn pack(&self) -> Option<[u8; COMPACT]> {
        let Self::Data(data) = self else { return None };
        let length = data.payload.0;
        if length >= SHORT_PAYLOAD_LIMIT {
            return None;
        }
        let word = length as u16 | u16::from(wire::data_flags(data)) << 13;
        Packing::default()
            .put(data.sequence.to_le_bytes())
            .put(data.timestamp.to_le_bytes())
            .put(data.frame.to_le_bytes())
            .put(word.to_le_bytes())
            .done()
    }

    fn unpack(bytes: [u8; COMPACT]) -> Self {
        let number = |at| u32::from_le_bytes(unpack_bytes(&bytes, at));
        let word = u16::from_le_bytes(unpack_bytes(&bytes, 12));
        let payload = Length(u32::from(word) % SHORT_PAYLOAD_LIMIT);
        Self::Data(wire::data_from_fields((word >> 13) as u8, [number(0), number(4), number(8)], payload))
    }
}

impl<P: Payload> End for Sender<P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        Some(self.stats(now))
    }

    fn take_rtt(&mut self) -> Option<Duration> {
        self.take_rtt()
    }

    fn backlog(&self) -> u64 {
        self.backlog()
    }

    fn limit(&self) -> Option<Limit> {
        self.limit()
    }

    fn counters(&self, now: Time) -> EndCounters {
        EndCounters { mark_cuts: self.mark_cuts(), media: Some(self.media(now)), ..EndCounters::default() }
    }

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::MediaCountersReset(now) => self.reset_media(now),
            Notice::RandomStream(stream) => self.draw_from(stream),
            _ => {}
        }
    }
}

impl<P: Payload> End for Receiver<P> {
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts()
    }

    fn counters(&self, _now: Time) -> EndCounters {
        EndCounters { duplicates: self.duplicates(), media: Some(self.media()), ..EndCounters::default() }
    }

    fn notify(&mut self, notice: Notice) {
        if let Notice::MediaCountersReset(_) = notice {
            self.reset_media();
        }
    }
}
