//! The queue discipline FIFO (first come, first served), with drop-tail.

use crate::{
    AckFilter, Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, Traits,
};
use std::collections::VecDeque;
use thalweg_proto::units::Time;

/// Configuration of [`Fcfs`], without parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FcfsConfig;

/// FIFO with drop-tail: an arrival at a full queue is dropped.
///
/// Urgent entries leave before all ordinary ones, in arrival order. They count towards the limit like any other: an
/// urgent arrival at a full queue is dropped, and never displaces another packet (Liang 1991, 3.2.2).
///
/// An empty queue uses no heap, so a network may have any number of idle queues.
#[derive(Clone, Debug)]
pub struct Fcfs {
    /// Urgent entries, then ordinary ones. A single deque keeps the value within a cache line.
    queue: VecDeque<Entry>,
    /// Number of urgent entries at the front.
    urgent: usize,
    bytes: u64,
    limit: Limit,
}

impl Fcfs {
    /// Creates an empty queue with this limit. A limit of zero holds nothing.
    pub const fn new(limit: Limit) -> Self {
        Self { queue: VecDeque::new(), urgent: 0, bytes: 0, limit }
    }

    /// Returns the limit.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns true if an arrival of `size` bytes fits.
    #[inline]
    pub(crate) fn fits(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(limit) => (self.queue.len() as u64) < limit,
            Limit::Bytes(limit) => u64::from(size) <= limit.saturating_sub(self.bytes),
            Limit::Unlimited => true,
        }
    }

    /// Enqueues `entry` without checking the limit.
    #[inline]
    pub(crate) fn store(&mut self, entry: Entry) {
        self.bytes += u64::from(entry.size);
        if entry.is_feedback {
            self.push_urgent(entry);
        } else {
            self.queue.push_back(entry);
        }
    }

    /// Enqueues an urgent entry. Kept out of line, so ordinary packets do not pay for the code.
    #[cold]
    fn push_urgent(&mut self, entry: Entry) {
        self.queue.insert(self.urgent, entry);
        self.urgent += 1;
    }

    /// Returns the entry at `position`; 0 is the next to leave.
    pub(crate) fn get(&self, position: usize) -> Option<Entry> {
        self.queue.get(position).copied()
    }

    /// Removes the entry at `position`; the others keep their order.
    pub(crate) fn take(&mut self, position: usize) -> Option<Entry> {
        let entry = self.queue.remove(position)?;
        self.forget(entry);
        Some(entry)
    }

    /// Removes `superfluous` acknowledgements, as `filter` selects, now that `entry` arrived. Returns true if `entry`
    /// has replaced one of them.
    pub(crate) fn filter(
        &mut self,
        filter: AckFilter,
        entry: Entry,
        superfluous: impl Fn(&Entry) -> bool,
        dropped: &mut Vec<DroppedPacket>,
    ) -> bool {
        let mut found = (self.urgent..self.queue.len()).filter(|&at| superfluous(&self.queue[at]));
        let Some(first) = found.next() else { return false };
        let going: Vec<usize> = match filter {
            AckFilter::None => Vec::new(),
            AckFilter::Conservative => found.next().map(|_| first).into_iter().collect(),
            AckFilter::Newest => found.collect(),
        };
        let takes_place = filter == AckFilter::Newest;
        if takes_place {
            let old = core::mem::replace(&mut self.queue[first], entry);
            self.bytes = self.bytes - u64::from(old.size) + u64::from(entry.size);
            dropped.push(DroppedPacket { entry: old, reason: DropReason::Filtered });
        }
        for at in going.into_iter().rev() {
            let entry = self.take(at);
            dropped.extend(entry.map(|entry| DroppedPacket { entry, reason: DropReason::Filtered }));
        }
        takes_place
    }

    #[inline]
    fn forget(&mut self, entry: Entry) {
        self.bytes -= u64::from(entry.size);
        self.urgent -= usize::from(entry.is_feedback);
    }
}

impl Discipline for Fcfs {
    #[inline]
    fn enqueue(&mut self, _now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if self.fits(entry.size) {
            self.store(entry);
        } else {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        let entry = self.queue.pop_front()?;
        self.forget(entry);
        Some(entry)
    }

    #[inline]
    fn peek(&self) -> Option<&Entry> {
        self.queue.front()
    }

    #[inline]
    fn packets(&self) -> u64 {
        self.queue.len() as u64
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.limit = limit;
        let is_exceeded = |queue: &Self| match limit {
            Limit::Packets(limit) => queue.queue.len() as u64 > limit,
            Limit::Bytes(limit) => queue.bytes > limit,
            Limit::Unlimited => false,
        };
        while is_exceeded(self) {
            let Some(entry) = self.queue.pop_back() else { return };
            self.forget(entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }
}

impl DisciplineConfig for FcfsConfig {
    type Queue = Fcfs;
    const NAME: &'static str = "fcfs";

    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> Fcfs {
        Fcfs::new(limit)
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: true,
            drops_early: false,
            marks_ecn: false,
            is_random: false,
            enqueues_when_link_idle: false,
            depends_on_priority: false,
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        "queue".to_owned()
    }
}

#[cfg(test)]
mod tests {
    //! Tests drop-tail: accepted and dropped packets, and the service order.
    use super::*;
    use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};

    fn entry(packet: u32, size: u32, urgent: bool) -> Entry {
        Entry { size, is_feedback: urgent, ..ordinary_entry(packet) }
    }

    #[test]
    fn a_full_queue_drops_the_arrival() {
        // With a limit of two packets of any size, the third is dropped.
        let mut queue = Fcfs::new(Limit::Packets(2));
        assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 1500, false)).is_empty());
        assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(2, 40, false)).is_empty());
        let mut dropped = Vec::new();
        queue.enqueue(Time::ZERO, entry(3, 40, false), &mut dropped);
        assert_eq!(dropped, [DroppedPacket { entry: entry(3, 40, false), reason: DropReason::Full }]);
        assert_eq!((queue.packets(), queue.bytes()), (2, 1540));
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [1, 2]);
        assert_eq!((queue.packets(), queue.bytes()), (0, 0));
    }

    #[test]
    fn a_byte_limit_accepts_packets_up_to_the_remaining_bytes() {
        // 1000 bytes: 600 fit, then 500 do not, but 400 do, to the last byte; and then not even one.
        let mut queue = Fcfs::new(Limit::Bytes(1000));
        assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 600, false)).is_empty());
        assert!(!enqueue_and_list_drops(&mut queue, Time::ZERO, entry(2, 500, false)).is_empty());
        assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(3, 400, false)).is_empty());
        assert!(!enqueue_and_list_drops(&mut queue, Time::ZERO, entry(4, 1, false)).is_empty());
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [1, 3]);
    }

    #[test]
    fn urgent_entries_pass_ordinary_ones_but_not_each_other() {
        // Urgent 3 and 4 overtake the waiting 1 and 2, and stay in order.
        let mut queue = Fcfs::new(Limit::Unlimited);
        for (packet, urgent) in [(1, false), (2, false), (3, true), (4, true), (5, false)] {
            assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, 10, urgent)).is_empty());
        }
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [3, 4, 1, 2, 5]);
    }

    #[test]
    fn an_urgent_entry_that_finds_the_queue_full_is_dropped() {
        // No queued packet is displaced.
        let mut queue = Fcfs::new(Limit::Packets(1));
        assert!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, 10, false)).is_empty());
        assert!(!enqueue_and_list_drops(&mut queue, Time::ZERO, entry(2, 10, true)).is_empty());
        assert_eq!(dequeue_all(&mut queue, Time::ZERO), [1]);
    }

    /// Entries from 10 on stand for acknowledgements, which supersede all earlier ones; other entries stand for data.
    fn run_filter(filter: AckFilter, packets: &[u32], limit: u64) -> (Vec<u32>, Vec<u32>, u64) {
        let mut queue = Fcfs::new(Limit::Packets(limit));
        let mut dropped = Vec::new();
        for &packet in packets {
            let entry = entry(packet, 40, false);
            let is_ack = packet >= 10;
            if !is_ack || !queue.filter(filter, entry, |old| old.packet >= 10, &mut dropped) {
                queue.enqueue(Time::ZERO, entry, &mut dropped);
            }
        }
        assert_eq!(queue.bytes(), 40 * queue.packets());
        let full = dropped.iter().filter(|dropped| dropped.reason == DropReason::Full).count() as u64;
        let gone = dropped.iter().filter(|dropped| dropped.reason == DropReason::Filtered);
        let gone = gone.map(|dropped| dropped.entry.packet).collect();
        (dequeue_all(&mut queue, Time::ZERO), gone, full)
    }

    /// CAKE's `ack-filter` drops the first of two redundant acknowledgements: two are left of any number.
    #[test]
    fn a_conservative_filter_leaves_two() {
        let (left, gone, full) = run_filter(AckFilter::Conservative, &[10, 1, 11, 12, 2, 13, 14], 5);
        assert_eq!((left, gone, full), (vec![1, 2, 13, 14], vec![10, 11, 12], 0));
        let (left, gone, _) = run_filter(AckFilter::Conservative, &[10, 1, 11], 5);
        assert_eq!((left, gone), (vec![10, 1, 11], vec![]));
    }

    /// US patent application 2004/0213278: the newest acknowledgement replaces the old one, in a full queue as well.
    #[test]
    fn the_newest_acknowledgement_replaces_the_first() {
        let (left, gone, full) = run_filter(AckFilter::Newest, &[1, 10, 2, 11, 12, 3, 13], 3);
        assert_eq!((left, gone, full), (vec![1, 13, 2], vec![10, 11, 12], 1), "3 finds the queue full");
        let queue = run_filter(AckFilter::None, &[10, 11, 12], 2);
        assert_eq!(queue, (vec![10, 11], vec![], 1));
    }

    #[test]
    fn a_limit_of_zero_holds_nothing() {
        // Neither in packets nor in bytes; an empty packet fits into zero bytes.
        assert!(
            !enqueue_and_list_drops(&mut Fcfs::new(Limit::Packets(0)), Time::ZERO, entry(1, 0, false))
                .is_empty()
        );
        assert!(
            !enqueue_and_list_drops(&mut Fcfs::new(Limit::Bytes(0)), Time::ZERO, entry(1, 1, false))
                .is_empty()
        );
        assert!(
            enqueue_and_list_drops(&mut Fcfs::new(Limit::Bytes(0)), Time::ZERO, entry(1, 0, false))
                .is_empty()
        );
    }

    #[test]
    fn an_empty_queue_is_one_cache_line_and_no_heap() {
        // 40 000 queues that never hold anything must cost 64 bytes each.
        assert!(size_of::<Fcfs>() <= 64, "{}", size_of::<Fcfs>());
        assert_eq!(Fcfs::new(Limit::Packets(1_000_000)).queue.capacity(), 0);
    }
}
