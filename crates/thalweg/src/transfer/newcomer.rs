//! A sender that comes while as many transfers of its key go on as may.
//!
//! It may be a second one, which is told to wait; or the same that was killed or lost its connection, and takes its old
//! place. The old connection tells: a live peer acknowledges what the receiver says at least twice a second.

use super::guest::Guest;
use std::time::{Duration, Instant};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::Connection;
use thalweg_net::session::code;

/// The time after which what was on its way when a sender died has come, on most paths.
const SETTLED: Duration = Duration::from_secs(1);
/// The time after which an earlier sender of which nothing has come is not there any more.
const SILENT: Duration = Duration::from_millis(2500);

/// One that waits for its place.
pub struct Newcomer {
    guest: Option<Guest>,
    key: PublicKey,
    earlier: Connection,
    since: Instant,
    /// Packets of the earlier connection, when all was settled.
    heard: Option<u64>,
}

/// The decision about a newcomer.
pub enum Turn {
    /// It waits.
    Wait,
    /// It takes the place of the earlier one.
    Enter(Guest),
    /// It was told to come later, or has gone.
    Gone,
}

impl Newcomer {
    /// Comes at `now`, while the transfer of `earlier` goes on.
    pub fn new(now: Instant, guest: Guest, earlier: Connection) -> Self {
        Self { key: guest.key, guest: Some(guest), earlier, since: now, heard: None }
    }

    /// The key of the newcomer.
    pub fn key(&self) -> PublicKey {
        self.key
    }

    /// The decision about it now.
    pub fn look(&mut self, now: Instant) -> Turn {
        let Some(guest) = &self.guest else { return Turn::Gone };
        if guest.connection.closed().is_some() {
            self.guest = None;
            return Turn::Gone;
        }
        let packets = self.earlier.stats().packets_received;
        if self.earlier.closed().is_none() {
            if now.saturating_duration_since(self.since) < SETTLED {
                return Turn::Wait;
            }
            if packets > *self.heard.get_or_insert(packets) {
                // Dropped, it hears so.
                return Turn::Gone;
            }
            if now.saturating_duration_since(self.since) < SILENT {
                return Turn::Wait;
            }
            self.earlier.close(super::ENDED, "the same sender has begun another transfer");
        }
        self.guest.take().map_or(Turn::Gone, Turn::Enter)
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        if let Some(guest) = &self.guest {
            guest.connection.close(code::BUSY, "transfers of the same sender are going on; try again later");
        }
    }
}
