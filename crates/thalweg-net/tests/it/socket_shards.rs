//! Tests that a socket with several shards acts as one: each packet reaches its connection, whatever shard receives it,
//! and limits apply to all shards together.

use crate::endpoint_pair::{client_config, connect, identity, server_config, with_short_timeouts};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{
    Arrival, Endpoint, EndpointConfig, EndpointEvent, EndpointStats, Handle, Limits, ListenerState, Trust,
};
use thalweg_net::identity::Entropy;
use thalweg_net::session::{PollResult, SessionEvent};
use thalweg_net::wire::{SHARD_BYTE_OFFSET, write_header};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const SHARDS: usize = 3;
const SERVER: &str = crate::endpoint_pair::SERVER;
const DELAY: Duration = Duration::from_millis(5);

struct Random(RandomStream);

impl Entropy for Random {
    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte = self.0.next_u64() as u8);
    }
}

/// Rule by which the system steers packets to shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brought {
    ByConnectionId,
    ByAddress,
    AtRandom,
}

struct Client {
    endpoint: Endpoint,
    address: SocketAddr,
    handle: Handle,
    written: u64,
}

struct World {
    now: Time,
    brought: Brought,
    random: RandomStream,
    clients: Vec<Client>,
    shards: Vec<Endpoint>,
    wire: BTreeMap<(Time, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    count: u64,
    /// Bytes delivered by the shards, and connections accepted by each.
    delivered: u64,
    accepted: Vec<Vec<Handle>>,
    closed: usize,
}

impl World {
    fn new(seed: u64, brought: Brought, config: &EndpointConfig) -> Self {
        let mut entropy = Random(RandomStream::new(seed, "listener", 0));
        let is_steered = brought == Brought::ByConnectionId;
        let listener =
            Arc::new(ListenerState::new(Time::ZERO, config.limits, SHARDS, is_steered, &mut entropy));
        let shard = |shard| {
            let entropy = Random(RandomStream::new(seed, "member", shard as u64));
            Endpoint::shard(config.clone(), Box::new(entropy), Arc::clone(&listener), shard)
        };
        Self {
            now: Time::ZERO + Duration::from_secs(1),
            brought,
            random: RandomStream::new(seed, "world", 0),
            clients: Vec::new(),
            shards: (0..SHARDS).map(shard).collect(),
            wire: BTreeMap::new(),
            count: 0,
            delivered: 0,
            accepted: vec![Vec::new(); SHARDS],
            closed: 0,
        }
    }

    fn connect(&mut self, config: EndpointConfig) {
        let number = self.clients.len() as u16;
        let entropy = Random(RandomStream::new(7, "client", number.into()));
        let mut endpoint = Endpoint::new(self.now, config, Box::new(entropy));
        let handle = endpoint.connect(self.now, connect("cubic"));
        let address = SocketAddr::from(([192, 0, 2, (number % 200) as u8], 1000 + number));
        self.clients.push(Client { endpoint, address, handle, written: 0 });
    }

    fn write(&mut self, bytes: usize) {
        for client in &mut self.clients {
            let session = client.endpoint.session(client.handle).unwrap();
            session.write(self.now, Slice::new(vec![7; bytes]));
            client.written += bytes as u64;
            client.endpoint.schedule_poll(client.handle);
        }
    }

    fn put(&mut self, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        self.count += 1;
        self.wire.insert((self.now + DELAY, self.count), (from, to, bytes));
    }

    /// Returns the shard to which the system steers a packet.
    fn shard(&mut self, from: SocketAddr, bytes: &[u8]) -> usize {
        match self.brought {
            Brought::ByConnectionId => usize::from(bytes[SHARD_BYTE_OFFSET]) % SHARDS,
            Brought::ByAddress => usize::from(from.port()) % SHARDS,
            Brought::AtRandom => self.random.below(SHARDS as u64) as usize,
        }
    }

    fn receive(&mut self, from: SocketAddr, mut bytes: Vec<u8>) {
        let shard = self.shard(from, &bytes);
        let (arrival, stride) = (Arrival { from, ecn: Ecn::NotEct }, bytes.len());
        self.shards[shard].receive(self.now, arrival, stride, &mut bytes, |bytes| Slice::new(&bytes[..]));
        for shard in 0..SHARDS {
            while let Some((other, passed)) = self.shards[shard].passed() {
                self.shards[other].take_shard_message(self.now, passed);
            }
        }
    }

    /// Does the work due now, and returns the time of the next poll.
    fn poll(&mut self) -> Time {
        let mut wake = Time::MAX;
        let mut batch = Batch::new();
        let server: SocketAddr = SERVER.parse().unwrap();
        for index in 0..SHARDS + self.clients.len() {
            loop {
                let (endpoint, from) = match index.checked_sub(SHARDS) {
                    None => (&mut self.shards[index], server),
                    Some(client) => {
                        let client = &mut self.clients[client];
                        (&mut client.endpoint, client.address)
                    }
                };
                batch.clear();
                let next = endpoint.poll(self.now, &mut batch);
                let sent: Vec<_> =
                    batch.datagrams().map(|(run, bytes)| (run.destination, bytes.to_vec())).collect();
                let is_idle = sent.is_empty();
                sent.into_iter().for_each(|(to, bytes)| self.put(from, to, bytes));
                if let PollResult::At(at) = next
                    && is_idle
                {
                    wake = wake.min(at);
                    break;
                }
            }
        }
        for shard in 0..SHARDS {
            while let Some((handle, event)) = self.shards[shard].event() {
                match event {
                    EndpointEvent::Accepted { .. } => self.accepted[shard].push(handle),
                    EndpointEvent::Session(SessionEvent::Delivered(data)) => {
                        self.delivered += u64::from(data.as_bytes().len() as u32);
                        let session = self.shards[shard].session(handle).unwrap();
                        session.consumed(self.now, data.as_bytes().len() as u64);
                        self.shards[shard].schedule_poll(handle);
                    }
                    EndpointEvent::Session(SessionEvent::Closed(_)) => self.closed += 1,
                    _ => {}
                }
            }
        }
        wake
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            let wake = self.poll();
            let arrival = self.wire.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
            self.now = wake.min(arrival).max(self.now + Duration::from_nanos(1)).min(end);
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (from, to, mut bytes) = entry.remove();
                if to == SERVER.parse().unwrap() {
                    self.receive(from, bytes);
                } else if let Some(client) = self.clients.iter_mut().find(|client| client.address == to) {
                    let (arrival, stride) = (Arrival { from, ecn: Ecn::NotEct }, bytes.len());
                    client
                        .endpoint
                        .receive(self.now, arrival, stride, &mut bytes, |bytes| Slice::new(&bytes[..]));
                }
            }
        }
    }

    fn stats(&self) -> EndpointStats {
        self.shards.iter().fold(EndpointStats::default(), |mut sum, shard| {
            sum += shard.stats();
            sum
        })
    }

    fn admit_all(&mut self) {
        for (shard, handles) in self.shards.iter_mut().zip(&self.accepted) {
            handles.iter().for_each(|handle| shard.authorise(*handle));
        }
    }
}

fn trusting_config(config: EndpointConfig) -> EndpointConfig {
    let listen = config
        .listen
        .map(|listen| thalweg_net::endpoint::Listen { trust: Trust::only(identity(1).public()), ..listen });
    EndpointConfig { listen, ..config }
}

/// A connection id finds the connection after the peer's address has changed.
///
/// Holds RFC 9000, section 5.1.
#[test]
fn packets_are_routed_by_connection_id() {
    for brought in [Brought::ByConnectionId, Brought::ByAddress, Brought::AtRandom] {
        let mut world = World::new(1, brought, &trusting_config(server_config()));
        for _ in 0..9 {
            world.connect(client_config());
            world.run(Duration::from_millis(50));
        }
        world.write(30_000);
        world.run(Duration::from_secs(2));
        assert_eq!(world.delivered, 270_000, "{brought:?}");
        let forwarded = world.stats().forwarded;
        // All clients migrate.
        for client in &mut world.clients {
            client.address.set_port(client.address.port() + 5000);
        }
        world.write(30_000);
        world.run(Duration::from_secs(4));
        assert_eq!(world.delivered, 540_000, "{brought:?}");
        let after = world.stats().forwarded;
        match brought {
            Brought::ByConnectionId => {
                assert_eq!((forwarded, after), (0, 0));
                assert!(world.accepted.iter().all(|accepted| accepted.len() == 3), "each has as many");
            }
            Brought::ByAddress => assert!(forwarded == 0 && after > 50, "{forwarded} {after}"),
            Brought::AtRandom => assert!(forwarded > 50 && after > forwarded, "{forwarded} {after}"),
        }
    }
}

#[test]
fn half_open_handshakes_are_bounded_over_all_shards() {
    let mut world = World::new(2, Brought::AtRandom, &with_short_timeouts(server_config()));
    // Clients that send a hello and nothing more.
    for _ in 0..300 {
        world.connect(client_config());
    }
    for _ in 0..40 {
        world.run(Duration::from_millis(1));
        // Responses are lost, cookies are not.
        world.wire.retain(|_, (_, to, bytes)| *to == SERVER.parse().unwrap() || bytes.len() == 33);
        let half_open = world.shards[0].connections();
        assert!(half_open <= 8, "{half_open} at a time");
    }
    let stats = world.stats();
    // A burst of a hundred, and a hundred per second.
    assert!((90..=105).contains(&stats.handshakes), "{stats:?}");
    assert!(stats.dropped >= 80 && stats.forgotten + 8 == stats.handshakes, "{stats:?}");
    world.clients.clear();
    world.run(Duration::from_secs(25));
    assert!(world.shards.iter().all(|shard| shard.connections() == 0), "their time is over");
}

/// Hellos without cookies reach arbitrary shards, and so do late copies of one.
#[test]
fn handshakes_without_cookies_are_bounded_over_all_shards() {
    let mut world = World::new(6, Brought::AtRandom, &trusting_config(server_config()));
    world.connect(client_config());
    let _ = world.poll();
    let (_, (client, _, hello)) = world.wire.first_key_value().map(|(at, put)| (*at, put.clone())).unwrap();
    world.run(DELAY * 3 + Duration::from_millis(1));
    assert_eq!(world.accepted.iter().flatten().count(), 1, "in a round trip and a half");
    let copies = |world: &mut World| (0..30).for_each(|_| world.receive(client, hello.clone()));
    copies(&mut world);
    assert_eq!((world.stats().handshakes, world.stats().unvalidated), (1, 1));
    for _ in 0..300 {
        world.connect(client_config());
    }
    for _ in 0..40 {
        world.run(Duration::from_millis(1));
        // No packet of the server is delivered.
        world.wire.retain(|_, (_, to, _)| *to == SERVER.parse().unwrap());
    }
    assert_eq!((world.stats().handshakes, world.stats().unvalidated), (17, 17));
}

#[test]
fn unauthenticated_peers_and_memory_are_bounded_over_all_shards() {
    let limits = Limits { unauthenticated: 4, memory: 4 << 20, ..Limits::default() };
    let config = EndpointConfig { limits, ..server_config() };
    let mut world = World::new(3, Brought::ByConnectionId, &config);
    for _ in 0..12 {
        world.connect(client_config());
        world.run(Duration::from_millis(50));
    }
    // The oldest one was evicted, on any thread.
    assert_eq!((world.closed, world.stats().forgotten), (8, 8));
    let open: usize = world.shards.iter().map(Endpoint::connections).sum();
    assert!(open <= 12, "{open}");
    let config =
        EndpointConfig { limits: Limits { memory: 4 << 20, ..Limits::default() }, ..server_config() };
    let mut world = World::new(4, Brought::ByConnectionId, &config);
    for _ in 0..12 {
        world.connect(client_config());
        world.run(Duration::from_millis(50));
        world.admit_all();
    }
    let mut promised = 0;
    for (shard, handles) in world.shards.iter_mut().zip(&world.accepted) {
        promised += handles.iter().map(|handle| shard.session(*handle).unwrap().memory()).sum::<u64>();
    }
    // Each gets an eighth of the remainder of three quarters, in any order of arrival.
    let expected = (0..12).fold(0, |sum, _| sum + ((3 << 20) - sum) / 8);
    assert!(promised.abs_diff(expected) < 64 << 10, "{promised} and not {expected}");
}

/// With one key for all shards, no shard must reveal the token of another's connection.
///
/// Holds RFC 9000, section 21.11.
#[test]
fn a_shard_reveals_no_reset_token_of_another() {
    for brought in [Brought::ByAddress, Brought::AtRandom] {
        let mut world = World::new(5, brought, &trusting_config(server_config()));
        world.connect(client_config());
        world.run(Duration::from_secs(1));
        world.write(1000);
        let _ = world.poll();
        let (_, (_, _, packet)) = world.wire.iter().next_back().map(|(at, put)| (*at, put.clone())).unwrap();
        let id = *packet[1..].first_chunk::<8>().unwrap();
        let attacker: SocketAddr = "203.0.113.9:9".parse().unwrap();
        let mut unknown = id;
        unknown[0] ^= 1;
        for (id, resets) in [(id, 0), (unknown, 12)] {
            for port in 0..12 {
                let mut bytes = Vec::new();
                write_header(&mut bytes, thalweg_net::wire::ConnectionId(id), port);
                bytes.resize(200, 0);
                let mut from = attacker;
                from.set_port(9 + port as u16);
                world.receive(from, bytes);
            }
            assert_eq!(world.stats().resets, resets, "{brought:?}");
            world.run(Duration::from_secs(1));
        }
    }
}
