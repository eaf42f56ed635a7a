//! Agents: real endpoints, with an application that sends one datagram on each connection.

use crate::attacker_knowledge::KnownDatagram;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{Arrival, Connect, Endpoint, EndpointConfig, EndpointEvent, Handle};
use thalweg_net::identity::{Entropy, PublicKey};
use thalweg_net::session::{CloseReason, PollResult, Side};
use thalweg_net::wire::ConnectionId;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Time;

/// Pseudorandom bytes from a name and a counter, and the connection id that is returned next, if the attacker chose one.
#[derive(Clone)]
struct DeterministicEntropy(Arc<Mutex<(String, u64, Option<ConnectionId>)>>);

impl Entropy for DeterministicEntropy {
    fn fill(&mut self, bytes: &mut [u8]) {
        let Ok(mut state) = self.0.lock() else { return };
        if let Some(id) = state.2.take_if(|id| id.0.len() == bytes.len()) {
            return bytes.copy_from_slice(&id.0);
        }
        state.1 += 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(state.0.as_bytes()).update(&state.1.to_le_bytes());
        hasher.finalize_xof().fill(bytes);
    }
}

/// A connection as seen by its endpoint, and its outcome.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub handle: Handle,
    pub side: Side,
    pub peer: PublicKey,
    pub local: ConnectionId,
    pub remote: ConnectionId,
    pub binding: [u8; 32],
    /// Service and scheme agreed by both endpoints.
    pub terms: String,
    /// Agent that completed the handshake, whose resets are valid.
    pub with: Option<usize>,
    /// Closed by the local application.
    pub is_left: bool,
    pub closed: Option<CloseReason>,
    /// State lost in a restart of the endpoint.
    pub is_forgotten: bool,
    /// The one datagram that the application sends.
    pub payload: Vec<u8>,
    pub received: Vec<Vec<u8>>,
}

impl Exchange {
    pub fn is_open(&self) -> bool {
        !self.is_left && !self.is_forgotten && self.closed.is_none()
    }
}

/// A participant with a socket.
pub struct Agent {
    pub name: &'static str,
    pub is_honest: bool,
    pub config: EndpointConfig,
    pub address: SocketAddr,
    pub endpoint: Endpoint,
    draws: DeterministicEntropy,
    /// Time of the endpoint's next poll.
    pub next_poll: Time,
    pub exchanges: Vec<Exchange>,
    /// Bytes in and out per address, and the validated addresses.
    pub traffic: BTreeMap<SocketAddr, (u64, u64)>,
    pub validated: BTreeSet<SocketAddr>,
    /// Resets and responses sent.
    pub resets: BTreeSet<Vec<u8>>,
    pub responses: BTreeSet<Vec<u8>>,
    /// Hello answered by each issued cookie: source address, connection id, first message.
    pub issued: BTreeMap<Vec<u8>, (SocketAddr, ConnectionId, Vec<u8>)>,
    /// Cookies that led to a handshake.
    pub used_cookies: BTreeSet<Vec<u8>>,
}

impl Agent {
    pub fn new(
        now: Time,
        name: &'static str,
        is_honest: bool,
        address: SocketAddr,
        config: EndpointConfig,
    ) -> Self {
        let draws = DeterministicEntropy(Arc::new(Mutex::new((name.to_owned(), 0, None))));
        Self {
            name,
            is_honest,
            endpoint: Endpoint::new(now, config.clone(), Box::new(draws.clone())),
            config,
            address,
            draws,
            next_poll: Time::MAX,
            exchanges: Vec::new(),
            traffic: BTreeMap::new(),
            validated: BTreeSet::new(),
            resets: BTreeSet::new(),
            responses: BTreeSet::new(),
            issued: BTreeMap::new(),
            used_cookies: BTreeSet::new(),
        }
    }

    /// Restarts the endpoint, which loses all connection state.
    pub fn restart(&mut self, now: Time) {
        self.endpoint = Endpoint::new(now, self.config.clone(), Box::new(self.draws.clone()));
        self.next_poll = Time::MAX;
        self.exchanges.iter_mut().for_each(|exchange| exchange.is_forgotten = true);
    }

    /// Requests a connection, by the given id if any.
    pub fn connect(&mut self, now: Time, connect: Connect, id: Option<ConnectionId>) -> Handle {
        if let Ok(mut state) = self.draws.0.lock() {
            state.2 = id;
        }
        self.endpoint.connect(now, connect)
    }

    /// Returns the number of random draws so far, which determines the next one.
    pub fn draw_count(&self) -> u64 {
        self.draws.0.lock().map_or(0, |state| state.1)
    }

    pub fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let bytes = datagram.to_vec();
        let arrival = Arrival { from, ecn: Ecn::NotEct };
        self.endpoint.receive(now, arrival, bytes.len().max(1), bytes, Slice::new);
    }

    /// Polls the endpoint: returns the datagrams it sends and the events since the last poll.
    pub fn poll(&mut self, now: Time, number: usize) -> (Vec<KnownDatagram>, Vec<(Handle, EndpointEvent)>) {
        let (mut batch, mut sent, mut events) = (Batch::new(), Vec::new(), Vec::new());
        loop {
            batch.clear();
            let next = self.endpoint.poll(now, &mut batch);
            sent.extend(batch.datagrams().map(|(run, bytes)| KnownDatagram {
                sending_agent: number,
                from: self.address,
                to: run.destination,
                bytes: bytes.to_vec(),
            }));
            events.extend(core::iter::from_fn(|| self.endpoint.event()));
            if let PollResult::At(at) = next {
                self.next_poll = at;
                if batch.is_empty() {
                    return (sent, events);
                }
            }
        }
    }

    /// Returns the connection with this handle. After a restart handles are reused.
    pub fn exchange(&mut self, handle: Handle) -> Option<&mut Exchange> {
        self.exchanges.iter_mut().find(|exchange| exchange.handle == handle && !exchange.is_forgotten)
    }

    /// Handles an established connection: the application sends its datagram.
    pub fn on_established(&mut self, handle: Handle, with: Option<usize>) {
        let Some(session) = self.endpoint.session(handle) else { return };
        let agreed = session.agreed().clone();
        let side = if agreed.side == Side::Client { "client" } else { "server" };
        let payload = [side.as_bytes(), &agreed.binding[..8]].concat();
        session.send_datagram(Slice::new(payload.as_slice()));
        self.endpoint.schedule_poll(handle);
        self.exchanges.push(Exchange {
            handle,
            side: agreed.side,
            peer: agreed.peer,
            local: agreed.local,
            remote: agreed.remote,
            binding: agreed.binding,
            terms: format!("{} by {}", agreed.service, agreed.scheme),
            with,
            is_left: false,
            closed: None,
            is_forgotten: false,
            payload,
            received: Vec::new(),
        });
    }
}

/// Returns the other side of a connection.
pub const fn opposite_side(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}
