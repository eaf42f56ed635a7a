//! Hours of many connections in simulated time that open, idle, move bytes, migrate and close: memory use stays
//! constant. The test has a separate process, so nothing else is counted.

mod allocation_counter;
#[path = "it/endpoint_pair/mod.rs"]
mod endpoint_pair;

use allocation_counter::allocated_bytes;
use endpoint_pair::{SERVER, SeededEntropy, client_config, connect, server_config};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{Arrival, Endpoint, EndpointConfig, EndpointEvent, Handle, Limits};
use thalweg_net::session::{PollResult, SessionConfig, SessionEvent, code};
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const DELAY: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3600);

/// Loss probability of a packet.
const LOSS: f64 = 0.01;

/// Maximum receive memory of a connection, in bytes.
const EACH_MEMORY: u64 = 128 << 10;

/// Number of connections per host.
const CONNECTIONS_PER_HOST: usize = 100;

/// Maximum time between two actions of a client; every sixth action is its last.
const PAUSE: Duration = Duration::from_secs(1200);

/// Maximum time until a closed connection is replaced.
const SOON: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
enum Act {
    Open,
    Write(Handle),
    /// Change of the host's address.
    Move,
}

struct Host {
    endpoint: Endpoint,
    address: SocketAddr,
    /// Wake-up time, and its number; earlier ones are void.
    wake: (Time, u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    opened: u64,
    refused: u64,
    closed: u64,
    moves: u64,
    written: u64,
    delivered: u64,
    datagrams: u64,
}

enum Event {
    Arrives { to: SocketAddr, from: SocketAddr, bytes: Vec<u8> },
    Wakes(usize),
    Acts(usize, Act),
}

/// Server, the first host, and its clients.
struct World {
    now: Time,
    hosts: Vec<Host>,
    by_address: HashMap<SocketAddr, usize>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    rng: RandomStream,
    tally: Tally,
    /// Time after which no connection is opened.
    end: Time,
    batch: Batch,
}

impl World {
    fn new(connections: usize, end: Time, seed: u64) -> Self {
        let session = SessionConfig {
            idle: Duration::from_secs(1200),
            keep_alive: Duration::from_secs(300),
            memory: EACH_MEMORY,
            max_memory: EACH_MEMORY,
            ..SessionConfig::default()
        };
        let host = |number: usize, config: EndpointConfig| Host {
            endpoint: Endpoint::new(
                Time::ZERO,
                EndpointConfig { session, max_datagram_bytes: 1472, ..config },
                Box::new(SeededEntropy(RandomStream::new(seed, "host", number as u64))),
            ),
            address: SERVER.parse().unwrap(),
            wake: (Time::MAX, 0),
        };
        let server = server_config();
        // Room for all connections, including recently closed ones.
        let limits = Limits { memory: 2 * EACH_MEMORY * (connections as u64 + 100), ..server.limits };
        let mut world = Self {
            now: Time::ZERO + Duration::from_secs(1),
            hosts: vec![host(0, EndpointConfig { limits, ..server })],
            by_address: HashMap::new(),
            events: BTreeMap::new(),
            count: 0,
            rng: RandomStream::new(seed, "world", 0),
            tally: Tally::default(),
            end,
            batch: Batch::new(),
        };
        world.by_address.insert(SERVER.parse().unwrap(), 0);
        for number in 1..=connections.div_ceil(CONNECTIONS_PER_HOST) {
            world.hosts.push(host(number, client_config()));
            world.moves(number);
            for _ in 0..CONNECTIONS_PER_HOST.min(connections - (number - 1) * CONNECTIONS_PER_HOST) {
                let after = world.rng.uniform_duration(Duration::from_secs(600));
                world.plan(after, Event::Acts(number, Act::Open));
            }
        }
        world
    }

    fn plan(&mut self, after: Duration, event: Event) -> (Time, u64) {
        self.count += 1;
        let key = (self.now + after, self.count);
        self.events.insert(key, event);
        key
    }

    fn pause(&mut self, host: usize, act: Act) {
        let after = self.rng.uniform_duration(PAUSE);
        self.plan(after, Event::Acts(host, act));
    }

    /// Assigns an unused address to a host.
    fn moves(&mut self, host: usize) {
        let old = self.hosts[host].address;
        if self.by_address.get(&old) == Some(&host) {
            self.by_address.remove(&old);
        }
        let address = SocketAddr::from((
            (0x0a00_0000 + host as u32).to_be_bytes(),
            1024 + self.rng.below(60_000) as u16,
        ));
        self.hosts[host].address = address;
        self.by_address.insert(address, host);
        if self.now < self.end {
            self.pause(host, Act::Move);
        }
    }

    /// Processes the next event. Returns false if there is none.
    fn step(&mut self) -> bool {
        let Some((key, event)) = self.events.pop_first() else { return false };
        self.now = key.0;
        let host = match event {
            Event::Arrives { to, from, bytes } => {
                let Some(&host) = self.by_address.get(&to) else { return true };
                let stride = bytes.len();
                let arrival = Arrival { from, ecn: Ecn::NotEct };
                self.hosts[host].endpoint.receive(self.now, arrival, stride, bytes, Slice::new);
                host
            }
            Event::Wakes(host) if self.hosts[host].wake == key => host,
            Event::Wakes(_) => return true,
            Event::Acts(host, act) => {
                self.act(host, act);
                host
            }
        };
        self.poll(host);
        true
    }

    fn act(&mut self, host: usize, act: Act) {
        let endpoint = &mut self.hosts[host].endpoint;
        match act {
            Act::Open if self.now < self.end => {
                endpoint.connect(self.now, connect("cubic"));
            }
            Act::Open => {}
            Act::Move => {
                self.tally.moves += 1;
                self.moves(host);
            }
            Act::Write(handle) => {
                let is_last = self.rng.chance(1.0 / 6.0) || self.now >= self.end;
                let length = 1 + self.rng.below(20_000);
                let Some(session) = endpoint.session(handle) else { return };
                self.tally.written += length;
                session.write(self.now, Slice::new(vec![7; length as usize]));
                if is_last {
                    session.finish(self.now);
                }
                endpoint.schedule_poll(handle);
                if !is_last {
                    self.pause(host, act);
                }
            }
        }
    }

    /// Does the due work of a host.
    fn poll(&mut self, host: usize) {
        loop {
            self.batch.clear();
            let next = self.hosts[host].endpoint.poll(self.now, &mut self.batch);
            let from = self.hosts[host].address;
            let sent: Vec<_> =
                self.batch.datagrams().map(|(run, bytes)| (run.destination, bytes.to_vec())).collect();
            let mut is_idle = sent.is_empty();
            for (to, bytes) in sent {
                self.tally.datagrams += 1;
                if !self.rng.chance(LOSS) {
                    self.plan(DELAY, Event::Arrives { to, from, bytes });
                }
            }
            while let Some((handle, event)) = self.hosts[host].endpoint.event() {
                is_idle = false;
                self.on_event(host, handle, &event);
            }
            if let (true, PollResult::At(at)) = (is_idle, next) {
                let old = self.hosts[host].wake;
                self.events.remove(&old);
                self.count += 1;
                self.hosts[host].wake = (at.max(self.now), self.count);
                if at < Time::MAX {
                    self.events.insert(self.hosts[host].wake, Event::Wakes(host));
                }
                return;
            }
        }
    }

    fn on_event(&mut self, host: usize, handle: Handle, event: &EndpointEvent) {
        let endpoint = &mut self.hosts[host].endpoint;
        let now = self.now;
        match event {
            EndpointEvent::Accepted { .. } => endpoint.authorise(handle),
            EndpointEvent::Connected { .. } => {
                self.tally.opened += 1;
                self.pause(host, Act::Write(handle));
            }
            EndpointEvent::NotConnected(_) => {
                self.tally.refused += 1;
                self.pause(host, Act::Open);
            }
            EndpointEvent::Session(SessionEvent::Delivered(data)) => {
                self.tally.delivered += u64::from(data.len());
                endpoint.session(handle).unwrap().consumed(now, u64::from(data.len()));
                endpoint.schedule_poll(handle);
            }
            EndpointEvent::Session(SessionEvent::OwnStreamAcknowledged) if host > 0 => {
                endpoint.abandon(now, handle, code::DONE, "");
            }
            EndpointEvent::Session(SessionEvent::Closed(_)) if host > 0 => {
                self.tally.closed += 1;
                let after = self.rng.uniform_duration(SOON);
                self.plan(after, Event::Acts(host, Act::Open));
            }
            _ => {}
        }
    }
}

/// Simulates `hours` of `connections`.
fn simulate_hours(hours: u64, connections: usize, seed: u64) {
    let empty = allocated_bytes();
    let begun = Time::ZERO + Duration::from_secs(1);
    let mut world = World::new(connections, begun + HOUR * hours, seed);
    // An endpoint without connections has its initial memory use.
    let mut samples = Vec::new();
    let mut max_connections = 0;
    // In quarters of an hour.
    for quarter in 1..=4 * hours {
        while world.now < begun + (HOUR / 4) * quarter && world.step() {}
        max_connections = max_connections.max(world.hosts[0].endpoint.connections());
        samples.push(allocated_bytes() - empty);
        if quarter % 4 == 0 {
            let kept = samples[samples.len() - 1] >> 10;
            println!(
                "hour {}: {kept} KiB, {} connections, {:?}",
                quarter / 4,
                world.hosts[0].endpoint.connections(),
                world.tally
            );
        }
    }
    let Tally { opened, closed, written, .. } = world.tally;
    assert!(opened > connections as u64 && closed > 0 && written > 0, "{:?}", world.tally);
    assert!(connections.abs_diff(max_connections) <= connections / 20, "{max_connections}");
    // All connections are open after a quarter of an hour; from then on memory use is constant.
    let (first, last) = samples.split_at(samples.len() / 2);
    let (before, after) = (first.iter().max().unwrap(), last.iter().max().unwrap());
    assert!(*after <= before + before / 20, "{after} bytes after {before}: {samples:?}");
    while world.step() {}
    let tally = world.tally;
    assert_eq!((tally.opened, tally.written), (tally.closed, tally.delivered), "{tally:?}");
    for host in &world.hosts {
        assert!(host.endpoint.connections() == 0 && host.endpoint.is_idle());
    }
    let left = allocated_bytes() - empty;
    println!("left: {} KiB, {tally:?}", left >> 10);
    // Tables keep their capacity.
    assert!(left < before / 5, "{left} bytes are left of {before}");
}

#[test]
fn an_hour_of_two_hundred_connections_leaves_nothing_behind() {
    simulate_hours(1, 200, 1);
}

/// Run by `scripts/soak hours`.
#[test]
#[ignore = "takes minutes; scripts/soak runs it"]
fn long() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let hours = number("THALWEG_HOURS", 24);
    simulate_hours(hours, number("THALWEG_CONNECTIONS", 10_000) as usize, number("THALWEG_SEED", 1));
}
