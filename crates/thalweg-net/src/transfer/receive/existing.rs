//! The treatment of a file that stands where one is to go.
//!
//! A file that has come carries a mark, an extended attribute with its sender and the time that it was given. So a
//! receiver knows, without a list of its own, what it may replace for whom: what that sender brought and nobody has
//! changed since.

use super::folder::{Place, in_the_way};
use crate::transfer::dir::{Dir, Entry, EntryKind};
use crate::transfer::disk::MARK;
use crate::transfer::fault::{Fault, FaultKind};
use crate::transfer::messages::Modified;
use crate::transfer::names;
use crate::transfer::quota::Quota;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// The treatment of a file that stands where one is to go and is not the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced if this sender has sent it and it was not changed since; others are left alone.
    #[default]
    Sent,
    /// It is replaced.
    Any,
    /// It is left alone.
    Keep,
    /// It is replaced, and kept under another name: `NAME.~1~`, `NAME.~2~`, and so on.
    Backup,
}

/// Copies of a file that are kept.
const MAX_BACKUPS: u32 = 9999;

impl Existing {
    /// Looks whether the sender with this tag may put something of the kind `new` in the place of what is `here`.
    ///
    /// # Errors
    /// It may not.
    pub fn may_replace(
        self,
        dir: &Dir,
        place: &Place,
        here: &Entry,
        new: EntryKind,
        tag: &str,
    ) -> Result<(), Fault> {
        match self {
            // Devices, sockets and pipes belong to somebody.
            Self::Any | Self::Backup if here.kind == EntryKind::Other => Err(in_the_way(here)),
            Self::Any | Self::Backup => Ok(()),
            Self::Sent | Self::Keep if here.kind != new => {
                let Fault { kind, text } = in_the_way(here);
                Err(Fault::new(kind, format!("{text}; --overwrite or --backup replaces it")))
            }
            Self::Keep => Err(FaultKind::Kept.into()),
            Self::Sent if here.kind == EntryKind::Link => {
                Err(Fault::new(FaultKind::Foreign, "a link, and links do not say who sent them"))
            }
            Self::Sent => {
                let file = dir.read(&place.name).map_err(|error| Fault::of(&error))?;
                match mark_of(&file)? {
                    Some((sender, time)) if sender == tag && time.agrees_with(here.modified) => Ok(()),
                    _ => Err(FaultKind::Foreign.into()),
                }
            }
        }
    }

    /// Has `make` give the name of `place` to something of the kind `new`, where `here` stands now. `make` hears whether nothing may have
    /// the name. What is here is kept under another name too, if that is wanted; what no renaming replaces, as its kind is another,
    /// loses its name first, and is removed when the new one has it. False if another process was faster.
    ///
    /// # Errors
    /// There are too many copies, or it cannot be made.
    pub fn replace(
        self,
        dir: &Dir,
        place: &Place,
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
                    // What cannot be removed now is when the next one comes.
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
                    _ => Err(Fault::of(&error)),
                }
            }
        }
    }

    fn set_aside(
        self,
        dir: &Dir,
        place: &Place,
        here: &Entry,
        new: EntryKind,
        tag: &str,
    ) -> Result<Option<Displaced>, Fault> {
        let is_displaced = here.kind != new;
        let failed = |error: io::Error| Fault::of(&error);
        if self != Self::Backup {
            if !is_displaced {
                return Ok(None);
            }
            let name = names::of_displaced(place.name.as_bytes(), tag);
            // Of an earlier transfer of this sender that was cut off.
            dir.remove_all(&name).map_err(failed)?;
            dir.rename_new(&place.name, &name).map_err(failed)?;
            return Ok(Some(Displaced { name, is_kept: false }));
        }
        for number in 1..=MAX_BACKUPS {
            let mut name = place.name.clone().into_vec();
            name.extend_from_slice(format!(".~{number}~").as_bytes());
            let name = OsString::from_vec(name);
            let kept = if is_displaced {
                dir.rename_new(&place.name, &name)
            } else {
                dir.link(&place.name, dir, &name)
            };
            match kept {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
                Ok(()) => return Ok(is_displaced.then_some(Displaced { name, is_kept: true })),
            }
        }
        Err(Fault::new(FaultKind::Kept, format!("{MAX_BACKUPS} older ones are kept already")))
    }
}

/// A thing that stood in the place of something of another kind.
#[derive(Debug)]
struct Displaced {
    /// Its name now.
    name: OsString,
    /// It stays under that name.
    is_kept: bool,
}

/// Marks a file that is complete and has its time. Where the file system has no attributes it stays without.
pub fn mark(file: &File, tag: &str) -> io::Result<()> {
    let Modified { seconds, nanoseconds } = Entry::of(file)?.modified;
    let value = format!("{tag} {seconds}.{nanoseconds:09}");
    match rustix::fs::fsetxattr(file, MARK, value.as_bytes(), rustix::fs::XattrFlags::empty()) {
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::PERM | rustix::io::Errno::NOSPC) => Ok(()),
        result => Ok(result?),
    }
}

/// The tag of a file's sender, and the time that the file had then; nothing where no sender has marked it.
///
/// # Errors
/// The file system keeps no marks, or it cannot be read.
fn mark_of(file: &File) -> Result<Option<(String, Modified)>, Fault> {
    let mut value = [0; 128];
    match rustix::fs::fgetxattr(file, MARK, &mut value[..]) {
        Ok(length) => Ok(value.get(..length).and_then(read_mark)),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::RANGE) => Ok(None),
        Err(rustix::io::Errno::NOTSUP) => Err(FaultKind::Unmarked.into()),
        Err(error) => Err(Fault::of(&error.into())),
    }
}

fn read_mark(value: &[u8]) -> Option<(String, Modified)> {
    let (tag, time) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let (seconds, nanoseconds) = time.split_once('.')?;
    let modified = Modified { seconds: seconds.parse().ok()?, nanoseconds: nanoseconds.parse().ok()? };
    Some((tag.to_owned(), modified))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of the kernel have no attributes of users.
    #[test]
    fn a_file_system_without_attributes_is_said_to_be_one() {
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(mark_of(&file).unwrap_err().kind, FaultKind::Unmarked);
        mark(&file, "tag").unwrap();
        assert_eq!(
            read_mark(b"tag 5.000000007"),
            Some(("tag".to_owned(), Modified { seconds: 5, nanoseconds: 7 }))
        );
        assert_eq!(read_mark(b"tag 5"), None);
    }
}
