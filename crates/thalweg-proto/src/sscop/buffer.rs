//! The buffers of a sender: SDs kept until they are acknowledged, and those of them that are to be sent again; and of a receiver.

use super::Number;
use crate::digest::feed;
use crate::end::cost;
use crate::payload::Payload;
use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An SD that was sent.
#[derive(Clone, Debug)]
struct Sent<P> {
    mu: P,
    /// VT(PS) when it was last sent.
    poll: Number,
}

/// Transmission buffer and retransmission queue. Every SD has a place that does not wrap: how many were stored before.
#[derive(Clone, Debug)]
pub(super) struct TransmissionBuffer<P> {
    /// VT(A) and all after it; `None` for what was acknowledged out of order.
    slots: VecDeque<Option<Sent<P>>>,
    /// The place of the first.
    first: u64,
    /// The places of those to be sent again, lowest first, none twice.
    again: BTreeSet<u64>,
    /// SDs that were ever acknowledged.
    acknowledged: u64,
}

impl<P: Clone> TransmissionBuffer<P> {
    pub fn new() -> Self {
        Self { slots: VecDeque::new(), first: 0, again: BTreeSet::new(), acknowledged: 0 }
    }

    /// Stores the SD after the last.
    pub fn push(&mut self, mu: P, poll: Number) {
        self.slots.push_back(Some(Sent { mu, poll }));
    }

    /// SDs from the first unacknowledged one to the last sent: VT(S) - VT(A).
    pub fn span(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Frees the first `count`.
    pub fn acknowledge(&mut self, count: u32) {
        let freed = self.slots.drain(..(count as usize).min(self.slots.len()));
        self.acknowledged += freed.flatten().count() as u64;
        self.first += u64::from(count);
        // Also from the retransmission queue: nobody waits for them any more.
        while self.again.first().is_some_and(|&place| place < self.first) {
            self.again.pop_first();
        }
    }

    /// Frees those at `from..to`, counted from the first. What is free already stays so.
    pub fn release(&mut self, from: u32, to: u32) {
        for offset in from..to.min(self.span()) {
            if self.slots[offset as usize].take().is_some() {
                self.acknowledged += 1;
                self.again.remove(&(self.first + u64::from(offset)));
            }
        }
    }

    /// VT(PS) at the last transmission of the SD that is `offset` after the first; `None` if it is free.
    pub fn poll_of(&self, offset: u32) -> Option<Number> {
        Some(self.slots.get(offset as usize)?.as_ref()?.poll)
    }

    /// Asks for an SD to be sent again; false if that is asked for already.
    pub fn request(&mut self, offset: u32) -> bool {
        self.again.insert(self.first + u64::from(offset))
    }

    /// The number of SDs that were ever acknowledged, in order or not.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// True when something is to be sent again.
    pub fn has_requests(&self) -> bool {
        !self.again.is_empty()
    }

    /// The lowest SD that is to be sent again.
    pub fn requested(&self) -> Option<&P> {
        let offset = (self.again.first()? - self.first) as usize;
        self.slots.get(offset)?.as_ref().map(|sent| &sent.mu)
    }

    /// Takes the lowest SD that is to be sent again: how far it is after the first, and the message.
    pub fn take_request(&mut self, poll: Number) -> Option<(u32, P)> {
        let offset = (self.again.pop_first()? - self.first) as u32;
        let sent = self.slots.get_mut(offset as usize)?.as_mut()?;
        sent.poll = poll;
        Some((offset, sent.mu.clone()))
    }

    /// Takes an SD out, for retrieval.
    pub fn retrieve(&mut self, offset: u32) -> Option<P> {
        let sent = self.slots.get_mut(offset as usize)?.take()?;
        self.again.remove(&(self.first + u64::from(offset)));
        Some(sent.mu)
    }

    /// Nothing is to be sent again.
    pub fn clear_requests(&mut self) {
        self.again.clear();
    }

    pub fn clear(&mut self) {
        self.first += self.slots.len() as u64;
        self.slots.clear();
        self.again.clear();
    }
}

impl<P: Hash> TransmissionBuffer<P> {
    /// Feeds `into` with what is kept, places counted from the first and POLLs back from `latest`.
    pub fn digest<H: Hasher>(&self, latest: Number, into: &mut H) {
        let Self { slots, first, again, acknowledged: _ } = self;
        feed(into, (slots.len(), again.len()));
        for slot in slots {
            feed(into, slot.as_ref().map(|Sent { mu, poll }| (mu, latest.after(*poll))));
        }
        for place in again {
            feed(into, place - first);
        }
    }
}

/// The receiver buffer: messages that came before others that are missing, by their places.
#[derive(Clone, Debug)]
pub(super) struct ReceiverBuffer<P> {
    messages: BTreeMap<u64, P>,
    /// The memory that they count for, in bytes, and how much that may be.
    held: u64,
    pub memory: u64,
}

impl<P: Payload> ReceiverBuffer<P> {
    /// Without a bound.
    pub fn new() -> Self {
        Self { messages: BTreeMap::new(), held: 0, memory: u64::MAX }
    }

    pub fn has_room_for(&self, mu: &P) -> bool {
        self.held.saturating_add(cost(mu)) <= self.memory
    }

    pub fn contains(&self, place: u64) -> bool {
        self.messages.contains_key(&place)
    }

    pub fn insert(&mut self, place: u64, mu: P) {
        self.held += cost(&mu);
        if let Some(before) = self.messages.insert(place, mu) {
            self.held -= cost(&before);
        }
    }

    pub fn remove(&mut self, place: u64) -> Option<P> {
        let mu = self.messages.remove(&place)?;
        self.held -= cost(&mu);
        Some(mu)
    }

    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.messages.keys().copied()
    }

    pub fn clear(&mut self) {
        self.messages.clear();
        self.held = 0;
    }

    /// All of them, lowest first.
    pub fn take(&mut self) -> BTreeMap<u64, P> {
        self.held = 0;
        core::mem::take(&mut self.messages)
    }
}

impl<P: Hash> ReceiverBuffer<P> {
    /// Feeds `into` with the messages, their places counted from `first`.
    pub fn digest<H: Hasher>(&self, first: u64, into: &mut H) {
        feed(into, self.messages.len());
        for (place, mu) in &self.messages {
            feed(into, (place - first, mu));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_acknowledged_is_not_sent_again() {
        let mut buffer = TransmissionBuffer::new();
        for mu in 'a'..='f' {
            buffer.push(mu, Number::ZERO);
        }
        assert!(buffer.request(4) && buffer.request(1) && buffer.request(2) && !buffer.request(4));
        buffer.acknowledge(2);
        buffer.release(0, 1);
        let poll = Number::new(9);
        assert_eq!(buffer.take_request(poll), Some((2, 'e')));
        assert_eq!((buffer.take_request(poll), buffer.poll_of(2)), (None, Some(poll)));
        assert_eq!((buffer.span(), buffer.poll_of(0), buffer.retrieve(1)), (4, None, Some('d')));
    }
}
