//! This user's identity and known peers.
//!
//! They are small text files in the user's configuration folder: `identity` holds the secret key, `known-receivers` and
//! `known-senders` a name and a public key per line.

use crate::atomic_file;
use crate::console::{Console, Error, prompt};
use std::fs::{self, DirBuilder};
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use thalweg_net::admission::{KnownSenders, name_for};
use thalweg_net::identity::{Identity, PublicKey, SystemEntropy};
use thalweg_scenario::Reader;

/// The folder that holds the keys.
#[derive(Debug)]
pub struct Keys {
    folder: PathBuf,
}

/// Known peers of one kind.
#[derive(Debug)]
pub struct Peers {
    path: PathBuf,
    known: Vec<Peer>,
    /// Invalid lines with their positions, not reported yet.
    wrong: Vec<String>,
    /// File stamps when it was last parsed, and at the last check.
    read: Option<Stamp>,
    seen: Option<Stamp>,
}

/// A line of the file.
#[derive(Debug)]
struct Peer {
    name: String,
    key: PublicKey,
    /// Admitted by `--trust new`, and not confirmed by the user since.
    is_by_new: bool,
}

/// Comment on the line of a peer that `--trust new` admitted.
const BY_NEW: &str = "by --trust new";

/// Change detection of a file: device, inode, size and modification time.
type Stamp = (u64, u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec()))
}

impl Keys {
    /// Locates the folder: `$XDG_CONFIG_HOME/thalweg`, or `~/.config/thalweg`.
    pub fn find() -> Result<Self, Error> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
        let config = config.ok_or_else(|| Error::Failed("keys need XDG_CONFIG_HOME or HOME".to_owned()))?;
        Ok(Self { folder: config.join("thalweg") })
    }

    /// Returns the folder of the keys.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns this user's key pair, created on first use.
    pub fn identity(&self) -> Result<Identity, Error> {
        let path = self.folder.join("identity");
        let cannot = |error: io::Error| Error::Failed(format!("{}: {error}", path.display()));
        if !path.exists() {
            self.make_identity(&path).map_err(cannot)?;
        }
        let text = read_private(&path, 0o077, "others may read it").map_err(cannot)?;
        Identity::from_text(&text).ok_or_else(|| Error::Failed(format!("{} holds no key", path.display())))
    }

    /// Creates the file atomically: no process reads a partial one, and a concurrent second process uses the first
    /// one's
    /// file.
    fn make_identity(&self, path: &Path) -> io::Result<()> {
        make_private(&self.folder)?;
        let identity = Identity::generate(&mut SystemEntropy::new());
        let draft = atomic_file::draft(path, 0o600, format!("{}\n", identity.to_text()).as_bytes())?;
        let linked = match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        };
        let _ = fs::remove_file(&draft);
        linked
    }

    /// Reads the known receivers, by the host names used for them.
    pub fn receivers(&self) -> Result<Peers, Error> {
        Peers::read(self.folder.join("known-receivers"))
    }

    /// Reads the known senders.
    pub fn senders(&self) -> Result<Peers, Error> {
        Peers::read(self.folder.join("known-senders"))
    }
}

/// Creates a folder private to this user, regardless of the umask; its parents may be readable by others.
fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        // The umask may have removed the user's own permissions, too.
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Checks that the file belongs to this user and grants others none of the permissions in `forbidden`.
fn check_private(metadata: &fs::Metadata, forbidden: u32, why: &str) -> io::Result<()> {
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if metadata.mode() & forbidden != 0 {
        let mode = metadata.mode() & 0o777;
        let right = mode & !forbidden;
        return Err(io::Error::other(format!("{why} (mode {mode:03o}): run chmod {right:03o}")));
    }
    Ok(())
}

/// Reads a file of this user that grants others none of the permissions in `forbidden`, from a folder that others
/// cannot write.
fn read_private(path: &Path, forbidden: u32, why: &str) -> io::Result<String> {
    let file = fs::File::open(path)?;
    check_private(&file.metadata()?, forbidden, why)?;
    if let Some(folder) = path.parent() {
        let checked = check_private(&fs::metadata(folder)?, 0o022, "others may write to it");
        checked.map_err(|error| io::Error::other(format!("its folder: {error}")))?;
    }
    let bytes = Reader::default().all_of(file)?;
    // Invalid UTF-8 cannot be a key and becomes an invalid line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Peers {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let read = stamp(&path);
        let text = match read_private(&path, 0o022, "others may write it") {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::Failed(format!("{}: {error}", path.display()))),
        };
        Ok(Self { read, seen: read, ..Self::parse(path, &text) })
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
        Self { path, known, wrong, read: None, seen: None }
    }

    /// Reports invalid lines, once per read of the file.
    pub fn complain(&mut self, console: &Console) {
        const SHOWN: usize = 5;
        let more = self.wrong.len().saturating_sub(SHOWN);
        self.wrong.drain(..).take(SHOWN).for_each(|wrong| console.complain(&wrong));
        if more > 0 {
            console.complain(&format!("{}: {more} more lines are wrong", self.path.display()));
        }
    }

    /// Re-reads the file if it has changed since it was read but not since the last check, to avoid reading during a
    /// write; or if `is_wanted`. Returns true if it was read.
    ///
    /// # Errors
    /// If it cannot be read: the state stays unchanged until the file changes.
    pub fn reload(&mut self, is_wanted: bool) -> Result<bool, Error> {
        let now = stamp(&self.path);
        let is_settled = now == std::mem::replace(&mut self.seen, now);
        if !is_wanted && (now == self.read || !is_settled) {
            return Ok(false);
        }
        self.read = now;
        let Self { known, wrong, .. } = Self::read(self.path.clone())?;
        (self.known, self.wrong) = (known, wrong);
        Ok(true)
    }

    /// Returns the key of the peer with this name; the last entry in the file counts.
    pub fn key_of(&self, name: &str) -> Option<PublicKey> {
        self.known.iter().rev().find(|known| known.name == name).map(|known| known.key)
    }

    /// Returns the name of the peer with this key.
    pub fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.known.iter().rev().find(|known| known.key == *key).map(|known| &*known.name)
    }

    /// Returns true if the user named or approved the peer with this key, as opposed to admission by `--trust new`.
    pub fn is_chosen(&self, key: &PublicKey) -> bool {
        self.known.iter().any(|known| known.key == *key && !known.is_by_new)
    }

    /// Returns the number of peers without a user-assigned name.
    pub fn unnamed(&self) -> usize {
        self.known.iter().filter(|known| is_unnamed(&known.name, &known.key)).count()
    }

    /// Returns all keys.
    pub fn keys(&self) -> impl Iterator<Item = PublicKey> {
        self.known.iter().map(|known| known.key)
    }

    /// Returns the path of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a peer.
    pub fn remember(&mut self, name: &str, key: PublicKey) -> Result<(), Error> {
        self.add(name, key, false)
    }

    /// Adds a sender that `--trust new` admitted.
    pub fn remember_unconfirmed(&mut self, key: PublicKey) -> Result<(), Error> {
        self.add(&name_for(&key), key, true)
    }

    fn add(&mut self, name: &str, key: PublicKey, is_by_new: bool) -> Result<(), Error> {
        let add = || {
            self.path.parent().map_or(Ok(()), make_private)?;
            let comment = if is_by_new { format!(" # {BY_NEW}") } else { String::new() };
            atomic_file::add_line(&self.path, 0o600, &format!("{name} {key}{comment}"))
        };
        add().map_err(|error| Error::Failed(format!("{}: {error}", self.path.display())))?;
        self.known.push(Peer { name: name.to_owned(), key, is_by_new });
        // Concurrent changes by others still have to be read.
        if self.read == self.seen {
            (self.read, self.seen) = (stamp(&self.path), stamp(&self.path));
        }
        Ok(())
    }
}

impl KnownSenders for Peers {
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

/// Returns true if there is a terminal to prompt at.
pub fn can_prompt() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns true if a command may prompt: not if another program called it.
pub fn may_prompt(console: &Console) -> bool {
    console.stop().is_none() && can_prompt()
}

/// Prompts with a question that only "yes" confirms.
pub fn confirm(question: &str) -> bool {
    prompt(&format!("{question} [yes/no] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A truncated line, or one joined to the next, does not affect other peers.
    #[test]
    fn invalid_lines_are_reported_and_skipped() {
        let folder = std::env::temp_dir().join(format!("thalweg-peers-lines-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let keys = Keys { folder: folder.clone() };
        let [a, b, c] = [1, 2, 3].map(|byte| PublicKey([byte; 32]));
        keys.senders().unwrap().remember("anna", a).unwrap();
        let path = keys.senders().unwrap().path().to_owned();
        let half = &b.to_string()[..40];
        let mut bytes = format!("# a comment\n\nanna {a}\nbert {half}").into_bytes();
        fs::write(&path, &bytes).unwrap();
        let mut senders = keys.senders().unwrap();
        assert_eq!(senders.wrong.len(), 1);
        assert!(
            senders.wrong[0].contains("known-senders:4: expected a name and a key"),
            "{:?}",
            senders.wrong
        );
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
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn keys_are_in_a_folder_where_others_write_nothing() {
        let folder = std::env::temp_dir().join(format!("thalweg-peers-folder-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let keys = Keys { folder: folder.join("above/thalweg") };
        let made = keys.identity().unwrap().public();
        let mode = || fs::metadata(keys.folder()).unwrap().mode() & 0o777;
        assert_eq!(mode(), 0o700);
        assert_eq!(keys.identity().unwrap().public(), made);
        for (mode, mended) in [(0o777, "755"), (0o770, "750"), (0o720, "700")] {
            fs::set_permissions(keys.folder(), fs::Permissions::from_mode(mode)).unwrap();
            let Err(Error::Failed(message)) = keys.identity() else { panic!("mode {mode:o} was taken") };
            assert!(
                message.contains("its folder: others may write to it") && message.contains(mended),
                "{message}"
            );
        }
        fs::set_permissions(keys.folder(), fs::Permissions::from_mode(0o755)).unwrap();
        keys.identity().unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
