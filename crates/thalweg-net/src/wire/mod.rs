//! Packet formats in UDP datagrams.
//!
//! One datagram is one packet. Its first byte is its kind:
//!
//! | kind | packet | bytes after the first |
//! | --- | --- | --- |
//! | 1 | hello | version, client's connection id, cookie (length, bytes), first Noise message, zeros up to 1200 bytes |
//! | 2 | cookie | client's connection id, cookie |
//! | 3 | response | client's connection id, second Noise message |
//! | 4 | confirm | server's connection id, third Noise message |
//! | 5 | reset | connection id in the packet that it answers, token of 16 bytes |
//! | 6 | version | client's connection id, version of the server, which does not support the version of the hello |
//! | 8 | protected | connection id of the receiver, low 32 bits of the packet number, sealed frames with their tag |
//! | 9 | router feedback | connection id and number of a packet that the router has observed, and its feedback ([`router_feedback`](thalweg_proto::router_feedback_datagram)) |
//!
//! Numbers are in network byte order. The plaintext of a protected packet consists of [frames](frame). Its kind,
//! connection id and packet number are associated data: readable, but authenticated.

pub mod frame;

use thalweg_proto::router_feedback_datagram::RouterFeedback;

/// Protocol version; both ends mix it into the handshake.
pub const VERSION: u8 = 2;

/// Base datagram size, in bytes. Every path must carry it; larger datagrams require a successful probe. QUIC uses the
/// same size (RFC 9000, section 14); all but the oddest tunnels carry it.
pub const SAFE_DATAGRAM: u16 = 1200;

/// Maximum UDP payload over IPv4: 65 535 less the IP and UDP headers.
pub const MAX_UDP_PAYLOAD: u16 = 65_507;

/// Header size of a protected packet, in bytes.
pub const HEADER: usize = 1 + 8 + 4;

/// Size of the AES-GCM tag after the frames, in bytes.
pub const AEAD_TAG: usize = 16;

/// Length of a cookie, in bytes.
pub const COOKIE_SIZE: usize = 24;

/// Length of a stateless reset token, in bytes.
pub const RESET_TOKEN: usize = 16;

/// Connection id, chosen at random by the end that receives packets with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub [u8; 8]);

impl ConnectionId {
    /// Returns the shard that owns the connection, where the receiver's socket has `shards` shards.
    #[inline]
    pub const fn shard(self, shards: usize) -> usize {
        self.0[7] as usize % shards
    }

    /// Returns the id with its last byte changed to the nearest value that belongs to this shard.
    #[must_use]
    pub(crate) const fn with_shard(mut self, shard: usize, shards: usize) -> Self {
        let base = self.0[7] as usize / shards * shards;
        // The last cycle of byte values may be incomplete.
        let byte = if base + shard < 256 { base + shard } else { shard };
        self.0[7] = byte as u8;
        self
    }
}

/// Offset of the byte that selects the shard of a datagram ([`ConnectionId::shard`]): the last of the id. In a hello,
/// whose id follows a version byte, it is another byte, and any shard takes the packet.
pub const SHARD_BYTE_OFFSET: usize = 8;

/// Packet, as far as readable without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Connection request of a client.
    Hello {
        /// Connection id for the answers.
        source: ConnectionId,
        /// Cookie from the server; empty at first.
        cookie: &'a [u8],
        /// First Noise message.
        message: &'a [u8],
    },
    /// Request for address validation by a server.
    Cookie {
        /// Connection id of the client.
        destination: ConnectionId,
        /// Cookie to return in the hello.
        cookie: &'a [u8],
    },
    /// Handshake response of a server.
    Response {
        /// Connection id of the client.
        destination: ConnectionId,
        /// Second Noise message.
        message: &'a [u8],
    },
    /// Handshake confirm of a client; authenticates it.
    Confirm {
        /// Connection id of the server.
        destination: ConnectionId,
        /// Third Noise message.
        message: &'a [u8],
    },
    /// Stateless reset: the sender has no state of this connection.
    Reset {
        /// Connection id of the packet that it answers.
        destination: ConnectionId,
        /// Token known only to the ends of that connection.
        token: &'a [u8; RESET_TOKEN],
    },
    /// Version reply of a server that does not support the version of a hello.
    Version {
        /// Connection id of the client.
        destination: ConnectionId,
        /// Version of the server.
        version: u8,
    },
    /// Connection request in another version.
    OtherHello {
        /// Connection id for the answers.
        source: ConnectionId,
    },
    /// Feedback from a router about a flow of the receiver.
    RouterFeedback(RouterFeedback),
    /// Encrypted frames of a connection.
    Protected {
        /// Connection id of the receiver.
        destination: ConnectionId,
    },
}

/// Packet kinds on the wire.
mod kind {
    pub const HELLO: u8 = 1;
    pub const COOKIE: u8 = 2;
    pub const RESPONSE: u8 = 3;
    pub const CONFIRM: u8 = 4;
    pub const RESET: u8 = 5;
    pub const VERSION: u8 = 6;
    pub use thalweg_proto::router_feedback_datagram::{PROTECTED_TYPE, ROUTER_FEEDBACK};
}

impl<'a> Packet<'a> {
    /// Parses the header of a datagram; `None` if it is not of this protocol.
    pub fn read(datagram: &'a [u8]) -> Option<Self> {
        let (&first, rest) = datagram.split_first()?;
        match first {
            kind::HELLO => {
                // A short hello would turn the server into an amplifying reflector.
                if datagram.len() < usize::from(SAFE_DATAGRAM) {
                    return None;
                }
                let (&version, rest) = rest.split_first()?;
                let (source, rest) = parse_connection_id(rest)?;
                if version != VERSION {
                    // This part is the same in all versions.
                    return Some(Self::OtherHello { source });
                }
                let (&length, rest) = rest.split_first()?;
                if length != 0 && usize::from(length) != COOKIE_SIZE {
                    return None;
                }
                let (cookie, rest) = rest.split_at_checked(usize::from(length))?;
                let (&length, rest) = rest.split_first()?;
                let message = rest.get(..usize::from(length))?;
                Some(Self::Hello { source, cookie, message })
            }
            kind::COOKIE => {
                let (destination, cookie) = parse_connection_id(rest)?;
                (cookie.len() == COOKIE_SIZE).then_some(Self::Cookie { destination, cookie })
            }
            kind::RESPONSE => {
                let (destination, message) = parse_connection_id(rest)?;
                Some(Self::Response { destination, message })
            }
            kind::CONFIRM => {
                let (destination, message) = parse_connection_id(rest)?;
                Some(Self::Confirm { destination, message })
            }
            kind::RESET => {
                let (destination, token) = parse_connection_id(rest)?;
                Some(Self::Reset { destination, token: token.try_into().ok()? })
            }
            kind::VERSION => {
                let (destination, rest) = parse_connection_id(rest)?;
                let &[version] = rest else { return None };
                Some(Self::Version { destination, version })
            }
            kind::ROUTER_FEEDBACK => RouterFeedback::decode(datagram).map(Self::RouterFeedback),
            kind::PROTECTED_TYPE => {
                let (destination, rest) = parse_connection_id(rest)?;
                (rest.len() >= 4 + AEAD_TAG).then_some(Self::Protected { destination })
            }
            _ => None,
        }
    }
}

fn parse_connection_id(bytes: &[u8]) -> Option<(ConnectionId, &[u8])> {
    let (id, rest) = bytes.split_first_chunk::<8>()?;
    Some((ConnectionId(*id), rest))
}

/// Appends a hello, padded to [`SAFE_DATAGRAM`]. The message must be shorter than 256 bytes, as the first Noise message
/// is.
pub fn write_hello(into: &mut Vec<u8>, source: ConnectionId, cookie: &[u8], message: &[u8]) {
    let start = into.len();
    into.extend_from_slice(&[kind::HELLO, VERSION]);
    into.extend_from_slice(&source.0);
    into.push(u8::try_from(cookie.len()).unwrap_or(0));
    into.extend_from_slice(cookie);
    into.push(u8::try_from(message.len()).unwrap_or(0));
    into.extend_from_slice(message);
    into.resize(start + usize::from(SAFE_DATAGRAM), 0);
}

/// Appends a cookie packet.
pub fn write_cookie(into: &mut Vec<u8>, destination: ConnectionId, cookie: &[u8; COOKIE_SIZE]) {
    into.push(kind::COOKIE);
    into.extend_from_slice(&destination.0);
    into.extend_from_slice(cookie);
}

/// Appends a version reply.
pub fn write_version(into: &mut Vec<u8>, destination: ConnectionId) {
    into.push(kind::VERSION);
    into.extend_from_slice(&destination.0);
    into.push(VERSION);
}

/// Appends a response.
pub fn write_response(into: &mut Vec<u8>, destination: ConnectionId, message: &[u8]) {
    into.push(kind::RESPONSE);
    into.extend_from_slice(&destination.0);
    into.extend_from_slice(message);
}

/// Appends a confirm.
pub fn write_confirm(into: &mut Vec<u8>, destination: ConnectionId, message: &[u8]) {
    into.push(kind::CONFIRM);
    into.extend_from_slice(&destination.0);
    into.extend_from_slice(message);
}

/// Appends a reset.
pub fn write_reset(into: &mut Vec<u8>, destination: ConnectionId, token: &[u8; RESET_TOKEN]) {
    into.push(kind::RESET);
    into.extend_from_slice(&destination.0);
    into.extend_from_slice(token);
}

/// Appends the header of a protected packet.
#[inline]
pub fn write_header(into: &mut Vec<u8>, destination: ConnectionId, number: u64) {
    let mut header = [kind::PROTECTED_TYPE; HEADER];
    header[1..9].copy_from_slice(&destination.0);
    header[9..].copy_from_slice(&truncate_packet_number(number).to_be_bytes());
    into.extend_from_slice(&header);
}

/// Returns the transmitted part of a packet number.
fn truncate_packet_number(number: u64) -> u32 {
    // The truncation is intended.
    (number & u64::from(u32::MAX)) as u32
}

/// Returns the full packet number of a protected packet: the one nearest to `expected`, the number after the highest
/// received one (RFC 9000, appendix A.3).
pub fn packet_number(packet: &[u8], expected: u64) -> Option<u64> {
    const NUMBER_SPAN: u64 = 1 << 32;
    let bytes: [u8; 4] = packet.get(9..HEADER)?.try_into().ok()?;
    let low = u64::from(u32::from_be_bytes(bytes));
    let candidate = expected & !(NUMBER_SPAN - 1) | low;
    Some(if candidate + NUMBER_SPAN / 2 <= expected {
        candidate + NUMBER_SPAN
    } else if candidate > expected + NUMBER_SPAN / 2 && candidate >= NUMBER_SPAN {
        candidate - NUMBER_SPAN
    } else {
        candidate
    })
}

#[cfg(test)]
mod tests {
    //! Tests that packets round-trip, and that nothing else is accepted.
    use super::*;
    use proptest::prelude::*;

    const ID: ConnectionId = ConnectionId([1, 2, 3, 4, 5, 6, 7, 8]);

    #[test]
    fn packets_are_read_as_they_are_written() {
        let mut bytes = Vec::new();
        write_hello(&mut bytes, ID, &[9; COOKIE_SIZE], &[7; 32]);
        assert_eq!(bytes.len(), usize::from(SAFE_DATAGRAM));
        let hello = Packet::Hello { source: ID, cookie: &[9; COOKIE_SIZE], message: &[7; 32] };
        assert_eq!(Packet::read(&bytes), Some(hello));
        // A hello without padding, or of another version, is rejected.
        assert_eq!(Packet::read(&bytes[..1199]), None);
        bytes[1] = VERSION + 1;
        assert_eq!(Packet::read(&bytes), Some(Packet::OtherHello { source: ID }));
        let mut bytes = Vec::new();
        write_version(&mut bytes, ID);
        assert_eq!(Packet::read(&bytes), Some(Packet::Version { destination: ID, version: VERSION }));
        let mut bytes = Vec::new();
        write_cookie(&mut bytes, ID, &[3; COOKIE_SIZE]);
        assert_eq!(Packet::read(&bytes), Some(Packet::Cookie { destination: ID, cookie: &[3; COOKIE_SIZE] }));
        let mut bytes = Vec::new();
        write_response(&mut bytes, ID, b"two");
        assert_eq!(Packet::read(&bytes), Some(Packet::Response { destination: ID, message: b"two" }));
        let mut bytes = Vec::new();
        write_confirm(&mut bytes, ID, b"three");
        assert_eq!(Packet::read(&bytes), Some(Packet::Confirm { destination: ID, message: b"three" }));
        let mut bytes = Vec::new();
        write_reset(&mut bytes, ID, &[4; RESET_TOKEN]);
        assert_eq!(Packet::read(&bytes), Some(Packet::Reset { destination: ID, token: &[4; RESET_TOKEN] }));
        let mut bytes = Vec::new();
        write_header(&mut bytes, ID, 5);
        assert_eq!(Packet::read(&bytes), None, "without a tag");
        bytes.extend_from_slice(&[0; AEAD_TAG]);
        assert_eq!(Packet::read(&bytes), Some(Packet::Protected { destination: ID }));
    }

    #[test]
    fn a_cookie_packet_is_far_smaller_than_its_hello() {
        let mut bytes = Vec::new();
        write_cookie(&mut bytes, ID, &[0; COOKIE_SIZE]);
        assert!(bytes.len() * 30 < usize::from(SAFE_DATAGRAM));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
            let _ = Packet::read(&bytes);
            let _ = packet_number(&bytes, u64::MAX / 2);
        }

        /// RFC 9000, appendix A.3: correct up to a distance of half the range.
        #[test]
        fn numbers_are_completed(expected in 0u64..1 << 62, away in -(1i64 << 31) + 1..1 << 31) {
            let Some(number) = expected.checked_add_signed(away) else { return Ok(()) };
            let mut bytes = Vec::new();
            write_header(&mut bytes, ID, number);
            prop_assert_eq!(packet_number(&bytes, expected), Some(number));
        }
    }
}
