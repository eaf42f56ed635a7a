//! Test networks, packets, and their deliveries.

use std::net::{IpAddr, Ipv4Addr};
use thalweg_live::network_plan::{Plan, PlanOptions, plan_network};
use thalweg_live::{Delivery, Emulator};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::simulation_spec::{DirectionSpec, LinkSpec, NodeId, NodeSpec, Spec};

/// Returns a chain of nodes with hosts at both ends: links of 8 Mbit/s (a byte a microsecond), 1 ms.
pub fn chain_network(nodes: u32) -> Spec {
    let direction = DirectionSpec {
        rate: Rate::from_mbits_per_sec(8),
        queue: DisciplineSpec::fcfs(Limit::Packets(100)),
        ..DirectionSpec::unlimited_rate(Duration::from_millis(1))
    };
    let link = |index: u32| {
        let endpoints = [index, index + 1].map(NodeId);
        LinkSpec::new(format!("link-{index}"), endpoints, direction.clone(), direction.clone())
    };
    Spec {
        nodes: (0..nodes).map(|index| NodeSpec::new(format!("Node {index}"))).collect(),
        links: (0..nodes - 1).map(link).collect(),
        duration: Duration::from_secs(1),
        seed: 1,
        ..Spec::default()
    }
}

pub fn default_plan(spec: &Spec) -> Plan {
    plan_network(spec, &PlanOptions::default()).unwrap()
}

pub fn time_at_micros(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Returns a UDP datagram between two nodes with this TTL.
pub fn ipv4_udp_packet(
    plan: &Plan,
    [source_node, destination_node]: [usize; 2],
    ttl: u8,
    tos: u8,
    total_length: usize,
) -> Vec<u8> {
    let [IpAddr::V4(source), IpAddr::V4(destination)] =
        [source_node, destination_node].map(|node| plan.nodes[node].addresses[0])
    else {
        panic!()
    };
    ipv4_udp_packet_to_address(source, destination, ttl, tos, total_length)
}

pub fn ipv4_udp_packet_to_address(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    ttl: u8,
    tos: u8,
    total_length: usize,
) -> Vec<u8> {
    let mut bytes = vec![0x45, tos];
    bytes.extend((total_length as u16).to_be_bytes());
    // DF set.
    bytes.extend([0, 9, 0x40, 0, ttl, 17, 0, 0]);
    bytes.extend([source.octets(), destination.octets()].concat());
    let header_sum = ones_complement_sum(&bytes);
    bytes[10..12].copy_from_slice(&(!header_sum).to_be_bytes());
    bytes.extend([0x13, 0x88, 0x13, 0x89]);
    bytes.extend((total_length as u16 - 20).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.resize(total_length, 0x5a);
    bytes
}

/// Returns the ones' complement sum of a header: all ones if its checksum is valid.
pub fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

pub fn advance_until(emulator: &mut Emulator, end: Time) -> Vec<Delivery> {
    // Advance at every event: routers answer at the time of reception.
    let mut deliveries = Vec::new();
    while let Some(next) = emulator.next_event_time().filter(|next| *next <= end) {
        emulator.advance(next, |delivery| deliveries.push(delivery));
    }
    deliveries
}
