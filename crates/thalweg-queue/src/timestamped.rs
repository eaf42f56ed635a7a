//! FIFO of packets with arrival timestamps.

use crate::occupancy::Occupancy;
use crate::{Dropped, Entry, Limit};
use std::collections::VecDeque;
use thalweg_proto::units::Time;

/// Timestamped FIFO with a separate queue for urgent packets.
#[derive(Clone, Debug)]
pub(crate) struct TimestampedQueue {
    pub(crate) occupancy: Occupancy,
    pub(crate) urgent: VecDeque<Entry>,
    queue: VecDeque<(Entry, Time)>,
}

impl TimestampedQueue {
    pub(crate) const fn new(limit: Limit) -> Self {
        Self { occupancy: Occupancy::new(limit), urgent: VecDeque::new(), queue: VecDeque::new() }
    }

    /// Enqueues an ordinary packet, if it fits.
    pub(crate) fn store(&mut self, now: Time, entry: Entry, dropped: &mut Vec<Dropped>) {
        if self.occupancy.fits(entry.size) {
            self.occupancy.add(&entry);
            self.queue.push_back((entry, now));
        } else {
            dropped.push(Dropped { entry, reason: crate::DropReason::Full });
        }
    }

    /// Changes the limit, and drops the latest arrivals, ordinary packets first.
    pub(crate) fn set_limit(&mut self, limit: Limit, dropped: &mut Vec<Dropped>) {
        self.occupancy.set_limit(limit);
        while self.occupancy.is_exceeded() {
            let Some((entry, _)) = self.queue.pop_back() else { break };
            self.occupancy.remove(&entry);
            dropped.push(Dropped { entry, reason: crate::DropReason::Full });
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }

    /// Dequeues the first urgent packet.
    pub(crate) fn pop_urgent(&mut self) -> Option<Entry> {
        self.occupancy.dequeue_urgent(&mut self.urgent)
    }

    /// Dequeues the first ordinary packet with its arrival time.
    pub(crate) fn pop(&mut self) -> Option<(Entry, Time)> {
        let (entry, since) = self.queue.pop_front()?;
        self.occupancy.remove(&entry);
        Some((entry, since))
    }
}
