//! The transfers that `serve` takes at a time: some for each key, and none that says nothing while others wait.

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

/// All of them.
pub struct Crowd {
    most: usize,
    idle: Duration,
    transfers: Vec<Transfer>,
    newcomers: Vec<Newcomer>,
    /// One that may come in.
    free: Option<Guest>,
}

struct Transfer {
    connection: Connection,
    key: PublicKey,
    /// Until it has ended.
    progress: Weak<Progress>,
    heard: u64,
    since: Instant,
}

impl Crowd {
    /// As many as the user says.
    pub fn new(arguments: &ServeArguments) -> Self {
        Self {
            most: usize::try_from(arguments.transfers.get()).unwrap_or(usize::MAX),
            idle: arguments.idle,
            transfers: Vec::new(),
            newcomers: Vec::new(),
            free: None,
        }
    }

    /// A sender comes.
    pub fn meet(&mut self, now: Instant, guest: Guest) {
        let key = guest.key;
        self.look(now);
        let mut of_one = self.transfers.iter().filter(|transfer| transfer.key == key);
        if of_one.clone().count() >= MOST_OF_ONE
            && let Some(oldest) = of_one.next()
        {
            let is_waiting = self.newcomers.iter().any(|newcomer| newcomer.key() == key);
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
        if self.transfers.len() >= self.most && !self.make_room(now) {
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
    pub fn enter(&mut self, now: Instant, connection: Connection, key: PublicKey, progress: &Arc<Progress>) {
        let progress = Arc::downgrade(progress);
        self.transfers.push(Transfer { connection, key, progress, heard: 0, since: now });
    }

    /// Ends the transfers of senders that are not let in any more.
    pub fn end_those(&self, is_out: impl Fn(&PublicKey) -> bool) {
        for transfer in self.transfers.iter().filter(|transfer| is_out(&transfer.key)) {
            transfer.connection.close(code::UNAUTHORIZED, REMOVED);
        }
    }

    /// None goes on.
    pub fn is_empty(&self) -> bool {
        self.transfers.iter().all(|transfer| transfer.progress.strong_count() == 0)
    }

    /// Forgets those that have ended, and looks which of the others say something.
    fn look(&mut self, now: Instant) {
        self.transfers.retain_mut(|transfer| {
            let Some(progress) = transfer.progress.upgrade() else { return false };
            let heard = progress.heard();
            // One that is held back cannot say anything.
            if heard != transfer.heard || progress.is_held() {
                (transfer.heard, transfer.since) = (heard, now);
            }
            true
        });
    }

    /// Ends the transfer that has been silent for longest, if that is long.
    fn make_room(&mut self, now: Instant) -> bool {
        let silent = (0..self.transfers.len()).min_by_key(|at| self.transfers[*at].since);
        let is_idle = |at: &usize| now.saturating_duration_since(self.transfers[*at].since) >= self.idle;
        let Some(silent) = silent.filter(is_idle) else { return false };
        let silent = self.transfers.swap_remove(silent);
        silent.connection.close(code::BUSY, "it sent nothing while others waited; try again later");
        true
    }
}
