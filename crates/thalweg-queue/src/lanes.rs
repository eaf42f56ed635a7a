//! A queue for each flow that has something to keep.

use crate::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The queue of one flow, or of several that share a bucket: its packets with what the discipline notes of each, and
/// what it notes of the flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane<S, T> {
    /// The flow or the bucket.
    key: u32,
    queue: VecDeque<(Entry, T)>,
    used: u64,
    pub(crate) state: S,
}

impl<S, T> Lane<S, T> {
    /// Its first packet.
    pub(crate) fn front(&self) -> Option<&(Entry, T)> {
        self.queue.front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The part of the limit that the lane's packets take.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }
}

/// Lanes by flow or by bucket. A lane is open from its first packet until it is closed, and its place is then used
/// again: there are never more places than there were lanes open at once, whatever the flows' numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes<S, T> {
    lanes: Vec<Lane<S, T>>,
    vacant: Vec<u32>,
    by_key: BTreeMap<u32, u32>,
    /// Lanes that hold something, by how much they use.
    by_use: BTreeSet<(u64, u32)>,
}

/// A closed lane keeps memory for this many packets.
const KEPT: usize = 16;

impl<S: Default, T> Lanes<S, T> {
    pub(crate) const fn new() -> Self {
        Self { lanes: Vec::new(), vacant: Vec::new(), by_key: BTreeMap::new(), by_use: BTreeSet::new() }
    }

    /// The lane of `key`, a flow or a bucket, opened if it was not, and whether it was opened.
    pub(crate) fn open(&mut self, key: u32) -> (u32, bool) {
        if let Some(&lane) = self.by_key.get(&key) {
            return (lane, false);
        }
        let lane = self.vacant.pop().unwrap_or_else(|| {
            self.lanes.push(Lane { key, queue: VecDeque::new(), used: 0, state: S::default() });
            self.lanes.len() as u32 - 1
        });
        self.lanes[lane as usize].key = key;
        self.by_key.insert(key, lane);
        (lane, true)
    }

    /// The lane of `key`, if it is open.
    pub(crate) fn find(&self, key: u32) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// Forgets an empty lane.
    pub(crate) fn close(&mut self, lane: u32) {
        let place = &mut self.lanes[lane as usize];
        debug_assert!(place.is_empty());
        self.by_key.remove(&place.key);
        place.state = S::default();
        place.queue.shrink_to(KEPT);
        self.vacant.push(lane);
    }

    pub(crate) fn get(&self, lane: u32) -> &Lane<S, T> {
        &self.lanes[lane as usize]
    }

    /// The notes of the discipline on the lane's flow.
    pub(crate) fn state(&mut self, lane: u32) -> &mut S {
        &mut self.lanes[lane as usize].state
    }

    /// A packet joins at the end; it takes `cost` of the limit.
    pub(crate) fn push(&mut self, lane: u32, entry: Entry, note: T, cost: u64) {
        self.lanes[lane as usize].queue.push_back((entry, note));
        self.use_more(lane, cost);
    }

    /// The first packet leaves; `cost` tells what it took.
    pub(crate) fn pop_front(&mut self, lane: u32, cost: impl Fn(&Entry) -> u64) -> Option<(Entry, T)> {
        let popped = self.lanes[lane as usize].queue.pop_front()?;
        self.use_less(lane, cost(&popped.0));
        Some(popped)
    }

    /// The last packet leaves; `cost` tells what it took.
    pub(crate) fn pop_back(&mut self, lane: u32, cost: impl Fn(&Entry) -> u64) -> Option<(Entry, T)> {
        let popped = self.lanes[lane as usize].queue.pop_back()?;
        self.use_less(lane, cost(&popped.0));
        Some(popped)
    }

    /// Counts anew what packets take of the limit, as `cost` tells.
    pub(crate) fn recount(&mut self, cost: impl Fn(&Entry) -> u64) {
        self.by_use.clear();
        for (number, lane) in (0..).zip(&mut self.lanes) {
            lane.used = lane.queue.iter().map(|(entry, _)| cost(entry)).sum();
            if !lane.queue.is_empty() {
                self.by_use.insert((lane.used, number));
            }
        }
    }

    fn use_more(&mut self, lane: u32, cost: u64) {
        let used = &mut self.lanes[lane as usize].used;
        self.by_use.remove(&(*used, lane));
        *used += cost;
        self.by_use.insert((*used, lane));
    }

    fn use_less(&mut self, lane: u32, cost: u64) {
        let place = &mut self.lanes[lane as usize];
        self.by_use.remove(&(place.used, lane));
        place.used -= cost;
        if !place.is_empty() {
            self.by_use.insert((place.used, lane));
        }
    }

    /// The lane that uses most; `preferred` if none uses more than it.
    pub(crate) fn longest(&self, preferred: u32) -> Option<u32> {
        let &(most, lane) = self.by_use.last()?;
        let mine = &self.lanes[preferred as usize];
        Some(if mine.used == most && !mine.is_empty() { preferred } else { lane })
    }

    /// The number of lanes that hold packets.
    pub(crate) fn busy(&self) -> usize {
        self.by_use.len()
    }

    /// The number of places that there are, in use or not.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.lanes.len()
    }
}
