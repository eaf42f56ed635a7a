//! The settings that endpoints are told, and the events that they tell.

use crate::flow::{Recorder, Scheme};
use crate::identity::{Identity, PublicKey};
use crate::session::{SessionConfig, SessionEvent};
use crate::wire::LARGEST_DATAGRAM;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_catalog::Registry;

/// The peers that are talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Any that has a key: who it is has to be decided by other means.
    Anyone,
    /// Those with one of these keys.
    Keys(BTreeSet<PublicKey>),
}

impl Trust {
    /// Only the peer with this key.
    pub fn only(key: PublicKey) -> Self {
        Self::Keys(BTreeSet::from([key]))
    }

    /// True if the key is one of those that are trusted.
    pub fn includes(&self, key: &PublicKey) -> bool {
        match self {
            Self::Anyone => true,
            Self::Keys(keys) => keys.contains(key),
        }
    }
}

/// The bounds of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that clients may have open at a time, and no more than have room in `memory`, with 64 KiB each.
    pub connections: usize,
    /// Of these, connections of clients about whom the application has not decided yet
    /// ([`Session::admit`](crate::session::Session::admit)). Of more, the oldest of the address that has most is closed.
    pub strangers: usize,
    /// The bytes that all connections may make this end keep, each what its window takes. The first get as much as
    /// they are to have at first, and later ones an eighth of what is left. Where paths want more, they get half of what is left
    /// each time.
    pub memory: u64,
    /// Handshakes with clients that have not shown who they are.
    pub handshakes: usize,
    /// Of these, handshakes that are begun without a cookie, which saves their clients a round trip, but a quarter at most. Who
    /// comes while there are as many, or in a crowd, is asked for a cookie, and so for a proof that it is where it says.
    pub unproved: usize,
    /// New handshakes in a second, over time; as many may come at once. Where clients ask for more, each address has a quarter.
    pub handshakes_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            strangers: 1024,
            memory: 256 << 20,
            handshakes: 1000,
            unproved: 16,
            handshakes_per_second: 1000,
        }
    }
}

/// Whom an endpoint answers.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The clients that may connect.
    pub trust: Trust,
    /// The services that clients may ask for.
    pub services: Vec<String>,
    /// The names of the schemes that they may choose; `None` for any. A scheme decides how much this end sends and when, for
    /// the client that has chosen it.
    pub schemes: Option<BTreeSet<String>>,
    /// The schemes that there are: those of this project, and what was added to them.
    pub registry: Arc<Registry>,
}

impl Listen {
    /// Answers those whom `trust` includes, for these services, by any scheme.
    pub fn new<S: Into<String>>(trust: Trust, services: impl IntoIterator<Item = S>) -> Self {
        let services = services.into_iter().map(Into::into).collect();
        Self { trust, services, schemes: None, registry: Arc::default() }
    }

    /// The same, by these schemes only.
    #[must_use]
    pub fn by_schemes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.schemes = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The same with the schemes of `registry`, in place of those of this project alone.
    #[must_use]
    pub fn of_registry(self, registry: Arc<Registry>) -> Self {
        Self { registry, ..self }
    }
}

/// An endpoint's settings.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The endpoint's own identity.
    pub identity: Identity,
    /// Whom it answers; `None` answers nobody.
    pub listen: Option<Listen>,
    /// The bounds that it keeps to.
    pub limits: Limits,
    /// Of its connections.
    pub session: SessionConfig,
    /// The largest datagram that it takes and sends.
    pub largest: u16,
    /// Bytes that tell a socket from all others of the same identity, and are the same when it is opened anew: its resets are
    /// believed by those who were connected to it before. [`Socket`](crate::live::Socket) takes the host and the local
    /// address of one that listens. `None` for an end that does not come back: its resets are believed by nobody.
    pub place: Option<Vec<u8>>,
}

impl EndpointConfig {
    /// One that only connects to others.
    pub fn client(identity: Identity) -> Self {
        Self {
            identity,
            listen: None,
            limits: Limits::default(),
            session: SessionConfig::default(),
            largest: LARGEST_DATAGRAM,
            place: None,
        }
    }
}

/// Whom to connect to, and for what.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The server's address.
    pub remote: SocketAddr,
    /// The keys that the server may have.
    pub trust: Trust,
    /// The service that is wanted of the server.
    pub service: String,
    /// The scheme by which bytes are to be moved.
    pub scheme: Scheme,
    /// Keeps what happens at this end's stream, if that is wanted.
    pub recorder: Option<Recorder>,
}

/// A connection of an endpoint. It is never given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    pub(super) index: usize,
    pub(super) generation: u64,
}

/// The reason for which there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Nobody answered in time.
    NoAnswer,
    /// The one who answered has this key, which is not among those expected.
    WrongKey(PublicKey),
    /// Somebody answers there, but not what is as large as a handshake has to be.
    Narrow,
    /// The one who answers speaks this version of the protocol, and this end another ([`VERSION`](crate::wire::VERSION)).
    Version(u8),
    /// A name of what is asked for is too long to be said.
    Unspeakable,
}

/// A client that was turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its key.
    pub peer: PublicKey,
    /// The service that it wanted: text of the client's choice.
    pub service: String,
    /// Its address.
    pub remote: SocketAddr,
    /// The [code](crate::session::code) with which the connection was closed.
    pub code: u16,
    /// The reason that it was told.
    pub reason: String,
}

/// The events that an endpoint tells.
#[derive(Clone, Debug, PartialEq)]
pub enum EndpointEvent {
    /// A connection that was asked for is there.
    Connected {
        /// The server's key.
        peer: PublicKey,
    },
    /// There is none, and no more will be heard of it.
    NotConnected(ConnectError),
    /// A client has connected.
    Accepted {
        /// Its key.
        peer: PublicKey,
        /// The service that the client wants.
        service: String,
        /// The client's address.
        remote: SocketAddr,
        /// Its key is one that is trusted; without, the application decides ([`Endpoint::admit`](super::Endpoint::admit)).
        known: bool,
    },
    /// A client has shown who it is and was turned away.
    Refused(Box<Refusal>),
    /// Something happened on a connection.
    Session(SessionEvent),
}

/// Counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams that are none of ours, or of connections that there are not.
    pub strangers: u64,
    /// Cookies given out.
    pub cookies: u64,
    /// Handshakes that were begun.
    pub handshakes: u64,
    /// Of these, handshakes that were begun without a cookie.
    pub unproved: u64,
    /// Hellos with a good cookie that were not answered for want of room or time.
    pub turned_away: u64,
    /// Handshake messages that were not authentic.
    pub forged: u64,
    /// Half-open handshakes that were forgotten to make room for others.
    pub forgotten: u64,
    /// Resets sent for packets of connections that there are not.
    pub resets: u64,
    /// Datagrams that came to another member of the socket than their connection's, and were passed on.
    pub strays: u64,
}

impl core::ops::AddAssign for EndpointStats {
    fn add_assign(&mut self, other: Self) {
        let Self { strangers, cookies, handshakes, unproved, turned_away, forged, forgotten, resets, strays } =
            other;
        self.strangers += strangers;
        self.cookies += cookies;
        self.handshakes += handshakes;
        self.unproved += unproved;
        self.turned_away += turned_away;
        self.forged += forged;
        self.forgotten += forgotten;
        self.resets += resets;
        self.strays += strays;
    }
}
