//! Data numbering for logs that treat all protocols alike ([`DataUnit`](crate::pdu::DataUnit)).

use core::ops::Range;
use std::collections::BTreeMap;

/// Returns the range of one number.
pub(crate) fn single_number_range(number: u64) -> Range<u64> {
    number..number.saturating_add(1)
}

/// Returns the numbers below `end`.
pub(crate) fn numbers_below(end: u64) -> impl Iterator<Item = Range<u64>> {
    core::iter::once(0..end)
}

/// Returns the number nearest to `near` that equals `number` modulo `modulus`; not below zero, at most `u64::MAX`.
pub fn unwrap_number(number: u64, modulus: u64, near: u64) -> u64 {
    let above = (near - near % modulus).saturating_add(number);
    if above > near.saturating_add(modulus / 2) && above >= modulus {
        above - modulus
    } else if above < near.saturating_sub(modulus / 2) {
        above.saturating_add(modulus)
    } else {
        above
    }
}

/// Removes from `open` the entries whose data lies within one of `ranges` and returns them. Keys are first data
/// numbers; `end` gives the number after an entry's last.
pub fn take_within<T>(open: &mut BTreeMap<u64, T>, ranges: &[Range<u64>], end: impl Fn(&T) -> u64) -> Vec<T> {
    let mut taken = Vec::new();
    for range in ranges.iter().filter(|range| range.start < range.end) {
        let within = open.range(range.clone()).filter(|(_, entry)| end(entry) <= range.end);
        let starts: Vec<u64> = within.map(|(start, _)| *start).collect();
        taken.extend(starts.iter().filter_map(|start| open.remove(start)));
    }
    taken
}

/// Returns distinct numbers as ascending ranges with inclusive ends.
pub fn merge_numbers(mut numbers: Vec<u64>) -> Box<[(u64, u64)]> {
    numbers.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match merged.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => merged.push((number, number)),
        }
    }
    merged.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_numbers_resolve_to_the_nearest() {
        assert_eq!(unwrap_number(5, 16, 3), 5);
        assert_eq!(unwrap_number(15, 16, 1), 15, "nothing is below zero");
        assert_eq!(unwrap_number(15, 16, 33), 31);
        assert_eq!(unwrap_number(1, 16, 31), 33);
        assert_eq!(unwrap_number(2, 1 << 16, 65_534), 65_538);
        assert_eq!(unwrap_number(3, 1 << 16, u64::MAX), u64::MAX, "there is no larger number");
    }

    #[test]
    fn entries_inside_a_range_are_removed_and_numbers_are_merged() {
        // First number, number after the last.
        let mut open = BTreeMap::from([(0, 2), (2, 5), (5, 6), (9, 12)]);
        let ranges = [Range { start: 4, end: 3 }, 0..5, 8..11];
        assert_eq!(take_within(&mut open, &ranges, |end| *end), [2, 5]);
        assert_eq!(open, BTreeMap::from([(5, 6), (9, 12)]));
        assert_eq!(*merge_numbers(vec![4, 1, 2, 9, 3]), [(1, 4), (9, 9)]);
        assert_eq!(*merge_numbers(Vec::new()), []);
    }
}
