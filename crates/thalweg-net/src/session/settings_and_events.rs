//! The configuration of a session, and the events that it reports.

use crate::ecn_blackhole_detection::EcnState;
use crate::flow::{FlowStats, Scheme};
use crate::identity::PublicKey;
use crate::packet_protection::INTEGRITY_LIMIT;
use crate::wire::{ConnectionId, RESET_TOKEN};
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::{Failure, Limit};
use thalweg_proto::units::Duration;

/// Side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Initiator of the connection.
    Client,
    /// Responder.
    Server,
}

/// Close codes. Applications use codes from 256.
pub mod code {
    /// Regular close.
    pub const DONE: u16 = 0;
    /// The peer's key is not authorised.
    pub const UNAUTHORIZED: u16 = 1;
    /// Protocol violation by the peer.
    pub const PROTOCOL: u16 = 2;
    /// Unknown scheme.
    pub const SCHEME: u16 = 3;
    /// No room for more connections.
    pub const BUSY: u16 = 4;
    /// Unknown service.
    pub const SERVICE: u16 = 5;
    /// A flow aborted.
    pub const FAILED: u16 = 6;
    /// This end must restart its clock after a long uptime: the client is to connect again.
    pub const CLOCK_RESTART: u16 = 7;
    /// Path-MTU black hole: the path no longer takes packets of the base size.
    pub const PATH_MTU_TOO_SMALL: u16 = 8;
    /// Too many forged packets; the connection's keys are no longer safe.
    pub const FORGERIES: u16 = 9;
    /// First code for applications.
    pub const APPLICATION: u16 = 256;
}

/// Reason for the end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Close by this end.
    Here,
    /// Close by the peer.
    Peer {
        /// Code for programs.
        code: u16,
        /// Reason for people: at most 256 bytes, without terminal control sequences
        /// ([`escape_unsafe`](crate::safe_display::escape_unsafe)).
        reason: String,
    },
    /// Idle timeout without a packet from the peer.
    Silent,
    /// Idle timeout while this host could not send: the error number of the operating system. A
    /// [`Socket`](crate::live::Socket) reports it; a session sends nothing itself.
    Unsendable(i32),
    /// Reset: the peer has no state of the connection; it restarted or gave up.
    Reset,
    /// Path-MTU black hole: packets from the peer arrive, but packets of the base size do not reach it.
    PathMtuTooSmall,
    /// Protocol violation by the peer.
    Protocol,
    /// Too many forged packets; the connection's keys are no longer safe ([`SessionConfig::forgeries`]).
    Forgeries,
    /// A flow aborted.
    Failed(Failure),
}

/// Events of a session for its application.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEvent {
    /// Data of the peer's stream, in order.
    Delivered(Slice),
    /// Gap in the peer's stream: packets lost for good, as its scheme allows.
    Hole {
        /// Number of lost packets.
        packets: u32,
    },
    /// Datagram from the peer.
    Datagram(Slice),
    /// End of the peer's stream; it is complete.
    PeerStreamEnded {
        /// True if the peer's application stopped early.
        stopped: bool,
    },
    /// Room for more writes.
    Writable,
    /// The peer has acknowledged all of this end's stream, including its end.
    OwnStreamAcknowledged,
    /// End of the connection; this is the last event.
    Closed(CloseReason),
}

/// Terms of a connection, negotiated in the handshake.
#[derive(Clone, Debug)]
pub struct Terms {
    /// This end's side of the connection.
    pub side: Side,
    /// Static key of the peer.
    pub peer: PublicKey,
    /// Service requested by the client.
    pub service: String,
    /// Transport scheme.
    pub scheme: Scheme,
    /// Connection id on packets from the peer.
    pub local: ConnectionId,
    /// Connection id on packets to the peer.
    pub remote: ConnectionId,
    /// Stateless reset token of the peer.
    pub token: [u8; RESET_TOKEN],
    /// Maximum datagram size accepted by both ends, in bytes.
    pub max_datagram_bytes: u16,
    /// Channel binding: bytes that only the two ends of this handshake share.
    pub binding: [u8; 32],
    /// True if the peer's key is trusted by configuration. Otherwise the application decides
    /// ([`Session::authorise`](super::Session::authorise)); until then the peer is unauthenticated and limited.
    pub is_authorised: bool,
}

/// Settings of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// Idle timeout.
    pub idle: Duration,
    /// Idle time before a keep-alive ping; [`Duration::MAX`] disables keep-alives.
    pub keep_alive: Duration,
    /// Initial receive memory, in bytes.
    pub memory: u64,
    /// Maximum receive memory after autotuning, in bytes. It also depends on the endpoint's remaining memory
    /// ([`Limits::memory`](crate::endpoint::Limits::memory)) and on a scheme with an adjustable window.
    pub max_memory: u64,
    /// True if a client follows the server to another address when authentic packets arrive from there. By default it
    /// does not, as servers do not migrate (RFC 9000, section 9). A server always follows its clients, whose addresses
    /// may change at any time.
    pub follows: bool,
    /// Number of packets that fail authentication after which the connection is closed; at most
    /// [`INTEGRITY_LIMIT`](crate::packet_protection::INTEGRITY_LIMIT).
    pub forgeries: u64,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            memory: 16 << 20,
            max_memory: 64 << 20,
            follows: false,
            forgeries: INTEGRITY_LIMIT,
        }
    }
}

/// Counters of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionStats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Authentic packets received.
    pub packets_received: u64,
    /// Packets that were duplicate, too late or not authentic.
    pub packets_refused: u64,
    /// Bytes of datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of authentic datagrams received.
    pub bytes_received: u64,
    /// Application datagrams dropped because the queue overflowed.
    pub datagrams_dropped: u64,
    /// Changes of the peer's address.
    pub migrations: u64,
    /// Maximum size of sent datagrams, in bytes.
    pub datagram: u16,
    /// ECN state of the sent data.
    pub ecn: EcnState,
    /// Packets received with a CE mark.
    pub marked: u64,
    /// Accepted feedback messages from routers.
    pub router_feedback: u64,
    /// Flow of this end's stream.
    pub sending: FlowStats,
    /// Flow of the peer's stream.
    pub receiving: FlowStats,
    /// Current limit on the sending flow.
    pub limit: Option<Limit>,
}

impl SessionStats {
    /// Returns the round-trip time of the path, once known: the smoothed one at the end that sends more than it
    /// receives, otherwise the minimum, because acknowledgements of its few packets are delayed.
    pub fn rtt(&self) -> Option<Duration> {
        let sender = &self.sending.sender;
        if self.sending.written >= self.receiving.delivered {
            sender.rtt()
        } else {
            sender.min_rtt.or(sender.smoothed_rtt)
        }
    }
}
