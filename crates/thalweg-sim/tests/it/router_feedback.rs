//! Routers' feedback to sources, end to end, with the verifier.

use crate::test_network::{bytes, chain, direction, group, millis, run, window};
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::feedback::{
    DecBitSpec, FeedbackSpec, PolicySpec, QuenchSpec, RationsSpec, Recipients, SeifPolicy, SeifSpec,
};
use thalweg_queue::{DisciplineSpec, Limit, RandomDropConfig};
use thalweg_sim::packet_trace::{Record, Step, Tracer};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::verify::Verifier;
use thalweg_sim::{RunResult, Simulation, Status};

/// A fast link to a router, followed by one of 1 Mbit/s whose queue of ten packets has this policy.
fn dumbbell(policy: PolicySpec, groups: Vec<GroupSpec>) -> Spec {
    let fast = direction(Rate::from_mbits_per_sec(10), millis(1), Limit::Packets(1000));
    let slow = DirectionSpec {
        queue: DisciplineSpec::new(Limit::Bytes(10_000), RandomDropConfig),
        feedback: Some(FeedbackSpec { recipients: Recipients::All, ..FeedbackSpec::new(policy) }),
        ..direction(Rate::from_mbits_per_sec(1), millis(10), Limit::Unlimited)
    };
    let back = direction(Rate::from_mbits_per_sec(1), millis(10), Limit::Packets(1000));
    let spec = chain(vec![(fast.clone(), fast), (slow, back)]);
    Spec { groups, duration: Duration::from_secs(20), ..spec }
}

fn greedy_group(name: &str) -> GroupSpec {
    let controller = ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 2.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    group(name, 2, window(controller), WorkloadSpec::Bulk)
}

fn seif(policy: SeifPolicy) -> PolicySpec {
    PolicySpec::Seif(SeifSpec { policy, ..SeifSpec::default() })
}

fn feedback_messages(result: &RunResult) -> u64 {
    result.links.iter().map(|link| link.feedback).sum()
}

/// Sources that ignore feedback keep overflowing the queue; the messages to them use capacity on the reverse path.
#[test]
fn sources_are_notified_of_their_drops() {
    let result = run(&dumbbell(seif(SeifPolicy::Reacting), vec![greedy_group("a"), greedy_group("b")]));
    let slow = &result.links[2];
    assert!(slow.drops_full > 10, "{slow:?}");
    // One to the owner of each dropped packet, and warnings to the others, but no more.
    assert!(slow.feedback >= slow.drops_full && slow.feedback <= 2 * slow.drops_full, "{slow:?}");
    assert_eq!(slow.feedback_bytes.get(), slow.feedback * 50);
    // Besides acknowledgements, the reverse direction of the fast link carries only messages.
    let (fast, far) = (&result.links[1], &result.links[3]);
    assert!(fast.packets >= far.packets + slow.feedback - 2, "{fast:?} {far:?}");
    assert_eq!(feedback_messages(&result), slow.feedback);
}

/// Messages to flows that ignore them use capacity on the reverse path and change nothing else: losses remain losses,
/// or the sources would never slow down.
#[test]
fn flows_that_ignore_feedback_are_still_controlled_by_drops() {
    let notified =
        dumbbell(seif(SeifPolicy::Static), vec![greedy_group("a"), greedy_group("b"), greedy_group("c")]);
    let mut unnotified = notified.clone();
    unnotified.links[1].forward.feedback = None;
    let (notified, unnotified) = (run(&notified), run(&unnotified));
    let drops = |result: &RunResult| result.links[2].drops_full;
    assert!(
        feedback_messages(&notified) > 0 && drops(&notified) < 2 * drops(&unnotified),
        "{} {}",
        drops(&notified),
        drops(&unnotified)
    );
}

/// The queue's threshold is at 8000 bytes: nine packets. Each source is warned once before the queue has fallen below.
#[test]
fn a_threshold_warns_all_sources_before_the_queue_overflows() {
    let filtered = run(&dumbbell(seif(SeifPolicy::Static), vec![greedy_group("a"), greedy_group("b")]));
    let spec = SeifSpec { filter: false, ..SeifSpec::default() };
    let unfiltered = run(&dumbbell(PolicySpec::Seif(spec), vec![greedy_group("a"), greedy_group("b")]));
    assert!(feedback_messages(&filtered) > 0);
    assert!(
        feedback_messages(&unfiltered) > feedback_messages(&filtered),
        "{} {}",
        feedback_messages(&unfiltered),
        feedback_messages(&filtered)
    );
}

/// With access links each source is one hop farther: a reach of one notifies no source, a reach of two every source.
#[test]
fn only_sources_within_reach_are_notified() {
    let notified = |reach| {
        let spec = SeifSpec { max_links: Some(reach), ..SeifSpec::default() };
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
        let flow = GroupSpec { access: Some(access), count: 2, ..greedy_group("a") };
        feedback_messages(&run(&dumbbell(PolicySpec::Seif(spec), vec![flow])))
    };
    assert_eq!(notified(1), 0);
    assert!(notified(2) > 0);
}

/// The sink sends the responses: the queue of the reverse path notifies the sink.
#[test]
fn feedback_on_responses_reaches_the_sink() {
    let response = SizeSpec::Fixed(bytes(200_000));
    let workload = WorkloadSpec::RequestResponse { request: bytes(100), response, think: Duration::ZERO };
    let mut spec = dumbbell(seif(SeifPolicy::Static), vec![GroupSpec { workload, ..greedy_group("a") }]);
    let link = &mut spec.links[1];
    core::mem::swap(&mut link.forward, &mut link.backward);
    let result = run(&spec);
    assert_eq!(result.links[2].feedback, 0);
    assert!(result.links[3].feedback > 0);
}

/// The same scenario and seed give the same run, also when advanced in steps.
#[test]
fn feedback_is_deterministic() {
    let spec = dumbbell(seif(SeifPolicy::Static), vec![GroupSpec { count: 5, ..greedy_group("a") }]);
    let (first, second) = (run(&spec), run(&spec));
    assert_eq!(first, second);
    let other = run(&dumbbell(seif(SeifPolicy::Reacting), vec![GroupSpec { count: 5, ..greedy_group("a") }]));
    assert_ne!(first.fingerprint, other.fingerprint);
}

/// A scheme that handles feedback, after one that does not: only the former is notified.
fn feedback_aware_group(controller: ControllerConfig) -> GroupSpec {
    group("listens", 2, window(controller), WorkloadSpec::Bulk)
}

fn to_listeners(policy: PolicySpec, groups: Vec<GroupSpec>) -> RunResult {
    let mut spec = dumbbell(policy, groups);
    spec.links[1].forward.feedback = Some(FeedbackSpec::new(policy));
    run(&spec)
}

/// Sources that reduce their window at a warning lose nothing after the initialisation, and use the link.
#[test]
fn seif_sources_avoid_drops_and_others_are_not_notified() {
    let source = ControllerConfig::Seif(thalweg_proto::congestion::SeifConfig {
        initial_window: 1.0,
        initial_ssthresh: 15.0,
        max_window: 30.0,
        cut_back: 0.5,
        growth_windows: 1,
        follow: thalweg_proto::congestion::RouterSelection::All,
        signals: thalweg_proto::congestion::Signals::Both,
    });
    let flows = vec![GroupSpec { count: 3, ..feedback_aware_group(source) }];
    let result = to_listeners(seif(SeifPolicy::Static), flows);
    let slow = &result.links[2];
    assert!(slow.feedback > 10 && slow.utilisation > 0.95 && slow.drops_full < 10, "{slow:?}");
    let others = to_listeners(seif(SeifPolicy::Static), vec![greedy_group("a")]);
    assert_eq!(feedback_messages(&others), 0);
}

/// A queue of ten packets is half full with five.
#[test]
fn quenches_answer_packets_that_find_the_queue_half_full() {
    let quench = |on_drop| PolicySpec::SourceQuench(QuenchSpec { threshold_share: 0.5, on_drop });
    let early = run(&dumbbell(quench(false), vec![greedy_group("a")]));
    let late = run(&dumbbell(quench(true), vec![greedy_group("a")]));
    assert_eq!(late.links[2].feedback, late.links[2].drops_full);
    assert!(early.links[2].feedback > late.links[2].feedback);
    // Senders that ignore feedback behave the same whatever they receive, except for the capacity that messages use.
    assert!(early.links[2].drops_full > 0);
}

/// Marks are made at the queue; no message is sent.
#[test]
fn the_dec_bit_marks_packets_and_sends_nothing() {
    let result = run(&dumbbell(PolicySpec::DecBit(DecBitSpec::default()), vec![greedy_group("a")]));
    let slow = &result.links[2];
    // Packets are marked on arrival: some are dropped later, and some still wait at the end.
    let arrived = slow.packets + slow.drops_full + slow.queue.max_packets;
    assert!(slow.marks > 100 && slow.marks <= arrived, "{slow:?}");
    assert_eq!(feedback_messages(&result), 0);
}

/// Nineteen intervals end after the first packets arrived; each of three sources receives its ration in each.
#[test]
fn rations_are_sent_to_every_source_in_every_interval() {
    let flows = vec![GroupSpec { count: 3, ..greedy_group("a") }];
    let result = run(&dumbbell(PolicySpec::Rations(RationsSpec::default()), flows));
    let slow = &result.links[2];
    assert!((57..=60).contains(&slow.feedback), "{slow:?}");
}

/// Counts the messages sent by routers, and those dropped by queues.
#[derive(Default)]
struct Messages {
    sent: u64,
    dropped: u64,
}

impl Tracer for Messages {
    fn record(&mut self, record: &Record<'_>) {
        self.sent += u64::from(record.packet.router.is_some() && record.step == Step::Sent);
        self.dropped += u64::from(record.packet.router.is_some() && record.step == Step::Dropped);
    }
}

/// The reverse traffic is twice the capacity of the reverse path, and messages share it: they are dropped at a full
/// queue like other packets, and count as drops of the queue, not of a flow.
#[test]
fn a_feedback_message_is_dropped_at_a_full_queue() {
    let workload = WorkloadSpec::ConstantRate { rate: Rate::from_mbits_per_sec(20), packet: bytes(1000) };
    let (from, to) = (NodeId(1), NodeId(0));
    let blast = GroupSpec { from, to, ..group("blast", 0, crate::test_network::datagrams(), workload) };
    let steady = ControllerConfig::FixedWindow(FixedWindowConfig { window: 30.0 });
    let mut spec = dumbbell(seif(SeifPolicy::Reacting), vec![feedback_aware_group(steady), blast]);
    spec.links[0].backward.queue = DisciplineSpec::fcfs(Limit::Packets(5));
    let tracer = (Verifier::new(&spec), Messages::default());
    let mut simulation = Simulation::new(&spec, tracer).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, (verifier, messages)) = simulation.finish();
    verifier.finish(&result).expect("nothing is wrong");
    assert_eq!(messages.sent, result.links[2].feedback);
    assert!(messages.dropped > 10, "{} of {}", messages.dropped, messages.sent);
    let drops: u64 = result.links.iter().map(|link| link.drops_full).sum();
    let of_flows: u64 = result.flows.iter().map(|flow| flow.counts.drops).sum();
    assert_eq!(drops, of_flows + messages.dropped);
}
