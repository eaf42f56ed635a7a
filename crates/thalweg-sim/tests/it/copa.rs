//! Copa on simulated paths, compared with the paper's claims on equilibrium and competition (Arun and Balakrishnan
//! 2018).

use crate::test_network::{direction, group, millis, pipe, run, window};
use thalweg_proto::congestion::{CopaConfig, CubicConfig};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

const COPA: CopaConfig = CopaConfig {
    initial_window: 10.0,
    delta: 0.5,
    competitive_mode: true,
    min_rtt_lifetime: Duration::from_secs(10),
};

fn copa(count: u32, config: CopaConfig) -> GroupSpec {
    let flow = group("copa", 1, window(ControllerConfig::from(config)), WorkloadSpec::Bulk);
    GroupSpec { count, ..flow }
}

fn cubic(count: u32) -> GroupSpec {
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
    let flow = group("cubic", 1, window(ControllerConfig::Cubic(config)), WorkloadSpec::Bulk);
    GroupSpec { count, ..flow }
}

/// Runs these flows over one link, without counting the first third of the time.
fn run_on_shared_link(
    mbits_per_sec: u64,
    delay: u64,
    packets: u64,
    seconds: u64,
    groups: Vec<GroupSpec>,
) -> RunResult {
    let link = direction(Rate::from_mbits_per_sec(mbits_per_sec), millis(delay), Limit::Packets(packets));
    let duration = Duration::from_secs(seconds);
    run(&Spec { groups, duration, warmup: duration / 3, ..pipe(link) })
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|flow| flow.goodput.as_f64() / 1e6).collect()
}

fn min_over_max(goodputs: &[f64]) -> f64 {
    let min = goodputs.iter().copied().fold(f64::INFINITY, f64::min);
    min / goodputs.iter().copied().fold(0.0, f64::max)
}

const DEFAULT: CopaConfig = CopaConfig { competitive_mode: false, ..COPA };

/// Section 3: in default mode the queue of senders with equal round trips oscillates between zero and 2.5 / delta
/// packets per sender, 1.25 / delta on average; all have the same rate, and the link is used.
#[test]
fn the_queue_is_that_of_the_papers_equilibrium() {
    for (delta, counts) in [(0.5, &[1, 4, 16][..]), (0.1, &[1, 4])] {
        for count in counts {
            for (mbits_per_sec, delay) in [(50, 20), (60, 50)] {
                let config = CopaConfig { delta, ..DEFAULT };
                let result = run_on_shared_link(mbits_per_sec, delay, 5000, 30, vec![copa(*count, config)]);
                let link = &result.links[0];
                let what = format!("{count} of {delta} at {mbits_per_sec} Mbit/s and {delay} ms: {link:?}");
                let unit = f64::from(*count) / delta;
                let mean = link.queue.mean_packets;
                // Packets in propagation count here, but not in the paper.
                assert!((mean - 1.25 * unit).abs() < 0.15 * unit + 0.6, "{mean} for {}: {what}", 1.25 * unit);
                assert!((link.queue.max_packets as f64) < 2.5 * unit * 1.15 + 1.0, "{what}");
                assert!(link.utilisation > 0.99, "{what}");
                let goodputs = goodputs(&result);
                assert!(min_over_max(&goodputs) > 0.85, "{goodputs:?}: {what}");
            }
        }
    }
}

/// Section 2.1, convergence: a flow that starts ten seconds later has its share within ten seconds.
#[test]
fn a_new_flow_converges_to_its_share_within_ten_seconds() {
    let late = GroupSpec { start: Time::ZERO + Duration::from_secs(10), ..copa(1, COPA) };
    let link = direction(Rate::from_mbits_per_sec(50), millis(20), Limit::Packets(500));
    let groups = vec![copa(1, COPA), late];
    let (duration, warmup) = (Duration::from_secs(24), Duration::from_secs(20));
    let result = run(&Spec { groups, duration, warmup, ..pipe(link) });
    let goodputs = goodputs(&result);
    assert!(min_over_max(&goodputs) > 0.8, "{goodputs:?}");
}

/// Section 2.2: next to CUBIC, which fills the queue, a sender in competitive mode holds a share, and one in default
/// mode starves. Once alone, it leaves the mode and drains the queue.
#[test]
fn competitive_mode_holds_a_share_beside_cubic() {
    // One and two bandwidth-delay products.
    for buffer in [250, 500] {
        let beside = |config| {
            let goodputs = goodputs(&run_on_shared_link(50, 20, buffer, 45, vec![copa(1, config), cubic(1)]));
            goodputs[0] / (goodputs[0] + goodputs[1])
        };
        let (competing, in_default_mode) = (beside(COPA), beside(DEFAULT));
        assert!((0.2..0.65).contains(&competing), "{competing} with {buffer} packets");
        assert!(in_default_mode < 0.1, "{in_default_mode} with {buffer} packets");
    }
    let stops = GroupSpec { stop: Some(Time::ZERO + Duration::from_secs(20)), ..cubic(1) };
    let link = direction(Rate::from_mbits_per_sec(50), millis(20), Limit::Packets(500));
    let groups = vec![copa(1, COPA), stops];
    let (duration, warmup) = (Duration::from_secs(40), Duration::from_secs(30));
    let result = run(&Spec { groups, duration, warmup, ..pipe(link) });
    assert!(result.links[0].queue.mean_packets < 5.0, "{:?}", result.links[0].queue);
    assert!(result.links[0].utilisation > 0.98, "{:?}", result.links[0]);
}

/// Section 2.2: a lone sender does not take its own queue of few packets for a competitor's, with any initial window.
#[test]
fn a_lone_sender_does_not_compete_with_itself() {
    for (mbits_per_sec, delay, initial_window) in [(10, 20, 10.0), (10, 20, 5.0), (5, 10, 2.0), (10, 5, 10.0)]
    {
        let config = CopaConfig { initial_window, ..COPA };
        let link = &run_on_shared_link(mbits_per_sec, delay, 500, 45, vec![copa(1, config)]).links[0];
        let what = format!("{initial_window} at {mbits_per_sec} Mbit/s and {delay} ms: {:?}", link.queue);
        assert!(link.queue.mean_packets < 4.0, "{what}");
    }
}

/// Section 5.5: 1 % of random loss costs 1 % of throughput, where CUBIC loses most of its throughput.
#[test]
fn random_losses_do_not_reduce_the_rate() {
    let lossy = |group| {
        let link = crate::test_network::with_random_loss(
            direction(Rate::from_mbits_per_sec(50), millis(20), Limit::Packets(500)),
            0.01,
        );
        let duration = Duration::from_secs(30);
        let result = run(&Spec { groups: vec![group], duration, warmup: duration / 3, ..pipe(link) });
        result.flows[0].goodput.as_f64() / 48e6
    };
    let (copa, cubic) = (lossy(copa(1, COPA)), lossy(cubic(1)));
    assert!(copa > 0.9, "{copa}");
    assert!(cubic < 0.4, "{cubic}");
}
