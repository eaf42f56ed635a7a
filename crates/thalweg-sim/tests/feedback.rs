//! Routers that tell sources, end to end and under the verifier's eyes.

mod net;

use net::{bytes, chain, direction, group, millis, run, window};
use thalweg_proto::congestion::ControllerSpec;
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::feedback::{Audience, FeedbackSpec, PolicySpec, SeifPolicy, SeifSpec};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::RunResult;
use thalweg_sim::spec::*;

/// A fast link to a router, and from there one of 1 Mbit/s whose queue of ten packets has this policy.
fn dumbbell(policy: PolicySpec, groups: Vec<GroupSpec>) -> Spec {
    let fast = direction(Rate::from_mbits_per_sec(10), millis(1), Limit::Packets(1000));
    let slow = DirectionSpec {
        queue: DisciplineSpec::RandomDrop { limit: Limit::Bytes(10_000) },
        feedback: Some(FeedbackSpec { audience: Audience::All, ..FeedbackSpec::new(policy) }),
        ..direction(Rate::from_mbits_per_sec(1), millis(10), Limit::Unlimited)
    };
    let back = direction(Rate::from_mbits_per_sec(1), millis(10), Limit::Packets(1000));
    let spec = chain(vec![(fast.clone(), fast), (slow, back)]);
    Spec { groups, duration: Duration::from_secs(20), ..spec }
}

fn greedy(name: &str) -> GroupSpec {
    let controller = ControllerSpec::NewReno { initial_window: 2.0, initial_threshold: 1e9 };
    group(name, 2, window(controller), WorkloadSpec::Bulk)
}

fn seif(policy: SeifPolicy) -> PolicySpec {
    PolicySpec::Seif(SeifSpec { policy, ..SeifSpec::default() })
}

fn messages(result: &RunResult) -> u64 {
    result.links.iter().map(|link| link.feedback).sum()
}

/// Sources that do not listen overflow the queue for ever; they are told so, and what they are told takes room on the
/// way back.
#[test]
fn drops_are_told_to_their_owners() {
    let result = run(&dumbbell(seif(SeifPolicy::Reacting), vec![greedy("a"), greedy("b")]));
    let slow = &result.links[2];
    assert!(slow.drops_full > 10, "{slow:?}");
    // One to each owner, and warnings to the other; not more than that.
    assert!(slow.feedback >= slow.drops_full && slow.feedback <= 2 * slow.drops_full, "{slow:?}");
    assert_eq!(slow.feedback_bytes.get(), slow.feedback * 50);
    // The messages are all of the traffic back over the fast link that is no acknowledgement.
    let (fast, far) = (&result.links[1], &result.links[3]);
    assert!(fast.packets >= far.packets + slow.feedback - 2, "{fast:?} {far:?}");
    assert_eq!(messages(&result), slow.feedback);
}

/// The queue's threshold is at 8000 bytes: nine packets. Each source is warned once before the queue has fallen below.
#[test]
fn a_threshold_warns_all_sources_before_the_queue_overflows() {
    let filtered = run(&dumbbell(seif(SeifPolicy::Static), vec![greedy("a"), greedy("b")]));
    let spec = SeifSpec { filter: false, ..SeifSpec::default() };
    let unfiltered = run(&dumbbell(PolicySpec::Seif(spec), vec![greedy("a"), greedy("b")]));
    assert!(messages(&filtered) > 0);
    assert!(messages(&unfiltered) > messages(&filtered), "{} {}", messages(&unfiltered), messages(&filtered));
}

/// With a link of its own each source is behind one hop more: a reach of one tells nobody, a reach of two everybody.
#[test]
fn only_sources_within_reach_are_told() {
    let told = |reach| {
        let spec = SeifSpec { reach: Some(reach), ..SeifSpec::default() };
        let line = direction(Rate::from_mbits_per_sec(10), millis(1), Limit::Unlimited);
        let lines = || line.clone();
        let access = AccessSpec {
            source_forward: lines(),
            source_backward: lines(),
            sink_forward: lines(),
            sink_backward: lines(),
            source_processing: Processing::default(),
            sink_processing: Processing::default(),
        };
        let flow = GroupSpec { access: Some(access), count: 2, ..greedy("a") };
        messages(&run(&dumbbell(PolicySpec::Seif(spec), vec![flow])))
    };
    assert_eq!(told(1), 0);
    assert!(told(2) > 0);
}

/// Answers come from the sink, so that it is the sink that the queue of the way back tells.
#[test]
fn answers_are_told_to_the_sink() {
    let response = SizeSpec::Fixed(bytes(200_000));
    let workload = WorkloadSpec::RequestResponse { request: bytes(100), response, think: Duration::ZERO };
    let mut spec = dumbbell(seif(SeifPolicy::Static), vec![GroupSpec { workload, ..greedy("a") }]);
    let link = &mut spec.links[1];
    core::mem::swap(&mut link.forward, &mut link.backward);
    let result = run(&spec);
    assert_eq!(result.links[2].feedback, 0);
    assert!(result.links[3].feedback > 0);
}

/// The same scenario and seed, the same run; and one that is not advanced in one go.
#[test]
fn feedback_is_deterministic() {
    let spec = dumbbell(seif(SeifPolicy::Static), vec![GroupSpec { count: 5, ..greedy("a") }]);
    let (first, second) = (run(&spec), run(&spec));
    assert_eq!(first, second);
    let other = run(&dumbbell(seif(SeifPolicy::Reacting), vec![GroupSpec { count: 5, ..greedy("a") }]));
    assert_ne!(first.fingerprint, other.fingerprint);
}
