//! Per-flow queues, created on demand.

use crate::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Queue of one flow or bucket: its packets with the discipline's per-packet state, and its per-flow state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane<S, T> {
    /// Flow or bucket.
    key: u32,
    queue: VecDeque<(Entry, T)>,
    last_use: u64,
    pub(crate) state: S,
}

impl<S, T> Lane<S, T> {
    /// Returns its first packet.
    pub(crate) fn front(&self) -> Option<&(Entry, T)> {
        self.queue.front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the occupancy of the lane, in the unit of the limit.
    pub(crate) const fn used(&self) -> u64 {
        self.last_use
    }
}

/// Lanes by flow or bucket. A lane is open from its first packet until it is closed; then its slot is reused. The
/// number of slots is the maximum number of simultaneously open lanes, whatever the flow numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes<S, T> {
    lanes: Vec<Lane<S, T>>,
    vacant: Vec<u32>,
    by_key: BTreeMap<u32, u32>,
    /// Non-empty lanes by occupancy.
    by_use: BTreeSet<(u64, u32)>,
}

/// Packet capacity kept by a closed lane.
const KEPT_CAPACITY: usize = 16;

impl<S: Default, T> Lanes<S, T> {
    pub(crate) const fn new() -> Self {
        Self { lanes: Vec::new(), vacant: Vec::new(), by_key: BTreeMap::new(), by_use: BTreeSet::new() }
    }

    /// Returns the lane of `key`, a flow or bucket, opened if necessary, and true if it was opened.
    pub(crate) fn open(&mut self, key: u32) -> (u32, bool) {
        if let Some(&lane) = self.by_key.get(&key) {
            return (lane, false);
        }
        let lane = self.vacant.pop().unwrap_or_else(|| {
            self.lanes.push(Lane { key, queue: VecDeque::new(), last_use: 0, state: S::default() });
            self.lanes.len() as u32 - 1
        });
        self.lanes[lane as usize].key = key;
        self.by_key.insert(key, lane);
        (lane, true)
    }

    /// Returns the lane of `key`, if open.
    pub(crate) fn find(&self, key: u32) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// Closes an empty lane.
    pub(crate) fn close(&mut self, lane: u32) {
        let place = &mut self.lanes[lane as usize];
        debug_assert!(place.is_empty());
        self.by_key.remove(&place.key);
        place.state = S::default();
        place.queue.shrink_to(KEPT_CAPACITY);
        self.vacant.push(lane);
    }

    pub(crate) fn get(&self, lane: u32) -> &Lane<S, T> {
        &self.lanes[lane as usize]
    }

    /// Returns the discipline's state of the lane's flow.
    pub(crate) fn state(&mut self, lane: u32) -> &mut S {
        &mut self.lanes[lane as usize].state
    }

    /// Enqueues a packet with occupancy `cost`.
    pub(crate) fn push(&mut self, lane: u32, entry: Entry, note: T, cost: u64) {
        self.lanes[lane as usize].queue.push_back((entry, note));
        self.use_more(lane, cost);
    }

    /// Dequeues the first packet; `cost` returns its occupancy.
    pub(crate) fn pop_front(&mut self, lane: u32, cost: impl Fn(&Entry) -> u64) -> Option<(Entry, T)> {
        let popped = self.lanes[lane as usize].queue.pop_front()?;
        self.use_less(lane, cost(&popped.0));
        Some(popped)
    }

    /// Removes the last packet; `cost` returns its occupancy.
    pub(crate) fn pop_back(&mut self, lane: u32, cost: impl Fn(&Entry) -> u64) -> Option<(Entry, T)> {
        let popped = self.lanes[lane as usize].queue.pop_back()?;
        self.use_less(lane, cost(&popped.0));
        Some(popped)
    }

    /// Recomputes the occupancy of all lanes with `cost`.
    pub(crate) fn recount(&mut self, cost: impl Fn(&Entry) -> u64) {
        self.by_use.clear();
        for (number, lane) in (0..).zip(&mut self.lanes) {
            lane.last_use = lane.queue.iter().map(|(entry, _)| cost(entry)).sum();
            if !lane.queue.is_empty() {
                self.by_use.insert((lane.last_use, number));
            }
        }
    }

    fn use_more(&mut self, lane: u32, cost: u64) {
        let used = &mut self.lanes[lane as usize].last_use;
        self.by_use.remove(&(*used, lane));
        *used += cost;
        self.by_use.insert((*used, lane));
    }

    fn use_less(&mut self, lane: u32, cost: u64) {
        let place = &mut self.lanes[lane as usize];
        self.by_use.remove(&(place.last_use, lane));
        place.last_use -= cost;
        if !place.is_empty() {
            self.by_use.insert((place.last_use, lane));
        }
    }

    /// Returns the lane with the highest occupancy; `preferred` on a tie.
    pub(crate) fn longest(&self, preferred: u32) -> Option<u32> {
        let &(max_used, lane) = self.by_use.last()?;
        let mine = &self.lanes[preferred as usize];
        Some(if mine.last_use == max_used && !mine.is_empty() { preferred } else { lane })
    }

    /// Returns the number of non-empty lanes.
    pub(crate) fn busy(&self) -> usize {
        self.by_use.len()
    }

    /// Returns the number of slots, used or not.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.lanes.len()
    }
}
