//! Delays from distributions, drawn per packet: moments and order on a link; drawn once per flow: constant ones.

use crate::test_network::{bytes, direction, group, millis, pipe, run, window};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_proto::congestion::FixedWindowConfig;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};
use thalweg_sim::Simulation;
use thalweg_sim::Status;
use thalweg_sim::packet_trace::{Record, Step, Tracer};
use thalweg_sim::simulation_spec::*;

fn ms(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

fn wire() -> DirectionSpec {
    direction(Rate::MAX, millis(10), Limit::Unlimited)
}

fn varied(distribution: TimeSpec, each: DrawScope, keeps_order: bool) -> DirectionSpec {
    let variation = Some(Arc::new(VariationSpec { each, keeps_order, ..VariationSpec::new(distribution) }));
    DirectionSpec { variation, ..wire() }
}

/// Returns ten thousand datagrams over a link, `gap` milliseconds apart.
fn datagrams_over(wire: DirectionSpec, gap: f64) -> Spec {
    let mut spec = pipe(wire);
    let writes = (0..10_000).map(|number| (ms(gap * f64::from(number)), bytes(100))).collect();
    spec.groups = vec![group("flow", 1, crate::test_network::datagrams(), WorkloadSpec::Trace(writes))];
    spec.duration = ms(gap * 10_000.0 + 2_000.0);
    spec
}

/// Delays of packets in order of arrival, in milliseconds, with their serial numbers, by the flow's connection.
#[derive(Default)]
struct Arrivals {
    sent: BTreeMap<(u32, u32), f64>,
    arrived: Vec<(u32, u32, f64)>,
}

impl Tracer for Arrivals {
    fn record(&mut self, record: &Record<'_>) {
        let (packet, now) =
            ((record.packet.connection, record.packet.serial), record.time.as_secs_f64() * 1e3);
        match record.step {
            Step::Sent => {
                self.sent.insert(packet, now);
            }
            Step::Delivered => self.arrived.push((packet.0, packet.1, now - self.sent[&packet])),
            _ => {}
        }
    }
}

fn arrivals(spec: &Spec) -> Vec<(u32, u32, f64)> {
    let mut simulation = Simulation::new(spec, Arrivals::default()).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().1.arrived
}

/// Returns the mean and the variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n)
}

/// Far enough apart that no packet waits for another, with or without order: the 10 ms of the link plus the random
/// delay.
#[test]
fn a_wire_has_the_moments_of_its_distribution() {
    let exponential = TimeSpec::Exponential { mean: ms(4.0), max: None };
    let normal = TimeSpec::Normal { mean: ms(20.0), deviation: ms(2.0), max: None };
    let pareto = TimeSpec::Pareto { min: ms(1.0), shape: 5.0, max: Some(ms(100.0)) };
    let cases: [(_, f64, f64); 3] =
        [(exponential, 4.0, 16.0), (normal, 20.0, 4.0), (pareto, 1.25, 5.0 / 48.0)];
    for (distribution, mean, variance) in cases {
        for keeps_order in [true, false] {
            let spec = datagrams_over(varied(distribution.clone(), DrawScope::Packet, keeps_order), 200.0);
            let delays: Vec<f64> = arrivals(&spec).iter().map(|(.., delay)| *delay).collect();
            assert_eq!(delays.len(), 10_000);
            let (found, spread) = moments(&delays);
            // Five standard errors of the mean of 10 000; slightly more for the variance of heavy tails.
            assert!((found - 10.0 - mean).abs() < 5.0 * variance.sqrt() / 100.0, "{distribution:?}: {found}");
            assert!((spread / variance - 1.0).abs() < 0.25, "{distribution:?}: {spread} for {variance}");
        }
    }
}

/// A packet that must not overtake its predecessor arrives with it: its delay is the maximum of its own delay and the
/// delays of
/// earlier packets less the time between them. P(D <= x) is the product of 1 - e^-(x + k d)/m over k, the mean the
/// integral of the rest.
#[test]
fn order_is_kept_at_the_price_of_the_longest_before() {
    let exponential = || TimeSpec::Exponential { mean: ms(4.0), max: None };
    let below = |x: f64| (0..200).map(|k| 1.0 - (-(x + f64::from(k)) / 4.0).exp()).product::<f64>();
    let expected: f64 = (0..8_000).map(|step| (1.0 - below((f64::from(step) + 0.5) / 100.0)) / 100.0).sum();
    assert!((expected - 8.1).abs() < 1.0, "twice the mean that is drawn: {expected}");
    let ordered = arrivals(&datagrams_over(varied(exponential(), DrawScope::Packet, true), 1.0));
    assert!(ordered.is_sorted_by_key(|(_, number, _)| *number));
    let (mean, _) = moments(&ordered.iter().map(|(.., delay)| *delay).collect::<Vec<_>>());
    assert!((mean - 10.0 - expected).abs() < 0.05 * expected, "{mean}, not {expected}");

    // Without order each packet has its own random delay; of two packets 1 ms apart the second is first if it drew 1 ms
    // less: e^-(1/4) / 2.
    let free = arrivals(&datagrams_over(varied(exponential(), DrawScope::Packet, false), 1.0));
    let (mean, _) = moments(&free.iter().map(|(.., delay)| *delay).collect::<Vec<_>>());
    assert!((mean - 14.0).abs() < 0.2, "{mean}");
    let mut at = vec![0.0; free.len()];
    for &(_, number, delay) in &free {
        at[number as usize] = f64::from(number) + delay;
    }
    let passed = at.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64 / 10_000.0;
    assert!((passed - (-0.25f64).exp() / 2.0).abs() < 0.025, "{passed}");
}

/// Many flows with a constant random delay each: the links of two hosts, equal in both directions.
fn of_flows(count: u32, seed: u64, control: Option<GroupSpec>) -> Spec {
    let far = varied(TimeSpec::Uniform { min: ms(10.0), max: ms(50.0) }, DrawScope::Flow, true);
    let plain = DirectionSpec { delay: Duration::ZERO, ..wire() };
    let mut spec = pipe(wire());
    let fixed = ControllerConfig::FixedWindow(FixedWindowConfig { window: 1.0 });
    let flows = GroupSpec { count, ..group("flows", 1, window(fixed), WorkloadSpec::Bulk) };
    let access = AccessSpec {
        source_forward: far.clone(),
        source_backward: far,
        sink_forward: plain.clone(),
        sink_backward: plain,
        source_processing: Processing::default(),
        sink_processing: Processing::default(),
    };
    spec.groups = control.into_iter().chain([GroupSpec { access: Some(access), ..flows }]).collect();
    spec.duration = Duration::from_secs(2);
    spec.seed = seed;
    spec
}

/// Returns the minimum round trip of each flow, in milliseconds, by name.
fn round_trips(spec: &Spec) -> BTreeMap<String, f64> {
    let result = run(spec);
    result.flows.iter().map(|flow| (flow.name.clone(), flow.min_rtt.as_secs_f64() * 1e3)).collect()
}

#[test]
fn each_flow_has_its_own_delay() {
    let spec = of_flows(400, 1, None);
    let found = round_trips(&spec);
    let values: Vec<f64> = found.values().copied().collect();
    // 10 ms of the access link and 10 of the link each way, and twice the random delay: uniform from 60 to 140 ms.
    let (min, max) = (60.0, 140.0);
    assert!(values.iter().all(|rtt| *rtt >= min && *rtt <= max), "{values:?}");
    let (mean, variance) = moments(&values);
    // Uniform over 80 ms: variance 80^2 / 12. Both directions are equal; independent draws would give half of it.
    assert!((mean - 100.0).abs() < 5.0 * (80.0f64 * 80.0 / 12.0).sqrt() / 20.0, "{mean}");
    assert!((variance / (80.0 * 80.0 / 12.0) - 1.0).abs() < 0.2, "{variance}");
    assert_eq!(found, round_trips(&spec), "the same seed");
    assert_ne!(found, round_trips(&of_flows(400, 2, None)), "another seed");
    // All packets of a flow have the same delay.
    for flow in run(&spec).flows.iter().take(20) {
        assert!(flow.delay.max.as_picos() - flow.delay.min.as_picos() < 1_000_000, "{:?}", flow.delay);
    }
    // Another group does not change the draws.
    let other = GroupSpec {
        count: 3,
        workload: WorkloadSpec::ConstantRate { rate: Rate::from_bits_per_sec(8_000), packet: bytes(100) },
        ..group("other", 1, crate::test_network::datagrams(), WorkloadSpec::Bulk)
    };
    let beside = run(&of_flows(400, 1, Some(other)));
    for flow in beside.flows.iter().filter(|flow| flow.name.starts_with("flows")) {
        assert_eq!(flow.min_rtt.as_secs_f64() * 1e3, found[&flow.name], "{}", flow.name);
    }
}

/// On a shared link each flow has its own delay too, and its packets keep their order.
#[test]
fn flows_that_share_a_link_pass_each_other() {
    let far = varied(TimeSpec::Uniform { min: ms(0.0), max: ms(50.0) }, DrawScope::Flow, true);
    let mut spec = pipe(DirectionSpec { rate: Rate::from_mbits_per_sec(10), ..far });
    let cbr = WorkloadSpec::ConstantRate { rate: Rate::from_bits_per_sec(400_000), packet: bytes(500) };
    spec.groups = vec![GroupSpec { count: 5, ..group("flow", 1, crate::test_network::datagrams(), cbr) }];
    spec.duration = Duration::from_secs(5);
    let arrived = arrivals(&spec);
    let mut passed = 0;
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut flows: Vec<u32> = Vec::new();
    for (flow, number, _) in arrived {
        assert!(last.insert(flow, number).is_none_or(|before| before < number), "{flow}: {number}");
        passed += u32::from(flows.last().is_some_and(|before| *before != flow));
        flows.push(flow);
    }
    assert!(last.len() == 5 && passed > 100);
    let result = run(&spec);
    let mut mins: Vec<f64> = result.flows.iter().map(|flow| flow.delay.min.as_secs_f64() * 1e3).collect();
    mins.sort_by(f64::total_cmp);
    assert!(mins[4] - mins[0] > 5.0, "{mins:?}");
}

/// The ideal time of a transfer includes the delay of its flow.
#[test]
fn the_ideal_time_is_that_of_the_flows_own_path() {
    let mut spec = of_flows(50, 1, None);
    spec.groups[0].workload = WorkloadSpec::Transfer(bytes(900));
    let result = run(&spec);
    let transfers = &result.transfer_list;
    assert_eq!(transfers.len(), 50);
    for transfer in transfers {
        let took = transfer.end.unwrap().since(transfer.start).as_secs_f64();
        assert!((took / transfer.ideal.unwrap().as_secs_f64() - 1.0).abs() < 1e-3, "{transfer:?}");
    }
}
