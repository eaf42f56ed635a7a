//! FIFO of packets with arrival timestamps.

use crate::queue_occupancy::Occupancy;
use crate::{DroppedPacket, Entry, Limit};
use std::collections::VecDeque;
use thalweg_proto::units::Time;

/// FIFO of packets with their arrival times, for disciplines that act on queueing delays. Urgent packets have a queue of
/// their own, without times. Not a discipline by itself.
#[derive(Clone, Debug)]
pub struct TimestampedQueue {
    pub(crate) occupancy: Occupancy,
    pub(crate) urgent: VecDeque<Entry>,
    queue: VecDeque<(Entry, Time)>,
}

impl TimestampedQueue {
    /// Creates an empty queue with this limit.
    pub const fn new(limit: Limit) -> Self {
        Self { occupancy: Occupancy::new(limit), urgent: VecDeque::new(), queue: VecDeque::new() }
    }

    /// Enqueues a packet that arrives at `now`. Appends it to `dropped` if it does not fit.
    pub fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
        } else {
            self.store(now, entry, dropped);
        }
    }

    /// Returns the number of queued packets.
    pub const fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    /// Returns the number of queued bytes.
    pub const fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    /// Enqueues an ordinary packet, if it fits.
    pub(crate) fn store(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if self.occupancy.fits(entry.size) {
            self.occupancy.add(&entry);
            self.queue.push_back((entry, now));
        } else {
            dropped.push(DroppedPacket { entry, reason: crate::DropReason::Full });
        }
    }

    /// Changes the limit, and drops the latest arrivals, ordinary packets first.
    pub(crate) fn set_limit(&mut self, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.occupancy.set_limit(limit);
        while self.occupancy.is_exceeded() {
            let Some((entry, _)) = self.queue.pop_back() else { break };
            self.occupancy.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: crate::DropReason::Full });
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }

    /// Dequeues the first urgent packet.
    pub fn pop_urgent(&mut self) -> Option<Entry> {
        self.occupancy.dequeue_urgent(&mut self.urgent)
    }

    /// Dequeues the first ordinary packet with its arrival time.
    pub fn pop(&mut self) -> Option<(Entry, Time)> {
        let (entry, since) = self.queue.pop_front()?;
        self.occupancy.remove(&entry);
        Some((entry, since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::units::Duration;

    #[test]
    fn packets_leave_with_their_arrival_times_and_urgent_ones_separately() {
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let (mut queue, mut dropped) = (TimestampedQueue::new(Limit::Packets(3)), Vec::new());
        let urgent = Entry { is_feedback: true, ..ordinary_entry(9) };
        queue.enqueue(ms(1), ordinary_entry(1), &mut dropped);
        queue.enqueue(ms(2), urgent, &mut dropped);
        queue.enqueue(ms(3), ordinary_entry(2), &mut dropped);
        queue.enqueue(ms(4), ordinary_entry(3), &mut dropped);
        assert_eq!(dropped, [DroppedPacket { entry: ordinary_entry(3), reason: crate::DropReason::Full }]);
        assert_eq!((queue.packets(), queue.bytes()), (3, 3 * u64::from(urgent.size)));
        assert_eq!((queue.pop_urgent(), queue.pop_urgent()), (Some(urgent), None));
        assert_eq!(
            (queue.pop(), queue.pop()),
            (Some((ordinary_entry(1), ms(1))), Some((ordinary_entry(2), ms(3))))
        );
        assert_eq!((queue.pop(), queue.packets(), queue.bytes()), (None, 0, 0));
    }
}
