//! Unfinished files: safe opening, writing and the final rename.

use super::existing_files::{self, ExistingFilePolicy};
use super::folder_until_complete::{EntryTarget, FirstHardLink, obstruction_fault};
use super::write_claims::Claim;
use super::{ATTEMPTS, Destination};
use crate::transfer::file_metadata;
use crate::transfer::open_folders::{Dir, Entry, EntryKind};
use crate::transfer::storage_quota::Quota;
use crate::transfer::transfer_error::{Fault, FaultKind};
use crate::transfer::transfer_messages::ModificationTime;
use rustix::fs::FallocateFlags;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

/// An unfinished file, locked against other writers.
#[derive(Debug)]
pub struct Part {
    place: EntryTarget,
    /// Folder that contains the file.
    dir: Arc<Dir>,
    claim: Claim,
    existing: ExistingFilePolicy,
    /// Tag derived from the sender.
    tag: String,
    quota: Option<Arc<Quota>>,
    /// Bytes stored, charged to the quota.
    length: u64,
    /// File offset, in bytes: the next write there needs no seek; `None` if unknown.
    cursor: Option<u64>,
    /// Device and inode number.
    id: (u64, u64),
    /// True once the file has its final name or is removed.
    is_done: bool,
}

impl Part {
    /// Opens or creates the unfinished file of `place`.
    ///
    /// # Errors
    /// Another process is writing it, something else has its name, or it cannot be opened.
    pub fn open(place: EntryTarget, to: &Destination) -> Result<Self, Fault> {
        let (mut length, mut id) = (0, (0, 0));
        let dir = place.folder.open_descriptor()?;
        let quota = to.quota.clone();
        let claim = to.claims.claim((place.folder.id(), place.part.clone()), || {
            let file = open_unfinished(&dir, &place.part, quota.as_deref())?;
            let entry = Entry::of(&file).map_err(|error| Fault::from_io_error(&error))?;
            (length, id) = (entry.size, entry.id);
            Ok(file)
        })?;
        let (existing, tag) = (to.existing, to.tag.clone());
        let part = Self { place, dir, claim, existing, tag, quota, length, cursor: None, id, is_done: false };
        // On error, drop removes an empty file.
        part.may_replace()?;
        Ok(part)
    }

    /// Returns the existing entry under the final name, if this file may replace it.
    fn may_replace(&self) -> Result<Option<Entry>, Fault> {
        let here = self.place.lookup(&self.dir)?;
        if let Some(here) = &here {
            self.existing.may_replace(&self.dir, &self.place, here, EntryKind::File, &self.tag)?;
        }
        Ok(here)
    }

    /// Reads at `position` until `into` is full or the file ends. Returns the number of bytes read.
    pub fn read(&mut self, position: u64, into: &mut [u8]) -> Result<usize, Fault> {
        self.cursor = None;
        self.claim.with(|file| {
            let mut have = 0;
            let mut read = || -> io::Result<()> {
                file.seek(SeekFrom::Start(position))?;
                while have < into.len() {
                    match file.read(&mut into[have..]) {
                        Ok(0) => break,
                        Ok(count) => have += count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            };
            read().map_err(|error| Fault::from_io_error(&error))?;
            Ok(have)
        })
    }

    /// Writes bytes at `position`.
    pub fn write(&mut self, position: u64, bytes: &[u8]) -> Result<(), Fault> {
        let end = position + bytes.len() as u64;
        let growth = end.saturating_sub(self.length);
        if let Some(quota) = &self.quota {
            quota.take(growth)?;
        }
        self.length += growth;
        let seek = (self.cursor != Some(position)).then_some(SeekFrom::Start(position));
        let written = self.claim.with(|file| {
            let mut write = || {
                seek.map_or(Ok(0), |seek| file.seek(seek))?;
                file.write_all(bytes)
            };
            write().map_err(|error| Fault::from_io_error(&error))
        });
        self.cursor = written.is_ok().then_some(end);
        if written.is_err() {
            self.measure();
        }
        written
    }

    /// Corrects the number of stored bytes after a failed write, which may have stored a part of them or none.
    fn measure(&mut self) {
        let stored = self.claim.with(|file| Entry::of(file).map_err(|error| Fault::from_io_error(&error)));
        let stored = stored.map_or(self.length, |entry| entry.size.min(self.length));
        if let Some(quota) = &self.quota {
            quota.give_back(self.length - stored);
        }
        self.length = stored;
    }

    /// Sets permissions and time, syncs the file to disk and renames it. Atomically replaces an existing file of that
    /// name, if permitted. Returns whether a file was replaced.
    pub fn finish(
        &mut self,
        size: u64,
        mode: u32,
        modified: Option<ModificationTime>,
    ) -> Result<bool, Fault> {
        let replaced = self.claim.with(|file| {
            self.may_replace()?;
            let dress = || {
                if self.length > size {
                    file.set_len(size)?;
                }
                // The owner keeps write permission until the file is complete, or a resumed transfer could not write
                // it.
                file_metadata::set_mode(file, mode | 0o600)?;
                modified.map_or(Ok(()), |modified| file_metadata::set_time(file, modified))?;
                existing_files::mark_complete(file, &self.tag)?;
                file.sync_all()
            };
            dress().map_err(|error| Fault::from_io_error(&error))?;
            let replaced = self.take_place()?;
            if mode & 0o600 != 0o600 {
                file_metadata::set_mode(file, mode).map_err(|error| Fault::from_io_error(&error))?;
            }
            Ok(replaced)
        })?;
        self.is_done = true;
        if let Some(quota) = &self.quota {
            quota.give_back(self.length.saturating_sub(size));
        }
        Ok(replaced)
    }

    /// Renames the file to its final name. Returns whether another entry was replaced.
    fn take_place(&self) -> Result<bool, Fault> {
        let Self { place, dir, tag, .. } = self;
        for _ in 0..ATTEMPTS {
            // The target may have appeared or changed since the offer.
            let here = self.may_replace()?;
            self.check()?;
            let rename = |is_new| {
                if is_new {
                    dir.rename_new(&place.part, &place.name)
                } else {
                    dir.rename(&place.part, &place.name)
                }
            };
            let to = (tag.as_str(), self.quota.as_deref());
            if self.existing.replace(dir, place, here.as_ref(), EntryKind::File, to, rename)? {
                return Ok(here.is_some());
            }
        }
        Err(FaultKind::Busy.into())
    }

    /// Checks that the name of the unfinished file still refers to the file that was written.
    fn check(&self) -> Result<(), Fault> {
        let now = self.dir.lookup(&self.place.part).map_err(|error| Fault::from_io_error(&error))?;
        if now.is_some_and(|now| now.id == self.id) {
            return Ok(());
        }
        Err(Fault::new(FaultKind::Busy, "its unfinished file was moved or replaced while it was written"))
    }

    /// Removes the unfinished file, unless another transfer has taken it over.
    pub fn discard(mut self) {
        self.remove();
    }

    fn remove(&mut self) {
        self.is_done = true;
        let remove = || self.dir.remove(&self.place.part).map_err(|error| Fault::from_io_error(&error));
        let removed = self.claim.with(|_| self.check().and_then(|()| remove()));
        if let Some(quota) = self.quota.as_ref().filter(|_| removed.is_ok()) {
            quota.give_back(self.length);
            quota.give_back_entry();
        }
    }

    /// Returns true if nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the folder and the final name.
    pub fn first(&self) -> FirstHardLink {
        FirstHardLink { folder: Arc::clone(&self.place.folder), name: self.place.name.clone(), id: self.id }
    }

    /// Leaves a hole of `length` bytes at `position`.
    pub fn hole(&mut self, position: u64, length: u64) -> Result<(), Fault> {
        let end = position + length;
        let growth = end.saturating_sub(self.length);
        if let Some(quota) = &self.quota {
            quota.take(growth)?;
        }
        let there = self.length.saturating_sub(position).min(length);
        self.length += growth;
        self.cursor = None;
        let made = self.claim.with(|file| {
            let mut make = || {
                if there > 0 {
                    zero_range(file, position, there)?;
                }
                if growth > 0 { file.set_len(end) } else { Ok(()) }
            };
            make().map_err(|error| Fault::from_io_error(&error))
        });
        if made.is_err() {
            self.measure();
        }
        made
    }

    /// Returns true if two names in the folder differ only in case; other files must then not be finished concurrently.
    pub fn has_case_conflict(&self) -> bool {
        self.place.has_case_variant
    }
}

impl Drop for Part {
    /// An empty unfinished file has nothing to resume.
    fn drop(&mut self) {
        if !self.is_done && self.length == 0 {
            self.remove();
        }
    }
}

/// Makes the range read as zeros, deallocating it where the file system can.
fn zero_range(file: &mut File, position: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(&*file, flags, position, length) {
        Err(rustix::io::Errno::OPNOTSUPP) => {
            file.seek(SeekFrom::Start(position))?;
            io::copy(&mut io::repeat(0).take(length), file).map(|_| ())
        }
        result => Ok(result?),
    }
}

/// Returns the size of an unfinished file, in bytes; `None` if there is none.
///
/// # Errors
/// Something else has its name.
pub fn length_of(dir: &Dir, name: &OsStr) -> Result<Option<u64>, Fault> {
    match dir.lookup(name).map_err(|error| Fault::from_io_error(&error))? {
        None => Ok(None),
        Some(entry) if entry.is_file() => Ok(Some(entry.size)),
        Some(entry) => Err(obstruction_fault(&entry)),
    }
}

/// Opens the unfinished file safely against substitution: follows no link, rejects files with several hard links, and
/// locks the file against other processes.
fn open_unfinished(dir: &Dir, name: &OsStr, quota: Option<&Quota>) -> Result<File, Fault> {
    let failed = |error: io::Error| Fault::from_io_error(&error);
    // A concurrent transfer can finish and rename the file between two checks; rarely twice.
    for _ in 0..ATTEMPTS {
        let Some(file) = open_and_lock(dir, name, quota)? else { continue };
        // Another process may have locked it first, even if it was created here, and renamed it when it was complete.
        let opened = Entry::of(&file).map_err(failed)?;
        let now = dir.lookup(name).map_err(failed)?;
        if now.is_some_and(|now| now.is_file() && now.is_single && now.id == opened.id) {
            return Ok(file);
        }
    }
    Err(FaultKind::Busy.into())
}

/// Creates the unfinished file or opens the existing one, and locks it; `None` if it was renamed or removed meanwhile.
fn open_and_lock(dir: &Dir, name: &OsStr, quota: Option<&Quota>) -> Result<Option<File>, Fault> {
    let failed = |error: io::Error| Fault::from_io_error(&error);
    match dir.create(name) {
        Ok(file) => {
            if let Err(fault) = quota.map_or(Ok(()), Quota::take_entry) {
                drop(file);
                let _ = dir.remove(name);
                return Err(fault);
            }
            let locked = lock_exclusively(&file).inspect_err(|fault| {
                // A busy file belongs to the transfer that locked it first.
                if fault.kind != FaultKind::Busy {
                    let _ = dir.remove(name);
                    quota.inspect(|quota| quota.give_back_entry());
                }
            });
            return locked.map(|()| Some(file));
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let Some(before) = dir.lookup(name).map_err(failed)? else { return Ok(None) };
    if !before.is_file() {
        return Err(obstruction_fault(&before));
    }
    if !before.is_single {
        return Err(Fault::new(FaultKind::PathConflict, "a file that has a second name"));
    }
    match dir.write(name) {
        Ok(file) => lock_exclusively(&file).map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn lock_exclusively(file: &File) -> Result<(), Fault> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(FaultKind::Busy.into()),
        // Some file systems support no locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(Fault::from_io_error(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    /// Two processes open, complete and rename files of one name, as fast as they can.
    #[test]
    fn an_opened_file_still_has_its_name() {
        let top = TestFolder::new("unfinished");
        let (name, complete) = (OsStr::new("part"), OsStr::new("complete"));
        let open_and_rename = || {
            let dir = Dir::open(&top).unwrap();
            let mut opened = 0;
            for _ in 0..20_000 {
                match open_unfinished(&dir, name, None) {
                    Ok(file) => {
                        let now = dir.lookup(name).unwrap().map(|entry| entry.id);
                        assert_eq!(
                            now,
                            Some(Entry::of(&file).unwrap().id),
                            "another process has completed it"
                        );
                        dir.rename(name, complete).unwrap();
                        opened += 1;
                    }
                    Err(fault) => assert_eq!(fault.kind, FaultKind::Busy),
                }
            }
            opened
        };
        let opened = std::thread::scope(|scope| {
            let threads = [scope.spawn(open_and_rename), scope.spawn(open_and_rename)];
            threads.map(|thread| thread.join().unwrap())
        });
        assert_ne!(opened.iter().sum::<i32>(), 0);
    }
}
