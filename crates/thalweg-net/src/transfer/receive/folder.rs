//! Folders that a transfer is in: where names go, and what is to be done when all in a folder is done.

use super::{ATTEMPTS, Destination};
use crate::transfer::dir::{Dir, Entry, EntryKind};
use crate::transfer::disk;
use crate::transfer::fault::{Fault, FaultKind};
use crate::transfer::messages::Modified;
use crate::transfer::names;
use crate::transfer::quota::Quota;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder at the receiver. Everything that is being stored in it holds it; when the last of them lets it go and the
/// transfer has left it, it gets its permissions and time, and its names become safe from loss of power.
#[derive(Debug)]
pub struct Folder {
    /// The folder that it is in, which closes after this one, and its name there; nothing for the one that everything goes
    /// to.
    above: Option<(Arc<Folder>, OsString)>,
    /// The device and the number that it had when the transfer came to it.
    id: (u64, u64),
    /// Held open while the transfer is in it.
    open: Mutex<Option<Arc<Dir>>>,
    dress: Option<Dress>,
    is_left: AtomicBool,
}

/// The permissions and the time that a folder gets in the end.
#[derive(Clone, Copy, Debug)]
struct Dress {
    /// Permission bits; nothing where they are left as they are.
    mode: Option<u32>,
    modified: Modified,
}

/// The place of one thing that comes.
#[derive(Debug)]
pub struct Place {
    /// Its final name.
    pub name: OsString,
    /// Its name while it is unfinished.
    pub part: OsString,
    /// Names that differ only by case must not meet.
    pub alike: bool,
    /// The folder that it is in.
    pub folder: Arc<Folder>,
}

impl Folder {
    /// The folder that everything goes to.
    ///
    /// # Errors
    /// Nobody can look at it.
    pub fn top(dir: Arc<Dir>) -> io::Result<Arc<Self>> {
        let id = Entry::of(dir.file())?.id;
        let open = Mutex::new(Some(dir));
        Ok(Arc::new(Self { above: None, id, open, dress: None, is_left: AtomicBool::new(false) }))
    }

    /// All that will be in it has been offered.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        self.rest();
    }

    /// It is not held open any more; what needs it opens it anew. The one that everything goes to always is.
    pub fn rest(&self) {
        if self.above.is_some() {
            *self.lock() = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Dir>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder, held open as long as whoever asks holds it.
    ///
    /// # Errors
    /// Something else has taken its name since the transfer came to it, or it cannot be opened.
    pub fn dir(&self) -> Result<Arc<Dir>, Fault> {
        if let Some(dir) = &*self.lock() {
            return Ok(Arc::clone(dir));
        }
        let gone = || Fault::new(FaultKind::InTheWay, "its folder was moved while files arrived");
        let (above, name) = self.above.as_ref().ok_or_else(gone)?;
        let dir = above.dir()?.enter(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => gone(),
            _ => Fault::of(&error),
        })?;
        let now = Entry::of(dir.file()).map_err(|error| Fault::of(&error))?;
        if now.id == self.id { Ok(Arc::new(dir)) } else { Err(gone()) }
    }

    /// Its path from the one that everything goes to.
    pub fn path(&self) -> PathBuf {
        self.above.as_ref().map_or_else(PathBuf::new, |(above, name)| above.path().join(name))
    }

    /// The device and the number, which tell it from all other folders.
    pub fn id(&self) -> (u64, u64) {
        self.id
    }

    /// The place of `name` in this folder, which must not lead elsewhere.
    ///
    /// # Errors
    /// The name leads elsewhere, or the receiver does not want it here.
    pub fn place(self: &Arc<Self>, name: &[u8], alike: bool, to: &Destination) -> Result<Place, Fault> {
        let checked = names::checked(name)?;
        if name.starts_with(b".") && self.above.is_none() && !to.hidden {
            return Err(FaultKind::Hidden.into());
        }
        Ok(Place { name: checked, part: names::of_part(name, &to.tag), alike, folder: Arc::clone(self) })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_left.load(Ordering::Relaxed) {
            return;
        }
        // A folder that keeps its old time is still a folder; its contents are what was promised.
        if let Ok(dir) = self.dir() {
            if let Some(Dress { mode, modified }) = self.dress {
                let _ = mode.map_or(Ok(()), |mode| disk::set_mode(dir.file(), mode));
                let _ = disk::set_time(dir.file(), modified);
            }
            let _ = dir.sync();
        }
        drop(self.above.take());
    }
}

impl Place {
    /// The entry under the final name, if there is one. Links are not followed.
    ///
    /// # Errors
    /// Nobody can look, or it is there under another name that this file system takes for the same.
    pub fn look(&self, dir: &Dir) -> Result<Option<Entry>, Fault> {
        let found = dir.look(&self.name).map_err(|error| Fault::of(&error))?;
        if found.is_some() && self.alike && !dir.lists(&self.name).unwrap_or(true) {
            let text = "it differs only by case from another name, which is the same here";
            return Err(Fault::new(FaultKind::Name, text));
        }
        Ok(found)
    }

    /// The path of what is unfinished, from the folder that everything goes to.
    pub fn part_path(&self) -> PathBuf {
        self.folder.path().join(&self.part)
    }

    /// Makes a folder here, or takes the one that is here; gives whether it replaced something else.
    ///
    /// # Errors
    /// Something else is here, or it cannot be made.
    pub fn make_folder(
        self,
        mode: u32,
        modified: Modified,
        destination: &Destination,
    ) -> Result<(Arc<Folder>, bool), Fault> {
        let failed = |error: io::Error| Fault::of(&error);
        let above = self.folder.dir()?;
        let wanted = destination.folder_mode(mode);
        // Nobody but the owner writes while files arrive.
        let at_first = wanted & !0o022 | 0o700;
        let (found, is_replaced) = self.find_or_make(&above, at_first, destination)?;
        let dir = open_writable(&above, &self.name)?;
        let now = Entry::of(dir.file()).map_err(failed)?;
        let mode = match found {
            // One that an earlier transfer has made and not left counts as new.
            Some(entry) if !destination.keeps_modes() && entry.mode & 0o777 != at_first => {
                (entry.mode != now.mode).then_some(entry.mode)
            }
            _ => Some(wanted),
        };
        let folder = Folder {
            above: Some((self.folder, self.name)),
            id: now.id,
            open: Mutex::new(Some(Arc::new(dir))),
            dress: Some(Dress { mode, modified }),
            is_left: AtomicBool::new(false),
        };
        Ok((Arc::new(folder), is_replaced))
    }

    /// The folder that was here, or nothing if there is a new one of this mode; and whether that replaced something else.
    fn find_or_make(&self, above: &Dir, mode: u32, to: &Destination) -> Result<(Option<Entry>, bool), Fault> {
        for _ in 0..ATTEMPTS {
            let found = self.look(above)?;
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

/// Opens a folder in which its owner may make files, if need be from now on. It gets its permissions back in the end. Where
/// that is not possible, files will tell.
fn open_writable(above: &Dir, name: &OsStr) -> Result<Dir, Fault> {
    let dir = above.enter(name).map_err(|error| Fault::of(&error))?;
    if let Ok(entry) = Entry::of(dir.file())
        && entry.mode & 0o700 != 0o700
    {
        let _ = disk::set_mode(dir.file(), entry.mode | 0o700);
    }
    Ok(dir)
}

/// Something is where a file or folder should go.
pub fn in_the_way(entry: &Entry) -> Fault {
    let what = match entry.kind {
        EntryKind::Folder => "a folder",
        EntryKind::Link => "a symbolic link",
        EntryKind::File => "a file",
        EntryKind::Other => "neither a file nor a folder",
    };
    Fault::new(FaultKind::InTheWay, what)
}
