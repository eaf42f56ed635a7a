//! Threads that bring complete files to the disk, so that a slow one does not hold up what comes in.

use super::links::Shared;
use super::part::Part;
use crate::transfer::messages::{Modified, ToSender};
use crate::transfer::progress::{Progress, Report};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Disks and file systems serve several of these at a time better than one after the other.
const THREADS: usize = 4;
/// Complete files that wait.
const WAITING: usize = 64;

/// A complete file.
#[derive(Debug)]
pub struct Finished {
    /// The number of its offer.
    pub id: u64,
    /// As it can be shown.
    pub name: String,
    /// Its bytes.
    pub part: Part,
    /// The number of bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Its time, if the sender knows one.
    pub modified: Option<Modified>,
}

/// The ways that results go.
#[derive(Clone, Debug)]
pub struct Results {
    /// To the sender.
    pub replies: SyncSender<ToSender>,
    /// To whoever asked for the transfer.
    pub report: Arc<Mutex<Report>>,
    /// To whoever watches.
    pub progress: Arc<Progress>,
    /// To further names of files.
    pub shared: Shared,
}

impl Results {
    /// Says something to the sender. When it is gone, the transfer will find out by itself.
    pub fn say(&self, reply: ToSender) {
        let _ = self.replies.send(reply);
    }

    /// Changes the report.
    pub fn note(&self, note: impl FnOnce(&mut Report)) {
        note(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Finishes a file.
    pub fn finish(&self, finished: Finished) {
        let Finished { id, name, part, size, mode, modified } = finished;
        let first = part.first();
        match part.finish(size, mode, modified) {
            Ok(is_replaced) => {
                self.note(|report| {
                    report.files += 1;
                    report.replaced += u64::from(is_replaced);
                    report.cut = report.cut.take().filter(|_| modified.is_some());
                });
                self.progress.file_done();
                self.say(ToSender::Stored { id });
                self.shared.settle(id, Some(&first), self);
            }
            Err(fault) => {
                self.note(|report| report.fail(&name, fault.clone()));
                self.progress.file_done();
                self.say(ToSender::Failed { id, fault });
                self.shared.settle(id, None, self);
            }
        }
    }
}

/// The threads.
#[derive(Debug)]
pub struct Finishers {
    queue: Option<SyncSender<Finished>>,
    threads: Vec<JoinHandle<()>>,
}

impl Finishers {
    /// Threads that tell `results`.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn new(results: &Results) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut finishers = Self { queue: Some(sender), threads: Vec::with_capacity(THREADS) };
        for _ in 0..THREADS {
            let (queue, results) = (Arc::clone(&receiver), results.clone());
            let thread = std::thread::Builder::new().name("transfer-finish".to_owned()).spawn(move || {
                while let Some(finished) = next(&queue) {
                    results.finish(finished);
                }
            })?;
            finishers.threads.push(thread);
        }
        Ok(finishers)
    }

    /// Has a file finished, now or soon.
    pub fn finish(&self, finished: Finished, results: &Results) {
        match &self.queue {
            Some(queue) if !finished.part.is_alike() => {
                // The threads live as long as the queue.
                let _ = queue.send(finished);
            }
            _ => results.finish(finished),
        }
    }
}

impl Drop for Finishers {
    /// Waits until all is done.
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn next(queue: &Mutex<Receiver<Finished>>) -> Option<Finished> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
