//! The event queue, exact to the picosecond: [lanes](Lanes) for entries that arrive sorted, and for all others a
//! [timing wheel](Levels) with a short sorted list of its next entries.
//!
//! Most events are as far ahead as earlier ones, as links have one delay and packets one size. Entries added the same
//! distance ahead share a lane and are appended without sorting. Other entries go into the list if they fall within it,
//! or directly after it while it is short, and into the wheel otherwise. Slots of the wheel move to the list when they
//! are next.
//!
//! Entries of equal time are ordered by the kind in their key and, within a kind, by a hash of time and key,
//! independently of the order of insertion. With a fixed order of entities the first of many synchronous flows would
//! win every tie; it is available for experiments as [`Ties::Order`]. Entries added for the time of the entry just
//! taken come after all others of that time, except for [successors](Wheel::push_successor), which come next.

mod fifo_lanes;
mod timing_wheel;

use crate::simulation_spec::Ties;
use core::cmp::Ordering;
pub(crate) use fifo_lanes::LANES;
use fifo_lanes::{Lanes, NO_LANE};
use std::collections::VecDeque;
use thalweg_proto::units::Time;
use timing_wheel::Levels;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    time: u64,
    key: u32,
}

/// List length at or below which it is refilled: avoids a refill for each entry.
const REFILL_LENGTH: usize = 6;
/// List length below which an event after the list and before the wheel goes to the list: in a small run the wheel has
/// only timeouts.
const MIN_LIST_LENGTH: usize = 32;
/// Length above which the list is cut at the next refill: a list that reaches far ahead would attract every new entry.
const MAX_LIST_LENGTH: usize = 48;
const CUT_LIST_LENGTH: usize = 16;
/// Capacity of the list, including taken entries, which are removed when it is full.
const CAPACITY: usize = 4 * MAX_LIST_LENGTH;

/// Placeholder for no packet, as [`crate::components::packet_pool::NONE`].
const NO_PACKET: u32 = u32::MAX;
/// Placeholder for no key.
const NO_KEY: u32 = u32::MAX;

/// Number of bits of a key for the entity; the bits above are the kind.
pub(crate) const ENTITY_BITS: u32 = 28;

/// Returns the sort key among entries of equal time: the kind, then the masked hash, then the entity.
#[inline]
fn sort_key(time: u64, key: u32, counts: u64) -> (u32, u64, u32) {
    if key >> ENTITY_BITS == 0 {
        // Simultaneous scheduled changes are applied in the order of the schedule.
        return (0, 0, key);
    }
    let hash = (time ^ (u64::from(key) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key >> ENTITY_BITS, (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) & counts, key)
}

/// Returns the bit mask of the tie-break hash: all bits, or none if ties are ordered by entity.
fn tie_mask(ties: Ties) -> u64 {
    match ties {
        Ties::Hash => u64::MAX,
        Ties::Order => 0,
    }
}

/// A queue of (time, key) pairs.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    /// Next entries, sorted, from `head` on; those before it have been taken. All entries in the wheel are later.
    near_entries: Vec<Entry>,
    head: usize,
    lanes: Lanes,
    /// Time before which a lane's first entry is next: the list and the wheel are later, nothing was added for the
    /// current time, and nothing is kept back.
    bound: u64,
    /// Lane of the last entry taken, or [`NO_LANE`].
    lane: u32,
    /// Packet of the last entry taken, if it was given when joining a lane; otherwise [`NO_PACKET`].
    packet: u32,
    /// Entries added for the time of the last entry taken, in order.
    late_entries: VecDeque<LateEntry>,
    /// Time of the last entry taken.
    last_time: u64,
    /// Origin of the last entry taken.
    origin: Origin,
    /// Number of that origin among all of its time and key, if these are not all in this queue.
    tie: u32,
    /// Time limit: later entries stay in the wheel.
    limit: u64,
    /// Bit mask of the tie-break hash.
    tie_mask: u64,
    levels: Levels,
}

/// Origin of an entry: itself, or a chain of entries of the same time that led to it. Longer chains come later; chains
/// of equal length are in the order of their start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub steps: u32,
    /// Key of the first entry of the chain.
    pub key: u32,
}

/// Position of an occurrence in a run, across partitions: by time, by origin, and by sequence within one origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventOrder {
    pub time: Time,
    pub origin: Origin,
    pub tie: u32,
}

impl EventOrder {
    /// Compares two positions under this tie-break; occurrences of one event keep their sequence.
    #[inline]
    pub fn compare(&self, other: &Self, ties: Ties) -> Ordering {
        let (own, of_other) = ((self.time, self.origin.steps), (other.time, other.origin.steps));
        own.cmp(&of_other).then_with(|| self.compare_at_one_time(other, ties))
    }

    #[cold]
    fn compare_at_one_time(&self, other: &Self, ties: Ties) -> Ordering {
        let of =
            |order: &Self| (sort_key(order.time.as_picos(), order.origin.key, tie_mask(ties)), order.tie);
        of(self).cmp(&of(other))
    }
}

/// An entry added for the current time.
#[derive(Clone, Copy, Debug)]
struct LateEntry {
    key: u32,
    origin: Origin,
    tie: u32,
}

impl Wheel {
    pub fn new(ties: Ties) -> Self {
        Self {
            near_entries: Vec::with_capacity(CAPACITY),
            head: 0,
            lanes: Lanes::new(),
            bound: 0,
            lane: NO_LANE,
            packet: NO_PACKET,
            late_entries: VecDeque::new(),
            last_time: 0,
            origin: Origin::default(),
            tie: 0,
            limit: u64::MAX,
            tie_mask: tie_mask(ties),
            levels: Levels::new(),
        }
    }

    /// Adds `key` at `time`, which must not be before the time of the last entry taken.
    #[inline]
    pub fn push(&mut self, time: Time, key: u32) {
        self.add(time, key, false);
    }

    /// Adds a successor of the last entry taken, with the same key: at the same time it comes next, before all others.
    #[inline]
    pub fn push_successor(&mut self, time: Time, key: u32) {
        self.add(time, key, true);
    }

    /// Adds an entry that is probably as far ahead as many earlier ones, and later than them.
    #[inline(always)]
    pub fn push_in_lane(&mut self, time: Time, key: u32) {
        if !self.join_lane(time, key, NO_PACKET) {
            self.push(time, key);
        }
    }

    /// Adds such an entry if there is a lane for it; returns true if so. [`pop`](Self::pop) returns its `packet`.
    #[inline(always)]
    pub fn join_lane(&mut self, time: Time, key: u32, packet: u32) -> bool {
        let entry = Entry { time: time.as_picos(), key };
        self.lanes.join(entry, entry.time - self.last_time, packet, self.tie_mask)
    }

    // Inlined into the caller, as it only dispatches: each of the three callees saves its own registers.
    #[inline(always)]
    fn add(&mut self, time: Time, key: u32, is_successor: bool) {
        let entry = Entry { time: time.as_picos(), key };
        debug_assert!(
            entry.time >= self.last_time,
            "an event in the past: {} < {}",
            entry.time,
            self.last_time
        );
        self.bound = self.bound.min(entry.time);
        if entry.time == self.last_time {
            self.add_now(entry, is_successor);
        } else if self.near_entries.last().is_some_and(|last| entry.time <= last.time) {
            self.insert(entry);
        } else {
            self.add_last(entry);
        }
    }

    /// Adds an entry later than the list: to the list within its reach, otherwise to the wheel.
    #[inline(never)]
    fn add_last(&mut self, entry: Entry) {
        if entry.time < self.levels.base
            || self.list_len() < MIN_LIST_LENGTH && entry.time < self.levels.earliest()
        {
            self.insert(entry);
        } else {
            self.levels.insert(entry);
        }
    }

    #[inline(never)]
    fn add_now(&mut self, entry: Entry, is_successor: bool) {
        let (origin, tie, key) = (self.origin, self.tie, entry.key);
        if is_successor {
            self.late_entries.push_front(LateEntry { key, origin, tie });
        } else {
            self.late_entries.push_back(LateEntry {
                key,
                origin: Origin { steps: origin.steps + 1, ..origin },
                tie,
            });
        }
    }

    /// Returns the entries of the list.
    #[inline]
    fn list(&self) -> &[Entry] {
        &self.near_entries[self.head..]
    }

    /// Returns the length of the list.
    #[inline]
    fn list_len(&self) -> usize {
        self.near_entries.len() - self.head
    }

    /// Removes taken entries.
    #[inline(never)]
    fn remove_taken(&mut self) {
        self.near_entries.drain(..self.head);
        self.head = 0;
    }

    /// Inserts an entry into the list; in its first half over a taken entry, to compare and move few.
    #[inline(never)]
    fn insert(&mut self, entry: Entry) {
        let middle = self.near_entries.get(self.head + self.list_len() / 2);
        if self.head > 0 && middle.is_some_and(|middle| entry.time < middle.time) {
            self.insert_early(entry);
        } else {
            self.insert_late(entry);
        }
        if self.list_len() > MAX_LIST_LENGTH {
            self.shorten();
        }
    }

    /// Moves earlier entries by one place: four at a time as far as possible, then one by one.
    #[inline(always)]
    fn insert_early(&mut self, entry: Entry) {
        self.head -= 1;
        let list = &mut self.near_entries[self.head..];
        let mut place = 0;
        while let Some(four) = list[place + 1..].first_chunk::<4>()
            && four[3].time < entry.time
        {
            let four = *four;
            list[place..place + 4].copy_from_slice(&four);
            place += 4;
        }
        while let Some(&next) = list.get(place + 1)
            && next.time <= entry.time
        {
            list[place] = next;
            place += 1;
        }
        Entry::insert_ordered(list, place, entry, self.tie_mask);
    }

    /// Moves later entries by one place: four at a time as far as possible, then one by one.
    #[inline(always)]
    fn insert_late(&mut self, entry: Entry) {
        if self.near_entries.len() >= CAPACITY {
            self.remove_taken();
        }
        self.near_entries.push(entry);
        let list = &mut self.near_entries[self.head..];
        let mut place = list.len() - 1;
        while let Some(four) = list[..place].last_chunk::<4>()
            && entry.time < four[0].time
        {
            let four = *four;
            list[place - 3..=place].copy_from_slice(&four);
            place -= 4;
        }
        while let Some(&last) = list[..place].last()
            && entry.time < last.time
        {
            list[place] = last;
            place -= 1;
        }
        Entry::insert_ordered(list, place, entry, self.tie_mask);
    }

    /// Returns the later entries to the wheel, simultaneous ones together; those before the wheel's time stay. If the
    /// whole list has nearly one time, as with many synchronous flows, it is returned too: otherwise each further such
    /// entry would be sorted into all others.
    #[cold]
    fn shorten(&mut self) {
        let mut end = self.head + CUT_LIST_LENGTH;
        let stays = |near: &[Entry], at: usize| {
            near[at - 1].time == near[at].time || near[at].time < self.levels.base
        };
        while end < self.near_entries.len() && stays(&self.near_entries, end) {
            end += 1;
        }
        if let Some(last) = self.near_entries.last()
            && end == self.near_entries.len()
            && last.time >= self.levels.base
        {
            end -= self.list().iter().rev().take_while(|entry| entry.time == last.time).count();
        }
        for index in end..self.near_entries.len() {
            self.levels.insert(self.near_entries[index]);
        }
        self.near_entries.truncate(end);
    }

    /// Takes the earliest entry, unless it is [kept back](Self::keep_from); returns it with its packet, if given, or
    /// [`NO_PACKET`].
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, u32, u32)> {
        let (entry, packet) = match self.lanes.first() {
            Some(first) if first.time < self.bound => {
                let (lane, packet) = self.lanes.pop(self.tie_mask);
                (self.lane, self.origin) = (lane, Origin { steps: 0, key: first.key });
                (first, packet)
            }
            _ => (self.pop_in_general(), self.packet),
        };
        if entry.key == NO_KEY {
            return None;
        }
        self.last_time = entry.time;
        Some((Time::from_picos(entry.time), entry.key, packet))
    }

    /// Takes the earliest entry of any structure; returns [`NO_KEY`] if there is none, or if it is kept back.
    #[inline(never)]
    fn pop_in_general(&mut self) -> Entry {
        (self.bound, self.lane, self.packet) = (0, NO_LANE, NO_PACKET);
        if self.late_entries.front().is_some_and(|late| late.origin.steps == 0 || self.is_over())
            && let Some(LateEntry { key, origin, tie }) = self.late_entries.pop_front()
        {
            (self.origin, self.tie) = (origin, tie);
            return Entry { time: self.last_time, key };
        }
        let list_len = self.list_len();
        // Far levels are moved only to an empty list.
        if list_len <= REFILL_LENGTH && (self.levels.is_near() || list_len == 0 && !self.levels.is_empty()) {
            self.fill();
        }
        let (first, listed) = (self.lanes.first(), self.list().first().copied());
        let is_first =
            first.is_some_and(|first| listed.is_none_or(|listed| first.is_before(listed, self.tie_mask)));
        let Some(entry) = (if is_first { first } else { listed }).filter(|entry| entry.time <= self.limit)
        else {
            return Entry { time: 0, key: NO_KEY };
        };
        if is_first {
            (self.lane, self.packet) = self.lanes.pop(self.tie_mask);
        } else {
            self.head += 1;
        }
        self.origin = Origin { steps: 0, key: entry.key };
        self.find_bound();
        entry
    }

    /// Computes the time before which entries of lanes are next.
    #[inline(always)]
    fn find_bound(&mut self) {
        if self.late_entries.is_empty() {
            let listed = self.list().first().map(|entry| entry.time);
            self.bound = listed.unwrap_or_else(|| self.levels.earliest()).min(self.limit);
        }
    }

    /// Returns true if no entry of the current time that was added before it is left.
    #[cold]
    fn is_over(&self) -> bool {
        let is_later = |entry: &Entry| entry.time > self.last_time;
        self.list().first().is_none_or(is_later) && self.lanes.first().as_ref().is_none_or(is_later)
    }

    /// Keeps back entries at `end` or later. Entries may then be added from that time on.
    pub fn keep_from(&mut self, end: Time) {
        self.limit = end.as_picos().saturating_sub(1);
        self.bound = 0;
    }

    /// Returns the origin of the last entry taken.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Numbers the last entry taken among all of its time and key, if these are not all in this queue: entries added
    /// for the same time follow in the order of this number.
    pub fn set_tie(&mut self, tie: u32) {
        self.tie = tie;
    }

    /// Returns the position of an occurrence at the last entry taken. The [tie](Self::set_tie) is the last one set,
    /// unless the entry was added for its own time.
    #[inline]
    pub fn order_now(&self) -> EventOrder {
        EventOrder { time: Time::from_picos(self.last_time), origin: self.origin, tie: self.tie }
    }

    /// Returns the position of an entry among those of its time added before it; for keys of one kind.
    pub fn place_at(&self, time: Time, key: u32) -> (u32, u64, u32) {
        sort_key(time.as_picos(), key, self.tie_mask)
    }

    /// Returns the time of the earliest entry. It moves nothing: entries added before the next [`pop`](Self::pop) may
    /// be earlier.
    pub fn next(&self) -> Option<Time> {
        if !self.late_entries.is_empty() {
            return Some(Time::from_picos(self.last_time));
        }
        let listed = self.list().first().map(|entry| entry.time);
        let sorted = listed.or_else(|| (!self.levels.is_empty()).then(|| self.levels.earliest()));
        let first = self.lanes.first().map(|entry| entry.time);
        sorted.into_iter().chain(first).min().map(Time::from_picos)
    }

    /// Returns the lane of the last entry taken.
    #[inline]
    pub fn lane(&self) -> Option<usize> {
        (self.lane != NO_LANE).then_some(self.lane as usize % LANES)
    }

    /// Returns the packet of a lane's entry, `place` behind the second; [`NO_PACKET`] if not given or beyond the end.
    #[inline]
    pub fn coming(&self, lane: usize, place: u32) -> u32 {
        self.lanes.packet(lane, place).unwrap_or(NO_PACKET)
    }

    /// Moves the wheel's earliest slots to the list.
    #[inline(never)]
    fn fill(&mut self) {
        // Not each time: the capacity covers many taken entries.
        if self.near_entries.len() >= CAPACITY / 2 {
            self.remove_taken();
        }
        while self.list_len() <= REFILL_LENGTH {
            let before = self.near_entries.len();
            let is_empty = self.list_len() == 0;
            if !self.levels.give(&mut self.near_entries, is_empty, self.limit) {
                return;
            }
            // All of these are later than the previous list.
            let later = &mut self.near_entries[before..];
            // Comparing times alone is branch-free; ties are few.
            later.sort_unstable_by_key(|entry| entry.time);
            if later.windows(2).any(|pair| pair[0].time == pair[1].time) {
                let tie_mask = self.tie_mask;
                later.sort_unstable_by_key(|entry| (entry.time, entry.order(tie_mask)));
            }
        }
    }
}

impl Entry {
    #[inline]
    fn order(self, tie_mask: u64) -> (u32, u64, u32) {
        sort_key(self.time, self.key, tie_mask)
    }

    /// Inserts an entry at `place` of a list, after all earlier and simultaneous ones, and then moves it before
    /// simultaneous ones that come after it.
    #[inline(always)]
    fn insert_ordered(list: &mut [Self], place: usize, entry: Self, tie_mask: u64) {
        list[place] = entry;
        if place > 0 && list[place - 1].time == entry.time {
            Self::order_ties(list, place, tie_mask);
        }
    }

    /// Moves the entry at `place` of a list before simultaneous ones that come after it. These are rare unless many
    /// flows are synchronous.
    #[inline(never)]
    fn order_ties(list: &mut [Self], mut place: usize, tie_mask: u64) {
        let entry = list[place];
        while let Some(&last) = list[..place].last()
            && last.time == entry.time
            && entry.precedes(last, tie_mask)
        {
            list[place] = last;
            place -= 1;
        }
        list[place] = entry;
    }

    /// Returns true if it precedes another.
    #[inline(always)]
    fn is_before(self, other: Self, tie_mask: u64) -> bool {
        self.time < other.time || self.time == other.time && self.precedes(other, tie_mask)
    }

    /// Returns true if it precedes another of the same time.
    #[inline]
    fn precedes(self, other: Self, tie_mask: u64) -> bool {
        self.order(tie_mask) <= other.order(tie_mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a sorted list: simultaneous entries by rank, those added for the current time after them in
        /// order of insertion.
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec((0u32..4, 0u32..45, 0u64..4, 0u32..6, 1u32..60, 1u32..8), 1..300),
            by_hash: bool,
            in_lanes: bool,
        ) {
            let (ties, tie_mask) = if by_hash { (Ties::Hash, u64::MAX) } else { (Ties::Order, 0) };
            let (mut wheel, mut list) = (Wheel::new(ties), Vec::new());
            let (mut now, mut added) = (0u64, 0u64);
            for (pops, magnitude, factor, key, copies, times) in steps {
                for copy in 0..copies {
                    let time = now + (factor << magnitude) + u64::from(copy % times);
                    let (at, key) = (Time::from_picos(time), (key << 26) + copy);
                    let is_in_lane = in_lanes && wheel.join_lane(at, key, copy);
                    if !is_in_lane {
                        wheel.push(at, key);
                    }
                    added += 1;
                    let late = if time == now { added } else { 0 };
                    list.push((time, late, if late == 0 { sort_key(time, key, tie_mask) } else { (0, 0, key) }));
                }
                list.sort_unstable();
                for _ in 0..pops * copies / 2 {
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    let next = wheel.next().map(Time::as_picos);
                    prop_assert_eq!(next, expected.map(|(time, ..)| time));
                    let got = wheel.pop().map(|(time, key, packet)| (time.as_picos(), key, packet));
                    // The packet of an entry in a lane is returned with it, from the first position on.
                    prop_assert!(got.is_none_or(|(_, key, packet)| packet == NO_PACKET || packet == key % (1 << 26)));
                    let got = got.map(|(time, key, _)| (time, key));
                    prop_assert_eq!(got, expected.map(|(time, _, rank)| (time, rank.2)));
                    now = expected.map_or(now, |(time, _, _)| time);
                }
            }
        }
    }

    /// Fifty simultaneous entities: in order if ties go by entity, in another order if they go by hash; kinds come
    /// first in both.
    #[test]
    fn ties_are_broken_by_hash_or_by_entity() {
        let taken = |ties| {
            let mut wheel = Wheel::new(ties);
            for entity in (0..50).rev() {
                wheel.push(Time::from_picos(7), (2 << ENTITY_BITS) + entity);
            }
            wheel.push(Time::from_picos(7), (1 << ENTITY_BITS) + 99);
            std::iter::from_fn(|| wheel.pop().map(|(_, key, _)| key)).collect::<Vec<_>>()
        };
        let (by_order, by_hash) = (taken(Ties::Order), taken(Ties::Hash));
        assert!(by_order.is_sorted(), "{by_order:?}");
        assert!(by_hash[0] == by_order[0] && !by_hash.is_sorted(), "{by_hash:?}");
    }

    /// Many synchronous flows each add an event for the same time, while others come before it.
    #[test]
    fn a_large_group_stays_out_of_the_list_until_it_is_next() {
        let mut wheel = Wheel::new(Ties::Hash);
        let at = Time::from_picos(1 << 20);
        wheel.push(Time::from_picos(10), 0);
        for number in 1..=1000 {
            wheel.push(at, (2 << ENTITY_BITS) + number);
            assert!(wheel.list_len() <= MAX_LIST_LENGTH, "{number}");
        }
        for earlier in 10..100 {
            wheel.push(Time::from_picos(earlier + 1), 0);
            assert_eq!(wheel.pop(), Some((Time::from_picos(earlier), 0, NO_PACKET)));
            assert!(wheel.list_len() <= MAX_LIST_LENGTH, "{earlier}");
        }
        assert_eq!(wheel.pop(), Some((Time::from_picos(100), 0, NO_PACKET)));
        let popped = std::iter::from_fn(|| wheel.pop());
        assert_eq!(popped.filter(|(time, ..)| *time == at).count(), 1000);
    }

    #[test]
    fn an_empty_wheel_returns_none_and_remains_usable() {
        let mut wheel = Wheel::new(Ties::Hash);
        assert_eq!(wheel.pop(), None);
        wheel.push(Time::MAX, 1);
        wheel.push(Time::ZERO, 2);
        assert_eq!(wheel.pop(), Some((Time::ZERO, 2, NO_PACKET)));
        assert_eq!(wheel.pop(), Some((Time::MAX, 1, NO_PACKET)));
        assert_eq!(wheel.pop(), None);
    }
}
