//! Lanes of the event queue: FIFO lists of entries added the same time ahead, hence sorted without effort.

use super::Entry;

const BITS: u32 = 6;
/// The number of lanes.
pub(crate) const LANES: usize = 1 << BITS;
/// Placeholder for no lane.
pub(super) const NO_LANE: u32 = u32::MAX;
/// Distance of an unused lane: only entries at the end of time are so far ahead.
const UNUSED_DISTANCE: u64 = u64::MAX;
/// Maximum number of lanes in use at once: the first entries of all are kept sorted.
const MAX_LANES: usize = 16;

/// One lane per distance, unless another distance with the same hash uses it.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lanes: Box<[Lane; LANES]>,
    /// First entries of the lanes in use, sorted, from `begin` to before `end` in a ring buffer.
    firsts: [Item; MAX_LANES],
    begin: u32,
    end: u32,
}

/// Entries of a distance except the first, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Lane {
    /// Distance; [`UNUSED_DISTANCE`] for an unused lane.
    distance: u64,
    /// Time of the last entry, even if it is the first; the maximum for an unused lane, which nothing may join.
    last: u64,
    /// Packet of the first entry, or any other number.
    packet: u32,
    behind: Fifo,
}

/// An entry and its annotation: the lane for a first entry, the packet for others.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    time: u64,
    /// The key and, above it, the annotation: both are moved as one word.
    key_and_annotation: u64,
}

impl Lanes {
    pub fn new() -> Self {
        const UNUSED_LANE: Lane =
            Lane { distance: UNUSED_DISTANCE, last: u64::MAX, packet: 0, behind: Fifo::EMPTY };
        Self { lanes: Box::new([UNUSED_LANE; LANES]), firsts: [Item::default(); MAX_LANES], begin: 0, end: 0 }
    }

    /// Adds an entry `distance` from now to its lane, if that is free or has this distance and earlier entries; returns
    /// true if added.
    #[inline(always)]
    pub fn join(&mut self, entry: Entry, distance: u64, packet: u32, tie_mask: u64) -> bool {
        let number = (distance.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize;
        let lane = &mut self.lanes[number];
        if lane.distance == distance {
            let joins = lane.last < entry.time;
            if joins {
                lane.last = entry.time;
                lane.behind.push(Item::new(entry, packet));
            }
            return joins;
        }
        if lane.distance != UNUSED_DISTANCE
            || self.end.wrapping_sub(self.begin) as usize == MAX_LANES
            || distance == 0
        {
            return false;
        }
        (lane.distance, lane.last, lane.packet) = (distance, entry.time, packet);
        self.insert(Item::new(entry, number as u32), tie_mask);
        true
    }

    /// Inserts an entry among the first ones. Most inserts are near the end, as all lanes advance at the same pace.
    #[inline(always)]
    fn insert(&mut self, first: Item, tie_mask: u64) {
        let mut place = self.end;
        self.end = place.wrapping_add(1);
        while place != self.begin {
            let before = self.firsts[place.wrapping_sub(1) as usize % MAX_LANES];
            if before.time < first.time {
                break;
            }
            if before.time == first.time {
                return self.insert_tied(place, first, tie_mask);
            }
            self.firsts[place as usize % MAX_LANES] = before;
            place = place.wrapping_sub(1);
        }
        self.firsts[place as usize % MAX_LANES] = first;
    }

    /// Inserts from `place` on, among entries of equal time. Separate, as a tie check in the loop costs 13 instructions
    /// per entry.
    #[cold]
    #[inline(never)]
    fn insert_tied(&mut self, mut place: u32, first: Item, tie_mask: u64) {
        while place != self.begin {
            let before = self.firsts[place.wrapping_sub(1) as usize % MAX_LANES];
            if before.entry().is_before(first.entry(), tie_mask) {
                break;
            }
            self.firsts[place as usize % MAX_LANES] = before;
            place = place.wrapping_sub(1);
        }
        self.firsts[place as usize % MAX_LANES] = first;
    }

    /// Returns the earliest entry.
    #[inline(always)]
    pub fn first(&self) -> Option<Entry> {
        (self.end != self.begin).then(|| self.firsts[self.begin as usize % MAX_LANES].entry())
    }

    /// Takes the earliest entry, which must exist; returns its lane and its packet.
    #[inline(always)]
    pub fn pop(&mut self, tie_mask: u64) -> (u32, u32) {
        let number = self.firsts[self.begin as usize % MAX_LANES].lane_index();
        self.begin = self.begin.wrapping_add(1);
        let lane = &mut self.lanes[number as usize % LANES];
        let packet = lane.packet;
        match lane.behind.pop() {
            Some(next) => {
                lane.packet = next.lane_index();
                self.insert(Item::new(next.entry(), number), tie_mask);
            }
            None => (lane.distance, lane.last) = (UNUSED_DISTANCE, u64::MAX),
        }
        (number, packet)
    }

    /// Returns the packet of a lane's entry, `place` behind the second.
    #[inline]
    pub fn packet(&self, number: usize, place: u32) -> Option<u32> {
        self.lanes[number].behind.item_at(place).map(Item::lane_index)
    }
}

impl Item {
    #[inline(always)]
    fn new(entry: Entry, about: u32) -> Self {
        Self { time: entry.time, key_and_annotation: u64::from(about) << 32 | u64::from(entry.key) }
    }

    #[inline(always)]
    fn entry(self) -> Entry {
        Entry { time: self.time, key: self.key_and_annotation as u32 }
    }

    #[inline(always)]
    fn lane_index(self) -> u32 {
        (self.key_and_annotation >> 32) as u32
    }
}

/// A ring buffer of sorted entries, with a power of two of slots.
#[derive(Clone, Debug)]
struct Fifo {
    entries: Vec<Item>,
    begin: u32,
    count: u32,
}

impl Fifo {
    const EMPTY: Self = Self { entries: Vec::new(), begin: 0, count: 0 };

    #[inline(always)]
    fn index(&self, number: u32) -> usize {
        (self.begin.wrapping_add(number)) as usize & (self.entries.len().wrapping_sub(1))
    }

    #[inline(always)]
    fn item_at(&self, number: u32) -> Option<Item> {
        if number < self.count { self.entries.get(self.index(number)).copied() } else { None }
    }

    #[inline(always)]
    fn push(&mut self, entry: Item) {
        if self.count as usize == self.entries.len() {
            self.grow();
        }
        let place = self.index(self.count);
        self.entries[place] = entry;
        self.count += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let begin = self.index(0);
        if self.count > 0 {
            self.entries.rotate_left(begin);
        }
        self.begin = 0;
        self.entries.resize((2 * self.entries.len()).max(16), Item::default());
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Item> {
        self.count = self.count.checked_sub(1)?;
        let entry = self.entries[self.index(0)];
        self.begin = self.begin.wrapping_add(1);
        Some(entry)
    }
}
