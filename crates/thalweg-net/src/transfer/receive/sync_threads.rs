//! Threads that sync complete files to disk, to keep slow disks from delaying reception.

use super::disk_fillers::DiskFillers;
use super::received_links::{LinkOutcome, LinkedFiles, OnLink};
use super::unfinished_file::Part;
use crate::transfer::transfer_error::{Fault, FaultKind};
use crate::transfer::transfer_messages::{ModificationTime, ToSender};
use crate::transfer::transfer_progress::{Progress, Report};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Number of threads: disks and file systems process several requests concurrently faster.
const THREADS: usize = 4;
/// Capacity of the queue of complete files.
const SYNC_QUEUE_CAPACITY: usize = 64;

/// A complete file.
#[derive(Debug)]
pub struct CompleteFile {
    /// Offer number.
    pub id: u64,
    /// Printable name.
    pub name: String,
    /// Unfinished file that holds the contents.
    pub part: Part,
    /// Size, in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Modification time, if the sender knows it.
    pub modified: Option<ModificationTime>,
}

/// Recipients of results.
#[derive(Clone, Debug)]
pub struct Results {
    /// Replies to the sender.
    pub replies: SyncSender<ToSender>,
    /// Final report for the caller.
    pub report: Arc<Mutex<Report>>,
    /// Progress for observers.
    pub progress: Arc<Progress>,
    /// State of further hard links.
    pub shared: LinkedFiles,
    /// Unfinished files that filled the disk.
    pub fillers: DiskFillers,
}

impl Results {
    /// Sends a reply to the sender. Ignores a closed connection; the transfer detects it elsewhere.
    pub fn reply(&self, reply: ToSender) {
        let _ = self.replies.send(reply);
    }

    /// Updates the report.
    pub fn note(&self, note: impl FnOnce(&mut Report)) {
        note(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Finishes a file and reports the result.
    pub fn finish(&self, finished: CompleteFile) {
        let CompleteFile { id, name, mut part, size, mode, modified } = finished;
        let first = part.first();
        match self.fillers.make_room(|| part.finish(size, mode, modified)) {
            Ok(is_replaced) => {
                self.note(|report| {
                    report.files += 1;
                    report.replaced += u64::from(is_replaced);
                    report.unresumable = report.unresumable.take().filter(|_| modified.is_some());
                });
                self.progress.file_done();
                self.reply(ToSender::Stored { id });
                self.shared.finish_file(id, Some(&first), self);
            }
            Err(fault) => {
                if fault.kind == FaultKind::DiskFull && modified.is_some() {
                    self.fillers.keep(part);
                }
                self.note(|report| report.fail(&name, fault.clone()));
                self.progress.file_done();
                self.reply(ToSender::Failed { id, fault });
                self.shared.finish_file(id, None, self);
            }
        }
    }
}

impl OnLink for Results {
    fn link(&self, id: u64, name: &str, made: Result<LinkOutcome, Fault>) {
        match made {
            Ok(LinkOutcome::Same) => {
                self.note(|report| report.unchanged += 1);
                self.reply(ToSender::Skip { id });
            }
            Ok(LinkOutcome::New { is_replaced }) => {
                self.note(|report| {
                    report.links += 1;
                    report.replaced += u64::from(is_replaced);
                });
                self.reply(ToSender::Stored { id });
            }
            Err(fault) => {
                self.note(|report| report.fail(name, fault.clone()));
                self.reply(ToSender::Failed { id, fault });
            }
        }
    }
}

/// Pool of finishing threads.
#[derive(Debug)]
pub struct Finishers {
    queue: Option<SyncSender<CompleteFile>>,
    threads: Vec<JoinHandle<()>>,
}

impl Finishers {
    /// Starts threads that report to `results`.
    ///
    /// # Errors
    /// Threads cannot be created.
    pub fn new(results: &Results) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(SYNC_QUEUE_CAPACITY);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut finishers = Self { queue: Some(sender), threads: Vec::with_capacity(THREADS) };
        for _ in 0..THREADS {
            let (queue, results) = (Arc::clone(&receiver), results.clone());
            let thread = std::thread::Builder::new().name("transfer-finish".to_owned()).spawn(move || {
                while let Some(finished) = next_finished(&queue) {
                    results.finish(finished);
                }
            })?;
            finishers.threads.push(thread);
        }
        Ok(finishers)
    }

    /// Queues a file for finishing, or finishes it at once.
    pub fn finish(&self, finished: CompleteFile, results: &Results) {
        match &self.queue {
            Some(queue) if !finished.part.has_case_conflict() => {
                // The threads outlive the queue.
                let _ = queue.send(finished);
            }
            _ => results.finish(finished),
        }
    }
}

impl Drop for Finishers {
    /// Waits until all queued files are finished.
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn next_finished(queue: &Mutex<Receiver<CompleteFile>>) -> Option<CompleteFile> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
