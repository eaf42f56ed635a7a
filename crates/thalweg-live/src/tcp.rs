//! The parts of TCP's headers that tell what its sender meets (RFC 9293), and what a node can see of its congestion.

use crate::packet::{Header, TCP};
use thalweg_proto::transport::Signal;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// The option with selective acknowledgements (RFC 2018), and those of one byte.
const SACK: u8 = 5;
const END: u8 = 0;
const NOTHING: u8 = 1;

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub sequence: u32,
    /// All before this has come, as the sender of the segment says.
    pub acknowledged: Option<u32>,
    /// Bytes of data.
    pub payload: u32,
    pub has_sack: bool,
    flags: u8,
}

/// True if a sequence number is behind another, which is less than half of all away.
pub(crate) const fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Segment {
    /// The header of a packet of IP, if there is one of TCP in it.
    pub fn parse(bytes: &[u8], header: &Header) -> Option<Self> {
        if header.protocol != TCP || header.is_later_fragment {
            return None;
        }
        let own: &[u8; 20] = bytes.get(header.at..)?.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([own[at], own[at + 1], own[at + 2], own[at + 3]]);
        let length = usize::from(own[12] >> 4) * 4;
        let options = bytes.get(header.at + 20..header.at + length.max(20))?;
        Some(Self {
            sequence: word(4),
            acknowledged: (own[13] & ACK != 0).then(|| word(8)),
            payload: u32::try_from(bytes.len() - header.at - length.max(20)).ok()?,
            has_sack: has_sack(options),
            flags: own[13],
        })
    }

    /// The sequence number behind its data, and its FIN if it has one.
    pub const fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.payload).wrapping_add(self.is_last() as u32)
    }

    /// It says that its sender has no more data.
    pub const fn is_last(&self) -> bool {
        self.flags & FIN != 0
    }

    /// It asks for a connection.
    pub const fn is_first(&self) -> bool {
        self.has(SYN) && self.acknowledged.is_none()
    }

    /// It has nothing but an acknowledgement.
    pub const fn is_bare(&self) -> bool {
        self.payload == 0 && self.flags & (SYN | FIN | RST) == 0 && self.acknowledged.is_some()
    }

    /// It breaks the connection off.
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
            END => return false,
            NOTHING => 1,
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

/// The view that a node has of one of its TCP senders, from the segments that pass it in both directions.
///
/// | the sender meets | seen as |
/// | --- | --- |
/// | a time-out | the first segment that is not acknowledged goes again, and nothing came before that says that later ones arrived |
/// | third duplicates, or what says the same | a segment goes again after acknowledgements without progress, or with SACK |
/// | a mark | an acknowledgement with ECE, until this end says CWR |
/// | a probe for the loss of the last segments (RFC 8985, section 7) | a later segment goes again, and no acknowledgement was without progress: no sign |
///
/// Of what is sent again within one episode only the first segment is a sign: all below the highest sequence number at that time
/// belongs to it (RFC 6582, section 3.2). A segment that goes yet again is another time-out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// All before this is acknowledged.
    acknowledged: u32,
    /// The highest sequence number that was sent, and one.
    next: u32,
    /// The episode of loss goes on up to here.
    recover: u32,
    /// Acknowledgements without progress.
    duplicates: u32,
    /// The last segment that went again.
    again: Option<u32>,
    /// The peer tells of a mark that was heard.
    marked: bool,
    /// All data has been sent.
    closing: bool,
}

impl Sender {
    /// A sender, at its first segment with data.
    pub fn new(first: &Segment) -> Self {
        let start = first.sequence;
        Self {
            acknowledged: start,
            next: start,
            recover: start,
            duplicates: 0,
            again: None,
            marked: false,
            closing: false,
        }
    }

    /// It sends a segment; the sign of congestion that this is.
    pub fn on_sent(&mut self, segment: &Segment) -> Option<Signal> {
        if segment.has(CWR) {
            self.marked = false;
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
        let once_more = self.again.replace(segment.sequence) == Some(segment.sequence);
        let in_episode = is_after(self.recover, segment.sequence);
        if in_episode && !once_more {
            return None;
        }
        let signal = match (self.duplicates, is_first) {
            (1.., _) => Signal::Duplicates,
            (0, true) => Signal::Timeout,
            (0, false) => return None,
        };
        self.recover = self.next;
        Some(signal)
    }

    /// A segment came for it; the sign of congestion that this is.
    pub fn on_heard(&mut self, segment: &Segment) -> Option<Signal> {
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
        (is_marked && !core::mem::replace(&mut self.marked, true)).then_some(Signal::Mark)
    }

    /// Not all that it sent is acknowledged.
    pub const fn is_waiting(&self) -> bool {
        is_after(self.next, self.acknowledged)
    }

    /// It has sent all, and all is acknowledged.
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

    /// Ten segments of 100 bytes from `start`.
    fn sent(start: u32) -> Sender {
        let mut sender = Sender::new(&data(start, 100));
        for number in 0..10 {
            assert_eq!(sender.on_sent(&data(start.wrapping_add(100 * number), 100)), None);
        }
        sender
    }

    #[test]
    fn a_third_duplicate_is_told_from_a_time_out() {
        // The sequence numbers go round in the middle.
        let start = u32::MAX - 450;
        let mut sender = sent(start);
        for _ in 0..3 {
            assert_eq!(sender.on_heard(&ack(start, true, 0)), None);
        }
        assert_eq!(sender.on_sent(&data(start, 100)), Some(Signal::Duplicates));
        // Further repairs of the same episode.
        assert_eq!(sender.on_sent(&data(start.wrapping_add(300), 100)), None);
        sender.on_heard(&ack(start.wrapping_add(300), true, 0));
        assert_eq!(sender.on_sent(&data(start.wrapping_add(500), 100)), None);
        // All is acknowledged, and what is lost later is another.
        sender.on_heard(&ack(start.wrapping_add(1000), false, 0));
        assert!(!sender.is_waiting());
        sender.on_sent(&data(start.wrapping_add(1000), 100));
        assert_eq!(sender.on_sent(&data(start.wrapping_add(1000), 100)), Some(Signal::Timeout));
        assert_eq!(sender.on_sent(&data(start.wrapping_add(1000), 100)), Some(Signal::Timeout));
    }

    #[test]
    fn what_follows_a_time_out_belongs_to_it() {
        let mut sender = sent(1000);
        assert_eq!(sender.on_sent(&data(1000, 100)), Some(Signal::Timeout));
        sender.on_heard(&ack(1100, false, 0));
        assert_eq!(sender.on_sent(&data(1100, 100)), None);
        assert_eq!(sender.on_sent(&data(1200, 100)), None);
    }

    #[test]
    fn a_probe_for_the_last_segment_is_no_sign() {
        let mut sender = sent(1000);
        assert_eq!(sender.on_sent(&data(1900, 100)), None);
    }

    #[test]
    fn a_mark_counts_once_until_it_is_answered() {
        let mut sender = sent(1000);
        assert_eq!(sender.on_heard(&ack(1100, false, ECE)), Some(Signal::Mark));
        assert_eq!(sender.on_heard(&ack(1200, false, ECE)), None);
        let answer = Segment { flags: ACK | CWR, ..data(2000, 100) };
        assert_eq!(sender.on_sent(&answer), None);
        assert_eq!(sender.on_heard(&ack(1300, false, ECE)), Some(Signal::Mark));
    }

    #[test]
    fn a_sender_is_done_when_its_end_is_acknowledged() {
        let mut sender = sent(1000);
        let last = Segment { flags: ACK | FIN, ..data(2000, 0) };
        sender.on_sent(&last);
        sender.on_heard(&ack(2000, false, 0));
        assert!(!sender.is_done());
        sender.on_heard(&ack(2001, false, 0));
        assert!(sender.is_done());
    }

    #[test]
    fn options_are_read_to_their_end() {
        let sack = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(has_sack(&sack) && !has_sack(&sack[..14]));
        assert!(!has_sack(&[0, 5]) && !has_sack(&[8, 0, 5]) && !has_sack(&[8]));
    }
}
