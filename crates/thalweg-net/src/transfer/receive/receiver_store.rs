//! The store of a receiving transfer: answers offers, keeps matching contents, writes the rest to disk.

use super::current_offer::{CurrentOffer, Sink, report_failed_file, sender_violation};
use super::existing_files;
use super::folder_until_complete::{EntryTarget, FirstHardLink, Folder, obstruction_fault};
use super::pending_offers::{AllPending, PendingOffer};
use super::received_links::{self, HardLink, OnLink as _};
use super::sync_threads::{CompleteFile, Finishers, Results};
use super::unfinished_file::{self, Part};
use super::{Destination, Target};
use crate::transfer::file_metadata;
use crate::transfer::file_names;
use crate::transfer::open_folders::{Dir, Entry, EntryKind};
use crate::transfer::transfer_error::{Error, Fault, FaultKind, escape_unsafe};
use crate::transfer::transfer_messages::{
    MAX_DEPTH, MAX_HARD_LINKED_FILES, MAX_OUTSTANDING_DIGESTS, MAX_OUTSTANDING_OFFER_BYTES,
    MAX_OUTSTANDING_OFFERS, ModificationTime, Offer, OfferKind, ToReceiver, ToSender,
};
use crate::transfer::transfer_progress::UnresumableItem;
use crate::transfer::tree_hash::{self, Digest, Pieces, TreeHasher};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use thalweg_proto::units::Bytes;

/// Maximum number of nested folders held open.
const MAX_OPEN: usize = 16;

/// Receiver state.
pub struct Store {
    destination: Option<Destination>,
    output: Option<Box<dyn Write + Send>>,
    checksum: bool,
    results: Results,
    finishers: Finishers,
    /// The target folder, followed by the open ancestors of the last offer.
    levels: Vec<Level>,
    next_id: u64,
    /// Offers that were answered but whose contents have not started.
    pending: AllPending,
    current: Option<CurrentOffer>,
    is_finished: bool,
}

/// Maximum length of a folder's path below the sender's root, in bytes, for counting existing contents by path.
/// Operating systems bound path lengths.
const MAX_PATH_BYTES: usize = 3072;

struct Level {
    /// The open folder; `None` if it could not be made.
    folder: Option<Arc<Folder>>,
    /// Printable name.
    name: String,
    /// Last name offered in this folder.
    last: Vec<u8>,
}

impl Store {
    /// Creates the state before the first offer.
    pub fn new(target: Target, checksum: bool, results: Results) -> io::Result<Self> {
        let finishers = Finishers::new(&results)?;
        let (destination, output) = match target {
            Target::Folder(destination) => (Some(destination), None),
            Target::Output(output) => (None, Some(output)),
        };
        let top = destination.as_ref().map(|destination| Folder::top(Arc::clone(&destination.top)));
        let top = top.transpose()?;
        let levels = vec![Level { folder: top, name: String::new(), last: Vec::new() }];
        Ok(Self {
            destination,
            output,
            checksum,
            results,
            finishers,
            levels,
            next_id: 0,
            pending: AllPending::default(),
            current: None,
            is_finished: false,
        })
    }

    /// Handles one frame from the sender.
    pub fn frame(&mut self, frame: ToReceiver) -> Result<(), Error> {
        match frame {
            ToReceiver::Offer(offer) => self.offer(&offer),
            ToReceiver::Unchanged { id } => self.same(id),
            ToReceiver::Begin { id } => self.begin(id),
            ToReceiver::Verify { id, first_block, count } => self.verify(id, first_block, count),
            ToReceiver::KeepBlock => self.keep(),
            ToReceiver::End { hash } => self.complete(&hash),
            ToReceiver::Abandon { id, fault } => {
                self.abandon(id, fault);
                Ok(())
            }
            ToReceiver::Missing { depth, name, fault } => self.record_missing(depth, &name, fault),
            ToReceiver::Hole { length } => match &mut self.current {
                Some(current) => current.hole(length, &self.results),
                None => sender_violation("it sends a hole outside of a file"),
            },
            ToReceiver::Unpreserved(lost) => {
                self.results.note(|report| report.lost = lost);
                Ok(())
            }
            ToReceiver::Finish if self.current.is_none() && self.pending.count() == 0 => {
                self.is_finished = true;
                Ok(())
            }
            ToReceiver::Finish => sender_violation("it ended before all data was sent"),
            ToReceiver::Hello { .. } => sender_violation("it greeted twice"),
            ToReceiver::Total { .. } | ToReceiver::Data { .. } => Ok(()),
        }
    }

    /// Handles the end of the stream: waits until all complete files are stored.
    pub fn end(mut self) -> Result<(), Error> {
        if self.is_finished {
            self.levels.drain(..).rev().for_each(Level::leave);
        }
        drop(self.current.take());
        drop(self.finishers);
        Ok(())
    }

    fn offer(&mut self, offer: &Offer) -> Result<(), Error> {
        let id = self.next_id;
        self.next_id += 1;
        let (waiting, memory_bytes) = self.results.shared.waiting();
        if self.pending.count() + waiting >= MAX_OUTSTANDING_OFFERS
            || self.pending.memory_bytes() + memory_bytes >= MAX_OUTSTANDING_OFFER_BYTES
        {
            return sender_violation("it offers too much at a time");
        }
        let is_folder = matches!(offer.kind, OfferKind::Folder { .. });
        if self.destination.is_none() && (!offer.kind.has_content() || id > 0) {
            return Err(Error::Local(FaultKind::Single.into()));
        }
        let Some(depth) = usize::try_from(offer.depth).ok().filter(|depth| *depth < self.levels.len()) else {
            return sender_violation("it offers an entry outside of a folder");
        };
        if depth >= MAX_DEPTH && is_folder {
            return sender_violation("its folders are too deep");
        }
        self.levels.drain(depth + 1..).rev().for_each(Level::leave);
        let level = &mut self.levels[depth];
        if level.last >= offer.name {
            return sender_violation("it offers names out of order, or twice");
        }
        level.last.clone_from(&offer.name);
        let folder = level.folder.clone();
        let name = self.printable_path(depth, &offer.name);
        let path = self.levels[..=depth].iter().map(|level| level.last.len()).sum::<usize>();
        let memory_bytes = offer.memory_bytes(path);
        let result = if self.destination.is_none() {
            Ok(self.want(id, offer, (&name, memory_bytes), None, 0))
        } else if let OfferKind::Folder { modified } = offer.kind {
            let made = self.make_folder(folder, offer, modified, path + depth);
            let result = made.as_ref().map(|_| ToSender::Stored { id }).map_err(Clone::clone);
            let shown = escape_unsafe(&offer.name);
            self.levels.push(Level { folder: made.ok(), name: shown, last: Vec::new() });
            let outer = self.levels.len().checked_sub(MAX_OPEN + 1).map(|outer| &self.levels[outer]);
            outer.and_then(|outer| outer.folder.as_ref()).inspect(|folder| folder.close_descriptor());
            result
        } else if let OfferKind::HardLink { .. } | OfferKind::SymbolicLink { .. } = offer.kind {
            return self.offer_link(id, folder, offer, (name, memory_bytes), depth);
        } else {
            if let OfferKind::File { may_have_hard_links: true, .. } = offer.kind {
                if self.results.shared.count() >= MAX_HARD_LINKED_FILES {
                    return sender_violation("too many of its files have further names");
                }
                self.results.shared.expect(id);
            }
            self.offer_file(id, folder, offer, (&name, memory_bytes))
        };
        let is_failed = result.is_err();
        self.results.reply(result.unwrap_or_else(|fault| {
            self.results.note(|report| report.fail(&name, fault.clone()));
            if !is_folder {
                self.results.progress.file_done();
            }
            ToSender::Failed { id, fault }
        }));
        if is_failed {
            self.results.shared.finish_file(id, None, &self.results);
        }
        Ok(())
    }

    /// Handles the offer of a symbolic link or of a further hard link to a file.
    fn offer_link(
        &mut self,
        id: u64,
        folder: Option<Arc<Folder>>,
        offer: &Offer,
        (name, memory_bytes): (String, usize),
        depth: usize,
    ) -> Result<(), Error> {
        let Some(to) = self.destination.clone() else { return Err(Error::Local(FaultKind::Single.into())) };
        let folder = folder.ok_or_else(|| FaultKind::Folder.into());
        let place = folder.and_then(|folder| folder.entry_target(&offer.name, offer.has_case_variant, &to));
        let made = match (place, &offer.kind) {
            (Err(fault), _) => Err(fault),
            (Ok(place), OfferKind::SymbolicLink { modified, target }) => self
                .results
                .fillers
                .make_room(|| received_links::create_symbolic_link(&place, target, *modified, depth, &to)),
            (Ok(place), OfferKind::HardLink { target_id }) => {
                let further = HardLink { id, name, memory_bytes, place, to };
                if self.results.shared.name(*target_id, further, &self.results) {
                    return Ok(());
                }
                return sender_violation("it names a file that it has not offered");
            }
            (Ok(_), _) => return sender_violation("it offers something else as a link"),
        };
        self.results.link(id, &name, made);
        Ok(())
    }

    /// Records an entry that the sender does not offer.
    fn record_missing(&self, depth: u64, name: &[u8], fault: Fault) -> Result<(), Error> {
        let Some(depth) = usize::try_from(depth).ok().filter(|depth| *depth < self.levels.len()) else {
            return sender_violation("it reports a missing entry outside of a folder");
        };
        let name = self.printable_path(depth, name);
        self.results.note(|report| report.add_missing(&name, fault));
        Ok(())
    }

    /// Returns the printable path of `name` in the folder at `depth`.
    fn printable_path(&self, depth: usize, name: &[u8]) -> String {
        let folders = self.levels[1..=depth].iter().map(|level| level.name.as_str());
        file_names::format_path(folders.chain([&*escape_unsafe(name)]))
    }

    fn make_folder(
        &self,
        parent: Option<Arc<Folder>>,
        offer: &Offer,
        modified: ModificationTime,
        path: usize,
    ) -> Result<Arc<Folder>, Fault> {
        let (Some(parent), Some(destination)) = (parent, &self.destination) else {
            return Err(FaultKind::Folder.into());
        };
        if destination.quota().is_some() && path > MAX_PATH_BYTES {
            return Err(Fault::new(
                FaultKind::Name,
                format!("its path is longer than {MAX_PATH_BYTES} bytes"),
            ));
        }
        let place = parent.entry_target(&offer.name, offer.has_case_variant, destination)?;
        let make = || place.clone().make_folder(offer.mode, modified, destination);
        let (folder, is_replaced) = self.results.fillers.make_room(make)?;
        self.results.note(|report| {
            report.folders += 1;
            report.replaced += u64::from(is_replaced);
        });
        Ok(folder)
    }

    fn offer_file(
        &mut self,
        id: u64,
        folder: Option<Arc<Folder>>,
        offer: &Offer,
        named: (&str, usize),
    ) -> Result<ToSender, Fault> {
        let (Some(folder), Some(to)) = (folder, &self.destination) else {
            return Err(FaultKind::Folder.into());
        };
        let place = folder.entry_target(&offer.name, offer.has_case_variant, to)?;
        let dir = place.folder.open_descriptor()?;
        let here = place.lookup(&dir)?;
        let there = unfinished_file::length_of(&dir, &place.part)?;
        let may_replace =
            |here: &Entry| to.existing.may_replace(&dir, &place, here, EntryKind::File, &to.tag);
        let allowed = here.as_ref().map_or(Ok(()), may_replace);
        let OfferKind::File { size, modified, .. } = offer.kind else {
            allowed?;
            return Ok(self.want(id, offer, named, Some(place), 0));
        };
        if let Some(here) = here.filter(|here| here.is_file() && here.size == size) {
            if !self.checksum && here.modified.agrees_with(modified) {
                let mode = self.mode(offer.mode);
                if here.mode & 0o777 != mode && allowed.is_ok() {
                    let _ = dir.read(&place.name).and_then(|file| file_metadata::set_mode(&file, mode));
                }
                self.count_unchanged(size);
                let first =
                    FirstHardLink { folder: Arc::clone(&place.folder), name: place.name, id: here.id };
                self.results.shared.finish_file(id, Some(&first), &self.results);
                return Ok(ToSender::Skip { id });
            }
            if self.checksum && there.is_none() {
                let (hash, compared_file) = hash_existing_file(&dir, &place.name)?;
                let pending = self.pending_offer(offer, named, Some(place), 0);
                self.pending.insert(id, PendingOffer { compared_file: Some(compared_file), ..pending });
                return Ok(ToSender::Hash { id, hash });
            }
        }
        allowed?;
        let there = there.unwrap_or(0).min(size);
        if let Some(quota) = self.destination.as_ref().and_then(Destination::quota) {
            quota.has_room(size - there)?;
        }
        Ok(self.want(id, offer, named, Some(place), there))
    }

    /// Requests an offered file. Up to `length` bytes of it may already be stored.
    fn want(
        &mut self,
        id: u64,
        offer: &Offer,
        named: (&str, usize),
        place: Option<EntryTarget>,
        length: u64,
    ) -> ToSender {
        self.pending.insert(id, self.pending_offer(offer, named, place, length));
        if length > 0 { ToSender::HasPartial { id, length } } else { ToSender::Want { id } }
    }

    fn pending_offer(
        &self,
        offer: &Offer,
        (name, memory_bytes): (&str, usize),
        place: Option<EntryTarget>,
        length: u64,
    ) -> PendingOffer {
        let file = match offer.kind {
            OfferKind::File { size, modified, .. } => Some((size, modified)),
            _ => None,
        };
        let pieces = Pieces::new(file.map_or(0, |(size, _)| size), length);
        let mode = self.mode(offer.mode);
        PendingOffer { name: name.to_owned(), place, file, mode, pieces, compared_file: None, memory_bytes }
    }

    fn same(&mut self, id: u64) -> Result<(), Error> {
        let Some(PendingOffer {
            place: Some(place),
            file: Some((size, modified)),
            mode,
            compared_file: Some(compared_file),
            ..
        }) = self.pending.remove(id)
        else {
            return sender_violation("it compares a file of which it got no hash");
        };
        // A file that was replaced since was unchanged when it was compared; the other one keeps its metadata.
        let updated = self.update_metadata(&place, compared_file, mode, modified);
        self.count_unchanged(size);
        let first = updated.ok().map(|()| FirstHardLink {
            folder: place.folder,
            name: place.name,
            id: compared_file,
        });
        self.results.shared.finish_file(id, first.as_ref(), &self.results);
        Ok(())
    }

    /// Sets permissions and time of a file whose contents match the sender's, if this sender may change it.
    ///
    /// # Errors
    /// Another file has replaced it since its hash was sent.
    fn update_metadata(
        &self,
        place: &EntryTarget,
        compared_file: (u64, u64),
        mode: u32,
        modified: ModificationTime,
    ) -> Result<(), Fault> {
        let Some(to) = &self.destination else { return Err(FaultKind::Folder.into()) };
        let failed = |error: io::Error| Fault::from_io_error(&error);
        let dir = place.folder.open_descriptor()?;
        let file = open_existing_file(&dir, &place.name)?;
        let here = Entry::of(&file).map_err(failed)?;
        if here.id != compared_file {
            return Err(FaultKind::Busy.into());
        }
        if to.existing.may_replace(&dir, place, &here, EntryKind::File, &to.tag).is_ok() {
            let dress = || {
                file_metadata::set_mode(&file, mode)?;
                file_metadata::set_time(&file, modified)?;
                existing_files::mark_complete(&file, &to.tag)
            };
            // A failure is ignored: the contents match.
            let _ = dress();
        }
        Ok(())
    }

    fn begin(&mut self, id: u64) -> Result<(), Error> {
        if self.current.is_some() {
            return sender_violation("it begins a file within another");
        }
        let Some(pending) = self.pending.remove(id) else {
            return sender_violation("it begins a file that was not requested");
        };
        let PendingOffer { name, place, file, mode, pieces, .. } = pending;
        self.results.progress.set_current(name.as_bytes());
        let unresumable = (file.is_none() || place.is_none()).then(|| UnresumableItem {
            name: name.clone(),
            partial_file: place.as_ref().and_then(|place| self.unfinished_path(place)),
        });
        let sink = match (place, &self.destination) {
            (Some(place), Some(to)) => {
                // Other transfers may have used space since the offer; the size of a stream is unknown.
                let missing = file.map_or(0, |(size, _)| size - pieces.length());
                let room = to.quota().map_or(Ok(()), |quota| quota.has_room(missing));
                let open = || Part::open(place.clone(), to);
                room.and_then(|()| self.results.fillers.make_room(open)).map(Sink::File)
            }
            _ => self.output.take().map(Sink::Output).ok_or(FaultKind::Stopped.into()),
        };
        let mut current = CurrentOffer {
            id,
            name,
            sink: Sink::Discard,
            file,
            mode,
            pieces,
            hasher: TreeHasher::new(),
            position: 0,
            digested: VecDeque::new(),
            next: 0,
        };
        match sink {
            Ok(sink) => {
                current.sink = sink;
                self.results.note(|report| report.unresumable = unresumable);
            }
            Err(fault) => current.fail(fault, &self.results),
        }
        self.current = Some(current);
        Ok(())
    }

    /// Returns the printable path of the unfinished file of `place`.
    fn unfinished_path(&self, place: &EntryTarget) -> Option<PathBuf> {
        self.destination.as_ref().map(|destination| destination.path.join(place.part_path()))
    }

    /// Returns the local permissions for a file with mode `mode` at the sender.
    fn mode(&self, mode: u32) -> u32 {
        self.destination.as_ref().map_or(mode, |destination| destination.mode(mode))
    }

    fn verify(&mut self, id: u64, first_block: u64, count: u64) -> Result<(), Error> {
        let Some(current) = self.current.as_mut().filter(|current| current.id == id) else {
            return sender_violation("it requests digests of a file that it has not begun");
        };
        let waiting = current.digested.len() as u64;
        if first_block != current.next
            || count == 0
            || count > MAX_OUTSTANDING_DIGESTS - waiting.min(MAX_OUTSTANDING_DIGESTS)
        {
            return sender_violation("it requests digests out of order");
        }
        if first_block.saturating_add(count) > current.pieces.count() {
            return sender_violation("it requests digests beyond the stored data");
        }
        current.verify(count, &self.results);
        Ok(())
    }

    fn keep(&mut self) -> Result<(), Error> {
        match &mut self.current {
            Some(current) => current.keep(&self.results),
            None => sender_violation("it keeps a file that it has not begun"),
        }
    }

    /// Handles contents of the current file.
    pub fn contents(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.current {
            Some(current) => current.write(bytes, &self.results),
            None => sender_violation("it sends contents outside of a file"),
        }
    }

    fn complete(&mut self, theirs: &Digest) -> Result<(), Error> {
        let Some(current) = self.current.take() else {
            return sender_violation("it ends a file that it has not begun");
        };
        let CurrentOffer { id, name, sink, file, mode, hasher, position, .. } = current;
        if matches!(sink, Sink::Discard) {
            return Ok(());
        }
        if file.is_some_and(|(size, _)| size != position) {
            return sender_violation("a file ends before its size");
        }
        let fault = match (hasher.finish(), sink) {
            (Some(ours), Sink::File(part)) if ours == *theirs => {
                let (size, modified) = (position, file.map(|(_, modified)| modified));
                let finished = CompleteFile { id, name, part, size, mode, modified };
                self.finishers.finish(finished, &self.results);
                return Ok(());
            }
            (Some(ours), Sink::Output(mut output)) if ours == *theirs => match output.flush() {
                Ok(()) => {
                    self.results.note(|report| {
                        report.files += 1;
                        report.unresumable = None;
                    });
                    self.results.progress.file_done();
                    self.results.reply(ToSender::Stored { id });
                    return Ok(());
                }
                Err(error) => Fault::from_io_error(&error),
            },
            _ => FaultKind::Mismatch.into(),
        };
        report_failed_file(id, &name, fault, &self.results);
        Ok(())
    }

    fn abandon(&mut self, id: u64, fault: Fault) {
        let name = match self.current.take_if(|current| current.id == id) {
            // Already reported.
            Some(CurrentOffer { sink: Sink::Discard, .. }) => return,
            Some(CurrentOffer { name, sink, .. }) => {
                // A changed file can be resumed, one that is gone cannot.
                if let (Sink::File(part), FaultKind::Vanished) = (sink, fault.kind) {
                    part.discard();
                }
                name
            }
            None => match self.pending.remove(id) {
                Some(pending) => pending.name,
                // The sender had not yet learned of the failure.
                None => return,
            },
        };
        self.results.note(|report| report.fail(&name, fault));
        self.results.progress.file_done();
        self.results.shared.finish_file(id, None, &self.results);
    }

    fn count_unchanged(&self, size: u64) {
        self.results.note(|report| {
            report.unchanged += 1;
            report.skipped += Bytes::new(size);
        });
        self.results.progress.add_kept(size);
        self.results.progress.add_bytes(size);
        self.results.progress.file_done();
    }
}

impl Level {
    /// Leaves the folder: all its entries have been offered.
    fn leave(self) {
        self.folder.iter().for_each(|folder| folder.mark_all_offered());
    }
}

/// Opens the existing file, which may have been replaced meanwhile.
fn open_existing_file(dir: &Dir, name: &OsStr) -> Result<File, Fault> {
    let file = dir.read(name).map_err(|error| Fault::from_io_error(&error))?;
    match Entry::of(&file) {
        Ok(entry) if entry.is_file() => Ok(file),
        Ok(entry) => Err(obstruction_fault(&entry)),
        Err(error) => Err(Fault::from_io_error(&error)),
    }
}

/// Returns the hash of the existing file, and its device and inode number.
fn hash_existing_file(dir: &Dir, name: &OsStr) -> Result<(Digest, (u64, u64)), Fault> {
    let failed = |error: io::Error| Fault::from_io_error(&error);
    let file = open_existing_file(dir, name)?;
    let entry = Entry::of(&file).map_err(failed)?;
    Ok((tree_hash::hash_file(&file, entry.size).map_err(failed)?, entry.id))
}
