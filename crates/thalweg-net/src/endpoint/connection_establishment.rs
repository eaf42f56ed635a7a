//! Connection establishment: the handshake at both ends, and limits on its cost.

use super::half_open_handshakes::CONTENDED_TIMEOUT;
use super::shard_messages::ShardMessage;
use super::shared_shard_state::{BegunHandshake, Hello, HelloOutcome};
use super::{Connect, ConnectError, Endpoint, EndpointEvent, Entry, Handle, Listen, Refusal, State, Trust};
use crate::datagram_batch::{Batch, Purpose};
use crate::flow::Scheme;
use crate::handshake::{ClientParameters, Initiator, Responder, ServerParameters};
use crate::identity::PublicKey;
use crate::packet_protection::{Decryptor, Encryptor};
use crate::session::{Session, SessionConfig, Side, Terms, code};
use crate::wire::{
    ConnectionId, RESET_TOKEN, write_cookie, write_header, write_hello, write_response, write_version,
};
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Time};

/// Handshake initiated by this end.
pub(super) struct Connecting {
    pub connect: Connect,
    pub source: ConnectionId,
    pub initiator: Initiator,
    pub cookie: Vec<u8>,
    /// Cookies answered since the last retransmission of the hello.
    pub cookies: u32,
    pub token: [u8; RESET_TOKEN],
    pub next_retry: Time,
    pub deadline: Time,
    pub tries: u32,
    /// Time of the first transmission of the hello, or of the hello with a cookie.
    pub first: Option<Time>,
    /// Shortest time from `first` to an answer.
    pub rtt: Option<Duration>,
    /// Connection id of the small reachability probes; `is_mtu_too_small` is true once one was answered.
    pub probe_id: ConnectionId,
    pub is_mtu_too_small: bool,
    /// Protocol version of a responder with another version.
    pub version: Option<u8>,
    /// Key of a responder that is not trusted.
    pub wrong: Option<PublicKey>,
}

impl Endpoint {
    pub(super) fn on_hello(
        &mut self,
        now: Time,
        from: SocketAddr,
        source: ConnectionId,
        cookie: &[u8],
        first: &[u8],
    ) {
        if self.config.listen.is_none() {
            self.stats.unrecognised += 1;
            return;
        }
        let listener = Arc::clone(&self.listener);
        let at = self.listener_time(now);
        let is_validated = listener.cookies.check(at, from, source, first, cookie);
        // A late copy of a cookie-less hello must not start a second handshake once its handshake has become a
        // connection.
        let is_late = || self.remote_ids.contains_key(&source);
        if !is_validated && (!cookie.is_empty() || is_late()) {
            return self.give_cookie(now, from, source, first);
        }
        let (hello, cookie) = (Hello::new(from, source, first), is_validated.then_some(cookie));
        let local = match listener.process_hello(at, self.shard, hello, cookie, |shard| self.fresh_id(shard))
        {
            HelloOutcome::Known(None) => return,
            HelloOutcome::Known(Some(response)) => {
                let mut bytes = Vec::new();
                write_response(&mut bytes, source, &response);
                return self.answer(from, bytes);
            }
            HelloOutcome::NeedsCookie => return self.give_cookie(now, from, source, first),
            HelloOutcome::Full => {
                self.stats.dropped += 1;
                return;
            }
            HelloOutcome::Begin { local, forgotten } => {
                self.stats.forgotten += u64::from(forgotten);
                local
            }
        };
        let parameters = ServerParameters {
            id: local,
            token: self.token(local),
            max_datagram_bytes: self.config.max_datagram_bytes,
        };
        let mut ephemeral = [0; 32];
        self.entropy.fill(&mut ephemeral);
        self.stats.handshakes += 1;
        self.stats.unvalidated += u64::from(!is_validated);
        self.expires = self.expires.min(now + CONTENDED_TIMEOUT);
        let begun = Responder::new(&self.config.identity, source, ephemeral, first, &parameters);
        let Ok((responder, response)) = begun else {
            self.stats.forged += 1;
            // A slot of a cookie-less handshake stays taken: nothing else bounds the cost of such messages.
            if is_validated {
                listener.forget(local);
            }
            return;
        };
        let mut bytes = Vec::new();
        write_response(&mut bytes, source, &response);
        self.answer(from, bytes);
        listener.put_back(local, BegunHandshake { responder, response });
    }

    fn give_cookie(&mut self, now: Time, to: SocketAddr, source: ConnectionId, first: &[u8]) {
        self.stats.cookies += 1;
        let mut bytes = Vec::new();
        write_cookie(
            &mut bytes,
            source,
            &self.listener.cookies.make(self.listener_time(now), to, source, first),
        );
        self.answer(to, bytes);
    }

    pub(super) fn on_cookie(&mut self, now: Time, from: SocketAddr, id: ConnectionId, cookie: &[u8]) {
        let Some(&index) = self.ids.get(&id) else { return };
        let Some(Some(Entry { state: State::Connecting(connecting), .. })) = self.entries.get_mut(index)
        else {
            return;
        };
        if from != connecting.connect.remote || connecting.cookie == cookie {
            return;
        }
        if connecting.cookie.is_empty() {
            connecting.on_answer(now);
        }
        connecting.cookie = cookie.to_owned();
        // An on-path observer can forge cookies and arrive before the server, which sends a new cookie for each hello
        // modified on its way. Answer a few at once; answer the last of the others with the next retransmission of the
        // hello.
        if connecting.cookies < MAX_COOKIES {
            connecting.cookies += 1;
            connecting.next_retry = now;
            connecting.tries = 0;
            self.make_ready(index);
        }
    }

    pub(super) fn on_response(&mut self, now: Time, from: SocketAddr, id: ConnectionId, message: &[u8]) {
        let Some(&index) = self.ids.get(&id) else { return };
        let Some(Some(entry)) = self.entries.get_mut(index) else { return };
        let handle = Handle { index, generation: entry.generation };
        let State::Connecting(connecting) = &mut entry.state else { return };
        if from != connecting.connect.remote {
            return;
        }
        let Ok((server, peer)) = connecting.initiator.read(message) else {
            self.stats.forged += 1;
            return;
        };
        if !connecting.connect.trust.includes(&peer) {
            return self.on_wrong_key(now, index, peer);
        }
        let State::Connecting(connecting) = core::mem::replace(&mut entry.state, State::Gone) else { return };
        let mut connecting = connecting;
        connecting.on_answer(now);
        let Connecting { connect, initiator, token, source, rtt, probe_id, .. } = *connecting;
        // Both ends must agree on windows and rates; the client decides.
        let scheme = connect.scheme.on_path(&Session::hints(&self.config.session, rtt));
        let parameters = ClientParameters {
            token,
            max_datagram_bytes: self.config.max_datagram_bytes,
            service: connect.service.clone(),
            scheme: scheme.encode(),
        };
        let Ok((confirm, secrets)) = initiator.confirm(&parameters) else {
            self.ids.remove(&source);
            self.unregister_id(probe_id, index);
            self.events.push_back((handle, EndpointEvent::NotConnected(ConnectError::NameTooLong)));
            return self.remove(index);
        };
        let agreed = Terms {
            side: Side::Client,
            peer,
            service: connect.service,
            scheme,
            local: source,
            remote: server.id,
            token: server.token,
            max_datagram_bytes: server.max_datagram_bytes.min(self.config.max_datagram_bytes),
            binding: secrets.binding,
            is_authorised: true,
        };
        let keys = (Encryptor::new(secrets.client), Decryptor::new(secrets.server));
        let mut session = Session::new(now, agreed, self.config.session, keys, from, Some(confirm), rtt);
        if let Some(recorder) = connect.recorder {
            session.record(recorder);
        }
        self.timing += usize::from(session.agreed().scheme.measures_spacing());
        entry.state = State::Open(Box::new(session));
        self.update_accounted_memory(index);
        self.unregister_id(probe_id, index);
        self.register_id(server.id, index);
        self.events.push_back((handle, EndpointEvent::Connected { peer }));
        self.make_ready(index);
    }

    /// Handles a hello of another version: replies with this end's version. The reply is smaller than the hello.
    pub(super) fn on_other_hello(&mut self, now: Time, from: SocketAddr, source: ConnectionId) {
        self.stats.unrecognised += 1;
        if self.config.listen.is_some() && self.may_reset(now) {
            let mut bytes = Vec::new();
            write_version(&mut bytes, source);
            self.answer(from, bytes);
        }
    }

    /// Handles a version reply. An on-path observer can forge one, so the handshake keeps waiting for another answer.
    pub(super) fn on_version(&mut self, now: Time, from: SocketAddr, id: ConnectionId, version: u8) {
        let Some(&index) = self.ids.get(&id) else { return };
        let Some(Some(Entry { state: State::Connecting(connecting), .. })) = self.entries.get_mut(index)
        else {
            return;
        };
        if from == connecting.connect.remote && connecting.version.replace(version).is_none() {
            connecting.deadline = connecting.deadline.min(now + WRONG_KEY_WAIT);
            self.make_ready(index);
        }
    }

    /// Handles a response from an untrusted key. An on-path observer can answer before the server, so the handshake
    /// waits for another response for a while.
    fn on_wrong_key(&mut self, now: Time, index: usize, peer: PublicKey) {
        let Some(Some(Entry { state: State::Connecting(connecting), .. })) = self.entries.get_mut(index)
        else {
            return;
        };
        let Ok(initiator) = connecting.initiator.resend() else { return };
        connecting.initiator = initiator;
        if connecting.wrong.replace(peer).is_none() {
            connecting.deadline = connecting.deadline.min(now + WRONG_KEY_WAIT);
        }
        self.make_ready(index);
    }

    pub(super) fn on_confirm(&mut self, now: Time, from: SocketAddr, id: ConnectionId, message: &[u8]) {
        if let Some(&index) = self.ids.get(&id) {
            if let Some(Some(Entry { state: State::Open(session), .. })) = self.entries.get_mut(index)
                && session.remote() == from
                && session.agreed().side == Side::Server
            {
                session.on_confirm_again(now);
                self.make_ready(index);
            }
            return;
        }
        if self.is_elsewhere(id) {
            return;
        }
        let listener = Arc::clone(&self.listener);
        let Some((hello, mut begun)) = listener.take(self.listener_time(now), id, from) else { return };
        let Ok((client, peer, secrets)) = begun.responder.read(message) else {
            self.stats.forged += 1;
            return listener.put_back(id, begun);
        };
        let Some(listen) = &self.config.listen else { return };
        let scheme = negotiate_scheme(listen, &client.scheme);
        let refusal = if !listen.trust.includes(&peer) {
            Some((code::UNAUTHORIZED, "this key may not connect here".to_owned()))
        } else if !listen.services.contains(&client.service) {
            Some((code::SERVICE, "this is not served here".to_owned()))
        } else {
            scheme.as_ref().err().map(|why| (code::SCHEME, why.clone()))
        };
        // The application has yet to decide about clients accepted under any key. Refused clients are already decided.
        let is_refused = refusal.is_some();
        let is_known = !is_refused && matches!(listen.trust, Trust::Keys(_));
        let Ok(scheme) = scheme.or_else(|_| "newreno".parse()) else { return };
        if !listener.accept(id, hello.source) {
            return;
        }
        let promised = if is_known { self.to_promise() } else { 0 };
        let memory = if is_known { promised } else { self.config.session.memory };
        let agreed = Terms {
            side: Side::Server,
            peer,
            service: client.service.clone(),
            scheme,
            local: id,
            remote: hello.source,
            token: client.token,
            max_datagram_bytes: client.max_datagram_bytes.min(self.config.max_datagram_bytes),
            binding: secrets.binding,
            is_authorised: is_known,
        };
        let config = SessionConfig { memory, ..self.config.session };
        let keys = (Encryptor::new(secrets.server), Decryptor::new(secrets.client));
        let mut session = Session::new(now, agreed, config, keys, hello.remote, None, None);
        self.timing += usize::from(session.agreed().scheme.measures_spacing());
        // Only the receiver of the response can send this, and the response went to the address of the hello. That
        // address is validated, with or without a cookie; an address to which the client has migrated since is not.
        session.on_confirm_from(now, from, message.len(), &mut *self.entropy);
        let refused = refusal.map(|(code, reason)| {
            session.close(now, code, &reason);
            // The application never learned of the connection, so it needs no closing event.
            while session.event().is_some() {}
            Box::new(Refusal { peer, service: client.service.clone(), remote: from, code, reason })
        });
        let handle = self.add(id, State::Open(Box::new(session)));
        let index = handle.index;
        let event = refused.map_or_else(
            || EndpointEvent::Accepted { peer, service: client.service, remote: from, known: is_known },
            EndpointEvent::Refused,
        );
        self.events.push_back((handle, event));
        self.remote_ids.insert(hello.source, index);
        if let Some(Some(entry)) = self.entries.get_mut(index) {
            entry.promised = promised;
        }
        self.update_accounted_memory(index);
        if is_known || is_refused {
            self.make_ready(index);
        } else {
            self.register_peer(now, hello.remote, index);
        }
    }
}

impl Endpoint {
    /// Registers an unauthenticated peer, and evicts another one if necessary.
    fn register_peer(&mut self, now: Time, from: SocketAddr, index: usize) {
        let Some(Some(entry)) = self.entries.get_mut(index) else { return };
        entry.unauthenticated = Some(from);
        let handle = Handle { index, generation: entry.generation };
        self.make_ready(index);
        let other = self.listener.register_peer(self.listener_time(now), from, (self.shard, handle));
        let Some((shard, other)) = other else { return };
        self.stats.forgotten += 1;
        if shard == self.shard {
            self.evict_peer(now, other);
        } else {
            self.shard_messages.push_back((shard, ShardMessage::Evict(other)));
        }
    }

    /// Closes the connection of an evicted unauthenticated peer.
    pub(super) fn evict_peer(&mut self, now: Time, handle: Handle) {
        if let Some(entry) = self.entry(handle)
            && entry.unauthenticated.take().is_some()
            && let State::Open(session) = &mut entry.state
        {
            session.close(now, code::BUSY, "too many peers wait; try again later");
            self.make_ready(handle.index);
        }
    }
}

/// Returns the client's scheme, or the reason for refusing it.
fn negotiate_scheme(listen: &Listen, encoded: &[u8]) -> Result<Scheme, String> {
    let scheme = Scheme::decode(encoded, &listen.registry)
        .map_err(|error| format!("the scheme cannot be used here: {error}"))?;
    match &listen.schemes {
        Some(names) if !names.contains(scheme.name()) => {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let name = scheme.name();
            Err(format!(
                "the scheme {name} is not allowed here, only {} ({name} needs --allow-scheme)",
                names.join(", ")
            ))
        }
        _ => Ok(scheme),
    }
}

impl Connecting {
    pub fn poll(&mut self, now: Time, batch: &mut Batch) {
        if now < self.next_retry {
            return;
        }
        if self.tries > 0 {
            self.cookies = 0;
        }
        self.next_retry = now + FIRST_REPEAT * (1 << self.tries.min(1));
        self.tries += 1;
        self.first.get_or_insert(now);
        if self.tries > HELLOS_BEFORE_PROBES {
            let start = batch.start();
            write_header(batch.buffer(), self.probe_id, 0);
            batch.buffer().resize(start + PROBE_BYTES, 0);
            batch.finish(start, self.connect.remote, Purpose::Ordinary(Ecn::NotEct));
        }
        let start = batch.start();
        write_hello(batch.buffer(), self.source, &self.cookie, self.initiator.first());
        batch.finish(start, self.connect.remote, Purpose::Ordinary(Ecn::NotEct));
    }
}

impl Connecting {
    /// Takes a round-trip sample from an answer to the hello. The answer may be to any copy, so the time since the
    /// first copy is an upper bound (Karn and Partridge 1987). On a path without losses it is the round trip. With a
    /// cookie there are two exchanges; the shorter one is the round trip unless both lost a packet. The time since the
    /// last copy would be far too short where the round trip is as long as the retransmission interval.
    fn on_answer(&mut self, now: Time) {
        if let Some(first) = self.first.take() {
            let took = now.since(first);
            self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
        }
    }

    /// Returns the reason why the attempt failed.
    pub fn failure(&self) -> ConnectError {
        match (self.wrong, self.version) {
            (Some(key), _) => ConnectError::WrongKey(key),
            (None, Some(version)) => ConnectError::Version(version),
            (None, None) if self.is_mtu_too_small => ConnectError::PathMtuTooSmall,
            (None, None) => ConnectError::NoAnswer,
        }
    }
}

/// Maximum number of cookies answered at once per transmission of the hello. The limit keeps forged cookies from making
/// this end send more.
const MAX_COOKIES: u32 = 8;

/// Number of unanswered hellos after which small probes accompany them. A reachable host answers a probe with a reset,
/// even where the path drops large packets.
const HELLOS_BEFORE_PROBES: u32 = 3;

/// Probe size, in bytes; larger than a reset.
const PROBE_BYTES: usize = 40;

/// Initial retransmission timeout of the hello, doubled each time. Retransmission is needed to reach a server over a
/// lossy path.
const FIRST_REPEAT: Duration = Duration::from_millis(300);

/// Time to wait for another response after one with an untrusted key. A forged response that arrives first thus does
/// not end the handshake.
const WRONG_KEY_WAIT: Duration = Duration::from_secs(2);
