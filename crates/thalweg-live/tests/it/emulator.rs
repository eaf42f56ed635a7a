//! Live networks without devices: packets enter and leave at given times.

use crate::test_network::{
    advance_until, chain_network, default_plan, ipv4_udp_packet, ipv4_udp_packet_to_address,
    ones_complement_sum, time_at_micros,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thalweg_live::Emulator;
use thalweg_live::network_plan::{PlanOptions, plan_network};
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::{
    DisciplineSpec, EcnTreatment, ImpairmentSpec, Limit, PriorityConfig, StepConfig, Threshold,
};
use thalweg_sim::simulation_spec::{LinkSpec, NodeId, NodeSpec, Spec};

/// Four links of 500 us transmission time (for 500 B) and 1 ms delay. Three routers each decrement the TTL.
#[test]
fn a_packet_arrives_on_time_with_fewer_hops_left() {
    let plan = default_plan(&chain_network(5));
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 4], 64, 0, 500));
    let [delivery] = &advance_until(&mut emulator, time_at_micros(100_000))[..] else { panic!() };
    assert_eq!((delivery.node, delivery.at), (4, time_at_micros(4 * 1500)));
    assert_eq!(
        (delivery.bytes.len(), delivery.bytes[8], ones_complement_sum(&delivery.bytes[..20])),
        (500, 61, 0xffff)
    );
    assert_eq!(delivery.bytes[20..], ipv4_udp_packet(&plan, [0, 4], 64, 0, 500)[20..]);
    let result = emulator.finish();
    assert_eq!(result.flows[0].name, "Node 0 -> Node 4");
    assert_eq!((result.flows[0].delivered.get(), result.flows[0].delivered_wire.get()), (472, 500));
}

/// Each router in turn sends Time Exceeded when the packet arrives, not earlier. Per link: 2 x 1 ms delay, 100 us
/// forward, and 128 us back for the message, which quotes the whole packet.
#[test]
fn routers_report_expired_packets() {
    let plan = default_plan(&chain_network(5));
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    for hops in 1..=3u8 {
        let at = time_at_micros(u64::from(hops) * 100_000);
        emulator.enter(at, 0, ipv4_udp_packet(&plan, [0, 4], hops, 0, 100));
        let [message] = &advance_until(&mut emulator, at + Duration::from_millis(90))[..] else { panic!() };
        let links = u64::from(hops);
        assert_eq!((message.node, message.at), (0, at + Duration::from_micros(links * (1100 + 1128))));
        let IpAddr::V4(router) = plan.nodes[usize::from(hops)].addresses[0] else { panic!() };
        assert_eq!(
            (&message.bytes[12..16], &message.bytes[20..22]),
            (router.octets().as_slice(), [11, 0].as_slice())
        );
    }
    assert_eq!((emulator.counts().expired, emulator.counts().messages), (3, 3));
}

#[test]
fn routers_report_unreachable_addresses_and_answer_echo_requests() {
    let plan = default_plan(&chain_network(4));
    let IpAddr::V4(source) = plan.nodes[0].addresses[0] else { panic!() };
    for (target, expected, by) in [([192, 0, 2, 1], [3, 0], 1), ([10, 71, 0, 3], [3, 3], 2)] {
        let mut emulator = Emulator::new(plan.clone()).unwrap();
        emulator.enter(time_at_micros(0), 0, ipv4_udp_packet_to_address(source, target.into(), 64, 0, 100));
        let [message] = &advance_until(&mut emulator, time_at_micros(90_000))[..] else { panic!() };
        let IpAddr::V4(router) = plan.nodes[by].addresses[0] else { panic!() };
        assert_eq!(
            (&message.bytes[12..16], &message.bytes[20..22]),
            (router.octets().as_slice(), expected.as_slice())
        );
    }
    // Multicast and invalid destinations.
    let mut emulator = Emulator::new(plan).unwrap();
    for target in [Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::BROADCAST] {
        emulator.enter(time_at_micros(0), 0, ipv4_udp_packet_to_address(source, target, 64, 0, 100));
    }
    emulator.enter(time_at_micros(0), 0, b"no packet".to_vec());
    assert!(advance_until(&mut emulator, time_at_micros(90_000)).is_empty());
    assert_eq!(emulator.counts().ignored, 3);
}

/// A packet for an unknown address goes to the gateway; replies return with the source's real address.
#[test]
fn the_gateway_has_all_other_addresses() {
    let plan_options = PlanOptions { outside: Some("node-3".to_owned()), ..PlanOptions::default() };
    let plan = plan_network(&chain_network(4), &plan_options).unwrap();
    let IpAddr::V4(source) = plan.nodes[0].addresses[0] else { panic!() };
    let real = Ipv4Addr::new(192, 0, 2, 1);
    let mut emulator = Emulator::new(plan).unwrap();
    emulator.enter(time_at_micros(0), 0, ipv4_udp_packet_to_address(source, real, 64, 0, 100));
    let [there] = &advance_until(&mut emulator, time_at_micros(90_000))[..] else { panic!() };
    assert_eq!(
        (there.node, there.at, &there.bytes[16..20]),
        (3, time_at_micros(3 * 1100), real.octets().as_slice())
    );
    emulator.enter(time_at_micros(100_000), 3, ipv4_udp_packet_to_address(real, source, 64, 0, 100));
    let [back] = &advance_until(&mut emulator, time_at_micros(190_000))[..] else { panic!() };
    assert_eq!((back.node, back.at), (0, time_at_micros(103_300)));
    // A router on the path reports Time Exceeded.
    emulator.enter(time_at_micros(200_000), 0, ipv4_udp_packet_to_address(source, real, 2, 0, 100));
    let [message] = &advance_until(&mut emulator, time_at_micros(290_000))[..] else { panic!() };
    assert_eq!((message.node, &message.bytes[20..22]), (0, [11, 0].as_slice()));
    assert_eq!(emulator.counts().unreachable, 0);
    let unknown_node = PlanOptions { outside: Some("elsewhere".to_owned()), ..PlanOptions::default() };
    let command = PlanOptions { hosts: vec!["node-3".to_owned()], ..plan_options };
    for wrong in [unknown_node, command] {
        assert!(thalweg_live::network_plan::plan_network(&chain_network(4), &wrong).is_err());
    }
}

/// The second of three links has a smaller MTU; its router reports it.
#[test]
fn routers_report_the_mtu_of_the_next_link() {
    let plan_options = PlanOptions { mtus: vec![(Some("link-1".to_owned()), 700)], ..PlanOptions::default() };
    let plan = plan_network(&chain_network(4), &plan_options).unwrap();
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 3], 64, 0, 701));
    let [message] = &advance_until(&mut emulator, time_at_micros(90_000))[..] else { panic!() };
    assert_eq!(
        (message.node, &message.bytes[20..22], &message.bytes[26..28]),
        (0, [3, 4].as_slice(), 700u16.to_be_bytes().as_slice())
    );
    emulator.enter(time_at_micros(100_000), 0, ipv4_udp_packet(&plan, [0, 3], 64, 0, 700));
    assert_eq!(advance_until(&mut emulator, time_at_micros(190_000))[0].node, 3);
    // The same packet without DF arrives in two fragments: 1180 B of data become 680 and 500.
    let mut fragmentable = ipv4_udp_packet(&plan, [0, 3], 64, 0, 1200);
    fragmentable[6] = 0;
    emulator.enter(time_at_micros(200_000), 0, fragmentable);
    let pieces = advance_until(&mut emulator, time_at_micros(290_000));
    assert_eq!(pieces.iter().map(|piece| piece.bytes.len()).collect::<Vec<_>>(), [700, 520]);
    assert!(
        pieces.iter().all(|piece| piece.bytes[8] == 62 && ones_complement_sum(&piece.bytes[..20]) == 0xffff)
    );
}

/// A marking queue sets CE only in ECN-capable packets; a bleaching link clears it.
#[test]
fn marks_are_real() {
    let step = DisciplineSpec::new(Limit::Packets(100), StepConfig { threshold: Threshold::Packets(2) });
    let codepoints = |treatment, sent| {
        let mut spec = chain_network(2);
        (spec.links[0].forward.queue, spec.links[0].forward.ecn) = (step.clone(), treatment);
        let plan = default_plan(&spec);
        let mut emulator = Emulator::new(plan.clone()).unwrap();
        (0..20).for_each(|_| {
            emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 1], 64, sent, 500));
        });
        let delivered = advance_until(&mut emulator, time_at_micros(90_000));
        assert!(delivered.iter().all(|delivery| ones_complement_sum(&delivery.bytes[..20]) == 0xffff));
        delivered.iter().map(|delivery| delivery.bytes[1]).collect::<Vec<_>>()
    };
    let marked = codepoints(EcnTreatment::Kept, 2);
    assert!(marked.iter().filter(|codepoint| **codepoint == 3).count() > 5 && marked[0] == 2, "{marked:?}");
    assert!(codepoints(EcnTreatment::Kept, 0).iter().all(|codepoint| *codepoint == 0));
    assert!(codepoints(EcnTreatment::Bleached, 2).iter().all(|codepoint| *codepoint == 0));
}

/// A priority queue serves by class of service: EF (46) before CS1 (8) before the rest.
#[test]
fn classes_are_priorities() {
    let mut spec = chain_network(2);
    spec.links[0].forward.queue = DisciplineSpec::new(Limit::Packets(100), PriorityConfig::default());
    let plan = default_plan(&spec);
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    for service in [0, 0, 8 << 2, 46 << 2, 0, 46 << 2, 8 << 2] {
        emulator.enter(time_at_micros(0), 0, ipv4_udp_packet(&plan, [0, 1], 64, service, 500));
    }
    let order: Vec<u8> = advance_until(&mut emulator, time_at_micros(90_000))
        .iter()
        .map(|delivery| delivery.bytes[1] >> 2)
        .collect();
    // The first packet found the link idle.
    assert_eq!(order, [0, 46, 46, 8, 8, 0, 0]);
}

/// A corrupted packet has one flipped bit, after its IP headers.
#[test]
fn damage_is_real() {
    let mut spec = chain_network(2);
    spec.links[0].forward.impairment = ImpairmentSpec { corrupt: 1.0, ..ImpairmentSpec::default() };
    let plan = default_plan(&spec);
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    let sent = ipv4_udp_packet(&plan, [0, 1], 64, 0, 500);
    emulator.enter(time_at_micros(0), 0, sent.clone());
    let got = &advance_until(&mut emulator, time_at_micros(90_000))[0].bytes;
    let wrong: u32 = sent.iter().zip(got).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert_eq!((wrong, &got[..20]), (1, &sent[..20]));
}

#[test]
fn ipv6_errors_use_icmpv6() {
    let plan = default_plan(&chain_network(3));
    let [source, target]: [Ipv6Addr; 2] = [0, 2].map(|node| match plan.nodes[node].addresses[1] {
        IpAddr::V6(address) => address,
        IpAddr::V4(_) => panic!(),
    });
    let packet = |hops: u8| {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 8, 17, hops];
        bytes.extend([source.octets(), target.octets()].concat());
        bytes.extend([0x13, 0x88, 0x13, 0x89, 0, 8, 0, 0]);
        bytes
    };
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    emulator.enter(time_at_micros(0), 0, packet(64));
    let delivery = &advance_until(&mut emulator, time_at_micros(90_000))[0];
    assert_eq!((delivery.node, delivery.bytes[7], &delivery.bytes[8..]), (2, 63, &packet(64)[8..]));
    emulator.enter(time_at_micros(100_000), 0, packet(1));
    let message = &advance_until(&mut emulator, time_at_micros(190_000))[0];
    assert_eq!((message.node, message.bytes[6], message.bytes[40]), (0, 58, 3));
}

/// Hosts are the ends of flows and nodes with one link; names are usable by programs.
#[test]
fn plans_report_live_and_unsupported_features() {
    let plan_of = default_plan(&chain_network(4));
    assert_eq!(plan_of.hosts().map(|(number, _)| number).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(plan_of.nodes[1].name, "node-1");
    assert!(plan_of.hosts_file().contains("10.71.0.2 node-1\nfd74:6861:6c77::2 node-1\n"));
    let refused =
        |spec: &Spec, plan_options: &PlanOptions| plan_network(spec, plan_options).unwrap_err().to_string();
    let mut fast = chain_network(2);
    fast.links[0].backward.rate = Rate::from_bits_per_sec(10_000_000_000_000);
    assert!(
        refused(&fast, &PlanOptions::default()).contains("link `link-0` has 10 Tbit/s"),
        "{}",
        refused(&fast, &PlanOptions::default())
    );
    let mut many = chain_network(2);
    many.links = (1..400)
        .map(|leaf| LinkSpec {
            a: NodeId(0),
            b: NodeId(leaf),
            name: leaf.to_string(),
            ..many.links[0].clone()
        })
        .collect();
    many.nodes = (0..400).map(|node| NodeSpec { name: node.to_string(), ..many.nodes[0].clone() }).collect();
    assert!(refused(&many, &PlanOptions::default()).contains("at most 250 hosts, and this scenario has 399"));
    let mut alike = chain_network(2);
    alike.nodes[1].name = "node-0".to_owned();
    assert!(refused(&alike, &PlanOptions::default()).contains("rename one"));
    assert!(
        refused(&Spec { links: Vec::new(), ..chain_network(2) }, &PlanOptions::default()).contains("no host")
    );
}

/// An hour with ten thousand short connections: state does not grow, and no connection is lost.
#[test]
fn an_hour_of_connections_leaves_nothing_behind() {
    let plan = default_plan(&chain_network(3));
    let mut emulator = Emulator::new(plan.clone()).unwrap();
    let mut got = 0;
    for step in 0..36_000u64 {
        let mut packet = ipv4_udp_packet(&plan, [0, 2], 64, 0, 100);
        // A new port every 3.6 s.
        packet[20..22].copy_from_slice(&((step / 36 * 7) as u16).to_be_bytes());
        let now = time_at_micros(step * 100_000);
        emulator.enter(now, 0, packet);
        emulator.advance(now, |_| got += 1);
    }
    got += advance_until(&mut emulator, time_at_micros(3_700_000_000)).len();
    assert_eq!(got, 36_000);
    let result = emulator.finish();
    assert!(result.conservation.holds() && result.conservation.in_network == 0);
    assert_eq!(result.flows.len(), 1);
}
