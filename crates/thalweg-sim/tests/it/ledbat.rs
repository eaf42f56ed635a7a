//! LEDBAT++ on simulated paths: its target, yielding, and latecomers (draft-irtf-iccrg-ledbat-plus-plus).

use crate::test_network::{direction, group, millis, pipe, run, window};
use thalweg_proto::congestion::{CubicConfig, LedbatPlusPlusConfig};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

const LEDBAT: LedbatPlusPlusConfig = LedbatPlusPlusConfig {
    initial_window: 2.0,
    initial_ssthresh: 1e9,
    target: Duration::from_millis(60),
    constant: 1.0,
    slowdowns: true,
};

fn ledbat(config: LedbatPlusPlusConfig) -> GroupSpec {
    group("background", 1, window(ControllerConfig::from(config)), WorkloadSpec::Bulk)
}

fn cubic() -> GroupSpec {
    let config = CubicConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    };
    group("cubic", 1, window(ControllerConfig::Cubic(config)), WorkloadSpec::Bulk)
}

/// Runs these flows over 20 Mbit/s with 20 ms each way and a buffer of half a second, from `warmup` to `seconds`.
fn run_on_shared_link(groups: Vec<GroupSpec>, warmup: u64, seconds: u64) -> RunResult {
    let link = direction(Rate::from_mbits_per_sec(20), millis(20), Limit::Packets(1250));
    let (duration, warmup) = (Duration::from_secs(seconds), Duration::from_secs(warmup));
    run(&Spec { groups, duration, warmup, ..pipe(link) })
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|flow| flow.goodput.as_f64() / 1e6).collect()
}

/// Sections 4.2 to 4.5: alone it uses the link except for slowdowns, with no more queueing delay than the target.
#[test]
fn alone_it_waits_for_its_target() {
    for target in [60, 25] {
        let config = LedbatPlusPlusConfig { target: millis(target), ..LEDBAT };
        let result = run_on_shared_link(vec![ledbat(config)], 60, 180);
        let (flow, link) = (&result.flows[0], &result.links[0]);
        let queued = flow.delay.p95 - millis(20);
        assert!(queued < millis(target) * 5 / 4, "{queued} for {target} ms");
        assert!(queued > millis(target) * 3 / 4, "{queued} for {target} ms");
        assert_eq!(flow.retransmissions, 0);
        assert!(link.utilisation > 0.88, "{}", link.utilisation);
    }
}

/// Section 1: next to CUBIC, which fills the queue, it yields nearly everything.
#[test]
fn it_yields_to_cubic() {
    let beside = goodputs(&run_on_shared_link(vec![ledbat(LEDBAT), cubic()], 20, 80));
    let alone = goodputs(&run_on_shared_link(vec![cubic()], 20, 80));
    assert!(beside[0] < 1.0, "{beside:?}");
    assert!(beside[1] > 0.95 * alone[0], "{beside:?} for {alone:?}");
}

/// Sections 3.1 and 4.4: a flow that starts 30 seconds later takes the other's queue for propagation delay, unless the
/// other slows down periodically.
#[test]
fn periodic_slowdowns_remove_the_latecomer_advantage() {
    let shares = |config| {
        let late = GroupSpec { start: Time::ZERO + Duration::from_secs(30), ..ledbat(config) };
        goodputs(&run_on_shared_link(vec![ledbat(config), late], 150, 270))
    };
    let (with, without) = (shares(LEDBAT), shares(LedbatPlusPlusConfig { slowdowns: false, ..LEDBAT }));
    assert!(with[0] > 0.5 * with[1] && with[1] > 0.5 * with[0], "{with:?}");
    assert!(without[1] > 3.0 * without[0], "{without:?}");
}
