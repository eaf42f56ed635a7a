//! The timing wheel of the event queue.

use super::Entry;
use crate::prefetch::prefetch_all;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Eleven digits of six bits cover 64 bits.
const LEVELS: usize = 11;
/// Levels below this are near: what is added before the earliest entry of the wheel goes to the list, which must stay short, so others are
/// moved only to an empty one. Four digits are 17 microseconds.
const NEAR_LEVELS: usize = 4;
/// The bits of those levels.
const NEAR: u32 = (1 << NEAR_LEVELS) - 1;
/// Entries a chunk. A slot that needs no more than one chunk is sorted at once.
const FEW: usize = 24;
/// "No chunk".
const NONE: u32 = u32::MAX;

/// A hierarchical timing wheel of 64-slot levels (Varghese and Lauck 1987).
///
/// An entry's level is the highest base-64 digit in which its time differs from the wheel's, its slot that digit of its
/// time. The earliest entry is therefore in the lowest occupied slot of the lowest occupied level. A slot with few
/// entries is sorted as it is; one with many moves the wheel's time to its earliest entry and is spread over lower levels first.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// The time that slots are relative to; no entry is earlier.
    pub base: u64,
    /// One bit for each level with an entry.
    used: u32,
    /// One bit for each slot with an entry.
    occupied: [u64; LEVELS],
    slots: [Slot; LEVELS * SLOTS],
    chunks: Vec<Chunk>,
    /// The first unused chunk.
    spare: u32,
}

/// The entries of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The first chunk. Only the first is not full.
    first: u32,
    /// The earliest time of the slot's entries.
    earliest: u64,
}

impl Slot {
    const EMPTY: Self = Self { first: NONE, earliest: u64::MAX };
}

/// Some entries of a slot, in no order. Chunks go from slot to slot, the one freed last first, so that the memory in use
/// is no more than what is pending, and warm.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    len: u32,
    next: u32,
    entries: [Entry; FEW],
}

impl Levels {
    pub fn new() -> Self {
        Self {
            base: 0,
            used: 0,
            occupied: [0; LEVELS],
            slots: [Slot::EMPTY; LEVELS * SLOTS],
            chunks: Vec::new(),
            spare: NONE,
        }
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// True if a near level has an entry.
    #[inline]
    pub const fn is_near(&self) -> bool {
        self.used & NEAR != 0
    }

    /// The time of the earliest entry; the largest time there is without one.
    #[inline]
    pub fn earliest(&self) -> u64 {
        if self.used == 0 {
            return u64::MAX;
        }
        let level = self.used.trailing_zeros() as usize;
        let slot = self.occupied[level].trailing_zeros() as usize;
        self.slots[level * SLOTS + slot].earliest
    }

    /// Adds an entry, which must not be before the wheel's time.
    #[inline(always)]
    pub fn place(&mut self, entry: Entry) {
        let differing = (entry.time ^ self.base) | 1;
        let level = (63 - differing.leading_zeros()) / BITS;
        let slot = (entry.time >> (level * BITS)) as usize % SLOTS;
        self.used |= 1 << level;
        self.occupied[level as usize] |= 1 << slot;
        let index = level as usize * SLOTS + slot;
        let Slot { mut first, earliest } = self.slots[index];
        if first == NONE || self.chunks[first as usize].len as usize == FEW {
            first = self.add_chunk(first);
        }
        self.slots[index] = Slot { first, earliest: earliest.min(entry.time) };
        let chunk = &mut self.chunks[first as usize];
        chunk.entries[chunk.len as usize] = entry;
        chunk.len += 1;
    }

    /// An empty chunk before `next`.
    fn add_chunk(&mut self, next: u32) -> u32 {
        if self.spare == NONE {
            self.chunks.push(Chunk { len: 0, next, entries: [Entry::default(); FEW] });
            return self.chunks.len() as u32 - 1;
        }
        let number = self.spare;
        let chunk = &mut self.chunks[number as usize];
        self.spare = chunk.next;
        (chunk.len, chunk.next) = (0, next);
        number
    }

    /// Moves the earliest slot to the end of a list, or to lower levels. False if there is none that may be moved: a far one
    /// only to an empty list, none that begins after `limit`, and no crowd before it is next.
    #[inline]
    pub fn give(&mut self, list: &mut Vec<Entry>, is_empty: bool, limit: u64) -> bool {
        if self.used == 0 {
            return false;
        }
        let level = self.used.trailing_zeros() as usize;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let Slot { first, earliest } = self.slots[level * SLOTS + slot];
        // Many entries of one time are taken when they are next, and not before: what comes earlier would make the list too long.
        let is_crowd = level == 0 && self.chunks[first as usize].next != NONE;
        if !is_empty && (level >= NEAR_LEVELS || is_crowd) || earliest > limit {
            return false;
        }
        self.occupied[level] &= self.occupied[level] - 1;
        if self.occupied[level] == 0 {
            self.used &= self.used - 1;
        }
        self.slots[level * SLOTS + slot] = Slot::EMPTY;
        // Only to the earliest entry, not to the slot's end: what is added later may still be earlier than the rest.
        self.base = earliest;
        let mut number = first;
        let sort_now = level == 0 || self.chunks[number as usize].next == NONE;
        while number != NONE {
            let Chunk { len, next, .. } = self.chunks[number as usize];
            if let Some(next) = self.chunks.get(next as usize) {
                prefetch_all(next);
            }
            if sort_now {
                let entries = &self.chunks[number as usize].entries;
                list.extend_from_slice(&entries[..len as usize]);
            } else {
                for index in 0..len as usize {
                    self.place(self.chunks[number as usize].entries[index]);
                }
            }
            self.chunks[number as usize].next = core::mem::replace(&mut self.spare, number);
            number = next;
        }
        true
    }
}
