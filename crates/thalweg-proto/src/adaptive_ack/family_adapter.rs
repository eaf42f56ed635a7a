//! Protocol-family adapter of adaptive acknowledgement: the PDU and endpoint traits that all drivers use.

use super::{Data, Pdu, Receiver, Report, Transmitter, wire};
use crate::data_unit_numbers::{numbers_below, single_number_range};
use crate::endpoint::{End, EndCounters, Notice};
use crate::payload::{Length, Payload, Slice};
use crate::pdu::{COMPACT, CapturedBytes, CompactPdu, DataUnit, Packing, Wire, unpack_bytes};
use crate::transport::{Limit, ReceiverCounts, SenderStats};
use crate::units::{Duration, Time};
use core::ops::Range;

impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        match self {
            Self::Data(data) => Some(&data.payload),
            Self::Ack(_) => None,
        }
    }

    fn data(&self, _near: u64) -> Option<Range<u64>> {
        match self {
            Self::Data(data) => Some(single_number_range(data.sequence)),
            Self::Ack(_) => None,
        }
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Ack(report) => Some(numbers_below(report.cumulative).collect()),
            Self::Data(_) => None,
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Data(data) => format!("DATA {}", data.sequence),
            Self::Ack(report) => {
                format!("ACK (({}, {}), {})", report.gap_in, report.gap_out, report.cumulative)
            }
        }
    }

    fn captured(&self, _connection: u32) -> CapturedBytes {
        let bytes = match self {
            Self::Data(data) => wire::data_header(data.sequence, data.payload.len()).to_vec(),
            Self::Ack(report) => wire::encode_ack(report).to_vec(),
        };
        CapturedBytes { bytes, ..CapturedBytes::default() }
    }
}

impl Wire for Pdu<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        wire::encode(self, to);
    }

    fn decode(bytes: Slice) -> Option<Self> {
        wire::decode(&bytes).ok()
    }
}

/// Marks a packed PDU as data, in place of a report's number of missing packets.
const IS_DATA: u16 = u16::MAX;

impl CompactPdu for Pdu<Length> {
    /// Data, and reports with a sufficiently small gap.
    fn pack(&self) -> Option<[u8; COMPACT]> {
        let (number, other, missing) = match *self {
            Self::Data(Data { sequence, payload: Length(length) }) => (sequence, length, IS_DATA),
            Self::Ack(Report { gap_in, gap_out, cumulative }) => {
                let after = u32::try_from(gap_in.checked_sub(cumulative)?).ok()?;
                let missing = u16::try_from(gap_out.checked_sub(gap_in)?).ok();
                (cumulative, after, missing.filter(|missing| *missing != IS_DATA)?)
            }
        };
        Packing::default()
            .put(number.to_le_bytes())
            .put(other.to_le_bytes())
            .put(missing.to_le_bytes())
            .done()
    }

    fn unpack(bytes: [u8; COMPACT]) -> Self {
        let number = u64::from_le_bytes(unpack_bytes(&bytes, 0));
        let other = u32::from_le_bytes(unpack_bytes(&bytes, 8));
        match u16::from_le_bytes(unpack_bytes(&bytes, 12)) {
            IS_DATA => Self::Data(Data { sequence: number, payload: Length(other) }),
            missing => {
                let gap_in = number + u64::from(other);
                Self::Ack(Report { gap_in, gap_out: gap_in + u64::from(missing), cumulative: number })
            }
        }
    }
}

impl<P: Payload> End for Transmitter<P> {
    /// A request is answered at most once however many reports repeat it, so no stale answer waits in a queue.
    fn takes_batches(&self) -> bool {
        true
    }

    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        Some(self.stats(now).common)
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

    fn notify(&mut self, notice: Notice) {
        if let Notice::Silence(now) = notice {
            self.await_timer(now);
        }
    }
}

impl<P: Payload> End for Receiver<P> {
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts()
    }

    fn counters(&self, _now: Time) -> EndCounters {
        EndCounters { duplicates: self.stats().duplicates, ..EndCounters::default() }
    }

    fn notify(&mut self, notice: Notice) {
        if let Notice::Memory(bytes) = notice {
            self.set_memory(bytes);
        }
    }
}
