//! The configuration of an endpoint, and the events that it reports.

use crate::flow::{Recorder, Scheme};
use crate::identity::{Identity, PublicKey};
use crate::session::{SessionConfig, SessionEvent};
use crate::wire::MAX_UDP_PAYLOAD;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_catalog::Registry;

/// Set of accepted peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Any peer that has a key; the application must authenticate it by other means.
    Anyone,
    /// Peers with one of these keys.
    Keys(BTreeSet<PublicKey>),
}

impl Trust {
    /// Returns the set with only this key.
    pub fn only(key: PublicKey) -> Self {
        Self::Keys(BTreeSet::from([key]))
    }

    /// Returns true if the key is trusted.
    pub fn includes(&self, key: &PublicKey) -> bool {
        match self {
            Self::Anyone => true,
            Self::Keys(keys) => keys.contains(key),
        }
    }
}

/// Resource limits of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of open client connections. `memory` must also have room for 64 KiB each.
    pub connections: usize,
    /// Maximum number of those connections that the application has not authorised yet
    /// ([`Session::authorise`](crate::session::Session::authorise)). Beyond it, the oldest connection of the address with the
    /// most is closed.
    pub unauthenticated: usize,
    /// Maximum receive memory of all connections, in bytes; each counts its window. The first connections get their
    /// full initial window, later ones an eighth of the remainder. A path that needs more gets half of the remainder
    /// each time.
    pub memory: u64,
    /// Maximum number of handshakes with unauthenticated clients.
    pub handshakes: usize,
    /// Maximum number of those handshakes begun without a cookie, at most a quarter. Omitting the cookie saves a round
    /// trip. Under load, clients are asked for a cookie, which validates their address.
    pub unvalidated: usize,
    /// New handshakes per second on average; also the burst size. Under contention each address gets a quarter.
    pub handshakes_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            unauthenticated: 1024,
            memory: 256 << 20,
            handshakes: 1000,
            unvalidated: 16,
            handshakes_per_second: 1000,
        }
    }
}

/// Clients and services that an endpoint accepts.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Clients that may connect.
    pub trust: Trust,
    /// Services that clients may request.
    pub services: Vec<String>,
    /// Names of the schemes that clients may choose; `None` allows any. The client's scheme controls the amount and
    /// timing of this end's transmissions.
    pub schemes: Option<BTreeSet<String>>,
    /// Available schemes: built-in and registered external ones.
    pub registry: Arc<Registry>,
}

impl Listen {
    /// Accepts clients in `trust`, for these services, with any scheme.
    pub fn new<S: Into<String>>(trust: Trust, services: impl IntoIterator<Item = S>) -> Self {
        let services = services.into_iter().map(Into::into).collect();
        Self { trust, services, schemes: None, registry: Arc::default() }
    }

    /// Restricts the listener to these schemes.
    #[must_use]
    pub fn by_schemes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.schemes = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Replaces the available schemes by the contents of `registry`.
    #[must_use]
    pub fn with_registry(self, registry: Arc<Registry>) -> Self {
        Self { registry, ..self }
    }
}

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Identity of the endpoint.
    pub identity: Identity,
    /// Listener settings; `None` accepts no client.
    pub listen: Option<Listen>,
    /// Resource limits.
    pub limits: Limits,
    /// Settings of its connections.
    pub session: SessionConfig,
    /// Maximum datagram size sent and received, in bytes.
    pub max_datagram_bytes: u16,
    /// Bytes that identify the socket among all sockets with the same identity, and persist across restarts. Former
    /// peers can then verify its stateless resets. A listening [`Socket`](crate::live::Socket) uses the host and the
    /// local address. `None` for an endpoint that does not restart: no peer can verify its resets.
    pub place: Option<Vec<u8>>,
}

impl EndpointConfig {
    /// Creates the settings of an endpoint that accepts no connections; [`Self::listen`] adds that.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            listen: None,
            limits: Limits::default(),
            session: SessionConfig::default(),
            max_datagram_bytes: MAX_UDP_PAYLOAD,
            place: None,
        }
    }
}

/// Parameters of a connection attempt.
#[derive(Clone, Debug)]
pub struct Connect {
    /// Address of the server.
    pub remote: SocketAddr,
    /// Accepted keys of the server.
    pub trust: Trust,
    /// Requested service.
    pub service: String,
    /// Congestion-control scheme.
    pub scheme: Scheme,
    /// Optional recorder of this end's stream.
    pub recorder: Option<Recorder>,
}

/// Handle of a connection of an endpoint. Handles are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    pub(super) index: usize,
    pub(super) generation: u64,
}

/// Reason for a failed connection attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Timeout without an answer.
    NoAnswer,
    /// Timeout because this host could not send: the error number of the operating system. A
    /// [`Socket`](crate::live::Socket) reports it; an endpoint sends nothing itself.
    Unsendable(i32),
    /// Untrusted key of the responder.
    WrongKey(PublicKey),
    /// The host is reachable, but packets as large as a handshake are lost.
    PathMtuTooSmall,
    /// Version of the responder, which differs from this end's ([`VERSION`](crate::wire::VERSION)).
    Version(u8),
    /// A requested name is too long to encode.
    NameTooLong,
}

/// Refused client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Key of the client.
    pub peer: PublicKey,
    /// Requested service: text chosen by the client.
    pub service: String,
    /// Address of the client.
    pub remote: SocketAddr,
    /// The [code](crate::session::code) of the close frame.
    pub code: u16,
    /// Reason sent to the client.
    pub reason: String,
}

/// Events of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum EndpointEvent {
    /// Successful connection attempt.
    Connected {
        /// Key of the server.
        peer: PublicKey,
    },
    /// Failed connection attempt; no further events follow.
    NotConnected(ConnectError),
    /// New client connection.
    Accepted {
        /// Key of the client.
        peer: PublicKey,
        /// Requested service.
        service: String,
        /// Address of the client.
        remote: SocketAddr,
        /// True if the key is trusted; otherwise the application decides ([`Endpoint::authorise`](super::Endpoint::authorise)).
        known: bool,
    },
    /// Authenticated client that was refused.
    Refused(Box<Refusal>),
    /// Event of a connection.
    Session(SessionEvent),
}

/// Counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams of other protocols or of unknown connections.
    pub unrecognised: u64,
    /// Cookies sent.
    pub cookies: u64,
    /// Handshakes begun.
    pub handshakes: u64,
    /// Handshakes begun without a cookie.
    pub unvalidated: u64,
    /// Hellos with a valid cookie that were dropped for lack of room or time.
    pub dropped: u64,
    /// Handshake messages that failed authentication.
    pub forged: u64,
    /// Half-open handshakes evicted to make room for others.
    pub forgotten: u64,
    /// Resets sent for packets of unknown connections.
    pub resets: u64,
    /// Datagrams received by the wrong shard and forwarded.
    pub forwarded: u64,
}

impl core::ops::AddAssign for EndpointStats {
    fn add_assign(&mut self, other: Self) {
        let Self {
            unrecognised,
            cookies,
            handshakes,
            unvalidated,
            dropped,
            forged,
            forgotten,
            resets,
            forwarded,
        } = other;
        self.unrecognised += unrecognised;
        self.cookies += cookies;
        self.handshakes += handshakes;
        self.unvalidated += unvalidated;
        self.dropped += dropped;
        self.forged += forged;
        self.forgotten += forgotten;
        self.resets += resets;
        self.forwarded += forwarded;
    }
}
