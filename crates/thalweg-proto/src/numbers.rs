//! The data that a packet carries, and the data that an acknowledgement is for, in numbers that never repeat: for logs
//! that have to treat all protocols alike.

use crate::payload::{Length, Payload, Slice};
use crate::{aack, sscop, sstp, window};
use core::ops::Range;
use std::collections::BTreeMap;

/// A PDU whose data has numbers: positions in the stream for the window transport, numbers of messages for the others.
///
/// Numbers that wrap on the wire are those next to `near`, a number that the connection has used lately.
pub trait Numbered {
    /// The numbers of the data in this packet; `None` if it has none.
    fn data(&self, near: u64) -> Option<Range<u64>>;

    /// The data that it acknowledges; `None` if it is not an acknowledgement.
    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>>;

    /// The application data that the PDU carries, in bytes; 0 without.
    fn length(&self) -> u32;
}

impl<P: Payload> Numbered for window::Pdu<P> {
    fn data(&self, _near: u64) -> Option<Range<u64>> {
        match self {
            Self::Segment(segment) => Some(segment.sequence..segment.end()),
            Self::Ack(_) => None,
        }
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        let Self::Ack(ack) = self else { return None };
        let at = |offset: u32| ack.cumulative.saturating_add(u64::from(offset));
        let blocks = ack.sack.iter().filter(|block| !block.is_empty());
        let held = blocks.map(|block| at(block.start)..at(block.end));
        Some(below(ack.cumulative).chain(held).collect())
    }

    fn length(&self) -> u32 {
        match self {
            Self::Segment(segment) => segment.payload.len(),
            Self::Ack(_) => 0,
        }
    }
}

impl<P: Payload> Numbered for aack::Pdu<P> {
    fn data(&self, _near: u64) -> Option<Range<u64>> {
        match self {
            Self::Data(data) => Some(one(data.sequence)),
            Self::Ack(_) => None,
        }
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Ack(report) => Some(below(report.cumulative).collect()),
            Self::Data(_) => None,
        }
    }

    fn length(&self) -> u32 {
        match self {
            Self::Data(data) => data.payload.len(),
            Self::Ack(_) => 0,
        }
    }
}

impl<P: Payload> Numbered for sscop::Pdu<P> {
    fn data(&self, near: u64) -> Option<Range<u64>> {
        match self {
            Self::Sd { s, .. } => Some(one(message(*s, near))),
            _ => None,
        }
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Stat(stat) => {
                // Runs begin in turn of missing and of received messages (Q.2110, clause 7.2).
                let held = stat.list.get(1..).unwrap_or_default().chunks_exact(2);
                let held = held.map(|run| message(run[0], near)..message(run[1], near));
                Some(below(message(stat.r, near)).chain(held).collect())
            }
            Self::Ustat(ustat) => Some(below(message(ustat.r, near)).collect()),
            _ => None,
        }
    }

    fn length(&self) -> u32 {
        match self {
            Self::Sd { mu, .. } => mu.len(),
            _ => 0,
        }
    }
}

impl<P: Payload> Numbered for sstp::Pdu<P> {
    fn data(&self, near: u64) -> Option<Range<u64>> {
        match self {
            Self::Data(data) => Some(one(segment(data.segment, near) | u64::from(data.packet))),
            _ => None,
        }
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Pack(report) => {
                let accepted = segment(report.accepted, near);
                Some(vec![0..segment(report.cumulative, near), accepted..accepted + PACKETS])
            }
            Self::Snak(report, request) => {
                let first = segment(request.segment, near);
                let held = (0..request.bitmap.len()).filter(|packet| request.bitmap.has(*packet));
                let held = held.map(|packet| one(first + u64::from(packet)));
                Some(below(segment(report.cumulative, near)).chain(held).collect())
            }
            _ => None,
        }
    }

    fn length(&self) -> u32 {
        match self {
            Self::Data(data) => data.payload.len(),
            _ => 0,
        }
    }
}

/// Datagrams are not numbered.
macro_rules! unnumbered {
    ($($payload:ty),*) => {$(
        impl Numbered for $payload {
            fn data(&self, _near: u64) -> Option<Range<u64>> {
                None
            }

            fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
                None
            }

            fn length(&self) -> u32 {
                self.len()
            }
        }
    )*};
}

unnumbered!(Length, Slice);

fn one(number: u64) -> Range<u64> {
    number..number.saturating_add(1)
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

/// Takes out of `open`, by the first number of their data, the entries whose data lies within one of `ranges`; `end` gives
/// the number after their last.
pub fn take_within<T>(open: &mut BTreeMap<u64, T>, ranges: &[Range<u64>], end: impl Fn(&T) -> u64) -> Vec<T> {
    let mut taken = Vec::new();
    for range in ranges.iter().filter(|range| range.start < range.end) {
        let within = open.range(range.clone()).filter(|(_, entry)| end(entry) <= range.end);
        let starts: Vec<u64> = within.map(|(start, _)| *start).collect();
        taken.extend(starts.iter().filter_map(|start| open.remove(start)));
    }
    taken
}

/// Numbers, each of which is there once, as ascending ranges with their ends included.
pub fn merged(mut numbers: Vec<u64>) -> Box<[(u64, u64)]> {
    numbers.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match merged.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => merged.push((number, number)),
        }
    }
    merged.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::SackBlock;

    #[test]
    fn numbers_that_wrap_are_those_nearby() {
        assert_eq!(unwrap(5, 16, 3), 5);
        assert_eq!(unwrap(15, 16, 1), 15, "nothing is below zero");
        assert_eq!(unwrap(15, 16, 33), 31);
        assert_eq!(unwrap(1, 16, 31), 33);
        let sd = |s| sscop::Pdu::Sd { s: sscop::Number::new(s), mu: Length(1) };
        assert_eq!(sd(1).data((1 << 24) - 2), Some((1 << 24) + 1..(1 << 24) + 2));
    }

    #[test]
    fn what_lies_wholly_within_a_range_is_taken_and_numbers_are_merged() {
        // By their first numbers: the numbers after the last.
        let mut open = BTreeMap::from([(0, 2), (2, 5), (5, 6), (9, 12)]);
        let ranges = [Range { start: 4, end: 3 }, 0..5, 8..11];
        assert_eq!(take_within(&mut open, &ranges, |end| *end), [2, 5]);
        assert_eq!(open, BTreeMap::from([(5, 6), (9, 12)]));
        assert_eq!(*merged(vec![4, 1, 2, 9, 3]), [(1, 4), (9, 9)]);
        assert_eq!(*merged(Vec::new()), []);
    }

    #[test]
    fn what_a_receiver_holds_out_of_order_is_acknowledged() {
        let mut ack = window::Ack { cumulative: 5000, ..window::Ack::default() };
        ack.sack[0] = SackBlock { start: 1000, end: 2000 };
        let ack = window::Pdu::<Length>::Ack(ack);
        assert_eq!(ack.acknowledged(0), Some(vec![0..5000, 6000..7000]));
        let list = [3, 5, 9, 10].map(sscop::Number::new).to_vec();
        let stat = sscop::Stat { r: sscop::Number::new(3), list, ..sscop::Stat::default() };
        let stat = sscop::Pdu::<Length>::Stat(stat);
        assert_eq!(stat.acknowledged(7), Some(vec![0..3, 5..9]), "3, 4 and 9 are missing");
        let report = sstp::Report { control: 1, accepted: 1, cumulative: 2, limit: 9 };
        let bitmap = sstp::Bitmap::from_bytes(&[0b1100_0000]);
        let snak = sstp::Pdu::<Length>::Snak(report, sstp::Request { segment: 2, bitmap });
        let first = 2 * PACKETS;
        let expected = vec![0..first, first..first + 1, first + 1..first + 2];
        assert_eq!(snak.acknowledged(3 * PACKETS), Some(expected));
    }
}
