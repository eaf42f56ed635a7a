//! Encoding of frames, the plaintext of a protected packet.
//!
//! | type | frame | bytes after the type |
//! | --- | --- | --- |
//! | 0 | padding | none |
//! | 1 | ping | token of 8 bytes |
//! | 2 | pong | the token of the ping |
//! | 3 | path-MTU probe | size of the datagram in 2 bytes; the datagram is padded to this size |
//! | 4 | probe acknowledgement | the size of the probe in 2 bytes |
//! | 5 | path challenge | 8 random bytes |
//! | 6 | path response | the bytes of the challenge |
//! | 7 | close | code in 2 bytes; 1 if the stream from the receiver of this frame has arrived completely, else 0; length in 2 bytes; reason in UTF-8 |
//! | 8 | PDU | flow in 2 bytes, PDU up to the end of the packet |
//! | 9 | PDU of given length | flow in 2 bytes, length in 2 bytes, PDU |
//! | 10 | datagram of the application | 1 to [`MAX_DATAGRAM`] bytes, up to the end of the packet |
//!
//! A flow is one direction of a stream: number 2n carries stream n from the client, 2n + 1 from the server. PDUs of
//! both ends of a flow carry its number.

use super::{AEAD_TAG, HEADER, SAFE_DATAGRAM};
use core::ops::Range;

/// Flow number of a PDU.
pub type FlowNumber = u16;

/// Header size of a PDU that extends to the end of its packet, in bytes.
pub const PDU_HEADER: usize = 3;

/// Maximum length of the reason of a close, in bytes.
pub const MAX_REASON: usize = 256;

/// Maximum length of an application datagram, in bytes: alone in a packet it fits every path.
pub const MAX_DATAGRAM: usize = SAFE_DATAGRAM as usize - HEADER - AEAD_TAG - 1;

/// Frame of a protected packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Request for a pong.
    Ping(u64),
    /// Answer to a ping.
    Pong(u64),
    /// Path MTU probe of this size, in bytes.
    Probe(u16),
    /// Acknowledgement of a probe of this size.
    ProbeAck(u16),
    /// Path challenge, for address validation.
    Challenge([u8; 8]),
    /// Response to a challenge.
    Response([u8; 8]),
    /// Close of the connection.
    Close {
        /// Code for programs.
        code: u16,
        /// True if the sender of this frame has received all of the peer's stream.
        received_all: bool,
        /// Reason for people.
        reason: &'a str,
    },
    /// PDU of a flow's engine.
    Pdu {
        /// Flow number.
        flow: FlowNumber,
        /// Range of the PDU in the payload.
        range: Range<usize>,
    },
    /// Unreliable application datagram.
    Datagram(&'a [u8]),
}

/// Error for malformed frames. The peer is authenticated, so this is a protocol violation of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedFrame;

mod kind {
    pub const PADDING: u8 = 0;
    pub const PING: u8 = 1;
    pub const PONG: u8 = 2;
    pub const PROBE: u8 = 3;
    pub const PROBE_ACK: u8 = 4;
    pub const CHALLENGE: u8 = 5;
    pub const RESPONSE: u8 = 6;
    pub const CLOSE: u8 = 7;
    pub const PDU_TO_END: u8 = 8;
    pub const PDU: u8 = 9;
    pub const DATAGRAM: u8 = 10;
}

/// Iterator over the frames of a payload.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    payload: &'a [u8],
    at: usize,
}

impl<'a> Frames<'a> {
    /// Returns the frames of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { payload, at: 0 }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MalformedFrame> {
        let (bytes, _) = self.payload[self.at..].split_first_chunk::<N>().ok_or(MalformedFrame)?;
        self.at += N;
        Ok(*bytes)
    }

    fn take_range(&mut self, length: usize) -> Result<Range<usize>, MalformedFrame> {
        let end = self.at + length;
        if end > self.payload.len() {
            return Err(MalformedFrame);
        }
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    #[inline]
    fn take_u16(&mut self) -> Result<u16, MalformedFrame> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    fn take_u64(&mut self) -> Result<u64, MalformedFrame> {
        Ok(u64::from_be_bytes(self.take()?))
    }

    /// Parses any other frame.
    #[inline(never)]
    fn read(&mut self, kind: u8) -> Result<Frame<'a>, MalformedFrame> {
        Ok(match kind {
            kind::PING => Frame::Ping(self.take_u64()?),
            kind::PONG => Frame::Pong(self.take_u64()?),
            kind::PROBE => Frame::Probe(self.take_u16()?),
            kind::PROBE_ACK => Frame::ProbeAck(self.take_u16()?),
            kind::CHALLENGE => Frame::Challenge(self.take()?),
            kind::RESPONSE => Frame::Response(self.take()?),
            kind::CLOSE => {
                let code = self.take_u16()?;
                let [received_all] = self.take()?;
                let length = usize::from(self.take_u16()?);
                let range = self.take_range(length)?;
                let reason = core::str::from_utf8(&self.payload[range]).map_err(|_| MalformedFrame)?;
                Frame::Close { code, received_all: received_all == 1, reason }
            }
            kind::PDU => {
                let flow = self.take_u16()?;
                let length = usize::from(self.take_u16()?);
                Frame::Pdu { flow, range: self.take_range(length)? }
            }
            kind::DATAGRAM => {
                let range = self.take_range(self.payload.len() - self.at)?;
                if !(1..=MAX_DATAGRAM).contains(&range.len()) {
                    return Err(MalformedFrame);
                }
                Frame::Datagram(&self.payload[range])
            }
            _ => return Err(MalformedFrame),
        })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, MalformedFrame>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let kind = *self.payload.get(self.at)?;
            self.at += 1;
            let frame = match kind {
                kind::PADDING => continue,
                // Nearly all packets have only this frame; handling it here saves a call.
                kind::PDU_TO_END => self.take_u16().map(|flow| {
                    let range = self.at..self.payload.len();
                    self.at = range.end;
                    Frame::Pdu { flow, range }
                }),
                kind => self.read(kind),
            };
            if frame.is_err() {
                self.at = self.payload.len();
            }
            return Some(frame);
        }
    }
}

impl Frame<'_> {
    /// Appends the frame. Use [`begin_pdu`] for a PDU, since its engine writes it.
    pub fn write(&self, into: &mut Vec<u8>) {
        match *self {
            Frame::Ping(token) => append_tagged(into, kind::PING, &token.to_be_bytes()),
            Frame::Pong(token) => append_tagged(into, kind::PONG, &token.to_be_bytes()),
            Frame::Probe(size) => append_tagged(into, kind::PROBE, &size.to_be_bytes()),
            Frame::ProbeAck(size) => append_tagged(into, kind::PROBE_ACK, &size.to_be_bytes()),
            Frame::Challenge(ref token) => append_tagged(into, kind::CHALLENGE, token),
            Frame::Response(ref token) => append_tagged(into, kind::RESPONSE, token),
            Frame::Close { code, received_all, reason } => {
                let mut length = reason.len().min(MAX_REASON);
                while !reason.is_char_boundary(length) {
                    length -= 1;
                }
                append_tagged(into, kind::CLOSE, &code.to_be_bytes());
                into.push(u8::from(received_all));
                // Fits: the reason has a maximum length.
                into.extend_from_slice(&(length as u16).to_be_bytes());
                into.extend_from_slice(&reason.as_bytes()[..length]);
            }
            Frame::Datagram(bytes) => append_tagged(into, kind::DATAGRAM, bytes),
            Frame::Pdu { .. } => {}
        }
    }
}

fn append_tagged(into: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    into.push(kind);
    into.extend_from_slice(bytes);
}

/// Begins a PDU that extends to the end of its packet; append its bytes afterwards.
#[inline]
pub fn begin_pdu(into: &mut Vec<u8>, flow: FlowNumber) {
    let [high, low] = flow.to_be_bytes();
    into.extend_from_slice(&[kind::PDU_TO_END, high, low]);
}

#[cfg(test)]
mod tests {
    //! Tests that frames round-trip and that hostile payloads yield an error.
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_are_read_as_they_are_written() {
        let frames = [
            Frame::Ping(1),
            Frame::Pong(u64::MAX),
            Frame::Probe(1400),
            Frame::ProbeAck(9000),
            Frame::Challenge([1; 8]),
            Frame::Response([2; 8]),
            Frame::Close { code: 7, received_all: true, reason: "gone fishing" },
        ];
        let mut bytes = Vec::new();
        for frame in &frames {
            frame.write(&mut bytes);
            bytes.push(0);
        }
        begin_pdu(&mut bytes, 513);
        let start = bytes.len();
        bytes.extend_from_slice(b"pdu");
        let read: Vec<_> = Frames::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(read[..frames.len()], frames);
        assert_eq!(read[frames.len()..], [Frame::Pdu { flow: 513, range: start..start + 3 }]);
    }

    #[test]
    fn pdus_of_given_length_share_a_packet() {
        let bytes = [9, 0, 1, 0, 2, 0xaa, 0xbb, 9, 0, 2, 0, 0];
        let read: Vec<_> = Frames::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(read, [Frame::Pdu { flow: 1, range: 5..7 }, Frame::Pdu { flow: 2, range: 12..12 }]);
        assert_eq!(Frames::new(&bytes[..6]).next(), Some(Err(MalformedFrame)));
    }

    #[test]
    fn long_reasons_are_cut_between_characters() {
        let reason = "ä".repeat(300);
        let mut bytes = Vec::new();
        Frame::Close { code: 1, received_all: false, reason: &reason }.write(&mut bytes);
        let Some(Ok(Frame::Close { reason, .. })) = Frames::new(&bytes).next() else { panic!("no close") };
        assert_eq!(reason, "ä".repeat(MAX_REASON / 2));
    }

    #[test]
    fn datagrams_fill_a_packet_at_most() {
        let longest = [7; MAX_DATAGRAM + 1];
        for (length, is_one) in [(0, false), (1, true), (MAX_DATAGRAM, true), (longest.len(), false)] {
            let mut bytes = Vec::new();
            Frame::Datagram(&longest[..length]).write(&mut bytes);
            let expected = if is_one { Ok(Frame::Datagram(&longest[..length])) } else { Err(MalformedFrame) };
            assert_eq!(Frames::new(&bytes).next(), Some(expected), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_payload_ends(bytes in prop::collection::vec(prop_oneof![0u8..12, any::<u8>()], 0..200)) {
            // Every frame takes at least one byte, and an error is the last.
            let read: Vec<_> = Frames::new(&bytes).collect();
            prop_assert!(read.len() <= bytes.len());
            prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
            for frame in read.into_iter().flatten() {
                if let Frame::Pdu { range, .. } = frame {
                    prop_assert!(range.end <= bytes.len());
                }
            }
        }
    }
}
