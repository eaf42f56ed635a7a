//! Exclusive write access of transfers to unfinished files.
//!
//! A sender may reconnect before its old connection times out. The new transfer then takes the file over, and the old
//! one fails at its next write. Unfinished files of different senders have different names.

use crate::transfer::transfer_error::{Fault, FaultKind};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file's key: device and inode of its folder, and its name there.
type Name = ((u64, u64), OsString);

/// Unfinished files being written below one folder, by all transfers.
#[derive(Clone, Debug, Default)]
pub struct Claims(Arc<Mutex<HashMap<Name, Arc<Slot>>>>);

#[derive(Debug)]
struct Slot {
    /// Open file; `None` once another transfer has taken over.
    file: Mutex<Option<File>>,
}

/// Exclusive write access to an unfinished file, until dropped or revoked.
#[derive(Debug)]
pub struct Claim {
    claims: Claims,
    name: Name,
    slot: Arc<Slot>,
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Claims {
    /// Claims and opens the file `name`. Waits for a running operation of an older transfer on that file.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn claim(&self, name: Name, open: impl FnOnce() -> Result<File, Fault>) -> Result<Claim, Fault> {
        let slot = Arc::new(Slot { file: Mutex::new(None) });
        // Held until the file is open, to make a later claim wait.
        let mut mine = lock_ignoring_poison(&slot.file);
        let older = {
            let mut claims = lock_ignoring_poison(&self.0);
            claims.insert(name.clone(), Arc::clone(&slot))
        };
        let claim = Claim { claims: self.clone(), name, slot: Arc::clone(&slot) };
        if let Some(older) = older {
            drop(lock_ignoring_poison(&older.file).take());
        }
        let opened = open().map(|file| *mine = Some(file));
        // Dropping the claim acquires this lock.
        drop(mine);
        opened.map(|()| claim)
    }
}

impl Claim {
    /// Runs `work` on the file; no other transfer can take over meanwhile.
    ///
    /// # Errors
    /// Another transfer has taken over, or `work` failed.
    pub fn with<T>(&self, work: impl FnOnce(&mut File) -> Result<T, Fault>) -> Result<T, Fault> {
        match lock_ignoring_poison(&self.slot.file).as_mut() {
            Some(file) => work(file),
            None => Err(Fault::new(FaultKind::Busy, "a newer transfer of the same sender has taken over")),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Close the file before releasing its name.
        drop(lock_ignoring_poison(&self.slot.file).take());
        let mut claims = lock_ignoring_poison(&self.claims.0);
        if claims.get(&self.name).is_some_and(|slot| Arc::ptr_eq(slot, &self.slot)) {
            claims.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null() -> Result<File, Fault> {
        File::open(env!("CARGO_MANIFEST_DIR")).map_err(|error| Fault::from_io_error(&error))
    }

    #[test]
    fn a_newer_transfer_of_the_same_sender_takes_over() {
        let (claims, name) = (Claims::default(), || ((1, 2), OsString::from("file")));
        let old = claims.claim(name(), null).unwrap();
        assert!(old.with(|_| Ok(())).is_ok());
        let new = claims.claim(name(), null).unwrap();
        assert_eq!(old.with(|_| Ok(())).unwrap_err().kind, FaultKind::Busy);
        drop(old);
        assert!(new.with(|_| Ok(())).is_ok(), "still the newer one's");
        drop(new);
        assert!(claims.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_not_claimed() {
        let claims = Claims::default();
        let refused = claims.claim(((1, 2), "file".into()), || Err(FaultKind::Permission.into()));
        assert_eq!(refused.unwrap_err().kind, FaultKind::Permission);
        assert!(claims.0.lock().unwrap().is_empty());
    }
}
