//! A sender that arrives while its key already has the maximum number of transfers.
//!
//! It is either a second transfer, which has to wait, or a restart of a killed or disconnected sender, which takes over
//! the old transfer's slot. The old connection shows which: a live peer acknowledges the receiver's messages at least
//! twice a second.

use super::TRANSFER_ENDED_CODE;
use super::admitted_sender::AdmittedSender;
use crate::identity::PublicKey;
use crate::live::Connection;
use crate::session::code;
use std::time::{Duration, Instant};

/// Time after which packets in flight from a dead sender have arrived, on most paths.
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Silence after which an earlier sender counts as gone.
const IDLE_TIMEOUT: Duration = Duration::from_millis(2500);

/// A sender that waits for a transfer slot.
#[derive(Debug)]
pub struct DuplicateSender {
    sender: Option<AdmittedSender>,
    key: PublicKey,
    earlier: Connection,
    since: Instant,
    /// Packets received on the earlier connection when [`DRAIN_TIME`] had passed.
    received: Option<u64>,
}

/// Decision about a waiting sender.
#[derive(Debug)]
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
    pub fn new(now: Instant, sender: AdmittedSender, earlier: Connection) -> Self {
        Self { key: sender.key, sender: Some(sender), earlier, since: now, received: None }
    }

    /// Returns the sender's key.
    pub fn key(&self) -> PublicKey {
        self.key
    }

    /// Returns the decision at `now`.
    pub fn poll(&mut self, now: Instant) -> Turn {
        let Some(sender) = &self.sender else { return Turn::Gone };
        if sender.connection.closed().is_some() {
            self.sender = None;
            return Turn::Gone;
        }
        let packets = self.earlier.stats().packets_received;
        if self.earlier.closed().is_none() {
            if now.saturating_duration_since(self.since) < DRAIN_TIME {
                return Turn::Wait;
            }
            if packets > *self.received.get_or_insert(packets) {
                // Dropping the connection notifies the sender.
                return Turn::Gone;
            }
            if now.saturating_duration_since(self.since) < IDLE_TIMEOUT {
                return Turn::Wait;
            }
            self.earlier.close(TRANSFER_ENDED_CODE, "the same sender has begun another transfer");
        }
        self.sender.take().map_or(Turn::Gone, Turn::Enter)
    }
}

impl Drop for DuplicateSender {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            sender
                .connection
                .close(code::BUSY, "transfers of the same sender are in progress; try again later");
        }
    }
}
