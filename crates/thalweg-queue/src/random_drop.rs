//! The queue discipline Random Drop (Mankin 1990): a full queue drops a random packet.

use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Fcfs, Limit, RandomStreams, Traits,
};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::Time;

/// Configuration of [`RandomDrop`], without parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomDropConfig;

/// FIFO with random drop: if the queue is full, a random packet is dropped (Liang 1991, after Mankin 1990).
///
/// One uniform draw is made among all queued packets, including urgent ones, and the arrival. The drawn packet is
/// dropped. If it is queued and smaller than the arrival, the arrival is dropped instead: dropping the smaller packet
/// might not free enough space, and repeated draws might never end. Sizes are compared under a limit in packets too, as
/// the rule does not depend on the unit of the buffer.
///
/// An urgent arrival at a full queue is dropped without a draw. Otherwise urgent packets are served as by [`Fcfs`].
#[derive(Clone, Debug)]
pub struct RandomDrop {
    queue: Fcfs,
    stream: RandomStream,
}

impl RandomDrop {
    /// Creates an empty queue with this limit that draws from `stream`.
    pub const fn new(limit: Limit, stream: RandomStream) -> Self {
        Self { queue: Fcfs::new(limit), stream }
    }

    /// Returns the limit.
    pub const fn limit(&self) -> Limit {
        self.queue.limit()
    }

    /// Draws the victim, either the arrival or a queued packet that it replaces, and returns it.
    #[cold]
    fn overflow(&mut self, arrival: Entry) -> Entry {
        if arrival.is_feedback {
            return arrival;
        }
        // The position one past the last stands for the arrival.
        let drawn = self.stream.below(self.queue.packets() + 1) as usize;
        let Some(victim) = self.queue.get(drawn).filter(|victim| victim.size >= arrival.size) else {
            return arrival;
        };
        self.queue.take(drawn);
        self.queue.store(arrival);
        victim
    }
}

impl Discipline for RandomDrop {
    #[inline]
    fn enqueue(&mut self, _now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if self.queue.fits(entry.size) {
            self.queue.store(entry);
        } else {
            let entry = self.overflow(entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        self.queue.dequeue(now, dropped)
    }

    #[inline]
    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.queue.set_limit(now, limit, dropped);
    }
}

impl DisciplineConfig for RandomDropConfig {
    type Queue = RandomDrop;
    const NAME: &'static str = "random-drop";

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> RandomDrop {
        RandomDrop::new(limit, streams("random-drop"))
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: true,
            drops_early: false,
            marks_ecn: false,
            is_random: true,
            enqueues_when_link_idle: false,
            depends_on_priority: false,
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        "random-drop queue".to_owned()
    }
}

#[cfg(test)]
mod tests {
    //! Tests Random Drop: one uniform draw, spared smaller victims, and urgent arrivals that displace nothing.
    use super::*;
    use crate::test_helpers::{enqueue_and_list_drops, ordinary_entry};

    fn entry(packet: u32, size: u32) -> Entry {
        Entry { size, ..ordinary_entry(packet) }
    }

    fn queue(limit: Limit, stream: &RandomStream, sizes: &[u32]) -> RandomDrop {
        let mut queue = RandomDrop::new(limit, stream.clone());
        let mut dropped = Vec::new();
        for (packet, &size) in (0..).zip(sizes) {
            queue.enqueue(Time::ZERO, entry(packet, size), &mut dropped);
        }
        assert!(dropped.is_empty());
        queue
    }

    #[test]
    fn every_packet_and_the_arrival_are_dropped_equally_often() {
        // Four packets are queued, one arrives: each is dropped in a fifth of 50 000 trials, within 5 standard
        // deviations (447).
        let mut source = RandomStream::new(1, "test", 0);
        let mut counts = [0i32; 5];
        for _ in 0..50_000 {
            let mut queue = queue(Limit::Packets(4), &source, &[100; 4]);
            counts[enqueue_and_list_drops(&mut queue, Time::ZERO, entry(4, 100))[0] as usize] += 1;
            source = queue.stream;
        }
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 450), "{counts:?}");
    }

    #[test]
    fn an_overflow_takes_exactly_one_draw_and_other_arrivals_none() {
        // The stream afterwards is the original one after a single draw.
        let mut stream = RandomStream::new(2, "test", 0);
        let mut queue = queue(Limit::Packets(8), &stream, &[100; 8]);
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(8, 100));
        stream.next_u64();
        assert_eq!(queue.stream.next_u64(), stream.next_u64());
    }

    #[test]
    fn a_smaller_victim_is_spared() {
        // All queued packets are smaller than the arrival, so the arrival is dropped for any draw.
        for seed in 0..100 {
            let stream = RandomStream::new(seed, "test", 0);
            let mut queue = queue(Limit::Bytes(400), &stream, &[100, 99, 100, 100]);
            assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(4, 101)), [4]);
            assert_eq!(queue.bytes(), 399);
        }
    }

    #[test]
    fn a_victim_of_the_same_size_is_replaced_by_the_arrival() {
        // Some seed draws a queued packet; it is removed, the arrival is enqueued last, and the order is kept.
        let replaced = (0..100).any(|seed| {
            let mut queue = queue(Limit::Bytes(300), &RandomStream::new(seed, "test", 0), &[100; 3]);
            if enqueue_and_list_drops(&mut queue, Time::ZERO, entry(3, 100)) != [1] {
                return false;
            }
            let mut dropped = Vec::new();
            let left: Vec<u32> =
                std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut dropped)).map(|e| e.packet).collect();
            assert_eq!(left, [0, 2, 3]);
            true
        });
        assert!(replaced);
    }

    #[test]
    fn an_urgent_arrival_at_a_full_queue_is_dropped_without_a_draw() {
        // For any seed the urgent arrival is dropped, and the stream has not advanced.
        for seed in 0..50 {
            let mut stream = RandomStream::new(seed, "test", 0);
            let mut queue = queue(Limit::Packets(2), &stream, &[100; 2]);
            assert_eq!(
                enqueue_and_list_drops(&mut queue, Time::ZERO, Entry { is_feedback: true, ..entry(2, 1) }),
                [2]
            );
            assert_eq!(queue.stream.next_u64(), stream.next_u64());
        }
    }

    #[test]
    fn a_queue_with_limit_zero_drops_every_arrival() {
        // With a limit of zero only the arrival can be drawn.
        let mut queue = queue(Limit::Packets(0), &RandomStream::new(1, "test", 0), &[]);
        assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(7, 100)), [7]);
    }
}
