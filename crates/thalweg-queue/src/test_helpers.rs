//! Helpers for tests of disciplines.

use crate::discipline_interface::{Discipline, Entry};
use thalweg_proto::Ecn;
use thalweg_proto::units::Time;

/// Returns an ordinary packet of 1000 bytes of flow 0.
pub fn ordinary_entry(packet: u32) -> Entry {
    Entry { packet, size: 1000, flow: 0, priority: 6, is_feedback: false, ecn: Ecn::NotEct, marked: false }
}

/// Enqueues a packet, and returns the dropped packets.
pub fn enqueue_and_list_drops(queue: &mut impl Discipline, now: Time, entry: Entry) -> Vec<u32> {
    let mut dropped = Vec::new();
    queue.enqueue(now, entry, &mut dropped);
    dropped.iter().map(|drop| drop.entry.packet).collect()
}

/// Dequeues all packets in service order. Nothing may be dropped.
pub fn dequeue_all(queue: &mut impl Discipline, now: Time) -> Vec<u32> {
    let mut dropped = Vec::new();
    let left = std::iter::from_fn(|| queue.dequeue(now, &mut dropped)).map(|entry| entry.packet).collect();
    assert!(dropped.is_empty());
    left
}
