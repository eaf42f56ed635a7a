//! The key pair and the known peers of a user, in a folder of small text files.
//!
//! `identity` has the secret key. `known-receivers` and `known-senders` have a name and a public key per line.

mod known_peers;
mod private_file;

pub use known_peers::KnownPeers;

use crate::atomic_file;
use crate::identity::{Identity, SystemEntropy};
use core::fmt;
use private_file::{make_private, read_private};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of the file of the secret key, in MiB.
const MAX_MIB: u64 = 1;

/// The folder that holds a user's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyring {
    folder: PathBuf,
}

/// Reason why a file of keys cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyringError(String);

impl KeyringError {
    fn for_file(path: &Path, reason: impl fmt::Display) -> Self {
        Self(format!("{}: {reason}", path.display()))
    }
}

impl fmt::Display for KeyringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for KeyringError {}

impl Keyring {
    /// Returns the keys in this folder, which is created with the first key.
    pub const fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the keys of this process's user: `$XDG_CONFIG_HOME/thalweg`, or `~/.config/thalweg`.
    ///
    /// # Errors
    /// Neither `XDG_CONFIG_HOME` nor `HOME` is set.
    pub fn for_user() -> Result<Self, KeyringError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
        let config = config.ok_or_else(|| KeyringError("keys need XDG_CONFIG_HOME or HOME".to_owned()))?;
        Ok(Self::at(config.join("thalweg")))
    }

    /// Returns the folder of the keys.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the user's key pair, created on first use.
    ///
    /// # Errors
    /// The file cannot be read or created, holds no key, or others may read it.
    pub fn identity(&self) -> Result<Identity, KeyringError> {
        let path = self.folder.join("identity");
        let cannot = |error: io::Error| KeyringError::for_file(&path, error);
        if !path.exists() {
            self.make_identity(&path).map_err(cannot)?;
        }
        let text = read_private(&path, MAX_MIB, 0o077, "others may read it").map_err(cannot)?;
        Identity::from_text(&text).ok_or_else(|| KeyringError(format!("{} holds no key", path.display())))
    }

    /// Creates the file atomically: no process reads a partial one, and a concurrent second process uses the first
    /// one's file.
    fn make_identity(&self, path: &Path) -> io::Result<()> {
        make_private(&self.folder)?;
        let identity = Identity::generate(&mut SystemEntropy::new());
        let draft =
            atomic_file::write_temporary_file(path, 0o600, format!("{}\n", identity.to_text()).as_bytes())?;
        let linked = match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        };
        let _ = fs::remove_file(&draft);
        linked
    }

    /// Reads the known receivers, by the host names used for them.
    ///
    /// # Errors
    /// The file cannot be read, or others may write it.
    pub fn receivers(&self) -> Result<KnownPeers, KeyringError> {
        KnownPeers::read(self.folder.join("known-receivers"))
    }

    /// Reads the known senders.
    ///
    /// # Errors
    /// The file cannot be read, or others may write it.
    pub fn senders(&self) -> Result<KnownPeers, KeyringError> {
        KnownPeers::read(self.folder.join("known-senders"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};

    #[test]
    fn keys_are_in_a_folder_where_others_write_nothing() {
        let folder = TestFolder::new("peers-folder");
        let keys = Keyring::at(folder.join("above/thalweg"));
        let made = keys.identity().unwrap().public();
        let mode = || fs::metadata(keys.folder()).unwrap().mode() & 0o777;
        assert_eq!(mode(), 0o700);
        assert_eq!(keys.identity().unwrap().public(), made);
        for (mode, mended) in [(0o777, "755"), (0o770, "750"), (0o720, "700")] {
            fs::set_permissions(keys.folder(), fs::Permissions::from_mode(mode)).unwrap();
            let Err(error) = keys.identity() else { panic!("mode {mode:o} was taken") };
            let message = error.to_string();
            assert!(
                message.contains("its folder: others may write to it") && message.contains(mended),
                "{message}"
            );
        }
        fs::set_permissions(keys.folder(), fs::Permissions::from_mode(0o755)).unwrap();
        keys.identity().unwrap();
    }

    /// A file of the largest size is read; one of 8 GiB is refused by its size, and one of unknown size where it exceeds it.
    #[test]
    fn files_beyond_their_maximum_size_are_not_read() {
        let folder = TestFolder::new("large-keys");
        let keys = Keyring::at(folder.to_path_buf());
        let made = keys.identity().unwrap().public();
        let file = |name: &str| {
            fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(folder.join(name))
                .unwrap()
        };
        let identity = fs::read_to_string(folder.join("identity")).unwrap();
        let padded = format!("{identity}{}", "\n".repeat((1 << 20) - identity.len()));
        fs::write(folder.join("identity"), &padded).unwrap();
        assert_eq!(keys.identity().unwrap().public(), made);
        fs::write(folder.join("identity"), padded + "\n").unwrap();
        for size in [None, Some(8 << 30)] {
            size.into_iter().for_each(|size| file("identity").set_len(size).unwrap());
            let error = keys.identity().err().unwrap().to_string();
            assert!(error.ends_with("identity: it is larger than 1 MiB"), "{error}");
        }
        file("known-senders").set_len((64 << 20) + 1).unwrap();
        let error = keys.senders().unwrap_err().to_string();
        assert!(error.ends_with("known-senders: it is larger than 64 MiB"), "{error}");
        let endless = read_private(Path::new("/dev/zero"), 1, 0, "").unwrap_err().to_string();
        assert_eq!(endless, "it is larger than 1 MiB");
    }
}
