//! The beginning of connections: the handshake at both ends, with what it may cost.

use super::desk::{Begun, Greeting, Hello};
use super::half_open::IN_A_CROWD;
use super::passing::Passed;
use super::{Connect, ConnectError, Endpoint, EndpointEvent, Entry, Handle, Listen, Refusal, State, Trust};
use crate::batch::{Batch, Purpose};
use crate::flow::Scheme;
use crate::handshake::{ClientParameters, Initiator, Responder, ServerParameters};
use crate::identity::PublicKey;
use crate::keys::{Opener, Sealer};
use crate::session::{Agreed, Session, SessionConfig, Side, code};
use crate::wire::{
    ConnectionId, TOKEN, write_cookie, write_header, write_hello, write_response, write_version,
};
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Time};

/// A handshake that this end began.
pub(super) struct Connecting {
    pub connect: Connect,
    pub source: ConnectionId,
    pub initiator: Initiator,
    pub cookie: Vec<u8>,
    /// Cookies that were answered since the hello was last repeated.
    pub cookies: u32,
    pub token: [u8; TOKEN],
    pub due: Time,
    pub deadline: Time,
    pub tries: u32,
    /// The time at which the hello was sent first, or the one with a cookie.
    pub first: Option<Time>,
    /// The shortest time from then to an answer.
    pub rtt: Option<Duration>,
    /// The id on small packets that ask whether anybody is there, and whether somebody is.
    pub knock: ConnectionId,
    pub is_narrow: bool,
    /// The version of one who answered and speaks another.
    pub version: Option<u8>,
    /// The key of one who answered and is not trusted.
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
            self.stats.strangers += 1;
            return;
        }
        let desk = Arc::clone(&self.desk);
        let at = self.desk_time(now);
        let is_proved = desk.cookies.check(at, from, source, first, cookie);
        // A late copy of a hello without a cookie, whose handshake has become a connection, is to begin no other.
        let is_late = || self.remote_ids.contains_key(&source);
        if !is_proved && (!cookie.is_empty() || is_late()) {
            return self.give_cookie(now, from, source, first);
        }
        let (hello, cookie) = (Hello::new(from, source, first), is_proved.then_some(cookie));
        let local = match desk.greet(at, self.member, hello, cookie, |member| self.fresh_id(member)) {
            Greeting::Known(None) => return,
            Greeting::Known(Some(response)) => {
                let mut bytes = Vec::new();
                write_response(&mut bytes, source, &response);
                return self.answer(from, bytes);
            }
            Greeting::NeedsCookie => return self.give_cookie(now, from, source, first),
            Greeting::Full => {
                self.stats.turned_away += 1;
                return;
            }
            Greeting::Begin { local, forgotten } => {
                self.stats.forgotten += u64::from(forgotten);
                local
            }
        };
        let parameters =
            ServerParameters { id: local, token: self.token(local), largest: self.config.largest };
        let mut ephemeral = [0; 32];
        self.entropy.fill(&mut ephemeral);
        self.stats.handshakes += 1;
        self.stats.unproved += u64::from(!is_proved);
        self.expires = self.expires.min(now + IN_A_CROWD);
        let begun = Responder::new(&self.config.identity, source, ephemeral, first, &parameters);
        let Ok((responder, response)) = begun else {
            self.stats.forged += 1;
            // A place that needs no cookie stays taken: nothing else bounds what such messages cost.
            if is_proved {
                desk.forget(local);
            }
            return;
        };
        let mut bytes = Vec::new();
        write_response(&mut bytes, source, &response);
        self.answer(from, bytes);
        desk.put_back(local, Begun { responder, response });
    }

    fn give_cookie(&mut self, now: Time, to: SocketAddr, source: ConnectionId, first: &[u8]) {
        self.stats.cookies += 1;
        let mut bytes = Vec::new();
        write_cookie(&mut bytes, source, &self.desk.cookies.make(self.desk_time(now), to, source, first));
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
            connecting.answered(now);
        }
        connecting.cookie = cookie.to_owned();
        // Whoever reads the path can send cookies too, and sooner than the server, which has another for each hello that was
        // changed on its way. A few are answered at once, and the last of the others when the hello is sent again.
        if connecting.cookies < MOST_COOKIES {
            connecting.cookies += 1;
            connecting.due = now;
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
        connecting.answered(now);
        let Connecting { connect, initiator, token, source, rtt, knock, .. } = *connecting;
        // Both ends must agree on windows and rates; the client settles them.
        let scheme = connect.scheme.on_path(&Session::hints(&self.config.session, rtt));
        let parameters = ClientParameters {
            token,
            largest: self.config.largest,
            service: connect.service.clone(),
            scheme: scheme.encode(),
        };
        let Ok((confirm, secrets)) = initiator.confirm(&parameters) else {
            self.ids.remove(&source);
            self.unname(knock, index);
            self.events.push_back((handle, EndpointEvent::NotConnected(ConnectError::Unspeakable)));
            return self.remove(index);
        };
        let agreed = Agreed {
            side: Side::Client,
            peer,
            service: connect.service,
            scheme,
            local: source,
            remote: server.id,
            token: server.token,
            largest: server.largest.min(self.config.largest),
            binding: secrets.binding,
            known: true,
        };
        let keys = (Sealer::new(secrets.client), Opener::new(secrets.server));
        let mut session = Session::new(now, agreed, self.config.session, keys, from, Some(confirm), rtt);
        if let Some(recorder) = connect.recorder {
            session.record(recorder);
        }
        self.timing += usize::from(session.agreed().scheme.times_packets());
        entry.state = State::Open(Box::new(session));
        self.settle(index);
        self.unname(knock, index);
        self.name(server.id, index);
        self.events.push_back((handle, EndpointEvent::Connected { peer }));
        self.make_ready(index);
    }

    /// A client speaks another version: it is told which is spoken here. That is shorter than what it answers.
    pub(super) fn on_other_hello(&mut self, now: Time, from: SocketAddr, source: ConnectionId) {
        self.stats.strangers += 1;
        if self.config.listen.is_some() && self.may_reset(now) {
            let mut bytes = Vec::new();
            write_version(&mut bytes, source);
            self.answer(from, bytes);
        }
    }

    /// The server is said to speak another version. Anybody who reads the path can say so, and another answer is waited for.
    pub(super) fn on_version(&mut self, now: Time, from: SocketAddr, id: ConnectionId, version: u8) {
        let Some(&index) = self.ids.get(&id) else { return };
        let Some(Some(Entry { state: State::Connecting(connecting), .. })) = self.entries.get_mut(index)
        else {
            return;
        };
        if from == connecting.connect.remote && connecting.version.replace(version).is_none() {
            connecting.deadline = connecting.deadline.min(now + SECOND_THOUGHT);
            self.make_ready(index);
        }
    }

    /// Somebody answered who is not trusted. Whoever reads the path can be quicker than the server, so another answer is waited
    /// for, for a while.
    fn on_wrong_key(&mut self, now: Time, index: usize, peer: PublicKey) {
        let Some(Some(Entry { state: State::Connecting(connecting), .. })) = self.entries.get_mut(index)
        else {
            return;
        };
        let Ok(initiator) = connecting.initiator.again() else { return };
        connecting.initiator = initiator;
        if connecting.wrong.replace(peer).is_none() {
            connecting.deadline = connecting.deadline.min(now + SECOND_THOUGHT);
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
        let desk = Arc::clone(&self.desk);
        let Some((hello, mut begun)) = desk.take(self.desk_time(now), id, from) else { return };
        let Ok((client, peer, secrets)) = begun.responder.read(message) else {
            self.stats.forged += 1;
            return desk.put_back(id, begun);
        };
        let Some(listen) = &self.config.listen else { return };
        let scheme = allowed(listen, &client.scheme);
        let refusal = if !listen.trust.includes(&peer) {
            Some((code::UNAUTHORIZED, "this key may not connect here".to_owned()))
        } else if !listen.services.contains(&client.service) {
            Some((code::SERVICE, "this is not served here".to_owned()))
        } else {
            scheme.as_ref().err().map(|why| (code::SCHEME, why.clone()))
        };
        // Nobody has decided about clients whose keys do not matter, and somebody has about those that are turned away.
        let is_refused = refusal.is_some();
        let is_known = !is_refused && matches!(listen.trust, Trust::Keys(_));
        let Ok(scheme) = scheme.or_else(|_| "newreno".parse()) else { return };
        if !desk.accept(id, hello.source) {
            return;
        }
        let promised = if is_known { self.to_promise() } else { 0 };
        let memory = if is_known { promised } else { self.config.session.memory };
        let agreed = Agreed {
            side: Side::Server,
            peer,
            service: client.service.clone(),
            scheme,
            local: id,
            remote: hello.source,
            token: client.token,
            largest: client.largest.min(self.config.largest),
            binding: secrets.binding,
            known: is_known,
        };
        let config = SessionConfig { memory, ..self.config.session };
        let keys = (Sealer::new(secrets.server), Opener::new(secrets.client));
        let mut session = Session::new(now, agreed, config, keys, hello.remote, None, None);
        self.timing += usize::from(session.agreed().scheme.times_packets());
        // Only who got the response, which went to the address of the hello, can say this. That is proved, with a cookie or
        // without, and not one to which the client has moved since.
        session.on_confirm_from(now, from, message.len(), &mut *self.entropy);
        let refused = refusal.map(|(code, reason)| {
            session.close(now, code, &reason);
            // Nobody was told of the connection, so nobody needs to hear of its end.
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
        self.settle(index);
        if is_known || is_refused {
            self.make_ready(index);
        } else {
            self.take_in(now, hello.remote, index);
        }
    }
}

impl Endpoint {
    /// One more stranger, for whom another may have to go.
    fn take_in(&mut self, now: Time, from: SocketAddr, index: usize) {
        let Some(Some(entry)) = self.entries.get_mut(index) else { return };
        entry.stranger = Some(from);
        let handle = Handle { index, generation: entry.generation };
        self.make_ready(index);
        let other = self.desk.take_in(self.desk_time(now), from, (self.member, handle));
        let Some((member, other)) = other else { return };
        self.stats.forgotten += 1;
        if member == self.member {
            self.crowd_out(now, other);
        } else {
            self.passed.push_back((member, Passed::Crowded(other)));
        }
    }

    /// Closes the connection of a stranger who has to make room.
    pub(super) fn crowd_out(&mut self, now: Time, handle: Handle) {
        if let Some(entry) = self.entry(handle)
            && entry.stranger.take().is_some()
            && let State::Open(session) = &mut entry.state
        {
            session.close(now, code::BUSY, "others wait, too; try again later");
            self.make_ready(handle.index);
        }
    }
}

/// The scheme that a client has chosen, or why it may not.
fn allowed(listen: &Listen, encoded: &[u8]) -> Result<Scheme, String> {
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
        if now < self.due {
            return;
        }
        if self.tries > 0 {
            self.cookies = 0;
        }
        self.due = now + FIRST_REPEAT * (1 << self.tries.min(1));
        self.tries += 1;
        self.first.get_or_insert(now);
        if self.tries > KNOCKS {
            let start = batch.start();
            write_header(batch.buffer(), self.knock, 0);
            batch.buffer().resize(start + KNOCK, 0);
            batch.finish(start, self.connect.remote, Purpose::Ordinary(Ecn::NotEct));
        }
        let start = batch.start();
        write_hello(batch.buffer(), self.source, &self.cookie, self.initiator.first());
        batch.finish(start, self.connect.remote, Purpose::Ordinary(Ecn::NotEct));
    }
}

impl Connecting {
    /// Something answered the hello. It may answer any of its copies, so that all that is known is how long it took at most
    /// (Karn and Partridge 1987): over a path without losses that is the round trip, and of two exchanges, where a cookie was
    /// asked for, the shorter one is it unless both lost something. A time since the last copy would be far too short where a
    /// round trip is as long as the time between copies.
    fn answered(&mut self, now: Time) {
        if let Some(first) = self.first.take() {
            let took = now.since(first);
            self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
        }
    }

    /// The reason for which no connection came of the attempt.
    pub fn failure(&self) -> ConnectError {
        match (self.wrong, self.version) {
            (Some(key), _) => ConnectError::WrongKey(key),
            (None, Some(version)) => ConnectError::Version(version),
            (None, None) if self.is_narrow => ConnectError::Narrow,
            (None, None) => ConnectError::NoAnswer,
        }
    }
}

/// Cookies that are answered at once until the hello is sent again: whoever sends more makes this end
/// send no more.
const MOST_COOKIES: u32 = 8;

/// After so many hellos without an answer small packets go with them, which somebody who is there answers with a reset: large
/// ones may be lost on the path.
const KNOCKS: u32 = 3;

/// Their size in bytes: larger than a reset.
const KNOCK: usize = 40;

/// A hello that is not answered is sent again after this, then after twice that each time: a server that is there is to be
/// reached over a bad path too.
const FIRST_REPEAT: Duration = Duration::from_millis(300);

/// After a response with a key that is not trusted another is waited for, for so long: whoever was quicker than the server
/// does not end the handshake.
const SECOND_THOUGHT: Duration = Duration::from_secs(2);
