//! A path that looks as if it kept order.
//!
//! The engines of the papers take a gap in the numbers for a loss, at once, and a packet that comes twice for an error.
//! A [`Resequencer`] stands between them and a path that reorders and copies: it takes numbered items, gives them out in
//! order and each once, and passes a gap on as a loss when what is missing has not come for a while.
//!
//! # How long a gap is waited for
//!
//! The tolerance is a time. It counts from the arrival of the first item beyond the gap, and covers what reordering was
//! seen lately: a quarter more than the longest time by which an item came behind one that it should have preceded, in the
//! last two [windows](Tolerance::memory). Items that come after their gap was given up count too, if the longest tolerance
//! would have covered them; so it grows where it was too short, and shrinks when the path is calm again. It is never below
//! [`Tolerance::least`] nor above [`Tolerance::most`], and no item is held for longer than that.
//!
//! # Bounds
//!
//! At most [`Tolerance::capacity`] items are held. One more makes the oldest gap a loss. Numbers may leap: a gap costs the
//! same however long it is.

use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The bounds of a [`Resequencer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// The shortest time that a gap is waited for.
    pub least: Duration,
    /// The longest time.
    pub most: Duration,
    /// For how long an item that came late is remembered: once to twice this.
    pub memory: Duration,
    /// The most items held, at least 1.
    pub capacity: usize,
}

impl Default for Tolerance {
    /// 1 ms to 100 ms, 10 s, 4096 items.
    fn default() -> Self {
        Self {
            least: Duration::from_millis(1),
            most: Duration::from_millis(100),
            memory: Duration::from_secs(10),
            capacity: 4096,
        }
    }
}

/// The items and losses that a resequencer gives out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release<T> {
    /// The next item in order.
    Item(T),
    /// So many items, those whose turn it was, are taken for lost.
    Lost(u64),
}

/// The counts that a resequencer keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResequencerStats {
    /// Items given out.
    pub released: u64,
    /// Of them, those that waited for others.
    pub held: u64,
    /// Items that filled a gap in time.
    pub filled: u64,
    /// Items taken for lost.
    pub lost: u64,
    /// Of them, those that came after all, and were dropped.
    pub late: u64,
    /// Items that had come before, and were dropped. What is too late for the memory of gaps counts here.
    pub duplicates: u64,
}

/// Gives numbered items out in order.
#[derive(Clone, Debug)]
pub struct Resequencer<T> {
    bounds: Tolerance,
    capacity: usize,
    /// The number whose turn it is.
    next: u64,
    /// Items beyond `next`, in order.
    held: VecDeque<Held<T>>,
    /// Gaps that were given up, oldest first.
    given_up: VecDeque<Gap>,
    lateness: Lateness,
    stats: ResequencerStats,
}

#[derive(Clone, Debug)]
struct Held<T> {
    number: u64,
    /// The time at which the first of this item and those beyond it came: since then any gap before it is known.
    since: Time,
    /// A gap lay before it when it came.
    waited: bool,
    item: T,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    end: u64,
    since: Time,
}

/// The longest lateness of late, in two windows of time.
#[derive(Clone, Copy, Debug, Default)]
struct Lateness {
    now: Duration,
    before: Duration,
    began: Time,
}

/// Gaps that are remembered after they were given up.
const REMEMBERED: usize = 64;

impl<T> Resequencer<T> {
    /// Waits for number `first`.
    pub fn new(bounds: Tolerance, first: u64) -> Self {
        Self {
            bounds: Tolerance {
                most: bounds.most.max(bounds.least),
                capacity: bounds.capacity.max(1),
                ..bounds
            },
            capacity: bounds.capacity.max(1),
            next: first,
            held: VecDeque::new(),
            given_up: VecDeque::new(),
            lateness: Lateness::default(),
            stats: ResequencerStats::default(),
        }
    }

    /// From now on no more items are held than packets of 2 KiB fit into so many bytes, at least 1, or what was said at first if
    /// that is less.
    pub fn set_memory(&mut self, bytes: u64) {
        self.capacity = usize::try_from(bytes / 2048).unwrap_or(usize::MAX).clamp(1, self.bounds.capacity);
    }

    /// Counters.
    pub const fn stats(&self) -> ResequencerStats {
        self.stats
    }

    /// The number whose turn it is.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The number of items that wait.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The items that wait, in order.
    pub fn into_held(self) -> Vec<T> {
        self.held.into_iter().map(|held| held.item).collect()
    }

    /// The time for which a gap is waited for at `now`.
    pub fn tolerance(&self, now: Time) -> Duration {
        let seen = self.lateness.longest(now, self.bounds.memory);
        (seen + seen / 4).max(self.bounds.least).min(self.bounds.most)
    }

    /// An item arrives. What came before, or comes too late, is counted and given back.
    pub fn insert(&mut self, now: Time, number: u64, item: T) -> Option<T> {
        if number < self.next {
            self.on_old(now, number);
            return Some(item);
        }
        let at = self.held.partition_point(|held| held.number < number);
        let after = self.held.get(at);
        if after.is_some_and(|held| held.number == number) {
            self.stats.duplicates += 1;
            return Some(item);
        }
        let since = after.map_or(now, |held| held.since);
        if after.is_some() {
            self.stats.filled += 1;
            self.note(now, now.since(since));
        }
        let waited = number - self.next != at as u64;
        self.held.insert(at, Held { number, since, waited, item });
        None
    }

    /// The next item or loss to be given out at `now`, if there is one. Ask until there is nothing.
    pub fn poll(&mut self, now: Time) -> Option<Release<T>> {
        let first = self.held.front()?;
        let (number, since) = (first.number, first.since);
        if number == self.next {
            let held = self.held.pop_front()?;
            self.next += 1;
            self.stats.released += 1;
            self.stats.held += u64::from(held.waited);
            return Some(Release::Item(held.item));
        }
        let is_due = now.since(since) >= self.tolerance(now);
        if !is_due && self.held.len() <= self.capacity {
            return None;
        }
        let lost = number - self.next;
        self.remember(Gap { first: self.next, end: number, since });
        self.next = number;
        self.stats.lost += lost;
        Some(Release::Lost(lost))
    }

    /// The time at which the first gap is given up, if nothing comes before; `None` without a gap. Later than the
    /// `now` of a poll that gave nothing.
    pub fn timeout(&self, now: Time) -> Option<Time> {
        self.held.front().map(|first| first.since + self.tolerance(now))
    }

    /// An item whose turn is over.
    fn on_old(&mut self, now: Time, number: u64) {
        let found = self.given_up.iter().position(|gap| (gap.first..gap.end).contains(&number));
        let Some(gap) = found.and_then(|index| self.given_up.remove(index)) else {
            self.stats.duplicates += 1;
            return;
        };
        self.stats.late += 1;
        self.note(now, now.since(gap.since));
        for rest in [Gap { end: number, ..gap }, Gap { first: number + 1, ..gap }] {
            self.remember(rest);
        }
    }

    fn remember(&mut self, gap: Gap) {
        if gap.first >= gap.end {
            return;
        }
        if self.given_up.len() == REMEMBERED {
            self.given_up.pop_front();
        }
        self.given_up.push_back(gap);
    }

    /// An item came so much behind one that it should have preceded. What no tolerance would have covered is no reason to
    /// wait longer.
    fn note(&mut self, now: Time, late: Duration) {
        if late <= self.bounds.most {
            self.lateness.note(now, late, self.bounds.memory);
        }
    }
}

impl Lateness {
    fn note(&mut self, now: Time, late: Duration, memory: Duration) {
        let age = now.since(self.began);
        if age >= memory {
            self.before = if age < memory * 2 { self.now } else { Duration::ZERO };
            self.now = Duration::ZERO;
            self.began = now;
        }
        self.now = self.now.max(late);
    }

    fn longest(&self, now: Time, memory: Duration) -> Duration {
        let age = now.since(self.began);
        if age < memory {
            self.now.max(self.before)
        } else if age < memory * 2 {
            self.now
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    //! Proves each rule by hand, then all of them over paths by chance.
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn bounds(least: u64, most: u64, capacity: usize) -> Tolerance {
        Tolerance { least: millis(least), most: millis(most), memory: Duration::from_secs(10), capacity }
    }

    /// The items that come out now: numbers, and `-n` for n lost.
    fn drain(resequencer: &mut Resequencer<i64>, now: u64) -> Vec<i64> {
        let mut all = Vec::new();
        while let Some(release) = resequencer.poll(at(now)) {
            all.push(match release {
                Release::Item(item) => item,
                Release::Lost(count) => -(count as i64),
            });
        }
        all
    }

    fn feed(resequencer: &mut Resequencer<i64>, now: u64, numbers: &[i64]) -> Vec<i64> {
        for &number in numbers {
            resequencer.insert(at(now), number as u64, number);
        }
        drain(resequencer, now)
    }

    #[test]
    fn what_is_in_order_goes_through_at_once() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        assert_eq!(feed(&mut path, 0, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(path.timeout(at(0)), None);
        assert_eq!(path.stats(), ResequencerStats { released: 3, ..Default::default() });
    }

    #[test]
    fn a_gap_that_is_filled_in_time_is_none() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        assert_eq!(feed(&mut path, 0, &[1, 3, 4]), [1]);
        assert_eq!(path.timeout(at(0)), Some(at(5)));
        assert_eq!(feed(&mut path, 4, &[2]), [2, 3, 4]);
        assert_eq!(path.stats(), ResequencerStats { released: 4, held: 2, filled: 1, ..Default::default() });
    }

    #[test]
    fn a_gap_that_is_not_filled_is_a_loss() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        // 2 and 3 are missing since 1 ms, 5 since 3 ms.
        assert_eq!(feed(&mut path, 1, &[1, 4]), [1]);
        assert_eq!(feed(&mut path, 3, &[6]), []);
        assert_eq!(drain(&mut path, 5), []);
        assert_eq!(drain(&mut path, 6), [-2, 4]);
        assert_eq!(path.timeout(at(6)), Some(at(8)));
        assert_eq!(drain(&mut path, 8), [-1, 6]);
        assert_eq!((path.stats().lost, path.timeout(at(8))), (3, None));
    }

    #[test]
    fn nothing_comes_twice() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        assert_eq!(feed(&mut path, 0, &[1, 1, 3, 3, 1]), [1]);
        assert_eq!(feed(&mut path, 5, &[]), [-1, 3]);
        // Lost, and here after all: too late. The second time it is a copy.
        assert_eq!(feed(&mut path, 7, &[2, 2, 3]), []);
        assert_eq!((path.stats().late, path.stats().duplicates), (1, 5));
    }

    #[test]
    fn the_tolerance_follows_what_the_path_does() {
        let mut path = Resequencer::new(bounds(4, 50, 10), 1);
        assert_eq!(path.tolerance(at(0)), millis(4));
        // Late by 20 ms: the gap was given up, but the next such one is waited for, a quarter longer.
        assert_eq!(feed(&mut path, 0, &[2]), []);
        assert_eq!(drain(&mut path, 4), [-1, 2]);
        assert_eq!(feed(&mut path, 20, &[1]), []);
        assert_eq!(path.tolerance(at(20)), millis(25));
        assert_eq!(feed(&mut path, 30, &[4]), []);
        assert_eq!(drain(&mut path, 54), []);
        assert_eq!(feed(&mut path, 54, &[3]), [3, 4]);
        // 24 ms: 30 ms. Later than any tolerance counts for nothing.
        assert_eq!(path.tolerance(at(54)), millis(30));
        assert_eq!(feed(&mut path, 60, &[6]), []);
        assert_eq!(drain(&mut path, 90), [-1, 6]);
        assert_eq!(feed(&mut path, 111, &[5]), []);
        assert_eq!((path.stats().late, path.tolerance(at(111))), (2, millis(30)));
        // It is forgotten after one to two windows of 10 s.
        assert_eq!(path.tolerance(at(9_999)), millis(30));
        assert_eq!(path.tolerance(at(19_999)), millis(30));
        assert_eq!(path.tolerance(at(20_001)), millis(4));
    }

    #[test]
    fn an_old_window_gives_way_to_what_was_seen_since() {
        let mut path = Resequencer::new(bounds(0, 50, 10), 0);
        feed(&mut path, 0, &[1]);
        feed(&mut path, 40, &[0]);
        assert_eq!(path.tolerance(at(40)), millis(50));
        // At 12 s a new window begins with 8 ms; the old one counts until 22 s.
        feed(&mut path, 12_000, &[3]);
        feed(&mut path, 12_008, &[2]);
        assert_eq!(path.tolerance(at(22_007)), millis(50));
        assert_eq!(path.tolerance(at(22_008)), millis(10));
    }

    #[test]
    fn memory_is_bounded() {
        let mut path = Resequencer::new(bounds(50, 50, 3), 0);
        assert_eq!(feed(&mut path, 0, &[1, 2, 3]), []);
        // One too many: the gap is a loss.
        assert_eq!(feed(&mut path, 0, &[4]), [-1, 1, 2, 3, 4]);
        // A leap in the numbers is one gap.
        path.insert(at(1), u64::MAX - 1, 7);
        assert_eq!(drain(&mut path, 60), [-(u64::MAX as i64 - 1 - 5), 7]);
        for number in 0..1000 {
            path.insert(at(60), number, 0);
        }
        assert!(path.given_up.len() <= REMEMBERED && path.is_empty());
    }

    proptest! {
        /// Items are sent one a millisecond, some lost, copied or held back. What comes out is in order and once, and
        /// everything that is not counted as lost; nothing waits longer than the bound, and no more is held than allowed.
        #[test]
        fn the_promises_hold_on_any_path(
            fates in prop::collection::vec((0u64..40, any::<u8>(), 0u64..40), 1..200),
            least in 0u64..10,
            most in 0u64..40,
            capacity in 1usize..20,
        ) {
            let mut wire: Vec<(u64, u64)> = Vec::new();
            for (number, (delay, dice, again)) in (0u64..).zip(&fates) {
                // A fifth is lost; half of the rest comes in order, a tenth twice.
                if dice % 5 > 0 {
                    wire.push((number + if dice % 2 == 0 { *delay } else { 0 }, number));
                }
                if dice % 10 == 1 {
                    wire.push((number + again, number));
                }
            }
            wire.sort_unstable();
            let bounds = bounds(least, most, capacity);
            let most = most.max(least);
            let mut path = Resequencer::new(bounds, 0);
            let mut arrived = std::collections::BTreeMap::new();
            let (mut turn, mut out, mut lost) = (0, 0, 0);
            let last = wire.last().map_or(0, |(time, _)| *time) + most;
            let mut wire = wire.into_iter().peekable();
            for now in 0..=last {
                while let Some((_, number)) = wire.next_if(|(time, _)| *time == now) {
                    if number >= turn {
                        arrived.entry(number).or_insert(now);
                    }
                    path.insert(at(now), number, number);
                    while let Some(release) = path.poll(at(now)) {
                        match release {
                            Release::Item(number) => {
                                prop_assert_eq!(number, turn);
                                prop_assert!(now - arrived[&number] <= most);
                                turn += 1;
                                out += 1;
                            }
                            Release::Lost(count) => {
                                prop_assert!(count > 0);
                                turn += count;
                                lost += count;
                            }
                        }
                    }
                    prop_assert!(path.len() <= capacity);
                }
                while let Some(release) = path.poll(at(now)) {
                    match release {
                        Release::Item(number) => {
                            prop_assert_eq!(number, turn);
                            prop_assert!(now - arrived[&number] <= most);
                            turn += 1;
                            out += 1;
                        }
                        Release::Lost(count) => {
                            turn += count;
                            lost += count;
                        }
                    }
                }
                if let Some(next) = path.timeout(at(now)) {
                    prop_assert!(next > at(now) && next <= at(now + most));
                }
                prop_assert!(path.tolerance(at(now)) >= bounds.least);
            }
            prop_assert!(path.is_empty());
            prop_assert_eq!(path.stats().released, out);
            prop_assert_eq!(path.stats().lost, lost);
            prop_assert_eq!(path.next(), turn);
            prop_assert_eq!(out, arrived.len() as u64);
        }
    }
}
