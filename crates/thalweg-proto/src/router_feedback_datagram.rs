//! Feedback datagrams from routers to traffic sources (format: `docs/protocol.md`).
//!
//! A router cannot decrypt packets. It identifies a flow by the connection id of its packets, and a packet by its
//! number. A sender accepts feedback about packets that it has sent lately.

use crate::units::Rate;

/// Packet type of protected packets, in their first byte.
pub const PROTECTED_TYPE: u8 = 8;
/// Packet type of router feedback.
pub const ROUTER_FEEDBACK: u8 = 9;
/// Length of a feedback datagram, in bytes.
pub const LENGTH: usize = 26;

/// Flag: the packet named by the feedback was dropped.
const DROPPED_FLAG: u8 = 1;
const RATE: u8 = 2;

/// The unencrypted header of a protected packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    /// Connection id of the packet's receiver.
    pub connection: [u8; 8],
    /// Low bits of the packet number.
    pub number: u32,
}

impl Head {
    /// Reads the header of a datagram; `None` if it is not a protected packet.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let (&[PROTECTED_TYPE], rest) = datagram.split_first_chunk()? else { return None };
        let (connection, rest) = rest.split_first_chunk()?;
        Some(Self { connection: *connection, number: u32::from_be_bytes(*rest.first_chunk()?) })
    }
}

/// Router feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterFeedback {
    /// Header of the packet that the feedback is about.
    pub head: Head,
    /// True if the router dropped that packet; otherwise it is any recent packet of the flow.
    pub dropped: bool,
    /// Opaque identifier of the sending queue.
    pub queue: u32,
    /// Rate granted to the flow, by routers that ration.
    pub rate: Option<Rate>,
}

impl RouterFeedback {
    /// Encodes the feedback as a datagram.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = ROUTER_FEEDBACK;
        bytes[1..9].copy_from_slice(&self.head.connection);
        bytes[9..13].copy_from_slice(&self.head.number.to_be_bytes());
        bytes[13] = if self.dropped { DROPPED_FLAG } else { 0 } | if self.rate.is_some() { RATE } else { 0 };
        bytes[14..18].copy_from_slice(&self.queue.to_be_bytes());
        bytes[18..].copy_from_slice(&self.rate.map_or(0, Rate::as_bits_per_sec).to_be_bytes());
        bytes
    }

    /// Decodes a feedback datagram; `None` if invalid.
    pub fn decode(datagram: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = datagram.try_into().ok()?;
        let (&[ROUTER_FEEDBACK], rest) = bytes.split_first_chunk()? else { return None };
        let (connection, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (&[flags], rest) = rest.split_first_chunk()?;
        let (queue, rest) = rest.split_first_chunk()?;
        let rate = u64::from_be_bytes(*rest.first_chunk()?);
        if flags & !(DROPPED_FLAG | RATE) != 0 {
            return None;
        }
        Some(Self {
            head: Head { connection: *connection, number: u32::from_be_bytes(*number) },
            dropped: flags & DROPPED_FLAG != 0,
            queue: u32::from_be_bytes(*queue),
            rate: (flags & RATE != 0).then(|| Rate::from_bits_per_sec(rate)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encoded by hand from `docs/protocol.md`.
    #[test]
    fn messages_are_as_documented() {
        let head = Head { connection: *b"12345678", number: 0x0a0b_0c0d };
        let message =
            RouterFeedback { head, dropped: true, queue: 7, rate: Some(Rate::from_bits_per_sec(256)) };
        let bytes = message.encode();
        assert_eq!(bytes, *b"\x0912345678\x0a\x0b\x0c\x0d\x03\0\0\0\x07\0\0\0\0\0\0\x01\0");
        assert_eq!(RouterFeedback::decode(&bytes), Some(message));
        let warning = RouterFeedback { dropped: false, rate: None, ..message };
        assert_eq!(RouterFeedback::decode(&warning.encode()), Some(warning));
        assert_eq!(RouterFeedback::decode(&bytes[..25]), None);
        let mut other = bytes;
        other[13] = 4;
        assert_eq!(RouterFeedback::decode(&other), None);
        let packet = [b"\x0812345678\x0a\x0b\x0c\x0d".as_slice(), &[0; 40]].concat();
        assert_eq!(Head::read(&packet), Some(head));
        assert_eq!((Head::read(&packet[..12]), Head::read(&bytes)), (None, None));
    }
}
