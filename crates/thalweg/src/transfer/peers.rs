//! The identity of this user to others, and the peers that it knows.
//!
//! Both are small text files in the user's configuration: `identity` holds the secret key, `known-receivers` and
//! `known-senders` a name and a public key a line.

use crate::console::{Console, Error};
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_net::identity::{Identity, PublicKey, SystemEntropy};
use thalweg_scenario::Reader;

/// The folder that holds the keys.
#[derive(Debug)]
pub struct Keys {
    folder: PathBuf,
}

/// Peers of one kind that are known.
#[derive(Debug)]
pub struct Peers {
    path: PathBuf,
    known: Vec<(String, PublicKey)>,
    /// The file as it was read, and as it was at the last look.
    read: Option<Stamp>,
    seen: Option<Stamp>,
}

/// The marks by which a file is known to be the same: its device and number, size and time of change.
type Stamp = (u64, u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec()))
}

impl Keys {
    /// In `$XDG_CONFIG_HOME/thalweg`, or `~/.config/thalweg`.
    pub fn find() -> Result<Self, Error> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
        let config = config.ok_or_else(|| {
            Error::Failed("neither XDG_CONFIG_HOME nor HOME says where keys are".to_owned())
        })?;
        Ok(Self { folder: config.join("thalweg") })
    }

    /// The folder that holds them.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// This user's key pair, made when first needed.
    pub fn identity(&self) -> Result<Identity, Error> {
        let path = self.folder.join("identity");
        let cannot = |error: io::Error| Error::Failed(format!("{}: {error}", path.display()));
        if !path.exists() {
            self.make_identity(&path).map_err(cannot)?;
        }
        let text = read_private(&path, 0o077, "others may read it").map_err(cannot)?;
        Identity::from_text(&text).ok_or_else(|| Error::Failed(format!("{} holds no key", path.display())))
    }

    /// Under its name at once, so that nobody reads half of it; a process that comes second finds the first one's.
    fn make_identity(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let identity = Identity::generate(&mut SystemEntropy::new());
        // Two threads may be the first at once, too.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("identity.{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        options.mode(0o600);
        let written = options.open(&draft).and_then(|mut file| {
            writeln!(file, "{}", identity.to_text())?;
            file.sync_all()
        });
        let linked = written.and_then(|()| match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
        let _ = fs::remove_file(&draft);
        linked
    }

    /// Receivers, by the name with which they were called.
    pub fn receivers(&self) -> Result<Peers, Error> {
        Peers::read(self.folder.join("known-receivers"))
    }

    /// Senders.
    pub fn senders(&self) -> Result<Peers, Error> {
        Peers::read(self.folder.join("known-senders"))
    }
}

/// Reads a file of this user's, which gives others none of the permissions in `forbidden`.
fn read_private(path: &Path, forbidden: u32, why: &str) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let metadata = file.metadata()?;
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if metadata.mode() & forbidden != 0 {
        let mode = metadata.mode() & 0o777;
        let right = mode & !forbidden;
        return Err(io::Error::other(format!("{why} (mode {mode:03o}): chmod {right:03o} mends it")));
    }
    let text = Reader::default().all_of(file)?;
    String::from_utf8(text).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))
}

impl Peers {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let read = stamp(&path);
        let text = match read_private(&path, 0o022, "others may write it") {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::Failed(format!("{}: {error}", path.display()))),
        };
        let mut known = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let entry = line.split_once(char::is_whitespace);
            let entry = entry.and_then(|(name, key)| Some((name.to_owned(), key.trim().parse().ok()?)));
            known.push(entry.ok_or_else(|| {
                let (path, number) = (path.display(), number + 1);
                Error::Failed(format!("{path}:{number}: expected a name and a key of 64 hexadecimal digits"))
            })?);
        }
        Ok(Self { path, known, read, seen: read })
    }

    /// Reads the file again if it has changed since it was read and has not since the last look, so that nobody who is
    /// writing it is disturbed; or if it `is_wanted`. True if it was read.
    ///
    /// # Errors
    /// It cannot be read, or is wrong: all stays as it was until it changes.
    pub fn reload(&mut self, is_wanted: bool) -> Result<bool, Error> {
        let now = stamp(&self.path);
        let is_settled = now == std::mem::replace(&mut self.seen, now);
        if !is_wanted && (now == self.read || !is_settled) {
            return Ok(false);
        }
        self.read = now;
        self.known = Self::read(self.path.clone())?.known;
        Ok(true)
    }

    /// The key of the peer with this name: the last one that was written.
    pub fn key_of(&self, name: &str) -> Option<PublicKey> {
        self.known.iter().rev().find(|(known, _)| known == name).map(|(_, key)| *key)
    }

    /// The name of the peer with this key.
    pub fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.known.iter().rev().find(|(_, known)| known == key).map(|(name, _)| &**name)
    }

    /// The number of peers that are called by their keys, as nobody gave them a name.
    pub fn unnamed(&self) -> usize {
        self.known.iter().filter(|(name, key)| name.starts_with(UNNAMED) && *name == name_for(key)).count()
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = PublicKey> {
        self.known.iter().map(|(_, key)| *key)
    }

    /// The file, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Knows a peer from now on.
    pub fn remember(&mut self, name: &str, key: PublicKey) -> Result<(), Error> {
        let append = || {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            // One call, so that lines of two processes do not mix.
            OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .open(&self.path)?
                .write_all(format!("{name} {key}\n").as_bytes())
        };
        append().map_err(|error| Error::Failed(format!("{}: {error}", self.path.display())))?;
        self.known.push((name.to_owned(), key));
        // What others have written meanwhile is still to be read.
        if self.read == self.seen {
            (self.read, self.seen) = (stamp(&self.path), stamp(&self.path));
        }
        Ok(())
    }
}

/// The name of a sender that nobody gave one: by 128 bits of its key, so that nobody makes one for another's name.
pub fn name_for(key: &PublicKey) -> String {
    format!("{UNNAMED}{}", &key.to_string()[..32])
}

const UNNAMED: &str = "sender-";

/// Somebody can be asked.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The same for a command, which asks nobody where another program called it.
pub fn may_ask(console: &Console) -> bool {
    console.stop().is_none() && can_ask()
}

/// Asks a question that only "yes" answers.
pub fn ask(question: &str) -> bool {
    eprint!("{question} [yes/no] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "yes")
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
    fn peers_are_remembered_and_the_last_word_counts() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers-test");
        let _ = fs::remove_dir_all(&folder);
        let keys = Keys { folder: folder.clone() };
        let (a, b) = (PublicKey([1; 32]), PublicKey([2; 32]));
        let mut peers = keys.receivers().unwrap();
        assert_eq!(peers.key_of("host:1"), None);
        peers.remember("host:1", a).unwrap();
        keys.receivers().unwrap().remember("host:1", b).unwrap();
        let peers = keys.receivers().unwrap();
        assert_eq!((peers.key_of("host:1"), peers.name_of(&a)), (Some(b), Some("host:1")));
        fs::write(peers.path(), "# a comment\n\nhost").unwrap();
        let Err(Error::Failed(message)) = keys.receivers() else { panic!("no error") };
        assert!(message.contains("known-receivers:3: expected a name"), "{message}");
        let made = keys.identity().unwrap().public();
        assert_eq!(keys.identity().unwrap().public(), made);
        fs::remove_dir_all(&folder).unwrap();
    }
}
