//! Sets of byte ranges: data held out of order by a receiver, and the sender's record of it.

/// Disjoint, non-adjacent, ascending half-open ranges.
///
/// One range stands for each run between holes, so a set is as long as there are holes; it takes no heap memory
/// before the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the end of the highest range; 0 for an empty set.
    #[inline]
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |&(_, end)| end)
    }

    /// Returns the ranges, highest first.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().rev().copied()
    }

    /// Returns the range that contains `position`.
    #[inline(always)]
    pub fn containing(&self, position: u64) -> Option<(u64, u64)> {
        // Mostly before all ranges or in the highest: no search needed.
        let (first, last) = (self.0.first()?, *self.0.last()?);
        if position < first.0 {
            return None;
        }
        let range = if position < last.0 { self.begun_by(position) } else { last };
        (position < range.1).then_some(range)
    }

    /// Returns the last range that starts at or before `position`; the first range must.
    fn begun_by(&self, position: u64) -> (u64, u64) {
        let after = self.0.partition_point(|&(start, _)| start <= position);
        after.checked_sub(1).and_then(|at| self.0.get(at)).copied().unwrap_or_default()
    }

    /// Adds `start..end` and calls `new` for each part of it that was not in the set.
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // The ranges that touch the new one: from the first that ends at or after its start ...
        let first = match self.0.last() {
            // Most insertions are at the end.
            Some(&(last_start, _)) if last_start <= start => self.0.len() - usize::from(self.end() >= start),
            _ => self.0.partition_point(|&(_, range_end)| range_end < start),
        };
        let (mut merged, mut covered, mut last) = ((start, end), start, first);
        // ... to the last that starts at or before its end.
        while let Some(&(range_start, range_end)) = self.0.get(last).filter(|range| range.0 <= end) {
            if covered < range_start {
                new(covered, range_start);
            }
            covered = covered.max(range_end);
            merged = (merged.0.min(range_start), merged.1.max(range_end));
            last += 1;
        }
        if covered < end {
            new(covered, end);
        }
        if first == last {
            self.0.insert(first, merged);
        } else {
            self.0[first] = merged;
            if last > first + 1 {
                self.0.drain(first + 1..last);
            }
        }
    }

    /// Removes everything below `position`.
    #[inline(always)]
    pub fn remove_below(&mut self, position: u64) {
        // The common case has nothing to remove; this saves a call.
        if self.0.first().is_some_and(|&(start, _)| start < position) {
            self.cut_below(position);
        }
    }

    fn cut_below(&mut self, position: u64) {
        let gone = self.0.partition_point(|&(_, end)| end <= position);
        if gone > 0 {
            self.0.drain(..gone);
        }
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(position);
        }
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a plain set of numbers: same members, and `new` is called once for each new member.
        #[test]
        fn behaves_like_a_set_of_numbers(steps in prop::collection::vec((0u64..60, 0u64..20, any::<bool>()), 1..60)) {
            let (mut ranges, mut model) = (Ranges::default(), std::collections::BTreeSet::new());
            let mut floor = 0;
            for (start, length, remove) in steps {
                if remove {
                    floor = floor.max(start);
                    ranges.remove_below(start);
                    model = model.split_off(&start);
                } else {
                    let mut inserted = Vec::new();
                    ranges.insert(start, start + length, |a, b| inserted.extend(a..b));
                    let expected: Vec<u64> = (start..start + length).filter(|x| model.insert(*x)).collect();
                    prop_assert_eq!(inserted, expected);
                }
                let members: Vec<u64> = ranges.0.iter().flat_map(|&(a, b)| a..b).collect();
                prop_assert_eq!(members, model.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert!(ranges.0.iter().all(|range| range.0 < range.1));
                for x in 0..80 {
                    prop_assert_eq!(ranges.containing(x).is_some(), model.contains(&x));
                }
            }
        }
    }
}
