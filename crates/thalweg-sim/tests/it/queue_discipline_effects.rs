//! Effects of queueing disciplines on a network's traffic: shares and delays with known results.

use crate::test_network::{bytes, datagrams, direction, group, pipe, run, window};
use thalweg_catalog::DISCIPLINES;
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::feedback::{FeedbackSpec, PolicySpec, QuenchSpec, Recipients};
use thalweg_queue::{DisciplineSpec, FairQueueingConfig, Limit};
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

const LIMIT: Limit = Limit::Packets(50);

fn fair_queueing() -> DisciplineSpec {
    DisciplineSpec::new(LIMIT, FairQueueingConfig::default())
}

fn constant_rate(kbits: u64, packet: u64) -> WorkloadSpec {
    let rate = Rate::from_bits_per_sec(kbits * 1000);
    WorkloadSpec::ConstantRate { rate, packet: bytes(packet) }
}

/// Runs over a link of 8 Mbit/s and 10 ms with this queue, for 20 s including a warm-up of 5 s.
fn run_on_shared_link(queue: DisciplineSpec, groups: Vec<GroupSpec>) -> RunResult {
    let link =
        DirectionSpec { queue, ..direction(Rate::from_mbits_per_sec(8), Duration::from_millis(10), LIMIT) };
    run(&Spec { groups, duration: Duration::from_secs(20), warmup: Duration::from_secs(5), ..pipe(link) })
}

fn goodput(result: &RunResult, group: u32) -> f64 {
    let flows = result.flows.iter().filter(|flow| flow.group == group);
    flows.map(|flow| flow.goodput.as_f64()).sum::<f64>() / 1e6
}

fn new_reno() -> ControllerConfig {
    ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 1.0,
        initial_ssthresh: f64::INFINITY,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// Two window-controlled flows and an unresponsive source of 20 Mbit/s.
fn greedy_groups() -> Vec<GroupSpec> {
    vec![
        GroupSpec { count: 2, ..group("window", 1, window(new_reno()), WorkloadSpec::Bulk) },
        group("flood", 1, datagrams(), constant_rate(20_000, 1000)),
    ]
}

/// A source of 400 kbit/s in small packets next to two flows that fill the queue.
fn modest_groups() -> Vec<GroupSpec> {
    vec![
        GroupSpec { count: 2, ..group("window", 1, window(new_reno()), WorkloadSpec::Bulk) },
        group("voice", 1, datagrams(), constant_rate(400, 200)),
    ]
}

#[test]
fn fcfs_gives_the_link_to_the_heaviest_sender() {
    // The unfairness that the disciplines of the other tests prevent.
    let result = run_on_shared_link(DisciplineSpec::fcfs(LIMIT), greedy_groups());
    assert!(goodput(&result, 0) < 0.4, "{}", goodput(&result, 0));
}

#[test]
fn fair_queueing_gives_everyone_a_third() {
    // 8/3 Mbit/s for each of the three; windows have headers of 4 %, and halve after a loss.
    let result = run_on_shared_link(fair_queueing(), greedy_groups());
    assert!((goodput(&result, 1) - 2.67).abs() < 0.15, "{}", goodput(&result, 1));
    assert!((goodput(&result, 0) - 5.33 * 0.96).abs() < 0.25, "{}", goodput(&result, 0));
}

#[test]
fn fair_queueing_serves_low_rate_flows_at_once() {
    // 200 bytes that take 0.2 ms wait for at most one packet of 1000 bytes: 10 ms, 0.2 ms and 1 ms. With FCFS they wait
    // for the queue of up to 50.
    let result = run_on_shared_link(fair_queueing(), modest_groups());
    assert_eq!(result.flows[2].counts.drops, 0);
    assert!(result.flows[2].delay.max < Duration::from_micros(11_250), "{:?}", result.flows[2].delay);
    let result = run_on_shared_link(DisciplineSpec::fcfs(LIMIT), modest_groups());
    assert!(result.flows[2].delay.mean > Duration::from_millis(25), "{:?}", result.flows[2].delay);
}

/// Returns every discipline, with default parameters.
fn all_disciplines(limit: Limit) -> impl Iterator<Item = DisciplineSpec> {
    DISCIPLINES.iter().map(move |description| description.default_spec(limit))
}

#[test]
fn every_discipline_keeps_the_rules_under_overload() {
    // Each replayed by the verifier (in `run`): window flows alone, which make CoDel drop from the head, and with a
    // flood; with and without a feedback policy.
    let windows = || GroupSpec { count: 4, ..group("window", 1, window(new_reno()), WorkloadSpec::Bulk) };
    let flood = || group("flood", 1, datagrams(), constant_rate(20_000, 1000));
    for queue in all_disciplines(Limit::Packets(100)) {
        for groups in [vec![windows()], vec![windows(), flood()]] {
            for watched in [false, true] {
                let link = direction(Rate::from_mbits_per_sec(10), Duration::from_millis(10), LIMIT);
                let policy = PolicySpec::SourceQuench(QuenchSpec::default());
                let feedback_spec = FeedbackSpec { policy, message_bytes: 28, recipients: Recipients::All };
                let feedback = watched.then_some(feedback_spec);
                let link = DirectionSpec { queue: queue.clone(), feedback, ..link };
                let groups = groups.clone();
                let result = run(&Spec { groups, duration: Duration::from_secs(10), ..pipe(link) });
                let dropped = result.links[0].drops_full + result.links[0].drops_early;
                assert!(dropped > 20, "{queue:?}: {dropped} dropped");
                assert_eq!(result.links[0].drops_early > 0, queue.drops_early(), "{queue:?}");
            }
        }
    }
}
