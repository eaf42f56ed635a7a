//! Parsing of TCP headers (RFC 9293), and detection of congestion from passing segments.

use crate::ip_header::{Header, TCP};
use thalweg_proto::transport::Signal;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// Option kinds: selective acknowledgement (RFC 2018), end of list and no-operation (one byte each).
const SACK: u8 = 5;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;

/// TCP segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub sequence: u32,
    /// Cumulative acknowledgement number.
    pub acknowledged: Option<u32>,
    /// Payload, in bytes.
    pub payload: u32,
    pub has_sack: bool,
    flags: u8,
}

/// Returns true if sequence number `a` is after `b`, modulo 2^32.
pub(crate) const fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Segment {
    /// Parses the TCP header of an IP packet, if it has one.
    pub fn parse(bytes: &[u8], header: &Header) -> Option<Self> {
        if header.protocol != TCP || header.is_later_fragment {
            return None;
        }
        let tcp_header: &[u8; 20] = bytes.get(header.transport_offset..)?.first_chunk()?;
        let word = |at: usize| {
            u32::from_be_bytes([tcp_header[at], tcp_header[at + 1], tcp_header[at + 2], tcp_header[at + 3]])
        };
        let length = usize::from(tcp_header[12] >> 4) * 4;
        let options = bytes.get(header.transport_offset + 20..header.transport_offset + length.max(20))?;
        Some(Self {
            sequence: word(4),
            acknowledged: (tcp_header[13] & ACK != 0).then(|| word(8)),
            payload: u32::try_from(bytes.len() - header.transport_offset - length.max(20)).ok()?,
            has_sack: has_sack(options),
            flags: tcp_header[13],
        })
    }

    /// Returns the sequence number after the segment's data and FIN.
    pub const fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.payload).wrapping_add(self.is_last() as u32)
    }

    /// Returns true for a FIN.
    pub const fn is_last(&self) -> bool {
        self.flags & FIN != 0
    }

    /// Returns true for the SYN of a new connection.
    pub const fn is_first(&self) -> bool {
        self.has(SYN) && self.acknowledged.is_none()
    }

    /// Returns true for a pure acknowledgement.
    pub const fn is_pure_ack(&self) -> bool {
        self.payload == 0 && self.flags & (SYN | FIN | RST) == 0 && self.acknowledged.is_some()
    }

    /// Returns true for a RST.
    pub const fn is_reset(&self) -> bool {
        self.flags & RST != 0
    }

    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

fn has_sack(mut options: &[u8]) -> bool {
    while let Some((&kind, rest)) = options.split_first() {
        let length = match kind {
            END_OF_OPTIONS => return false,
            NO_OPERATION => 1,
            SACK => return true,
            _ => match rest.first() {
                Some(length @ 2..) => usize::from(*length),
                _ => return false,
            },
        };
        options = options.get(length..).unwrap_or_default();
    }
    false
}

/// TCP sender state as a node infers it from the segments of both directions.
///
/// | event at the sender | observation |
/// | --- | --- |
/// | timeout | the first unacknowledged segment is retransmitted, and no earlier acknowledgement indicated that later segments arrived |
/// | three duplicate acknowledgements, or equivalent | a segment is retransmitted after acknowledgements without progress, or with SACK |
/// | mark | an acknowledgement with ECE, until this end sends CWR |
/// | tail loss probe (RFC 8985, section 7) | a later segment is retransmitted, and every acknowledgement made progress: no signal |
///
/// Only the first retransmission of a loss episode is a signal: the episode covers everything below the highest
/// sequence number sent at that time (RFC 6582, section 3.2). A second retransmission of one segment is another
/// timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// Highest cumulative acknowledgement.
    acknowledged: u32,
    /// Highest sequence number sent, plus one.
    next: u32,
    /// End of the current loss episode.
    recover: u32,
    /// Number of duplicate acknowledgements.
    duplicates: u32,
    /// Last retransmitted segment.
    last_retransmitted: Option<u32>,
    /// True while the peer echoes a mark that was already counted.
    echoes_mark: bool,
    /// True once all data has been sent.
    closing: bool,
}

impl Sender {
    /// Creates the state at the first data segment.
    pub fn new(first: &Segment) -> Self {
        let start = first.sequence;
        Self {
            acknowledged: start,
            next: start,
            recover: start,
            duplicates: 0,
            last_retransmitted: None,
            echoes_mark: false,
            closing: false,
        }
    }

    /// Handles a segment that the sender sends; returns the congestion signal, if any.
    pub fn on_sent(&mut self, segment: &Segment) -> Option<Signal> {
        if segment.has(CWR) {
            self.echoes_mark = false;
        }
        self.closing |= segment.is_last();
        let end = segment.end();
        if segment.payload == 0 || is_after(end, self.next) {
            if is_after(end, self.next) {
                self.next = end;
            }
            return None;
        }
        let is_first = segment.sequence == self.acknowledged;
        let is_repeated = self.last_retransmitted.replace(segment.sequence) == Some(segment.sequence);
        let in_episode = is_after(self.recover, segment.sequence);
        if in_episode && !is_repeated {
            return None;
        }
        let signal = match (self.duplicates, is_first) {
            (1.., _) => Signal::Loss,
            (0, true) => Signal::Timeout,
            (0, false) => return None,
        };
        self.recover = self.next;
        Some(signal)
    }

    /// Handles a segment that the sender receives; returns the congestion signal, if any.
    pub fn on_received(&mut self, segment: &Segment) -> Option<Signal> {
        let acknowledged = segment.acknowledged?;
        if is_after(acknowledged, self.acknowledged) {
            self.acknowledged = acknowledged;
            self.duplicates = u32::from(segment.has_sack);
        } else if segment.has_sack
            || (acknowledged == self.acknowledged && segment.payload == 0 && self.is_waiting())
        {
            self.duplicates += 1;
        }
        let is_marked = segment.has(ECE) && !segment.has(SYN);
        (is_marked && !core::mem::replace(&mut self.echoes_mark, true)).then_some(Signal::Mark)
    }

    /// Returns true while data is unacknowledged.
    pub const fn is_waiting(&self) -> bool {
        is_after(self.next, self.acknowledged)
    }

    /// Returns true once all data is sent and acknowledged.
    pub const fn is_done(&self) -> bool {
        self.closing && !self.is_waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(sequence: u32, payload: u32) -> Segment {
        Segment { sequence, acknowledged: Some(1), payload, has_sack: false, flags: ACK }
    }

    fn ack(acknowledged: u32, has_sack: bool, flags: u8) -> Segment {
        Segment { sequence: 1, acknowledged: Some(acknowledged), payload: 0, has_sack, flags: ACK | flags }
    }

    /// Returns a sender of ten 100-byte segments from `start`.
    fn sender_of_ten_segments(start: u32) -> Sender {
        let mut sender = Sender::new(&data(start, 100));
        for number in 0..10 {
            assert_eq!(sender.on_sent(&data(start.wrapping_add(100 * number), 100)), None);
        }
        sender
    }

    #[test]
    fn third_duplicates_are_distinguished_from_timeouts() {
        // Sequence numbers wrap in the middle.
        let start = u32::MAX - 450;
        let mut sender = sender_of_ten_segments(start);
        for _ in 0..3 {
            assert_eq!(sender.on_received(&ack(start, true, 0)), None);
        }
        assert_eq!(sender.on_sent(&data(start, 100)), Some(Signal::Loss));
        // Further retransmissions of the same episode.
        assert_eq!(sender.on_sent(&data(start.wrapping_add(300), 100)), None);
        sender.on_received(&ack(start.wrapping_add(300), true, 0));
        assert_eq!(sender.on_sent(&data(start.wrapping_add(500), 100)), None);
        // Everything is acknowledged; a later loss starts a new episode.
        sender.on_received(&ack(start.wrapping_add(1000), false, 0));
        assert!(!sender.is_waiting());
        sender.on_sent(&data(start.wrapping_add(1000), 100));
        assert_eq!(sender.on_sent(&data(start.wrapping_add(1000), 100)), Some(Signal::Timeout));
        assert_eq!(sender.on_sent(&data(start.wrapping_add(1000), 100)), Some(Signal::Timeout));
    }

    #[test]
    fn retransmissions_after_a_timeout_belong_to_it() {
        let mut sender = sender_of_ten_segments(1000);
        assert_eq!(sender.on_sent(&data(1000, 100)), Some(Signal::Timeout));
        sender.on_received(&ack(1100, false, 0));
        assert_eq!(sender.on_sent(&data(1100, 100)), None);
        assert_eq!(sender.on_sent(&data(1200, 100)), None);
    }

    #[test]
    fn a_probe_for_the_last_segment_is_no_sign() {
        let mut sender = sender_of_ten_segments(1000);
        assert_eq!(sender.on_sent(&data(1900, 100)), None);
    }

    #[test]
    fn a_mark_counts_once_until_it_is_answered() {
        let mut sender = sender_of_ten_segments(1000);
        assert_eq!(sender.on_received(&ack(1100, false, ECE)), Some(Signal::Mark));
        assert_eq!(sender.on_received(&ack(1200, false, ECE)), None);
        let answer = Segment { flags: ACK | CWR, ..data(2000, 100) };
        assert_eq!(sender.on_sent(&answer), None);
        assert_eq!(sender.on_received(&ack(1300, false, ECE)), Some(Signal::Mark));
    }

    #[test]
    fn a_sender_is_done_when_its_end_is_acknowledged() {
        let mut sender = sender_of_ten_segments(1000);
        let last = Segment { flags: ACK | FIN, ..data(2000, 0) };
        sender.on_sent(&last);
        sender.on_received(&ack(2000, false, 0));
        assert!(!sender.is_done());
        sender.on_received(&ack(2001, false, 0));
        assert!(sender.is_done());
    }

    #[test]
    fn options_are_read_to_their_end() {
        let sack = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(has_sack(&sack) && !has_sack(&sack[..14]));
        assert!(!has_sack(&[0, 5]) && !has_sack(&[8, 0, 5]) && !has_sack(&[8]));
    }
}
