use super::*;
use crate::results::samples::spec;
use thalweg_proto::payload::Length;
use thalweg_proto::units::Duration;
use thalweg_queue::{LossSpec, ReorderSpec};
use thalweg_sim::Simulation;
use thalweg_sim::spec::Change;

fn violations(spec: &Spec) -> Vec<Violation> {
    let mut simulation = Simulation::new(spec, Verifier::new(spec)).unwrap();
    simulation.advance(u64::MAX);
    let (result, verifier) = simulation.finish();
    assert!(result.conservation.delivered > 100);
    verifier.finish(&result)
}

#[test]
fn the_simulator_keeps_the_rules() {
    assert_eq!(violations(&spec()), []);
}

/// Everything that a wire can do at once, with changes of rate and delay and an outage.
#[test]
fn the_simulator_keeps_the_rules_on_a_bad_wire() {
    let mut spec = spec();
    let forward = &mut spec.links[0].forward;
    forward.impairment.loss = LossSpec::Uniform { probability: 0.02 };
    forward.impairment.duplicate = 0.05;
    forward.impairment.corrupt = 0.05;
    forward.impairment.reorder = Some(ReorderSpec { probability: 0.1, delay: Duration::from_millis(5) });
    let change = |millis, rate: Option<&str>, delay: Option<u64>| Change {
        at: Time::ZERO + Duration::from_millis(millis),
        rate: rate.map(|rate| rate.parse().unwrap()),
        delay: delay.map(Duration::from_micros),
        impairment: None,
    };
    forward.schedule = vec![
        change(1000, Some("8 Mbit/s"), None),
        change(2000, Some("0 bit/s"), None),
        change(2500, Some("12 Mbit/s"), Some(100)),
    ];
    assert_eq!(violations(&spec), []);
}

/// A trace by hand: steps at the one link of the sample, in microseconds.
fn faults(steps: &[(u64, Step, u32)]) -> Vec<Rule> {
    let mut verifier = Verifier::new(&spec());
    for (micros, step, serial) in steps {
        let at_end = matches!(step, Step::Sent | Step::Delivered);
        verifier.record(&Record {
            time: Time::ZERO + Duration::from_micros(*micros),
            step: *step,
            link: if at_end { u32::MAX } else { 0 },
            packet: PacketId { connection: 0, incarnation: 0, backward: false, serial: *serial },
            flow: 0,
            reply: false,
            marked: false,
            size: 1250,
            pdu: &Pdu::Datagram(Length(1222)),
        });
    }
    verifier.violations.iter().map(|violation| violation.rule).collect()
}

/// 1250 bytes take 1 ms at 10 Mbit/s, and 1 ms on the wire.
#[test]
fn each_rule_is_seen_to_be_broken() {
    use Step::{Arrived, Corrupted, Delivered, Queued, Sent, Transmitted};
    let sound = [(0, Sent, 0), (0, Transmitted, 0), (2000, Arrived, 0), (2000, Delivered, 0)];
    assert_eq!(faults(&sound), []);
    assert_eq!(faults(&[(0, Transmitted, 0)]), [Rule::Nowhere]);
    assert_eq!(faults(&[(5, Sent, 0), (4, Transmitted, 0)]), [Rule::Time]);
    assert_eq!(faults(&[(0, Sent, 0), (0, Transmitted, 0), (1999, Arrived, 0)]), [Rule::Delay]);
    assert_eq!(faults(&[(0, Sent, 0), (0, Transmitted, 0), (2001, Arrived, 0)]), [Rule::Delay]);
    let both = [(0, Sent, 0), (0, Sent, 1)];
    assert_eq!(faults(&[&both[..], &[(0, Transmitted, 0), (999, Transmitted, 1)]].concat()), [Rule::Rate]);
    let queued = [&both[..], &[(0, Queued, 0), (0, Queued, 1), (0, Transmitted, 1)]].concat();
    assert_eq!(faults(&queued), [Rule::Order]);
    let damaged =
        [(0, Sent, 0), (0, Transmitted, 0), (0, Corrupted, 0), (2000, Arrived, 0), (2000, Delivered, 0)];
    assert_eq!(faults(&damaged), [Rule::Damaged]);
}

/// The sample's queue holds ten packets.
#[test]
fn a_queue_over_its_capacity_is_seen_unless_it_drops() {
    let fill: Vec<_> =
        (0..11).flat_map(|serial| [(0, Step::Sent, serial), (0, Step::Queued, serial)]).collect();
    let dropped = [&fill[..], &[(0, Step::Dropped, 10), (0, Step::Transmitted, 0)]].concat();
    assert_eq!(faults(&dropped), []);
    let kept = [&fill[..], &[(0, Step::Transmitted, 0)]].concat();
    assert_eq!(faults(&kept), [Rule::Capacity]);
}

#[test]
fn counts_that_differ_are_told() {
    let spec = spec();
    let simulation = Simulation::new(&spec, Verifier::new(&spec)).unwrap();
    let (mut result, verifier) = simulation.finish();
    result.conservation.delivered = 7;
    let told: Vec<String> = verifier.finish(&result).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["the count of delivered packets differs from the trace at 0 s"]);
}
