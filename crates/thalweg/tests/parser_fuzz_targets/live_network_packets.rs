//! Fuzz target for packets of programs in a live network.

use super::select_parser;
use std::net::IpAddr;
use thalweg_live::network_plan::{PlanOptions, plan_network};
use thalweg_live::{Emulator, fuzz_entry_points};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::simulation_spec::{DirectionSpec, LinkSpec, Middlebox, NatKind, NodeId, NodeSpec, Spec};

/// Maximum packet size in a script, in bytes.
const MAX_PACKET: usize = 200;
/// NAT types that a script chooses from.
const NATS: [Option<NatKind>; 5] = [
    None,
    Some(NatKind::FullCone),
    Some(NatKind::Restricted),
    Some(NatKind::PortRestricted),
    Some(NatKind::Symmetric),
];

/// Fuzzes DNS messages, segmentation offload, and packets through a network with a NAT.
pub fn fuzz_live_network_packets(octets: &[u8]) {
    let Some((parser, octets)) = select_parser(octets, 3) else { return };
    match parser {
        0 => {
            if let Some(answer) = fuzz_entry_points::dns_answer(octets) {
                assert!(answer.len() >= 12 && answer[2] & 0x80 != 0);
            }
        }
        1 => {
            let Some((header, bytes)) = octets.split_first_chunk::<{ fuzz_entry_points::HEADER }>() else {
                return;
            };
            let lengths = fuzz_entry_points::split_gso_buffer(*header, bytes);
            assert!(!lengths.is_empty() && lengths.iter().all(|length| *length <= bytes.len()));
        }
        _ => network(octets),
    }
}

/// Returns a chain of four nodes, with a NAT at the second.
fn chain(nat: Option<NatKind>) -> Spec {
    let direction = DirectionSpec {
        rate: Rate::from_mbits_per_sec(8),
        queue: DisciplineSpec::fcfs(Limit::Packets(4)),
        ..DirectionSpec::unlimited_rate(Duration::from_millis(1))
    };
    let link = |number: u32| {
        let ends = [number, number + 1].map(NodeId);
        LinkSpec::new(format!("link-{number}"), ends, direction.clone(), direction.clone())
    };
    let mut spec = Spec {
        nodes: (0..4).map(|number| NodeSpec::new(format!("Node {number}"))).collect(),
        links: (0..3).map(link).collect(),
        duration: Duration::from_secs(1),
        seed: 1,
        ..Spec::default()
    };
    spec.links[1].middlebox =
        Middlebox { nat, nat_rebind: None, udp_allowed_for: Some(Duration::from_millis(20)) };
    spec
}

/// Runs a script: a byte for the NAT and the options, and per packet a byte for its sender and addresses, its length,
/// and its bytes. Corrects lengths and addresses in headers if the script requests it, because few fuzzer inputs have
/// valid ones.
fn network(script: &[u8]) {
    let Some((first, mut script)) = script.split_first() else { return };
    let plan_options = PlanOptions {
        signals_feedback_by_ce: first & 0x20 != 0,
        ack_delay: (first & 0x40 != 0).then(|| Duration::from_millis(5)),
        mtus: vec![(None, if first & 0x80 != 0 { 1280 } else { 1500 })],
        duration: Some(Duration::from_secs(10)),
        ..PlanOptions::default()
    };
    let plan = plan_network(&chain(NATS[usize::from(first & 7) % NATS.len()]), &plan_options).unwrap();
    let addresses: Vec<[IpAddr; 2]> = plan.nodes.iter().map(|node| node.addresses).collect();
    let mut emulator = Emulator::new(plan).unwrap();
    let (mut now, mut entered, mut got) = (Time::ZERO, 0, 0usize);
    while let [packet_flags, length, rest @ ..] = script {
        let length = usize::from(*length).min(MAX_PACKET).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        script = rest;
        let mut packet = packet.to_vec();
        let addresses_of_packet =
            [packet_flags & 3, packet_flags >> 2 & 3].map(|node| addresses[usize::from(node)]);
        if packet_flags & 0x10 != 0 {
            repair_packet(&mut packet, addresses_of_packet);
        }
        emulator.enter(now, if packet_flags & 3 < 2 { 0 } else { 3 }, packet);
        entered += 1;
        now += Duration::from_micros(u64::from(packet_flags >> 5) * 400);
        emulator.advance(now, |delivery| got += usize::from(!delivery.bytes.is_empty()));
    }
    while let Some(next) = emulator.next_event_time().filter(|next| *next <= now + Duration::from_millis(500))
    {
        emulator.advance(next, |delivery| got += usize::from(!delivery.bytes.is_empty()));
    }
    // Each packet is delivered in fragments, or causes one ICMP message from a router.
    assert!(got <= entered * (1 + MAX_PACKET / 8), "{got} of {entered}");
    emulator.finish();
}

/// Sets the length of an IP packet, and its addresses to the addresses of these nodes.
fn repair_packet(packet: &mut [u8], addresses: [[IpAddr; 2]; 2]) {
    let length = packet.len() as u16;
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            packet[2..4].copy_from_slice(&length.to_be_bytes());
            for (end, place) in addresses.into_iter().zip([12, 16]) {
                if let IpAddr::V4(address) = end[0] {
                    packet[place..place + 4].copy_from_slice(&address.octets());
                }
            }
        }
        Some(6) if packet.len() >= 40 => {
            packet[4..6].copy_from_slice(&(length - 40).to_be_bytes());
            for (end, place) in addresses.into_iter().zip([8, 24]) {
                if let IpAddr::V6(address) = end[1] {
                    packet[place..place + 16].copy_from_slice(&address.octets());
                }
            }
        }
        _ => {}
    }
}
