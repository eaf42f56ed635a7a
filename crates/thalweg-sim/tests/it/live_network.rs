//! Real packets in a simulated network are treated like simulated ones, at the same times.

use crate::test_network::{direction, millis, pipe};
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{CoDelConfig, DisciplineSpec, ImpairmentSpec, Limit, LossSpec};
use thalweg_sim::Status;
use thalweg_sim::live_network::{Arrival, LiveNetwork};
use thalweg_sim::simulation_spec::{NodeId, Spec};

const END_NODES: [NodeId; 2] = [NodeId(0), NodeId(1)];

/// 8 Mbit/s (a byte a microsecond), 10 ms each way.
fn spec_of_path(limit: Limit) -> Spec {
    Spec {
        duration: Duration::from_secs(100),
        ..pipe(direction(Rate::from_mbits_per_sec(8), millis(10), limit))
    }
}

struct Network {
    live: LiveNetwork,
    connection: u32,
}

impl Network {
    fn new(spec: &Spec) -> Self {
        let mut live = LiveNetwork::new(spec).unwrap();
        let path = live.path(END_NODES[0], END_NODES[1]).unwrap();
        let flow = live.flow(END_NODES, &path, None);
        let connection = live.connect(flow);
        Self { live, connection }
    }

    fn enter(&mut self, at: Time, bytes: Vec<u8>) {
        assert_eq!(self.live.advance(at), Status::Running);
        self.live.enter(self.connection, 6, Ecn::Ect0, bytes);
    }

    /// Returns all arrivals up to that time.
    fn until(&mut self, at: Time) -> Vec<Arrival> {
        self.live.advance(at);
        let mut arrived = Vec::new();
        self.live.take_arrived(&mut arrived);
        arrived
    }
}

fn micros(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Transmission and propagation by hand: a packet of 1000 B takes 1 ms, plus 10 ms of propagation; the second waits for
/// the first.
#[test]
fn packets_leave_unchanged_at_the_time_of_the_link() {
    let mut network = Network::new(&spec_of_path(Limit::Packets(10)));
    for byte in 1..=3 {
        network.enter(micros(500), vec![byte; 1000]);
    }
    assert_eq!(network.live.next(), Some(micros(1500)));
    let arrived = network.until(micros(1_000_000));
    let seen: Vec<_> = arrived.iter().map(|arrival| (arrival.at, arrival.bytes.clone())).collect();
    assert_eq!(seen, [1, 2, 3].map(|byte| (micros(10_500 + 1000 * u64::from(byte)), vec![byte; 1000])));
}

/// Late calls do not delay packets: the transmitter follows simulated time, however rarely it is advanced.
#[test]
fn the_rate_is_exact_at_any_polling_interval() {
    let mut network = Network::new(&spec_of_path(Limit::Packets(1000)));
    for _ in 0..500 {
        network.enter(micros(0), vec![7; 1000]);
    }
    let mut arrived = Vec::new();
    for polled_at in [3, 1000, 77_000, 300_007, 600_000] {
        arrived.extend(network.until(micros(polled_at)));
    }
    let times: Vec<_> = arrived.iter().map(|arrival| arrival.at).collect();
    assert_eq!(times, (1..=500).map(|n| micros(10_000 + 1000 * n)).collect::<Vec<_>>());
}

/// A full queue drops, a discipline marks, a link loses, damages and duplicates: all of it is counted, and the counts
/// balance.
#[test]
fn packet_outcomes_are_reported_and_counted() {
    let mut spec = spec_of_path(Limit::Packets(5));
    spec.links[0].forward.queue =
        DisciplineSpec::new(Limit::Packets(50), CoDelConfig { ecn: true, ..CoDelConfig::default() });
    spec.links[0].forward.impairment = ImpairmentSpec {
        loss: LossSpec::Uniform { probability: 0.1 },
        corrupt: 0.1,
        duplicate: 0.1,
        ..ImpairmentSpec::default()
    };
    let mut network = Network::new(&spec);
    let mut arrived = Vec::new();
    // A quarter more than the capacity.
    for n in 0..2000 {
        network.enter(micros(800 * n), vec![(n % 251) as u8; 1000]);
        arrived.extend(network.until(micros(800 * n)));
    }
    arrived.extend(network.until(micros(3_000_000)));
    let marked = arrived.iter().filter(|arrival| arrival.ecn.is_ce()).count() as u64;
    let damaged = arrived.iter().filter(|arrival| arrival.damaged).count() as u64;
    assert!(
        arrived.iter().all(|arrival| arrival.bytes.len() == 1000
            && arrival.bytes.iter().all(|byte| *byte == arrival.bytes[0]))
    );
    let result = network.live.finish();
    let link = &result.links[0];
    assert!(result.conservation.holds(), "{:?}", result.conservation);
    assert_eq!(result.conservation.delivered, arrived.len() as u64);
    assert_eq!(result.flows[0].counts.marked_data, marked);
    assert!(
        marked > 10 && damaged > 100 && link.drops_full > 100 && link.losses > 100,
        "{marked} {damaged} {link:?}"
    );
    assert_eq!((result.flows[0].name.as_str(), result.flows[0].sent_packets), ("n0 -> n1", 2000));
}

/// Results of a flow have the payload reported by its owner.
#[test]
fn payload_is_what_the_owner_counts() {
    let mut network = Network::new(&spec_of_path(Limit::Packets(10)));
    network.enter(micros(0), vec![0; 1000]);
    for arrival in network.until(micros(1_000_000)) {
        network.live.count(arrival.flow, 960, 40);
    }
    let flow = &network.live.finish().flows[0];
    assert_eq!((flow.delivered.get(), flow.delivered_wire.get()), (960, 1000));
}

/// Closed connections leave no memory in use, and their late packets still arrive.
#[test]
fn connections_are_used_again() {
    let mut network = Network::new(&spec_of_path(Limit::Packets(10)));
    let first = network.connection;
    network.enter(micros(0), vec![1; 100]);
    network.live.close(first);
    let path = network.live.path(END_NODES[0], END_NODES[1]).unwrap();
    let flow = network.live.flow(END_NODES, &path, None);
    assert_eq!(network.live.connect(flow), first);
    network.enter(micros(10), vec![2; 100]);
    let arrived = network.until(micros(1_000_000));
    assert_eq!(arrived.iter().map(|arrival| arrival.bytes[0]).collect::<Vec<_>>(), [1, 2]);
}
