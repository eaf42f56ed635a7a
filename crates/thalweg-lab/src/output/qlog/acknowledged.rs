//! Which data a packet carries, and which data an acknowledgement is for, in numbers that never repeat.

use core::ops::Range;
use thalweg_proto::{aack, sscop, sstp, window};
use thalweg_sim::Pdu;

/// The numbers of the data in a packet: positions in the stream for the window transport, numbers of messages for the
/// others. `near` is a number that the connection has used lately; numbers that wrap on the wire are those next to it.
pub(super) fn data(pdu: &Pdu, near: u64) -> Option<Range<u64>> {
    let one = |number: u64| number..number.saturating_add(1);
    match pdu {
        Pdu::Window(window::Pdu::Segment(segment)) => Some(segment.sequence..segment.end()),
        Pdu::AdaptiveAck(aack::Pdu::Data(data)) => Some(one(data.sequence)),
        Pdu::Sscop(sscop::Pdu::Sd { s, .. }) => Some(one(message(*s, near))),
        Pdu::Sstp(sstp::Pdu::Data(data)) => Some(one(segment(data.segment, near) | u64::from(data.packet))),
        _ => None,
    }
}

/// The data that a packet acknowledges, in the numbers of [`data`]; `None` if it is not an acknowledgement.
pub(super) fn acknowledged(pdu: &Pdu, near: u64) -> Option<Vec<Range<u64>>> {
    match pdu {
        Pdu::Window(window::Pdu::Ack(ack)) => {
            let at = |offset: u32| ack.cumulative.saturating_add(u64::from(offset));
            let blocks = ack.sack.iter().filter(|block| !block.is_empty());
            let held = blocks.map(|block| at(block.start)..at(block.end));
            Some(below(ack.cumulative).chain(held).collect())
        }
        Pdu::AdaptiveAck(aack::Pdu::Ack(report)) => Some(below(report.cumulative).collect()),
        Pdu::Sscop(sscop::Pdu::Stat(stat)) => {
            // Runs begin in turn of missing and of received messages (Q.2110, clause 7.2).
            let held = stat.list.get(1..).unwrap_or_default().chunks_exact(2);
            let held = held.map(|run| message(run[0], near)..message(run[1], near));
            Some(below(message(stat.r, near)).chain(held).collect())
        }
        Pdu::Sscop(sscop::Pdu::Ustat(ustat)) => Some(below(message(ustat.r, near)).collect()),
        Pdu::Sstp(sstp::Pdu::Pack(report)) => {
            let accepted = segment(report.accepted, near);
            Some(vec![0..segment(report.cumulative, near), accepted..accepted + PACKETS])
        }
        Pdu::Sstp(sstp::Pdu::Snak(report, request)) => {
            let first = segment(request.segment, near);
            let held = (0..request.bitmap.len()).filter(|packet| request.bitmap.has(*packet));
            let held = held.map(|packet| first + u64::from(packet)..first + u64::from(packet) + 1);
            Some(below(segment(report.cumulative, near)).chain(held).collect())
        }
        _ => None,
    }
}

/// All up to a number, which is not among them.
fn below(end: u64) -> impl Iterator<Item = Range<u64>> {
    core::iter::once(0..end)
}

fn message(number: sscop::Number, near: u64) -> u64 {
    unwrap(u64::from(number.get()), u64::from(sscop::Number::MODULUS), near)
}

/// The number of a segment's first packet.
fn segment(number: u16, near: u64) -> u64 {
    unwrap(u64::from(number), 1 << 16, near / PACKETS) * PACKETS
}

/// The number next to `near` that is `number` modulo `modulus`; not below zero.
fn unwrap(number: u64, modulus: u64, near: u64) -> u64 {
    let above = near - near % modulus + number;
    if above > near + modulus / 2 && above >= modulus {
        above - modulus
    } else if above + modulus / 2 < near {
        above + modulus
    } else {
        above
    }
}

/// Numbers set aside for the packets of a segment.
const PACKETS: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::payload::Length;
    use thalweg_proto::window::SackBlock;

    #[test]
    fn numbers_that_wrap_are_those_nearby() {
        assert_eq!(unwrap(5, 16, 3), 5);
        assert_eq!(unwrap(15, 16, 1), 15, "nothing is below zero");
        assert_eq!(unwrap(15, 16, 33), 31);
        assert_eq!(unwrap(1, 16, 31), 33);
        let sd = |s| Pdu::Sscop(sscop::Pdu::Sd { s: sscop::Number::new(s), mu: Length(1) });
        assert_eq!(data(&sd(1), (1 << 24) - 2), Some((1 << 24) + 1..(1 << 24) + 2));
    }

    #[test]
    fn what_a_receiver_holds_out_of_order_is_acknowledged() {
        let mut ack = window::Ack { cumulative: 5000, ..window::Ack::default() };
        ack.sack[0] = SackBlock { start: 1000, end: 2000 };
        let ack = Pdu::Window(window::Pdu::Ack(ack));
        assert_eq!(acknowledged(&ack, 0), Some(vec![0..5000, 6000..7000]));
        let list = [3, 5, 9, 10].map(sscop::Number::new).to_vec();
        let stat = sscop::Stat { r: sscop::Number::new(3), list, ..sscop::Stat::default() };
        let stat = Pdu::Sscop(sscop::Pdu::Stat(stat));
        assert_eq!(acknowledged(&stat, 7), Some(vec![0..3, 5..9]), "3, 4 and 9 are missing");
        let report = sstp::Report { control: 1, accepted: 1, cumulative: 2, limit: 9 };
        let bitmap = sstp::Bitmap::from_bytes(&[0b1100_0000]);
        let snak = Pdu::Sstp(sstp::Pdu::Snak(report, sstp::Request { segment: 2, bitmap }));
        let first = 2 * PACKETS;
        let expected = vec![0..first, first..first + 1, first + 1..first + 2];
        assert_eq!(acknowledged(&snak, 3 * PACKETS), Some(expected));
    }
}
