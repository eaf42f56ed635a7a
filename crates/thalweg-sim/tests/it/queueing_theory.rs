//! Queues compared with queueing theory: random arrivals of datagrams at a link of 8 Mbit/s, which takes a microsecond
//! a byte.

use crate::test_network::{bytes, datagrams, direction, group, pipe, run};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::closed_formulas;
use thalweg_sim::simulation_spec::*;

const SECONDS: u64 = 300;

fn run_at(workload: WorkloadSpec, limit: Limit) -> RunResult {
    let flow = group("arrivals", 1, datagrams(), workload);
    let link = direction(Rate::from_mbits_per_sec(8), Duration::ZERO, limit);
    let duration = Duration::from_secs(SECONDS);
    run(&Spec { groups: vec![flow], duration, warmup: Duration::from_secs(1), ..pipe(link) })
}

/// Returns the mean gap for this load in percent; packets take 1 ms on average.
fn gap(load: u64) -> Duration {
    Duration::from_nanos(1_000_000 * 100 / load)
}

/// Poisson arrivals as a recorded trace, for a single connection.
fn arrivals(load: u64, exponential: bool) -> RunResult {
    let mut stream = RandomStream::new(5, "arrivals", load);
    let (mut writes, mut at) = (Vec::new(), Duration::ZERO);
    while at < Duration::from_secs(SECONDS) {
        at += stream.exponential_duration(gap(load));
        let size = if exponential { (1000.0 * stream.exponential()) as u64 } else { 1000 };
        writes.push((at, bytes(size.max(1))));
    }
    run_at(WorkloadSpec::Trace(writes.into()), Limit::Unlimited)
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} instead of {expected}");
}

/// M/D/1: the mean wait is s rho / (2 (1 - rho)) with a service time s of 1 ms (Pollaczek and Khinchine), and by
/// Little's law the mean queue is the wait times the arrival rate.
#[test]
fn constant_sizes_wait_as_in_m_d_1() {
    for (load, tolerance) in [(30, 0.03), (50, 0.03), (70, 0.03), (90, 0.08)] {
        let result = arrivals(load, false);
        let rho = load as f64 / 100.0;
        let wait = closed_formulas::mg1_wait(rho, 0.0).unwrap();
        assert_near(result.links[0].queue.mean_packets, wait * rho, tolerance);
        assert_near(result.links[0].utilisation, rho, 0.02);
        // One-way delays: the wait and the service.
        assert_near(result.flows[0].delay.mean.as_millis_f64() - 1.0, wait, tolerance);
    }
}

/// M/M/1: sizes are exponential, and the mean wait is s rho / (1 - rho), twice that of M/D/1.
#[test]
fn exponential_sizes_wait_as_in_m_m_1() {
    for (load, tolerance) in [(30, 0.04), (50, 0.04), (70, 0.06)] {
        let result = arrivals(load, true);
        let rho = load as f64 / 100.0;
        let wait = closed_formulas::mg1_wait(rho, 1.0).unwrap();
        assert_near(result.links[0].queue.mean_packets, wait * rho, tolerance);
        assert_near(result.flows[0].delay.mean.as_millis_f64() - 1.0, wait, tolerance);
    }
}

/// M/M/1/K: with room for K packets, the one in service included, the share (1 - rho) rho^K / (1 - rho^(K+1)) of the
/// arrivals is blocked.
#[test]
fn a_finite_queue_drops_as_in_m_m_1_k() {
    for (load, waiting) in [(70u64, 4u64), (100, 4), (150, 9)] {
        let size = SizeSpec::Exponential { mean: bytes(1000) };
        let result = run_at(WorkloadSpec::Poisson { gap: gap(load), size }, Limit::Packets(waiting));
        let (rho, k) = (load as f64 / 100.0, waiting as f64 + 1.0);
        let blocked = closed_formulas::mm1k_blocked(rho, k).unwrap();
        let link = &result.links[0];
        let offered = (link.packets + link.drops_full) as f64;
        assert_near(link.drops_full as f64 / offered, blocked, 0.05);
        assert_eq!(link.queue.max_packets, waiting);
    }
}

/// Datagrams of 1000 bytes at twice the link rate, for a second: the queue holds ten of them, from 500 ms on three, and
/// from 750 ms on six. The excess seven at 500 ms are the last ones, dropped at once.
#[test]
fn a_queue_that_shrinks_drops_its_tail_at_once() {
    let rate = Rate::from_mbits_per_sec(16);
    let flow = group("twice", 1, datagrams(), WorkloadSpec::ConstantRate { rate, packet: bytes(1000) });
    let mut link = direction(Rate::from_mbits_per_sec(8), Duration::ZERO, Limit::Packets(10));
    let at = |millis| thalweg_proto::units::Time::ZERO + Duration::from_millis(millis);
    let resize = |millis, packets| Change { queue: Some(Limit::Packets(packets)), ..Change::at(at(millis)) };
    let spec = |link| Spec { groups: vec![flow.clone()], duration: Duration::from_secs(1), ..pipe(link) };
    let constant = run(&spec(link.clone()));
    link.schedule = vec![resize(500, 3), resize(750, 6)];
    let changed = run(&spec(link));
    // Of 2000 packets the link sends 1000; ten wait at the end, or six.
    let lost = |result: &RunResult| result.links[0].drops_full;
    assert_eq!(lost(&changed), lost(&constant) + 4);
    assert_eq!(changed.links[0].queue.max_packets, 10);
    // From 500 to 750 ms it holds three, from then on six: mean (10 / 2 + 3 / 4 + 6 / 4), except for the filling.
    assert_near(constant.links[0].queue.mean_packets, 10.0, 0.05);
    assert_near(changed.links[0].queue.mean_packets, 7.25, 0.05);
}

/// A link whose jitter changes from none to 0 to 20 ms: delays equal the propagation delay first, and are then 10 ms
/// longer on average.
#[test]
fn jitter_changes_by_the_schedule() {
    let rate = Rate::from_mbits_per_sec(1);
    let flow = group("steady", 1, datagrams(), WorkloadSpec::ConstantRate { rate, packet: bytes(125) });
    let mut link = direction(Rate::from_mbits_per_sec(100), Duration::from_millis(5), Limit::Unlimited);
    let at = thalweg_proto::units::Time::ZERO + Duration::from_secs(10);
    let spec = |link, warmup, duration| Spec {
        groups: vec![flow.clone()],
        duration: Duration::from_secs(duration),
        warmup: Duration::from_secs(warmup),
        ..pipe(link)
    };
    let varied = thalweg_queue::random_delay::VariationSpec {
        keeps_order: false,
        ..thalweg_queue::random_delay::VariationSpec::new(thalweg_queue::random_delay::TimeSpec::Uniform {
            min: Duration::ZERO,
            max: Duration::from_millis(20),
        })
    };
    let jitter = JitterChange { span: Duration::ZERO, variation: Some(std::sync::Arc::new(varied)) };
    link.schedule = vec![Change { jitter: Some(jitter), ..Change::at(at) }];
    let mean = |result: &RunResult| result.flows[0].delay.mean.as_millis_f64();
    assert_near(mean(&run(&spec(link.clone(), 0, 10))), 5.01, 0.001);
    assert_near(mean(&run(&spec(link.clone(), 10, 40))), 15.01, 0.02);
    // And back to none.
    let none = Change { jitter: Some(JitterChange::default()), ..Change::at(at + Duration::from_secs(10)) };
    link.schedule.push(none);
    assert_near(mean(&run(&spec(link, 21, 40))), 5.01, 0.001);
}
