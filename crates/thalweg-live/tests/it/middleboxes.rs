//! NATs and firewalls in a network, as seen by programs on both sides.

use crate::test_network::{
    advance_until, chain_network, ipv4_udp_packet, ipv4_udp_packet_to_address, ones_complement_sum,
    time_at_micros,
};
use std::net::{IpAddr, Ipv4Addr};
use thalweg_live::network_plan::{Plan, PlanOptions, plan_network};
use thalweg_live::{Delivery, Emulator};
use thalweg_proto::units::Duration;
use thalweg_sim::simulation_spec::{Middlebox, NatKind};

/// Returns a host inside, a NAT router, another router, and a host outside.
fn host_behind_middlebox(middlebox: Middlebox) -> (Plan, Emulator) {
    let mut spec = chain_network(4);
    spec.links[1].middlebox = middlebox;
    let plan = plan_network(
        &spec,
        &PlanOptions { duration: Some(Duration::from_secs(100)), ..PlanOptions::default() },
    )
    .unwrap();
    (plan.clone(), Emulator::new(plan).unwrap())
}

fn nat(kind: NatKind) -> Middlebox {
    Middlebox { nat: Some(kind), ..Middlebox::default() }
}

fn address(plan: &Plan, node: usize) -> Ipv4Addr {
    let IpAddr::V4(address) = plan.nodes[node].addresses[0] else { panic!() };
    address
}

/// Returns the source and destination of a datagram, with ports.
fn addresses_and_ports(delivery: &Delivery) -> [(Ipv4Addr, u16); 2] {
    [0, 1].map(|end| {
        let octets: [u8; 4] = *delivery.bytes[12 + 4 * end..].first_chunk().unwrap();
        (octets.into(), u16::from_be_bytes([delivery.bytes[20 + 2 * end], delivery.bytes[21 + 2 * end]]))
    })
}

fn from_outside(plan: &Plan, ports: [u16; 2]) -> Vec<u8> {
    let mut bytes = ipv4_udp_packet_to_address(address(plan, 3), address(plan, 1), 64, 0, 500);
    bytes[20..24].copy_from_slice(&ports.map(u16::to_be_bytes).concat());
    bytes
}

/// A packet takes as much time and as many hops as without NAT; its reply finds the way back, other packets do not.
#[test]
fn outgoing_packets_and_their_replies_are_translated() {
    let (plan, mut emulator) = host_behind_middlebox(nat(NatKind::PortRestricted));
    emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 3], 64, 2, 500));
    let [out] = &advance_until(&mut emulator, time_at_micros(90_000))[..] else { panic!() };
    assert_eq!((out.node, out.at, out.bytes[8], out.bytes[1]), (3, time_at_micros(3 * 1500), 62, 2));
    assert_eq!(addresses_and_ports(out), [(address(&plan, 1), 30_000), (address(&plan, 3), 5001)]);
    assert_eq!(ones_complement_sum(&out.bytes[..20]), 0xffff);
    let mut got = Vec::new();
    for (at, ports) in [(100_000, [5001, 30_000]), (200_000, [5002, 30_000]), (300_000, [5001, 30_001])] {
        emulator.enter(time_at_micros(at), 3, from_outside(&plan, ports));
        got.extend(advance_until(&mut emulator, time_at_micros(at + 90_000)));
    }
    let [answer] = &got[..] else { panic!() };
    assert_eq!((answer.node, answer.at, answer.bytes[8]), (0, time_at_micros(100_000 + 3 * 1500), 62));
    assert_eq!(addresses_and_ports(answer), [(address(&plan, 3), 5001), (address(&plan, 0), 5000)]);
    assert_eq!((emulator.counts().stopped, emulator.counts().unreachable), (2, 0));
    // Private addresses are unreachable from outside.
    emulator.enter(time_at_micros(400_000), 3, ipv4_udp_packet(&plan, [3, 0], 64, 0, 500));
    assert!(advance_until(&mut emulator, time_at_micros(490_000)).is_empty());
    assert_eq!(emulator.counts().stopped, 3);
}

/// A Time Exceeded message from behind the NAT reaches the internal host and quotes the original packet.
#[test]
fn routers_messages_find_who_is_meant() {
    let (plan, mut emulator) = host_behind_middlebox(nat(NatKind::Symmetric));
    emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 3], 2, 0, 100));
    let [message] = &advance_until(&mut emulator, time_at_micros(90_000))[..] else { panic!() };
    assert_eq!((message.node, message.bytes[9], &message.bytes[20..22]), (0, 1, [11, 0].as_slice()));
    assert_eq!(message.bytes[12..16], address(&plan, 2).octets());
    let quoted = Delivery { bytes: message.bytes[28..].to_vec(), ..message.clone() };
    assert_eq!(addresses_and_ports(&quoted), [(address(&plan, 0), 5000), (address(&plan, 3), 5001)]);
    assert_eq!(
        (ones_complement_sum(&message.bytes[20..]), ones_complement_sum(&quoted.bytes[..20])),
        (0xffff, 0xffff)
    );
    // The NAT itself sends Time Exceeded like any router.
    emulator.enter(time_at_micros(100_000), 0, ipv4_udp_packet(&plan, [0, 3], 1, 0, 100));
    let [message] = &advance_until(&mut emulator, time_at_micros(190_000))[..] else { panic!() };
    assert_eq!((&message.bytes[12..16], message.bytes[20]), (address(&plan, 1).octets().as_slice(), 11));
}

/// An echo request leaves and its reply returns by its identifier; the NAT itself answers one from outside.
#[test]
fn echoes_pass_in_both_directions() {
    let (plan, mut emulator) = host_behind_middlebox(nat(NatKind::FullCone));
    let echo = |kind: u8, from: Ipv4Addr, to: Ipv4Addr, number: u16| {
        let mut bytes = ipv4_udp_packet_to_address(from, to, 64, 0, 28);
        bytes[9] = 1;
        bytes[10..12].fill(0);
        let head = !ones_complement_sum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&head.to_be_bytes());
        bytes[20..28].copy_from_slice(&[[kind, 0, 0, 0], [0, 0, 0, 1]].concat());
        bytes[24..26].copy_from_slice(&number.to_be_bytes());
        let body = !ones_complement_sum(&bytes[20..]);
        bytes[22..24].copy_from_slice(&body.to_be_bytes());
        bytes
    };
    emulator.enter(time_at_micros(0), 0, echo(8, address(&plan, 0), address(&plan, 3), 77));
    let [request] = &advance_until(&mut emulator, time_at_micros(90_000))[..] else { panic!() };
    assert_eq!((request.node, &request.bytes[24..26]), (3, 30_000u16.to_be_bytes().as_slice()));
    assert_eq!(ones_complement_sum(&request.bytes[20..]), 0xffff);
    emulator.enter(time_at_micros(100_000), 3, echo(0, address(&plan, 3), address(&plan, 1), 30_000));
    let [reply] = &advance_until(&mut emulator, time_at_micros(190_000))[..] else { panic!() };
    assert_eq!(
        (reply.node, &reply.bytes[24..26], ones_complement_sum(&reply.bytes[20..])),
        (0, 77u16.to_be_bytes().as_slice(), 0xffff)
    );
    emulator.enter(time_at_micros(200_000), 3, echo(8, address(&plan, 3), address(&plan, 1), 5));
    let [local] = &advance_until(&mut emulator, time_at_micros(290_000))[..] else { panic!() };
    assert_eq!((local.node, local.bytes[20]), (3, 0));
}

/// UDP passes for ten seconds after its first packet, in both directions; other ports have their own ten seconds, and
/// TCP has no limit.
#[test]
fn a_firewall_stops_udp_after_its_time() {
    let middlebox = Middlebox { udp_allowed_for: Some(Duration::from_secs(10)), ..Middlebox::default() };
    let (plan, mut emulator) = host_behind_middlebox(middlebox);
    let udp = |ends: [usize; 2], port: u16| {
        let mut bytes = ipv4_udp_packet(&plan, ends, 64, 0, 100);
        let at = if ends[0] == 0 { 20 } else { 22 };
        bytes[20..24].copy_from_slice(&[5001u16, 5001].map(u16::to_be_bytes).concat());
        bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
        bytes
    };
    let mut tcp = udp([0, 3], 7);
    tcp[9] = 6;
    tcp[10..12].fill(0);
    let head = !ones_complement_sum(&tcp[..20]);
    tcp[10..12].copy_from_slice(&head.to_be_bytes());
    for (second, node, bytes, passes) in [
        (0, 0, udp([0, 3], 1), true),
        (9, 3, udp([3, 0], 1), true),
        (10, 0, udp([0, 3], 1), false),
        (11, 3, udp([3, 0], 1), false),
        (12, 0, udp([0, 3], 2), true),
        (13, 0, tcp.clone(), true),
        (30, 0, tcp, true),
    ] {
        emulator.enter(time_at_micros(second * 1_000_000), node, bytes);
        let got = advance_until(&mut emulator, time_at_micros(second * 1_000_000 + 900_000));
        assert_eq!(got.len(), usize::from(passes), "{second}");
    }
    assert_eq!(emulator.counts().stopped, 2);
}
