//! Sender side of a transfer: offers items, and sends the contents that the receiver requests.

mod file_contents;
mod reply_inbox;

use super::TransferOutcome;
use super::file_names;
use super::folder_walk::{Item, Roots, Source, SourceFile, UnsentEntry, Walk, WalkEntry};
use super::frame_io::FrameWriter;
use super::transfer_error::{Error, Fault, FaultKind, escape_unsafe};
use super::transfer_messages::{
    MAX_OUTSTANDING_OFFER_BYTES, MAX_OUTSTANDING_OFFERS, Offer, OfferKind, PRE_ACCEPTANCE_BYTES, ToReceiver,
    ToSender, VERSION,
};
use super::transfer_priority::Priority;
use super::transfer_progress::{Progress, Report, UnresumableItem};
use reply_inbox::{Inbox, InboxWaker};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_proto::units::Bytes;

/// Options of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Compare contents to detect unchanged files; by default, size and modification time.
    pub checksum: bool,
    /// Priority among transfers to the same receiver: 1 (most urgent) to 6 (least).
    pub priority: Priority,
}

/// Sends everything in `source` to the peer at `to_peer` and `from_peer`. Blocks until the receiver has stored it or
/// the streams end.
pub fn send_transfer<R, W>(
    source: Source,
    options: Options,
    from_peer: R,
    to_peer: &mut W,
    progress: &Arc<Progress>,
) -> TransferOutcome
where
    R: Read + Send + 'static,
    W: Write,
{
    let (inbox, waker) = match Inbox::new(from_peer, Arc::clone(progress)) {
        Ok(begun) => begun,
        Err(error) => {
            return TransferOutcome {
                report: Report::default(),
                result: Err(Error::Local(Fault::from_io_error(&error))),
            };
        }
    };
    let mut sending = SendingTransfer {
        writer: FrameWriter::new(to_peer),
        inbox,
        progress,
        next_id: 0,
        outstanding: HashMap::new(),
        memory_bytes: 0,
        sent: 0,
        is_total_sent: false,
        names: Vec::new(),
        report: Report::default(),
        stream: None,
    };
    let counting = BackgroundCount::begin(&source, progress, waker);
    let result = match source {
        Source::Paths(roots) => sending.run(options, Offers::Walk(roots.walk())),
        Source::Stream { name, bytes } => {
            sending.stream = Some(bytes);
            sending.run(options, Offers::Stream(Some(name)))
        }
    };
    drop(counting);
    // After a write error, look for the receiver's reason.
    let result = match result {
        Err(error @ Error::ConnectionEnded(_)) => Err(sending.inbox.wait_for_reason(error)),
        result => result,
    };
    (sending.report.bytes_moved, sending.report.held_time) = (progress.moved(), progress.held());
    sending.report.approval_time = progress.approval_time();
    TransferOutcome { report: sending.report, result }
}

/// Source of the items to offer: a walk over files, or the name of a stream until it is offered.
enum Offers {
    Walk(Walk),
    Stream(Option<Vec<u8>>),
}

impl Offers {
    /// Returns the number of items the user named.
    fn named_items(&self) -> u64 {
        match self {
            Self::Walk(walk) => walk.left(),
            Self::Stream(_) => 1,
        }
    }
}

/// Offer that the receiver has not finished.
struct OutstandingOffer {
    /// File or other item; `None` for a stream.
    item: Option<Item>,
    /// Displayable name.
    name: String,
    /// Bytes of memory at the receiver that the offer takes.
    memory_bytes: usize,
    /// True once all contents are sent; the result is outstanding.
    is_sent: bool,
}

/// A transfer in progress.
struct SendingTransfer<'a, W: Write> {
    writer: FrameWriter<&'a mut W>,
    inbox: Inbox,
    progress: &'a Progress,
    next_id: u64,
    outstanding: HashMap<u64, OutstandingOffer>,
    /// Total memory of the outstanding offers.
    memory_bytes: usize,
    /// Number of outstanding offers with all contents sent.
    sent: usize,
    /// Path of the last offer: displayable names and their lengths in bytes.
    names: Vec<(String, usize)>,
    /// True once the receiver has been sent the total amount.
    is_total_sent: bool,
    report: Report,
    /// Contents of a stream that is not a file.
    stream: Option<Box<dyn Read + Send>>,
}

impl<W: Write> SendingTransfer<'_, W> {
    fn run(&mut self, options: Options, mut offers: Offers) -> Result<(), Error> {
        self.frame(&ToReceiver::Hello {
            version: VERSION,
            checksum: options.checksum,
            priority: options.priority,
            named_items: offers.named_items(),
        })?;
        let mut all_offered = false;
        loop {
            self.send_total()?;
            while !all_offered && self.has_room() {
                all_offered = !self.offer_next(&mut offers)?;
            }
            // Send the end with the last contents; waiting for their result would cost a round trip.
            if all_offered && self.sent == self.outstanding.len() {
                self.report_lost(&offers)?;
                break;
            }
            if let Some(frame) = self.next_message()? {
                self.handle(frame)?;
            }
        }
        self.frame(&ToReceiver::Finish)?;
        loop {
            match self.next_message()? {
                Some(ToSender::Done) if self.outstanding.is_empty() => return Ok(()),
                Some(
                    frame @ (ToSender::Stored { .. } | ToSender::Failed { .. } | ToSender::Digests { .. }),
                ) => {
                    self.handle(frame)?;
                }
                Some(frame) => return Err(out_of_order(&frame)),
                None => {}
            }
        }
    }

    /// Returns true if the receiver accepts one more offer.
    fn has_room(&self) -> bool {
        let may_offer = self.progress.is_accepted() || self.writer.written() < PRE_ACCEPTANCE_BYTES;
        self.outstanding.len() < MAX_OUTSTANDING_OFFERS
            && self.memory_bytes < MAX_OUTSTANDING_OFFER_BYTES
            && may_offer
    }

    /// Sends the total amount once it is counted.
    fn send_total(&mut self) -> Result<(), Error> {
        if !self.is_total_sent
            && let Some(total) = self.progress.total()
        {
            self.is_total_sent = true;
            self.frame(&ToReceiver::Total { files: total.files, bytes: total.bytes.get() })?;
        }
        Ok(())
    }

    /// Reports the file properties that the transfer does not carry.
    fn report_lost(&mut self, offers: &Offers) -> Result<(), Error> {
        let Offers::Walk(walk) = offers else { return Ok(()) };
        self.report.lost = walk.lost();
        if self.report.lost.is_none() {
            Ok(())
        } else {
            self.frame(&ToReceiver::Unpreserved(self.report.lost))
        }
    }

    /// Flushes written data, then returns the receiver's next message; `None` if other work is pending.
    fn next_message(&mut self) -> Result<Option<ToSender>, Error> {
        match self.inbox.poll()? {
            Some(frame) => Ok(Some(frame)),
            None => {
                self.writer.flush().map_err(Error::ConnectionEnded)?;
                self.inbox.wait()
            }
        }
    }

    /// Offers the next item; returns false if none is left.
    fn offer_next(&mut self, offers: &mut Offers) -> Result<bool, Error> {
        let entry = match offers {
            Offers::Walk(walk) => walk.next(),
            Offers::Stream(name) => {
                let Some(name) = name.take() else { return Ok(false) };
                let shown = escape_unsafe(&name);
                self.report.unresumable = Some(UnresumableItem { name: shown.clone(), partial_file: None });
                let offer =
                    Offer { depth: 0, name, has_case_variant: false, mode: 0o644, kind: OfferKind::Stream };
                return self.offer(offer, None, shown).map(|()| true);
            }
        };
        match entry {
            None => return Ok(false),
            Some(WalkEntry::Missing(UnsentEntry { depth, name, fault })) => {
                let shown = self.enter(depth, &name);
                self.report.add_missing(&shown, fault.clone());
                self.frame(&ToReceiver::Missing { depth, name, fault })?;
            }
            Some(WalkEntry::Item(item)) => {
                let name = self.enter(item.depth, &item.name);
                let offer = Offer {
                    depth: item.depth,
                    name: item.name.clone(),
                    has_case_variant: item.has_case_variant,
                    mode: item.mode,
                    kind: item.kind.clone(),
                };
                self.offer(offer, Some(item), name)?;
            }
        }
        Ok(true)
    }

    /// Enters an item of the walk and returns its displayable path.
    fn enter(&mut self, depth: u64, name: &[u8]) -> String {
        self.names.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
        self.names.push((escape_unsafe(name), name.len()));
        file_names::format_path(self.names.iter().map(|(name, _)| name.as_str()))
    }

    fn offer(&mut self, offer: Offer, item: Option<Item>, name: String) -> Result<(), Error> {
        let memory_bytes = offer.memory_bytes(self.names.iter().map(|(_, length)| length).sum());
        self.frame(&ToReceiver::Offer(offer))?;
        self.memory_bytes += memory_bytes;
        self.outstanding.insert(self.next_id, OutstandingOffer { item, name, memory_bytes, is_sent: false });
        self.next_id += 1;
        Ok(())
    }

    /// Removes a finished offer; `None` if this side already gave it up.
    fn remove_outstanding(&mut self, id: u64) -> Option<OutstandingOffer> {
        let outstanding = self.outstanding.remove(&id)?;
        self.memory_bytes -= outstanding.memory_bytes;
        self.sent -= usize::from(outstanding.is_sent);
        Some(outstanding)
    }

    fn handle(&mut self, frame: ToSender) -> Result<(), Error> {
        match frame {
            ToSender::Want { id } => self.send_contents(id, 0),
            ToSender::HasPartial { id, length } => {
                let size =
                    self.outstanding_file(id).and_then(|outstanding| outstanding.item.as_ref()).map(size_of);
                if size.is_some_and(|size| length > size) {
                    return Err(Error::Protocol("it has more than was offered".to_owned()));
                }
                self.send_contents(id, length)
            }
            ToSender::Skip { id } => {
                if let Some(outstanding) = self.remove_outstanding(id) {
                    self.count_unchanged(&outstanding);
                }
                Ok(())
            }
            ToSender::Hash { id, hash } => self.compare(id, &hash),
            ToSender::Stored { id } => {
                if let Some(outstanding) = self.remove_outstanding(id) {
                    match outstanding.item.as_ref().map(|item| &item.kind) {
                        Some(OfferKind::Folder { .. }) => self.report.folders += 1,
                        Some(OfferKind::SymbolicLink { .. } | OfferKind::HardLink { .. }) => {
                            self.report.links += 1;
                        }
                        Some(_) => self.report.files += 1,
                        None => {
                            self.report.files += 1;
                            self.report.unresumable = None;
                        }
                    }
                    self.count_file(&outstanding);
                }
                Ok(())
            }
            ToSender::Failed { id, fault } => {
                if let Some(outstanding) = self.remove_outstanding(id) {
                    self.report.fail(&outstanding.name, fault);
                    self.count_file(&outstanding);
                }
                Ok(())
            }
            // These digests were requested before the receiver gave up the file.
            ToSender::Digests { .. } => Ok(()),
            ToSender::Hello { .. }
            | ToSender::AwaitingApproval
            | ToSender::Progress { .. }
            | ToSender::Paused { .. }
            | ToSender::Done
            | ToSender::Refuse { .. } => Err(out_of_order(&frame)),
        }
    }

    /// Compares the hash of the receiver's file with that of the local file.
    fn compare(&mut self, id: u64, theirs: &[u8; 32]) -> Result<(), Error> {
        let Some(item) = self.outstanding_file(id).and_then(|outstanding| outstanding.item.clone()) else {
            return Ok(());
        };
        match SourceFile::open(&item).and_then(|file| file.checksum()) {
            Err(fault) => self.abandon(id, fault),
            Ok(ours) if ours == *theirs => {
                self.frame(&ToReceiver::Unchanged { id })?;
                if let Some(outstanding) = self.remove_outstanding(id) {
                    self.count_unchanged(&outstanding);
                }
                Ok(())
            }
            Ok(_) => self.send_contents(id, 0),
        }
    }

    /// Notifies the receiver that an item will not be sent.
    fn abandon(&mut self, id: u64, fault: Fault) -> Result<(), Error> {
        self.frame(&ToReceiver::Abandon { id, fault: fault.clone() })?;
        if let Some(outstanding) = self.remove_outstanding(id) {
            self.report.fail(&outstanding.name, fault);
            self.count_file(&outstanding);
        }
        Ok(())
    }

    fn count_unchanged(&mut self, outstanding: &OutstandingOffer) {
        self.report.unchanged += 1;
        let size = outstanding.item.as_ref().map_or(0, size_of);
        self.report.skipped += Bytes::new(size);
        self.progress.add_kept(size);
        self.count_file(outstanding);
    }

    fn count_file(&self, outstanding: &OutstandingOffer) {
        if outstanding.item.as_ref().is_none_or(|item| item.kind.has_content()) {
            self.progress.file_done();
        }
    }

    fn outstanding_file(&self, id: u64) -> Option<&OutstandingOffer> {
        self.outstanding.get(&id)
    }

    fn frame(&mut self, frame: &ToReceiver) -> Result<(), Error> {
        self.writer.frame(frame).map_err(Error::ConnectionEnded)
    }
}

fn size_of(item: &Item) -> u64 {
    match item.kind {
        OfferKind::File { size, .. } => size,
        _ => 0,
    }
}

fn out_of_order(frame: &ToSender) -> Error {
    let name = match frame {
        ToSender::Done => "an end",
        ToSender::Hello { .. } => "a greeting",
        _ => "an answer",
    };
    Error::Protocol(format!("it sent {name} out of order"))
}

/// Background count of the total amount; stops on drop.
struct BackgroundCount(Arc<AtomicBool>);

impl BackgroundCount {
    fn begin(source: &Source, progress: &Arc<Progress>, waker: InboxWaker) -> Option<Self> {
        let Source::Paths(roots) = source else { return None };
        let (roots, progress): (Roots, _) = (roots.clone(), Arc::clone(progress));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let count = move || {
            let (mut files, mut bytes) = (0_u64, 0_u64);
            for entry in roots.walk() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                if let WalkEntry::Item(item) = entry
                    && matches!(item.kind, OfferKind::File { .. })
                {
                    files += 1;
                    bytes = bytes.saturating_add(size_of(&item));
                }
            }
            progress.set_total(files, bytes);
            waker.wake();
        };
        // Without this thread only the remaining time is unknown.
        std::thread::Builder::new().name("transfer-count".to_owned()).spawn(count).ok()?;
        Some(Self(stop))
    }
}

impl Drop for BackgroundCount {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the fault for contents that this sender stops sending.
fn stopped_fault() -> Fault {
    FaultKind::Stopped.into()
}

/// Returns the fault for a read error of a non-file stream.
fn stream_fault(error: &io::Error) -> Fault {
    Fault::new(FaultKind::Storage, error.to_string())
}
