//! Sets of positions as disjoint ranges.

use std::collections::BTreeMap;

/// Set of positions: ranges by their start, disjoint and not adjacent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `start..end`; calls `new` with each part that was not in the set.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let (mut from, mut first, mut last) = (start, start, end);
        // The range before `start` may cover or touch it.
        if let Some((&before, &until)) = self.0.range(..=start).next_back()
            && until >= start
        {
            if until >= end {
                return;
            }
            (first, from) = (before, until);
        }
        while let Some((&next, &until)) = self.0.range(from.max(first + 1)..=end).next() {
            if next > from {
                new(from, next);
            }
            from = from.max(until);
            last = last.max(until);
            self.0.remove(&next);
            if until >= end {
                break;
            }
        }
        if from < end {
            new(from, end);
        }
        self.0.insert(first, last);
    }

    /// Removes all positions below `end`.
    pub(crate) fn remove_below(&mut self, end: u64) {
        while let Some((&start, &until)) = self.0.iter().next() {
            if start >= end {
                return;
            }
            self.0.remove(&start);
            if until > end {
                self.0.insert(end, until);
            }
        }
    }

    /// Returns the number of ranges.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes `start..end`; returns the number of positions that were in the set.
    pub(crate) fn take(&mut self, start: u64, end: u64) -> u64 {
        let mut taken = 0;
        // An empty range holds nothing.
        let overlap = |&(_, &last): &(&u64, &u64)| last > start && start < end;
        while let Some((&first, &last)) = self.0.range(..end).next_back().filter(overlap) {
            self.0.remove(&first);
            if last > end {
                self.0.insert(end, last);
            }
            taken += last.min(end) - first.max(start);
            if first < start {
                self.0.insert(first, start);
                break;
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts a range; returns the new parts.
    fn insert_range(ranges: &mut Ranges, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        ranges.insert(start, end, |from, to| parts.push((from, to)));
        parts
    }

    #[test]
    fn parts_are_new_once() {
        let mut ranges = Ranges::default();
        assert_eq!(insert_range(&mut ranges, 10, 20), [(10, 20)]);
        assert_eq!(insert_range(&mut ranges, 10, 20), []);
        assert_eq!(insert_range(&mut ranges, 12, 15), []);
        assert_eq!(insert_range(&mut ranges, 5, 12), [(5, 10)]);
        assert_eq!(insert_range(&mut ranges, 20, 25), [(20, 25)]);
        assert_eq!(ranges.len(), 1);
        assert_eq!(insert_range(&mut ranges, 30, 40), [(30, 40)]);
        assert_eq!(insert_range(&mut ranges, 0, 50), [(0, 5), (25, 30), (40, 50)]);
        assert_eq!(ranges.len(), 1);
        assert_eq!(insert_range(&mut ranges, 7, 7), []);
    }

    #[test]
    fn positions_below_are_removed() {
        let mut ranges = Ranges::default();
        insert_range(&mut ranges, 0, 10);
        insert_range(&mut ranges, 20, 30);
        ranges.remove_below(25);
        assert_eq!(insert_range(&mut ranges, 0, 30), [(0, 25)]);
    }

    #[test]
    fn taken_positions_are_counted() {
        let mut ranges = Ranges::default();
        insert_range(&mut ranges, 0, 10);
        insert_range(&mut ranges, 20, 30);
        assert_eq!(ranges.take(5, 25), 10);
        assert_eq!(ranges.take(0, 100), 10);
        assert_eq!(ranges.take(0, 100), 0);
    }
}
