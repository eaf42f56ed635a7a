//! Prague behind its intended queue: the claims of RFC 9332 and of the Prague draft, with intervals.

use crate::test_network::{direction, group, millis, pipe, run, window};
use std::sync::Arc;
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::congestion::{CubicConfig, PragueConfig};
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::{ControllerConfig, EndsConfig};
use thalweg_queue::{DisciplineSpec, DualPi2Config, Limit};
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

const PRAGUE: PragueConfig = PragueConfig {
    initial_window: 10.0,
    initial_ssthresh: 1e9,
    gain: 1.0 / 16.0,
    virtual_rtt: Duration::from_millis(25),
    transition: 500,
    burst_delay: Duration::from_micros(250),
};

fn prague(config: PragueConfig) -> GroupSpec {
    group("prague", 1, window(ControllerConfig::from(config)), WorkloadSpec::Bulk)
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
    let mut transport = window(ControllerConfig::Cubic(config));
    if let EndpointConfigs::Window(EndsConfig { sender, .. }) = &mut transport.endpoint_configs {
        Arc::make_mut(sender).ecn = true;
    }
    group("cubic", 1, transport, WorkloadSpec::Bulk)
}

/// Returns the flow with additional delay each way.
fn with_extra_delay(group: GroupSpec, extra_delay: Duration) -> GroupSpec {
    let access_direction = |delay| direction(Rate::from_mbits_per_sec(10_000), delay, Limit::Unlimited);
    let access = AccessSpec {
        source_forward: access_direction(extra_delay),
        source_backward: access_direction(extra_delay),
        sink_forward: access_direction(Duration::ZERO),
        sink_backward: access_direction(Duration::ZERO),
        source_processing: Processing::default(),
        sink_processing: Processing::default(),
    };
    GroupSpec { access: Some(access), ..group }
}

/// Runs these flows over one link with DualPI2, counting the last two thirds of the time.
fn run_on_shared_link(
    mbits_per_sec: u64,
    one_way_delay: Duration,
    seconds: u64,
    groups: Vec<GroupSpec>,
) -> RunResult {
    let link = direction(Rate::from_mbits_per_sec(mbits_per_sec), one_way_delay, Limit::Packets(10_000));
    let queue = DisciplineSpec::new(Limit::Packets(10_000), DualPi2Config::default());
    let duration = Duration::from_secs(seconds);
    run(&Spec { groups, duration, warmup: duration / 3, ..pipe(DirectionSpec { queue, ..link }) })
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|flow| flow.goodput.as_f64()).collect()
}

/// RFC 9332, section 1.1, and RFC 9330, section 1: the low-latency queue stays below a millisecond, here at its 99th
/// percentile, with full link utilisation and no loss.
#[test]
fn the_low_latency_queue_stays_below_a_millisecond() {
    for rtt in [10, 20] {
        let delay = millis(rtt) / 2;
        let result = run_on_shared_link(100, delay, 24, vec![prague(PRAGUE), cubic()]);
        let [prague, cubic] = &result.flows[..] else { panic!("two flows") };
        let queueing_delay = prague.delay.p99 - delay;
        assert!(queueing_delay < millis(1), "{queueing_delay} at {rtt} ms");
        // The classic flow next to it waits for its target.
        assert!(cubic.delay.p50 - delay > millis(8), "{}", cubic.delay.p50);
        assert!(result.links[0].utilisation > 0.98, "{}", result.links[0].utilisation);
        assert_eq!((result.links[0].drops_early, result.links[0].drops_full), (0, 0));
    }
    let prague_only = run_on_shared_link(100, millis(10), 24, vec![prague(PRAGUE)]);
    assert!(prague_only.flows[0].delay.p99 - millis(10) < millis(2), "{}", prague_only.flows[0].delay.p99);
    assert!(prague_only.links[0].utilisation > 0.95, "{}", prague_only.links[0].utilisation);
}

/// RFC 9332, section 2.1: the coupling gives a scalable flow the window of a classic one on the same path. Round trips
/// differ by the classic queueing delay, hence rates do.
#[test]
fn prague_and_cubic_have_about_the_same_window() {
    let without_rtt_independence = PragueConfig { virtual_rtt: Duration::ZERO, ..PRAGUE };
    for (mbits_per_sec, rtt) in [(40, 20), (40, 10), (100, 20), (30, 30)] {
        let delay = millis(rtt) / 2;
        let result =
            run_on_shared_link(mbits_per_sec, delay, 45, vec![prague(without_rtt_independence), cubic()]);
        let windows: Vec<f64> = result
            .flows
            .iter()
            .map(|flow| flow.goodput.as_f64() * (flow.delay.mean + delay).as_secs_f64())
            .collect();
        let ratio = windows[0] / windows[1];
        assert!((0.7..1.4).contains(&ratio), "{ratio} at {mbits_per_sec} Mbit/s and {rtt} ms");
    }
}

/// Five flows of each kind share like one of each.
#[test]
fn prague_and_cubic_do_not_starve_each_other() {
    for flow_counts in [[1, 5], [5, 1], [5, 5]] {
        let groups = [prague(PRAGUE), cubic()]
            .into_iter()
            .zip(flow_counts)
            .map(|(group, count)| GroupSpec { count, ..group });
        let result = run_on_shared_link(50, millis(10), 30, groups.collect());
        let goodputs = goodputs(&result);
        let min = goodputs.iter().copied().fold(f64::INFINITY, f64::min);
        let fair_rate_bps = 50e6 / f64::from(flow_counts[0] + flow_counts[1]);
        assert!(min > 0.4 * fair_rate_bps, "{min} of {fair_rate_bps} with {flow_counts:?}");
    }
}

/// The draft, section 2.4.4: rates of flows with round-trip times up to the virtual one converge; those with longer
/// ones are lower by that ratio. Without it, rates are about inversely proportional to round-trip times.
#[test]
fn shares_of_short_round_trips_are_those_of_the_virtual_one() {
    let ratio = |config: PragueConfig, short_rtt_ms: u64, long_rtt_ms: u64| {
        let far_group = with_extra_delay(prague(config), millis(long_rtt_ms - short_rtt_ms) / 2);
        let result = run_on_shared_link(50, millis(short_rtt_ms) / 2, 90, vec![prague(config), far_group]);
        let goodputs = goodputs(&result);
        goodputs[0] / goodputs[1]
    };
    let without_independence = PragueConfig { virtual_rtt: Duration::ZERO, ..PRAGUE };
    for (short_rtt_ms, long_rtt_ms, expected_ratio) in [(5, 25, 1.0), (5, 100, 4.0)] {
        let (ratio_with, ratio_without) = (
            ratio(PRAGUE, short_rtt_ms, long_rtt_ms),
            ratio(without_independence, short_rtt_ms, long_rtt_ms),
        );
        assert!(
            (0.6 * expected_ratio..1.7 * expected_ratio).contains(&ratio_with),
            "{ratio_with} at {short_rtt_ms} and {long_rtt_ms} ms"
        );
        assert!(
            ratio_without > 2.0 * ratio_with,
            "{ratio_without} for {ratio_with} at {short_rtt_ms} and {long_rtt_ms} ms"
        );
    }
}
