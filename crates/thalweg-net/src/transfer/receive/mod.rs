//! The receiver's side.
//!
//! The caller's thread reads the stream while it may ([`Turns`]), one stores, a few finish files, one writes to the sender.

mod claims;
mod current;
mod existing;
mod finish;
mod folder;
mod links;
mod part;
mod pending;
mod replies;
mod store;
mod turns;

use super::Outcome;
use super::dir::{self, Dir};
use super::fault::{Error, Fault, FaultKind};
use super::frames::FrameReader;
use super::messages::{ToReceiver, ToSender, VERSION};
use super::names;
use super::priority::Priority;
use super::progress::{Progress, Report};
use super::quota::Quota;
pub use claims::Claims;
pub use existing::Existing;
use finish::Results;
use links::Shared;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;
use turns::Turn;
pub use turns::Turns;

/// Frames and contents that wait to be stored.
const WAITING: usize = 256;
/// Attempts at what another process may have done first.
const ATTEMPTS: usize = 4;
/// Contents that are read at a time, in bytes.
const CHUNK: usize = 256 << 10;
/// Buffers of that size that a transfer uses at most.
const BUFFERS: usize = 16;

/// The target that files go to.
pub enum Target {
    /// Below a folder.
    Folder(Destination),
    /// The contents of one file, nothing else.
    Output(Box<dyn Write + Send>),
}

/// A folder that takes files.
#[derive(Clone, Debug)]
pub struct Destination {
    top: Arc<Dir>,
    /// Of the top, for people.
    path: PathBuf,
    claims: Claims,
    /// The tag that stands for the sender.
    tag: String,
    existing: Existing,
    hidden: bool,
    outside_links: bool,
    quota: Option<Arc<Quota>>,
    /// Permission bits that nobody is given; nothing where senders' permissions are kept.
    mask: Option<u32>,
}

impl Destination {
    /// The folder `path`, which must exist. `owner` names the sender: its transfers may take over files from each other, and
    /// replace what others of them have brought. `claims` are those of all transfers that may meet in this folder.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn new(path: &Path, claims: Claims, owner: &str) -> io::Result<Self> {
        let top = Arc::new(Dir::open(path)?);
        // Others than the owner never write, whatever the sender and this process say.
        let mask = Some(dir::mask() | 0o022);
        let path = fs::canonicalize(path)?;
        let (tag, existing) = (names::tag_of(owner), Existing::default());
        let (hidden, outside_links) = (false, false);
        Ok(Self { top, path, claims, tag, existing, hidden, outside_links, quota: None, mask })
    }

    /// With another rule for files that are there.
    #[must_use]
    pub fn with_existing(self, existing: Existing) -> Self {
        Self { existing, ..self }
    }

    /// With names that begin with a dot at its top, too. In a home folder programs read and run what has such names.
    #[must_use]
    pub fn with_hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    /// With the sender's permissions as they are: of folders that are here, too, and those to write of groups and others.
    /// Without, new files and folders have of them what this process's mask (`umask`) leaves, without writing by others.
    #[must_use]
    pub fn with_permissions(self) -> Self {
        Self { mask: None, ..self }
    }

    /// With a limit to what may be stored.
    #[must_use]
    pub fn with_quota(self, quota: Arc<Quota>) -> Self {
        Self { quota: Some(quota), ..self }
    }

    /// With symbolic links that lead out of it, too. Nothing of a transfer follows them; whoever else does is led there.
    #[must_use]
    pub fn with_outside_links(self) -> Self {
        Self { outside_links: true, ..self }
    }

    fn quota(&self) -> Option<&Quota> {
        self.quota.as_deref()
    }

    /// The permissions here of what has these at the sender.
    fn mode(&self, mode: u32) -> u32 {
        mode & !self.mask.unwrap_or(0)
    }

    /// The same of a folder. Where what a sender has is counted, this end can read it.
    fn folder_mode(&self, mode: u32) -> u32 {
        self.mode(mode) | if self.quota.is_some() { 0o700 } else { 0 }
    }

    fn keeps_modes(&self) -> bool {
        self.mask.is_none()
    }
}

/// Receives what whoever writes `from_peer` and reads `to_peer` sends. Blocks until all is stored and the sender has closed
/// its stream, or the streams end. Gives way to more urgent transfers among those with the same `turns`.
pub fn receive<R, W>(
    target: Target,
    turns: &Turns,
    from_peer: &mut R,
    to_peer: W,
    progress: &Arc<Progress>,
) -> Outcome
where
    R: Read,
    W: Write + Send + 'static,
{
    let report = Arc::new(Mutex::new(Report::default()));
    let result = run(target, turns, from_peer, to_peer, progress, &report);
    let mut report = std::mem::take(&mut *report.lock().unwrap_or_else(PoisonError::into_inner));
    (report.moved, report.held) = (progress.moved(), progress.held());
    Outcome { report, result }
}

fn run<R, W>(
    target: Target,
    turns: &Turns,
    from_peer: &mut R,
    to_peer: W,
    progress: &Arc<Progress>,
    report: &Arc<Mutex<Report>>,
) -> Result<(), Error>
where
    R: Read,
    W: Write + Send + 'static,
{
    let here = |error: io::Error| Error::Here(Fault::of(&error));
    let (replies, writer) = replies::begin(to_peer, progress).map_err(here)?;
    let (report, progress) = (Arc::clone(report), Arc::clone(progress));
    let results = Results { replies, report, progress, shared: Shared::default() };
    let mut frames = FrameReader::new(from_peer);
    let begun = begin(&mut frames).and_then(|(checksum, priority)| {
        let store = Store::new(target, checksum, results.clone()).map_err(here)?;
        Ok((store, priority))
    });
    let (store, priority) = begun.inspect_err(|error| refuse(&results, error))?;
    take_in(&mut frames, store, &turns.begin(priority, &results.progress), &results)?;
    results.say(ToSender::Done);
    let progress = Arc::clone(&results.progress);
    drop(results);
    writer.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(Error::Interrupted)?;
    progress.end();
    // The sender closes when it knows.
    let _ = frames.next::<ToReceiver>();
    Ok(())
}

/// Tells the sender why the transfer ends here, if it is still there.
fn refuse(results: &Results, error: &Error) {
    let fault = match error {
        Error::Protocol(text) => Fault::new(FaultKind::Protocol, text.as_str()),
        Error::Here(fault) | Error::Refused(fault) => fault.clone(),
        Error::Interrupted(_) => return,
    };
    results.say(ToSender::Refuse { fault });
}

/// The greeting; gives whether contents decide what is unchanged, and how urgent it is.
fn begin<R: Read>(frames: &mut FrameReader<R>) -> Result<(bool, Priority), Error> {
    match frames.next()? {
        Some(ToReceiver::Hello { version: VERSION, checksum, priority, .. }) => Ok((checksum, priority)),
        Some(ToReceiver::Hello { version, .. }) => {
            let text = format!("the sender speaks version {version}, the receiver {VERSION}");
            Err(Error::Refused(Fault::new(FaultKind::Version, text)))
        }
        Some(_) => Err(Error::Protocol("it does not begin with a greeting".to_owned())),
        None => Err(Error::Interrupted(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// A job that the reading thread hands to the one that stores.
enum Job {
    Frame(ToReceiver),
    /// So many bytes of the buffer are contents.
    Contents(Box<[u8]>, usize),
}

/// Reads until the sender has no more to offer and everything is stored.
fn take_in<R: Read>(
    frames: &mut FrameReader<R>,
    store: Store,
    turn: &Turn,
    results: &Results,
) -> Result<(), Error> {
    let (jobs, queue) = sync_channel(WAITING);
    let (used, free) = channel();
    let to_sender = results.clone();
    // The sender hears at once why nothing is stored any more: it may say nothing until it has an answer, and this end
    // reads until it does.
    let storing = move || run_store(store, &queue, &used).inspect_err(|error| refuse(&to_sender, error));
    let thread = std::thread::Builder::new().name("transfer-store".to_owned()).spawn(storing);
    let thread = thread.map_err(|error| Error::Here(Fault::of(&error)));
    let thread = thread.inspect_err(|error| refuse(results, error))?;
    let mut buffers = Buffers { free, made: 0 };
    let read = read(frames, &jobs, &mut buffers, turn, &results.progress);
    drop(jobs);
    let stored = thread.join().unwrap_or_else(|_| {
        let error = Error::Here(Fault::new(FaultKind::Storage, "the thread that stores has panicked"));
        refuse(results, &error);
        Err(error)
    });
    // Who stores ends first only for a reason of its own.
    stored?;
    read.inspect_err(|error| refuse(results, error))
}

fn read<R: Read>(
    frames: &mut FrameReader<R>,
    jobs: &SyncSender<Job>,
    buffers: &mut Buffers,
    turn: &Turn,
    progress: &Progress,
) -> Result<(), Error> {
    loop {
        let frame = match frames.next()? {
            Some(frame) => frame,
            None => return Err(Error::Interrupted(io::ErrorKind::UnexpectedEof.into())),
        };
        progress.hear();
        let is_last = frame == ToReceiver::Finish;
        if let ToReceiver::Total { files, bytes } = frame {
            progress.set_total(files, bytes);
            continue;
        }
        if let ToReceiver::Data { .. } = frame {
            while frames.has_contents() {
                turn.wait();
                let mut buffer = buffers.take();
                let count = frames.contents(&mut buffer)?;
                progress.hear();
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

/// Buffers that go round.
struct Buffers {
    free: Receiver<Box<[u8]>>,
    made: usize,
}

impl Buffers {
    fn take(&mut self) -> Box<[u8]> {
        let new = || vec![0; CHUNK].into_boxed_slice();
        if let Ok(buffer) = self.free.try_recv() {
            return buffer;
        }
        if self.made < BUFFERS {
            self.made += 1;
            return new();
        }
        // Who stores has gone; so will this buffer.
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
