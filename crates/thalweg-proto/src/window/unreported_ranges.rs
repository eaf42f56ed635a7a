//! Out-of-order ranges not yet reported in a SACK block.
//!
//! An acknowledgement has space for three ranges, the newest (RFC 2018, section 4). That suffices where each segment is
//! acknowledged. A host that delivers segments in batches may receive more ranges between two acknowledgements, and a
//! sender retransmits any range that is never reported.

use super::byte_ranges::Ranges;
use std::collections::VecDeque;

/// Maximum number of remembered ranges; beyond it the oldest are dropped.
const MAX_UNREPORTED: usize = 1 << 8;

/// Positions in ranges displaced by newer ones before an acknowledgement left, oldest first.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Unreported(VecDeque<u64>);

impl Unreported {
    /// Adds the range at `position`.
    pub fn add(&mut self, position: u64) {
        if self.0.len() == MAX_UNREPORTED {
            self.0.pop_front();
        }
        self.0.push_back(position);
    }

    /// Takes the positions for the next acknowledgement, newest first, limited to those still `held` out of order;
    /// `None` where only the newest range of all remains.
    pub fn take(&mut self, held: &Ranges) -> Option<[u64; 3]> {
        let mut next = || {
            while let Some(position) = self.0.pop_front() {
                if held.containing(position).is_some() {
                    return Some(position);
                }
            }
            None
        };
        let first = next()?;
        let second = next().unwrap_or(first);
        let third = next().unwrap_or(second);
        Some([third, second, first])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreported_ranges_come_oldest_first() {
        let mut held = Ranges::default();
        for run in 0..5 {
            held.insert(10 * run + 5, 10 * run + 6, |_, _| ());
        }
        let mut unreported = Unreported::default();
        [5, 15, 25, 35, 45].into_iter().for_each(|position| unreported.add(position));
        held.remove_below(20);
        assert_eq!(unreported.take(&held), Some([45, 35, 25]));
        assert_eq!(unreported.take(&held), None);
        unreported.add(35);
        assert_eq!((unreported.take(&held), unreported.take(&held)), (Some([35; 3]), None));
    }

    #[test]
    fn the_oldest_ranges_are_dropped_at_the_limit() {
        let mut held = Ranges::default();
        held.insert(0, 10_000, |_, _| ());
        let mut unreported = Unreported::default();
        (0..MAX_UNREPORTED as u64 + 2).for_each(|position| unreported.add(position));
        assert_eq!(unreported.take(&held), Some([4, 3, 2]));
    }
}
