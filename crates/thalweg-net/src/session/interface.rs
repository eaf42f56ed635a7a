//! The settings that sessions are told, and the events that they tell.

use crate::flow::{FlowStats, Scheme};
use crate::identity::PublicKey;
use crate::keys::INTEGRITY_LIMIT;
use crate::wire::{ConnectionId, TOKEN};
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::{Failure, Limit};
use thalweg_proto::units::Duration;

/// The end of a connection that a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that asked for the connection.
    Client,
    /// The end that was asked.
    Server,
}

/// Codes with which connections are closed. Applications use those from 256 on.
pub mod code {
    /// All is done.
    pub const DONE: u16 = 0;
    /// The peer's key is not one that may connect.
    pub const UNAUTHORIZED: u16 = 1;
    /// The peer said something that makes no sense.
    pub const PROTOCOL: u16 = 2;
    /// The scheme is not known here.
    pub const SCHEME: u16 = 3;
    /// There is no room for more connections.
    pub const BUSY: u16 = 4;
    /// The service that the client asks for is not there.
    pub const SERVICE: u16 = 5;
    /// A flow gave up.
    pub const FAILED: u16 = 6;
    /// This end has run for so long that its clock has to start anew: the client is to connect again.
    pub const AGE: u16 = 7;
    /// The path takes nothing as large as it has to any more.
    pub const NARROW: u16 = 8;
    /// So many packets were forged that the connection's keys are safe no more.
    pub const FORGERIES: u16 = 9;
    /// The first that applications may use.
    pub const APPLICATION: u16 = 256;
}

/// The reason for which a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// This end closed it.
    Here,
    /// The peer closed it.
    Peer {
        /// For programs.
        code: u16,
        /// For people: at most 256 bytes, in which nothing can drive a terminal ([`printable`](crate::text::printable)).
        reason: String,
    },
    /// Nothing was heard from the peer for the idle time-out.
    Silent,
    /// The peer knows nothing of the connection any more: it was started anew, or had given up.
    Reset,
    /// The peer is heard, but what is as large as any path takes does not arrive there.
    Narrow,
    /// The peer broke the protocol.
    Protocol,
    /// So many packets were forged that the connection's keys are safe no more ([`SessionConfig::forgeries`]).
    Forgeries,
    /// A flow gave up.
    Failed(Failure),
}

/// The events that a session tells its application.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEvent {
    /// Data of the peer's stream, in order.
    Delivered(Slice),
    /// At this place of the peer's stream so many packets are missing for good, which its scheme allows.
    Hole {
        /// The number of missing packets.
        packets: u32,
    },
    /// A datagram of the peer.
    Datagram(Slice),
    /// The peer's stream is complete.
    Ended {
        /// The peer's application stopped before it had sent all that it meant to.
        stopped: bool,
    },
    /// More may be written.
    Writable,
    /// The peer has all of this end's stream and knows that it is all.
    Finished,
    /// The connection is over; this is the last event.
    Closed(Closed),
}

/// The terms of a connection, settled by the handshake.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The end of the connection that this is.
    pub side: Side,
    /// The peer's static key.
    pub peer: PublicKey,
    /// The service that the client wants of the server.
    pub service: String,
    /// The scheme by which bytes are moved.
    pub scheme: Scheme,
    /// The connection id on packets from the peer.
    pub local: ConnectionId,
    /// The connection id on packets to the peer.
    pub remote: ConnectionId,
    /// A reset with this token comes from the peer.
    pub token: [u8; TOKEN],
    /// The largest datagram that both ends take.
    pub largest: u16,
    /// The bytes that only the two ends of this handshake have in common.
    pub binding: [u8; 32],
    /// The peer's key is among those that this end was told to trust. About others the application decides
    /// ([`Session::admit`](super::Session::admit)); until then they are strangers, who get little.
    pub known: bool,
}

/// The choices that an application has about a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// A peer that is silent for so long is gone.
    pub idle: Duration,
    /// After so much silence this end asks for a sign of life; [`Duration::MAX`] never does.
    pub keep_alive: Duration,
    /// The bytes that may wait for the application to read, at first.
    pub memory: u64,
    /// The bytes to which that grows where a path has more on the way, as far as the endpoint has room for it
    /// ([`Limits::memory`](crate::endpoint::Limits::memory)) and the scheme has a window that can grow.
    pub most_memory: u64,
    /// A client goes on at another address when authentic packets of the server come from there. Servers do not move, so a
    /// client stays where it found its server unless it is told otherwise (RFC 9000, section 9). A server always follows its
    /// clients, whose addresses are others' to change.
    pub follows: bool,
    /// The number of packets that are not authentic after which the connection is closed; at most
    /// [`INTEGRITY_LIMIT`](crate::keys::INTEGRITY_LIMIT).
    pub forgeries: u64,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            memory: 16 << 20,
            most_memory: 64 << 20,
            follows: false,
            forgeries: INTEGRITY_LIMIT,
        }
    }
}

/// The state of ECN (RFC 3168) for this end's data: sent as capable of it, or not, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnState {
    /// No: the scheme does not react to CE, or was told not to.
    #[default]
    Off,
    /// It is, and nothing was heard of it on this path yet.
    Untested,
    /// It is, and arrives.
    Capable,
    /// No more: the path seems to lose it.
    Failed,
}

impl EcnState {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Untested => "untested",
            Self::Capable => "capable",
            Self::Failed => "failed",
        }
    }

    /// Data leaves as ECN-capable.
    pub const fn is_used(self) -> bool {
        matches!(self, Self::Untested | Self::Capable)
    }
}

/// Counters of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionStats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that came and were authentic.
    pub packets_received: u64,
    /// Packets that came before or too late, or were not authentic.
    pub packets_refused: u64,
    /// Bytes of datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of authentic datagrams that came.
    pub bytes_received: u64,
    /// Datagrams of this end's application that were dropped, because more came than could be sent.
    pub datagrams_dropped: u64,
    /// The number of times that the peer's address changed.
    pub migrations: u64,
    /// The largest datagram that is sent.
    pub datagram: u16,
    /// The state of ECN for the data that is sent.
    pub ecn: EcnState,
    /// Packets that came with the network's mark.
    pub marked: u64,
    /// Messages of routers that were believed.
    pub told: u64,
    /// The flow that carries this end's stream.
    pub sending: FlowStats,
    /// The flow that carries the peer's stream.
    pub receiving: FlowStats,
    /// The limit that holds the sending flow back.
    pub limit: Option<Limit>,
}

impl SessionStats {
    /// The round-trip time of the path, once it is known: of an end that sends more than it receives the smoothed one. Of the
    /// other it is the shortest: acknowledgements of its few packets are delayed.
    pub fn rtt(&self) -> Option<Duration> {
        let sender = &self.sending.sender;
        if self.sending.written >= self.receiving.delivered {
            sender.rtt()
        } else {
            sender.min_rtt.or(sender.smoothed_rtt)
        }
    }
}
