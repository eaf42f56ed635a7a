//! Transmission buffer and retransmission queue of a sender; reordering buffer of a receiver.

use super::SequenceNumber;
use crate::endpoint::memory_charge;
use crate::payload::Payload;
use crate::state_digest::hash_all;
use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Sent SD.
#[derive(Clone, Debug)]
struct SentSd<P> {
    mu: P,
    /// VT(PS) at the last transmission.
    poll: SequenceNumber,
}

/// Transmission buffer and retransmission queue. Every SD has a position that does not wrap: the number of SDs stored
/// before it.
#[derive(Clone, Debug)]
pub(super) struct TransmissionBuffer<P> {
    /// SDs from VT(A) on; `None` for SDs acknowledged out of order.
    slots: VecDeque<Option<SentSd<P>>>,
    /// Position of the first SD.
    first: u64,
    /// Positions of the SDs to retransmit, lowest first, without duplicates.
    retransmissions: BTreeSet<u64>,
    /// Total number of acknowledged SDs.
    acknowledged: u64,
}

impl<P: Clone> TransmissionBuffer<P> {
    pub fn new() -> Self {
        Self { slots: VecDeque::new(), first: 0, retransmissions: BTreeSet::new(), acknowledged: 0 }
    }

    /// Appends an SD.
    pub fn push(&mut self, mu: P, poll: SequenceNumber) {
        self.slots.push_back(Some(SentSd { mu, poll }));
    }

    /// Returns the number of SDs from the first unacknowledged to the last sent one: VT(S) - VT(A).
    pub fn span(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Frees the first `count` SDs.
    pub fn acknowledge(&mut self, count: u32) {
        let freed = self.slots.drain(..(count as usize).min(self.slots.len()));
        self.acknowledged += freed.flatten().count() as u64;
        self.first += u64::from(count);
        // Acknowledged SDs also leave the retransmission queue.
        while self.retransmissions.first().is_some_and(|&place| place < self.first) {
            self.retransmissions.pop_first();
        }
    }

    /// Frees the SDs at `from..to`, counted from the first. SDs already free stay free.
    pub fn release(&mut self, from: u32, to: u32) {
        for offset in from..to.min(self.span()) {
            if self.slots[offset as usize].take().is_some() {
                self.acknowledged += 1;
                self.retransmissions.remove(&(self.first + u64::from(offset)));
            }
        }
    }

    /// Returns VT(PS) at the last transmission of the SD `offset` after the first; `None` if the SD is free.
    pub fn poll_of(&self, offset: u32) -> Option<SequenceNumber> {
        Some(self.slots.get(offset as usize)?.as_ref()?.poll)
    }

    /// Queues an SD for retransmission; returns false if it is queued already.
    pub fn request(&mut self, offset: u32) -> bool {
        self.retransmissions.insert(self.first + u64::from(offset))
    }

    /// Returns the total number of acknowledged SDs, in order or not.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns true if a retransmission is queued.
    pub fn has_requests(&self) -> bool {
        !self.retransmissions.is_empty()
    }

    /// Returns the lowest SD to retransmit.
    pub fn requested(&self) -> Option<&P> {
        let offset = (self.retransmissions.first()? - self.first) as usize;
        self.slots.get(offset)?.as_ref().map(|sent| &sent.mu)
    }

    /// Removes the lowest SD to retransmit from the queue; returns its offset from the first, and the message.
    pub fn take_request(&mut self, poll: SequenceNumber) -> Option<(u32, P)> {
        let offset = (self.retransmissions.pop_first()? - self.first) as u32;
        let sent = self.slots.get_mut(offset as usize)?.as_mut()?;
        sent.poll = poll;
        Some((offset, sent.mu.clone()))
    }

    /// Removes an SD from the buffer, for retrieval.
    pub fn retrieve(&mut self, offset: u32) -> Option<P> {
        let sent = self.slots.get_mut(offset as usize)?.take()?;
        self.retransmissions.remove(&(self.first + u64::from(offset)));
        Some(sent.mu)
    }

    /// Empties the retransmission queue.
    pub fn clear_requests(&mut self) {
        self.retransmissions.clear();
    }

    pub fn clear(&mut self) {
        self.first += self.slots.len() as u64;
        self.slots.clear();
        self.retransmissions.clear();
    }
}

impl<P: Hash> TransmissionBuffer<P> {
    /// Feeds `into` with the contents; positions are relative to the first SD, POLL numbers to `latest`.
    pub fn feed_state<H: Hasher>(&self, latest: SequenceNumber, into: &mut H) {
        let Self { slots, first, retransmissions: again, acknowledged: _ } = self;
        hash_all(into, (slots.len(), again.len()));
        for slot in slots {
            hash_all(into, slot.as_ref().map(|SentSd { mu, poll }| (mu, latest.distance_from(*poll))));
        }
        for place in again {
            hash_all(into, place - first);
        }
    }
}

/// Receive buffer of out-of-order messages, by position.
#[derive(Clone, Debug)]
pub(super) struct ReceiverBuffer<P> {
    messages: BTreeMap<u64, P>,
    /// Memory charged for the messages, in bytes, and its limit.
    held_bytes: u64,
    pub memory: u64,
}

impl<P: Payload> ReceiverBuffer<P> {
    /// Creates a buffer without a limit.
    pub fn new() -> Self {
        Self { messages: BTreeMap::new(), held_bytes: 0, memory: u64::MAX }
    }

    pub fn has_memory_for(&self, mu: &P) -> bool {
        self.held_bytes.saturating_add(memory_charge(mu)) <= self.memory
    }

    pub fn contains(&self, place: u64) -> bool {
        self.messages.contains_key(&place)
    }

    pub fn insert(&mut self, place: u64, mu: P) {
        self.held_bytes += memory_charge(&mu);
        if let Some(before) = self.messages.insert(place, mu) {
            self.held_bytes -= memory_charge(&before);
        }
    }

    pub fn remove(&mut self, place: u64) -> Option<P> {
        let mu = self.messages.remove(&place)?;
        self.held_bytes -= memory_charge(&mu);
        Some(mu)
    }

    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.messages.keys().copied()
    }

    pub fn clear(&mut self) {
        self.messages.clear();
        self.held_bytes = 0;
    }

    /// Removes and returns all messages, lowest first.
    pub fn take(&mut self) -> BTreeMap<u64, P> {
        self.held_bytes = 0;
        core::mem::take(&mut self.messages)
    }
}

impl<P: Hash> ReceiverBuffer<P> {
    /// Feeds `into` with the messages; positions are relative to `first`.
    pub fn feed_state<H: Hasher>(&self, first: u64, into: &mut H) {
        hash_all(into, self.messages.len());
        for (place, mu) in &self.messages {
            hash_all(into, (place - first, mu));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledged_sds_are_not_retransmitted() {
        let mut buffer = TransmissionBuffer::new();
        for mu in 'a'..='f' {
            buffer.push(mu, SequenceNumber::ZERO);
        }
        assert!(buffer.request(4) && buffer.request(1) && buffer.request(2) && !buffer.request(4));
        buffer.acknowledge(2);
        buffer.release(0, 1);
        let poll = SequenceNumber::new(9);
        assert_eq!(buffer.take_request(poll), Some((2, 'e')));
        assert_eq!((buffer.take_request(poll), buffer.poll_of(2)), (None, Some(poll)));
        assert_eq!((buffer.span(), buffer.poll_of(0), buffer.retrieve(1)), (4, None, Some('d')));
    }
}
