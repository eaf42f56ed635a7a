//! The progress of a transfer, and the report of what came of it.

use super::fault::{Fault, FaultKind, printable};
use super::messages::Lost;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg_proto::units::Bytes;

/// The progress of a transfer: written by the transfer, read by whoever watches. Both sides count the same things: what
/// is at the receiver.
#[derive(Debug, Default)]
pub struct Progress {
    total_files: AtomicU64,
    total_bytes: AtomicU64,
    is_total: AtomicBool,
    files: AtomicU64,
    bytes: AtomicU64,
    moved: AtomicU64,
    kept: AtomicU64,
    fresh: AtomicU64,
    heard: AtomicU64,
    held: Mutex<Span>,
    asked: Mutex<Span>,
    is_greeted: AtomicBool,
    is_over: AtomicBool,
    current: Mutex<String>,
}

/// The time that something took until now, and the moment since which it goes on again.
#[derive(Debug, Default)]
struct Span {
    before: Duration,
    since: Option<Instant>,
}

/// The amount that there is to transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: Bytes,
}

impl Progress {
    /// Before the first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// The amount that there will be, once somebody has counted.
    pub fn total(&self) -> Option<Total> {
        let total = || Total {
            files: self.total_files.load(Relaxed),
            bytes: Bytes::new(self.total_bytes.load(Relaxed)),
        };
        self.is_total.load(std::sync::atomic::Ordering::Acquire).then(total)
    }

    /// Files that are done: stored, here before, or given up.
    pub fn files(&self) -> u64 {
        self.files.load(Relaxed)
    }

    /// Contents that are at the receiver, wherever they came from.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes.load(Relaxed))
    }

    /// Contents that came to the receiver in this transfer: without what it had before, in unfinished files and in whole ones. They
    /// never become fewer.
    pub fn fresh(&self) -> Bytes {
        // A sender hears of what it told to keep a round trip later.
        let fresh = self.bytes.load(Relaxed).saturating_sub(self.kept.load(Relaxed));
        Bytes::new(self.fresh.fetch_max(fresh, Relaxed).max(fresh))
    }

    /// Contents that went through the connection.
    pub fn moved(&self) -> Bytes {
        Bytes::new(self.moved.load(Relaxed))
    }

    /// Contents that went through the connection, and those that the receiver had: what holes claim is none.
    pub fn proved(&self) -> Bytes {
        Bytes::new(self.moved.load(Relaxed).saturating_add(self.kept.load(Relaxed)))
    }

    /// At the receiver, what was heard of the sender: frames and pieces of contents. One that stays the same is silent.
    pub fn heard(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// At the receiver, all is stored and the sender was notified: only the close of the connection by the sender is left.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// The receiver holds it back, because others are more urgent.
    pub fn is_held(&self) -> bool {
        lock(&self.held).since.is_some()
    }

    /// The time for which the receiver has held the transfer back.
    pub fn held(&self) -> Duration {
        lock(&self.held).until(Instant::now())
    }

    /// Somebody at the receiver is being asked whether to take it.
    pub fn is_asked(&self) -> bool {
        lock(&self.asked).since.is_some()
    }

    /// The time for which the transfer has waited for somebody's answer.
    pub fn asked(&self) -> Duration {
        lock(&self.asked).until(Instant::now())
    }

    /// The name of the file that is being transferred.
    pub fn current(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_total(&self, files: u64, bytes: u64) {
        self.total_files.store(files, Relaxed);
        self.total_bytes.store(bytes, Relaxed);
        self.is_total.store(true, std::sync::atomic::Ordering::Release);
    }

    pub(super) fn hear(&self) {
        self.heard.fetch_add(1, Relaxed);
    }

    pub(super) fn file_done(&self) {
        self.files.fetch_add(1, Relaxed);
    }

    pub(super) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Relaxed);
    }

    pub(super) fn add_kept(&self, bytes: u64) {
        self.kept.fetch_add(bytes, Relaxed);
    }

    pub(super) fn add_moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Relaxed);
    }

    pub(super) fn set_held(&self, is_held: bool) {
        lock(&self.held).set(Instant::now(), is_held);
    }

    pub(super) fn set_asked(&self, is_asked: bool) {
        lock(&self.asked).set(Instant::now(), is_asked);
    }

    /// The receiver has greeted: it takes what comes.
    pub(super) fn greet(&self) {
        self.set_asked(false);
        self.is_greeted.store(true, Relaxed);
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.is_greeted.load(Relaxed)
    }

    pub(super) fn set_current(&self, name: &[u8]) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = printable(name);
    }
}

impl Span {
    fn until(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    fn set(&mut self, now: Instant, goes_on: bool) {
        if goes_on {
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.before += now.saturating_duration_since(since);
        }
    }
}

fn lock(span: &Mutex<Span>) -> std::sync::MutexGuard<'_, Span> {
    span.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The report of what came of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that were transferred.
    pub files: u64,
    /// At the receiver, those of them that took the place of another.
    pub replaced: u64,
    /// Files that were at the receiver before.
    pub unchanged: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links, and further names of files (hard links).
    pub links: u64,
    /// Zeros in files that are not stored.
    pub holes: Bytes,
    /// The properties that files have at the sender, and that are not carried.
    pub lost: Lost,
    /// Contents that went through the connection.
    pub moved: Bytes,
    /// Contents that an earlier transfer had left in unfinished files, and that were right.
    pub resumed: Bytes,
    /// Contents of files that were at the receiver before.
    pub skipped: Bytes,
    /// The time for which the receiver held it back, because others were more urgent.
    pub held: Duration,
    /// At the sender, the time for which it waited for somebody's answer whether to take it.
    pub asked: Duration,
    /// Things that are not sent: what is neither a file nor a folder nor a link, what unfinished transfers have left.
    pub passed_by: u64,
    /// The first of them.
    pub passed: Vec<Failure>,
    /// The number of files and folders that failed.
    pub failed: u64,
    /// The first of them, but for what is in a folder that could not be made.
    pub failures: Vec<Failure>,
    /// A stream that has not come to its end.
    pub cut: Option<Cut>,
    /// Bytes of names and reasons that are kept.
    kept: usize,
}

/// Something that cannot be resumed: a stream that is not complete, or a file that went to an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its name, as it can be shown.
    pub name: String,
    /// At the receiver, the file that has what came of it, if it went to one.
    pub left: Option<PathBuf>,
}

/// A file or folder that was not transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its name, as it can be shown.
    pub name: String,
    /// The reason.
    pub fault: Fault,
}

impl Report {
    /// Everything has come through, with all that it has at the sender.
    pub fn is_whole(&self) -> bool {
        self.failed == 0 && self.passed_by == 0 && self.lost.is_none()
    }

    /// The most failures that are kept.
    pub const MOST_FAILURES: usize = 1000;
    /// Names and reasons that are kept, in bytes. A peer chooses them.
    pub const MOST_KEPT: usize = 64 << 10;

    /// Something is not sent, because it is not meant to be or cannot be.
    pub(super) fn miss(&mut self, name: &str, fault: Fault) {
        if !fault.kind.is_passed_by() {
            return self.fail(name, fault);
        }
        self.passed_by += 1;
        if self.has_room(self.passed.len(), name, &fault) {
            self.passed.push(Failure { name: name.to_owned(), fault });
        }
    }

    /// One more of so many is kept.
    fn has_room(&mut self, count: usize, name: &str, fault: &Fault) -> bool {
        let size = name.len() + fault.text.len();
        let has_room = count < Self::MOST_FAILURES && self.kept + size <= Self::MOST_KEPT;
        self.kept += if has_room { size } else { 0 };
        has_room
    }

    pub(super) fn fail(&mut self, name: &str, fault: Fault) {
        self.failed += 1;
        // What is below a folder that could not be made is counted; the folder is named.
        if fault.kind != FaultKind::Folder && self.has_room(self.failures.len(), name, &fault) {
            self.failures.push(Failure { name: name.to_owned(), fault });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_added_up() {
        let mut span = Span::default();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        for (second, is_held) in [(1, false), (2, true), (3, true), (5, false), (6, false), (8, true)] {
            span.set(at(second), is_held);
        }
        assert_eq!(span.until(at(10)), Duration::from_secs(5));
        span.set(at(12), false);
        assert_eq!((span.until(at(99)), span.since), (Duration::from_secs(7), None));
    }
}
