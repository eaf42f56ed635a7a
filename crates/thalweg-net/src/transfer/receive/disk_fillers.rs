//! Unfinished files that filled the receiver's disk.

use super::unfinished_file::Part;
use crate::transfer::transfer_error::{Fault, FaultKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Unfinished files of a transfer that failed because the disk was full. A later transfer can resume them, but other
/// files of this one may fit in their place: they are removed as soon as one of these finds the disk full.
#[derive(Clone, Debug, Default)]
pub struct DiskFillers {
    parts: Arc<Mutex<Vec<Part>>>,
}

impl DiskFillers {
    fn parts(&self) -> MutexGuard<'_, Vec<Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an unfinished file. An empty one is removed instead.
    pub fn keep(&self, part: Part) {
        if !part.is_empty() {
            self.parts().push(part);
        }
    }

    /// Runs `work`, and again while the disk is full and removing a kept file may free space.
    pub fn make_room<T>(&self, mut work: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
        loop {
            let done = work();
            if !matches!(&done, Err(fault) if fault.kind == FaultKind::DiskFull) {
                return done;
            }
            let last = self.parts().pop();
            let Some(part) = last else { return done };
            part.discard();
        }
    }

    /// Releases the kept files: their data stay for a later transfer. Returns true if there are any.
    pub fn release(&self) -> bool {
        !core::mem::take(&mut *self.parts()).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder_until_complete::Folder;
    use super::super::{Claims, Destination};
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn kept_parts_make_room_one_by_one() {
        let folder = TestFolder::new("fillers");
        let to = Destination::new(&folder, Claims::default(), "anna").unwrap();
        let top = Folder::top(Arc::clone(&to.top)).unwrap();
        let fillers = DiskFillers::default();
        let keep = |name: &[u8], contents: &[u8]| {
            let place = top.entry_target(name, false, &to).unwrap();
            let mut part = Part::open(place, &to).unwrap();
            part.write(0, contents).unwrap();
            fillers.keep(part);
        };
        let count = || std::fs::read_dir(&folder).unwrap().count();
        let keeps = || !fillers.parts().is_empty();
        // As long as there are more files than this, the disk is full.
        let fits_beside = |max: usize| {
            let full = || if count() <= max { Ok(()) } else { Err(FaultKind::DiskFull.into()) };
            fillers.make_room(full).map_err(|fault: Fault| fault.kind)
        };
        keep(b"empty", b"");
        assert_eq!((count(), keeps()), (0, false));
        keep(b"a", b"1");
        keep(b"b", b"2");
        assert_eq!((fits_beside(2), count(), keeps()), (Ok(()), 2, true));
        assert_eq!((fits_beside(1), count(), keeps()), (Ok(()), 1, true));
        // Other faults remove nothing.
        let other = fillers.make_room(|| Err::<(), _>(FaultKind::Permission.into()));
        assert_eq!((other.unwrap_err().kind, count()), (FaultKind::Permission, 1));
        assert_eq!((fits_beside(0), count(), keeps()), (Ok(()), 0, false));
        keep(b"c", b"3");
        assert!(fillers.release());
        assert_eq!((fits_beside(0), count()), (Err(FaultKind::DiskFull), 1));
        assert!(!fillers.release());
    }
}
