//! Storage quotas: limits on bytes and files of a sender.

use super::transfer_error::{Fault, FaultKind};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_proto::units::Bytes;

/// Maximum usage of a sender's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Content bytes, unfinished files included.
    pub bytes: Bytes,
    /// Number of files and folders.
    pub entries: u64,
}

/// Usage and limits of a sender's folder, shared by all its transfers.
#[derive(Debug)]
pub struct Quota {
    limits: Limits,
    bytes: AtomicU64,
    entries: AtomicU64,
    /// Quota shared by all senders.
    total: Option<Arc<Quota>>,
}

impl Quota {
    /// Creates a quota from the current contents of `folder`. Unreadable items below it are skipped: only the owner of
    /// the host can have created them, and they must not block other senders.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub fn of(folder: &Path, limits: Limits) -> io::Result<Self> {
        let (bytes, entries) = count_folder_contents(folder)?;
        Ok(Self { limits, bytes: AtomicU64::new(bytes), entries: AtomicU64::new(entries), total: None })
    }

    /// Recounts the folder, after other programs may have removed files. Transfers may run meanwhile: their additions
    /// are counted, some twice until the next recount.
    ///
    /// # Errors
    /// The folder itself cannot be read; the usage stays unchanged.
    pub fn count_again(&self, folder: &Path) -> io::Result<()> {
        let before = [&self.bytes, &self.entries].map(|counter| counter.load(Relaxed));
        let (bytes, entries) = count_folder_contents(folder)?;
        for ((counter, before), found) in
            [&self.bytes, &self.entries].into_iter().zip(before).zip([bytes, entries])
        {
            let with_new = |now: u64| Some(found.saturating_add(now.saturating_sub(before)));
            let _ = counter.fetch_update(Relaxed, Relaxed, with_new);
        }
        Ok(())
    }

    /// Adds a shared limit: the quota of the parent folder of several senders.
    #[must_use]
    pub fn within(self, total: Arc<Quota>) -> Self {
        Self { total: Some(total), ..self }
    }

    /// Returns the content bytes in the folder.
    pub fn used(&self) -> Bytes {
        Bytes::new(self.bytes.load(Relaxed))
    }

    /// Checks for space for `bytes` more before they are sent.
    pub(super) fn has_room(&self, bytes: u64) -> Result<(), Fault> {
        let used = self.bytes.load(Relaxed);
        if used.saturating_add(bytes) > self.limits.bytes.get() {
            return Err(self.quota_fault(bytes));
        }
        self.total.as_ref().map_or(Ok(()), |total| total.has_room(bytes)).map_err(of_all)
    }

    /// Reserves space for bytes about to be written.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Fault> {
        let limit = self.limits.bytes.get();
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= limit);
        self.total.as_ref().map_or(Ok(()), |total| total.take(bytes)).map_err(of_all)?;
        self.bytes.fetch_update(Relaxed, Relaxed, more).map(|_| ()).map_err(|_| {
            self.total.iter().for_each(|total| total.give_back(bytes));
            self.quota_fault(bytes)
        })
    }

    /// Releases reserved space.
    pub(super) fn give_back(&self, bytes: u64) {
        self.total.iter().for_each(|total| total.give_back(bytes));
        let _ = self.bytes.fetch_update(Relaxed, Relaxed, |used| Some(used.saturating_sub(bytes)));
    }

    /// Reserves a new file or folder.
    pub(super) fn take_entry(&self) -> Result<(), Fault> {
        let limit = self.limits.entries;
        let more = |entries: u64| entries.checked_add(1).filter(|entries| *entries <= limit);
        self.entries
            .fetch_update(Relaxed, Relaxed, more)
            .map(|_| ())
            .map_err(|_| Fault::new(FaultKind::SenderQuota, format!("it may have {limit} files and folders")))
    }

    /// Releases a file or folder that was removed or not created.
    pub(super) fn give_back_entry(&self) {
        let _ = self.entries.fetch_update(Relaxed, Relaxed, |entries| Some(entries.saturating_sub(1)));
    }

    /// Returns the fault for `bytes` more: larger than the quota, or than the space left.
    fn quota_fault(&self, bytes: u64) -> Fault {
        let (used, limit, bytes) = (self.used(), self.limits.bytes, Bytes::new(bytes));
        let text = if bytes > limit {
            format!("it needs {bytes}, more than the whole quota of {limit}")
        } else {
            format!("it has {used} of {limit}")
        };
        Fault::new(FaultKind::SenderQuota, text)
    }
}

/// Returns the content bytes in and below a folder, and the number of files and folders.
fn count_folder_contents(folder: &Path) -> io::Result<(u64, u64)> {
    let (mut bytes, mut entries) = (0_u64, 0_u64);
    let mut folders = Vec::new();
    let mut next = Some(fs::read_dir(folder)?);
    while let Some(listed) = next {
        for entry in listed.filter_map(Result::ok) {
            // Another process may have removed it.
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

/// Marks a fault as caused by the shared quota.
fn of_all(mut fault: Fault) -> Fault {
    fault.text.insert_str(0, "all senders together: ");
    fault
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn quota_is_taken_and_returned() {
        let limits = Limits { bytes: Bytes::new(100), entries: 1 };
        let quota = Quota { limits, bytes: AtomicU64::new(0), entries: AtomicU64::new(0), total: None };
        assert!(quota.take(60).is_ok() && quota.has_room(40).is_ok());
        assert_eq!(quota.has_room(41).unwrap_err().text, "it has 60 B of 100 B");
        // It would not fit into an empty folder either.
        let large = quota.has_room(101).unwrap_err().text;
        assert_eq!(large, "it needs 101 B, more than the whole quota of 100 B");
        assert_eq!(quota.take(41).unwrap_err().kind, FaultKind::SenderQuota);
        assert_eq!(quota.take(u64::MAX).unwrap_err().kind, FaultKind::SenderQuota);
        quota.give_back(10);
        assert!(quota.take(50).is_ok());
        assert!(quota.take_entry().is_ok());
        assert_eq!(quota.take_entry().unwrap_err().kind, FaultKind::SenderQuota);
        quota.give_back_entry();
        assert!(quota.take_entry().is_ok());
    }

    #[test]
    fn unreadable_folders_do_not_fail_the_quota() {
        let folder = TestFolder::new("quota");
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/file"), b"12345").unwrap();
        // Deeper than a path can express: created relative to the parent folder, as transfers do.
        let name = "d".repeat(250);
        let mut dir = super::super::open_folders::Dir::open(&folder.join("a/b")).unwrap();
        for _ in 0..20 {
            dir.make(name.as_ref(), 0o700).unwrap();
            dir = dir.enter(name.as_ref()).unwrap();
        }
        let limits = Limits { bytes: Bytes::new(100), entries: 100 };
        let quota = Quota::of(&folder, limits).unwrap();
        assert_eq!(quota.used().get(), 5);
        assert!((10..=23).contains(&quota.entries.load(Relaxed)), "{quota:?}");
        assert!(Quota::of(&folder.join("none"), limits).is_err());
        let removed = std::process::Command::new("rm").arg("-rf").arg(&*folder).status().unwrap();
        assert!(removed.success());
    }

    #[test]
    fn space_freed_by_the_owner_becomes_available() {
        let folder = TestFolder::new("quota-again");
        fs::write(folder.join("old"), [0; 60]).unwrap();
        let limits = Limits { bytes: Bytes::new(100), entries: 2 };
        let quota = Quota::of(&folder, limits).unwrap();
        // A transfer continues.
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
    fn shared_quotas_are_bounded_in_total() {
        let new = |bytes, total| {
            let limits = Limits { bytes: Bytes::new(bytes), entries: 9 };
            Quota { limits, bytes: AtomicU64::new(0), entries: AtomicU64::new(0), total }
        };
        let total = Arc::new(new(100, None));
        let [a, b] = [60, 80].map(|bytes| new(bytes, Some(Arc::clone(&total))));
        assert!(a.take(50).is_ok());
        // Its own limit applies and consumes none of the shared space.
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
