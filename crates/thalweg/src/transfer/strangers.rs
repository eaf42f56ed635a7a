//! Senders that `--trust new` lets in. Keys cost nothing: one is known, and has a folder, once something of its sender is stored, and
//! there are only so many that nobody gave a name.

use std::collections::HashMap;
use thalweg_net::identity::PublicKey;

/// Those of which nothing is stored yet.
#[derive(Debug)]
pub struct Strangers {
    most: usize,
    /// Their transfers that go on.
    here: HashMap<PublicKey, usize>,
}

impl Strangers {
    /// So many at most, together with those that were strangers and are known by now.
    pub fn new(most: usize) -> Self {
        Self { most, here: HashMap::new() }
    }

    /// One more may come, where so many of them are `known`.
    pub fn have_room(&self, known: usize) -> bool {
        known + self.here.len() < self.most
    }

    /// A transfer of this one goes on.
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.here.contains_key(key)
    }

    /// A transfer of this one begins.
    pub fn begin(&mut self, key: PublicKey) {
        *self.here.entry(key).or_default() += 1;
    }

    /// A transfer of this one has ended. True if it was one of them, and has no other.
    pub fn end(&mut self, key: &PublicKey) -> bool {
        let Some(transfers) = self.here.get_mut(key) else { return false };
        *transfers -= 1;
        let is_last = *transfers == 0;
        if is_last {
            self.here.remove(key);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_for_keys_and_come_back_with_their_last_transfer() {
        let mut strangers = Strangers::new(3);
        let [a, b] = [1, 2].map(|byte| PublicKey([byte; 32]));
        assert!(strangers.have_room(2) && !strangers.have_room(3));
        for key in [a, a, b] {
            strangers.begin(key);
        }
        assert!(strangers.have_room(0) && !strangers.have_room(1), "two are here");
        assert!(!strangers.end(&a) && strangers.contains(&a));
        assert!(strangers.end(&a) && !strangers.contains(&a));
        assert!(!strangers.end(&a), "nobody has it");
        assert!(strangers.have_room(1));
    }
}
