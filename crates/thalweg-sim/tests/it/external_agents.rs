//! Flows with externally controlled windows: stops, observations, and the effect of decisions.

use crate::test_network::{direction, group, millis, pipe, run, window, with_random_loss};
use core::cell::Cell;
use thalweg_catalog::{EndpointConfigs, Environment};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{Decision, FixedWindowConfig};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, EndsConfig, ReceiverConfig, SenderConfig};
use thalweg_queue::Limit;
use thalweg_sim::external_agent::{AGENT, Episode, EpisodeError, Step, Stop, set_codepoint};
use thalweg_sim::simulation_spec::{Spec, TransportSpec, WorkloadSpec};

/// Returns the transport of an agent with an initial window of 10. Agents have no rule for idle times.
fn agent() -> TransportSpec {
    let path = thalweg_catalog::PathHints::default();
    let ends = (AGENT.make_endpoint_configs)(&AGENT.empty_values(Environment::Simulated), &path).unwrap();
    let EndpointConfigs::Window(EndsConfig { controller, .. }) = ends else { panic!("it has a window") };
    let sender = SenderConfig { segment: 960, idle_restart: false, ..SenderConfig::default() };
    TransportSpec::new("agent", EndsConfig::new(sender, ReceiverConfig::default(), controller), 40, 40)
}

/// 10 Mbit/s and a round trip of 20 ms: a segment of 1000 bytes takes 0.8 ms, an acknowledgement of 40 bytes 0.032 ms.
fn spec_of_path(transport: TransportSpec) -> Spec {
    let spec = pipe(direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Packets(100)));
    Spec { groups: vec![group("flow", 1, transport, WorkloadSpec::Bulk)], ..spec }
}

const BY_ROUND: Step = Step::RoundTrip(Duration::from_secs(1));

fn run_episode(step: Step) -> Episode {
    Episode::new(&spec_of_path(agent()), step).unwrap()
}

/// An agent that never changes its window has the same run as a fixed window, packet by packet, regardless of stops.
#[test]
fn an_agent_that_decides_nothing_new_has_a_fixed_window() {
    let fixed = run(&spec_of_path(window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 }))));
    for step in [BY_ROUND, Step::Interval(millis(7))] {
        let mut episode = run_episode(step);
        while episode.advance() == Stop::DecisionDue {
            assert!(episode.decide(0, Decision::window(10.0), Duration::ZERO));
        }
        assert_eq!(episode.finish().fingerprint, fixed.fingerprint);
    }
}

/// The requested codepoint overrides the scenario; without a request the scenario applies.
#[test]
fn agent_packets_carry_the_requested_codepoint() {
    let codepoint = |spec: &Spec| spec.groups[0].transport.properties().ecn();
    let mut spec = spec_of_path(agent());
    assert_eq!(codepoint(&spec), Ecn::NotEct);
    for requested in [Ecn::Ect1, Ecn::Ect0] {
        set_codepoint(&mut spec, requested);
        assert_eq!(codepoint(&spec), requested);
        // The episode's shared state keeps all of the configuration.
        let mut values = AGENT.empty_values(Environment::Simulated);
        assert!((AGENT.write_values)(&spec.groups[0].transport.endpoint_configs, &mut values));
        let ends = (AGENT.make_endpoint_configs)(&values, &thalweg_catalog::PathHints::default()).unwrap();
        assert_eq!((ends.properties().ecn(), AGENT.conflicts(&values).len()), (requested, 0));
    }
}

/// The first acknowledgement arrives after 20.832 ms; the next round trip ends 20.832 ms later with the acknowledgement
/// of the packet sent then.
#[test]
fn a_step_is_a_round_trip_of_packets() {
    let mut episode = run_episode(BY_ROUND);
    assert_eq!(episode.advance(), Stop::DecisionDue);
    assert!(episode.is_due(0));
    let first = episode.observe(0).unwrap();
    assert_eq!(first.now, Time::ZERO + Duration::from_micros(20_832));
    // The packet released by the acknowledgement has left, too.
    assert_eq!((first.sent, first.acked, first.rtt), (11, 1, Some(Duration::from_micros(20_832))));
    assert_eq!(episode.advance(), Stop::DecisionDue);
    let second = episode.observe(0).unwrap();
    assert_eq!(second.now, Time::ZERO + Duration::from_micros(2 * 20_832));
    assert_eq!((second.sent, second.acked), (10, 10));
    assert_eq!(second.span, Duration::from_micros(20_832));
}

/// A window of 20 instead of 10 releases ten more packets at once; with a delay they leave that much later.
#[test]
fn a_decision_holds_at_once_or_after_its_delay() {
    for (delay, expected) in [(Duration::ZERO, 10), (millis(1), 0)] {
        let mut episode = run_episode(BY_ROUND);
        episode.advance();
        episode.observe(0);
        assert!(episode.decide(0, Decision::window(20.0), delay));
        let at_once = episode.observe(0).unwrap();
        assert_eq!(at_once.sent, expected);
        episode.advance();
        assert_eq!(episode.decision(0), Some(Decision::window(20.0)));
        assert_eq!(
            episode.observe(0).unwrap().sent + expected,
            20,
            "ten more, and one for each acknowledgement"
        );
    }
}

/// Without delivery no round trip ends, but the step does.
#[test]
fn a_step_without_acknowledgements_ends() {
    let broken =
        with_random_loss(direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Packets(100)), 1.0);
    let groups = spec_of_path(agent()).groups;
    let mut episode = Episode::new(&Spec { groups, ..pipe(broken) }, BY_ROUND).unwrap();
    for second in 1..10 {
        assert_eq!(episode.advance(), Stop::DecisionDue);
        assert_eq!((episode.now(), episode.is_due(0)), (Time::ZERO + Duration::from_secs(second), false));
        let seen = episode.observe(0).unwrap();
        assert_eq!((seen.acked, seen.rtt, seen.min_rtt), (0, None, None));
    }
    assert_eq!(episode.advance(), Stop::Finished);
}

/// A long step asks at times if it is interrupted; a later one begins where it ended.
#[test]
fn a_long_step_can_be_interrupted() {
    let fast = direction(Rate::from_mbits_per_sec(1000), millis(10), Limit::Packets(1000));
    let groups = spec_of_path(agent()).groups;
    let (spec, length) = (Spec { groups, ..pipe(fast) }, Duration::from_secs(3));
    let mut episode = Episode::new(&spec, Step::Interval(length)).unwrap();
    // A short step has too few events to ask.
    assert_eq!(episode.advance_unless(&|| true), Stop::DecisionDue);
    assert!(episode.decide(0, Decision::window(1000.0), Duration::ZERO));
    let polls = Cell::new(0);
    let is_interrupted = || polls.replace(polls.get() + 1) == 1;
    assert_eq!(episode.advance_unless(&is_interrupted), Stop::Interrupted);
    let now = episode.now();
    assert!(polls.get() == 2 && Time::ZERO + length < now && now < Time::ZERO + length * 2, "{now:?}");
    assert_eq!((episode.advance(), episode.now()), (Stop::DecisionDue, now + length));
}

/// Two agents share the link in proportion to their windows.
#[test]
fn each_agent_controls_its_own_flow() {
    let mut spec = spec_of_path(agent());
    spec.groups.push(group("other", 1, agent(), WorkloadSpec::Bulk));
    let mut episode = Episode::new(&spec, Step::Interval(millis(20))).unwrap();
    assert_eq!(episode.agents(), 2);
    let mut acked = [0, 0];
    while episode.advance() == Stop::DecisionDue {
        for (agent, acked) in acked.iter_mut().enumerate() {
            *acked += episode.observe(agent).unwrap().acked;
            assert!(episode.decide(agent, Decision::window(10.0 + 20.0 * agent as f64), Duration::ZERO));
        }
    }
    let share = acked[1] as f64 / acked[0] as f64;
    assert!((2.7..3.3).contains(&share), "{acked:?}");
}

/// The last step ends with the transfer, however long a step may be, also if it is the only one.
#[test]
fn the_end_of_a_transfer_ends_its_step() {
    // Ten segments in a round trip of 20.832 ms, and one more for the last acknowledgement.
    for (size, limit) in [(96_000, 240), (9600, 50)] {
        let mut spec = spec_of_path(agent());
        spec.groups[0].workload = WorkloadSpec::Transfer(crate::test_network::bytes(size));
        for longest in [1, 5].map(Duration::from_secs) {
            for step in [Step::RoundTrip(longest), Step::Interval(longest)] {
                let mut episode = Episode::new(&spec, step).unwrap();
                while !episode.is_over(0) {
                    assert_eq!(episode.advance(), Stop::DecisionDue);
                }
                assert!(episode.now() < Time::ZERO + millis(limit), "{size} B, {step:?}: {}", episode.now());
            }
        }
    }
}

#[test]
fn decisions_that_no_sender_can_follow_change_nothing() {
    let mut episode = run_episode(BY_ROUND);
    episode.advance();
    let paced = |rate| Decision { pacing_rate: Some(rate), ..Decision::window(10.0) };
    for wrong in [f64::NAN, 0.0, -1.0, 0.5, 1e18, f64::INFINITY] {
        assert!(!episode.decide(0, Decision::window(wrong), Duration::ZERO), "{wrong}");
    }
    assert!(!episode.decide(0, paced(Rate::ZERO), Duration::ZERO));
    assert!(!episode.decide(1, Decision::window(10.0), Duration::ZERO), "there is one agent");
    assert_eq!(episode.decision(0), Some(Decision::window(10.0)));
    assert!(episode.decide(0, paced(Rate::from_mbits_per_sec(1)), Duration::ZERO));
    assert_eq!(episode.advance(), Stop::DecisionDue);
}

#[test]
fn episodes_without_a_single_flow_agent_are_rejected() {
    let error_of = |spec: &Spec, step| Episode::new(spec, step).unwrap_err();
    let fixed = spec_of_path(window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 })));
    assert_eq!(error_of(&fixed, BY_ROUND), EpisodeError::NoAgent);
    assert_eq!(error_of(&spec_of_path(agent()), Step::Interval(Duration::ZERO)), EpisodeError::NoStep);
    let mut several = spec_of_path(agent());
    several.groups[0].count = 2;
    assert_eq!(error_of(&several, BY_ROUND), EpisodeError::NotOne { group: "flow".to_owned() });
    assert!(error_of(&several, BY_ROUND).to_string().contains("write a flow for each"));
    let mut nowhere = spec_of_path(agent());
    nowhere.groups[0].to = thalweg_sim::simulation_spec::NodeId(7);
    assert!(matches!(error_of(&nowhere, BY_ROUND), EpisodeError::Spec(_)));
}
