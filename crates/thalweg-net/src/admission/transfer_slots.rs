//! Transfer slots: a limited number per key, and none for an idle transfer while others wait. When all slots are taken,
//! transfers of senders that nobody chose are ended in favour of the senders that the user wants, the
//! slowest first. A finished transfer frees its slot even if its connection stays open.

use super::admitted_sender::AdmittedSender;
use super::duplicate_sender::{DuplicateSender, Turn};
use crate::identity::PublicKey;
use crate::live::Connection;
use crate::session::code;
use crate::transfer::Progress;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Close reason for a sender that was removed from the list.
pub const REMOVED_SENDER_REASON: &str = "the receiver no longer accepts files from this key";

/// Maximum number of concurrent transfers per key.
const MAX_OF_ONE: usize = 2;
/// Maximum number of senders that wait until a duplicate of their key is resolved.
const MAX_WAITING: usize = 16;
/// Minimum average rate over the idle timeout, in bytes per second. A transfer below it counts as idle if
/// nobody chose its sender.
const MIN_RATE: f64 = 1024.0;
/// Measurement period of a transfer's rate.
const RATE_PERIOD: Duration = Duration::from_secs(5);
/// Time for a sender to close its connection after the notification that all is stored.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// All transfer slots.
#[derive(Debug)]
pub struct TransferSlots {
    max: usize,
    idle: Duration,
    transfers: Vec<Transfer>,
    /// Finished transfers without a slot, until their threads end; at most as many as there are slots.
    lingering: Vec<FinishedTransfer>,
    waiting_senders: Vec<DuplicateSender>,
    /// A sender that may be admitted.
    free: Option<AdmittedSender>,
}

#[derive(Debug)]
struct Transfer {
    connection: Connection,
    key: PublicKey,
    /// The user wants this sender.
    is_wanted: bool,
    /// Progress, until the transfer has ended.
    progress: Weak<Progress>,
    received: u64,
    since: Instant,
    pace: Pace,
}

/// A finished transfer, and the time of its end.
#[derive(Debug)]
struct FinishedTransfer {
    connection: Connection,
    progress: Weak<Progress>,
    since: Instant,
}

/// Rate of received contents.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Bytes per second over the last full period; `None` before the end of the first.
    rate: Option<f64>,
    /// Start of this period, and bytes received by then.
    mark: (Instant, u64),
    /// Time of the last progress, and bytes received by then.
    progress: (Instant, u64),
    /// Bytes that count as progress.
    progress_bytes: u64,
}

impl Pace {
    fn new(now: Instant, idle: Duration) -> Self {
        let enough = (MIN_RATE * idle.as_secs_f64()) as u64;
        Self { rate: None, mark: (now, 0), progress: (now, 0), progress_bytes: enough }
    }

    /// Updates the rate with the bytes received by `now`.
    fn update(&mut self, now: Instant, bytes: u64) {
        let (since, before) = self.mark;
        let span = now.saturating_duration_since(since);
        if span >= RATE_PERIOD {
            self.rate = Some(bytes.saturating_sub(before) as f64 / span.as_secs_f64());
            self.mark = (now, bytes);
        }
        if bytes.saturating_sub(self.progress.1) >= self.progress_bytes {
            self.progress = (now, bytes);
        }
    }

    /// Excludes the time during throttling.
    fn hold(&mut self, now: Instant) {
        (self.mark.0, self.progress.0) = (now, now);
    }

    /// Returns the rate in bytes per second; the first second counts in full.
    fn rate(&self, now: Instant, bytes: u64) -> f64 {
        let (since, before) = self.mark;
        let current = || {
            let span = now.saturating_duration_since(since).as_secs_f64().max(1.0);
            bytes.saturating_sub(before) as f64 / span
        };
        self.rate.unwrap_or_else(current)
    }
}

impl TransferSlots {
    /// Creates at most `max` slots; a transfer that is idle for `idle` loses its slot while others wait.
    pub fn new(max: usize, idle: Duration) -> Self {
        Self {
            max,
            idle,
            transfers: Vec::new(),
            lingering: Vec::new(),
            waiting_senders: Vec::new(),
            free: None,
        }
    }

    /// Admits or queues an incoming sender. [Wanted](super::Admission::wants) senders have precedence over others.
    pub fn admit_or_queue(&mut self, now: Instant, sender: AdmittedSender, is_wanted: bool) {
        let key = sender.key;
        self.poll(now);
        let mut of_one = self.transfers.iter().filter(|transfer| transfer.key == key);
        if of_one.clone().count() >= MAX_OF_ONE
            && let Some(oldest) = of_one.next()
        {
            let is_waiting = self.waiting_senders.iter().any(|entry| entry.key() == key);
            let is_full = self.waiting_senders.len() >= MAX_WAITING;
            if is_full && !is_waiting && is_wanted {
                // Dropping the entry asks the sender to retry later.
                let unwanted = self.waiting_senders.iter().rposition(|entry| !self.wants(&entry.key()));
                unwanted.map(|at| self.waiting_senders.remove(at));
            }
            if is_waiting || self.waiting_senders.len() >= MAX_WAITING {
                sender
                    .connection
                    .close(code::BUSY, "transfers of the same sender are in progress; try again later");
                return;
            }
            let earlier = oldest.connection.another_handle();
            self.waiting_senders.push(DuplicateSender::new(now, sender, earlier));
            return;
        }
        if self.transfers.len() >= self.max && !self.evict_for(now, is_wanted) {
            sender.connection.close(code::BUSY, "there are too many transfers; try again later");
            return;
        }
        self.free = Some(sender);
    }

    /// Returns the next sender that may begin a transfer.
    pub fn next(&mut self, now: Instant) -> Option<AdmittedSender> {
        self.poll(now);
        if let Some(free) = self.free.take() {
            return Some(free);
        }
        for at in 0..self.waiting_senders.len() {
            match self.waiting_senders[at].poll(now) {
                Turn::Wait => {}
                Turn::Gone => {
                    self.waiting_senders.remove(at);
                    return None;
                }
                Turn::Enter(sender) => {
                    self.waiting_senders.remove(at);
                    return Some(sender);
                }
            }
        }
        None
    }

    /// Registers a transfer that has begun.
    pub fn enter(
        &mut self,
        now: Instant,
        connection: Connection,
        (key, is_wanted): (PublicKey, bool),
        progress: &Arc<Progress>,
    ) {
        let progress = Arc::downgrade(progress);
        let pace = Pace::new(now, self.idle);
        self.transfers.push(Transfer { connection, key, is_wanted, progress, received: 0, since: now, pace });
    }

    /// Returns true if this sender has an active transfer that the user wants.
    fn wants(&self, key: &PublicKey) -> bool {
        self.transfers.iter().any(|transfer| transfer.key == *key && transfer.is_wanted)
    }

    /// Ends the transfers of senders that are no longer admitted.
    pub fn end_those(&self, is_out: impl Fn(&PublicKey) -> bool) {
        for transfer in self.transfers.iter().filter(|transfer| is_out(&transfer.key)) {
            transfer.connection.close(code::UNAUTHORIZED, REMOVED_SENDER_REASON);
        }
    }

    /// Returns true if there is no transfer.
    pub fn is_empty(&self) -> bool {
        let lingering = self.lingering.iter().map(|lingering| &lingering.progress);
        let all = self.transfers.iter().map(|transfer| &transfer.progress).chain(lingering);
        all.into_iter().all(|progress| progress.strong_count() == 0)
    }

    /// Removes ended transfers and updates the progress of the others.
    fn poll(&mut self, now: Instant) {
        let Self { transfers, lingering, max, .. } = self;
        lingering.retain(|lingering| {
            if now.saturating_duration_since(lingering.since) >= LINGER_TIMEOUT {
                lingering.connection.close(code::DONE, "");
            }
            lingering.progress.strong_count() > 0
        });
        transfers.retain_mut(|transfer| {
            let Some(progress) = transfer.progress.upgrade() else { return false };
            // Bound the number of threads to twice the number of slots: beyond that, close the connection that has
            // lingered longest, and wait for closed ones, which may still have data to store.
            let is_over = progress.is_over() || transfer.connection.closed().is_some();
            let frees_slot = |lingering: &[FinishedTransfer]| {
                let open = lingering.iter().find(|lingering| lingering.connection.closed().is_none());
                open.inspect(|oldest| oldest.connection.close(code::DONE, "")).is_some()
            };
            if is_over && (lingering.len() < *max || frees_slot(lingering)) {
                let (connection, progress) =
                    (transfer.connection.another_handle(), transfer.progress.clone());
                lingering.push(FinishedTransfer { connection, progress, since: now });
                return false;
            }
            let received = progress.received_chunks();
            transfer.pace.update(now, progress.moved_or_kept().get());
            // A throttled transfer cannot send anything.
            if received != transfer.received || progress.is_held() {
                (transfer.received, transfer.since) = (received, now);
            }
            if progress.is_held() {
                transfer.pace.hold(now);
            }
            true
        });
    }

    /// Ends a transfer to free a slot, if one qualifies: for a sender that the user wants, the slowest unwanted
    /// transfer;
    /// else the transfer with the longest idle time.
    fn evict_for(&mut self, now: Instant, is_wanted: bool) -> bool {
        let candidates = self.transfers.iter().map(|transfer| Candidate {
            is_wanted: transfer.is_wanted,
            rate: transfer
                .pace
                .rate(now, transfer.progress.upgrade().map_or(0, |it| it.moved_or_kept().get())),
            // Messages without contents are not progress for senders that nobody chose.
            idle_since: if transfer.is_wanted { transfer.since } else { transfer.pace.progress.0 },
        });
        let candidates: Vec<_> = candidates.collect();
        let Some((at, reason)) = transfer_to_evict(now, is_wanted, self.idle, &candidates) else {
            return false;
        };
        self.transfers.swap_remove(at).connection.close(code::BUSY, reason);
        true
    }
}

/// The criteria for ending a transfer.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    is_wanted: bool,
    /// Bytes per second.
    rate: f64,
    idle_since: Instant,
}

const TOO_SLOW: &str = "it made almost no progress while others waited; try again later";
const UNWANTED_REASON: &str = "its slot went to a sender that the receiver knows; try again later";

/// Returns the transfer to end in favour of a sender, and its close reason.
fn transfer_to_evict(
    now: Instant,
    is_wanted: bool,
    idle: Duration,
    transfers: &[Candidate],
) -> Option<(usize, &'static str)> {
    let all = || transfers.iter().enumerate();
    if is_wanted {
        let unwanted = all().filter(|(_, transfer)| !transfer.is_wanted);
        let slowest = unwanted.min_by(|(_, a), (_, b)| a.rate.total_cmp(&b.rate));
        if let Some((at, _)) = slowest {
            return Some((at, UNWANTED_REASON));
        }
    }
    let (at, longest) = all().min_by_key(|(_, transfer)| transfer.idle_since)?;
    (now.saturating_duration_since(longest.idle_since) >= idle).then_some((at, TOO_SLOW))
}

#[cfg(test)]
mod tests {
    //! Tests the choice of the transfer to end, with synthetic times.
    use super::*;

    const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

    /// Builds transfers that deliver the given bytes per second for `seconds`.
    fn run(begun: Instant, seconds: u32, transfers: &[(bool, u64)]) -> (Instant, Vec<Candidate>) {
        let now = begun + Duration::from_secs(seconds.into());
        let candidates = transfers.iter().map(|&(is_wanted, rate)| {
            let mut pace = Pace::new(begun, IDLE_TIMEOUT);
            for second in 1..=seconds {
                pace.update(begun + Duration::from_secs(second.into()), rate * u64::from(second));
            }
            let bytes = rate * u64::from(seconds);
            Candidate { is_wanted, rate: pace.rate(now, bytes), idle_since: pace.progress.0 }
        });
        (now, candidates.collect())
    }

    #[test]
    fn whom_the_user_wants_takes_the_place_of_the_slowest_that_he_does_not() {
        for seconds in [0, 1, 7, 200] {
            let (now, transfers) =
                run(Instant::now(), seconds, &[(true, 0), (false, 9), (false, 5), (true, 3), (false, 7)]);
            let expected = if seconds == 0 { 1 } else { 2 };
            assert_eq!(
                transfer_to_evict(now, true, IDLE_TIMEOUT, &transfers),
                Some((expected, UNWANTED_REASON)),
                "{seconds} s"
            );
        }
    }

    #[test]
    fn wanted_senders_replace_each_other_only_when_idle() {
        let (now, mut transfers) = run(Instant::now(), 10, &[(true, 1_000_000), (true, 1_000_000)]);
        assert_eq!(transfer_to_evict(now, true, IDLE_TIMEOUT, &transfers), None);
        assert_eq!(transfer_to_evict(now, false, IDLE_TIMEOUT, &transfers), None);
        transfers[1].idle_since = now - IDLE_TIMEOUT;
        assert_eq!(transfer_to_evict(now, true, IDLE_TIMEOUT, &transfers), Some((1, TOO_SLOW)));
        assert_eq!(transfer_to_evict(now, false, IDLE_TIMEOUT, &transfers), Some((1, TOO_SLOW)));
    }

    /// One byte per second, or a message without contents, does not keep a slot.
    #[test]
    fn a_trickle_is_no_progress() {
        let (now, transfers) = run(Instant::now(), 59, &[(false, 1), (false, 2000)]);
        assert_eq!(transfer_to_evict(now, false, IDLE_TIMEOUT, &transfers), None, "not yet");
        let (now, transfers) = run(Instant::now(), 61, &[(false, 2000), (false, 1), (false, 3000)]);
        assert_eq!(transfer_to_evict(now, false, IDLE_TIMEOUT, &transfers), Some((1, TOO_SLOW)));
        let (now, transfers) = run(Instant::now(), 600, &[(false, 2000), (false, 3000)]);
        assert_eq!(transfer_to_evict(now, false, IDLE_TIMEOUT, &transfers), None, "slow, but it gets on");
    }

    #[test]
    fn time_in_which_a_transfer_is_held_back_does_not_count() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun, IDLE_TIMEOUT);
        let later = begun + Duration::from_secs(100);
        pace.update(later, 10);
        pace.hold(later);
        assert_eq!((pace.progress.0, pace.mark.0), (later, later));
    }
}
