//! The transfers that `serve` takes at a time: some for each key, and none that brings nothing while others wait. Where there is no
//! place, those that only `--trust new` let in give way to the senders that the user wants, the slowest first. A transfer leaves its place
//! when it is over, however long its connection stays.

use super::arguments::ServeArguments;
use super::guest::Guest;
use super::newcomer::{Newcomer, Turn};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::Connection;
use thalweg_net::session::code;
use thalweg_net::transfer::Progress;

/// The reason that a sender hears that was taken off the list.
pub(super) const REMOVED: &str = "the receiver does not take files from this key any more";

/// Transfers of one key at a time.
const MOST_OF_ONE: usize = 2;
/// Senders that wait for it to be known whether they are second ones.
const MOST_WAITING: usize = 16;
/// A transfer that brings less than this on average, over the time after which one is idle, gives way like one that says nothing, if
/// only `--trust new` let it in, in bytes per second.
const MIN_RATE: f64 = 1024.0;
/// The time over which the rate of a transfer is measured.
const MEASURED: Duration = Duration::from_secs(5);
/// Time for a sender to close its connection after it was notified that all is stored.
const LINGER: Duration = Duration::from_secs(5);

/// All of them.
pub struct Crowd {
    most: usize,
    idle: Duration,
    transfers: Vec<Transfer>,
    /// Transfers that are over and have no place any more, until their threads have ended: as many as there are places.
    lingering: Vec<Lingering>,
    newcomers: Vec<Newcomer>,
    /// One that may come in.
    free: Option<Guest>,
}

struct Transfer {
    connection: Connection,
    key: PublicKey,
    /// The user wants this sender.
    is_wanted: bool,
    /// Until it has ended.
    progress: Weak<Progress>,
    heard: u64,
    since: Instant,
    pace: Pace,
}

/// A transfer that is over, with the time since when.
struct Lingering {
    connection: Connection,
    progress: Weak<Progress>,
    since: Instant,
}

/// The rate at which contents come.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The bytes per second over the last full period; nothing before the end of the first.
    rate: Option<f64>,
    /// The beginning of this period, and the bytes that had come by then.
    mark: (Instant, u64),
    /// The time at which enough had come last to count as progress, and the bytes that had come by then.
    progress: (Instant, u64),
    /// The bytes that are enough.
    enough: u64,
}

impl Pace {
    fn new(now: Instant, idle: Duration) -> Self {
        let enough = (MIN_RATE * idle.as_secs_f64()) as u64;
        Self { rate: None, mark: (now, 0), progress: (now, 0), enough }
    }

    /// So many bytes have come by now.
    fn see(&mut self, now: Instant, bytes: u64) {
        let (since, before) = self.mark;
        let span = now.saturating_duration_since(since);
        if span >= MEASURED {
            self.rate = Some(bytes.saturating_sub(before) as f64 / span.as_secs_f64());
            self.mark = (now, bytes);
        }
        if bytes.saturating_sub(self.progress.1) >= self.enough {
            self.progress = (now, bytes);
        }
    }

    /// Time in which it is not to send does not count.
    fn hold(&mut self, now: Instant) {
        (self.mark.0, self.progress.0) = (now, now);
    }

    /// Bytes per second, at least the first second counted whole.
    fn rate(&self, now: Instant, bytes: u64) -> f64 {
        let (since, before) = self.mark;
        let current = || {
            let span = now.saturating_duration_since(since).as_secs_f64().max(1.0);
            bytes.saturating_sub(before) as f64 / span
        };
        self.rate.unwrap_or_else(current)
    }
}

impl Crowd {
    /// As many as the user says.
    pub fn new(arguments: &ServeArguments) -> Self {
        Self {
            most: usize::try_from(arguments.transfers.get()).unwrap_or(usize::MAX),
            idle: arguments.idle,
            transfers: Vec::new(),
            lingering: Vec::new(),
            newcomers: Vec::new(),
            free: None,
        }
    }

    /// Admits or queues an incoming sender; one that the user wants has precedence over those that only `--trust new` let in.
    pub fn meet(&mut self, now: Instant, guest: Guest, is_wanted: bool) {
        let key = guest.key;
        self.look(now);
        let mut of_one = self.transfers.iter().filter(|transfer| transfer.key == key);
        if of_one.clone().count() >= MOST_OF_ONE
            && let Some(oldest) = of_one.next()
        {
            let is_waiting = self.newcomers.iter().any(|newcomer| newcomer.key() == key);
            let is_full = self.newcomers.len() >= MOST_WAITING;
            if is_full && !is_waiting && is_wanted {
                // Dropped, it hears that it is to come later.
                let unwanted = self.newcomers.iter().rposition(|newcomer| !self.wants(&newcomer.key()));
                unwanted.map(|at| self.newcomers.remove(at));
            }
            if is_waiting || self.newcomers.len() >= MOST_WAITING {
                guest
                    .connection
                    .close(code::BUSY, "transfers of the same sender are going on; try again later");
                return;
            }
            let earlier = oldest.connection.another();
            self.newcomers.push(Newcomer::new(now, guest, earlier));
            return;
        }
        if self.transfers.len() >= self.most && !self.make_room(now, is_wanted) {
            guest.connection.close(code::BUSY, "there are too many transfers; try again later");
            return;
        }
        self.free = Some(guest);
    }

    /// The next sender that may begin a transfer now, with its connection.
    pub fn next(&mut self, now: Instant) -> Option<Guest> {
        self.look(now);
        if let Some(free) = self.free.take() {
            return Some(free);
        }
        for at in 0..self.newcomers.len() {
            match self.newcomers[at].look(now) {
                Turn::Wait => {}
                Turn::Gone => {
                    self.newcomers.remove(at);
                    return None;
                }
                Turn::Enter(guest) => {
                    self.newcomers.remove(at);
                    return Some(guest);
                }
            }
        }
        None
    }

    /// A transfer has begun.
    pub fn enter(
        &mut self,
        now: Instant,
        connection: Connection,
        (key, is_wanted): (PublicKey, bool),
        progress: &Arc<Progress>,
    ) {
        let progress = Arc::downgrade(progress);
        let pace = Pace::new(now, self.idle);
        self.transfers.push(Transfer { connection, key, is_wanted, progress, heard: 0, since: now, pace });
    }

    /// A transfer of this sender goes on, and the user wants it.
    fn wants(&self, key: &PublicKey) -> bool {
        self.transfers.iter().any(|transfer| transfer.key == *key && transfer.is_wanted)
    }

    /// Ends the transfers of senders that are not let in any more.
    pub fn end_those(&self, is_out: impl Fn(&PublicKey) -> bool) {
        for transfer in self.transfers.iter().filter(|transfer| is_out(&transfer.key)) {
            transfer.connection.close(code::UNAUTHORIZED, REMOVED);
        }
    }

    /// None goes on.
    pub fn is_empty(&self) -> bool {
        let lingering = self.lingering.iter().map(|lingering| &lingering.progress);
        let all = self.transfers.iter().map(|transfer| &transfer.progress).chain(lingering);
        all.into_iter().all(|progress| progress.strong_count() == 0)
    }

    /// Forgets those that have ended, and looks which of the others say something.
    fn look(&mut self, now: Instant) {
        let Self { transfers, lingering, most, .. } = self;
        lingering.retain(|lingering| {
            if now.saturating_duration_since(lingering.since) >= LINGER {
                lingering.connection.close(code::DONE, "");
            }
            lingering.progress.strong_count() > 0
        });
        transfers.retain_mut(|transfer| {
            let Some(progress) = transfer.progress.upgrade() else { return false };
            // Peers that come and go keep no more threads than twice the places: where as many linger, the longest there is closed, and
            // those that are closed are waited for, as they have something to store.
            let is_over = progress.is_over() || transfer.connection.closed().is_some();
            let has_room = |lingering: &[Lingering]| {
                let open = lingering.iter().find(|lingering| lingering.connection.closed().is_none());
                open.inspect(|oldest| oldest.connection.close(code::DONE, "")).is_some()
            };
            if is_over && (lingering.len() < *most || has_room(lingering)) {
                let (connection, progress) = (transfer.connection.another(), transfer.progress.clone());
                lingering.push(Lingering { connection, progress, since: now });
                return false;
            }
            let heard = progress.heard();
            transfer.pace.see(now, progress.proved().get());
            // One that is held back cannot say anything.
            if heard != transfer.heard || progress.is_held() {
                (transfer.heard, transfer.since) = (heard, now);
            }
            if progress.is_held() {
                transfer.pace.hold(now);
            }
            true
        });
    }

    /// Ends a transfer for another sender, if one has to give way: for one that the user wants the slowest of those that he does not,
    /// else the one that has been idle for longest.
    fn make_room(&mut self, now: Instant, is_wanted: bool) -> bool {
        let candidates = self.transfers.iter().map(|transfer| Candidate {
            is_wanted: transfer.is_wanted,
            rate: transfer.pace.rate(now, transfer.progress.upgrade().map_or(0, |it| it.proved().get())),
            // Messages without contents are no progress of whoever was let in by chance.
            idle_since: if transfer.is_wanted { transfer.since } else { transfer.pace.progress.0 },
        });
        let candidates: Vec<_> = candidates.collect();
        let Some((at, reason)) = first_to_go(now, is_wanted, self.idle, &candidates) else { return false };
        self.transfers.swap_remove(at).connection.close(code::BUSY, reason);
        true
    }
}

/// The facts that decide whether a transfer gives way.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    is_wanted: bool,
    /// Bytes per second.
    rate: f64,
    idle_since: Instant,
}

const SLOW: &str = "it brought nothing, or next to nothing, while others waited; try again later";
const UNWANTED: &str = "its place is for a sender that the receiver knows; try again later";

/// The transfer that gives way to a sender, and what it hears.
fn first_to_go(
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
            return Some((at, UNWANTED));
        }
    }
    let (at, longest) = all().min_by_key(|(_, transfer)| transfer.idle_since)?;
    (now.saturating_duration_since(longest.idle_since) >= idle).then_some((at, SLOW))
}

#[cfg(test)]
mod tests {
    //! Proves who gives way, at times of the tests' own.
    use super::*;

    const IDLE: Duration = Duration::from_secs(60);

    /// Transfers that bring so many bytes each second, for so many seconds.
    fn run(begun: Instant, seconds: u32, transfers: &[(bool, u64)]) -> (Instant, Vec<Candidate>) {
        let now = begun + Duration::from_secs(seconds.into());
        let candidates = transfers.iter().map(|&(is_wanted, rate)| {
            let mut pace = Pace::new(begun, IDLE);
            for second in 1..=seconds {
                pace.see(begun + Duration::from_secs(second.into()), rate * u64::from(second));
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
            assert_eq!(first_to_go(now, true, IDLE, &transfers), Some((expected, UNWANTED)), "{seconds} s");
        }
    }

    #[test]
    fn wanted_ones_make_room_for_each_other_when_they_are_idle_alone() {
        let (now, mut transfers) = run(Instant::now(), 10, &[(true, 1_000_000), (true, 1_000_000)]);
        assert_eq!(first_to_go(now, true, IDLE, &transfers), None);
        assert_eq!(first_to_go(now, false, IDLE, &transfers), None);
        transfers[1].idle_since = now - IDLE;
        assert_eq!(first_to_go(now, true, IDLE, &transfers), Some((1, SLOW)));
        assert_eq!(first_to_go(now, false, IDLE, &transfers), Some((1, SLOW)));
    }

    /// A byte each second, or a message without contents, holds no place for ever.
    #[test]
    fn a_trickle_is_no_progress() {
        let (now, transfers) = run(Instant::now(), 59, &[(false, 1), (false, 2000)]);
        assert_eq!(first_to_go(now, false, IDLE, &transfers), None, "not yet");
        let (now, transfers) = run(Instant::now(), 61, &[(false, 2000), (false, 1), (false, 3000)]);
        assert_eq!(first_to_go(now, false, IDLE, &transfers), Some((1, SLOW)));
        let (now, transfers) = run(Instant::now(), 600, &[(false, 2000), (false, 3000)]);
        assert_eq!(first_to_go(now, false, IDLE, &transfers), None, "slow, but it gets on");
    }

    #[test]
    fn time_in_which_a_transfer_is_held_back_does_not_count() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun, IDLE);
        let later = begun + Duration::from_secs(100);
        pace.see(later, 10);
        pace.hold(later);
        assert_eq!((pace.progress.0, pace.mark.0), (later, later));
    }
}
