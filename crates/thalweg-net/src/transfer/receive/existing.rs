//! The treatment of a file that stands where one is to go.
//!
//! A file that has come carries a mark, an extended attribute with its sender and the time that it was given. So a
//! receiver knows, without a list of its own, what it may replace for whom: what that sender brought and nobody has
//! changed since.

use super::folder::Place;
use crate::transfer::dir::{Dir, Entry};
use crate::transfer::disk::MARK;
use crate::transfer::fault::{Fault, FaultKind};
use crate::transfer::messages::Modified;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt as _;

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
const MOST_BACKUPS: u32 = 9999;

impl Existing {
    /// Looks whether the sender with this tag may replace what stands at `place`, a file.
    ///
    /// # Errors
    /// It may not.
    pub fn may_replace(self, dir: &Dir, place: &Place, here: &Entry, tag: &str) -> Result<(), Fault> {
        match self {
            Self::Any | Self::Backup => Ok(()),
            Self::Keep => Err(FaultKind::Kept.into()),
            Self::Sent => match dir.read(&place.name).map(|file| mark_of(&file)) {
                Ok(Some((sender, time))) if sender == tag && time.agrees_with(here.modified) => Ok(()),
                _ => Err(FaultKind::Foreign.into()),
            },
        }
    }

    /// True if a file that is replaced keeps its contents under another name.
    pub fn keeps_copies(self) -> bool {
        self == Self::Backup
    }

    /// Keeps what stands at `place` under another name too, if that is wanted.
    ///
    /// # Errors
    /// There are too many copies, or it can have no other name.
    pub fn set_aside(self, dir: &Dir, place: &Place) -> Result<(), Fault> {
        if !self.keeps_copies() {
            return Ok(());
        }
        for number in 1..=MOST_BACKUPS {
            let mut name = place.name.clone().into_vec();
            name.extend_from_slice(format!(".~{number}~").as_bytes());
            match dir.link(&place.name, dir, &OsString::from_vec(name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map_err(|error| Fault::of(&error)),
            }
        }
        Err(Fault::new(FaultKind::Kept, format!("{MOST_BACKUPS} older ones are kept already")))
    }
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

/// The tag of a file's sender, and the time that the file had then.
fn mark_of(file: &File) -> Option<(String, Modified)> {
    let mut value = [0; 128];
    let length = rustix::fs::fgetxattr(file, MARK, &mut value[..]).ok()?;
    let value = std::str::from_utf8(value.get(..length)?).ok()?;
    let (tag, time) = value.split_once(' ')?;
    let (seconds, nanoseconds) = time.split_once('.')?;
    let modified = Modified { seconds: seconds.parse().ok()?, nanoseconds: nanoseconds.parse().ok()? };
    Some((tag.to_owned(), modified))
}
