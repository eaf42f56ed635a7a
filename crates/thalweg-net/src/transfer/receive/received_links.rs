//! Creates received symbolic links and further hard links to a file.
//!
//! A link is created under a temporary name and then renamed, like files; links are never followed here. The target of
//! a symbolic link must stay inside the receiver's folder lexically: relative, with all `..` components first, and not
//! above that folder. (A `..` after a name could escape if that name is itself a link.)

use super::folder_until_complete::{EntryTarget, FirstHardLink};
use super::{ATTEMPTS, Destination};
use crate::transfer::file_names;
use crate::transfer::open_folders::{Dir, Entry, EntryKind};
use crate::transfer::storage_quota::Quota;
use crate::transfer::transfer_error::{Fault, FaultKind};
use crate::transfer::transfer_messages::ModificationTime;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Outcome of creating a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOutcome {
    /// The link already existed.
    Same,
    /// The link was created.
    New {
        /// True if it replaced another entry.
        is_replaced: bool,
    },
}

/// Recipient of the outcomes of links.
pub trait OnLink {
    /// Reports and counts the outcome of the link offered as `id`.
    fn link(&self, id: u64, name: &str, made: Result<LinkOutcome, Fault>);
}

/// Files of a transfer that may have further hard links, by offer number.
#[derive(Clone, Debug, Default)]
pub struct LinkedFiles(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    states: HashMap<u64, State>,
    /// Hard links that wait for their files, and the memory of their offers.
    waiting_links: usize,
    memory_bytes: usize,
}

#[derive(Debug)]
enum State {
    /// The file is not stored yet; these links wait for it.
    Coming(Vec<HardLink>),
    /// The file is stored under this name.
    Here(FirstHardLink),
    /// The file was given up.
    Gone,
}

/// A further hard link to a file.
#[derive(Debug)]
pub struct HardLink {
    /// Offer number.
    pub id: u64,
    /// Printable name.
    pub name: String,
    /// [Memory](crate::transfer::transfer_messages::Offer::memory_bytes) of the offer.
    pub memory_bytes: usize,
    /// Target place.
    pub place: EntryTarget,
    /// Destination, with the receiver's policies.
    pub to: Destination,
}

impl LinkedFiles {
    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers an offered file that may get further hard links.
    pub fn expect(&self, id: u64) {
        self.lock().states.insert(id, State::Coming(Vec::new()));
    }

    /// Returns the number of files that may have further hard links.
    pub fn count(&self) -> usize {
        self.lock().states.len()
    }

    /// Returns the number of hard links waiting for their files, and the memory of their offers.
    pub fn waiting(&self) -> (usize, usize) {
        let files = self.lock();
        (files.waiting_links, files.memory_bytes)
    }

    /// Handles the end of a file: creates its waiting hard links, or gives them up if the file failed. Ignores
    /// unregistered files.
    pub fn finish_file(&self, id: u64, first: Option<&FirstHardLink>, results: &impl OnLink) {
        let waiting = {
            let mut files = self.lock();
            let Some(state) = files.states.get_mut(&id) else { return };
            let resolved = first.cloned().map_or(State::Gone, State::Here);
            let State::Coming(waiting) = std::mem::replace(state, resolved) else { return };
            files.waiting_links -= waiting.len();
            files.memory_bytes -= waiting.iter().map(|further| further.memory_bytes).sum::<usize>();
            waiting
        };
        for further in waiting {
            further.resolve(first, results);
        }
    }

    /// Creates a further hard link to the file offered as `first`, now or once that file is stored. Returns false if no
    /// such file was offered.
    pub fn name(&self, first: u64, further: HardLink, results: &impl OnLink) -> bool {
        let here = {
            let mut files = self.lock();
            match files.states.get_mut(&first) {
                None => return false,
                Some(State::Coming(waiting)) => {
                    let memory_bytes = further.memory_bytes;
                    waiting.push(further);
                    files.waiting_links += 1;
                    files.memory_bytes += memory_bytes;
                    return true;
                }
                Some(State::Here(here)) => Some(here.clone()),
                Some(State::Gone) => None,
            }
        };
        further.resolve(here.as_ref(), results);
        true
    }
}

impl HardLink {
    fn resolve(self, first: Option<&FirstHardLink>, results: &impl OnLink) {
        let gone = || Fault::new(FaultKind::Stopped, "the file that it links to was not received");
        let made = first.ok_or_else(gone).and_then(|first| self.make(first));
        results.link(self.id, &self.name, made);
    }

    /// Creates the link through a descriptor of the file. By name it could lead to a file that replaced it meanwhile,
    /// under a temporary name that another process of this sender renames.
    fn make(&self, first: &FirstHardLink) -> Result<LinkOutcome, Fault> {
        let replaced = || Fault::new(FaultKind::Stopped, "the file that it links to was replaced meanwhile");
        let file = first.folder.open_descriptor()?.open_reference(&first.name).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound { replaced() } else { Fault::from_io_error(&error) }
        })?;
        let entry = Entry::of(&file).map_err(|error| Fault::from_io_error(&error))?;
        if entry.id != first.id {
            return Err(replaced());
        }
        let is_it = |_: &Dir, _: &OsStr, found: &Entry| found.id == entry.id;
        let made = place_entry(&self.place, &self.to, &entry, is_it, |dir, to| dir.link_open_file(&file, to));
        made.map_err(|fault| {
            let is_nameless = file.metadata().is_ok_and(|metadata| metadata.nlink() == 0);
            if is_nameless { replaced() } else { fault }
        })
    }
}

/// Creates a symbolic link at `place`, in `depth` nested folders.
///
/// # Errors
/// It points outside the receiver's folder, or another entry is in the way.
pub fn create_symbolic_link(
    place: &EntryTarget,
    target: &[u8],
    modified: ModificationTime,
    depth: usize,
    to: &Destination,
) -> Result<LinkOutcome, Fault> {
    let target = OsStr::from_bytes(target);
    if !to.outside_links && !file_names::stays_inside(target.as_bytes(), depth) {
        return Err(Fault::new(FaultKind::Link, target.to_string_lossy()));
    }
    let link = Entry { kind: EntryKind::Link, size: 0, mode: 0o777, modified, is_single: true, id: (0, 0) };
    let is_it = |dir: &Dir, name: &OsStr, entry: &Entry| {
        entry.kind == EntryKind::Link && dir.read_link(name).is_ok_and(|there| there == target)
    };
    place_entry(place, to, &link, is_it, |dir, name| dir.make_link(target, name, modified))
}

/// Places an entry with the type and size of `new` at `place`, through a temporary name. Tolerates concurrent
/// transfers: verifies that the temporary and then the final name refer to the new entry.
fn place_entry(
    place: &EntryTarget,
    to: &Destination,
    new: &Entry,
    is_it: impl Fn(&Dir, &OsStr, &Entry) -> bool,
    make: impl Fn(&Dir, &OsStr) -> io::Result<()>,
) -> Result<LinkOutcome, Fault> {
    let dir = place.folder.open_descriptor()?;
    let mut is_paid = false;
    let made = make_and_rename(place, to, &dir, new, &is_it, &make, &mut is_paid);
    if !matches!(made, Ok(LinkOutcome::New { .. })) && is_paid {
        give_back(to.quota(), new);
    }
    made
}

fn make_and_rename(
    place: &EntryTarget,
    to: &Destination,
    dir: &Dir,
    new: &Entry,
    is_it: &impl Fn(&Dir, &OsStr, &Entry) -> bool,
    make: &impl Fn(&Dir, &OsStr) -> io::Result<()>,
    is_paid: &mut bool,
) -> Result<LinkOutcome, Fault> {
    let failed = |error: io::Error| Fault::from_io_error(&error);
    let temporary = file_names::of_link(place.name.as_bytes(), &to.tag);
    for _ in 0..ATTEMPTS {
        let here = place.lookup(dir)?;
        if let Some(here) = &here {
            if is_it(dir, &place.name, here) {
                return Ok(LinkOutcome::Same);
            }
            to.existing.may_replace(dir, place, here, new.kind, &to.tag)?;
        }
        if !*is_paid {
            charge_quota(to.quota(), new)?;
            *is_paid = true;
        }
        // Left by an interrupted transfer of this sender.
        dir.remove_all(&temporary).map_err(failed)?;
        match make(dir, &temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            result => result.map_err(failed)?,
        }
        let is_this = |name: &OsStr| {
            let there = dir.lookup(name).map_err(failed)?;
            Ok::<_, Fault>(there.is_some_and(|there| is_it(dir, name, &there)))
        };
        if !is_this(&temporary)? {
            continue;
        }
        let rename = |is_new| {
            if is_new { dir.rename_new(&temporary, &place.name) } else { dir.rename(&temporary, &place.name) }
        };
        let owner = (to.tag.as_str(), to.quota());
        let placed = to.existing.replace(dir, place, here.as_ref(), new.kind, owner, rename);
        // Renaming a hard link over another link to the same inode leaves both names.
        let _ = dir.remove(&temporary);
        if placed? && is_this(&place.name)? {
            return Ok(LinkOutcome::New { is_replaced: here.is_some() });
        }
    }
    Err(FaultKind::Busy.into())
}

fn charge_quota(quota: Option<&Quota>, entry: &Entry) -> Result<(), Fault> {
    let Some(quota) = quota else { return Ok(()) };
    quota.take_entry()?;
    quota.take(entry.bytes()).inspect_err(|_| quota.give_back_entry())
}

fn give_back(quota: Option<&Quota>, entry: &Entry) {
    quota.inspect(|quota| {
        quota.give_back(entry.bytes());
        quota.give_back_entry();
    });
}
