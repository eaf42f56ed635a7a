//! Uniform jitter of links and overhead of hosts: distribution, order and purpose.

use crate::test_network::{bytes, direction, group, millis, pipe, run, window};
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::{ControllerConfig, EndsConfig, ReceiverConfig, SenderConfig};
use thalweg_queue::Limit;
use thalweg_sim::packet_trace::{NoTrace, Record, Step, Tracer};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{RunResult, Simulation, Status};

fn new_reno() -> ControllerConfig {
    ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// 10 ms without transmission time; ten thousand datagrams, a millisecond apart.
fn datagrams_over(jitter: Duration, overhead: Duration, access: bool) -> Spec {
    let wire = direction(Rate::MAX, millis(10), Limit::Unlimited);
    let mut spec = pipe(DirectionSpec { jitter, ..wire.clone() });
    let writes = (0..10_000).map(|number| (millis(number), bytes(100))).collect();
    let plain = DirectionSpec { delay: Duration::ZERO, ..wire };
    let access = access.then(|| AccessSpec {
        source_forward: plain.clone(),
        source_backward: plain.clone(),
        sink_forward: plain.clone(),
        sink_backward: plain,
        source_processing: Processing::default(),
        sink_processing: Processing::default(),
    });
    let flow = group("flow", 1, crate::test_network::datagrams(), WorkloadSpec::Trace(writes));
    spec.groups = vec![GroupSpec { overhead, access, ..flow }];
    spec.duration = Duration::from_secs(11);
    spec
}

/// Delivery times and serial numbers of packets.
#[derive(Default)]
struct Arrivals(Vec<(f64, u32)>);

impl Tracer for Arrivals {
    fn record(&mut self, record: &Record<'_>) {
        if record.step == Step::Delivered {
            self.0.push((record.time.as_secs_f64() * 1e3, record.packet.serial));
        }
    }
}

fn arrivals(spec: &Spec) -> Vec<(f64, u32)> {
    let mut simulation = Simulation::new(spec, Arrivals::default()).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().1.0
}

#[test]
fn the_time_is_uniform_wherever_it_is_taken() {
    // Half a millisecond at most: none has to wait for its predecessor. Delays are 10 to 10.5 ms, mean 10.25, a quarter
    // of them below 10.125 and a quarter above 10.375. The standard error of the mean of 10 000 is 0.5/sqrt(12)/100 ms.
    let half = Duration::from_micros(500);
    for spec in [
        datagrams_over(half, Duration::ZERO, false),
        datagrams_over(Duration::ZERO, half, false),
        datagrams_over(Duration::ZERO, half, true),
    ] {
        let delay = run(&spec).flows[0].delay;
        assert_eq!(delay.count, 10_000);
        assert!((delay.mean.as_millis_f64() - 10.25).abs() < 5.0 * 0.5 / 12f64.sqrt() / 100.0);
        assert!(delay.min >= millis(10) && delay.max <= millis(10) + half);
        let mut spans: Vec<f64> =
            arrivals(&spec).iter().map(|(at, serial)| at - f64::from(*serial)).collect();
        spans.sort_by(f64::total_cmp);
        for (share, expected) in [(0.25, 10.125), (0.5, 10.25), (0.75, 10.375)] {
            // Five standard errors of a quantile: sqrt(q (1 - q) / n) / density.
            let error = (share * (1.0_f64 - share) / 1e4).sqrt() * 0.5;
            assert!((spans[(share * 1e4) as usize] - expected).abs() < 5.0 * error, "{share}");
        }
    }
}

#[test]
fn packets_keep_their_order() {
    // Up to 20 ms for packets a millisecond apart.
    let long = millis(20);
    for spec in [
        datagrams_over(long, Duration::ZERO, false),
        datagrams_over(Duration::ZERO, long, false),
        datagrams_over(long, long, true),
    ] {
        let result = run(&spec);
        let arrivals = arrivals(&spec);
        assert_eq!(arrivals.len(), 10_000);
        assert!(arrivals.is_sorted_by_key(|(_, serial)| *serial));
        assert!(result.flows[0].delay.max <= millis(10) + long * 2);
    }
}

#[test]
fn a_seed_draws_the_same_and_another_one_others() {
    let of = |seed| {
        let spec = Spec { seed, ..datagrams_over(millis(1), millis(1), false) };
        run(&spec).fingerprint
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn host_overhead_applies_to_responses_too() {
    // A request of one packet and a response of one, 10 ms each way, and at most 2 ms at either host: 1 ms more on
    // average each way, 22 ms in all.
    let wire = direction(Rate::MAX, millis(10), Limit::Unlimited);
    for control_channel in [None, Some(millis(10))] {
        let mut spec = pipe(wire.clone());
        let workload = WorkloadSpec::RequestResponse {
            request: bytes(100),
            response: SizeSpec::Fixed(bytes(100)),
            think: Duration::ZERO,
        };
        let flow = group("flow", 1, window(new_reno()), workload);
        spec.groups = vec![GroupSpec { overhead: millis(2), control_channel, ..flow }];
        spec.duration = Duration::from_secs(60);
        let completion = run(&spec).groups[0].transfers.completion;
        assert!(completion.count > 2000);
        // Five standard errors: two uniform times of 2 ms.
        let error = 2.0 * (2.0 / 12.0_f64).sqrt() / (completion.count as f64).sqrt();
        assert!((completion.mean.as_millis_f64() - 22.0).abs() < 5.0 * error, "{}", completion.mean);
    }
}

/// Four flows with a short and four with a long round trip on 50 Mbit/s, behind access links; the short ones' delay in
/// us.
fn two_groups(delay: u64, overhead: Duration, seed: u64) -> RunResult {
    let wire = |delay, limit| direction(Rate::from_mbits_per_sec(50), delay, limit);
    let mut spec = pipe(wire(millis(5), Limit::Packets(200)));
    let flows = |name: &str, micros: u64| {
        let line = direction(Rate::from_mbits_per_sec(1000), Duration::from_micros(micros), Limit::Unlimited);
        let access = AccessSpec {
            source_forward: line.clone(),
            source_backward: line.clone(),
            sink_forward: line.clone(),
            sink_backward: line,
            source_processing: Processing::default(),
            sink_processing: Processing::default(),
        };
        let sender = SenderConfig { segment: 1448, ..SenderConfig::default() };
        let ends = EndsConfig::new(sender, ReceiverConfig::default(), new_reno());
        let transport = TransportSpec::new("window", ends, 52, 52);
        let flow = group(name, 1, transport, WorkloadSpec::Bulk);
        let spread = millis(100);
        GroupSpec { count: 4, access: Some(access), overhead, spread, ..flow }
    };
    spec.groups = vec![flows("short", delay), flows("long", 17_500)];
    (spec.warmup, spec.duration, spec.seed) = (Duration::from_secs(5), Duration::from_secs(25), seed);
    let mut simulation = Simulation::new(&spec, NoTrace).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

/// The overhead's purpose (Floyd and Jacobson 1992): without it, microseconds of fibre decide the share of two groups,
/// within confidence intervals that do not show it. With a packet's time at the bottleneck (240 us) they do not.
#[test]
fn shares_do_not_depend_on_microseconds_of_propagation() {
    let spread = |overhead| {
        let shares: Vec<f64> = [2500, 2520, 2540, 2560]
            .map(|delay| {
                let result = two_groups(delay, overhead, 1);
                result.groups[0].goodput.as_f64() / result.groups[1].goodput.as_f64()
            })
            .to_vec();
        let (low, high) =
            shares.iter().fold((f64::MAX, 0.0_f64), |(low, high), &share| (low.min(share), high.max(share)));
        (high / low, shares)
    };
    let (without, shares) = spread(Duration::ZERO);
    assert!(without > 3.0, "{shares:?}");
    let (with, shares) = spread(Duration::from_micros(240));
    assert!(with < 1.8, "{shares:?}");
}
