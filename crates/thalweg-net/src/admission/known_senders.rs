//! The interface of lists of known senders, by their keys.

use crate::identity::PublicKey;

/// Known senders, by key. A program stores them as it likes: the command has a file, [`SenderNames`] only memory.
pub trait KnownSenders {
    /// Returns the name of the sender with this key.
    fn name_of(&self, key: &PublicKey) -> Option<&str>;

    /// Returns true if somebody named or approved the sender with this key, as opposed to admission as one of many
    /// unknown senders.
    fn is_chosen(&self, key: &PublicKey) -> bool;

    /// Returns the number of senders without a name of their own.
    fn unnamed(&self) -> usize;

    /// Returns all keys.
    fn keys(&self) -> Vec<PublicKey>;

    /// Adds a sender that was approved or paired.
    ///
    /// # Errors
    /// Describes why it cannot be stored.
    fn remember(&mut self, name: &str, key: PublicKey) -> Result<(), String>;

    /// Adds an unknown sender of which there are files.
    ///
    /// # Errors
    /// Describes why it cannot be stored.
    fn remember_unconfirmed(&mut self, key: PublicKey) -> Result<(), String>;

    /// Reads the list again if it was changed elsewhere, or if `is_wanted`. Returns true if it was read.
    ///
    /// # Errors
    /// Describes why it cannot be read; the list is unchanged.
    fn reload(&mut self, is_wanted: bool) -> Result<bool, String> {
        let _ = is_wanted;
        Ok(false)
    }
}

/// Prefix of the names of unnamed senders.
const UNNAMED_PREFIX: &str = "sender-";

/// Returns the name of an unnamed sender: 128 bits of its key, to rule out collisions by forged keys.
pub fn name_for(key: &PublicKey) -> String {
    format!("{UNNAMED_PREFIX}{}", &key.to_string()[..32])
}

/// Known senders in memory.
#[derive(Clone, Debug, Default)]
pub struct SenderNames(Vec<(String, PublicKey, bool)>);

impl KnownSenders for SenderNames {
    fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.0.iter().rev().find(|(_, other, _)| other == key).map(|(name, ..)| &**name)
    }

    fn is_chosen(&self, key: &PublicKey) -> bool {
        self.0.iter().any(|(_, other, is_chosen)| other == key && *is_chosen)
    }

    fn unnamed(&self) -> usize {
        self.0.iter().filter(|(name, key, _)| *name == name_for(key)).count()
    }

    fn keys(&self) -> Vec<PublicKey> {
        self.0.iter().map(|(_, key, _)| *key).collect()
    }

    fn remember(&mut self, name: &str, key: PublicKey) -> Result<(), String> {
        self.0.push((name.to_owned(), key, true));
        Ok(())
    }

    fn remember_unconfirmed(&mut self, key: PublicKey) -> Result<(), String> {
        self.0.push((name_for(&key), key, false));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_made_of_a_key_has_128_bits_of_it() {
        let names: std::collections::HashSet<_> = (0..128)
            .map(|bit| {
                let mut key = [0; 32];
                key[bit / 8] = 1 << (bit % 8);
                name_for(&PublicKey(key))
            })
            .collect();
        assert_eq!(names.len(), 128);
        assert!(!names.contains(&name_for(&PublicKey([0; 32]))));
    }

    #[test]
    fn the_last_name_counts_and_one_approval_suffices() {
        let [a, b] = [1, 2].map(|byte| PublicKey([byte; 32]));
        let mut senders = SenderNames::default();
        senders.remember_unconfirmed(a).unwrap();
        assert_eq!((senders.is_chosen(&a), senders.unnamed()), (false, 1));
        senders.remember("anna", a).unwrap();
        assert_eq!((senders.name_of(&a), senders.name_of(&b)), (Some("anna"), None));
        assert_eq!((senders.is_chosen(&a), senders.keys()), (true, vec![a, a]));
    }
}
