//! Policy for files that already exist at the target.
//!
//! Each received file is marked with an extended attribute: its sender and its modification time at that moment. The
//! receiver thereby knows without an index of its own which files a sender may replace: those it delivered, unmodified
//! since.

use super::folder_until_complete::{EntryTarget, obstruction_fault};
use crate::transfer::file_metadata::SENDER_ATTRIBUTE;
use crate::transfer::file_names;
use crate::transfer::open_folders::{Dir, Entry, EntryKind};
use crate::transfer::storage_quota::Quota;
use crate::transfer::transfer_error::{Fault, FaultKind};
use crate::transfer::transfer_messages::ModificationTime;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// Policy for an existing, different file at the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingFilePolicy {
    /// Replace the file if this sender delivered it and it is unmodified since; keep others.
    #[default]
    Sent,
    /// Replace the file.
    Any,
    /// Keep the file.
    Keep,
    /// Replace the file and keep a backup: `NAME.~1~`, `NAME.~2~`, and so on.
    Backup,
}

/// Maximum number of backups per file.
const MAX_BACKUPS: u32 = 9999;

impl ExistingFilePolicy {
    /// Checks that the sender with this tag may replace `here` with an entry of type `new`.
    ///
    /// # Errors
    /// It may not.
    pub fn may_replace(
        self,
        dir: &Dir,
        place: &EntryTarget,
        here: &Entry,
        new: EntryKind,
        tag: &str,
    ) -> Result<(), Fault> {
        match self {
            // Never replace devices, sockets and pipes.
            Self::Any | Self::Backup if here.kind == EntryKind::Other => Err(obstruction_fault(here)),
            Self::Any | Self::Backup => Ok(()),
            Self::Sent | Self::Keep if here.kind != new => {
                let Fault { kind, text } = obstruction_fault(here);
                Err(Fault::new(kind, format!("{text}; --overwrite or --backup replaces it")))
            }
            Self::Keep => Err(FaultKind::Kept.into()),
            Self::Sent if here.kind == EntryKind::Link => {
                Err(Fault::new(FaultKind::NotFromSender, "a link, and links do not say who sent them"))
            }
            Self::Sent => {
                let file = dir.read(&place.name).map_err(|error| Fault::from_io_error(&error))?;
                match mark_of(&file)? {
                    Some((sender, time)) if sender == tag && time.agrees_with(here.modified) => Ok(()),
                    _ => Err(FaultKind::NotFromSender.into()),
                }
            }
        }
    }

    /// Places an entry of type `new` at `place`, where `here` exists now, by calling `make`. The argument of `make` is
    /// true if the name must be free. The policy may keep a backup. An entry of another type, which a rename cannot
    /// replace, is moved aside first and removed afterwards. Returns false if another process was faster.
    ///
    /// # Errors
    /// There are too many backups, or the entry cannot be placed.
    pub fn replace(
        self,
        dir: &Dir,
        place: &EntryTarget,
        here: Option<&Entry>,
        new: EntryKind,
        to: (&str, Option<&Quota>),
        make: impl FnOnce(bool) -> io::Result<()>,
    ) -> Result<bool, Fault> {
        let (tag, quota) = to;
        let displaced = match here {
            Some(here) => self.set_aside(dir, place, here, new, tag)?,
            None => None,
        };
        match make(here.is_none() || displaced.is_some()) {
            Ok(()) => {
                let (count, bytes) = match (&displaced, here) {
                    // On failure, the next replacement removes it.
                    (Some(displaced), _) if !displaced.is_kept => {
                        dir.remove_all(&displaced.name).unwrap_or_default()
                    }
                    (None, Some(here)) if self != Self::Backup => (1, here.bytes()),
                    _ => (0, 0),
                };
                if let Some(quota) = quota {
                    quota.give_back(bytes);
                    (0..count).for_each(|_| quota.give_back_entry());
                }
                Ok(true)
            }
            Err(error) => {
                displaced.inspect(|displaced| drop(dir.rename_new(&displaced.name, &place.name)));
                match error.kind() {
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Ok(false),
                    _ => Err(Fault::from_io_error(&error)),
                }
            }
        }
    }

    fn set_aside(
        self,
        dir: &Dir,
        place: &EntryTarget,
        here: &Entry,
        new: EntryKind,
        tag: &str,
    ) -> Result<Option<DisplacedEntry>, Fault> {
        let is_displaced = here.kind != new;
        let failed = |error: io::Error| Fault::from_io_error(&error);
        if self != Self::Backup {
            if !is_displaced {
                return Ok(None);
            }
            let name = file_names::of_displaced(place.name.as_bytes(), tag);
            // Left by an interrupted transfer of this sender.
            dir.remove_all(&name).map_err(failed)?;
            dir.rename_new(&place.name, &name).map_err(failed)?;
            return Ok(Some(DisplacedEntry { name, is_kept: false }));
        }
        for number in 1..=MAX_BACKUPS {
            let mut name = place.name.clone().into_vec();
            name.extend_from_slice(format!(".~{number}~").as_bytes());
            let name = OsString::from_vec(name);
            let kept =
                if is_displaced { dir.rename_new(&place.name, &name) } else { dir.link(&place.name, &name) };
            match kept {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
                Ok(()) => return Ok(is_displaced.then_some(DisplacedEntry { name, is_kept: true })),
            }
        }
        Err(Fault::new(FaultKind::Kept, format!("{MAX_BACKUPS} older ones are kept already")))
    }
}

/// An entry moved aside for one of another type.
#[derive(Debug)]
struct DisplacedEntry {
    /// Current name.
    name: OsString,
    /// True if it remains as a backup.
    is_kept: bool,
}

/// Marks a complete file after its time is set. Does nothing on file systems without extended attributes.
pub fn mark_complete(file: &File, tag: &str) -> io::Result<()> {
    let ModificationTime { seconds, nanoseconds } = Entry::of(file)?.modified;
    let value = format!("{tag} {seconds}.{nanoseconds:09}");
    match rustix::fs::fsetxattr(file, SENDER_ATTRIBUTE, value.as_bytes(), rustix::fs::XattrFlags::empty()) {
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::PERM | rustix::io::Errno::NOSPC) => Ok(()),
        result => Ok(result?),
    }
}

/// Returns the sender's tag and the modification time from a file's mark; `None` if unmarked.
///
/// # Errors
/// The file system has no extended attributes, or the mark cannot be read.
fn mark_of(file: &File) -> Result<Option<(String, ModificationTime)>, Fault> {
    let mut value = [0; 128];
    match rustix::fs::fgetxattr(file, SENDER_ATTRIBUTE, &mut value[..]) {
        Ok(length) => Ok(value.get(..length).and_then(read_mark)),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::RANGE) => Ok(None),
        Err(rustix::io::Errno::NOTSUP) => Err(FaultKind::Unmarked.into()),
        Err(error) => Err(Fault::from_io_error(&error.into())),
    }
}

/// Parses the value of a mark: the sender's tag and the modification time.
pub fn read_mark(value: &[u8]) -> Option<(String, ModificationTime)> {
    let (tag, time) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let (seconds, nanoseconds) = time.split_once('.')?;
    let modified =
        ModificationTime { seconds: seconds.parse().ok()?, nanoseconds: nanoseconds.parse().ok()? };
    (modified.nanoseconds < 1_000_000_000).then(|| (tag.to_owned(), modified))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Procfs files have no user attributes.
    #[test]
    fn a_file_system_without_attributes_is_reported() {
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(mark_of(&file).unwrap_err().kind, FaultKind::Unmarked);
        mark_complete(&file, "tag").unwrap();
        assert_eq!(
            read_mark(b"tag 5.000000007"),
            Some(("tag".to_owned(), ModificationTime { seconds: 5, nanoseconds: 7 }))
        );
        for invalid in ["", "tag 5", "tag 5.", "tag .5", "tag 5.1000000000", "tag 9223372036854775808.0"] {
            assert_eq!(read_mark(invalid.as_bytes()), None, "{invalid}");
        }
    }
}
