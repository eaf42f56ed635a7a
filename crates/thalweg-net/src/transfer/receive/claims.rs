//! The claims of transfers to unfinished files: each is written by one transfer at a time.
//!
//! A sender that was killed may come back before its old connection is known to be dead. Its new transfer then takes the
//! file away from the old one, which is told so at its next write. Others have unfinished files of their own.

use crate::transfer::fault::{Fault, FaultKind};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file: what tells its folder from others (device and number), and its name there.
type Name = ((u64, u64), OsString);

/// The unfinished files that are being written below some folder, by all of its transfers.
#[derive(Clone, Debug, Default)]
pub struct Claims(Arc<Mutex<HashMap<Name, Arc<Slot>>>>);

#[derive(Debug)]
struct Slot {
    /// Nothing once another transfer has taken it.
    file: Mutex<Option<File>>,
}

/// The right to write an unfinished file, until dropped or taken away.
#[derive(Debug)]
pub struct Claim {
    claims: Claims,
    name: Name,
    slot: Arc<Slot>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Claims {
    /// Claims the file `name` and opens it. What an older transfer is doing with it is completed before.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn claim(&self, name: Name, open: impl FnOnce() -> Result<File, Fault>) -> Result<Claim, Fault> {
        let slot = Arc::new(Slot { file: Mutex::new(None) });
        // Held until the file is open, so that a later claim waits for this one.
        let mut mine = lock(&slot.file);
        let older = {
            let mut claims = lock(&self.0);
            claims.insert(name.clone(), Arc::clone(&slot))
        };
        let claim = Claim { claims: self.clone(), name, slot: Arc::clone(&slot) };
        if let Some(older) = older {
            drop(lock(&older.file).take());
        }
        let opened = open().map(|file| *mine = Some(file));
        // Dropping the claim takes the lock again.
        drop(mine);
        opened.map(|()| claim)
    }
}

impl Claim {
    /// Does something with the file while no other transfer can take it.
    ///
    /// # Errors
    /// It was taken before, or `work` failed.
    pub fn with<T>(&self, work: impl FnOnce(&mut File) -> Result<T, Fault>) -> Result<T, Fault> {
        match lock(&self.slot.file).as_mut() {
            Some(file) => work(file),
            None => Err(Fault::new(FaultKind::Busy, "a newer transfer of the same sender has taken over")),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The file is closed before its name is free for others.
        drop(lock(&self.slot.file).take());
        let mut claims = lock(&self.claims.0);
        if claims.get(&self.name).is_some_and(|slot| Arc::ptr_eq(slot, &self.slot)) {
            claims.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null() -> Result<File, Fault> {
        File::open(env!("CARGO_MANIFEST_DIR")).map_err(|error| Fault::of(&error))
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
