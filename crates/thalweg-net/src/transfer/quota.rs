//! The limits of what a sender may store.

use super::fault::{Fault, FaultKind};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_proto::units::Bytes;

/// The most that a sender may have in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Contents of files, unfinished ones included.
    pub bytes: Bytes,
    /// Files and folders.
    pub entries: u64,
}

/// The usage and the limits of a sender's folder, shared by all of its transfers.
#[derive(Debug)]
pub struct Quota {
    limits: Limits,
    bytes: AtomicU64,
    entries: AtomicU64,
    /// The quota that all senders share.
    total: Option<Arc<Quota>>,
}

impl Quota {
    /// Of a folder with all that is in it now. What cannot be read below it is passed over: nobody but the owner of the host can
    /// have made it since, and it must not keep those who come from being served.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub fn of(folder: &Path, limits: Limits) -> io::Result<Self> {
        let (bytes, entries) = count(folder)?;
        Ok(Self { limits, bytes: AtomicU64::new(bytes), entries: AtomicU64::new(entries), total: None })
    }

    /// Counts again what is in the folder, of which others than transfers may have removed some. Transfers may go on: what they
    /// add meanwhile is counted, some of it twice until this is done again.
    ///
    /// # Errors
    /// The folder itself cannot be read: all stays as it was.
    pub fn count_again(&self, folder: &Path) -> io::Result<()> {
        let before = [&self.bytes, &self.entries].map(|counter| counter.load(Relaxed));
        let (bytes, entries) = count(folder)?;
        for ((counter, before), found) in
            [&self.bytes, &self.entries].into_iter().zip(before).zip([bytes, entries])
        {
            let with_new = |now: u64| Some(found.saturating_add(now.saturating_sub(before)));
            let _ = counter.fetch_update(Relaxed, Relaxed, with_new);
        }
        Ok(())
    }

    /// With a limit to what it and others have together: that of a folder that theirs are in.
    #[must_use]
    pub fn within(self, total: Arc<Quota>) -> Self {
        Self { total: Some(total), ..self }
    }

    /// The bytes of contents that the folder holds.
    pub fn used(&self) -> Bytes {
        Bytes::new(self.bytes.load(Relaxed))
    }

    /// Looks whether so many more bytes have room now, before anybody sends them.
    pub(super) fn has_room(&self, bytes: u64) -> Result<(), Fault> {
        let used = self.bytes.load(Relaxed);
        if used.saturating_add(bytes) > self.limits.bytes.get() {
            return Err(self.full(bytes));
        }
        self.total.as_ref().map_or(Ok(()), |total| total.has_room(bytes)).map_err(of_all)
    }

    /// Takes room for bytes that are about to be written.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Fault> {
        let limit = self.limits.bytes.get();
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= limit);
        self.total.as_ref().map_or(Ok(()), |total| total.take(bytes)).map_err(of_all)?;
        self.bytes.fetch_update(Relaxed, Relaxed, more).map(|_| ()).map_err(|_| {
            self.total.iter().for_each(|total| total.give_back(bytes));
            self.full(bytes)
        })
    }

    /// Gives room back.
    pub(super) fn give_back(&self, bytes: u64) {
        self.total.iter().for_each(|total| total.give_back(bytes));
        let _ = self.bytes.fetch_update(Relaxed, Relaxed, |used| Some(used.saturating_sub(bytes)));
    }

    /// Takes room for a new file or folder.
    pub(super) fn take_entry(&self) -> Result<(), Fault> {
        let limit = self.limits.entries;
        let more = |entries: u64| entries.checked_add(1).filter(|entries| *entries <= limit);
        self.entries
            .fetch_update(Relaxed, Relaxed, more)
            .map(|_| ())
            .map_err(|_| Fault::new(FaultKind::Quota, format!("it may have {limit} files and folders")))
    }

    /// A file or folder is gone, or did not come to be.
    pub(super) fn give_back_entry(&self) {
        let _ = self.entries.fetch_update(Relaxed, Relaxed, |entries| Some(entries.saturating_sub(1)));
    }

    /// No room for so many bytes more: whatever there is, or because of it.
    fn full(&self, bytes: u64) -> Fault {
        let (used, limit, bytes) = (self.used(), self.limits.bytes, Bytes::new(bytes));
        let text = if bytes > limit {
            format!("it needs {bytes}, more than the whole quota of {limit}")
        } else {
            format!("it has {used} of {limit}")
        };
        Fault::new(FaultKind::Quota, text)
    }
}

/// The bytes of contents in a folder and below it, and the number of files and folders.
fn count(folder: &Path) -> io::Result<(u64, u64)> {
    let (mut bytes, mut entries) = (0_u64, 0_u64);
    let mut folders = Vec::new();
    let mut next = Some(fs::read_dir(folder)?);
    while let Some(listed) = next {
        for entry in listed.filter_map(Result::ok) {
            // Something else may have removed it.
            let Ok(metadata) = entry.metadata() else { continue };
            entries += 1;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes = bytes.saturating_add(metadata.len());
            }
        }
        next = std::iter::from_fn(|| folders.pop()).find_map(|folder| fs::read_dir(folder).ok());
    }
    Ok((bytes, entries))
}

/// Others have the room.
fn of_all(mut fault: Fault) -> Fault {
    fault.text.insert_str(0, "all senders together: ");
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back() {
        let limits = Limits { bytes: Bytes::new(100), entries: 1 };
        let quota = Quota { limits, bytes: AtomicU64::new(0), entries: AtomicU64::new(0), total: None };
        assert!(quota.take(60).is_ok() && quota.has_room(40).is_ok());
        assert_eq!(quota.has_room(41).unwrap_err().text, "it has 60 B of 100 B");
        // It would have none in an empty folder either.
        let large = quota.has_room(101).unwrap_err().text;
        assert_eq!(large, "it needs 101 B, more than the whole quota of 100 B");
        assert_eq!(quota.take(41).unwrap_err().kind, FaultKind::Quota);
        assert_eq!(quota.take(u64::MAX).unwrap_err().kind, FaultKind::Quota);
        quota.give_back(10);
        assert!(quota.take(50).is_ok());
        assert!(quota.take_entry().is_ok());
        assert_eq!(quota.take_entry().unwrap_err().kind, FaultKind::Quota);
        quota.give_back_entry();
        assert!(quota.take_entry().is_ok());
    }

    #[test]
    fn what_cannot_be_read_keeps_nobody_out() {
        let folder = std::env::temp_dir().join(format!("thalweg-quota-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/file"), b"12345").unwrap();
        // Deeper than a path can say: made as transfers do, from the folder above.
        let name = "d".repeat(250);
        let mut dir = super::super::dir::Dir::open(&folder.join("a/b")).unwrap();
        for _ in 0..20 {
            dir.make(name.as_ref(), 0o700).unwrap();
            dir = dir.enter(name.as_ref()).unwrap();
        }
        let limits = Limits { bytes: Bytes::new(100), entries: 100 };
        let quota = Quota::of(&folder, limits).unwrap();
        assert_eq!(quota.used().get(), 5);
        assert!((10..=23).contains(&quota.entries.load(Relaxed)), "{quota:?}");
        assert!(Quota::of(&folder.join("none"), limits).is_err());
        let removed = std::process::Command::new("rm").arg("-rf").arg(&folder).status().unwrap();
        assert!(removed.success());
    }

    #[test]
    fn what_the_owner_removed_is_counted_again() {
        let folder = std::env::temp_dir().join(format!("thalweg-quota-again-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("old"), [0; 60]).unwrap();
        let limits = Limits { bytes: Bytes::new(100), entries: 2 };
        let quota = Quota::of(&folder, limits).unwrap();
        // A transfer goes on.
        assert!(quota.take(40).is_ok() && quota.take_entry().is_ok());
        fs::write(folder.join("new"), [0; 40]).unwrap();
        assert!(quota.take(1).is_err() && quota.take_entry().is_err());
        fs::remove_file(folder.join("old")).unwrap();
        quota.count_again(&folder).unwrap();
        assert_eq!(quota.used().get(), 40);
        assert!(quota.take(60).is_ok() && quota.take(1).is_err());
        assert!(quota.take_entry().is_ok() && quota.take_entry().is_err());
        fs::remove_dir_all(&folder).unwrap();
        assert!(quota.count_again(&folder).is_err());
        assert_eq!(quota.used().get(), 100, "as it was");
    }

    #[test]
    fn what_two_have_together_is_bounded_too() {
        let new = |bytes, total| {
            let limits = Limits { bytes: Bytes::new(bytes), entries: 9 };
            Quota { limits, bytes: AtomicU64::new(0), entries: AtomicU64::new(0), total }
        };
        let total = Arc::new(new(100, None));
        let [a, b] = [60, 80].map(|bytes| new(bytes, Some(Arc::clone(&total))));
        assert!(a.take(50).is_ok());
        // Its own limit holds, and takes nothing of the others' room.
        assert!(a.take(20).is_err());
        assert_eq!(total.used().get(), 50);
        assert!(b.has_room(50).is_ok());
        let fault = b.has_room(51).unwrap_err();
        assert!(fault.text.starts_with("all senders together: it has 50 B of 100 B"), "{}", fault.text);
        assert!(b.take(51).is_err() && b.take(50).is_ok());
        a.give_back(10);
        assert!(b.take(10).is_ok());
        assert_eq!((a.used().get(), b.used().get(), total.used().get()), (40, 60, 100));
    }
}
