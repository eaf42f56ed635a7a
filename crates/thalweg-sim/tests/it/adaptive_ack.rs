//! Adaptive acknowledgement between two hosts, in the model of its paper (Lee et al. 1997, table 1), with results
//! computed by hand.

use crate::test_network::{direction, group, pipe, run};
use thalweg_proto::adaptive_ack::Config;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{ImpairmentSpec, Limit, LossSpec};
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

/// A data packet of 1024 bytes at a host: 70 us and 0.05 us a byte.
const DATA_MICROS: f64 = 121.2;
/// An ACK of 32 bytes at a host.
const ACK_MICROS: f64 = 71.6;

/// 100 Mbit/s one way, 10 Mbit/s the other, no delay; both hosts have a processing cost per packet.
fn cluster(config: Config, loss: LossSpec, millis: u64) -> Spec {
    let channel = |mbits| direction(Rate::from_mbits_per_sec(mbits), Duration::ZERO, Limit::Unlimited);
    let impairment = ImpairmentSpec { loss, ..ImpairmentSpec::default() };
    let mut spec = pipe(channel(100));
    spec.links[0].forward = DirectionSpec { impairment, ..channel(100) };
    spec.links[0].backward = channel(10);
    for node in &mut spec.nodes {
        node.processing =
            Processing { per_packet: Duration::from_micros(70), per_byte: Duration::from_nanos(50) };
    }
    let transport = TransportSpec::new("adaptive-ack", config, 16, 32);
    spec.groups = vec![group("flow", 1, transport, WorkloadSpec::Bulk)];
    spec.duration = Duration::from_millis(millis);
    spec
}

fn packets(result: &RunResult) -> f64 {
    result.flows[0].delivered.get() as f64 / 1008.0
}

/// A packet takes its processing time, as transmission (81.92 us) overlaps with it; each report, one per T_normal,
/// costs both endpoints the processing of an ACK.
#[test]
fn without_loss_reports_cost_their_processing() {
    for millis in [5, 10, 20, 40] {
        let normal = Duration::from_millis(millis);
        let mut spec = cluster(Config { normal, ..Config::default() }, LossSpec::None, 2_100);
        spec.warmup = Duration::from_millis(100);
        let result = run(&spec);
        let expected = 2e6 / DATA_MICROS * (1.0 - ACK_MICROS / (millis as f64 * 1e3));
        assert!((packets(&result) / expected - 1.0).abs() < 0.001, "{millis} ms: {}", packets(&result));
        assert_eq!(result.flows[0].retransmissions, 0);
    }
}

/// A window that is exhausted before the next report: W packets per T_normal.
#[test]
fn a_small_window_waits_for_the_report() {
    for window in [50, 100, 300] {
        let mut spec = cluster(Config { window, ..Config::default() }, LossSpec::None, 4_400);
        spec.warmup = Duration::from_millis(400);
        let result = run(&spec);
        assert_eq!(packets(&result), f64::from(window) * 100.0, "window {window}");
    }
}

/// A single lost packet is requested at once and retransmitted before the timer expires.
#[test]
fn a_loss_in_the_middle_is_repaired_at_once() {
    let result = run(&cluster(Config::default(), LossSpec::List([100].into()), 1_000));
    let flow = &result.flows[0];
    assert_eq!((flow.retransmissions, flow.timeouts), (1, 0));
    let clean = run(&cluster(Config::default(), LossSpec::None, 1_000));
    // The loss costs a packet time, a request, and the reports of an error phase of at most two T_error.
    assert!(packets(&clean) - packets(&result) < 5.0);
}

/// A transfer whose last packet is lost ends after 4 T_normal of silence, and no later if all are lost: the first and
/// the last are retransmitted, and the receiver requests the others.
#[test]
fn tail_losses_are_repaired_after_an_idle_time() {
    for lost in [vec![10], vec![1], (1..=10).collect()] {
        let mut spec = cluster(Config::default(), LossSpec::List(lost.clone().into()), 4_000);
        spec.groups[0].workload = WorkloadSpec::Transfer(crate::test_network::bytes(10 * 1008));
        let result = run(&spec);
        let finished = result.flows[0].finished.expect("the transfer ends");
        let tail = lost != [1];
        assert_eq!(result.flows[0].timeouts, u64::from(tail), "{lost:?}");
        assert_eq!(finished > Time::ZERO + Duration::from_millis(160), tail, "{lost:?}: {finished}");
        // A gap found without new data is reported by the next periodic report.
        assert!(finished < Time::ZERO + Duration::from_millis(210), "{lost:?}: {finished}");
    }
}
