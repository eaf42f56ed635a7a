//! Gates in a network: sending order, cost, and the verifier's check that paused flows send nothing.

use crate::test_network::{bytes, direction, group, millis, pipe, run, window, with_random_loss};
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::gate::{CongestionGateConfig, GateConfig, SlotGateConfig};
use thalweg_proto::transport::Limit as SenderLimit;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, PauseConfig};
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

/// A window-controlled transfer of 100 kB.
fn transfer(name: &str, priority: u8) -> GroupSpec {
    let fixed = window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 8.0 }));
    GroupSpec { priority, ..group(name, 1, fixed, WorkloadSpec::Transfer(bytes(96_000))) }
}

/// A path of 8 Mbit/s and 5 ms, with a gate at the source.
fn path_with_gate(
    config: Option<GateConfig>,
    pause: PauseConfig,
    limit: Limit,
    groups: Vec<GroupSpec>,
) -> RunResult {
    let mut spec = pipe(direction(Rate::from_mbits_per_sec(8), millis(5), limit));
    spec.nodes[0].gate = config.map(|config| GateSpec { pause, ..GateSpec::new(config) });
    run(&Spec { groups, duration: Duration::from_secs(60), ..spec })
}

fn finished(result: &RunResult) -> Vec<Time> {
    result.flows.iter().map(|flow| flow.finished.expect("it has ended")).collect()
}

#[test]
fn with_slots_flows_send_one_after_the_other() {
    // 100 segments of 1 ms each, 8 in 11.4 ms: about 137 ms alone. A turn of priority 1 has 256 ms, enough for all;
    // priority 6 has 8 ms and needs many turns. Hence flows 1 and 3 end in their first turns, one after the other.
    let slots = SlotGateConfig { slot: millis(1), ..SlotGateConfig::default() };
    let groups = vec![transfer("a", 1), transfer("b", 6), transfer("c", 1)];
    let pause = PauseConfig { freezes_timer: true, ..PauseConfig::default() };
    let result = path_with_gate(Some(GateConfig::Slots(slots)), pause, Limit::Unlimited, groups);
    let ends: Vec<f64> = finished(&result).iter().map(|end| end.as_secs_f64() * 1000.0).collect();
    assert!(ends[0] < 145.0 && (ends[0] + 120.0..ends[0] + 160.0).contains(&ends[2]), "{ends:?}");
    assert!(ends[1] > ends[2], "{ends:?}");
    assert_eq!(result.flows.iter().map(|flow| flow.retransmissions).sum::<u64>(), 0);
    // The wait of the second flow is reported as paused.
    let paused = result.flows[1].limits[SenderLimit::Paused.index()];
    assert!(paused > millis(200), "{paused}");
}

#[test]
fn stopped_acknowledgements_cause_retransmissions() {
    // A turn of 16 ms has time for one round trip of 10 ms and a segment. The acknowledgements of the second window meet the
    // turn of the next flow. Timers run on.
    let config = SlotGateConfig { slot: millis(16), slots: [1; 6], ..SlotGateConfig::default() };
    let outcome = |drops_acks| {
        let pause = PauseConfig { drops_acks, ..PauseConfig::default() };
        let groups = vec![transfer("a", 1), transfer("b", 1), transfer("c", 1)];
        let result = path_with_gate(Some(GateConfig::Slots(config)), pause, Limit::Unlimited, groups);
        let completed_flows = result.flows.iter().filter(|flow| flow.finished.is_some()).count();
        (completed_flows, result.flows.iter().map(|flow| flow.retransmissions).sum::<u64>())
    };
    assert_eq!(outcome(false), (3, 0));
    // Without round-trip samples the timeouts stay doubled, and the transfers do not end within a minute.
    let (completed_flows, repeated) = outcome(true);
    assert!(completed_flows == 0 && repeated > 30, "{completed_flows} {repeated}");
}

#[test]
fn congestion_lets_the_highest_priority_go_first() {
    // Four flows of each of three priorities fill a queue of ten packets. Without a gate they end in any order. With
    // one, all of priority 1 end before the first of priority 3, and in less time than without.
    let groups = |count| {
        let reno = ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 1.0,
            initial_ssthresh: f64::INFINITY,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        let of = |priority: u8| GroupSpec {
            count,
            priority,
            spread: millis(100),
            ..group(&format!("p{priority}"), 1, window(reno.clone()), WorkloadSpec::Transfer(bytes(960_000)))
        };
        vec![of(1), of(2), of(3)]
    };
    let gate = CongestionGateConfig { check: millis(100), ..CongestionGateConfig::default() };
    let limit = Limit::Packets(10);
    let with = finished(&path_with_gate(
        Some(GateConfig::Congestion(gate)),
        PauseConfig::default(),
        limit,
        groups(4),
    ));
    let without = finished(&path_with_gate(None, PauseConfig::default(), limit, groups(4)));
    let last = |ends: &[Time]| ends.iter().copied().max().unwrap();
    let first = |ends: &[Time]| ends.iter().copied().min().unwrap();
    assert!(last(&with[..4]) < first(&with[8..]), "{with:?}");
    assert!(last(&with[..4]) < last(&without[..4]), "{with:?} {without:?}");
}

#[test]
fn a_gate_holds_datagrams_back() {
    // Two sources of 4 Mbit/s in turns of 8 slots of 10 ms: each sends half of the time, and nothing accumulates.
    let source = |name: &str| {
        let transport = TransportSpec::new(
            "udp",
            SourceConfig { segment: 1000, header: 0, rate: Some(Rate::from_mbits_per_sec(4)) },
            0,
            0,
        );
        group(name, 1, transport, WorkloadSpec::Bulk)
    };
    let slots = GateConfig::Slots(SlotGateConfig::default());
    let result =
        path_with_gate(Some(slots), PauseConfig::default(), Limit::Unlimited, vec![source("a"), source("b")]);
    for flow in &result.flows {
        assert!((flow.goodput.as_f64() / 2e6 - 1.0).abs() < 0.03, "{}", flow.goodput);
    }
}

#[test]
fn a_delivery_goes_on_until_all_has_arrived() {
    // A fifth is lost: about 125 packets of 1000 bytes for 100 kB. The flow ends with the last of them.
    let transport = TransportSpec::new(
        "udp",
        SourceConfig { segment: 1000, header: 0, rate: Some(Rate::from_mbits_per_sec(1)) },
        0,
        0,
    );
    let link = with_random_loss(direction(Rate::from_mbits_per_sec(8), millis(5), Limit::Unlimited), 0.2);
    let flow = group("until", 1, transport, WorkloadSpec::Deliver(bytes(100_000)));
    let result = run(&Spec { groups: vec![flow], ..pipe(link) });
    let flow = &result.flows[0];
    assert!(flow.delivered.get() >= 100_000 && flow.delivered.get() <= 102_000, "{}", flow.delivered);
    assert!((110..145).contains(&flow.sent_packets), "{}", flow.sent_packets);
    let end = flow.finished.unwrap().as_secs_f64() * 1000.0;
    assert!((end - flow.sent_packets as f64 * 8.0 - 6.0).abs() < 18.0, "{end}");
    assert!(result.conservation.holds());
}
