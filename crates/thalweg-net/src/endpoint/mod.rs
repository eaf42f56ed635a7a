//! All connections of one socket, sans-I/O and without a clock.
//!
//! An [`Endpoint`] takes datagrams, demultiplexes them by connection id and creates new connections. It keeps minimal
//! state for unauthenticated clients: at most [`Limits::handshakes`] handshakes, including at most [`Limits::unvalidated`]
//! without a returned [cookie](crate::cookie). Their Diffie-Hellman operations are limited to
//! [`Limits::handshakes_per_second`], shared fairly by address.

mod connection_establishment;
mod fair_slots;
mod half_open_handshakes;
mod settings_and_events;
mod shard_messages;
mod shared_shard_state;
mod state_digest;

use crate::datagram_batch::{Batch, Purpose};
use crate::handshake::Initiator;
use crate::identity::Entropy;
use crate::packet_protection::DecryptionError;
use crate::session::{PollResult, Session, Side, UNAUTHENTICATED_MEMORY};
use crate::wire::{ConnectionId, Packet, RESET_TOKEN, SAFE_DATAGRAM, write_reset};
use connection_establishment::Connecting;
use core::ops::Range;
pub use fair_slots::Host;
use half_open_handshakes::HANDSHAKE_TIMEOUT;
pub use settings_and_events::{
    Connect, ConnectError, EndpointConfig, EndpointEvent, EndpointStats, Handle, Limits, Listen, Refusal,
    Trust,
};
pub use shard_messages::ShardMessage;
pub use shared_shard_state::{ListenerState, MAX_SHARDS};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Time;

enum State {
    Connecting(Box<Connecting>),
    Open(Box<Session>),
    /// Placeholder during a state change.
    Gone,
}

struct Entry {
    generation: u64,
    state: State,
    /// True while the entry is in the poll list.
    in_poll_list: bool,
    /// Key of the entry in the set of deadlines.
    deadline: Time,
    /// Source address, while the peer is unauthenticated.
    unauthenticated: Option<SocketAddr>,
    /// Accounted memory reservation of the connection, in bytes.
    promised: u64,
}

impl Entry {
    /// Adds the entry, which has this index, to the poll list.
    #[inline]
    fn make_ready(&mut self, index: usize, ready: &mut VecDeque<usize>) {
        if !core::mem::replace(&mut self.in_poll_list, true) {
            ready.push_back(index);
        }
    }
}

/// Decrypted datagram whose frames are still to be processed.
struct DecryptedDatagram {
    index: usize,
    number: u64,
    range: Range<usize>,
}

/// All connections of one socket, or of one of its shards.
pub struct Endpoint {
    config: EndpointConfig,
    entropy: Box<dyn Entropy>,
    reset_key: [u8; 32],
    /// State shared by the shards of the socket, and the number of this shard.
    listener: Arc<ListenerState>,
    shard: usize,
    /// Time shown by the clock before its last restart, in nanoseconds.
    clock_offset: u64,
    /// Time of the next check for expired half-open handshakes.
    expires: Time,
    /// Messages for other shards.
    shard_messages: VecDeque<(usize, ShardMessage)>,
    /// Shard to which the current datagram must be forwarded.
    forward_to: Option<usize>,
    /// True if the current datagram was forwarded to this shard.
    is_passed: bool,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    generations: u64,
    /// Connections by local id (the destination id of received packets).
    ids: HashMap<ConnectionId, usize>,
    /// Connections by remote id, as named in resets. Peers choose these ids: the latest registration wins.
    remote_ids: HashMap<ConnectionId, usize>,
    /// Number of connections whose schemes use packet arrival times.
    timing: usize,
    deadlines: BTreeSet<(Time, usize)>,
    poll_list: VecDeque<usize>,
    /// Pending replies that belong to no connection.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<(Handle, EndpointEvent)>,
    decrypted: Vec<DecryptedDatagram>,
    stats: EndpointStats,
}

impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint").field("connections", &self.ids.len()).finish_non_exhaustive()
    }
}

/// Source of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Source address.
    pub from: SocketAddr,
    /// Received ECN codepoint.
    pub ecn: Ecn,
}

/// Coalesced datagrams in a sliceable buffer.
#[derive(Clone, Debug)]
pub struct ReceivedDatagrams {
    /// Buffer with all datagrams.
    pub bytes: Slice,
    /// True if retained data must be copied, because memory does not suffice to hold many such buffers.
    pub must_copy: bool,
}

impl From<Slice> for ReceivedDatagrams {
    fn from(bytes: Slice) -> Self {
        Self { bytes, must_copy: false }
    }
}

impl Endpoint {
    /// Creates an endpoint without connections.
    pub fn new(now: Time, config: EndpointConfig, mut entropy: Box<dyn Entropy>) -> Self {
        let listener = ListenerState::new(now, config.limits, 1, true, &mut *entropy);
        Self::shard(config, entropy, Arc::new(listener), 0)
    }

    /// Creates one shard of a socket, by its number. All shards have the same settings, including the limits of `listener`.
    pub fn shard(
        config: EndpointConfig,
        mut entropy: Box<dyn Entropy>,
        listener: Arc<ListenerState>,
        shard: usize,
    ) -> Self {
        let reset_key = reset_key(&config, &mut *entropy);
        Self {
            config,
            entropy,
            reset_key,
            listener,
            shard,
            clock_offset: 0,
            expires: Time::MAX,
            shard_messages: VecDeque::new(),
            forward_to: None,
            is_passed: false,
            entries: Vec::new(),
            free: Vec::new(),
            generations: 0,
            ids: HashMap::new(),
            remote_ids: HashMap::new(),
            timing: 0,
            deadlines: BTreeSet::new(),
            poll_list: VecDeque::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            decrypted: Vec::new(),
            stats: EndpointStats::default(),
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// Returns the settings.
    pub fn config(&self) -> &EndpointConfig {
        &self.config
    }

    /// Returns true while any connection depends on exact arrival times.
    pub fn times_datagrams(&self) -> bool {
        self.timing > 0
    }

    /// Returns the number of connections and handshakes of all shards.
    pub fn connections(&self) -> usize {
        self.ids.len() + self.listener.half_open()
    }

    /// Returns true if there is no connection, no handshake and nothing to send.
    pub fn is_idle(&self) -> bool {
        self.connections() == 0 && self.answers.is_empty() && self.events.is_empty()
    }

    /// Restarts with a clock that shows `now` and has shown `before`. Call it only while the endpoint is
    /// [idle](Self::is_idle). Identity and keys stay.
    pub fn restart(&mut self, before: Time, now: Time) {
        self.clock_offset += (before.as_picos() - now.as_picos().min(before.as_picos())) / 1000;
        self.expires = Time::MAX;
    }

    /// Converts to the clock of the shared state.
    fn listener_time(&self, now: Time) -> Time {
        ListenerState::time(now, self.clock_offset)
    }

    /// Returns true if nothing is left to send to any peer: there is no connection, or peers have closed all of them.
    pub fn is_silent(&self) -> bool {
        self.answers.is_empty()
            && self.listener.half_open() == 0
            && self.entries.iter().flatten().all(|entry| match &entry.state {
                State::Open(session) => session.is_silent(),
                _ => false,
            })
    }

    /// Starts a connection attempt.
    pub fn connect(&mut self, now: Time, connect: Connect) -> Handle {
        let source = self.fresh_id(self.shard);
        let token = self.token(source);
        let probe_id = self.fresh_id(self.shard);
        let mut ephemeral = [0; 32];
        self.entropy.fill(&mut ephemeral);
        let initiator = Initiator::new(&self.config.identity, source, ephemeral);
        let state = initiator.map(|initiator| Connecting {
            connect,
            source,
            initiator,
            cookie: Vec::new(),
            cookies: 0,
            token,
            next_retry: now,
            deadline: now + HANDSHAKE_TIMEOUT,
            tries: 0,
            first: None,
            rtt: None,
            probe_id,
            is_mtu_too_small: false,
            version: None,
            wrong: None,
        });
        match state {
            Ok(state) => {
                let handle = self.add(source, State::Connecting(Box::new(state)));
                self.register_id(probe_id, handle.index);
                handle
            }
            Err(_) => {
                self.generations += 1;
                let handle = Handle { index: usize::MAX, generation: self.generations };
                self.events.push_back((handle, EndpointEvent::NotConnected(ConnectError::NameTooLong)));
                handle
            }
        }
    }

    /// Returns an open connection. Call [`schedule_poll`](Endpoint::schedule_poll) after changing it.
    pub fn session(&mut self, handle: Handle) -> Option<&mut Session> {
        match &mut self.entry(handle)?.state {
            State::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Schedules a changed connection for polling.
    pub fn schedule_poll(&mut self, handle: Handle) {
        if self.entry(handle).is_some() {
            self.make_ready(handle.index);
        }
    }

    /// Marks a peer as authorised by the application ([`Session::authorise`](crate::session::Session::authorise)). Its receive
    /// buffer then follows [`Limits::memory`].
    pub fn authorise(&mut self, handle: Handle) {
        if !self.session(handle).is_some_and(|session| session.is_untrusted()) {
            return;
        }
        let memory = self.to_promise();
        let Some(Some(entry)) = self.entries.get_mut(handle.index) else { return };
        let State::Open(session) = &mut entry.state else { return };
        if let Some(host) = entry.unauthenticated.take() {
            self.listener.remove_peer(host, (self.shard, handle));
        }
        entry.promised += memory;
        session.authorise(memory);
        self.update_accounted_memory(handle.index);
        self.make_ready(handle.index);
    }

    /// Reserves receive memory for a new connection: an eighth of what remains after the guaranteed minimum of all
    /// connections.
    fn to_promise(&self) -> u64 {
        let max = self.config.session.memory;
        self.listener.promise(|left| (left / 8).max(UNAUTHENTICATED_MEMORY).min(max))
    }

    /// Cancels a connection attempt, or closes an open connection.
    pub fn abandon(&mut self, now: Time, handle: Handle, code: u16, reason: &str) {
        match self.entry(handle).map(|entry| &mut entry.state) {
            Some(State::Open(session)) => {
                session.close(now, code, reason);
                self.make_ready(handle.index);
            }
            Some(_) => self.remove(handle.index),
            None => {}
        }
    }

    fn entry(&mut self, handle: Handle) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(handle.index)?.as_mut()?;
        (entry.generation == handle.generation).then_some(entry)
    }

    /// Returns the next event.
    #[inline]
    pub fn event(&mut self) -> Option<(Handle, EndpointEvent)> {
        self.events.pop_front()
    }

    // Input.

    /// Processes datagrams of `stride` bytes each from one sender; the last may be shorter. Decrypts them in place,
    /// then passes them to `share`, which returns the same bytes in a sliceable buffer.
    pub fn receive<T, S: Into<ReceivedDatagrams>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        stride: usize,
        mut bytes: T,
        share: impl FnOnce(T) -> S,
    ) where
        T: AsMut<[u8]>,
    {
        let mut opened = core::mem::take(&mut self.decrypted);
        let mut last = None;
        let mut start = 0;
        let mut forwarded = Vec::new();
        for datagram in bytes.as_mut().chunks_mut(stride.max(1)) {
            let length = datagram.len();
            self.receive_one(now, arrival, datagram, &mut last, |index, number, range: Range<usize>| {
                opened.push(DecryptedDatagram {
                    index,
                    number,
                    range: start + range.start..start + range.end,
                });
            });
            if let Some(shard) = self.forward_to.take() {
                forwarded.push((shard, start..start + length));
            }
            start += length;
        }
        if !forwarded.is_empty() {
            self.pass_on(arrival, stride, bytes.as_mut(), &forwarded);
        }
        if !opened.is_empty() {
            let ReceivedDatagrams { bytes: shared, must_copy } = share(bytes).into();
            // Data retained from one datagram must not keep a buffer with many others alive.
            let must_copy = start > stride && (must_copy || opened.len() * stride < start / 2);
            for DecryptedDatagram { index, number, range } in opened.drain(..) {
                let Some(Some(entry)) = self.entries.get_mut(index) else { continue };
                let State::Open(session) = &mut entry.state else { continue };
                let copied =
                    must_copy.then(|| (Slice::new(&shared.as_bytes()[range.clone()]), 0..range.len()));
                let (packet, range) =
                    copied.as_ref().map_or((&shared, range), |(copy, range)| (copy, range.clone()));
                session.receive(now, arrival.from, arrival.ecn, (number, packet, range), &mut *self.entropy);
                entry.make_ready(index, &mut self.poll_list);
            }
        }
        self.decrypted = opened;
    }

    fn receive_one(
        &mut self,
        now: Time,
        arrival: Arrival,
        datagram: &mut [u8],
        last: &mut Option<(ConnectionId, usize)>,
        opened: impl FnOnce(usize, u64, Range<usize>),
    ) {
        let from = arrival.from;
        let Some(packet) = Packet::read(datagram) else {
            self.stats.unrecognised += 1;
            return;
        };
        match packet {
            Packet::Protected { destination } => {
                let known = last.filter(|(id, _)| *id == destination).map(|(_, index)| index);
                let Some(index) = known.or_else(|| self.ids.get(&destination).copied()) else {
                    // Only the owning shard can tell that the id is unknown. Data may overtake the last handshake
                    // message.
                    if self.is_elsewhere(destination) || self.listener.is_half_open(destination) {
                        return;
                    }
                    self.stats.unrecognised += 1;
                    return self.answer_unknown(now, from, destination, datagram.len());
                };
                *last = Some((destination, index));
                if let Some(Some(Entry { state: State::Open(session), .. })) = self.entries.get_mut(index) {
                    match session.open(datagram) {
                        Ok((number, range)) => opened(index, number, range),
                        Err(DecryptionError::IntegrityLimit) => {
                            session.on_integrity_limit(now);
                            self.make_ready(index);
                        }
                        Err(DecryptionError::Forged | DecryptionError::Replayed) => {}
                    }
                }
            }
            Packet::Hello { source, cookie, message } => self.on_hello(now, from, source, cookie, message),
            Packet::Cookie { destination, cookie } => self.on_cookie(now, from, destination, cookie),
            Packet::Response { destination, message } => self.on_response(now, from, destination, message),
            Packet::Confirm { destination, message } => self.on_confirm(now, from, destination, message),
            Packet::OtherHello { source } => self.on_other_hello(now, from, source),
            Packet::Version { destination, version } => self.on_version(now, from, destination, version),
            Packet::RouterFeedback(message) => {
                if let Some(index) = self.remote_index(ConnectionId(message.head.connection))
                    && let Some(Some(Entry { state: State::Open(session), .. })) = self.entries.get_mut(index)
                    && session.on_router_feedback(now, &message)
                {
                    self.make_ready(index);
                }
            }
            Packet::Reset { destination, token } => {
                let index = self.remote_index(destination);
                if let Some(index) = index
                    && let Some(Some(Entry { state: State::Connecting(connecting), .. })) =
                        self.entries.get_mut(index)
                {
                    // The host is reachable, but large packets are lost.
                    connecting.is_mtu_too_small |= from == connecting.connect.remote;
                }
                if let Some(index) = index
                    && let Some(Some(Entry { state: State::Open(session), .. })) = self.entries.get_mut(index)
                    && session.on_reset(now, from, token)
                {
                    self.make_ready(index);
                }
            }
        }
    }

    /// Replaces the set of trusted clients. Existing connections stay open.
    pub fn set_trust(&mut self, trust: Trust) {
        if let Some(listen) = &mut self.config.listen {
            listen.trust = trust;
        }
    }

    /// Stops answering new clients. A handshake begun now could not be completed.
    pub fn stop_listening(&mut self) {
        self.config.listen = None;
    }

    /// Answers a packet of an unknown connection, perhaps from before a restart, with a reset. The reset is smaller
    /// than the packet, so two hosts without state cannot loop. Resets are rate-limited and leave room for handshake
    /// replies.
    fn answer_unknown(&mut self, now: Time, from: SocketAddr, id: ConnectionId, length: usize) {
        if self.config.place.is_none() {
            // No peer could verify the reset.
            return;
        }
        // The sender's own id is not known here. The sender knows this id, and its token, from the handshake.
        let token = self.token(id);
        let mut bytes = Vec::new();
        write_reset(&mut bytes, id, &token);
        if bytes.len() < length && self.answers.len() < MAX_ANSWERS / 4 && self.may_reset(now) {
            self.stats.resets += 1;
            self.answer(from, bytes);
        }
    }

    fn may_reset(&self, now: Time) -> bool {
        self.listener.may_reset(self.listener_time(now))
    }

    fn answer(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back((to, bytes));
        }
    }

    // Output.

    /// Does the work due at `now`: appends datagrams to `batch` and returns the time of the next poll.
    pub fn poll(&mut self, now: Time, batch: &mut Batch) -> PollResult {
        while batch.has_room(usize::from(SAFE_DATAGRAM)) {
            let Some((to, bytes)) = self.answers.pop_front() else { break };
            let start = batch.start();
            batch.buffer().extend_from_slice(&bytes);
            batch.finish(start, to, Purpose::Ordinary(Ecn::NotEct));
        }
        if !self.answers.is_empty() {
            return PollResult::Full;
        }
        if now >= self.expires {
            self.expires = self.listener.expire(self.listener_time(now)).map_or(Time::MAX, |span| now + span);
        }
        while let Some(&(at, index)) = self.deadlines.first() {
            if at > now {
                break;
            }
            self.set_deadline(index, Time::MAX);
            self.make_ready(index);
        }
        while let Some(index) = self.poll_list.pop_front() {
            let Some(Some(entry)) = self.entries.get_mut(index) else { continue };
            entry.in_poll_list = false;
            let handle = Handle { index, generation: entry.generation };
            match &mut entry.state {
                State::Connecting(connecting) => {
                    if now >= connecting.deadline {
                        let event = EndpointEvent::NotConnected(connecting.failure());
                        self.events.push_back((handle, event));
                        self.remove(index);
                        continue;
                    }
                    connecting.poll(now, batch);
                    let at = connecting.next_retry.min(connecting.deadline);
                    self.set_deadline(index, at);
                }
                State::Gone => {}
                State::Open(session) => {
                    if session.wants() > session.memory() {
                        // Grant half of what remains after the guaranteed minimum of all connections; skip steps too
                        // small to be worth advertising.
                        let (has, wants) = (session.memory(), session.wants());
                        let more = self.listener.promise(|left| {
                            let more = (wants - has).min(left / 2);
                            if more > has / 4 { more } else { 0 }
                        });
                        if more > 0 {
                            entry.promised += more;
                            session.grow(has + more);
                        }
                    }
                    let next = session.poll(now, batch);
                    while let Some(event) = session.event() {
                        self.events.push_back((handle, EndpointEvent::Session(event)));
                    }
                    if session.is_over() {
                        self.remove(index);
                        continue;
                    }
                    if session.memory() != entry.promised {
                        let before = core::mem::replace(&mut entry.promised, session.memory());
                        self.listener.adjust_memory_reservation(before, entry.promised);
                    }
                    match next {
                        PollResult::Full => {
                            // Serve the other connections first.
                            self.make_ready(index);
                            return PollResult::Full;
                        }
                        PollResult::At(at) => self.set_deadline(index, at),
                    }
                }
            }
        }
        PollResult::At(self.deadlines.first().map_or(self.expires, |&(at, _)| at.min(self.expires)))
    }

    /// Handles a send error: this host's network layer refused `datagrams`, of `size` bytes each, to `remote`. Notifies
    /// only the connections that sent them, as there may be very many others.
    pub fn on_refused(&mut self, now: Time, remote: SocketAddr, size: usize, datagrams: &[u8]) {
        let mut last = None;
        for datagram in datagrams.chunks(size.max(1)) {
            let Some(Packet::Protected { destination }) = Packet::read(datagram) else { continue };
            if last.replace(destination) == Some(destination) {
                continue;
            }
            if let Some(&index) = self.remote_ids.get(&destination)
                && let Some(Some(Entry { state: State::Open(session), .. })) = self.entries.get_mut(index)
                && session.remote() == remote
            {
                session.on_refused(now, size);
                self.make_ready(index);
            }
        }
    }

    // Accounting.

    fn add(&mut self, id: ConnectionId, state: State) -> Handle {
        self.generations += 1;
        let entry = Entry {
            generation: self.generations,
            state,
            in_poll_list: false,
            deadline: Time::MAX,
            unauthenticated: None,
            promised: 0,
        };
        let index = self.free.pop().unwrap_or(self.entries.len());
        if index == self.entries.len() {
            self.entries.push(Some(entry));
        } else {
            self.entries[index] = Some(entry);
        }
        self.ids.insert(id, index);
        self.make_ready(index);
        Handle { index, generation: self.generations }
    }

    fn remove(&mut self, index: usize) {
        self.set_deadline(index, Time::MAX);
        let Some(entry) = self.entries.get_mut(index).and_then(Option::take) else { return };
        self.listener.adjust_memory_reservation(entry.promised, 0);
        match entry.state {
            State::Connecting(connecting) => {
                self.ids.remove(&connecting.source);
                self.unregister_id(connecting.probe_id, index);
            }
            State::Gone => {}
            State::Open(session) => {
                if let Some(host) = entry.unauthenticated {
                    let handle = Handle { index, generation: entry.generation };
                    self.listener.remove_peer(host, (self.shard, handle));
                }
                self.ids.remove(&session.agreed().local);
                self.unregister_id(session.agreed().remote, index);
                if session.agreed().side == Side::Server {
                    self.listener.leave(self.shard);
                }
                self.timing -= usize::from(session.agreed().scheme.measures_spacing());
            }
        }
        self.free.push(index);
    }

    fn make_ready(&mut self, index: usize) {
        if let Some(Some(entry)) = self.entries.get_mut(index) {
            entry.make_ready(index, &mut self.poll_list);
        }
    }

    fn set_deadline(&mut self, index: usize, at: Time) {
        let Some(Some(entry)) = self.entries.get_mut(index) else { return };
        if entry.deadline == at {
            return;
        }
        self.deadlines.remove(&(entry.deadline, index));
        entry.deadline = at;
        if at < Time::MAX {
            self.deadlines.insert((at, index));
        }
    }

    /// Returns an unused connection id for this shard.
    fn fresh_id(&mut self, shard: usize) -> ConnectionId {
        loop {
            let mut bytes = [0; 8];
            self.entropy.fill(&mut bytes);
            let id = ConnectionId(bytes).with_shard(shard, self.listener.shards());
            if !self.ids.contains_key(&id) {
                return id;
            }
        }
    }

    /// Returns the token that authenticates a reset for packets with `id`.
    fn token(&self, id: ConnectionId) -> [u8; RESET_TOKEN] {
        let hash = blake3::keyed_hash(&self.reset_key, &id.0);
        let mut token = [0; RESET_TOKEN];
        token.copy_from_slice(&hash.as_bytes()[..RESET_TOKEN]);
        token
    }
}

/// Maximum number of queued replies to unauthenticated peers; more are dropped.
const MAX_ANSWERS: usize = 64;

/// Derives the key of the stateless reset tokens. A host that can make another socket with the same key answer a packet
/// obtains the token of any connection id (RFC 9000, section 21.11). Hence no two sockets share a key.
fn reset_key(config: &EndpointConfig, entropy: &mut dyn Entropy) -> [u8; 32] {
    let mut material = config.identity.secret().to_vec();
    match &config.place {
        // The key is the same after a restart, as stateless resets require.
        Some(place) => material.extend_from_slice(place),
        None => {
            let mut fresh = [0; 32];
            entropy.fill(&mut fresh);
            material.extend_from_slice(&fresh);
        }
    }
    blake3::derive_key("thalweg v1 reset tokens", &material)
}
