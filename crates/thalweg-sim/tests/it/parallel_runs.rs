//! Runs on several threads give byte-identical results to runs on one.

use crate::test_network::{Listing, bytes, chain, datagrams, direction, group, millis, window};
use thalweg_proto::congestion::{BbrConfig, NewRenoConfig, ThalwegConfig};
use thalweg_proto::gate::{CongestionGateConfig, GateConfig, SlotGateConfig};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::feedback::{
    DecBitSpec, FeedbackSpec, PolicySpec, QuenchSpec, RationsSpec, Recipients, SeifSpec,
};
use thalweg_queue::{AggregationSpec, Limit};
use thalweg_sim::packet_trace::{NoTrace, Record, Step, Tracer};
use thalweg_sim::partition::{LimitingFactor, default_threads, estimate_speedup};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::verify::Verifier;
use thalweg_sim::{RunResult, Simulation, StateVisit, Status};

fn simulation_on_threads(threads: usize, spec: &Spec) -> Simulation {
    Simulation::on_threads(spec, NoTrace, threads).expect("the specification is valid")
}

fn run_on_threads(threads: usize, spec: &Spec) -> RunResult {
    let mut simulation = simulation_on_threads(threads, spec);
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

fn reno() -> TransportSpec {
    window(ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    }))
}

fn link_direction(mbits: u64, delay: Duration) -> DirectionSpec {
    direction(Rate::from_mbits_per_sec(mbits), delay, Limit::Packets(50))
}

fn access_links(delay: Duration) -> AccessSpec {
    let line = || direction(Rate::from_mbits_per_sec(1000), delay, Limit::Unlimited);
    AccessSpec {
        source_forward: line(),
        source_backward: line(),
        sink_forward: line(),
        sink_backward: line(),
        source_processing: Processing::default(),
        sink_processing: Processing::default(),
    }
}

/// Three links in a row: one flow over all of them and one over each, behind access links.
fn parking_lot() -> Spec {
    let links = (0..3).map(|_| (link_direction(50, millis(3)), link_direction(50, millis(3)))).collect();
    let of = |name: &str, from: u32, to: u32, count: u32| GroupSpec {
        count,
        from: NodeId(from),
        access: Some(access_links(millis(1))),
        spread: millis(100),
        ..group(name, to, reno(), WorkloadSpec::Bulk)
    };
    let groups = vec![of("long", 0, 3, 2), of("a", 0, 1, 3), of("b", 1, 2, 3), of("c", 2, 3, 3)];
    Spec {
        groups,
        duration: Duration::from_secs(2),
        warmup: millis(500),
        measure: MeasureSpec::default(),
        ..chain(links)
    }
}

/// The same at a hundred times the rate: much work within the lookahead.
fn fast_parking_lot() -> Spec {
    let mut spec = parking_lot();
    for direction in spec.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        direction.rate = Rate::from_mbits_per_sec(5000);
    }
    spec
}

#[test]
fn a_parking_lot_is_the_same_on_any_number_of_threads() {
    let spec = parking_lot();
    let alone = run_on_threads(1, &spec);
    assert!(alone.hops > 50_000 && !alone.series.is_empty(), "{}", alone.hops);
    for threads in [2, 3, 4, 16] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

/// Some controllers have a sender type of their own, like third-party ones with unknown properties.
#[test]
fn schemes_with_per_packet_state_are_partitioned() {
    let mut spec = parking_lot();
    let (bbr, thalweg) = (BbrConfig::default().into(), ThalwegConfig::default().into());
    for (index, controller) in [bbr, thalweg].into_iter().enumerate() {
        spec.groups[2 * index].transport = window(controller);
    }
    for every_event in [false, true] {
        // BBR's states are then recorded, with its receiver's progress.
        spec.measure.every_event = every_event;
        let alone = run_on_threads(1, &spec);
        assert!(simulation_on_threads(3, &spec).is_parallel() && alone.hops > 50_000, "{}", alone.hops);
        let delivered = |visit: &StateVisit| {
            visit.state_variables.iter().any(|of| of.name == "delivered_bytes" && of.last > 0.0)
        };
        assert_eq!(alone.flows.iter().flat_map(|flow| &flow.states).any(delivered), every_event);
        assert_eq!(run_on_threads(3, &spec), alone);
    }
}

/// Large runs use idle processors by default; small runs are not worth it.
#[test]
fn large_runs_take_the_idle_processors() {
    let slow = Spec { duration: Duration::from_secs(100_000), ..parking_lot() };
    assert_eq!(default_threads(&slow, 4), 1, "parts would wait for each other most of the time");
    let small = fast_parking_lot();
    let mut large = Spec { duration: Duration::from_secs(100), ..small.clone() };
    assert_eq!(default_threads(&small, 4), 1);
    assert!(default_threads(&large, 4) > 1);
    assert_eq!(default_threads(&large, 1), 1);
    // A run that cannot be partitioned stays on one thread.
    for direction in large.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        direction.delay = Duration::ZERO;
    }
    for group in &mut large.groups {
        group.access = None;
    }
    assert_eq!(default_threads(&large, 4), 1);
}

/// A run on two threads stops after some number of events; one thread with as many events has the same state.
#[test]
fn an_interrupted_parallel_run_equals_one_thread() {
    let spec = parking_lot();
    let mut simulation = simulation_on_threads(3, &spec);
    assert_eq!(simulation.advance(10_000), Status::Running);
    let partial = simulation.finish().0;
    assert!(!partial.is_complete && partial.events >= 10_000, "{}", partial.events);
    let mut alone = simulation_on_threads(1, &spec);
    alone.advance(partial.events);
    assert_eq!(alone.finish().0, partial);
}

/// Transfers that end at the same time in different partitions are listed in the order of one thread.
#[test]
fn transfers_are_in_the_same_order() {
    let mut spec = Spec { warmup: Duration::ZERO, ..parking_lot() };
    for group in &mut spec.groups {
        group.count = 8;
        group.spread = Duration::ZERO;
        group.workload = WorkloadSpec::Transfer(bytes(960));
    }
    let alone = run_on_threads(1, &spec);
    assert_eq!(alone.transfer_list.len(), 32);
    let ends: Vec<_> = alone.transfer_list.iter().map(|transfer| transfer.end).collect();
    assert!(ends.windows(2).any(|pair| pair[0] == pair[1]), "no ties: {ends:?}");
    for threads in [2, 3, 5] {
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

/// Links with changing delays: packets overtake when a delay decreases.
fn varying_parking_lot() -> Spec {
    let mut spec = parking_lot();
    for (number, link) in spec.links.iter_mut().enumerate() {
        for direction in [&mut link.forward, &mut link.backward] {
            direction.schedule = (1..40)
                .map(|step| Change {
                    at: Time::ZERO + millis(40 * step + number as u64),
                    rate: None,
                    delay: Some(millis(1 + 7 * (step % 2))),
                    impairment: None,
                    jitter: None,
                    queue: None,
                })
                .collect();
        }
    }
    spec
}

/// Packets also overtake across partitions.
#[test]
fn out_of_order_packets_cross_partitions() {
    let spec = varying_parking_lot();
    let alone = run_on_threads(1, &spec);
    for threads in [2, 3] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

/// Packets wait for places in full batches, and are copied and damaged.
#[test]
fn full_batches_are_the_same_on_any_number_of_threads() {
    let mut spec = parking_lot();
    for direction in spec.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        direction.aggregation = Some(AggregationSpec { every: millis(2), packets: Some(4) });
        (direction.impairment.duplicate, direction.impairment.corrupt) = (0.1, 0.01);
    }
    let alone = run_on_threads(1, &spec);
    let dropped: u64 = alone.links.iter().map(|link| link.drops_full).sum();
    assert!(dropped > 10, "{dropped}");
    for threads in [2, 3] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

/// Four links in a row with a flow over each, without access links.
fn flows_at_nodes() -> Spec {
    let links = (0..4).map(|_| (link_direction(20, millis(5)), link_direction(20, millis(5)))).collect();
    let of = |number: u32| GroupSpec {
        from: NodeId(number),
        ..group(&format!("g{number}"), number + 1, reno(), WorkloadSpec::Bulk)
    };
    Spec { groups: (0..4).map(of).collect(), duration: Duration::from_secs(2), ..chain(links) }
}

/// Endpoints without access links belong to the links that they send to.
#[test]
fn flows_without_access_links_are_partitioned_at_links() {
    let spec = flows_at_nodes();
    let alone = run_on_threads(1, &spec);
    assert!(simulation_on_threads(4, &spec).is_parallel());
    for threads in [2, 4] {
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

fn at_random(gap: u64, mean: u64) -> WorkloadSpec {
    WorkloadSpec::Poisson { gap: millis(gap), size: SizeSpec::Exponential { mean: bytes(mean) } }
}

/// Connections of randomly arriving transfers have ids by flow, in every partition.
#[test]
fn transfers_with_random_arrivals_are_partitioned() {
    let mut spec = parking_lot();
    for group in &mut spec.groups {
        group.workload = at_random(3, 10_000);
    }
    let alone = run_on_threads(1, &spec);
    assert!(alone.transfer_list.len() > 1000);
    for threads in [2, 3, 16] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

/// Flows between all pairs of five nodes in a row, each with randomly arriving transfers, plus one long flow. Queues
/// are short and links lossy: transfers wait for retransmissions, and spurious retransmissions arrive late.
fn random_row() -> Spec {
    let links = (0..4)
        .map(|_| {
            (
                crate::test_network::with_random_loss(link_direction(20, millis(5)), 0.02),
                link_direction(20, millis(5)),
            )
        })
        .collect();
    let pairs = (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let of = |(from, to): (u32, u32)| GroupSpec {
        from: NodeId(from),
        count: 2,
        spread: millis(30),
        ..group(&format!("g{from}-{to}"), to, reno(), at_random(40, 6_000))
    };
    let mut groups: Vec<GroupSpec> = pairs.map(of).collect();
    groups.insert(3, group("bulk", 4, reno(), WorkloadSpec::Bulk));
    Spec { groups, duration: Duration::from_secs(3), warmup: millis(300), ..chain(links) }
}

/// The endpoints of a random transfer are in different partitions; the sink's knows when the last byte arrived.
#[test]
fn random_transfers_end_where_their_sinks_are() {
    let spec = random_row();
    let alone = run_on_threads(1, &spec);
    let completed_transfers = alone.transfer_list.iter().filter(|transfer| transfer.end.is_some()).count();
    assert!(
        completed_transfers > 1000 && completed_transfers < alone.transfer_list.len(),
        "{completed_transfers} of {}",
        alone.transfer_list.len()
    );
    assert!(alone.flows.iter().map(|flow| flow.retransmissions).sum::<u64>() > 100);
    for threads in [2, 3, 5, 16] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
    let [estimate] = estimate_speedup(&spec, [4]);
    assert_eq!(estimate.partitions, 4, "{estimate:?}");
}

/// A run interrupted during transfers has the state of a single-threaded one.
#[test]
fn random_transfers_can_be_interrupted() {
    let spec = random_row();
    let mut simulation = simulation_on_threads(3, &spec);
    assert_eq!(simulation.advance(50_000), Status::Running);
    let partial = simulation.finish().0;
    let mut alone = simulation_on_threads(1, &spec);
    alone.advance(partial.events);
    assert_eq!(alone.finish().0, partial);
}

#[test]
fn a_network_without_lookahead_is_one_partition() {
    let still = chain(vec![(link_direction(50, Duration::ZERO), link_direction(50, Duration::ZERO))]);
    let spec = Spec { groups: vec![group("g", 1, datagrams(), WorkloadSpec::Bulk)], ..still };
    assert!(!simulation_on_threads(4, &spec).is_parallel());
    assert_eq!(estimate_speedup(&spec, [4])[0].partitions, 1);
    let [estimate] = estimate_speedup(&fast_parking_lot(), [3]);
    assert!(
        estimate.partitions == 3
            && estimate.speedup > 1.8
            && estimate.limiting_factor == LimitingFactor::Threads,
        "{estimate:?}"
    );
}

fn recorded<T: Tracer>(threads: usize, spec: &Spec, tracer: T) -> (RunResult, T) {
    let mut simulation = Simulation::on_threads(spec, tracer, threads).expect("the specification is valid");
    assert_eq!(simulation.is_parallel(), threads > 1);
    while simulation.advance(100_000) == Status::Running {}
    simulation.finish()
}

/// Asserts that several threads give the records of one thread, in the same order.
fn assert_same_records(spec: &Spec, numbers: &[usize]) -> Vec<String> {
    let (alone, Listing(expected)) = recorded(1, spec, Listing::default());
    for &threads in numbers {
        let (result, Listing(records)) = recorded(threads, spec, Listing::default());
        let differ = expected.iter().zip(&records).position(|(one, other)| one != other);
        if let Some(at) = differ {
            panic!("{threads} threads, record {at}: {} instead of {}", records[at], expected[at]);
        }
        assert_eq!(records.len(), expected.len(), "{threads} threads");
        assert_eq!(result, alone, "{threads} threads");
    }
    expected
}

/// Also if flows start simultaneously, initially or later, if packets overtake, or if flows open connections during the
/// run.
#[test]
fn records_are_those_of_one_thread() {
    let records = assert_same_records(&parking_lot(), &[2, 3, 16]);
    assert!(records.len() > 150_000, "{}", records.len());
    let mut together = Spec { duration: millis(700), ..parking_lot() };
    for group in &mut together.groups {
        group.spread = Duration::ZERO;
    }
    assert_same_records(&together, &[2, 3]);
    for group in &mut together.groups {
        group.start = Time::ZERO + millis(1);
    }
    assert_same_records(&together, &[2, 3]);
    assert_same_records(&flows_at_nodes(), &[2, 4]);
    assert_same_records(&varying_parking_lot(), &[2, 3]);
    let mut random = Spec { duration: millis(700), ..parking_lot() };
    for group in &mut random.groups {
        group.workload =
            WorkloadSpec::Poisson { gap: millis(3), size: SizeSpec::Exponential { mean: bytes(10_000) } };
    }
    assert_same_records(&random, &[2]);
}

/// A link without a rate limit delivers whole windows at one time to a node with outgoing links in different
/// partitions: they arrive in sending order.
#[test]
fn packets_that_arrive_together_are_recorded_as_they_were_sent() {
    let any = || direction(Rate::MAX, millis(5), Limit::Unlimited);
    let links =
        vec![(any(), any()), (link_direction(50, millis(5)), any()), (link_direction(50, millis(5)), any())];
    let of = |number: u32| GroupSpec {
        start: Time::ZERO + millis(1),
        ..group(&format!("g{number}"), 2 + number % 2, reno(), WorkloadSpec::Transfer(bytes(200_000)))
    };
    let mut spec = Spec { groups: (0..7).map(of).collect(), duration: millis(200), ..chain(links) };
    // Both links leave the same node.
    spec.links[2].a = NodeId(1);
    let records = assert_same_records(&spec, &[2, 3, 6]);
    assert!(records.len() > 2000, "{}", records.len());
}

/// A tracer of few steps receives these in the order of one thread; after an interruption, those up to it.
#[test]
fn filtered_and_interrupted_records_equal_one_thread() {
    struct FewEventsTracer(Vec<(Time, u32, u32)>);
    impl Tracer for FewEventsTracer {
        fn needs(&self, step: Step, link_direction: u32) -> bool {
            step == Step::Transmitted && link_direction == 2
        }

        fn record(&mut self, record: &Record<'_>) {
            if self.needs(record.step, record.link_direction) {
                self.0.push((record.time, record.flow, record.packet.serial));
            }
        }
    }
    let spec = parking_lot();
    let (_, FewEventsTracer(expected)) = recorded(1, &spec, FewEventsTracer(Vec::new()));
    assert!(expected.len() > 5000);
    assert!(recorded(3, &spec, FewEventsTracer(Vec::new())).1.0 == expected);
    let interrupted = |threads, events| {
        let mut simulation = Simulation::on_threads(&spec, Listing::default(), threads).unwrap();
        simulation.advance(events);
        simulation.finish()
    };
    let (partial, Listing(records)) = interrupted(3, 10_000);
    let (alone, Listing(expected)) = interrupted(1, partial.events);
    assert!(!partial.is_complete && partial == alone && records == expected);
}

/// A replay against the run's specification finds nothing; one against another link delay finds the same as on one
/// thread.
#[test]
fn the_verifier_sees_the_run_of_one_thread() {
    let spec = parking_lot();
    let mut other = spec.clone();
    other.links[1].forward.delay += Duration::from_picos(1);
    let verified = |of: &Spec, threads| {
        let (result, verifier) = recorded(threads, &spec, Verifier::new(of));
        verifier.finish(&result)
    };
    assert!(verified(&spec, 1).is_ok_and(|replay| replay.delivered > 10_000));
    let found = verified(&other, 1).expect_err("the delay is another");
    for threads in [2, 3] {
        assert_eq!(verified(&spec, threads), verified(&spec, 1));
        assert_eq!(verified(&other, threads).as_ref(), Err(&found));
    }
}

/// Flows between all pairs of five nodes in a row, with several priorities: long flows, finite flows, requests and
/// responses, and randomly arriving transfers.
fn busy_row() -> Spec {
    let mut spec = random_row();
    for (number, group) in (0..).zip(&mut spec.groups) {
        group.priority = 1 + number % 3;
        match number % 7 {
            0 => group.workload = WorkloadSpec::Bulk,
            1 => group.workload = WorkloadSpec::Transfer(bytes(300_000)),
            2 => {
                let response = SizeSpec::Fixed(bytes(20_000));
                group.workload =
                    WorkloadSpec::RequestResponse { request: bytes(300), response, think: millis(20) };
            }
            _ => {}
        }
    }
    Spec { duration: Duration::from_secs(2), ..spec }
}

/// The same with router feedback, each queue with this policy. Random transfers and responses cross one link only, as
/// their sources are in the partition of the queues that notify them.
fn feedback_row(policy: PolicySpec) -> Spec {
    let mut spec = busy_row();
    for line in spec.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        line.queue = thalweg_queue::DisciplineSpec::fcfs(Limit::Bytes(20_000));
        line.feedback = Some(FeedbackSpec { recipients: Recipients::All, ..FeedbackSpec::new(policy) });
    }
    for (number, group) in (0..).zip(&mut spec.groups) {
        if group.from.0.abs_diff(group.to.0) > 1 {
            let transfer = WorkloadSpec::Transfer(bytes(100_000));
            group.workload = if number % 2 == 0 { WorkloadSpec::Bulk } else { transfer };
        } else if group.from.0 + group.to.0 > 1 {
            group.workload = at_random(40, 6_000);
        }
    }
    spec
}

/// Routers' messages are numbered per queue, in every partition.
#[test]
fn routers_notify_sources_in_other_partitions() {
    let policies = [
        PolicySpec::Seif(SeifSpec::default()),
        PolicySpec::SourceQuench(QuenchSpec::default()),
        PolicySpec::DecBit(DecBitSpec::default()),
        PolicySpec::Rations(RationsSpec::default()),
    ];
    for policy in policies {
        let spec = feedback_row(policy);
        let alone = run_on_threads(1, &spec);
        let messages: Vec<u64> = alone.links.iter().map(|link| link.feedback).collect();
        let active = messages.iter().filter(|&&count| count > 10).count();
        assert!(active > 4 || matches!(policy, PolicySpec::DecBit(_)), "{policy:?}: {messages:?}");
        for threads in [2, 3, 5, 16] {
            assert!(simulation_on_threads(threads, &spec).is_parallel());
            assert_eq!(run_on_threads(threads, &spec), alone, "{policy:?}, {threads} threads");
        }
    }
}

/// Long flows over several links with feedback: messages cross boundaries and reach sources at the routers.
fn quenched_row() -> Spec {
    let mut spec = feedback_row(PolicySpec::SourceQuench(QuenchSpec::default()));
    for group in &mut spec.groups {
        group.workload = WorkloadSpec::Bulk;
    }
    Spec { duration: millis(500), ..spec }
}

/// Message records match too, and the verifier finds nothing.
#[test]
fn messages_are_recorded_as_on_one_thread() {
    let records = assert_same_records(&quenched_row(), &[2, 3, 5]);
    assert!(records.iter().filter(|record| record.contains("Feedback")).count() > 1000);
    assert_same_records(
        &Spec { duration: millis(700), ..feedback_row(PolicySpec::Seif(SeifSpec::default())) },
        &[2, 4],
    );
    for threads in [1, 3] {
        let spec = quenched_row();
        let (result, verifier) = recorded(threads, &spec, Verifier::new(&spec));
        assert!(verifier.finish(&result).is_ok(), "{threads} threads");
    }
}

/// The same row with gates of both kinds at three of the nodes.
fn gated_row() -> Spec {
    let mut spec = busy_row();
    let slots = GateConfig::Slots(SlotGateConfig { slot: millis(2), ..SlotGateConfig::default() });
    let congestion =
        GateConfig::Congestion(CongestionGateConfig { check: millis(50), ..CongestionGateConfig::default() });
    for (node, config) in [(0, slots), (2, congestion), (3, slots)] {
        spec.nodes[node].gate = Some(GateSpec::new(config));
    }
    spec
}

/// A gate is in the partition of the flows that start at its node and of the links that leave it; everything else is
/// partitioned.
#[test]
fn gates_are_in_the_partition_of_their_flows() {
    let spec = gated_row();
    let alone = run_on_threads(1, &spec);
    for threads in [2, 3, 5, 16] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
    let records = assert_same_records(&Spec { duration: millis(700), ..spec }, &[2, 3, 5]);
    assert!(records.iter().filter(|record| record.contains("paused: true")).count() > 100);
}

/// Gates are notified of drops and routers send feedback in one network.
#[test]
fn gates_and_messages_go_together() {
    let mut spec = feedback_row(PolicySpec::Seif(SeifSpec::default()));
    spec.nodes = gated_row().nodes;
    let alone = run_on_threads(1, &spec);
    for threads in [2, 5] {
        assert!(simulation_on_threads(threads, &spec).is_parallel());
        assert_eq!(run_on_threads(threads, &spec), alone, "{threads} threads");
    }
}

/// The message on threads names the queue or gate that limits the partitioning.
#[test]
fn the_bounds_of_messages_and_gates_are_named() {
    let mut spec = parking_lot();
    spec.links[1].forward.feedback = Some(FeedbackSpec {
        recipients: Recipients::All,
        ..FeedbackSpec::new(PolicySpec::SourceQuench(QuenchSpec::default()))
    });
    for line in spec.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        line.rate = Rate::from_mbits_per_sec(5000);
    }
    // The sources of `b` are at the router of the queue with feedback.
    spec.groups[2].count = 30;
    let [estimate] = estimate_speedup(&spec, [16]);
    assert!(
        matches!(&estimate.limiting_factor, LimitingFactor::Feedback { name, .. } if name[1] == "n1"),
        "{estimate:?}"
    );
    let mut spec = gated_row();
    spec.groups.retain(|group| group.from == NodeId(2) || group.from == NodeId(0));
    for line in spec.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        line.rate = Rate::from_mbits_per_sec(5000);
    }
    spec.groups.iter_mut().for_each(|group| group.workload = WorkloadSpec::Bulk);
    let [estimate] = estimate_speedup(&spec, [16]);
    assert!(matches!(&estimate.limiting_factor, LimitingFactor::NodeGate { .. }), "{estimate:?}");
}
