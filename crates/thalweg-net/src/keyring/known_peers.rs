//! The file of known peers: names and public keys.

use super::KeyringError;
use super::private_file::{make_private, read_private};
use crate::admission::{KnownSenders, name_for};
use crate::atomic_file;
use crate::identity::PublicKey;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Known peers of one kind.
#[derive(Debug)]
pub struct KnownPeers {
    path: PathBuf,
    peers: Vec<Peer>,
    /// Invalid lines with their positions, not reported yet.
    wrong: Vec<String>,
    /// File stamps when it was last parsed, and at the last check.
    parsed_stamp: Option<Stamp>,
    checked_stamp: Option<Stamp>,
}

/// A line of the file.
#[derive(Debug)]
struct Peer {
    name: String,
    key: PublicKey,
    /// Admitted without a user's decision, and not confirmed since.
    is_by_new: bool,
}

/// Maximum size of the file, in MiB: half a million peers.
const MAX_MIB: u64 = 64;

/// Comment on the line of a peer that was admitted without a user's decision, by the command's option.
const BY_NEW: &str = "by --trust new";

/// Change detection of a file: device, inode, size and modification time.
type Stamp = (u64, u64, u64, i64, i64);

fn file_stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec()))
}

impl KnownPeers {
    pub(super) fn read(path: PathBuf) -> Result<Self, KeyringError> {
        let read = file_stamp(&path);
        let text = match read_private(&path, MAX_MIB, 0o022, "others may write it") {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(KeyringError::for_file(&path, error)),
        };
        Ok(Self { parsed_stamp: read, checked_stamp: read, ..Self::parse(path, &text) })
    }

    /// Parses the text of the file at `path`.
    pub fn parse(path: PathBuf, text: &str) -> Self {
        let (mut known, mut wrong) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let (line, comment) = line.split_once('#').unwrap_or((line, ""));
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let read = |(name, key): (&str, &str)| {
                let key = key.trim().parse().ok()?;
                let is_by_new = comment.trim() == BY_NEW && is_unnamed(name, &key);
                Some(Peer { name: name.to_owned(), key, is_by_new })
            };
            match line.split_once(char::is_whitespace).and_then(read) {
                Some(entry) => known.push(entry),
                // A line may be truncated by a full disk; the other peers stay known.
                None => wrong.push(format!(
                    "{}:{}: expected a name and a key of 64 hexadecimal digits; the line is ignored",
                    path.display(),
                    number + 1
                )),
            }
        }
        Self { path, peers: known, wrong, parsed_stamp: None, checked_stamp: None }
    }

    /// Takes the descriptions of the invalid lines, with their positions, once per read of the file.
    pub fn take_faults(&mut self) -> Vec<String> {
        core::mem::take(&mut self.wrong)
    }

    /// Re-reads the file if it has changed since it was read but not since the last check, to avoid reading during a
    /// write; or if `is_wanted`. Returns true if it was read.
    ///
    /// # Errors
    /// If it cannot be read: the state stays unchanged until the file changes.
    pub fn reload(&mut self, is_wanted: bool) -> Result<bool, KeyringError> {
        let now = file_stamp(&self.path);
        let is_settled = now == std::mem::replace(&mut self.checked_stamp, now);
        if !is_wanted && (now == self.parsed_stamp || !is_settled) {
            return Ok(false);
        }
        self.parsed_stamp = now;
        let Self { peers: known, wrong, .. } = Self::read(self.path.clone())?;
        (self.peers, self.wrong) = (known, wrong);
        Ok(true)
    }

    /// Returns the key of the peer with this name; the last entry in the file counts.
    pub fn key_of(&self, name: &str) -> Option<PublicKey> {
        self.peers.iter().rev().find(|known| known.name == name).map(|known| known.key)
    }

    /// Returns the name of the peer with this key.
    pub fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.peers.iter().rev().find(|known| known.key == *key).map(|known| &*known.name)
    }

    /// Returns true if the user named or approved the peer with this key, as opposed to admission by `--trust new`.
    pub fn is_chosen(&self, key: &PublicKey) -> bool {
        self.peers.iter().any(|known| known.key == *key && !known.is_by_new)
    }

    /// Returns the number of peers without a user-assigned name.
    pub fn unnamed(&self) -> usize {
        self.peers.iter().filter(|known| is_unnamed(&known.name, &known.key)).count()
    }

    /// Returns all keys.
    pub fn keys(&self) -> impl Iterator<Item = PublicKey> {
        self.peers.iter().map(|known| known.key)
    }

    /// Returns the path of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a peer.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remember(&mut self, name: &str, key: PublicKey) -> Result<(), KeyringError> {
        self.add(name, key, false)
    }

    /// Adds a sender that was admitted without a user's decision.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remember_unconfirmed(&mut self, key: PublicKey) -> Result<(), KeyringError> {
        self.add(&name_for(&key), key, true)
    }

    fn add(&mut self, name: &str, key: PublicKey, is_by_new: bool) -> Result<(), KeyringError> {
        let add = || {
            self.path.parent().map_or(Ok(()), make_private)?;
            let comment = if is_by_new { format!(" # {BY_NEW}") } else { String::new() };
            atomic_file::add_line(&self.path, 0o600, &format!("{name} {key}{comment}"))
        };
        add().map_err(|error| KeyringError::for_file(&self.path, error))?;
        self.peers.push(Peer { name: name.to_owned(), key, is_by_new });
        // Concurrent changes by others still have to be read.
        if self.parsed_stamp == self.checked_stamp {
            (self.parsed_stamp, self.checked_stamp) = (file_stamp(&self.path), file_stamp(&self.path));
        }
        Ok(())
    }
}

impl KnownSenders for KnownPeers {
    fn name_of(&self, key: &PublicKey) -> Option<&str> {
        Self::name_of(self, key)
    }

    fn is_chosen(&self, key: &PublicKey) -> bool {
        Self::is_chosen(self, key)
    }

    fn unnamed(&self) -> usize {
        Self::unnamed(self)
    }

    fn keys(&self) -> Vec<PublicKey> {
        Self::keys(self).collect()
    }

    fn remember(&mut self, name: &str, key: PublicKey) -> Result<(), String> {
        Self::remember(self, name, key).map_err(|error| error.to_string())
    }

    fn remember_unconfirmed(&mut self, key: PublicKey) -> Result<(), String> {
        Self::remember_unconfirmed(self, key).map_err(|error| error.to_string())
    }

    fn reload(&mut self, is_wanted: bool) -> Result<bool, String> {
        Self::reload(self, is_wanted).map_err(|error| error.to_string())
    }
}

fn is_unnamed(name: &str, key: &PublicKey) -> bool {
    name == name_for(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Keyring;
    use crate::test_folder::TestFolder;

    #[test]
    fn peers_are_remembered_and_the_last_word_counts() {
        let folder = TestFolder::new("peers-test");
        let keys = Keyring::at(folder.to_path_buf());
        let (a, b) = (PublicKey([1; 32]), PublicKey([2; 32]));
        let mut peers = keys.receivers().unwrap();
        assert_eq!(peers.key_of("host:1"), None);
        peers.remember("host:1", a).unwrap();
        keys.receivers().unwrap().remember("host:1", b).unwrap();
        let peers = keys.receivers().unwrap();
        assert_eq!((peers.key_of("host:1"), peers.name_of(&a)), (Some(b), Some("host:1")));
    }

    /// A truncated line, or one joined to the next, does not affect other peers.
    #[test]
    fn invalid_lines_are_reported_and_skipped() {
        let folder = TestFolder::new("peers-lines");
        let keys = Keyring::at(folder.to_path_buf());
        let [a, b, c] = [1, 2, 3].map(|byte| PublicKey([byte; 32]));
        keys.senders().unwrap().remember("anna", a).unwrap();
        let path = keys.senders().unwrap().path().to_owned();
        let half = &b.to_string()[..40];
        let mut bytes = format!("# a comment\n\nanna {a}\nbert {half}").into_bytes();
        fs::write(&path, &bytes).unwrap();
        let mut senders = keys.senders().unwrap();
        let faults = senders.take_faults();
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("known-senders:4: expected a name and a key"), "{faults:?}");
        assert_eq!(senders.name_of(&a), Some("anna"));
        // The next entry starts on a new line.
        senders.remember("carl", c).unwrap();
        let again = keys.senders().unwrap();
        assert_eq!(
            (again.name_of(&a), again.name_of(&c), again.wrong.len()),
            (Some("anna"), Some("carl"), 1)
        );
        // A sender admitted by --trust new is not chosen by the user until they confirm it.
        let mut senders = keys.senders().unwrap();
        senders.remember_unconfirmed(b).unwrap();
        let is_chosen = || [&a, &b, &c].map(|key| keys.senders().unwrap().is_chosen(key));
        assert_eq!((is_chosen(), senders.is_chosen(&b)), ([true, false, true], false));
        assert_eq!(keys.senders().unwrap().unnamed(), 1);
        senders.remember(&name_for(&b), b).unwrap();
        assert!(is_chosen()[1]);
        // The same applies after a complete line without a line break.
        fs::write(&path, format!("anna {a}")).unwrap();
        keys.senders().unwrap().remember("carl", c).unwrap();
        let again = keys.senders().unwrap();
        assert_eq!((again.keys().collect::<Vec<_>>(), again.wrong.len()), (vec![a, c], 0));
        // Invalid UTF-8 is an invalid line, too.
        bytes.extend_from_slice(b"\xff\xfe\n");
        fs::write(&path, &bytes).unwrap();
        assert_eq!(keys.senders().unwrap().keys().collect::<Vec<_>>(), [a]);
    }
}
