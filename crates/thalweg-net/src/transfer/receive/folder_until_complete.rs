//! Folders that are being received: name resolution, and the final metadata once a folder is complete.

use super::{ATTEMPTS, Destination};
use crate::transfer::file_metadata;
use crate::transfer::file_names;
use crate::transfer::open_folders::{Dir, Entry, EntryKind};
use crate::transfer::storage_quota::Quota;
use crate::transfer::transfer_error::{Fault, FaultKind};
use crate::transfer::transfer_messages::ModificationTime;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder at the receiver, referenced by everything being stored in it. When the last reference drops after the
/// transfer has left it, its permissions and time are set and its names are synced to disk.
#[derive(Debug)]
pub struct Folder {
    /// Parent folder, closed after this one, and the name there; `None` for the top folder.
    above: Option<(Arc<Folder>, OsString)>,
    /// Device and inode number at creation of this record.
    id: (u64, u64),
    /// Descriptor, open while the transfer is in this folder.
    open: Mutex<Option<Arc<Dir>>>,
    final_metadata: Option<FinalFolderMetadata>,
    is_left: AtomicBool,
}

/// Final permissions and time of a folder.
#[derive(Clone, Copy, Debug)]
struct FinalFolderMetadata {
    /// Permission bits; `None` keeps the current ones.
    mode: Option<u32>,
    modified: ModificationTime,
}

/// First name of a file, which further names are linked to.
#[derive(Clone, Debug)]
pub struct FirstHardLink {
    /// Enclosing folder.
    pub folder: Arc<Folder>,
    /// Name in that folder.
    pub name: OsString,
    /// Device and inode number of the file.
    pub id: (u64, u64),
}

/// Target of one entry.
#[derive(Clone, Debug)]
pub struct EntryTarget {
    /// Final name.
    pub name: OsString,
    /// Name while unfinished.
    pub part: OsString,
    /// True if other names in the folder differ only in case; they must not collide.
    pub has_case_variant: bool,
    /// Enclosing folder.
    pub folder: Arc<Folder>,
}

impl Folder {
    /// Creates the top folder.
    ///
    /// # Errors
    /// Its metadata cannot be read.
    pub fn top(dir: Arc<Dir>) -> io::Result<Arc<Self>> {
        let id = Entry::of(dir.file())?.id;
        let open = Mutex::new(Some(dir));
        Ok(Arc::new(Self { above: None, id, open, final_metadata: None, is_left: AtomicBool::new(false) }))
    }

    /// Records that all entries of the folder have been offered.
    pub fn mark_all_offered(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        self.close_descriptor();
    }

    /// Closes the descriptor; later uses reopen it. The top folder stays open.
    pub fn close_descriptor(&self) {
        if self.above.is_some() {
            *self.lock_descriptor() = None;
        }
    }

    fn lock_descriptor(&self) -> MutexGuard<'_, Option<Arc<Dir>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folder's descriptor, open as long as the caller holds it.
    ///
    /// # Errors
    /// Another entry has taken its name meanwhile, or it cannot be opened.
    pub fn open_descriptor(&self) -> Result<Arc<Dir>, Fault> {
        if let Some(dir) = &*self.lock_descriptor() {
            return Ok(Arc::clone(dir));
        }
        let gone = || Fault::new(FaultKind::PathConflict, "its folder was moved while files arrived");
        let (above, name) = self.above.as_ref().ok_or_else(gone)?;
        let dir = above.open_descriptor()?.enter(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => gone(),
            _ => Fault::from_io_error(&error),
        })?;
        let now = Entry::of(dir.file()).map_err(|error| Fault::from_io_error(&error))?;
        if now.id == self.id { Ok(Arc::new(dir)) } else { Err(gone()) }
    }

    /// Returns the path relative to the top folder.
    pub fn path(&self) -> PathBuf {
        self.above.as_ref().map_or_else(PathBuf::new, |(above, name)| above.path().join(name))
    }

    /// Returns the device and inode number, which identify the folder.
    pub fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Returns the target for `name` in this folder.
    ///
    /// # Errors
    /// The name is invalid, or the receiver rejects it here.
    pub fn entry_target(
        self: &Arc<Self>,
        name: &[u8],
        has_case_variant: bool,
        to: &Destination,
    ) -> Result<EntryTarget, Fault> {
        let checked = file_names::validate_name(name)?;
        if name.starts_with(b".") && self.above.is_none() && !to.hidden {
            return Err(FaultKind::DotName.into());
        }
        Ok(EntryTarget {
            name: checked,
            part: file_names::of_part(name, &to.tag),
            has_case_variant,
            folder: Arc::clone(self),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_left.load(Ordering::Relaxed) {
            return;
        }
        // Failure to set metadata is ignored: the contents are complete.
        if let Ok(dir) = self.open_descriptor() {
            if let Some(FinalFolderMetadata { mode, modified }) = self.final_metadata {
                let _ = mode.map_or(Ok(()), |mode| file_metadata::set_mode(dir.file(), mode));
                let _ = file_metadata::set_time(dir.file(), modified);
            }
            let _ = dir.sync();
        }
        drop(self.above.take());
    }
}

impl EntryTarget {
    /// Returns the existing entry under the final name, if any. Does not follow links.
    ///
    /// # Errors
    /// The entry cannot be examined, or exists under a name that this file system treats as equal.
    pub fn lookup(&self, dir: &Dir) -> Result<Option<Entry>, Fault> {
        let found = dir.lookup(&self.name).map_err(|error| Fault::from_io_error(&error))?;
        if found.is_some() && self.has_case_variant && !dir.lists(&self.name).unwrap_or(true) {
            let text = "it differs only by case from another name, which is the same here";
            return Err(Fault::new(FaultKind::Name, text));
        }
        Ok(found)
    }

    /// Returns the path of the unfinished file, relative to the top folder.
    pub fn part_path(&self) -> PathBuf {
        self.folder.path().join(&self.part)
    }

    /// Creates a folder here or uses the existing one. Returns whether it replaced another entry.
    ///
    /// # Errors
    /// Another entry is in the way, or the folder cannot be created.
    pub fn make_folder(
        self,
        mode: u32,
        modified: ModificationTime,
        destination: &Destination,
    ) -> Result<(Arc<Folder>, bool), Fault> {
        let failed = |error: io::Error| Fault::from_io_error(&error);
        let above = self.folder.open_descriptor()?;
        let wanted = destination.folder_mode(mode);
        // Only the owner may write while files arrive.
        let at_first = wanted & !0o022 | 0o700;
        let (found, is_replaced) = self.find_or_make(&above, at_first, destination)?;
        let dir = enter_and_make_writable(&above, &self.name)?;
        let now = Entry::of(dir.file()).map_err(failed)?;
        let mode = match found {
            // A folder left incomplete by an earlier transfer counts as new.
            Some(entry) if !destination.keeps_modes() && entry.mode & 0o777 != at_first => {
                (entry.mode != now.mode).then_some(entry.mode)
            }
            _ => Some(wanted),
        };
        let folder = Folder {
            above: Some((self.folder, self.name)),
            id: now.id,
            open: Mutex::new(Some(Arc::new(dir))),
            final_metadata: Some(FinalFolderMetadata { mode, modified }),
            is_left: AtomicBool::new(false),
        };
        Ok((Arc::new(folder), is_replaced))
    }

    /// Returns the existing folder's entry, or `None` after creating one of this mode; and whether another entry was
    /// replaced.
    fn find_or_make(&self, above: &Dir, mode: u32, to: &Destination) -> Result<(Option<Entry>, bool), Fault> {
        for _ in 0..ATTEMPTS {
            let found = self.lookup(above)?;
            if found.is_some_and(|found| found.is_folder()) {
                return Ok((found, false));
            }
            if let Some(other) = &found {
                to.existing.may_replace(above, self, other, EntryKind::Folder, &to.tag)?;
            }
            let quota = to.quota();
            quota.map_or(Ok(()), Quota::take_entry)?;
            let owner = (to.tag.as_str(), quota);
            let make = |_| above.make(&self.name, mode);
            let made = to.existing.replace(above, self, found.as_ref(), EntryKind::Folder, owner, make);
            if matches!(made, Ok(true)) {
                return Ok((None, found.is_some()));
            }
            quota.inspect(|quota| quota.give_back_entry());
            made?;
        }
        Err(FaultKind::Busy.into())
    }
}

/// Opens a folder and makes it writable for its owner if needed; its permissions are restored at the end. Errors
/// surface when files are created.
fn enter_and_make_writable(above: &Dir, name: &OsStr) -> Result<Dir, Fault> {
    let dir = match above.enter(name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => above.enter_closed(name),
        entered => entered,
    };
    let dir = dir.map_err(|error| Fault::from_io_error(&error))?;
    if let Ok(entry) = Entry::of(dir.file())
        && entry.mode & 0o700 != 0o700
    {
        let _ = file_metadata::set_mode(dir.file(), entry.mode | 0o700);
    }
    Ok(dir)
}

/// Returns the fault for an entry that blocks a file or folder.
pub fn obstruction_fault(entry: &Entry) -> Fault {
    let what = match entry.kind {
        EntryKind::Folder => "a folder",
        EntryKind::Link => "a symbolic link",
        EntryKind::File => "a file",
        EntryKind::Other => "neither a file nor a folder",
    };
    Fault::new(FaultKind::PathConflict, what)
}
