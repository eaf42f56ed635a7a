//! Gates of nodes on real packets, at given times.

use crate::test_network::{advance_until, chain_network, time_at_micros};
use std::net::IpAddr;
use thalweg_live::network_plan::{Plan, PlanOptions, Rule, plan_network};
use thalweg_live::{Delivery, Emulator};
use thalweg_proto::gate::{Ageing, CongestionGateConfig, GateConfig, Marking, SlotGateConfig};
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::simulation_spec::GateSpec;

const UDP: u8 = 17;
const TCP: u8 = 6;
const FIN: u8 = 1;
const ACK: u8 = 16;

/// Returns two hosts with a gate at the first: ports 1000 and 2000 have the first and the third priority.
fn hosts_with_gate(config: GateConfig) -> (Plan, Emulator) {
    let mut spec = chain_network(2);
    spec.duration = Duration::from_secs(1000);
    spec.nodes[0].gate = Some(GateSpec::new(config));
    let plan_options = PlanOptions { duration: Some(spec.duration), ..PlanOptions::default() };
    let mut plan = plan_network(&spec, &plan_options).unwrap();
    for (name, packets, priority) in
        [("first", "udp 1000", 1), ("third", "udp 2000", 3), ("web", "tcp 80", 2), ("mail", "tcp 25", 4)]
    {
        let packets = packets.parse().unwrap();
        plan.rules.push(Rule { name: name.to_owned(), ends: [0, 1], packets, priority });
    }
    (plan.clone(), Emulator::new(plan).unwrap())
}

fn slot_gate_config() -> GateConfig {
    GateConfig::Slots(SlotGateConfig {
        slot: Duration::from_millis(10),
        slots: [3, 2, 1, 1, 1, 1],
        work_conserving: false,
        ageing: Ageing::default(),
    })
}

fn congestion() -> GateConfig {
    GateConfig::Congestion(CongestionGateConfig::default())
}

/// Returns a packet between the two hosts; for TCP, with this sequence number, acknowledgement and flags.
fn packet(
    plan: &Plan,
    from: usize,
    protocol: u8,
    ports: [u16; 2],
    tcp: (u32, u32, u8),
    payload: usize,
) -> Vec<u8> {
    let header_length = if protocol == TCP { 20 } else { 8 };
    let size = 20 + header_length + payload;
    let [IpAddr::V4(source), IpAddr::V4(target)] = [from, 1 - from].map(|node| plan.nodes[node].addresses[0])
    else {
        panic!()
    };
    let mut bytes = vec![0x45, 0];
    bytes.extend((size as u16).to_be_bytes());
    bytes.extend([0, 9, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend([source.octets(), target.octets()].concat());
    bytes.extend(ports.map(u16::to_be_bytes).concat());
    if protocol == TCP {
        bytes.extend([tcp.0.to_be_bytes(), tcp.1.to_be_bytes()].concat());
        bytes.extend([0x50, tcp.2, 0xff, 0xff, 0, 0, 0, 0]);
    } else {
        bytes.extend(((8 + payload) as u16).to_be_bytes());
        bytes.extend([0, 0]);
    }
    bytes.resize(size, 0x5a);
    bytes
}

fn ports_of(delivery: &Delivery) -> u16 {
    u16::from_be_bytes([delivery.bytes[22], delivery.bytes[23]])
}

/// Turns of three slots and of one, 10 ms each: data of the other flow waits, and leaves at once when its turn starts.
/// 128 B take 128 us and 1 ms.
#[test]
fn turns_hold_packets_and_release_them() {
    let (plan, mut emulator) = hosts_with_gate(slot_gate_config());
    let mut got = Vec::new();
    // One packet of each flow every 5 ms; the first flow starts.
    for step in 0..16u64 {
        let now = time_at_micros(5_000 * step);
        got.extend(advance_until(&mut emulator, now));
        for port in [1000, 2000] {
            emulator.enter(now, 0, packet(&plan, 0, UDP, [40_000, port], (0, 0, 0), 100));
        }
    }
    got.extend(advance_until(&mut emulator, time_at_micros(100_000)));
    let at = |port: u16| -> Vec<u64> {
        let of = got.iter().filter(|delivery| ports_of(delivery) == port);
        of.map(|delivery| delivery.at.since(Time::ZERO).as_picos() / 1_000_000).collect()
    };
    // The first flow has 0 to 30 ms and 40 to 70 ms. A turn's end time is exclusive.
    let ungated = [0, 5, 10, 15, 20, 25].map(|millis| millis * 1000 + 1128);
    let waited =
        [30, 35].map(|_| 40_000).into_iter().enumerate().map(|(place, at)| at + 1128 + 128 * place as u64);
    let first: Vec<u64> = ungated.into_iter().chain(waited).collect();
    assert_eq!(at(1000)[..8], first[..]);
    // The other flow's packets of 30 ms leave at once, then two more.
    let waited = (0..6).map(|place| 30_000 + 1128 + 128 * place);
    let third: Vec<u64> = waited.chain([30_000 + 1128 + 128 * 6, 36_128]).collect();
    assert_eq!(at(2000)[..8], third[..]);
    let counts = emulator.counts();
    assert_eq!((counts.copies, counts.gate_drops), (0, 0));
    let names: Vec<String> = emulator.finish().groups.iter().map(|group| group.name.clone()).collect();
    assert_eq!(names, ["first", "third"]);
}

/// Without a matching rule the DSCP that the source sets decides the length of the turn.
#[test]
fn a_gate_reads_the_priority_bits_of_packets() {
    let length_of_turn = |marking, dscp: u8| {
        let mut spec = chain_network(2);
        spec.duration = Duration::from_secs(1000);
        spec.nodes[0].gate = Some(GateSpec { marking, ..GateSpec::new(slot_gate_config()) });
        let plan_options = PlanOptions { duration: Some(spec.duration), ..PlanOptions::default() };
        let plan = plan_network(&spec, &plan_options).unwrap();
        let mut emulator = Emulator::new(plan.clone()).unwrap();
        let mut marked = packet(&plan, 0, UDP, [40_000, 1000], (0, 0, 0), 100);
        marked[1] = dscp << 2;
        emulator.enter(time_at_micros(0), 0, marked);
        emulator.enter(time_at_micros(0), 0, packet(&plan, 0, UDP, [40_000, 2000], (0, 0, 0), 100));
        let got = advance_until(&mut emulator, time_at_micros(100_000));
        let other = got.iter().find(|delivery| ports_of(delivery) == 2000).expect("it waits for its turn");
        (other.at.since(Time::ZERO).as_picos() / 1_000_000 - 1128) / 10_000
    };
    // Turns of three slots for the first priority, two for the second, one for all others.
    assert_eq!([32, 16, 8, 1, 0, 48].map(|dscp| length_of_turn(Marking::SixBits, dscp)), [3, 2, 1, 1, 1, 3]);
    // Class 4 (of 32) is the second priority, expedited forwarding the first.
    assert_eq!([32, 46, 16].map(|dscp| length_of_turn(Marking::Class, dscp)), [2, 3, 1]);
}

/// A timeout retransmission is a congestion signal: at the next check the lowest priority pauses, and resumes a check
/// later.
#[test]
fn a_time_out_of_tcp_stops_the_lowest_priority() {
    let (plan, mut emulator) = hosts_with_gate(congestion());
    let data = |port: u16, sequence: u32| packet(&plan, 0, TCP, [50_000, port], (sequence, 1, ACK), 100);
    let mut got = Vec::new();
    let mut at = |emulator: &mut Emulator, millis: u64, bytes: Vec<u8>| {
        got.extend(advance_until(emulator, time_at_micros(1000 * millis)));
        emulator.enter(time_at_micros(1000 * millis), 0, bytes);
    };
    at(&mut emulator, 0, data(80, 1000));
    at(&mut emulator, 1, data(25, 1000));
    // A flow of the second priority, which continues: it is not the lowest.
    at(&mut emulator, 300, data(80, 1000));
    at(&mut emulator, 600, data(25, 1100));
    // The kernel's retransmission timer keeps running: the same data is queued once.
    at(&mut emulator, 800, data(25, 1100));
    // An acknowledgement passes.
    at(&mut emulator, 850, packet(&plan, 0, TCP, [50_000, 25], (1200, 500, ACK), 0));
    at(&mut emulator, 900, data(80, 1100));
    got.extend(advance_until(&mut emulator, time_at_micros(3_000_000)));
    let seen: Vec<(u64, u16, usize)> = got
        .iter()
        .map(|delivery| {
            (delivery.at.since(Time::ZERO).as_picos() / 1_000_000, ports_of(delivery), delivery.bytes.len())
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1_140, 80, 140),
            (2_140, 25, 140),
            (301_140, 80, 140),
            (851_040, 25, 40),
            (901_140, 80, 140),
            // The check at 500 ms acted on the signal; the check at 1 s saw none.
            (1_001_140, 25, 140),
        ]
    );
    assert_eq!((emulator.counts().held_at_gates, emulator.counts().copies), (1, 1));
}

/// The node's own queue is a congestion signal for any traffic: datagrams that overflow it pause the lower of two
/// priorities.
#[test]
fn a_full_queue_of_the_node_stops_the_lowest_priority() {
    let (plan, mut emulator) = hosts_with_gate(congestion());
    for number in 0..200 {
        let port = if number % 2 == 0 { 1000 } else { 2000 };
        emulator.enter(time_at_micros(0), 0, packet(&plan, 0, UDP, [40_000, port], (0, 0, 0), 972));
    }
    advance_until(&mut emulator, time_at_micros(500_000));
    for port in [1000, 2000] {
        emulator.enter(time_at_micros(600_000), 0, packet(&plan, 0, UDP, [40_000, port], (0, 0, 0), 972));
    }
    let got = advance_until(&mut emulator, time_at_micros(990_000));
    assert_eq!(got.iter().map(ports_of).collect::<Vec<_>>(), [1000]);
    assert_eq!(
        advance_until(&mut emulator, time_at_micros(1_100_000)).iter().map(ports_of).collect::<Vec<_>>(),
        [2000]
    );
}

/// An idle flow blocks others during its turn, but not after it has ended.
#[test]
fn a_flow_that_has_ended_gives_its_turn_away() {
    let long = GateConfig::Slots(SlotGateConfig { slots: [1000; 6], ..SlotGateConfig::default() });
    for (last, passes) in [(ACK, false), (ACK | FIN, true)] {
        let (plan, mut emulator) = hosts_with_gate(long);
        emulator.enter(time_at_micros(0), 0, packet(&plan, 0, TCP, [50_000, 80], (1000, 1, last), 100));
        emulator.enter(time_at_micros(1_000), 0, packet(&plan, 0, UDP, [40_000, 1000], (0, 0, 0), 100));
        // Everything sent is acknowledged.
        emulator.enter(
            time_at_micros(5_000),
            1,
            packet(&plan, 1, TCP, [80, 50_000], (1, 1100 + u32::from(passes), ACK), 0),
        );
        let early = advance_until(&mut emulator, time_at_micros(500_000))
            .iter()
            .any(|delivery| ports_of(delivery) == 1000);
        assert_eq!(early, passes);
        // After one idle second the flow no longer blocks others.
        let late = advance_until(&mut emulator, time_at_micros(1_600_000))
            .iter()
            .any(|delivery| ports_of(delivery) == 1000);
        assert_eq!(late, !passes);
    }
}

/// Traffic far above the gate's capacity is dropped and counted; the rest leaves.
#[test]
fn gate_queues_are_bounded() {
    let (plan, mut emulator) =
        hosts_with_gate(GateConfig::Slots(SlotGateConfig { slots: [1000; 6], ..SlotGateConfig::default() }));
    emulator.enter(time_at_micros(0), 0, packet(&plan, 0, UDP, [40_000, 1000], (0, 0, 0), 100));
    for _ in 0..5_000 {
        emulator.enter(time_at_micros(1_000), 0, packet(&plan, 0, UDP, [40_000, 2000], (0, 0, 0), 60_000));
    }
    let counts = emulator.counts();
    let max = (256 << 20) / 60_028;
    assert_eq!((counts.held_at_gates, counts.gate_drops), (max, 5_000 - max));
}
