//! Tests HRR: the order of slots by the definition, shares and delays of levels, unneeded slots, sizes, and drops.

use super::*;
use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};
use std::collections::BTreeMap;

/// Slots of 1000 bytes, as large as the packets of [`entry`].
fn config(frame_slots: u32, lower_slots: u32, levels: u32) -> HrrConfig {
    HrrConfig { slot: Bytes::new(1000), frame_slots, lower_slots, levels, weights: Weights::default() }
}

fn entry(flow: u32, priority: u8) -> Entry {
    Entry { flow, priority, ..ordinary_entry(0) }
}

/// Returns the flows of the next packets, with three packets of each of `flows` waiting at any time.
fn served_flows(queue: &mut Hrr, flows: &[(u32, u8)], packets: usize) -> Vec<u32> {
    for _ in 0..3 {
        flows.iter().for_each(|&(flow, priority)| {
            drop(enqueue_and_list_drops(queue, Time::ZERO, entry(flow, priority)));
        });
    }
    let next = |_| {
        let left = queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap();
        enqueue_and_list_drops(queue, Time::ZERO, left);
        left.flow
    };
    (0..packets).map(next).collect()
}

fn counts(served: &[u32]) -> BTreeMap<u32, usize> {
    served.iter().fold(BTreeMap::new(), |mut counts, flow| {
        *counts.entry(*flow).or_default() += 1;
        counts
    })
}

#[test]
fn levels_take_their_slots_in_each_frame() {
    // Level 1 has frames of 4 slots and gives 2 to level 2, whose frames of 4 thus take two frames of level 1. Flows 1
    // and 2 have a slot each on level 1, flows 3 to 6 on level 2.
    let mut queue = Hrr::new(Limit::Unlimited, config(4, 2, 2));
    let flows = [(1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 2)];
    let order = served_flows(&mut queue, &flows, 16);
    assert_eq!(order, [1, 2, 3, 4, 1, 2, 5, 6, 1, 2, 3, 4, 1, 2, 5, 6]);
}

#[test]
fn three_levels_share_by_the_products_of_their_parts() {
    // Half of each level goes down: the levels have a half, a quarter and, as the last keeps its slots, a quarter.
    let mut queue =
        Hrr::new(Limit::Unlimited, HrrConfig { weights: Weights([5, 5, 10, 1, 1, 1]), ..config(10, 5, 3) });
    let counts = counts(&served_flows(&mut queue, &[(1, 1), (2, 2), (3, 3)], 4000));
    assert_eq!(counts, BTreeMap::from([(1, 2000), (2, 1000), (3, 1000)]));
}

#[test]
fn a_flow_has_its_slots_in_every_frame_whatever_others_send() {
    // Flow 1 has 2 of 10 slots, ten flows share the rest: in any frame of 10 packets it has at least 2.
    let weights = Weights([2, 1, 1, 1, 1, 1]);
    let mut queue = Hrr::new(Limit::Unlimited, HrrConfig { weights, ..config(10, 8, 2) });
    let flows: Vec<(u32, u8)> = (1..12).map(|flow| (flow, if flow == 1 { 1 } else { 6 })).collect();
    let order = served_flows(&mut queue, &flows, 1000);
    for frame in order.chunks(10) {
        assert_eq!(frame.iter().filter(|flow| **flow == 1).count(), 2);
    }
}

#[test]
fn a_burst_beyond_its_slots_does_not_delay_others() {
    // Flow 1 has a slot of 4 and 100 packets waiting. Flow 2 on the same level waits for one packet at most.
    let mut queue = Hrr::new(Limit::Unlimited, config(4, 0, 1));
    (0..100).for_each(|_| drop(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 1))));
    for _ in 0..7 {
        queue.dequeue(Time::ZERO, &mut Vec::new());
    }
    enqueue_and_list_drops(&mut queue, Time::ZERO, entry(2, 1));
    let next: Vec<u32> = (0..2).map(|_| queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap().flow).collect();
    assert!(next.contains(&2), "{next:?}");
}

#[test]
fn unneeded_slots_go_to_all_flows_in_turn() {
    // One flow of level 1 with a slot of 4, none on level 2: it has the whole line. With one more, each has half.
    let mut queue = Hrr::new(Limit::Unlimited, config(4, 2, 2));
    assert_eq!(counts(&served_flows(&mut queue, &[(1, 1)], 100)), BTreeMap::from([(1, 100)]));
    let mut queue = Hrr::new(Limit::Unlimited, config(8, 6, 2));
    let counts = counts(&served_flows(&mut queue, &[(1, 1), (2, 1)], 800));
    assert_eq!(counts, BTreeMap::from([(1, 400), (2, 400)]));
}

#[test]
fn large_packets_take_several_slots() {
    // Flow 1 sends packets of 3 slots, flow 2 of one: each has half of the slots.
    let mut queue = Hrr::new(Limit::Unlimited, config(2, 0, 1));
    let mut bytes = [0u64; 2];
    let of = |flow: u32| Entry { size: if flow == 0 { 3000 } else { 1000 }, ..entry(flow, 1) };
    (0..6).for_each(|packet| drop(enqueue_and_list_drops(&mut queue, Time::ZERO, of(packet % 2))));
    for _ in 0..4000 {
        let left = queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap();
        bytes[left.flow as usize] += u64::from(left.size);
        enqueue_and_list_drops(&mut queue, Time::ZERO, left);
    }
    let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
    assert!((share - 0.5).abs() < 0.01, "{bytes:?}");
}

#[test]
fn a_packet_of_megabytes_does_not_stall_slots_of_a_byte() {
    // Its excess is four thousand million frames, which pass in one step.
    let config = HrrConfig {
        slot: Bytes::new(1),
        frame_slots: 1,
        lower_slots: 0,
        levels: 2,
        weights: Weights::default(),
    };
    let mut queue = Hrr::new(Limit::Unlimited, config);
    for packet in 0..3 {
        enqueue_and_list_drops(&mut queue, Time::ZERO, Entry { packet, size: u32::MAX, ..entry(packet, 1) });
    }
    assert_eq!(dequeue_all(&mut queue, Time::ZERO), [0, 1, 2]);
}

#[test]
fn an_empty_flow_keeps_what_it_has_used_until_the_frame_ends() {
    // Flow 1 has had its slot of 4 and comes back in the same frame: the slots of flows 2 and 3 come first.
    let mut queue = Hrr::new(Limit::Unlimited, config(4, 0, 1));
    for flow in [1, 2, 3] {
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(flow, 1));
    }
    let mut next = || queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap().flow;
    assert_eq!(next(), 1);
    enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 1));
    let mut next = || queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap().flow;
    assert_eq!([next(), next(), next()], [2, 3, 1]);
    assert!(queue.levels[0].absent.is_empty() && queue.levels[0].own_slots == 4, "all frames begin anew");
}

#[test]
fn a_full_buffer_takes_from_the_longest_flow() {
    let mut queue = Hrr::new(Limit::Packets(3), config(4, 2, 2));
    for packet in 0..3 {
        assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, Entry { packet, ..entry(1, 1) }).is_empty());
    }
    assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, Entry { packet: 3, ..entry(2, 2) }), [2]);
    assert_eq!(dequeue_all(&mut queue, Time::ZERO), [0, 1, 3]);
}

#[test]
fn configurations_out_of_range_are_refused() {
    let good = HrrConfig::default();
    assert_eq!(good.check(), Ok(()));
    for bad in [
        HrrConfig { slot: Bytes::new(0), ..good },
        HrrConfig { frame_slots: 0, lower_slots: 0, ..good },
        HrrConfig { frame_slots: HrrConfig::MAX_FRAME + 1, ..good },
        HrrConfig { lower_slots: good.frame_slots, ..good },
        HrrConfig { levels: 0, ..good },
        HrrConfig { levels: 7, ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}
