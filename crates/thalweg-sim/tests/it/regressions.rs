//! Regression tests for fixed faults of the simulator.

use crate::test_network::{bytes, datagrams, direction, group, millis, pipe, run, window};
use std::sync::Arc;
use thalweg_proto::congestion::FixedWindowConfig;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, EndsConfig, RackConfig, ReceiverConfig, SenderConfig};
use thalweg_queue::{CapacityTrace, ImpairmentSpec, Limit, ReorderSpec};
use thalweg_sim::simulation_spec::*;

/// Two flows of many short transfers over a link that holds packets back: when a transfer ends, the other flow reuses
/// its connection number while old packets are in flight. They must still belong to the old flow.
#[test]
fn late_packets_are_attributed_to_their_own_flow() {
    let reorder = Some(ReorderSpec { probability: 0.3, delay: millis(300), correlation: 0.0 });
    let wire = DirectionSpec {
        impairment: ImpairmentSpec { duplicate: 0.3, reorder, ..ImpairmentSpec::default() },
        ..direction(Rate::from_mbits_per_sec(5), millis(5), Limit::Unlimited)
    };
    let transfers = |size| WorkloadSpec::Poisson { gap: millis(10), size: SizeSpec::Fixed(bytes(size)) };
    let scheme = || window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 }));
    let small = group("small", 1, scheme(), transfers(500));
    let large = GroupSpec { to: NodeId(0), from: NodeId(1), ..group("large", 0, scheme(), transfers(5000)) };
    run(&Spec { groups: vec![small, large], duration: Duration::from_secs(2), ..pipe(wire) });
}

/// Two simultaneous changes of one link: the later one in the list must apply.
#[test]
fn changes_at_one_time_are_made_in_their_order() {
    for at in 100..120 {
        let change = |rate| Change {
            rate: Some(Rate::from_mbits_per_sec(rate)),
            ..Change::at(Time::ZERO + millis(at))
        };
        let wire = DirectionSpec {
            schedule: vec![change(1), change(7)],
            ..direction(Rate::from_mbits_per_sec(2), millis(5), Limit::Unlimited)
        };
        let flow = group(
            "flow",
            1,
            window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 })),
            WorkloadSpec::Bulk,
        );
        run(&Spec { groups: vec![flow], duration: Duration::from_secs(1), ..pipe(wire) });
    }
}

/// Every datagram of random arrivals that crosses a perfect link must count as delivered, with its delay, although its
/// source is finished once it has left.
#[test]
fn each_datagram_of_a_transfer_is_counted() {
    let arrivals = WorkloadSpec::Poisson { gap: millis(2), size: SizeSpec::Fixed(bytes(1000)) };
    let link = direction(Rate::from_mbits_per_sec(8), millis(10), Limit::Unlimited);
    let result = run(&Spec { groups: vec![group("arrivals", 1, datagrams(), arrivals)], ..pipe(link) });
    let (delivered, crossed) = (result.flows[0].delivered.get() / 1000, result.links[0].packets);
    // All except those in propagation at the end.
    assert!(delivered + 20 >= crossed, "{delivered} of {crossed}");
    assert!(result.flows[0].delay.count + 20 >= crossed);
}

/// An outage must stop a link with a capacity trace like any other.
#[test]
fn an_outage_stops_a_link_with_a_capacity_trace() {
    let opportunities = vec![Time::ZERO + millis(1)];
    let trace = CapacityTrace { opportunities, period: millis(1), bytes_per_opportunity: 1500 };
    let outage = Change { rate: Some(Rate::ZERO), ..Change::at(Time::ZERO + millis(1000)) };
    let link = DirectionSpec {
        capacity: Some(Arc::new(trace)),
        schedule: vec![outage],
        ..direction(Rate::from_mbits_per_sec(10), millis(5), Limit::Packets(100))
    };
    let flow = group(
        "flow",
        1,
        window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 })),
        WorkloadSpec::Bulk,
    );
    let result = run(&Spec { groups: vec![flow], ..pipe(link) });
    // At most 12 Mbit/s for a second.
    assert!(result.links[0].bytes.get() <= 1_502_000, "{}", result.links[0].bytes);
}

/// A control channel carries acknowledgements and other control PDUs only; responses to requests are data.
#[test]
fn answers_do_not_take_the_control_channel() {
    let response = SizeSpec::Fixed(bytes(100_000));
    let exchange = WorkloadSpec::RequestResponse { request: bytes(300), response, think: millis(10) };
    let scheme = window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 }));
    let flow = GroupSpec { control_channel: Some(millis(1)), ..group("flow", 1, scheme, exchange) };
    let link = direction(Rate::from_mbits_per_sec(10), millis(5), Limit::Unlimited);
    let result = run(&Spec { groups: vec![flow], ..pipe(link) });
    let answers = result.groups[0].transfers.completion.count;
    assert!(
        result.links[1].bytes.get() >= answers * 100_000,
        "{} for {answers} answers",
        result.links[1].bytes
    );
}

/// With an application that does not read, the buffer fills: the sender's window probe arrives, and its byte is
/// refused. Nothing was lost or retransmitted, and yet less was accepted than arrived.
#[test]
fn data_refused_by_a_full_receiver_is_not_counted() {
    let link = direction(Rate::from_mbits_per_sec(10), millis(5), Limit::Unlimited);
    let scheme = TransportSpec::new(
        "window",
        EndsConfig::new(
            SenderConfig { segment: 404, ..SenderConfig::default() },
            ReceiverConfig { window: 10_000, ..ReceiverConfig::default() },
            ControllerConfig::FixedWindow(FixedWindowConfig { window: 10.0 }),
        ),
        40,
        40,
    );
    let reading = Some(Arc::new(ReadingSpec { rate: Rate::ZERO, changes: Vec::new() }));
    let flow = GroupSpec { reading, ..group("flow", 1, scheme, WorkloadSpec::Bulk) };
    // The window is full after 25 packets. The sender probes after a retransmission timeout without an
    // acknowledgement.
    let result = run(&Spec { groups: vec![flow], duration: millis(300), ..pipe(link) });
    let flow = &result.flows[0];
    assert_eq!((flow.delivered_wire, flow.sent_packets), (bytes(10_000 + 25 * 40), 26));
}

/// On a path with a round trip of a second and 10 % loss, retransmissions are occasionally lost too. The
/// acknowledgement of the second one comes later than a timeout after the last progress; the timer restarts with each
/// retransmission of the first segment, and must not expire.
#[test]
fn a_lost_retransmission_causes_no_time_out() {
    let rack = RackConfig { undo: true, tail_probe: true, max_ack_delay: Duration::ZERO };
    let sender = SenderConfig { segment: 960, rack: Some(rack), ..SenderConfig::default() };
    let receiver = ReceiverConfig { report_arrivals: true, ..ReceiverConfig::default() };
    let controller = ControllerConfig::FixedWindow(FixedWindowConfig { window: 500.0 });
    let scheme = TransportSpec::new("window", EndsConfig::new(sender, receiver, controller), 40, 40);
    let link = crate::test_network::with_random_loss(
        direction(Rate::from_mbits_per_sec(10), millis(500), Limit::Unlimited),
        0.1,
    );
    let groups = vec![group("flow", 1, scheme, WorkloadSpec::Bulk)];
    // The first window has no round-trip time sample.
    let (duration, warmup) = (Duration::from_secs(60), Duration::from_secs(5));
    let result = run(&Spec { groups, duration, warmup, ..pipe(link) });
    let flow = &result.flows[0];
    assert!(flow.retransmissions > 2000, "{flow:?}");
    assert_eq!(flow.timeouts, 0, "{flow:?}");
}
