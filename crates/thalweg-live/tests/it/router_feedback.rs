//! Router feedback on real packets: recipients, times and form.

use crate::test_network::{
    advance_until, chain_network, ipv4_udp_packet, ones_complement_sum, time_at_micros,
};
use std::net::IpAddr;
use thalweg_live::network_plan::{Plan, PlanOptions, plan_network};
use thalweg_live::{Delivery, Emulator};
use thalweg_proto::router_feedback_datagram::{Head, RouterFeedback};
use thalweg_proto::units::Duration;
use thalweg_queue::feedback::{FeedbackSpec, PolicySpec, SeifPolicy, SeifSpec};
use thalweg_queue::{DisciplineSpec, Limit};

/// Returns a host, a SEIF router with a queue of ten packets, and a host.
fn seif_network(policy: SeifPolicy, signals_feedback_by_ce: bool) -> (Plan, Emulator) {
    let mut spec = chain_network(3);
    let line = &mut spec.links[1].forward;
    line.queue = DisciplineSpec::fcfs(Limit::Packets(10));
    line.feedback = Some(FeedbackSpec::new(PolicySpec::Seif(SeifSpec { policy, ..SeifSpec::default() })));
    // The queue builds up at the router: packets arrive there ten times as fast as they leave.
    line.rate = thalweg_proto::units::Rate::from_bits_per_sec(800_000);
    let plan =
        plan_network(&spec, &PlanOptions { signals_feedback_by_ce, ..PlanOptions::default() }).unwrap();
    (plan.clone(), Emulator::new(plan).unwrap())
}

/// Returns the same network with acknowledgements delayed for 20 ms.
fn network_with_delayed_acks(signals_feedback_by_ce: bool) -> (Plan, Emulator) {
    let (mut plan, _) = seif_network(SeifPolicy::Static, signals_feedback_by_ce);
    plan.ack_delay = Some(Duration::from_millis(20));
    (plan.clone(), Emulator::new(plan).unwrap())
}

/// Returns a TCP segment with `payload` bytes of data; ECN-capable if it may be marked.
fn segment(plan: &Plan, ends: [usize; 2], flags: u8, payload: usize, ecn: u8) -> Vec<u8> {
    let mut bytes = ipv4_udp_packet(plan, ends, 64, ecn, 40 + payload);
    // The header checksum covers the protocol: 17 becomes 6.
    bytes[9] = 6;
    let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
    bytes[10..12].copy_from_slice(&(sum + 11).to_be_bytes());
    let ports = if ends[0] == 0 { [1, 2] } else { [2, 1] };
    bytes[20..24].copy_from_slice(&ports.map(u16::to_be_bytes).concat());
    bytes[24..40].fill(0);
    (bytes[32], bytes[33]) = (0x50, flags);
    bytes
}

/// Returns a packet of a sender of this project: the readable head, and bytes that look encrypted.
fn encrypted_packet(plan: &Plan, number: u32) -> Vec<u8> {
    let mut bytes = ipv4_udp_packet(plan, [0, 2], 64, 2, 500);
    bytes[28] = 8;
    bytes[29..37].copy_from_slice(b"connect!");
    bytes[37..41].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn router_feedback(delivery: &Delivery) -> RouterFeedback {
    RouterFeedback::decode(&delivery.bytes[28..]).unwrap()
}

/// With more than eight of ten packets queued, the source gets one feedback datagram, sent from the target's address.
/// Its way back takes 50 us for 50 B, and 1 ms.
#[test]
fn thalweg_senders_receive_feedback_datagrams() {
    let (plan, mut emulator) = seif_network(SeifPolicy::Static, false);
    for number in 100..111 {
        emulator.enter(time_at_micros(0), 0, encrypted_packet(&plan, number));
    }
    let got = advance_until(&mut emulator, time_at_micros(900_000));
    let [messages, data] =
        [0, 2].map(|node| got.iter().filter(|delivery| delivery.node == node).collect::<Vec<_>>());
    let [message] = &messages[..] else { panic!("{messages:?}") };
    // The first packet of 500 B reaches the router at 1.5 ms and is in service; the ninth to queue arrives 9 x 500 us
    // later.
    assert_eq!(message.at, time_at_micros(1500 + 9 * 500 + 1050));
    let head = Head { connection: *b"connect!", number: 110 };
    assert_eq!(router_feedback(message), RouterFeedback { head, dropped: false, queue: 2, rate: None });
    let [IpAddr::V4(source), IpAddr::V4(target)] = [0, 2].map(|node| plan.nodes[node].addresses[0]) else {
        panic!()
    };
    assert_eq!(message.bytes[12..20], [target.octets(), source.octets()].concat());
    // Source and destination ports are swapped.
    assert_eq!(message.bytes[20..24], [0x13, 0x89, 0x13, 0x88]);
    assert_eq!(ones_complement_sum(&message.bytes[..20]), 0xffff);
    assert_eq!((data.len(), emulator.counts().router_feedback), (11, 1));
}

/// Feedback identifies a dropped packet.
#[test]
fn a_dropped_packet_is_named() {
    let (plan, mut emulator) = seif_network(SeifPolicy::Reacting, false);
    // One packet is in service for 5 ms, and then another. Ten are queued at 7 ms, and the one at 7.5 ms is dropped.
    for number in 100..113 {
        emulator.enter(time_at_micros(0), 0, encrypted_packet(&plan, number));
    }
    let got = advance_until(&mut emulator, time_at_micros(900_000));
    let messages: Vec<RouterFeedback> =
        got.iter().filter(|delivery| delivery.node == 0).map(router_feedback).collect();
    let head = Head { connection: *b"connect!", number: 112 };
    assert_eq!(messages, [RouterFeedback { head, dropped: true, queue: 2, rate: None }]);
}

/// Other senders get no feedback; with the option, their next packet to leave the queue is marked CE, if ECN-capable.
#[test]
fn other_senders_receive_marks_or_nothing() {
    for (marks, ecn, marked) in [(false, 2, 0), (true, 2, 1), (true, 0, 0)] {
        let (plan, mut emulator) = seif_network(SeifPolicy::Static, marks);
        for _ in 0..11 {
            emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 2], 64, ecn, 500));
        }
        let got = advance_until(&mut emulator, time_at_micros(900_000));
        assert!(got.iter().all(|delivery| delivery.node == 2) && got.len() == 11);
        let places: Vec<usize> = got
            .iter()
            .enumerate()
            .filter(|(_, delivery)| delivery.bytes[1] & 3 == 3)
            .map(|(place, _)| place)
            .collect();
        // It left while nine were queued: the first packet, already in service, had left before.
        assert_eq!(places, [1][..marked]);
    }
}

/// Feedback reaches the source at 7.05 ms (as above). Pure acknowledgements that arrive within the next 20 ms are
/// delayed until then, in order. Data, SYN and FIN are not delayed; later packets neither.
#[test]
fn tcp_without_ecn_is_signalled_by_delayed_acknowledgements() {
    const BARE: u8 = 0x10;
    const FIN: u8 = 0x11;
    let (plan, mut emulator) = network_with_delayed_acks(false);
    for _ in 0..11 {
        emulator.enter(time_at_micros(0), 0, segment(&plan, [0, 2], BARE, 460, 0));
    }
    let answers = [
        (1_000, BARE, 0),
        (10_000, BARE, 0),
        (11_000, BARE, 100),
        (12_000, BARE, 0),
        (13_000, FIN, 0),
        (40_000, BARE, 0),
    ];
    let mut got = Vec::new();
    for (at, flags, payload) in answers {
        got.extend(advance_until(&mut emulator, time_at_micros(at)));
        emulator.enter(time_at_micros(at), 2, segment(&plan, [2, 0], flags, payload, 0));
    }
    got.extend(advance_until(&mut emulator, time_at_micros(900_000)));
    let arrivals: Vec<_> = got.iter().filter(|delivery| delivery.node == 0).collect();
    // 40 B take 40 us on each of two links, 140 B 140 us, and 1 ms.
    let over = time_at_micros(1500 + 9 * 500 + 1050 + 20_000);
    let at = |sent: u64, size: u64| time_at_micros(sent + 2 * (size + 1000));
    let expected = [at(1_000, 40), at(11_000, 140), at(13_000, 40), over, over, at(40_000, 40)];
    assert_eq!(arrivals.iter().map(|delivery| delivery.at).collect::<Vec<_>>(), expected);
    assert_eq!((emulator.counts().waited, emulator.counts().router_feedback), (2, 1));
}

/// With both options, TCP with ECN gets marks.
#[test]
fn tcp_that_may_be_marked_is_marked() {
    for (marks, waited) in [(true, 0), (false, 1)] {
        let (plan, mut emulator) = network_with_delayed_acks(marks);
        for _ in 0..11 {
            emulator.enter(time_at_micros(0), 0, segment(&plan, [0, 2], 0x10, 460, 2));
        }
        let mut got = advance_until(&mut emulator, time_at_micros(10_000));
        emulator.enter(time_at_micros(10_000), 2, segment(&plan, [2, 0], 0x10, 0, 0));
        got.extend(advance_until(&mut emulator, time_at_micros(900_000)));
        let marked = got.iter().filter(|delivery| delivery.bytes[1] & 3 == 3).count() as u64;
        assert_eq!((emulator.counts().waited, marked), (waited, 1 - waited));
    }
}

/// A delay long enough to trigger TCP's loss timer is rejected.
#[test]
fn acknowledgements_wait_for_a_second_at_most() {
    for (millis, is_fine) in [(0, false), (1, true), (1000, true), (1001, false)] {
        let plan_options =
            PlanOptions { ack_delay: Some(Duration::from_millis(millis)), ..PlanOptions::default() };
        assert_eq!(plan_network(&chain_network(3), &plan_options).is_ok(), is_fine, "{millis}");
    }
}
