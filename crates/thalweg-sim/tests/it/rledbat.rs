//! Background transfers controlled by the receiver (RFC 9840), with unmodified senders.

use crate::test_network::{direction, group, millis, pipe, run};
use thalweg_proto::congestion::{LedbatPlusPlusConfig, NewRenoConfig};
use thalweg_proto::units::Rate;
use thalweg_proto::window::{ControllerConfig, EndsConfig, ReceiverConfig, SenderConfig};
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

fn newreno(is_background: bool) -> TransportSpec {
    let controller = NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    };
    let sender = SenderConfig { segment: 960, timestamps: is_background, ..SenderConfig::default() };
    let background = is_background.then_some(LedbatPlusPlusConfig::RECOMMENDED);
    let receiver = ReceiverConfig { background, ..ReceiverConfig::default() };
    TransportSpec::new(
        "newreno",
        EndsConfig::new(sender, receiver, ControllerConfig::NewReno(controller)),
        40,
        40,
    )
}

/// Runs flows over 20 Mbit/s and 40 ms with a buffer of three times the path's capacity, from 10 s on.
fn run_on_shared_link(groups: Vec<GroupSpec>) -> RunResult {
    let link = direction(Rate::from_mbits_per_sec(20), millis(20), Limit::Packets(300));
    let mut spec = pipe(link);
    spec.groups = groups;
    spec.duration = millis(60_000);
    spec.warmup = millis(10_000);
    run(&spec)
}

/// Alone it uses the path, and its queueing delay reaches LEDBAT++'s target, 60 ms, but not more.
#[test]
fn alone_it_queues_to_the_target() {
    let flow = run_on_shared_link(vec![group("back", 1, newreno(true), WorkloadSpec::Bulk)]).flows.remove(0);
    assert!(flow.goodput.as_f64() > 0.85 * 20e6, "{}", flow.goodput);
    let queue = flow.delay.p50.as_secs_f64() - 0.02;
    assert!((0.03..0.065).contains(&queue), "{queue}");
    assert_eq!((flow.retransmissions, flow.timeouts), (0, 0));
}

/// Next to a NewReno flow of the same sender it yields: the queue is above the target.
#[test]
fn it_yields_to_other_flows() {
    let flows = vec![
        group("back", 1, newreno(true), WorkloadSpec::Bulk),
        group("front", 1, newreno(false), WorkloadSpec::Bulk),
    ];
    let shares: Vec<f64> = run_on_shared_link(flows).flows.iter().map(|flow| flow.goodput.as_f64()).collect();
    assert!(shares[0] < 0.2 * shares[1], "{shares:?}");
}
