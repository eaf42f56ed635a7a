//! The packet numbers that have been seen, so that a packet counts once.

use core::hash::{Hash, Hasher};
use thalweg_proto::digest::Digest;
use thalweg_proto::units::Time;

/// The most that a packet may come behind the highest number and still be taken, in packets.
///
/// At a million packets a second these are 8 ms of reordering, at 10 000 a second 0.8 s. One KiB a connection.
pub const WINDOW: u64 = 8192;

const WORDS: usize = (WINDOW / 64) as usize;

/// A sliding window of packet numbers (RFC 6479: a ring of words, so that moving on clears words and shifts nothing).
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    /// One bit a number, at the number's remainder.
    seen: Box<[u64; WORDS]>,
    /// The number after the highest seen.
    next: u64,
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self { seen: Box::new([0; WORDS]), next: 0 }
    }
}

impl ReplayWindow {
    /// The number after the highest seen.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// True for a number that has not been seen and is not too old to tell.
    #[inline]
    pub fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        // The word of the newest number is shared with numbers one window earlier, which are gone.
        let oldest = (self.next - 1) / 64 * 64 + 64;
        number + WINDOW >= oldest && self.seen[word(number)] & bit(number) == 0
    }

    /// Remembers a number. To be called only for packets that are authentic: a forged number would move the window.
    #[inline]
    pub fn mark(&mut self, number: u64) {
        if number >= self.next {
            let (last, new) = (self.next.div_ceil(64), number / 64 + 1);
            // Words that come into use for the first time in this turn of the ring.
            for fresh in last..new.min(last + WORDS as u64) {
                self.seen[(fresh % WORDS as u64) as usize] = 0;
            }
            self.next = number + 1;
        }
        self.seen[word(number)] |= bit(number);
    }
}

impl Digest for ReplayWindow {
    fn digest<H: Hasher>(&self, _now: Time, into: &mut H) {
        self.next.hash(into);
        self.seen.iter().enumerate().filter(|(_, word)| **word > 0).for_each(|word| word.hash(into));
    }
}

fn word(number: u64) -> usize {
    ((number / 64) % WORDS as u64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    //! Proves the window against a plain set of all numbers.
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
                // Nothing is refused that is not far behind.
                if !seen.contains(&number) && number + (WINDOW - 64) >= window.next() {
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
    fn what_is_too_old_to_tell_is_refused() {
        let mut window = ReplayWindow::default();
        window.mark(100_000);
        assert!(!window.is_new(100_000 - WINDOW - 1));
        assert!(window.is_new(100_000 - WINDOW + 64));
        assert!(!window.is_new(100_000));
        assert!(window.is_new(100_001));
    }
}
