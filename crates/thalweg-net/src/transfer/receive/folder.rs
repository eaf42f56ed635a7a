//! Folders that a transfer is in: where names go, and what is to be done when all in a folder is done.

use super::Destination;
use crate::transfer::disk;
use crate::transfer::fault::{Fault, FaultKind};
use crate::transfer::messages::Modified;
use crate::transfer::names;
use crate::transfer::quota::Quota;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A folder at the receiver. Everything that is being stored in it holds it; when the last of them lets it go and the
/// transfer has left it, it gets its permissions and time, and its names become safe from loss of power.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// As the sender has it; nothing for the folder that everything goes to.
    dress: Option<(u32, Modified)>,
    is_left: AtomicBool,
    /// It closes after this one.
    parent: Option<Arc<Folder>>,
}

/// Where one thing goes.
#[derive(Debug)]
pub struct Place {
    /// Under its final name.
    pub path: PathBuf,
    /// While it is unfinished.
    pub part: PathBuf,
    /// Names that differ only by case must not meet.
    pub alike: bool,
    /// What it is in.
    pub folder: Arc<Folder>,
}

impl Folder {
    /// The folder that everything goes to.
    pub fn top(path: PathBuf) -> Arc<Self> {
        Arc::new(Self { path, dress: None, is_left: AtomicBool::new(false), parent: None })
    }

    /// All that will be in it has been offered.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Where `name` goes in this folder, which must not lead elsewhere.
    ///
    /// # Errors
    /// It does.
    pub fn place(self: &Arc<Self>, name: &[u8], alike: bool) -> Result<Place, Fault> {
        let checked = names::checked(name)?;
        let part = names::of_part(name);
        let (path, part) = (self.path.join(checked), self.path.join(part));
        Ok(Place { path, part, alike, folder: Arc::clone(self) })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_left.load(Ordering::Relaxed) {
            return;
        }
        // A folder that keeps its old time is still a folder; its contents are what was promised.
        if let Some((mode, modified)) = self.dress {
            let _ = File::open(&self.path).and_then(|folder| disk::dress(&folder, mode, modified));
        }
        let _ = disk::sync_folder(&self.path);
        drop(self.parent.take());
    }
}

impl Place {
    /// What is here under the final name, if anything is. Links are not followed.
    ///
    /// # Errors
    /// Nobody can look, or it is there under another name that this file system takes for the same.
    pub fn look(&self) -> Result<Option<Metadata>, Fault> {
        let found = look(&self.path)?;
        if found.is_some() && self.alike && !is_listed(&self.folder.path, self.path.file_name()) {
            let text = "it differs only by case from another name, which is the same here";
            return Err(Fault::new(FaultKind::Name, text));
        }
        Ok(found)
    }

    /// Makes a folder here, or takes the one that is here.
    ///
    /// # Errors
    /// Something else is here, or it cannot be made.
    pub fn make_folder(
        self,
        mode: u32,
        modified: Modified,
        destination: &Destination,
    ) -> Result<Arc<Folder>, Fault> {
        match self.look()? {
            None => {
                let quota = destination.quota();
                quota.map_or(Ok(()), Quota::take_entry)?;
                disk::make_folder(&self.path).map_err(|error| {
                    quota.inspect(|quota| quota.give_back_entry());
                    Fault::of(&error)
                })?;
            }
            Some(metadata) if metadata.is_dir() => {
                // It gets its own permissions back in the end. Where that is not possible, files will tell.
                let _ = disk::make_writable(&self.path, &metadata);
            }
            Some(metadata) => return Err(in_the_way(&metadata)),
        }
        Ok(Arc::new(Folder {
            path: self.path,
            dress: Some((mode, modified)),
            is_left: AtomicBool::new(false),
            parent: Some(self.folder),
        }))
    }
}

/// What is at `path`; links are not followed.
pub fn look(path: &Path) -> Result<Option<Metadata>, Fault> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::of(&error)),
    }
}

/// Something is where a file or folder should go.
pub fn in_the_way(metadata: &Metadata) -> Fault {
    let what = if metadata.is_dir() {
        "a folder"
    } else if metadata.is_symlink() {
        "a symbolic link"
    } else if metadata.is_file() {
        "a file"
    } else {
        "neither a file nor a folder"
    };
    Fault::new(FaultKind::InTheWay, what)
}

/// A name is in a folder exactly as it is written.
fn is_listed(folder: &Path, name: Option<&OsStr>) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return true };
    entries.any(|entry| entry.is_ok_and(|entry| Some(&*entry.file_name()) == name))
}
