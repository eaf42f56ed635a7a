//! Counts of flows with small segments and of unfinished transfers, checked by arithmetic and by the verifier, and the
//! verifier's detection of wrong counts.

use crate::test_network::{bytes, datagrams, direction, group, millis, pipe, run, window, with_random_loss};
use std::sync::Arc;
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::sscop;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::packet_trace::Tracer;
use thalweg_sim::simulation_spec::*;
use thalweg_sim::verify::{Fault, Verifier};
use thalweg_sim::{Quantity, RunResult, Simulation, Status};

fn fast() -> DirectionSpec {
    direction(Rate::from_mbits_per_sec(100), millis(1), Limit::Unlimited)
}

fn new_reno() -> ControllerConfig {
    ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// Returns `count` writes of `size` bytes, a millisecond apart.
fn writes_workload(count: u64, size: u64) -> WorkloadSpec {
    WorkloadSpec::Trace((0..count).map(|number| (millis(number), bytes(size))).collect())
}

#[test]
fn partial_segments_have_full_headers() {
    // 202 writes of 64 bytes, each in a segment of its own with a header of 40: 104 bytes on the wire. 100 of them
    // differ from a few full segments.
    let mut spec = pipe(fast());
    spec.groups = vec![group("keys", 1, window(new_reno()), writes_workload(202, 64))];
    let result = run(&spec);
    let flow = &result.flows[0];
    assert_eq!((flow.delivered, flow.sent_packets), (bytes(202 * 64), 202));
    assert_eq!(flow.delivered_wire, bytes(202 * 104));
    // The acknowledgements use the other direction: the link carried nothing else.
    assert_eq!(result.links[0].bytes, flow.delivered_wire);
    // Over ten seconds.
    assert_eq!(flow.throughput.as_bits_per_sec(), 202 * 104 * 8 / 10);
}

#[test]
fn datagrams_and_messages_count_their_own_sizes() {
    // A datagram of 200 bytes has a header of 28; an SD of 66 has two bytes of padding and a trailer of four (Q.2110,
    // section 7.2) and here a header of 10.
    let udp = TransportSpec::new("udp", SourceConfig { segment: 1000, header: 28, rate: None }, 28, 28);
    let config = sscop::EndpointConfig { sscop: Arc::new(sscop::Config::default()), segment: 1000 };
    let sscop = TransportSpec::new("sscop", config, 10, 10);
    for (transport, size, wire) in [(udp, 200, 228), (sscop, 66, 66 + 2 + 4 + 10)] {
        let mut spec = pipe(fast());
        // The first write opens the connection; writes before the handshake completes would share a segment.
        let at = |number: u64| millis(number + if number > 0 { 1000 } else { 0 });
        let workload = WorkloadSpec::Trace((0..50).map(|number| (at(number), bytes(size))).collect());
        spec.groups = vec![group("flow", 1, transport, workload)];
        let flow = &run(&spec).flows[0];
        assert_eq!((flow.delivered, flow.delivered_wire), (bytes(50 * size), bytes(50 * wire)));
    }
}

/// Transfers that offer ten times the capacity of a slow link, with a loss rate of 20 %.
fn overload_spec() -> Spec {
    let link = with_random_loss(direction(Rate::from_mbits_per_sec(1), millis(20), Limit::Packets(20)), 0.2);
    let mut spec = pipe(link);
    let size = SizeSpec::Fixed(bytes(20_000));
    let workload = WorkloadSpec::Poisson { gap: millis(16), size };
    spec.groups = vec![group("pages", 1, window(new_reno()), workload)];
    spec.duration = Duration::from_secs(20);
    spec
}

#[test]
fn transfers_that_do_not_end_count() {
    let spec = overload_spec();
    let result = run(&spec);
    let (flow, group) = (&result.flows[0], &result.groups[0]);
    assert!(
        group.transfers.unfinished > 4 * group.transfers.completion.count,
        "{} unfinished",
        group.transfers.unfinished
    );
    // Every data packet left over the link or was dropped before it: there is no other sender.
    let link = &result.links[0];
    let waiting = flow.sent_packets - link.packets - link.drops_full;
    assert!(waiting <= 20, "{} sent, {} left, {} dropped", flow.sent_packets, link.packets, link.drops_full);
    assert!(flow.retransmissions > flow.sent_packets / 10);
    assert!(flow.timeouts > 0);
}

#[test]
fn counts_of_transfers_begin_with_the_warm_up() {
    // The two halves of a run add up to the whole.
    let whole = run(&overload_spec());
    let warm = run(&Spec { warmup: Duration::from_secs(10), ..overload_spec() });
    let first = run(&Spec { duration: Duration::from_secs(10), ..overload_spec() });
    let counts = |result: &RunResult| {
        let flow = &result.flows[0];
        [flow.sent_packets, flow.retransmissions, flow.timeouts, flow.counts.drops, flow.delivered_wire.get()]
    };
    for ((whole, first), second) in counts(&whole).into_iter().zip(counts(&first)).zip(counts(&warm)) {
        assert_eq!(whole, first + second);
        assert!(first > 0 && second > 0);
    }
}

#[test]
fn no_round_trip_is_recorded_before_the_first_sample() {
    // 50 ms each way and a sample every 10 ms: the first sample with a known round trip is that of 110 ms.
    let link = direction(Rate::from_mbits_per_sec(10), millis(50), Limit::Unlimited);
    let mut spec = pipe(link);
    spec.groups = vec![group("flow", 1, window(new_reno()), WorkloadSpec::Bulk)];
    spec.measure.interval = Some(millis(10));
    let result = run(&spec);
    let of =
        |quantity| result.series.iter().find(|series| series.quantity == quantity).expect("it is recorded");
    let (window, rtt) = (of(Quantity::Window), of(Quantity::Rtt));
    assert_eq!(window.points[0].0.as_picos(), millis(10).as_picos());
    assert_eq!(rtt.points[0].0.as_picos(), millis(110).as_picos());
    assert!(rtt.points.iter().all(|(_, seconds)| *seconds >= 0.1));
    assert_eq!(rtt.points.len() + 10, window.points.len());
}

/// Returns a finished run with its verifier.
fn run_with_verifier(spec: &Spec) -> (RunResult, Verifier) {
    let mut simulation = Simulation::new(spec, Verifier::new(spec)).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish()
}

#[track_caller]
fn is_noticed(spec: &Spec, what: &str, place: &str, spoil: impl Fn(&mut RunResult)) {
    let (mut result, verifier) = run_with_verifier(spec);
    assert_eq!(verifier.clone().finish(&result).map(|_| ()), Ok(()), "before it is spoilt");
    spoil(&mut result);
    let violations = verifier.finish(&result).expect_err("the verifier notices nothing");
    let [violation] = violations.as_slice() else { panic!("{violations:?}") };
    assert!(matches!(violation.fault, Fault::Miscounted { what: found, .. } if found == what), "{violation}");
    assert_eq!(violation.place, place);
}

#[test]
fn wrong_flow_counts_are_detected() {
    let mut small = pipe(fast());
    small.groups = vec![group("keys", 1, window(new_reno()), writes_workload(202, 64))];
    small.warmup = millis(50);
    // As if all segments but the last were full.
    is_noticed(&small, "bytes of data packets that arrived", "flow `keys`", |result| {
        let flow = &mut result.flows[0];
        flow.delivered_wire = flow.delivered + Bytes::new(flow.delivered.get().div_ceil(960) * 40);
    });
    // As if only finished transfers had been sent, and as if more had arrived than did.
    let overload = overload_spec();
    is_noticed(&overload, "data packets sent", "flow `pages`", |result| result.flows[0].sent_packets -= 1);
    is_noticed(&overload, "packets dropped", "flow `pages`", |result| result.flows[0].counts.drops += 1);
    is_noticed(&overload, "bytes of data packets that arrived", "flow `pages`", |result| {
        result.flows[0].delivered_wire = bytes(1 << 40);
    });
    // Links are compared with a warm-up too.
    is_noticed(&small, "bytes transmitted", "link `l0` from n0 to n1", |result| {
        result.links[0].bytes += bytes(1);
    });
}

#[test]
fn the_warm_up_ends_when_it_should() {
    let spec = Spec { warmup: millis(50), ..pipe(fast()) };
    let mut verifier = Verifier::new(&spec);
    verifier.on_warmup_end(thalweg_proto::units::Time::ZERO + millis(49));
    let (result, _) = run_with_verifier(&spec);
    let violations = verifier.finish(&result).expect_err("the verifier notices nothing");
    let what = "the end of the warm-up";
    assert!(matches!(violations[0].fault, Fault::Miscounted { what: found, .. } if found == what));
}

#[test]
fn every_transport_passes() {
    // Loss, duplication, damage and reordering: the counts still balance.
    let mut link =
        with_random_loss(direction(Rate::from_mbits_per_sec(5), millis(5), Limit::Packets(30)), 0.02);
    link.impairment.duplicate = 0.01;
    link.impairment.corrupt = 0.01;
    let mut spec = pipe(link);
    spec.groups = vec![
        group("window", 1, window(new_reno()), WorkloadSpec::Bulk),
        group("udp", 1, datagrams(), writes_workload(1000, 700)),
        group("answers", 1, window(new_reno()), {
            let response = SizeSpec::Exponential { mean: bytes(5000) };
            WorkloadSpec::RequestResponse { request: bytes(100), response, think: millis(20) }
        }),
    ];
    spec.warmup = millis(700);
    run(&spec);
}
