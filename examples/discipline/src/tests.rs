//! Tests of the discipline's rules, and of its description.

use super::*;
use crate::mark_above::{MARK_ABOVE, MarkAboveConfig};
use thalweg_proto::Ecn;
use thalweg_proto::random::RandomStream;

fn queue(limit: Limit) -> NewestFirst {
    let config = NewestFirstConfig { max_delay: Duration::from_millis(100) };
    config.make(limit, &mut |purpose| RandomStream::new(1, purpose, 0))
}

fn entry(packet: u32) -> Entry {
    Entry { packet, size: 1000, flow: 0, priority: 6, is_feedback: false, ecn: Ecn::NotEct, marked: false }
}

/// Enqueues a packet at `millis`; returns the dropped packets.
fn enqueue(queue: &mut NewestFirst, millis: u64, entry: Entry) -> Vec<(u32, DropReason)> {
    let mut dropped = Vec::new();
    queue.enqueue(Time::ZERO + Duration::from_millis(millis), entry, &mut dropped);
    dropped.iter().map(|drop| (drop.entry.packet, drop.reason)).collect()
}

/// Dequeues all packets at `millis`; returns those that leave and those that are dropped.
fn drain(queue: &mut NewestFirst, millis: u64) -> (Vec<u32>, Vec<(u32, DropReason)>) {
    let (now, mut dropped) = (Time::ZERO + Duration::from_millis(millis), Vec::new());
    let left = std::iter::from_fn(|| queue.dequeue(now, &mut dropped)).map(|entry| entry.packet).collect();
    assert_eq!((queue.packets(), queue.bytes()), (0, 0));
    (left, dropped.iter().map(|drop| (drop.entry.packet, drop.reason)).collect())
}

#[test]
fn the_newest_packet_leaves_first_and_old_ones_are_dropped() {
    let mut queue = queue(Limit::Unlimited);
    for (packet, millis) in [(1, 0), (2, 50), (3, 90)] {
        assert_eq!(enqueue(&mut queue, millis, entry(packet)), []);
    }
    assert_eq!((queue.packets(), queue.bytes()), (3, 3000));
    // At 120 ms packet 1 has waited for 120 ms, packet 2 for 70 ms.
    assert_eq!(drain(&mut queue, 120), (vec![3, 2], vec![(1, DropReason::Early)]));
}

#[test]
fn a_full_queue_drops_the_oldest() {
    for limit in [Limit::Packets(2), Limit::Bytes(2999)] {
        let mut queue = queue(limit);
        assert_eq!(enqueue(&mut queue, 0, entry(1)), []);
        assert_eq!(enqueue(&mut queue, 0, entry(2)), []);
        assert_eq!(enqueue(&mut queue, 0, entry(3)), [(1, DropReason::Full)]);
        assert_eq!(drain(&mut queue, 0).0, [3, 2]);
    }
}

#[test]
fn urgent_packets_leave_first_in_order_and_drop_no_other() {
    let mut queue = queue(Limit::Packets(3));
    let urgent = |packet| Entry { is_feedback: true, ..entry(packet) };
    assert_eq!(enqueue(&mut queue, 0, urgent(1)), []);
    assert_eq!(enqueue(&mut queue, 0, entry(2)), []);
    assert_eq!(enqueue(&mut queue, 0, urgent(3)), []);
    assert_eq!(enqueue(&mut queue, 0, urgent(4)), [(4, DropReason::Full)]);
    assert_eq!(enqueue(&mut queue, 0, entry(5)), [(2, DropReason::Full)]);
    assert_eq!(drain(&mut queue, 0).0, [1, 3, 5]);
}

/// A key whose kind or name does not fit its field panics here.
#[test]
fn each_field_has_its_key() {
    let spec = NEWEST_FIRST.default_spec(Limit::Packets(1));
    let config = spec.config::<NewestFirstConfig>();
    assert_eq!(config, Some(&NewestFirstConfig { max_delay: Duration::from_millis(100) }));
}

/// Of packets that arrive at a queue of two, one is marked if it is ECN-capable and dropped otherwise; an urgent one is
/// neither.
#[test]
fn arrivals_at_the_threshold_are_marked_or_dropped() {
    let config = MarkAboveConfig { threshold: 2 };
    let mut queue = config.make(Limit::Packets(4), &mut |purpose| RandomStream::new(1, purpose, 0));
    let mut dropped = Vec::new();
    let arrivals = [entry(1), entry(2), entry(3), Entry { ecn: Ecn::Ect0, ..entry(4) }];
    let urgent = Entry { is_feedback: true, ..entry(5) };
    for arrival in arrivals.into_iter().chain([urgent, Entry { ecn: Ecn::Ect0, ..entry(6) }]) {
        queue.enqueue(Time::ZERO, arrival, &mut dropped);
    }
    let drops: Vec<_> = dropped.iter().map(|drop| (drop.entry.packet, drop.reason)).collect();
    assert_eq!(drops, [(3, DropReason::Early), (6, DropReason::Full)]);
    assert_eq!((queue.packets(), queue.bytes()), (4, 4000));
    let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut dropped));
    let left: Vec<_> = left.map(|entry| (entry.packet, entry.marked)).collect();
    assert_eq!(left, [(5, false), (1, false), (2, false), (4, true)]);
    let spec = MARK_ABOVE.default_spec(Limit::Packets(1));
    assert_eq!(spec.config::<MarkAboveConfig>(), Some(&MarkAboveConfig { threshold: 20 }));
}
