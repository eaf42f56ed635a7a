//! The timing wheel of the event queue.

use super::Entry;
use crate::prefetch_hints::prefetch_all;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Eleven digits of six bits cover 64 bits.
const LEVELS: usize = 11;
/// Number of near levels. Entries added before the wheel's earliest entry go to the sorted list, which must stay short,
/// hence far levels are moved only to an empty list. Four digits are 17 microseconds.
const NEAR_LEVELS: usize = 4;
/// Bit mask of the near levels.
const NEAR_LEVEL_MASK: u32 = (1 << NEAR_LEVELS) - 1;
/// Entries per chunk. A slot with a single chunk is sorted at once.
const CHUNK_ENTRIES: usize = 24;
/// Placeholder for no chunk.
const NONE: u32 = u32::MAX;

/// A hierarchical timing wheel of 64-slot levels (Varghese and Lauck 1987).
///
/// An entry's level is the highest base-64 digit in which its time differs from the wheel's; its slot is that digit of
/// its time. The earliest entry is therefore in the lowest occupied slot of the lowest occupied level. A slot with few
/// entries is sorted directly. A slot with many moves the wheel's time to its earliest entry and is first distributed
/// over lower levels.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// Reference time of the slots; no entry is earlier.
    pub base: u64,
    /// Bit mask of levels with entries.
    used_levels: u32,
    /// Bit mask of slots with entries, per level.
    occupied: [u64; LEVELS],
    slots: [Slot; LEVELS * SLOTS],
    chunks: Vec<Chunk>,
    /// First unused chunk.
    spare: u32,
}

/// The entries of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// First chunk; all others are full.
    first: u32,
    /// Earliest time of the slot's entries.
    earliest: u64,
}

impl Slot {
    const EMPTY: Self = Self { first: NONE, earliest: u64::MAX };
}

/// Some unsorted entries of a slot. Chunks are reused last in, first out, to limit memory to pending entries and keep
/// it cached.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    len: u32,
    next: u32,
    entries: [Entry; CHUNK_ENTRIES],
}

impl Levels {
    pub fn new() -> Self {
        Self {
            base: 0,
            used_levels: 0,
            occupied: [0; LEVELS],
            slots: [Slot::EMPTY; LEVELS * SLOTS],
            chunks: Vec::new(),
            spare: NONE,
        }
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.used_levels == 0
    }

    /// Returns true if a near level has an entry.
    #[inline]
    pub const fn is_near(&self) -> bool {
        self.used_levels & NEAR_LEVEL_MASK != 0
    }

    /// Returns the time of the earliest entry, or the maximum time if empty.
    #[inline]
    pub fn earliest(&self) -> u64 {
        if self.used_levels == 0 {
            return u64::MAX;
        }
        let level = self.used_levels.trailing_zeros() as usize;
        let slot = self.occupied[level].trailing_zeros() as usize;
        self.slots[level * SLOTS + slot].earliest
    }

    /// Adds an entry, which must not be before the wheel's time.
    #[inline(always)]
    pub fn insert(&mut self, entry: Entry) {
        let differing = (entry.time ^ self.base) | 1;
        let level = (63 - differing.leading_zeros()) / BITS;
        let slot = (entry.time >> (level * BITS)) as usize % SLOTS;
        self.used_levels |= 1 << level;
        self.occupied[level as usize] |= 1 << slot;
        let index = level as usize * SLOTS + slot;
        let Slot { mut first, earliest } = self.slots[index];
        if first == NONE || self.chunks[first as usize].len as usize == CHUNK_ENTRIES {
            first = self.add_chunk(first);
        }
        self.slots[index] = Slot { first, earliest: earliest.min(entry.time) };
        let chunk = &mut self.chunks[first as usize];
        chunk.entries[chunk.len as usize] = entry;
        chunk.len += 1;
    }

    /// Returns an empty chunk linked before `next`.
    fn add_chunk(&mut self, next: u32) -> u32 {
        if self.spare == NONE {
            self.chunks.push(Chunk { len: 0, next, entries: [Entry::default(); CHUNK_ENTRIES] });
            return self.chunks.len() as u32 - 1;
        }
        let number = self.spare;
        let chunk = &mut self.chunks[number as usize];
        self.spare = chunk.next;
        (chunk.len, chunk.next) = (0, next);
        number
    }

    /// Moves the earliest slot to the end of a list, or to lower levels. Returns false if no slot may be moved: a far
    /// one only to an empty list, none that begins after `limit`, and no large group of simultaneous entries before it
    /// is next.
    #[inline]
    pub fn give(&mut self, list: &mut Vec<Entry>, is_empty: bool, limit: u64) -> bool {
        if self.used_levels == 0 {
            return false;
        }
        let level = self.used_levels.trailing_zeros() as usize;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let Slot { first, earliest } = self.slots[level * SLOTS + slot];
        // Many simultaneous entries are taken only when they are next: earlier ones would make the list too long.
        let is_large_group = level == 0 && self.chunks[first as usize].next != NONE;
        if !is_empty && (level >= NEAR_LEVELS || is_large_group) || earliest > limit {
            return false;
        }
        self.occupied[level] &= self.occupied[level] - 1;
        if self.occupied[level] == 0 {
            self.used_levels &= self.used_levels - 1;
        }
        self.slots[level * SLOTS + slot] = Slot::EMPTY;
        // Advances only to the earliest entry, not to the slot's end: later additions may still precede the rest.
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
                    self.insert(self.chunks[number as usize].entries[index]);
                }
            }
            self.chunks[number as usize].next = core::mem::replace(&mut self.spare, number);
            number = next;
        }
        true
    }
}
