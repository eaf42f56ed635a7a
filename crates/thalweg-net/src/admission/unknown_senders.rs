//! Unknown senders admitted without approval. Keys cost nothing, therefore a key becomes known only when data of its
//! sender is stored, and the number of unnamed senders is limited.

use crate::identity::PublicKey;
use std::collections::HashMap;

/// Unknown senders with transfers and without stored data.
#[derive(Debug)]
pub struct UnknownSenders {
    max: usize,
    /// Number of active transfers per key.
    active_transfers: HashMap<PublicKey, usize>,
}

impl UnknownSenders {
    /// Creates an empty set with a limit, which also counts former members that are known by now.
    pub fn new(max: usize) -> Self {
        Self { max, active_transfers: HashMap::new() }
    }

    /// Returns true if one more may be admitted when `known` of them are known.
    pub fn has_capacity(&self, known: usize) -> bool {
        known + self.active_transfers.len() < self.max
    }

    /// Returns true if the key has an active transfer.
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.active_transfers.contains_key(key)
    }

    /// Records the start of a transfer.
    pub fn begin(&mut self, key: PublicKey) {
        *self.active_transfers.entry(key).or_default() += 1;
    }

    /// Records the end of a transfer. Returns true if it was the last one of a key in this set.
    pub fn end(&mut self, key: &PublicKey) -> bool {
        let Some(transfers) = self.active_transfers.get_mut(key) else { return false };
        *transfers -= 1;
        let is_last = *transfers == 0;
        if is_last {
            self.active_transfers.remove(key);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_per_key_and_freed_with_the_last_transfer() {
        let mut senders = UnknownSenders::new(3);
        let [a, b] = [1, 2].map(|byte| PublicKey([byte; 32]));
        assert!(senders.has_capacity(2) && !senders.has_capacity(3));
        for key in [a, a, b] {
            senders.begin(key);
        }
        assert!(senders.has_capacity(0) && !senders.has_capacity(1), "two are here");
        assert!(!senders.end(&a) && senders.contains(&a));
        assert!(senders.end(&a) && !senders.contains(&a));
        assert!(!senders.end(&a), "nobody has it");
        assert!(senders.has_capacity(1));
    }
}
