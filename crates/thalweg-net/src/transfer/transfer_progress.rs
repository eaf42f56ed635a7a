//! Progress and final report of a transfer.

use super::transfer_error::{Fault, FaultKind, escape_unsafe};
use super::transfer_messages::UnpreservedMetadata;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg_proto::units::Bytes;

/// Progress of a transfer, written by the transfer and read by observers. Both sides count the same: data present at
/// the receiver.
#[derive(Debug, Default)]
pub struct Progress {
    total_files: AtomicU64,
    total_bytes: AtomicU64,
    is_total: AtomicBool,
    files: AtomicU64,
    bytes: AtomicU64,
    bytes_moved: AtomicU64,
    bytes_kept: AtomicU64,
    fresh: AtomicU64,
    received_chunks: AtomicU64,
    held_span: Mutex<Span>,
    approval_time: Mutex<Span>,
    is_accepted: AtomicBool,
    is_over: AtomicBool,
    current: Mutex<String>,
}

/// Accumulated duration, and the start of the current interval if one is running.
#[derive(Debug, Default)]
struct Span {
    before: Duration,
    since: Option<Instant>,
}

/// Total amount to transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Number of files.
    pub files: u64,
    /// Bytes in these files.
    pub bytes: Bytes,
}

impl Progress {
    /// Creates the progress of a transfer that has not started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the total amount, once it is counted.
    pub fn total(&self) -> Option<Total> {
        let total = || Total {
            files: self.total_files.load(Relaxed),
            bytes: Bytes::new(self.total_bytes.load(Relaxed)),
        };
        self.is_total.load(std::sync::atomic::Ordering::Acquire).then(total)
    }

    /// Returns the number of finished files: stored, already present, or given up.
    pub fn files(&self) -> u64 {
        self.files.load(Relaxed)
    }

    /// Returns the bytes present at the receiver, from any source.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes.load(Relaxed))
    }

    /// Returns the bytes that this transfer brought to the receiver, without those already present in unfinished and
    /// complete files. Never decreases.
    pub fn fresh(&self) -> Bytes {
        // A sender learns one round trip later about the blocks it reported as kept.
        let fresh = self.bytes.load(Relaxed).saturating_sub(self.bytes_kept.load(Relaxed));
        Bytes::new(self.fresh.fetch_max(fresh, Relaxed).max(fresh))
    }

    /// Returns the content bytes sent over the connection.
    pub fn moved(&self) -> Bytes {
        Bytes::new(self.bytes_moved.load(Relaxed))
    }

    /// Returns the content bytes sent over the connection plus those the receiver had; holes do not count.
    pub fn moved_or_kept(&self) -> Bytes {
        Bytes::new(self.bytes_moved.load(Relaxed).saturating_add(self.bytes_kept.load(Relaxed)))
    }

    /// Returns the number of frames and content chunks received from the sender. A constant value means that the sender
    /// is silent.
    pub fn received_chunks(&self) -> u64 {
        self.received_chunks.load(Relaxed)
    }

    /// Returns true at the receiver once all is stored and the sender is being notified; only its close is outstanding.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Returns true while the receiver pauses the transfer in favour of more urgent ones.
    pub fn is_held(&self) -> bool {
        lock_span(&self.held_span).since.is_some()
    }

    /// Returns the total time for which the receiver paused the transfer.
    pub fn held(&self) -> Duration {
        lock_span(&self.held_span).until(Instant::now())
    }

    /// Returns true while the transfer waits for approval at the receiver.
    pub fn is_awaiting_approval(&self) -> bool {
        lock_span(&self.approval_time).since.is_some()
    }

    /// Returns the total time spent waiting for approval.
    pub fn approval_time(&self) -> Duration {
        lock_span(&self.approval_time).until(Instant::now())
    }

    /// Returns the name of the file in transfer.
    pub fn current(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_total(&self, files: u64, bytes: u64) {
        self.total_files.store(files, Relaxed);
        self.total_bytes.store(bytes, Relaxed);
        self.is_total.store(true, std::sync::atomic::Ordering::Release);
    }

    pub(super) fn on_chunk(&self) {
        self.received_chunks.fetch_add(1, Relaxed);
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
        self.bytes_kept.fetch_add(bytes, Relaxed);
    }

    pub(super) fn add_moved(&self, bytes: u64) {
        self.bytes_moved.fetch_add(bytes, Relaxed);
    }

    pub(super) fn set_held(&self, is_held: bool) {
        lock_span(&self.held_span).set(Instant::now(), is_held);
    }

    pub(super) fn set_awaiting_approval(&self, is_awaiting_approval: bool) {
        lock_span(&self.approval_time).set(Instant::now(), is_awaiting_approval);
    }

    /// Records that the receiver has accepted the transfer.
    pub(super) fn on_accepted(&self) {
        self.set_awaiting_approval(false);
        self.is_accepted.store(true, Relaxed);
    }

    pub(super) fn is_accepted(&self) -> bool {
        self.is_accepted.load(Relaxed)
    }

    pub(super) fn set_current(&self, name: &[u8]) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = escape_unsafe(name);
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

fn lock_span(span: &Mutex<Span>) -> std::sync::MutexGuard<'_, Span> {
    span.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Final report of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Transferred files.
    pub files: u64,
    /// Transferred files that replaced another, at the receiver.
    pub replaced: u64,
    /// Files already present at the receiver.
    pub unchanged: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links and additional hard links.
    pub links: u64,
    /// Bytes of holes: zeros in sparse files, not stored.
    pub holes: Bytes,
    /// File properties at the sender that the transfer does not carry.
    pub lost: UnpreservedMetadata,
    /// Content bytes sent over the connection.
    pub bytes_moved: Bytes,
    /// Valid content bytes found in unfinished files of an earlier transfer.
    pub resumed: Bytes,
    /// Content bytes of files already present at the receiver.
    pub skipped: Bytes,
    /// Time for which the receiver paused the transfer in favour of more urgent ones.
    pub held_time: Duration,
    /// Time spent waiting for approval, at the sender.
    pub approval_time: Duration,
    /// Number of omitted items: neither file, folder nor link, or left by unfinished transfers.
    pub omitted: u64,
    /// First omitted items.
    pub omissions: Vec<Failure>,
    /// Number of failed files and folders.
    pub failed: u64,
    /// First failures, without the contents of folders that could not be created.
    pub failures: Vec<Failure>,
    /// True at the receiver if a file failed because the disk was full, and a part of it is kept: a later transfer
    /// resumes it.
    pub keeps_part_on_full_disk: bool,
    /// Incomplete stream, if any.
    pub unresumable: Option<UnresumableItem>,
    /// Bytes of stored names and reasons.
    stored_bytes: usize,
}

/// Item that cannot be resumed: an incomplete stream, or a file written to an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresumableItem {
    /// Displayable name.
    pub name: String,
    /// File with the partial contents at the receiver, if they went to a file.
    pub partial_file: Option<PathBuf>,
}

/// File or folder that was not transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Displayable name.
    pub name: String,
    /// Reason of the failure.
    pub fault: Fault,
}

impl Report {
    /// Returns true if everything was transferred with all its properties.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.omitted == 0 && self.lost.is_none()
    }

    /// Maximum number of stored failures.
    pub const MAX_FAILURES: usize = 1000;
    /// Maximum size of stored names and reasons, in bytes. The peer chooses them.
    pub const MAX_KEPT: usize = 64 << 10;

    /// Records an item that is omitted or cannot be sent.
    pub(super) fn add_missing(&mut self, name: &str, fault: Fault) {
        if !fault.kind.is_omitted() {
            return self.fail(name, fault);
        }
        self.omitted += 1;
        if self.has_room(self.omissions.len(), name, &fault) {
            self.omissions.push(Failure { name: name.to_owned(), fault });
        }
    }

    /// Reserves space for one more entry; returns false when the limit is reached.
    fn has_room(&mut self, count: usize, name: &str, fault: &Fault) -> bool {
        let size = name.len() + fault.text.len();
        let has_room = count < Self::MAX_FAILURES && self.stored_bytes + size <= Self::MAX_KEPT;
        self.stored_bytes += if has_room { size } else { 0 };
        has_room
    }

    pub(super) fn fail(&mut self, name: &str, fault: Fault) {
        self.failed += 1;
        // Failures below a folder that could not be created are only counted; the folder itself is listed.
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
