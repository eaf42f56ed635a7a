//! Tests Fair Queueing: the order of bids, the delay bound, drops and marks.

use super::*;
use crate::test_helpers::ordinary_entry;
use thalweg_proto::Ecn;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::Duration;

/// At 8 Mbit/s a byte takes a microsecond.
fn queue(limit: Limit, config: FairQueueingConfig) -> FairQueueing {
    let mut queue = FairQueueing::new(limit, config);
    queue.set_rate(Rate::from_mbits_per_sec(8));
    queue
}

fn plain(limit: Limit) -> FairQueueing {
    queue(limit, FairQueueingConfig::default())
}

fn entry(packet: u32, flow: u32, size: u32) -> Entry {
    Entry { size, flow, ecn: Ecn::Ect0, ..ordinary_entry(packet) }
}

fn us(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Enqueues at `at`; returns the dropped packets.
fn offer(queue: &mut FairQueueing, at: u64, entry: Entry) -> Vec<u32> {
    let mut dropped = Vec::new();
    queue.enqueue(us(at), entry, &mut dropped);
    dropped.iter().map(|drop| drop.entry.packet).collect()
}

/// Serves all queued packets from `at` on; returns them in the order of service.
fn drain(queue: &mut FairQueueing, mut at: u64) -> Vec<u32> {
    let mut order = Vec::new();
    while let Some(entry) = queue.dequeue(us(at), &mut Vec::new()) {
        order.push(entry.packet);
        at += u64::from(entry.size);
    }
    order
}

#[test]
fn packets_leave_in_the_order_of_their_finish_numbers() {
    // Finish numbers of flow 1: 100, 200, 300; of flow 2: 250.
    let mut queue = plain(Limit::Unlimited);
    for (packet, flow, size) in [(1, 1, 100), (2, 1, 100), (3, 1, 100), (4, 2, 250)] {
        offer(&mut queue, 0, entry(packet, flow, size));
    }
    assert_eq!(drain(&mut queue, 0), [1, 2, 4, 3]);
}

#[test]
fn an_arrival_begins_in_the_round_of_its_time() {
    // Two flows with packets of 1000 bytes. At 2400 us each has received 1200 bytes of bit-by-bit service: a packet of
    // 700 finishes at 1900, before the second packet of flow 2 at 2000; one of 900 finishes after it, at 2100.
    for (size, expected) in [(700, [9, 11, 2]), (900, [11, 9, 2])] {
        let mut queue = plain(Limit::Unlimited);
        for packet in 0..3 {
            offer(&mut queue, 0, entry(packet, 1, 1000));
            offer(&mut queue, 0, entry(10 + packet, 2, 1000));
        }
        for (at, packet) in [(0, 0), (1000, 10), (2000, 1)] {
            assert_eq!(queue.dequeue(us(at), &mut Vec::new()).map(|entry| entry.packet), Some(packet));
        }
        offer(&mut queue, 2400, entry(9, 3, size));
        assert_eq!(drain(&mut queue, 3000)[..3], expected);
    }
}

#[test]
fn promptness_favours_flows_that_have_sent_little() {
    // As above with 900 bytes: a promptness of 200 bytes lets it begin at 1000, for a bid of 1900. The service used is
    // charged all the same: its next packet begins at the finish number of the first.
    let mut queue = queue(
        Limit::Unlimited,
        FairQueueingConfig { promptness: Bytes::new(200), ..FairQueueingConfig::default() },
    );
    for packet in 0..3 {
        offer(&mut queue, 0, entry(packet, 1, 1000));
        offer(&mut queue, 0, entry(10 + packet, 2, 1000));
    }
    for at in [0, 1000, 2000] {
        queue.dequeue(us(at), &mut Vec::new());
    }
    offer(&mut queue, 2400, entry(8, 3, 900));
    offer(&mut queue, 2400, entry(9, 3, 900));
    // Bids: 8 has 1900, 11 has 2000, 9 has 2100 + 900, equal to 2 and 12, which arrived first.
    assert_eq!(drain(&mut queue, 3000), [8, 11, 2, 12, 9]);
}

#[test]
fn departures_lag_bit_by_bit_service_by_at_most_one_packet() {
    // The bound of Parekh and Gallager (1993, theorem 1) on random arrivals of eight flows: the longest packet takes
    // 1500 us. The fluid model is computed from event to event.
    for seed in 0..4 {
        let mut stream = RandomStream::new(seed, "test", 0);
        let mut arrivals = Vec::new();
        let mut at = 0;
        for packet in 0..200u32 {
            at += stream.below(1000);
            arrivals.push((at, entry(packet, stream.below(8) as u32, 40 + stream.below(1461) as u32)));
        }
        let fluid = fluid_departures(&arrivals);
        let mut queue = plain(Limit::Unlimited);
        let (mut free_at, mut next, mut served) = (0, 0, 0);
        while served < arrivals.len() {
            while next < arrivals.len() && arrivals[next].0 <= free_at {
                offer(&mut queue, arrivals[next].0, arrivals[next].1);
                next += 1;
            }
            let Some(entry) = queue.dequeue(us(free_at), &mut Vec::new()) else {
                free_at = arrivals[next].0;
                continue;
            };
            free_at += u64::from(entry.size);
            served += 1;
            assert!(free_at as f64 <= fluid[entry.packet as usize] + 1502.0, "{entry:?} left at {free_at}");
        }
        assert!(queue.lanes.places() <= 8);
    }
}

/// Returns the departure times in the fluid model: at any moment every flow with packets gets the same rate.
fn fluid_departures(arrivals: &[(u64, Entry)]) -> Vec<f64> {
    let mut left: Vec<VecDeque<(u32, f64)>> = vec![VecDeque::new(); 8];
    let mut departures = vec![0.0; arrivals.len()];
    let (mut now, mut next) = (0.0, 0);
    while next < arrivals.len() || left.iter().any(|flow| !flow.is_empty()) {
        let active = left.iter().filter(|flow| !flow.is_empty()).count() as f64;
        // To the next departure or arrival, whichever is sooner.
        let minimum = left.iter().filter_map(|flow| flow.front()).map(|head| head.1).fold(f64::MAX, f64::min);
        let arrives = arrivals.get(next).map_or(f64::MAX, |arrival| arrival.0 as f64);
        let step = (minimum * active.max(1.0)).min(arrives - now);
        now += step;
        for flow in left.iter_mut().filter(|flow| !flow.is_empty()) {
            flow[0].1 -= step / active;
            if flow[0].1 < 1e-6 {
                departures[flow[0].0 as usize] = now;
                flow.pop_front();
            }
        }
        while next < arrivals.len() && arrivals[next].0 as f64 <= now + 1e-6 {
            let entry = arrivals[next].1;
            left[entry.flow as usize].push_back((entry.packet, f64::from(entry.size)));
            next += 1;
        }
    }
    departures
}

#[test]
fn backlogged_flows_get_equal_bytes_for_any_packet_size() {
    // Packets of 1500, 500 and 40 bytes for 3 s: shares differ by no more than the longest packet.
    let mut queue = plain(Limit::Unlimited);
    let sizes = [1500, 500, 40];
    let (mut bytes_served, mut at) = ([0u64; 3], 0);
    for flow in [0, 1, 2, 0, 1, 2] {
        offer(&mut queue, 0, entry(0, flow, sizes[flow as usize]));
    }
    while at < 3_000_000 {
        let entry = queue.dequeue(us(at), &mut Vec::new()).unwrap();
        bytes_served[entry.flow as usize] += u64::from(entry.size);
        at += u64::from(entry.size);
        offer(&mut queue, at - 1, entry);
    }
    let (max, min) = (bytes_served.iter().max().unwrap(), bytes_served.iter().min().unwrap());
    assert!(max - min <= 1500, "{bytes_served:?}");
}

#[test]
fn the_largest_flow_loses_its_last_packets() {
    // 3000 bytes: flow 1 holds 4 x 600, flow 2 holds 600. An arrival of 1000 bytes costs flow 1 its last two.
    let mut queue = plain(Limit::Bytes(3000));
    for packet in 0..4 {
        assert!(offer(&mut queue, 0, entry(packet, 1, 600)).is_empty());
    }
    assert!(offer(&mut queue, 0, entry(4, 2, 600)).is_empty());
    assert_eq!(offer(&mut queue, 0, entry(5, 3, 1000)), [3, 2]);
    // Flow 3 uses 1000 of the 2800, flow 1 uses 1200, an arrival of flow 3 is then itself the last packet of the
    // largest flow.
    assert_eq!(offer(&mut queue, 0, entry(6, 3, 300)), [6]);
    // Larger than the buffer: its flow uses most, and only the arrival is dropped.
    assert_eq!(offer(&mut queue, 0, entry(7, 4, 9000)), [7]);
    assert_eq!((queue.packets(), queue.bytes()), (4, 2800));
}

#[test]
fn on_a_tie_the_arrival_is_dropped() {
    // Two flows hold two packets each of four: with a third packet either flow uses most.
    let mut queue = plain(Limit::Packets(4));
    for (packet, flow) in [(0, 1), (1, 2), (2, 1), (3, 2)] {
        assert!(offer(&mut queue, 0, entry(packet, flow, 100)).is_empty());
    }
    assert_eq!(offer(&mut queue, 0, entry(4, 1, 100)), [4]);
    assert_eq!(offer(&mut queue, 0, entry(5, 2, 100)), [5]);
    assert_eq!(offer(&mut queue, 0, entry(6, 3, 100)), [3]);
    // Now flows 1, 2, 3 hold 2, 1, 1.
    assert_eq!(offer(&mut queue, 0, entry(7, 3, 100)), [7]);
}

#[test]
fn dropped_packets_are_not_charged_to_their_flow() {
    // Flow 1 loses its second and third packet to other flows; a new one finishes at 200 again, before flow 2's third
    // at 300.
    let mut queue = plain(Limit::Packets(5));
    for (packet, flow) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)] {
        offer(&mut queue, 0, entry(packet, flow, 100));
    }
    assert_eq!(offer(&mut queue, 0, entry(5, 2, 100)), [5]);
    assert_eq!(offer(&mut queue, 0, entry(6, 3, 100)), [2]);
    assert_eq!(queue.dequeue(us(0), &mut Vec::new()).map(|entry| entry.packet), Some(0));
    assert_eq!(offer(&mut queue, 1, entry(7, 1, 100)), [0u32; 0]);
    assert_eq!(drain(&mut queue, 100), [3, 6, 1, 4, 7]);
}

#[test]
fn packets_beyond_the_share_are_marked() {
    // A limit of 12 packets. Alone, flow 1 may hold 12; with a second flow, 6 each: only its seventh packet is marked.
    let config = FairQueueingConfig { mark_above: Some(1.0), ..FairQueueingConfig::default() };
    let mut queue = queue(Limit::Packets(12), config);
    offer(&mut queue, 0, entry(99, 2, 100));
    for packet in 0..7 {
        offer(&mut queue, 0, entry(packet, 1, 100));
    }
    let packet = Entry { ecn: Ecn::NotEct, ..entry(7, 1, 100) };
    offer(&mut queue, 0, packet);
    let mut marked = Vec::new();
    while let Some(entry) = queue.dequeue(us(0), &mut Vec::new()) {
        marked.extend(entry.marked.then_some(entry.packet));
    }
    // The eighth is not ECN-capable, and not marked.
    assert_eq!(marked, [6]);
}

#[test]
fn urgent_packets_leave_first_and_push_nothing_out() {
    let urgent = |packet| Entry { is_feedback: true, ..entry(packet, 5, 10) };
    let mut queue = plain(Limit::Packets(3));
    offer(&mut queue, 0, entry(0, 1, 10));
    offer(&mut queue, 0, urgent(1));
    offer(&mut queue, 0, entry(2, 1, 10));
    assert_eq!(offer(&mut queue, 0, urgent(3)), [3]);
    assert_eq!(queue.peek().map(|entry| entry.packet), Some(1));
    assert_eq!(drain(&mut queue, 0), [1, 0, 2]);
}

#[test]
fn finished_flows_are_removed() {
    // A million packets of as many flows, ten of them at a time: there are never many lanes.
    let mut queue = plain(Limit::Packets(10));
    let mut stream = RandomStream::new(1, "test", 0);
    for packet in 0..1_000_000u32 {
        let at = u64::from(packet) * 100;
        offer(&mut queue, at, entry(packet, packet, 40 + stream.below(100) as u32));
        queue.dequeue(us(at), &mut Vec::new());
    }
    assert!(queue.lanes.places() < 64, "{}", queue.lanes.places());
}
