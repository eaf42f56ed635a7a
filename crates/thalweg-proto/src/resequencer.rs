//! In-order delivery over a reordering path, with loss detection.
//!
//! The engines of the papers treat a gap in the numbers as a loss at once, and a duplicate packet as an error. A
//! [`Resequencer`] adapts them to a path that reorders and duplicates. It takes numbered items, releases them in order
//! and once, and reports a gap as a loss when the missing items have not arrived within a tolerance.
//!
//! # Gap tolerance
//!
//! The tolerance is a duration. It starts with the arrival of the first item beyond the gap and follows recent
//! reordering: 1.25 times the longest lateness of an item, relative to items it should have preceded, in the last two
//! [windows](ResequencerConfig::history). Items that arrive after their gap was given up count too, if the maximum tolerance
//! would have covered them. The tolerance therefore grows where it was too short and shrinks when the path keeps order
//! again. It stays between [`ResequencerConfig::min`] and [`ResequencerConfig::max`], and no item is held for longer.
//!
//! # Bounds
//!
//! At most [`ResequencerConfig::capacity`] items are held. One more turns the oldest gap into a loss. A gap costs the same
//! memory whatever its length.

use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The limits of a [`Resequencer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResequencerConfig {
    /// Minimum wait for a gap.
    pub min: Duration,
    /// Maximum wait for a gap.
    pub max: Duration,
    /// Window for the memory of late items: they count for one to two times this.
    pub history: Duration,
    /// Maximum number of items held, at least 1.
    pub capacity: usize,
}

impl Default for ResequencerConfig {
    /// 1 ms to 100 ms, 10 s, 4096 items.
    fn default() -> Self {
        Self {
            min: Duration::from_millis(1),
            max: Duration::from_millis(100),
            history: Duration::from_secs(10),
            capacity: 4096,
        }
    }
}

/// Output of a resequencer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release<T> {
    /// The next item in order.
    Item(T),
    /// Number of consecutive items declared lost at this point.
    Lost(u64),
}

/// Counters of a resequencer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResequencerStats {
    /// Items released.
    pub released: u64,
    /// Released items that waited for others.
    pub held: u64,
    /// Items that filled a gap in time.
    pub filled: u64,
    /// Items declared lost.
    pub lost: u64,
    /// Items that arrived after they were declared lost, and were dropped.
    pub late: u64,
    /// Duplicate items, dropped. Includes late items whose gap is no longer remembered.
    pub duplicates: u64,
}

/// Releases numbered items in order.
#[derive(Clone, Debug)]
pub struct Resequencer<T> {
    bounds: ResequencerConfig,
    capacity: usize,
    /// Number of the next item to release.
    next: u64,
    /// Items beyond `next`, in order.
    held_items: VecDeque<HeldItem<T>>,
    /// Gaps that were given up, oldest first.
    given_up: VecDeque<Gap>,
    lateness: Lateness,
    stats: ResequencerStats,
}

#[derive(Clone, Debug)]
struct HeldItem<T> {
    number: u64,
    /// Earliest arrival among this item and those beyond it: any gap before it is known since then.
    since: Time,
    /// True if a gap preceded it on arrival.
    waited: bool,
    item: T,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    end: u64,
    since: Time,
}

/// Maximum lateness in two windows of time.
#[derive(Clone, Copy, Debug, Default)]
struct Lateness {
    current_max: Duration,
    previous_max: Duration,
    start_time: Time,
}

/// Maximum number of given-up gaps that are remembered.
const MAX_REMEMBERED_GAPS: usize = 64;

impl<T> Resequencer<T> {
    /// Creates a resequencer that expects number `first`.
    pub fn new(bounds: ResequencerConfig, first: u64) -> Self {
        Self {
            bounds: ResequencerConfig {
                max: bounds.max.max(bounds.min),
                capacity: bounds.capacity.max(1),
                ..bounds
            },
            capacity: bounds.capacity.max(1),
            next: first,
            held_items: VecDeque::new(),
            given_up: VecDeque::new(),
            lateness: Lateness::default(),
            stats: ResequencerStats::default(),
        }
    }

    /// Limits the items held to the number of 2 KiB packets that fit into `bytes`, at least 1 and at most the
    /// configured capacity.
    pub fn limit_buffer(&mut self, bytes: u64) {
        self.capacity = usize::try_from(bytes / 2048).unwrap_or(usize::MAX).clamp(1, self.bounds.capacity);
    }

    /// Returns the counters.
    pub const fn stats(&self) -> ResequencerStats {
        self.stats
    }

    /// Returns the number of the next item to release.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of held items.
    pub fn len(&self) -> usize {
        self.held_items.len()
    }

    /// Returns true when no item is held.
    pub fn is_empty(&self) -> bool {
        self.held_items.is_empty()
    }

    /// Returns the held items, in order.
    pub fn into_held(self) -> Vec<T> {
        self.held_items.into_iter().map(|held| held.item).collect()
    }

    /// Returns the tolerance for a gap at `now`.
    pub fn tolerance(&self, now: Time) -> Duration {
        let seen = self.lateness.longest(now, self.bounds.history);
        (seen + seen / 4).max(self.bounds.min).min(self.bounds.max)
    }

    /// Inserts an arriving item. Counts and returns an item that is a duplicate or too late.
    pub fn insert(&mut self, now: Time, number: u64, item: T) -> Option<T> {
        if number < self.next {
            self.on_old(now, number);
            return Some(item);
        }
        let at = self.held_items.partition_point(|held| held.number < number);
        let after = self.held_items.get(at);
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
        self.held_items.insert(at, HeldItem { number, since, waited, item });
        None
    }

    /// Returns the next item or loss to release at `now`, if any. Callers repeat until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Release<T>> {
        let first = self.held_items.front()?;
        let (number, since) = (first.number, first.since);
        if number == self.next {
            let held = self.held_items.pop_front()?;
            self.next += 1;
            self.stats.released += 1;
            self.stats.held += u64::from(held.waited);
            return Some(Release::Item(held.item));
        }
        let is_due = now.since(since) >= self.tolerance(now);
        if !is_due && self.held_items.len() <= self.capacity {
            return None;
        }
        let lost = number - self.next;
        self.remember(Gap { first: self.next, end: number, since });
        self.next = number;
        self.stats.lost += lost;
        Some(Release::Lost(lost))
    }

    /// Returns the time when the first gap is given up unless it is filled before; `None` without a gap. Later than the
    /// `now` of a poll that returned `None`.
    pub fn timeout(&self, now: Time) -> Option<Time> {
        self.held_items.front().map(|first| first.since + self.tolerance(now))
    }

    /// Handles an item below the next number.
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
        if self.given_up.len() == MAX_REMEMBERED_GAPS {
            self.given_up.pop_front();
        }
        self.given_up.push_back(gap);
    }

    /// Records the lateness of an item. Lateness beyond the maximum tolerance does not lengthen the wait.
    fn note(&mut self, now: Time, late: Duration) {
        if late <= self.bounds.max {
            self.lateness.note(now, late, self.bounds.history);
        }
    }
}

impl Lateness {
    fn note(&mut self, now: Time, late: Duration, history: Duration) {
        let age = now.since(self.start_time);
        if age >= history {
            self.previous_max = if age < history * 2 { self.current_max } else { Duration::ZERO };
            self.current_max = Duration::ZERO;
            self.start_time = now;
        }
        self.current_max = self.current_max.max(late);
    }

    fn longest(&self, now: Time, history: Duration) -> Duration {
        let age = now.since(self.start_time);
        if age < history {
            self.current_max.max(self.previous_max)
        } else if age < history * 2 {
            self.current_max
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    //! Each rule by hand, then all of them over random paths.
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn bounds(min: u64, max: u64, capacity: usize) -> ResequencerConfig {
        ResequencerConfig { min: millis(min), max: millis(max), history: Duration::from_secs(10), capacity }
    }

    /// Returns the items released now: numbers, and `-n` for n lost.
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
    fn items_in_order_are_released_at_once() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        assert_eq!(feed(&mut path, 0, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(path.timeout(at(0)), None);
        assert_eq!(path.stats(), ResequencerStats { released: 3, ..Default::default() });
    }

    #[test]
    fn a_gap_filled_in_time_is_no_loss() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        assert_eq!(feed(&mut path, 0, &[1, 3, 4]), [1]);
        assert_eq!(path.timeout(at(0)), Some(at(5)));
        assert_eq!(feed(&mut path, 4, &[2]), [2, 3, 4]);
        assert_eq!(path.stats(), ResequencerStats { released: 4, held: 2, filled: 1, ..Default::default() });
    }

    #[test]
    fn an_unfilled_gap_is_a_loss() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        // 2 and 3 missing since 1 ms, 5 since 3 ms.
        assert_eq!(feed(&mut path, 1, &[1, 4]), [1]);
        assert_eq!(feed(&mut path, 3, &[6]), []);
        assert_eq!(drain(&mut path, 5), []);
        assert_eq!(drain(&mut path, 6), [-2, 4]);
        assert_eq!(path.timeout(at(6)), Some(at(8)));
        assert_eq!(drain(&mut path, 8), [-1, 6]);
        assert_eq!((path.stats().lost, path.timeout(at(8))), (3, None));
    }

    #[test]
    fn duplicates_are_dropped() {
        let mut path = Resequencer::new(bounds(5, 50, 10), 1);
        assert_eq!(feed(&mut path, 0, &[1, 1, 3, 3, 1]), [1]);
        assert_eq!(feed(&mut path, 5, &[]), [-1, 3]);
        // Declared lost, then late. The second arrival is a duplicate.
        assert_eq!(feed(&mut path, 7, &[2, 2, 3]), []);
        assert_eq!((path.stats().late, path.stats().duplicates), (1, 5));
    }

    #[test]
    fn the_tolerance_follows_the_observed_reordering() {
        let mut path = Resequencer::new(bounds(4, 50, 10), 1);
        assert_eq!(path.tolerance(at(0)), millis(4));
        // Late by 20 ms: the gap was given up. The next such gap is tolerated, a quarter longer.
        assert_eq!(feed(&mut path, 0, &[2]), []);
        assert_eq!(drain(&mut path, 4), [-1, 2]);
        assert_eq!(feed(&mut path, 20, &[1]), []);
        assert_eq!(path.tolerance(at(20)), millis(25));
        assert_eq!(feed(&mut path, 30, &[4]), []);
        assert_eq!(drain(&mut path, 54), []);
        assert_eq!(feed(&mut path, 54, &[3]), [3, 4]);
        // 24 ms gives 30 ms. Lateness beyond the maximum tolerance is ignored.
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
    fn an_expired_window_is_replaced_by_newer_samples() {
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
        assert!(path.given_up.len() <= MAX_REMEMBERED_GAPS && path.is_empty());
    }

    proptest! {
        /// Items are sent one a millisecond, some lost, duplicated or delayed. Output is in order, without duplicates,
        /// and complete except for counted losses; no wait exceeds the bound, and the capacity holds.
        #[test]
        fn the_contract_holds_on_any_path(
            draws in prop::collection::vec((0u64..40, any::<u8>(), 0u64..40), 1..200),
            minimum in 0u64..10,
            maximum in 0u64..40,
            capacity in 1usize..20,
        ) {
            let mut wire: Vec<(u64, u64)> = Vec::new();
            for (number, (delay, dice, again)) in (0u64..).zip(&draws) {
                // A fifth is lost; half of the rest comes in order, a tenth twice.
                if dice % 5 > 0 {
                    wire.push((number + if dice % 2 == 0 { *delay } else { 0 }, number));
                }
                if dice % 10 == 1 {
                    wire.push((number + again, number));
                }
            }
            wire.sort_unstable();
            let bounds = bounds(minimum, maximum, capacity);
            let maximum = maximum.max(minimum);
            let mut path = Resequencer::new(bounds, 0);
            let mut arrived = std::collections::BTreeMap::new();
            let (mut turn, mut out, mut lost) = (0, 0, 0);
            let last = wire.last().map_or(0, |(time, _)| *time) + maximum;
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
                                prop_assert!(now - arrived[&number] <= maximum);
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
                            prop_assert!(now - arrived[&number] <= maximum);
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
                    prop_assert!(next > at(now) && next <= at(now + maximum));
                }
                prop_assert!(path.tolerance(at(now)) >= bounds.min);
            }
            prop_assert!(path.is_empty());
            prop_assert_eq!(path.stats().released, out);
            prop_assert_eq!(path.stats().lost, lost);
            prop_assert_eq!(path.next(), turn);
            prop_assert_eq!(out, arrived.len() as u64);
        }
    }
}
