//! Test networks, packets, and their deliveries.

use std::net::{IpAddr, Ipv4Addr};
use thalweg_live::network_plan::{Plan, PlanOptions, plan_network};
use thalweg_live::{Delivery, Emulator};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::simulation_spec::{DirectionSpec, LinkSpec, NodeId, NodeSpec, Spec};

/// Returns a chain of nodes with hosts at both ends: links of 8 Mbit/s (a byte a microsecond), 1 ms.
pub fn chain(nodes: u32) -> Spec {
    let direction = DirectionSpec {
        rate: Rate::from_mbits_per_sec(8),
        queue: DisciplineSpec::fcfs(Limit::Packets(100)),
        ..DirectionSpec::unlimited_rate(Duration::from_millis(1))
    };
    let link = |number: u32| {
        let ends = [number, number + 1].map(NodeId);
        LinkSpec::new(format!("link-{number}"), ends, direction.clone(), direction.clone())
    };
    Spec {
        nodes: (0..nodes).map(|number| NodeSpec::new(format!("Node {number}"))).collect(),
        links: (0..nodes - 1).map(link).collect(),
        duration: Duration::from_secs(1),
        seed: 1,
        ..Spec::default()
    }
}

pub fn default_plan(spec: &Spec) -> Plan {
    plan_network(spec, &PlanOptions::default()).unwrap()
}

pub fn micros(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Returns a UDP datagram between two nodes with this TTL.
pub fn datagram(plan: &Plan, [from, to]: [usize; 2], hops: u8, ecn: u8, size: usize) -> Vec<u8> {
    let [IpAddr::V4(source), IpAddr::V4(target)] = [from, to].map(|node| plan.nodes[node].addresses[0])
    else {
        panic!()
    };
    datagram_to_address(source, target, hops, ecn, size)
}

pub fn datagram_to_address(source: Ipv4Addr, target: Ipv4Addr, hops: u8, ecn: u8, size: usize) -> Vec<u8> {
    let mut bytes = vec![0x45, ecn];
    bytes.extend((size as u16).to_be_bytes());
    // DF set.
    bytes.extend([0, 9, 0x40, 0, hops, 17, 0, 0]);
    bytes.extend([source.octets(), target.octets()].concat());
    let sum = ones_complement_sum(&bytes);
    bytes[10..12].copy_from_slice(&(!sum).to_be_bytes());
    bytes.extend([0x13, 0x88, 0x13, 0x89]);
    bytes.extend((size as u16 - 20).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.resize(size, 0x5a);
    bytes
}

/// Returns the ones' complement sum of a header: all ones if its checksum is valid.
pub fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

pub fn advance_until(emulator: &mut Emulator, at: Time) -> Vec<Delivery> {
    // Advance at every event: routers answer at the time of reception.
    let mut all = Vec::new();
    while let Some(next) = emulator.next().filter(|next| *next <= at) {
        emulator.advance(next, |delivery| all.push(delivery));
    }
    all
}
