//! The event queue: a hierarchical timing wheel of 64-slot levels, exact to the picosecond.
//!
//! An entry's level is the highest base-64 digit in which its time differs from the current time, its slot that digit
//! of its time. The earliest entry is therefore in the lowest occupied slot of the lowest occupied level. Taking a slot
//! of a higher level moves the clock to its earliest entry and sorts the rest into lower levels; each entry moves down
//! at most ten times, in practice once or twice (Varghese and Lauck 1987).
//!
//! Entries of equal time come out by the kind in their key and, within a kind, by lot: in the order of a hash of time
//! and key, whatever the order in which they went in. A fixed order of entities would let the first of many synchronous
//! flows win every tie. An entry that is added for the time of the entry just taken comes after all others of that time
//! that were there before.

use thalweg_proto::units::Time;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Eleven digits of six bits cover 64 bits.
const LEVELS: usize = 11;

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    key: u32,
}

/// Slots with fewer entries than this are not announced before they are sorted.
const CROWD: usize = 16;

/// The bits of a key that say which of its kind it is; those above are the kind.
pub(crate) const ENTITY_BITS: u32 = 28;

/// The place of a key among others of the same time: the kind, then the lot.
#[inline]
fn rank(time: u64, key: u32) -> (u32, u64, u32) {
    let lot = (time ^ (u64::from(key) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key >> ENTITY_BITS, (lot ^ (lot >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9), key)
}

/// A queue of (time, key) pairs.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    now: u64,
    /// One bit for each level with an entry.
    levels: u32,
    /// One bit for each slot with an entry.
    occupied: [u64; LEVELS],
    slots: Vec<Vec<Entry>>,
    /// Entries of the time `now` that are being handed out, the next one last.
    batch: Vec<Entry>,
}

impl Wheel {
    pub fn new() -> Self {
        Self {
            now: 0,
            levels: 0,
            occupied: [0; LEVELS],
            slots: vec![Vec::new(); LEVELS * SLOTS],
            batch: Vec::new(),
        }
    }

    /// Adds `key` at `time`, which must not be before the time of the entry taken last.
    #[inline]
    pub fn push(&mut self, time: Time, key: u32) {
        let time = time.as_picos();
        debug_assert!(time >= self.now, "an event in the past: {time} < {}", self.now);
        self.place(Entry { time, key });
    }

    #[inline]
    fn place(&mut self, entry: Entry) {
        let differing = (entry.time ^ self.now) | 1;
        let level = (63 - differing.leading_zeros()) / BITS;
        let slot = (entry.time >> (level * BITS)) as usize % SLOTS;
        self.levels |= 1 << level;
        self.occupied[level as usize] |= 1 << slot;
        self.slots[level as usize * SLOTS + slot].push(entry);
    }

    /// Takes the earliest entry. `soon` is told of keys that will be taken before long, many at a time,
    /// and again with `true` of those that will be taken next.
    #[inline]
    pub fn pop(&mut self, soon: impl FnMut(u32, bool)) -> Option<(Time, u32)> {
        if let Some(entry) = self.batch.pop() {
            return Some((Time::from_picos(entry.time), entry.key));
        }
        self.refill(soon)
    }

    fn refill(&mut self, mut soon: impl FnMut(u32, bool)) -> Option<(Time, u32)> {
        loop {
            if self.levels == 0 {
                return None;
            }
            let level = self.levels.trailing_zeros() as usize;
            let slot = self.occupied[level].trailing_zeros() as usize;
            self.occupied[level] &= self.occupied[level] - 1;
            if self.occupied[level] == 0 {
                self.levels &= self.levels - 1;
            }
            let bucket = &mut self.slots[level * SLOTS + slot];
            if bucket.len() == 1
                && let Some(entry) = bucket.pop()
            {
                self.now = entry.time;
                return Some((Time::from_picos(entry.time), entry.key));
            }
            if level == 0 {
                // All entries of one time. The swap keeps both allocations in use.
                core::mem::swap(bucket, &mut self.batch);
                self.batch.sort_unstable_by_key(|entry| core::cmp::Reverse(rank(entry.time, entry.key)));
                let entry = self.batch.pop()?;
                self.now = entry.time;
                return Some((Time::from_picos(entry.time), entry.key));
            }
            // Only to the earliest entry, not to the slot's end: later pushes may still be earlier than the rest.
            let mut entries = core::mem::take(bucket);
            self.now = entries.iter().map(|entry| entry.time).min().unwrap_or(self.now);
            let crowd = entries.len() >= CROWD;
            entries.iter().for_each(|entry| soon(entry.key, !crowd));
            for entry in entries.drain(..) {
                self.place(entry);
            }
            self.slots[level * SLOTS + slot] = entries;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// Against a binary heap of (time, round, rank): the same order, for gaps of every magnitude and many ties.
        #[test]
        fn agrees_with_a_heap(
            steps in prop::collection::vec((0u32..3, 0u32..40, 0u64..4, 0u32..6), 1..400)
        ) {
            let (mut wheel, mut heap) = (Wheel::new(), BinaryHeap::new());
            let (mut now, mut round) = (0u64, 0u64);
            for (pops, magnitude, factor, key) in steps {
                let time = now + (factor << magnitude);
                wheel.push(Time::from_picos(time), key << 26);
                // What is added for the current time waits for the next round.
                let key = key << 26;
                heap.push(Reverse((time, if time == now { round + 1 } else { 0 }, rank(time, key))));
                for _ in 0..pops {
                    let expected = heap.pop().map(|Reverse(top)| top);
                    if let Some((time, its_round, _)) = expected {
                        round = if time == now { its_round } else { 0 };
                        now = time;
                    }
                    let got = wheel.pop(|_, _| ()).map(|(time, key)| (time.as_picos(), key));
                    prop_assert_eq!(got, expected.map(|(time, _, rank)| (time, rank.2)));
                }
            }
        }
    }

    #[test]
    fn an_empty_wheel_gives_nothing_and_goes_on() {
        let mut wheel = Wheel::new();
        assert_eq!(wheel.pop(|_, _| ()), None);
        wheel.push(Time::MAX, 1);
        wheel.push(Time::ZERO, 2);
        assert_eq!(wheel.pop(|_, _| ()), Some((Time::ZERO, 2)));
        assert_eq!(wheel.pop(|_, _| ()), Some((Time::MAX, 1)));
        assert_eq!(wheel.pop(|_, _| ()), None);
    }
}
