//! Occupancy of a queue relative to its limit.

use crate::{DropReason, DroppedPacket, Entry, Limit};
use std::collections::VecDeque;

/// Occupancy and limit, for disciplines with several queues under one limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupancy {
    limit: Limit,
    packets: u64,
    bytes: u64,
}

impl Occupancy {
    /// Creates an empty occupancy.
    pub(crate) const fn new(limit: Limit) -> Self {
        Self { limit, packets: 0, bytes: 0 }
    }

    /// Returns the limit.
    pub(crate) const fn limit(&self) -> Limit {
        self.limit
    }

    /// Changes the limit; the caller drops the excess.
    pub(crate) const fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Drops urgent packets from the tail until the rest fits.
    pub(crate) fn drop_excess_urgent(
        &mut self,
        urgent: &mut VecDeque<Entry>,
        dropped: &mut Vec<DroppedPacket>,
    ) {
        while self.is_exceeded() {
            let Some(entry) = urgent.pop_back() else { return };
            self.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    /// Returns true if a packet of `size` bytes fits.
    pub(crate) const fn fits(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets < limit,
            Limit::Bytes(limit) => size as u64 <= limit.saturating_sub(self.bytes),
            Limit::Unlimited => true,
        }
    }

    /// Returns true if the occupancy exceeds the limit.
    pub(crate) const fn is_exceeded(&self) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets > limit,
            Limit::Bytes(limit) => self.bytes > limit,
            Limit::Unlimited => false,
        }
    }

    /// Returns the size of `entry` in the unit of the limit: 1 packet, or its bytes.
    pub(crate) const fn size_in_limit_units(&self, entry: &Entry) -> u64 {
        match self.limit {
            Limit::Packets(_) => 1,
            Limit::Bytes(_) | Limit::Unlimited => entry.size as u64,
        }
    }

    /// Counts an enqueued packet.
    pub(crate) fn add(&mut self, entry: &Entry) {
        self.packets += 1;
        self.bytes += u64::from(entry.size);
    }

    /// Ceases to count a dequeued or dropped packet.
    pub(crate) fn remove(&mut self, entry: &Entry) {
        self.packets -= 1;
        self.bytes -= u64::from(entry.size);
    }

    /// Enqueues an urgent arrival, if it fits.
    pub(crate) fn enqueue_urgent(
        &mut self,
        entry: Entry,
        urgent: &mut VecDeque<Entry>,
        dropped: &mut Vec<DroppedPacket>,
    ) {
        if self.fits(entry.size) {
            self.add(&entry);
            urgent.push_back(entry);
        } else {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    /// Dequeues the first urgent packet, if any.
    pub(crate) fn dequeue_urgent(&mut self, urgent: &mut VecDeque<Entry>) -> Option<Entry> {
        let entry = urgent.pop_front()?;
        self.remove(&entry);
        Some(entry)
    }

    /// Returns the number of packets.
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
