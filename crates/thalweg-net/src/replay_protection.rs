//! Replay protection: packet numbers already received.

use core::hash::{Hash, Hasher};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::Time;

/// Size of the replay window, in packets; older packets are dropped.
///
/// At a million packets a second the window covers 8 ms of reordering, at 10 000 a second 0.8 s. It takes one KiB per
/// connection.
pub const WINDOW_PACKETS: u64 = 8192;

const WINDOW_WORDS: usize = (WINDOW_PACKETS / 64) as usize;

/// Sliding window of packet numbers (RFC 6479: a ring of words; sliding clears words and shifts nothing).
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    /// One bit per number, at its remainder.
    seen_numbers: Box<[u64; WINDOW_WORDS]>,
    /// Number after the highest seen.
    next: u64,
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self { seen_numbers: Box::new([0; WINDOW_WORDS]), next: 0 }
    }
}

impl ReplayWindow {
    /// Returns the number after the highest seen.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns true for a number that was not seen and is within the window.
    #[inline]
    pub fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        // The word of the newest number is shared with numbers one window earlier, which are no longer tracked.
        let oldest = (self.next - 1) / 64 * 64 + 64;
        number + WINDOW_PACKETS >= oldest && self.seen_numbers[word_index(number)] & bit_mask(number) == 0
    }

    /// Marks a number as seen. Call it only for authentic packets: a forged number would move the window.
    #[inline]
    pub fn mark(&mut self, number: u64) {
        if number >= self.next {
            let (last, new) = (self.next.div_ceil(64), number / 64 + 1);
            // Clear the words that the window newly enters.
            for fresh in last..new.min(last + WINDOW_WORDS as u64) {
                self.seen_numbers[(fresh % WINDOW_WORDS as u64) as usize] = 0;
            }
            self.next = number + 1;
        }
        self.seen_numbers[word_index(number)] |= bit_mask(number);
    }
}

impl Digest for ReplayWindow {
    fn feed_state<H: Hasher>(&self, _now: Time, into: &mut H) {
        self.next.hash(into);
        self.seen_numbers.iter().enumerate().filter(|(_, word)| **word > 0).for_each(|word| word.hash(into));
    }
}

fn word_index(number: u64) -> usize {
    ((number / 64) % WINDOW_WORDS as u64) as usize
}

fn bit_mask(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    //! Tests the window against a plain set of all numbers.
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set_with_a_short_memory(
            steps in prop::collection::vec((0u64..3, 0u64..20_000), 1..400),
            start in prop_oneof![Just(0u64), 0u64..1 << 40],
        ) {
            let (mut window, mut seen) = (ReplayWindow::default(), BTreeSet::new());
            window.mark(start);
            seen.insert(start);
            for (kind, distance) in steps {
                let number = match kind {
                    0 => window.next() + distance % 5,
                    1 => window.next() + distance,
                    _ => window.next().saturating_sub(distance),
                };
                let is_new = window.is_new(number);
                // Never twice.
                prop_assert!(!(is_new && seen.contains(&number)));
                // No number within the window is refused.
                if !seen.contains(&number) && number + (WINDOW_PACKETS - 64) >= window.next() {
                    prop_assert!(is_new, "{} refused at {}", number, window.next());
                }
                if is_new {
                    window.mark(number);
                    seen.insert(number);
                }
            }
        }
    }

    #[test]
    fn numbers_before_the_window_are_refused() {
        let mut window = ReplayWindow::default();
        window.mark(100_000);
        assert!(!window.is_new(100_000 - WINDOW_PACKETS - 1));
        assert!(window.is_new(100_000 - WINDOW_PACKETS + 64));
        assert!(!window.is_new(100_000));
        assert!(window.is_new(100_001));
    }
}
