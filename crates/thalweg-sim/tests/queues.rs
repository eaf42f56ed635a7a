//! Queues against queueing theory: random arrivals of datagrams at a link of 8 Mbit/s, which takes a microsecond a byte.

mod net;

use net::{bytes, datagrams, direction, group, pipe, run};
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::spec::*;
use thalweg_sim::theory;

const SECONDS: u64 = 300;

fn run_at(workload: WorkloadSpec, limit: Limit) -> RunResult {
    let flow = group("arrivals", 1, datagrams(), workload);
    let link = direction(Rate::from_mbits_per_sec(8), Duration::ZERO, limit);
    let duration = Duration::from_secs(SECONDS);
    run(&Spec { groups: vec![flow], duration, warmup: Duration::from_secs(1), ..pipe(link) })
}

/// The mean gap for this load, in parts of a hundred: packets take 1 ms on average.
fn gap(load: u64) -> Duration {
    Duration::from_nanos(1_000_000 * 100 / load)
}

/// Poisson arrivals, written down beforehand so that all are of one connection.
fn arrivals(load: u64, exponential: bool) -> RunResult {
    let mut stream = Stream::new(5, "arrivals", load);
    let (mut writes, mut at) = (Vec::new(), Duration::ZERO);
    while at < Duration::from_secs(SECONDS) {
        at += stream.exponential_duration(gap(load));
        let size = if exponential { (1000.0 * stream.exponential()) as u64 } else { 1000 };
        writes.push((at, bytes(size.max(1))));
    }
    run_at(WorkloadSpec::Trace(writes.into()), Limit::Unlimited)
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} instead of {expected}");
}

/// M/D/1: the mean wait is s rho / (2 (1 - rho)) with a service time s of 1 ms (Pollaczek and Khinchine), and by Little's
/// law the mean queue is the wait times the rate of arrivals.
#[test]
fn constant_sizes_wait_as_in_m_d_1() {
    for (load, tolerance) in [(30, 0.03), (50, 0.03), (70, 0.03), (90, 0.08)] {
        let result = arrivals(load, false);
        let rho = load as f64 / 100.0;
        let wait = theory::mg1_wait(rho, 0.0).unwrap();
        near(result.links[0].queue.mean_packets, wait * rho, tolerance);
        near(result.links[0].utilisation, rho, 0.02);
        // One-way delays: the wait and the service.
        near(result.flows[0].delay.mean.as_millis_f64() - 1.0, wait, tolerance);
    }
}

/// M/M/1: sizes are exponential, and the mean wait is s rho / (1 - rho), twice that of M/D/1.
#[test]
fn exponential_sizes_wait_as_in_m_m_1() {
    for (load, tolerance) in [(30, 0.04), (50, 0.04), (70, 0.06)] {
        let result = arrivals(load, true);
        let rho = load as f64 / 100.0;
        let wait = theory::mg1_wait(rho, 1.0).unwrap();
        near(result.links[0].queue.mean_packets, wait * rho, tolerance);
        near(result.flows[0].delay.mean.as_millis_f64() - 1.0, wait, tolerance);
    }
}

/// M/M/1/K: with room for K packets, the one in service among them, the share (1 - rho) rho^K / (1 - rho^(K+1)) of the
/// arrivals finds no room.
#[test]
fn a_finite_queue_drops_as_in_m_m_1_k() {
    for (load, waiting) in [(70u64, 4u64), (100, 4), (150, 9)] {
        let size = SizeSpec::Exponential { mean: bytes(1000) };
        let result = run_at(WorkloadSpec::Poisson { gap: gap(load), size }, Limit::Packets(waiting));
        let (rho, k) = (load as f64 / 100.0, waiting as f64 + 1.0);
        let blocked = theory::mm1k_blocked(rho, k).unwrap();
        let link = &result.links[0];
        let offered = (link.packets + link.drops_full) as f64;
        near(link.drops_full as f64 / offered, blocked, 0.05);
        assert_eq!(link.queue.max_packets, waiting);
    }
}
