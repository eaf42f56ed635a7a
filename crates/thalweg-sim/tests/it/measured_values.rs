//! Round-trip times, arrival rates and slow-start thresholds compared with values derived from the path.

use crate::test_network::{chain, direction, group, millis, pipe, run, window};
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::{ImpairmentSpec, Limit};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{FlowResult, Quantity, RunResult, SHARES, Summary};

/// 10 Mbit/s and 10 ms each way.
fn link_of_path(packets: u64) -> DirectionSpec {
    direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Packets(packets))
}

/// A flow with a constant window of `window_segments`.
fn fixed(window_segments: f64) -> TransportSpec {
    window(ControllerConfig::FixedWindow(FixedWindowConfig { window: window_segments }))
}

fn new_reno(initial_ssthresh: f64) -> TransportSpec {
    window(ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    }))
}

fn run_alone(link: DirectionSpec, transport: TransportSpec) -> RunResult {
    run(&Spec { groups: vec![group("flow", 1, transport, WorkloadSpec::Bulk)], ..pipe(link) })
}

fn only_flow(result: &RunResult) -> &FlowResult {
    &result.flows[0]
}

fn all_of(summary: &Summary) -> [Duration; 6] {
    [summary.min, summary.mean, summary.p50, summary.p95, summary.p99, summary.max]
}

#[test]
fn without_a_queue_each_round_trip_is_that_of_the_path() {
    // A packet of 1000 B takes 0.8 ms, its acknowledgement of 40 B 0.032 ms, and each way 10 ms: 20.832 ms. Samples
    // follow each other without a pause for 10 s.
    let result = run_alone(link_of_path(100), fixed(1.0));
    let round_trips = only_flow(&result).round_trips;
    assert_eq!(all_of(&round_trips), [Duration::from_micros(20_832); 6]);
    assert_eq!(round_trips.count, 480, "10 s / 20.832 ms");
    // The group and the network have the same samples.
    assert_eq!([result.groups[0].round_trips, result.round_trips], [round_trips; 2]);
    assert_eq!(result.curves.round_trip, vec![Duration::from_micros(20_832); SHARES.len()]);
    assert_eq!(only_flow(&result).ssthresh, None);
}

#[test]
fn with_a_queue_round_trips_are_the_window_over_the_rate() {
    // Little's law: 50 packets of 0.8 ms each are 40 ms, from the second window on. The warm-up does not count.
    let flow = group("flow", 1, fixed(50.0), WorkloadSpec::Bulk);
    let spec = Spec { groups: vec![flow], warmup: Duration::from_secs(2), ..pipe(link_of_path(100)) };
    let result = run(&spec);
    let round_trips = only_flow(&result).round_trips;
    assert_eq!(all_of(&round_trips), [millis(40); 6]);
    // One for each of the 1250 packets a second.
    assert!(round_trips.count.abs_diff(8 * 1250) <= 1, "{}", round_trips.count);
}

#[test]
fn percentiles_are_those_of_the_queue_that_grows() {
    // The first 400 packets leave at once: the nth acknowledged has waited for n - 1 others. In the first round trip
    // samples rise evenly from 20.832 ms to 20.832 + 399 x 0.8 ms; later ones are 400 x 0.8 ms.
    let flow = group("flow", 1, fixed(400.0), WorkloadSpec::Bulk);
    // Until just after the 400th.
    let duration = Duration::from_micros(20_832 + 399 * 800 + 400);
    let result = run(&Spec { groups: vec![flow], duration, ..pipe(link_of_path(1000)) });
    let found = only_flow(&result).round_trips;
    assert_eq!(found.count, 400);
    for (time, share) in [(found.p50, 0.5), (found.p95, 0.95), (found.p99, 0.99)] {
        let expected = 20.832 + (400.0 * share - 1.0) * 0.8;
        assert!(
            (time.as_secs_f64() * 1e3 / expected - 1.0).abs() < 0.016,
            "{share}: {time} for {expected} ms"
        );
    }
    assert!((found.mean.as_secs_f64() * 1e3 - (20.832 + 199.5 * 0.8)).abs() < 1e-6, "{}", found.mean);
}

#[test]
fn large_groups_have_their_samples_together() {
    let flows = GroupSpec { count: 1001, ..group("flow", 1, fixed(1.0), WorkloadSpec::Bulk) };
    let result =
        run(&Spec { groups: vec![flows], duration: Duration::from_secs(3), ..pipe(link_of_path(2000)) });
    assert_eq!(only_flow(&result).round_trips, Summary::default());
    assert!(result.groups[0].round_trips.count > 1000 && result.round_trips == result.groups[0].round_trips);
}

#[test]
fn both_senders_of_an_exchange_measure() {
    // Requests and responses of one packet: each direction has a sample for each exchange.
    let response = SizeSpec::Fixed(crate::test_network::bytes(100));
    let exchanges = WorkloadSpec::RequestResponse {
        request: crate::test_network::bytes(100),
        response,
        think: millis(10),
    };
    let result =
        run(&Spec { groups: vec![group("flow", 1, fixed(4.0), exchanges)], ..pipe(link_of_path(100)) });
    let (samples, exchanged) = (only_flow(&result).round_trips.count, result.transfers.completion.count);
    assert!(samples.abs_diff(2 * exchanged) <= 2, "{samples} samples, {exchanged} exchanges");
}

#[test]
fn arrivals_are_counted_with_reordering_and_duplicates() {
    let rate = |link: DirectionSpec, transport: TransportSpec| {
        let groups = vec![group("flow", 1, transport, WorkloadSpec::Bulk)];
        let result = run(&Spec { groups, ..chain(vec![(link, link_of_path(100))]) });
        let flow = only_flow(&result);
        let [arrived, goodput] = [flow.arrival_rate, flow.goodput].map(Rate::as_f64);
        let counts = flow.counts;
        assert_eq!(counts.arrived_bytes.get(), 960 * counts.arrived_data);
        (arrived, goodput)
    };
    let (arrived, goodput) = rate(link_of_path(100), fixed(20.0));
    assert!((arrived - goodput).abs() < 1.0 && goodput > 7e6, "{arrived}, {goodput}");
    // Every packet is duplicated.
    let impairment = ImpairmentSpec { duplicate: 1.0, ..ImpairmentSpec::default() };
    let (arrived, goodput) = rate(DirectionSpec { impairment, ..link_of_path(100) }, fixed(1.0));
    assert!((arrived / goodput - 2.0).abs() < 0.01, "{arrived}, {goodput}");
    // Lost data has not arrived, but data waiting for it has.
    let lossy = crate::test_network::with_random_loss(link_of_path(100), 0.02);
    let (arrived, goodput) = rate(lossy, new_reno(1e9));
    assert!(arrived >= goodput, "{arrived}, {goodput}");
}

#[test]
fn the_threshold_is_that_of_the_last_loss() {
    let flow = group("flow", 1, new_reno(1e9), WorkloadSpec::Bulk);
    let measure = MeasureSpec { interval: Some(millis(10)), ..MeasureSpec::default() };
    let spec = Spec { groups: vec![flow], measure, ..pipe(link_of_path(25)) };
    let result = run(&spec);
    // Drops occur with 25 packets in the queue, one in service and 25 in propagation: half of about 51.
    let ssthresh = only_flow(&result).ssthresh.expect("NewReno has a threshold");
    assert!((20.0..=30.0).contains(&ssthresh), "{ssthresh}");
    let series = result.series.iter().find(|series| series.quantity == Quantity::Ssthresh).unwrap();
    assert_eq!(series.points.first().map(|(_, value)| *value), Some(1e9));
    let (time, last) = series.points[series.points.len() - 1];
    assert!(time > Time::ZERO + Duration::from_secs(9) && (last - ssthresh).abs() < 1e-9, "{last}");
    // An unbounded threshold is reported as none.
    let result = run_alone(link_of_path(10_000), new_reno(f64::INFINITY));
    assert_eq!(only_flow(&result).ssthresh, None);
}
