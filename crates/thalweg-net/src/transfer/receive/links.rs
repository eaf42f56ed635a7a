//! Symbolic links, and further names of files (hard links).
//!
//! A link is made under the name of an unfinished file and then renamed, as files are; nothing here ever follows one. A
//! symbolic link must stay inside of the receiver's folder by what it says: it is relative, climbs no higher than that
//! folder, and climbs first. (`..` behind a name could climb from wherever that name leads, if it is a link itself.)

use super::finish::Results;
use super::folder::{Folder, Place};
use super::{ATTEMPTS, Destination};
use crate::transfer::dir::{Dir, Entry, EntryKind};
use crate::transfer::fault::{Fault, FaultKind};
use crate::transfer::messages::{Modified, ToSender};
use crate::transfer::names;
use crate::transfer::quota::Quota;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The outcome of making a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// It was here.
    Same,
    /// It is new.
    New {
        /// It took the place of another.
        is_replaced: bool,
    },
}

/// The files of a transfer that have further names, by the numbers of their offers.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    states: HashMap<u64, State>,
    /// Further names whose files have not come, and the weight of their offers.
    waiting: usize,
    weight: usize,
}

#[derive(Debug)]
enum State {
    /// It has not come; these names wait for it.
    Coming(Vec<Further>),
    /// It is here by this name.
    Here(First),
    /// It does not come.
    Gone,
}

/// The first name of a file.
#[derive(Clone, Debug)]
pub struct First {
    /// The folder that it is in.
    pub folder: Arc<Folder>,
    /// Its name there.
    pub name: OsString,
    /// The device and the number of the file.
    pub id: (u64, u64),
}

/// A further name of a file.
#[derive(Debug)]
pub struct Further {
    /// The number of its offer.
    pub id: u64,
    /// As it can be shown.
    pub name: String,
    /// The [weight](crate::transfer::messages::Offer::weight) of the offer.
    pub weight: usize,
    /// The place that it goes to.
    pub place: Place,
    /// The destination, which knows what the receiver takes.
    pub to: Destination,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that may have further names is offered.
    pub fn expect(&self, id: u64) {
        self.lock().states.insert(id, State::Coming(Vec::new()));
    }

    /// The number of files that may have further names.
    pub fn count(&self) -> usize {
        self.lock().states.len()
    }

    /// The number of further names that wait for their files, and the weight of their offers.
    pub fn waiting(&self) -> (usize, usize) {
        let files = self.lock();
        (files.waiting, files.weight)
    }

    /// A file is here, or does not come: its further names are made, or given up. Nothing happens for others.
    pub fn settle(&self, id: u64, first: Option<&First>, results: &Results) {
        let waiting = {
            let mut files = self.lock();
            let Some(state) = files.states.get_mut(&id) else { return };
            let settled = first.cloned().map_or(State::Gone, State::Here);
            let State::Coming(waiting) = std::mem::replace(state, settled) else { return };
            files.waiting -= waiting.len();
            files.weight -= waiting.iter().map(|further| further.weight).sum::<usize>();
            waiting
        };
        for further in waiting {
            further.settle(first, results);
        }
    }

    /// A further name of the file that was offered as `first` is made, now or when the file is here. False if no such file
    /// was offered.
    pub fn name(&self, first: u64, further: Further, results: &Results) -> bool {
        let here = {
            let mut files = self.lock();
            match files.states.get_mut(&first) {
                None => return false,
                Some(State::Coming(waiting)) => {
                    let weight = further.weight;
                    waiting.push(further);
                    files.waiting += 1;
                    files.weight += weight;
                    return true;
                }
                Some(State::Here(here)) => Some(here.clone()),
                Some(State::Gone) => None,
            }
        };
        further.settle(here.as_ref(), results);
        true
    }
}

impl Further {
    fn settle(self, first: Option<&First>, results: &Results) {
        let gone = || Fault::new(FaultKind::Stopped, "the file that it is another name of did not come");
        let made = first.ok_or_else(gone).and_then(|first| self.make(first));
        results.link(self.id, &self.name, made);
    }

    fn make(&self, first: &First) -> Result<Made, Fault> {
        let from = first.folder.dir()?;
        let failed = |error: io::Error| Fault::of(&error);
        let file = from.look(&first.name).map_err(failed)?.filter(|file| file.id == first.id);
        let gone =
            || Fault::new(FaultKind::Stopped, "the file that it is another name of was replaced meanwhile");
        let file = file.ok_or_else(gone)?;
        let is_it = |_: &Dir, _: &OsStr, entry: &Entry| entry.id == file.id;
        put(&self.place, &self.to, &file, is_it, |dir, to| from.link(&first.name, dir, to))
    }
}

/// Makes a symbolic link at `place`, which is in `depth` folders.
///
/// # Errors
/// It leads out of the receiver's folder, or something else stands there.
pub fn make(
    place: &Place,
    target: &[u8],
    modified: Modified,
    depth: usize,
    to: &Destination,
) -> Result<Made, Fault> {
    let target = OsStr::from_bytes(target);
    if !to.outside_links && !names::stays_inside(target.as_bytes(), depth) {
        return Err(Fault::new(FaultKind::Link, target.to_string_lossy()));
    }
    let link = Entry { kind: EntryKind::Link, size: 0, mode: 0o777, modified, is_single: true, id: (0, 0) };
    let is_it = |dir: &Dir, name: &OsStr, entry: &Entry| {
        entry.kind == EntryKind::Link && dir.read_link(name).is_ok_and(|there| there == target)
    };
    put(place, to, &link, is_it, |dir, name| dir.make_link(target, name, modified))
}

/// Puts something of the kind and size of `new` at `place`, by way of a temporary name. Another transfer may do the same at the same
/// time: it is looked whether what has the temporary name, and then the final one, is the thing that was made.
fn put(
    place: &Place,
    to: &Destination,
    new: &Entry,
    is_it: impl Fn(&Dir, &OsStr, &Entry) -> bool,
    make: impl Fn(&Dir, &OsStr) -> io::Result<()>,
) -> Result<Made, Fault> {
    let dir = place.folder.dir()?;
    let mut is_paid = false;
    let made = make_and_rename(place, to, &dir, new, &is_it, &make, &mut is_paid);
    if !matches!(made, Ok(Made::New { .. })) && is_paid {
        give_back(to.quota(), new);
    }
    made
}

fn make_and_rename(
    place: &Place,
    to: &Destination,
    dir: &Dir,
    new: &Entry,
    is_it: &impl Fn(&Dir, &OsStr, &Entry) -> bool,
    make: &impl Fn(&Dir, &OsStr) -> io::Result<()>,
    is_paid: &mut bool,
) -> Result<Made, Fault> {
    let failed = |error: io::Error| Fault::of(&error);
    let temporary = names::of_link(place.name.as_bytes(), &to.tag);
    for _ in 0..ATTEMPTS {
        let here = place.look(dir)?;
        if let Some(here) = &here {
            if is_it(dir, &place.name, here) {
                return Ok(Made::Same);
            }
            to.existing.may_replace(dir, place, here, new.kind, &to.tag)?;
        }
        if !*is_paid {
            take(to.quota(), new)?;
            *is_paid = true;
        }
        // Of an earlier transfer of this sender that was cut off.
        dir.remove_all(&temporary).map_err(failed)?;
        match make(dir, &temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            result => result.map_err(failed)?,
        }
        let is_this = |name: &OsStr| {
            let there = dir.look(name).map_err(failed)?;
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
        // Renaming one name of a file to another of it leaves both.
        let _ = dir.remove(&temporary);
        if placed? && is_this(&place.name)? {
            return Ok(Made::New { is_replaced: here.is_some() });
        }
    }
    Err(FaultKind::Busy.into())
}

fn take(quota: Option<&Quota>, entry: &Entry) -> Result<(), Fault> {
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

impl Results {
    /// Says and counts what came of a link.
    pub fn link(&self, id: u64, name: &str, made: Result<Made, Fault>) {
        match made {
            Ok(Made::Same) => {
                self.note(|report| report.unchanged += 1);
                self.say(ToSender::Skip { id });
            }
            Ok(Made::New { is_replaced }) => {
                self.note(|report| {
                    report.links += 1;
                    report.replaced += u64::from(is_replaced);
                });
                self.say(ToSender::Stored { id });
            }
            Err(fault) => {
                self.note(|report| report.fail(name, fault.clone()));
                self.say(ToSender::Failed { id, fault });
            }
        }
    }
}
