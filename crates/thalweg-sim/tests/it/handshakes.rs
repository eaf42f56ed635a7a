//! Connections that open and close in a network: durations, counts and leftovers.

use crate::test_network::{bytes, direction, group, millis, pipe, run, window, with_random_loss};
use std::cell::RefCell;
use std::rc::Rc;
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::handshake::{Config, HandshakeKind, HandshakeStep};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::packet_trace::{Record, Step as Event, Tracer};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{Pdu, Simulation, Status};

/// Segments of 960 bytes with headers of 40.
fn transport_with_handshake(kind: HandshakeKind) -> TransportSpec {
    let mut transport = window(ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    }));
    let EndpointConfigs::Window(config) = &mut transport.endpoint_configs else {
        panic!("the window transport")
    };
    config.handshake = Some(Config::new(kind));
    transport
}

/// 8 Mbit/s, at which a byte takes a microsecond, and 50 ms.
fn link_direction() -> DirectionSpec {
    direction(Rate::from_mbits_per_sec(8), millis(50), Limit::Unlimited)
}

/// Connections that each carry `size` bytes.
fn connection_group(kind: HandshakeKind, size: u64, gap: Duration) -> GroupSpec {
    let workload = WorkloadSpec::Poisson { gap, size: SizeSpec::Fixed(bytes(size)) };
    group("many", 1, transport_with_handshake(kind), workload)
}

/// The packets of handshakes, and their sizes on the wire.
#[derive(Clone, Debug, Default)]
struct Sizes(Rc<RefCell<Vec<(HandshakeStep, u32)>>>);

impl Tracer for Sizes {
    fn record(&mut self, record: &Record<'_>) {
        if let (Event::Sent, Pdu::Handshake(control)) = (record.step, record.pdu) {
            self.0.borrow_mut().push((control.step, record.size));
        }
    }
}

/// One packet of 1000 bytes after a handshake: each packet's bytes at 8 Mbit/s, plus 50 ms of propagation.
#[test]
fn a_handshake_takes_a_round_trip_and_its_bytes() {
    for (kind, micros) in [
        // SYN and SYN-ACK with 8 bytes of options beyond the 40 of an acknowledgement; ACK before the data.
        (HandshakeKind::Tcp, 48 + 48 + 40 + 1_000 + 150_000),
        // 1200 bytes after the header each way; Finished before the data.
        (HandshakeKind::Quic, 1_240 + 1_240 + 104 + 1_000 + 150_000),
        (HandshakeKind::QuicZeroRtt, 1_240 + 1_000 + 50_000),
    ] {
        let mut spec = pipe(link_direction());
        spec.groups =
            vec![group("one", 1, transport_with_handshake(kind), WorkloadSpec::Transfer(bytes(960)))];
        let result = run(&spec);
        let transfer = result.transfer_list[0];
        let took = transfer.end.map(|end| end.since(transfer.start));
        assert_eq!(took, Some(Duration::from_micros(micros)), "{kind:?}");
        // The ideal time has no handshake: it is part of the slowdown.
        assert_eq!(transfer.ideal, Some(Duration::from_micros(51_000)));
        assert_eq!(result.flows[0].sent_packets, 1, "what opens and closes is not data");
    }
}

#[test]
fn sizes_on_the_wire_are_those_of_the_protocol() {
    let mut spec = pipe(link_direction());
    spec.groups = vec![group(
        "one",
        1,
        transport_with_handshake(HandshakeKind::Tcp),
        WorkloadSpec::Transfer(bytes(960)),
    )];
    let sizes = Sizes::default();
    let mut simulation = Simulation::new(&spec, sizes.clone()).expect("it is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    let expected = [
        (HandshakeStep::Syn, 48),
        (HandshakeStep::SynAck, 48),
        (HandshakeStep::Ack, 40),
        (HandshakeStep::Fin(960), 40),
        (HandshakeStep::FinAck(960), 40),
        (HandshakeStep::AckOfFin(960), 40),
    ];
    assert_eq!(*sizes.0.borrow(), expected);
}

/// With losses of 30 % in both directions half of the round trips fail; every started transfer ends, or is reported as unfinished, once.
#[test]
fn no_transfer_is_forgotten_or_counted_twice() {
    for kind in [HandshakeKind::Tcp, HandshakeKind::Quic, HandshakeKind::QuicZeroRtt] {
        let mut spec = pipe(with_random_loss(link_direction(), 0.3));
        spec.duration = Duration::from_secs(300);
        spec.groups = vec![connection_group(kind, 3_000, millis(500))];
        let result = run(&spec);
        let completed_transfers =
            result.transfer_list.iter().filter(|transfer| transfer.end.is_some()).count() as u64;
        let open = result.transfer_list.len() as u64 - completed_transfers;
        assert_eq!(result.groups[0].transfers.unfinished, open, "{kind:?}");
        assert_eq!(result.transfers.completion.count, completed_transfers, "{kind:?}");
        // 600 start; the last have too little time.
        assert!(
            (500..700).contains(&(completed_transfers + open)) && completed_transfers > 480,
            "{kind:?}: {completed_transfers} and {open}"
        );
        let mut starts: Vec<Time> = result.transfer_list.iter().map(|transfer| transfer.start).collect();
        starts.sort_unstable();
        starts.dedup();
        assert_eq!(starts.len() as u64, completed_transfers + open, "{kind:?}: each once");
    }
}

/// A request opens the connection, and the response needs no handshake: the first exchange takes one round trip more
/// than later ones.
#[test]
fn only_the_first_request_waits() {
    let mut spec = pipe(link_direction());
    let workload = WorkloadSpec::RequestResponse {
        request: bytes(100),
        response: SizeSpec::Fixed(bytes(960)),
        think: millis(50),
    };
    spec.groups = vec![group("web", 1, transport_with_handshake(HandshakeKind::Tcp), workload)];
    let result = run(&spec);
    let took: Vec<Duration> = result
        .transfer_list
        .iter()
        .filter_map(|transfer| Some(transfer.end?.since(transfer.start)))
        .collect();
    let expected = Duration::from_micros(140 + 40 + 1_000 + 100_000);
    assert_eq!(took[0], expected + Duration::from_micros(48 + 48 + 40 + 100_000));
    assert!(took.len() > 3 && took[1..].iter().all(|took| *took == expected), "{took:?}");
}

/// Ten thousand connections use few numbers: numbers of closed connections are reused.
#[test]
fn closed_connections_are_reused() {
    #[derive(Debug, Default)]
    struct HighestTracer(u32, u64);
    impl Tracer for HighestTracer {
        fn record(&mut self, record: &Record<'_>) {
            self.0 = self.0.max(record.packet.connection);
            self.1 += u64::from(record.step == Event::Sent);
        }
    }
    // Six packets open and close, five in QUIC; two segments are acknowledged.
    for (kind, each) in [(HandshakeKind::Tcp, 10.0), (HandshakeKind::Quic, 9.0)] {
        let mut spec = pipe(direction(Rate::from_mbits_per_sec(1000), millis(5), Limit::Unlimited));
        spec.duration = Duration::from_secs(10);
        spec.groups = vec![connection_group(kind, 1_000, millis(1))];
        let mut simulation = Simulation::new(&spec, HighestTracer::default()).expect("it is valid");
        while simulation.advance(1 << 20) == Status::Running {}
        let (result, HighestTracer(connection, packets)) = simulation.finish();
        let count = result.transfers.completion.count;
        assert!(count > 9_500, "{kind:?}: {count}");
        // A thousand start each second and take at most 25 ms to open, send and close.
        assert!(connection < 60, "{kind:?}: {connection}");
        assert!((packets as f64 / count as f64 - each).abs() < 0.05, "{kind:?}: {packets} of {count}");
    }
}
