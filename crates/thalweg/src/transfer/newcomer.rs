//! A sender that arrives while its key already has the maximum number of transfers.
//!
//! It is either a second transfer, which has to wait, or a restart of a killed or disconnected sender, which takes over
//! the old transfer's slot. The old connection shows which: a live peer acknowledges the receiver's messages at least
//! twice a second.

use super::guest::AdmittedSender;
use std::time::{Duration, Instant};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::Connection;
use thalweg_net::session::code;

/// Time after which packets in flight from a dead sender have arrived, on most paths.
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Silence after which an earlier sender counts as gone.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(2500);

/// A sender that waits for a transfer slot.
pub struct DuplicateSender {
    guest: Option<AdmittedSender>,
    key: PublicKey,
    earlier: Connection,
    since: Instant,
    /// Packets received on the earlier connection when [`DRAIN_TIME`] had passed.
    heard: Option<u64>,
}

/// The decision about a newcomer.
pub enum Turn {
    /// Keep waiting.
    Wait,
    /// Take over the earlier sender's slot.
    Enter(AdmittedSender),
    /// Turned away with a request to retry later, or disconnected.
    Gone,
}

impl DuplicateSender {
    /// Creates an entry at `now` for a sender that arrived during the transfer of `earlier`.
    pub fn new(now: Instant, guest: AdmittedSender, earlier: Connection) -> Self {
        Self { key: guest.key, guest: Some(guest), earlier, since: now, heard: None }
    }

    /// Returns the sender's key.
    pub fn key(&self) -> PublicKey {
        self.key
    }

    /// Returns the decision at `now`.
    pub fn look(&mut self, now: Instant) -> Turn {
        let Some(guest) = &self.guest else { return Turn::Gone };
        if guest.connection.closed().is_some() {
            self.guest = None;
            return Turn::Gone;
        }
        let packets = self.earlier.stats().packets_received;
        if self.earlier.closed().is_none() {
            if now.saturating_duration_since(self.since) < DRAIN_TIME {
                return Turn::Wait;
            }
            if packets > *self.heard.get_or_insert(packets) {
                // Dropping the guest notifies the sender.
                return Turn::Gone;
            }
            if now.saturating_duration_since(self.since) < SILENCE_TIMEOUT {
                return Turn::Wait;
            }
            self.earlier.close(super::ENDED, "the same sender has begun another transfer");
        }
        self.guest.take().map_or(Turn::Gone, Turn::Enter)
    }
}

impl Drop for DuplicateSender {
    fn drop(&mut self) {
        if let Some(guest) = &self.guest {
            guest.connection.close(code::BUSY, "transfers of the same sender are going on; try again later");
        }
    }
}
