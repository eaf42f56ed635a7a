//! Protocol-family adapter of SSCOP: the PDU and endpoint traits that all drivers use.

use super::rate::RateField;
use super::{Endpoint, Pdu, SequenceNumber, Stat};
use crate::data_unit_numbers::{numbers_below, single_number_range, unwrap_number};
use crate::endpoint::{End, Notice};
use crate::payload::{Length, Payload, Slice};
use crate::pdu::{COMPACT, CapturedBytes, CompactPdu, DataUnit, Packing, Wire, unpack_bytes};
use crate::transport::{Limit, ReceiverCounts, SenderStats};
use crate::units::{Duration, Time};
use core::ops::Range;

/// Returns the unwrapped message number nearest to `near`.
fn unwrap_message_number(number: SequenceNumber, near: u64) -> u64 {
    unwrap_number(u64::from(number.get()), u64::from(SequenceNumber::MODULUS), near)
}

impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        match self {
            Self::Sd { mu, .. } => Some(mu),
            _ => None,
        }
    }

    /// All octets except an SD's message: PDUs know their own size.
    fn framing(&self) -> u32 {
        self.wire_len() - self.payload().map_or(0, Payload::len)
    }

    fn data(&self, near: u64) -> Option<Range<u64>> {
        match self {
            Self::Sd { s, .. } => Some(single_number_range(unwrap_message_number(*s, near))),
            _ => None,
        }
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Stat(stat) => {
                // Runs alternate between missing and received messages (Q.2110, clause 7.2).
                let held = stat.list.get(1..).unwrap_or_default().chunks_exact(2);
                let held =
                    held.map(|run| unwrap_message_number(run[0], near)..unwrap_message_number(run[1], near));
                Some(numbers_below(unwrap_message_number(stat.r, near)).chain(held).collect())
            }
            Self::Ustat(ustat) => Some(numbers_below(unwrap_message_number(ustat.r, near)).collect()),
            _ => None,
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Sd { s, .. } => format!("SD {}", s.get()),
            Self::Poll { ps, s } => format!("POLL {}, next {}", ps.get(), s.get()),
            Self::Stat(stat) => {
                // Runs alternate between missing and received messages.
                let missing =
                    stat.list.chunks_exact(2).map(|run| format!(" {}..{}", run[0].get(), run[1].get()));
                let missing: String = missing.collect();
                let missing = if missing.is_empty() { missing } else { format!(", missing{missing}") };
                format!("STAT {}, expects {}{missing}", stat.ps.get(), stat.r.get())
            }
            Self::Ustat(ustat) => format!("USTAT, missing {}..{}", ustat.first.get(), ustat.end.get()),
            other => format!("{:?}", other.kind()).to_uppercase(),
        }
    }

    fn description(&self) -> String {
        match self {
            Self::Poll { ps, s } => format!("POLL {} with N(S) {}", ps.get(), s.get()),
            Self::Stat(stat) => {
                let list: Vec<String> = stat.list.iter().map(|number| number.get().to_string()).collect();
                let (ps, r, mr) = (stat.ps.get(), stat.r.get(), stat.mr.get());
                format!("STAT {ps} with N(R) {r}, N(MR) {mr}, list ({})", list.join(", "))
            }
            Self::Ustat(ustat) => {
                let (r, mr) = (ustat.r.get(), ustat.mr.get());
                format!("USTAT with N(R) {r}, N(MR) {mr}, list ({}, {})", ustat.first.get(), ustat.end.get())
            }
            other => other.label(),
        }
    }

    fn code(&self) -> u8 {
        self.kind() as u8
    }

    /// The control words follow the message, so the whole message must be captured.
    fn captured(&self, _connection: u32) -> CapturedBytes {
        let mut bytes = Vec::new();
        self.map(|payload| Slice::new(vec![0; payload.len() as usize])).encode(&mut bytes);
        CapturedBytes { bytes, includes_payload: true, ..CapturedBytes::default() }
    }
}

impl Wire for Pdu<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        self.encode(to);
    }

    fn decode(bytes: Slice) -> Option<Self> {
        Self::decode(&bytes).ok()
    }
}

const SD: u8 = 0;
const POLL: u8 = 1;
const STAT: u8 = 2;

impl CompactPdu for Pdu<Length> {
    /// Data-transfer PDUs, except those with lists.
    fn pack(&self) -> Option<[u8; COMPACT]> {
        let kind = |kind: u8| Packing::default().put([kind]);
        match self {
            Self::Sd { s, mu: Length(length) } => {
                kind(SD).put(low_24_bits(*s)).put(length.to_le_bytes()).done()
            }
            Self::Poll { ps, s } => kind(POLL).put(low_24_bits(*ps)).put(low_24_bits(*s)).done(),
            Self::Stat(Stat { ps, mr, r, list, rate }) if list.is_empty() => {
                let rate = rate.map_or(0, RateField::bits).to_le_bytes();
                kind(STAT).put(low_24_bits(*ps)).put(low_24_bits(*mr)).put(low_24_bits(*r)).put(rate).done()
            }
            _ => None,
        }
    }

    fn unpack(bytes: [u8; COMPACT]) -> Self {
        let number = |at| {
            let [a, b, c] = unpack_bytes(&bytes, at);
            SequenceNumber::new(u32::from_le_bytes([a, b, c, 0]))
        };
        match bytes[0] {
            SD => Self::Sd { s: number(1), mu: Length(u32::from_le_bytes(unpack_bytes(&bytes, 4))) },
            POLL => Self::Poll { ps: number(1), s: number(4) },
            _ => {
                let rate = RateField::from_bits(u16::from_le_bytes(unpack_bytes(&bytes, 10)));
                Self::Stat(Stat { ps: number(1), mr: number(4), r: number(7), list: Vec::new(), rate })
            }
        }
    }
}

/// Returns the 24 bits of a number.
fn low_24_bits(number: SequenceNumber) -> [u8; 3] {
    let [a, b, c, _] = number.get().to_le_bytes();
    [a, b, c]
}

impl<P: Payload> End for Endpoint<P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        Some(self.stats(now).common)
    }

    fn take_rtt(&mut self) -> Option<Duration> {
        self.take_rtt()
    }

    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts()
    }

    fn backlog(&self) -> u64 {
        self.backlog()
    }

    fn limit(&self) -> Option<Limit> {
        self.held_by()
    }

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::Memory(bytes) => self.set_memory(bytes),
            Notice::NewPath(_) => self.on_path_change(),
            Notice::LatePdus => self.discard_round_trip_samples(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_nearest_to_recent_ones() {
        let sd = |s| Pdu::Sd { s: SequenceNumber::new(s), mu: Length(1) };
        assert_eq!(sd(1).data((1 << 24) - 2), Some((1 << 24) + 1..(1 << 24) + 2));
    }

    #[test]
    fn sds_held_out_of_order_count_as_acknowledged() {
        let list = [3, 5, 9, 10].map(SequenceNumber::new).to_vec();
        let stat = Stat { r: SequenceNumber::new(3), list, ..Stat::default() };
        let stat = Pdu::<Length>::Stat(stat);
        assert_eq!(stat.acknowledged(7), Some(vec![0..3, 5..9]), "3, 4 and 9 are missing");
    }
}
