//! Receiver side of a file transfer.
//!
//! The caller's thread reads the stream when scheduled ([`TransferScheduler`]). One thread stores, a few finish files, one writes
//! to the sender.

mod current_offer;
mod disk_fillers;
mod existing_files;
mod folder_until_complete;
mod pending_offers;
mod priority_scheduler;
mod received_links;
mod receiver_store;
mod reply_thread;
mod sync_threads;
mod unfinished_file;
mod write_claims;

use super::TransferOutcome;
use super::file_names;
use super::frame_io::FrameReader;
use super::open_folders::{self, Dir};
use super::storage_quota::Quota;
use super::transfer_error::{Error, Fault, FaultKind};
use super::transfer_messages::{ToReceiver, ToSender, VERSION};
use super::transfer_priority::Priority;
use super::transfer_progress::{Progress, Report};
use disk_fillers::DiskFillers;
pub use existing_files::{ExistingFilePolicy, read_mark};
use priority_scheduler::ScheduledTransfer;
pub use priority_scheduler::TransferScheduler;
use received_links::LinkedFiles;
use receiver_store::Store;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use sync_threads::Results;
pub use write_claims::Claims;

/// Capacity of the queue of frames and contents to store.
const STORE_QUEUE_CAPACITY: usize = 256;
/// Maximum attempts at an operation that races with another process.
const ATTEMPTS: usize = 4;
/// Maximum size of one content read, in bytes.
const MAX_READ: usize = 256 << 10;
/// Maximum number of such buffers per transfer.
const MAX_BUFFERS: usize = 16;

/// Destination of received files.
pub enum Target {
    /// Folder.
    Folder(Destination),
    /// Output that receives the contents of a single file.
    Output(Box<dyn Write + Send>),
}

/// Folder that receives files.
#[derive(Clone, Debug)]
pub struct Destination {
    top: Arc<Dir>,
    /// Path of the top folder, for display.
    path: PathBuf,
    claims: Claims,
    /// Tag that identifies the sender.
    tag: String,
    existing: ExistingFilePolicy,
    hidden: bool,
    outside_links: bool,
    quota: Option<Arc<Quota>>,
    /// Permission bits to clear; `None` keeps the sender's permissions.
    mask: Option<u32>,
}

impl Destination {
    /// Creates a destination at the existing folder `path`. `owner` names the sender: its transfers may resume each
    /// other's files and replace files that earlier ones delivered. `claims` must be shared by all transfers into this
    /// folder.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn new(path: &Path, claims: Claims, owner: &str) -> io::Result<Self> {
        let top = Arc::new(Dir::open(path)?);
        // Group and others never get write permission, for any sender's mode and any umask.
        let mask = Some(open_folders::process_umask() | 0o022);
        let path = fs::canonicalize(path)?;
        let (tag, existing) = (file_names::tag_of(owner), ExistingFilePolicy::default());
        let (hidden, outside_links) = (false, false);
        Ok(Self { top, path, claims, tag, existing, hidden, outside_links, quota: None, mask })
    }

    /// Sets the rule for existing files.
    #[must_use]
    pub fn with_existing(self, existing: ExistingFilePolicy) -> Self {
        Self { existing, ..self }
    }

    /// Accepts top-level names that begin with a dot. In a home folder, programs read and run such files.
    #[must_use]
    pub fn with_hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    /// Keeps the sender's permissions, also for existing folders and including write access for group and others. By
    /// default, new files and folders get them masked by the `umask` and without write access for group and others.
    #[must_use]
    pub fn with_permissions(self) -> Self {
        Self { mask: None, ..self }
    }

    /// Sets the storage quota.
    #[must_use]
    pub fn with_quota(self, quota: Arc<Quota>) -> Self {
        Self { quota: Some(quota), ..self }
    }

    /// Accepts symbolic links that point outside the folder. The transfer never follows them; other programs may.
    #[must_use]
    pub fn with_outside_links(self) -> Self {
        Self { outside_links: true, ..self }
    }

    fn quota(&self) -> Option<&Quota> {
        self.quota.as_deref()
    }

    /// Returns the local permissions for the sender's `mode`.
    fn mode(&self, mode: u32) -> u32 {
        mode & !self.mask.unwrap_or(0)
    }

    /// Returns the local permissions of a folder. Under a quota, the owner can always read it.
    fn folder_mode(&self, mode: u32) -> u32 {
        self.mode(mode) | if self.quota.is_some() { 0o700 } else { 0 }
    }

    fn keeps_modes(&self) -> bool {
        self.mask.is_none()
    }
}

/// Receives a transfer from the peer at `from_peer` and `to_peer`. Blocks until all is stored and the sender has closed
/// its stream, or the streams end. Yields to more urgent transfers that share `scheduler`.
pub fn receive_transfer<R, W>(
    target: Target,
    scheduler: &TransferScheduler,
    from_peer: &mut R,
    to_peer: W,
    progress: &Arc<Progress>,
) -> TransferOutcome
where
    R: Read,
    W: Write + Send + 'static,
{
    let report = Arc::new(Mutex::new(Report::default()));
    let result = run_receiver(target, scheduler, from_peer, to_peer, progress, &report);
    let mut report = std::mem::take(&mut *report.lock().unwrap_or_else(PoisonError::into_inner));
    (report.bytes_moved, report.held_time) = (progress.moved(), progress.held());
    TransferOutcome { report, result }
}

fn run_receiver<R, W>(
    target: Target,
    scheduler: &TransferScheduler,
    from_peer: &mut R,
    to_peer: W,
    progress: &Arc<Progress>,
    report: &Arc<Mutex<Report>>,
) -> Result<(), Error>
where
    R: Read,
    W: Write + Send + 'static,
{
    let here = |error: io::Error| Error::Local(Fault::from_io_error(&error));
    let (replies, writer) = reply_thread::start_reply_thread(to_peer, progress).map_err(here)?;
    let (report, progress) = (Arc::clone(report), Arc::clone(progress));
    let (shared, fillers) = (LinkedFiles::default(), DiskFillers::default());
    let results = Results { replies, report, progress, shared, fillers };
    let mut frames = FrameReader::new(from_peer);
    let begun = read_greeting(&mut frames).and_then(|(checksum, priority)| {
        let store = Store::new(target, checksum, results.clone()).map_err(here)?;
        Ok((store, priority))
    });
    let (store, priority) = begun.inspect_err(|error| send_failure(&results, error))?;
    take_in(&mut frames, store, &scheduler.begin(priority, &results.progress), &results)?;
    results.reply(ToSender::Done);
    drop(results);
    writer.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(Error::ConnectionEnded)?;
    // The sender closes after it is notified.
    let _ = frames.next::<ToReceiver>();
    Ok(())
}

/// Notifies the sender, if still connected, of the reason for ending the transfer.
fn send_failure(results: &Results, error: &Error) {
    let fault = match error {
        Error::Protocol(text) => Fault::new(FaultKind::Protocol, text.as_str()),
        Error::Local(fault) | Error::EndedByPeer(fault) => fault.clone(),
        Error::ConnectionEnded(_) => return,
    };
    results.reply(ToSender::Refuse { fault });
}

/// Reads the greeting; returns the checksum mode and the priority.
fn read_greeting<R: Read>(frames: &mut FrameReader<R>) -> Result<(bool, Priority), Error> {
    match frames.next()? {
        Some(ToReceiver::Hello { version: VERSION, checksum, priority, .. }) => Ok((checksum, priority)),
        Some(ToReceiver::Hello { version, .. }) => {
            let text = format!("the sender uses version {version}, the receiver {VERSION}");
            Err(Error::EndedByPeer(Fault::new(FaultKind::Version, text)))
        }
        Some(_) => Err(Error::Protocol("it does not begin with a greeting".to_owned())),
        None => Err(Error::ConnectionEnded(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Job passed from the reading thread to the storing thread.
enum Job {
    Frame(ToReceiver),
    /// Buffer and number of content bytes in it.
    Contents(Box<[u8]>, usize),
}

/// Reads until the sender has no more offers and everything is stored.
fn take_in<R: Read>(
    frames: &mut FrameReader<R>,
    store: Store,
    scheduled: &ScheduledTransfer,
    results: &Results,
) -> Result<(), Error> {
    let (jobs, queue) = sync_channel(STORE_QUEUE_CAPACITY);
    let (used, free) = channel();
    let to_sender = results.clone();
    // Notify the sender of a storage failure at once: it may be silent until it has an answer, and this side reads
    // until then.
    let storing =
        move || run_store(store, &queue, &used).inspect_err(|error| send_failure(&to_sender, error));
    let thread = std::thread::Builder::new().name("transfer-store".to_owned()).spawn(storing);
    let thread = thread.map_err(|error| Error::Local(Fault::from_io_error(&error)));
    let thread = thread.inspect_err(|error| send_failure(results, error))?;
    let mut buffers = Buffers { free, buffers_made: 0 };
    let read = read_frames(frames, &jobs, &mut buffers, scheduled, &results.progress);
    drop(jobs);
    let stored = thread.join().unwrap_or_else(|_| {
        let error = Error::Local(Fault::new(FaultKind::Storage, "the thread that stores has panicked"));
        send_failure(results, &error);
        Err(error)
    });
    // All files have ended: none of these is needed in the place of another.
    let keeps_part = results.fillers.release();
    results.note(|report| report.keeps_part_on_full_disk = keeps_part);
    // The storing thread ends first only on an error of its own.
    stored?;
    read.inspect_err(|error| send_failure(results, error))
}

fn read_frames<R: Read>(
    frames: &mut FrameReader<R>,
    jobs: &SyncSender<Job>,
    buffers: &mut Buffers,
    scheduled: &ScheduledTransfer,
    progress: &Progress,
) -> Result<(), Error> {
    loop {
        let frame = match frames.next()? {
            Some(frame) => frame,
            None => return Err(Error::ConnectionEnded(io::ErrorKind::UnexpectedEof.into())),
        };
        progress.on_chunk();
        let is_last = frame == ToReceiver::Finish;
        if let ToReceiver::Total { files, bytes } = frame {
            progress.set_total(files, bytes);
            continue;
        }
        if let ToReceiver::Data { .. } = frame {
            while frames.has_contents() {
                scheduled.wait();
                let mut buffer = buffers.take();
                let count = frames.contents(&mut buffer)?;
                progress.on_chunk();
                if jobs.send(Job::Contents(buffer, count)).is_err() {
                    return Ok(());
                }
            }
        } else if jobs.send(Job::Frame(frame)).is_err() {
            return Ok(());
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Pool of reusable buffers.
struct Buffers {
    free: Receiver<Box<[u8]>>,
    buffers_made: usize,
}

impl Buffers {
    fn take(&mut self) -> Box<[u8]> {
        let new = || vec![0; MAX_READ].into_boxed_slice();
        if let Ok(buffer) = self.free.try_recv() {
            return buffer;
        }
        if self.buffers_made < MAX_BUFFERS {
            self.buffers_made += 1;
            return new();
        }
        // The storing thread has ended, so the buffer will be dropped.
        self.free.recv().unwrap_or_else(|_| new())
    }
}

fn run_store(
    mut store: Store,
    queue: &Receiver<Job>,
    used: &std::sync::mpsc::Sender<Box<[u8]>>,
) -> Result<(), Error> {
    for job in queue {
        match job {
            Job::Frame(frame) => store.frame(frame)?,
            Job::Contents(buffer, count) => {
                store.contents(&buffer[..count])?;
                let _ = used.send(buffer);
            }
        }
    }
    store.end()
}
