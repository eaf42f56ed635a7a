//! Symbolic links, and further names of files (hard links).
//!
//! A link is made under the name of an unfinished file and then renamed, as files are; nothing here ever follows one. A
//! symbolic link must stay inside of the receiver's folder by what it says: it is relative, climbs no higher than that
//! folder, and climbs first. (`..` behind a name could climb from wherever that name leads, if it is a link itself.)

use super::Destination;
use super::finish::Results;
use super::folder::{Folder, Place, in_the_way};
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
pub type First = (Arc<Folder>, OsString);

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

    fn make(&self, (folder, name): &First) -> Result<Made, Fault> {
        let from = folder.dir()?;
        let failed = |error: io::Error| Fault::of(&error);
        let file = from.look(name).map_err(failed)?.filter(Entry::is_file).ok_or(FaultKind::Vanished)?;
        let is_same = |_: &Dir, here: &Entry| here.id == file.id;
        put(&self.place, &self.to, &file, is_same, |dir, to| from.link(name, dir, to))
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
    let is_same = |dir: &Dir, _: &Entry| dir.read_link(&place.name).is_ok_and(|there| there == target);
    put(place, to, &link, is_same, |dir, name| dir.make_link(target, name, modified))
}

/// Puts something of the kind and size of `new` at `place`.
fn put(
    place: &Place,
    to: &Destination,
    new: &Entry,
    is_same: impl FnOnce(&Dir, &Entry) -> bool,
    make: impl Fn(&Dir, &OsStr) -> io::Result<()>,
) -> Result<Made, Fault> {
    let failed = |error: io::Error| Fault::of(&error);
    let dir = place.folder.dir()?;
    let here = place.look(&dir)?;
    if let Some(here) = &here {
        if here.kind != new.kind {
            return Err(in_the_way(here));
        }
        if is_same(&dir, here) {
            return Ok(Made::Same);
        }
        to.existing.may_replace(&dir, place, here, &to.tag)?;
        to.existing.set_aside(&dir, place)?;
    }
    take(to.quota(), new)?;
    let temporary = names::of_part(&[place.name.as_bytes(), b"~"].concat(), &to.tag);
    // Of an earlier transfer of this sender that was cut off.
    let _ = dir.remove(&temporary);
    let made = make(&dir, &temporary).and_then(|()| dir.rename(&temporary, &place.name));
    if let Err(error) = made {
        let _ = dir.remove(&temporary);
        give_back(to.quota(), new);
        return Err(failed(error));
    }
    if let Some(here) = here.filter(|_| !to.existing.keeps_copies()) {
        give_back(to.quota(), &here);
    }
    Ok(Made::New { is_replaced: here.is_some() })
}

fn take(quota: Option<&Quota>, entry: &Entry) -> Result<(), Fault> {
    let Some(quota) = quota else { return Ok(()) };
    quota.take_entry()?;
    quota.take(entry.size).inspect_err(|_| quota.give_back_entry())
}

fn give_back(quota: Option<&Quota>, entry: &Entry) {
    quota.inspect(|quota| {
        quota.give_back(entry.size);
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
