//! Admission of senders of files: a receiver's policy beside the transfers themselves.
//!
//! [`Admission`] decides about the clients of a [`Socket`](crate::live::Socket): known keys and named ones are admitted,
//! others by a pairing code, by the user's approval, or within a limit. Its user implements [`KnownSenders`] (the list
//! of known keys, [`SenderNames`] in memory) and [`Approver`], and reports the [events](AdmissionEvent).
//!
//! [`TransferSlots`] bounds concurrent transfers, with fair shares for keys and precedence for senders that somebody
//! chose; [`DuplicateSender`] does so for a receiver with one transfer. [`Quotas`] and [`TotalQuota`] bound the contents
//! of senders' folders.

mod admission_decisions;
mod admitted_sender;
mod approval_queue;
mod duplicate_sender;
mod fair_queue;
mod folder_quotas;
mod known_senders;
mod pairing_offer;
mod rejected_senders;
mod transfer_slots;
mod unknown_senders;

pub use admission_decisions::{Admission, AdmissionConfig, AdmissionEvent};
pub use admitted_sender::{AdmittedSender, OpenedStreams};
pub use approval_queue::{Approval, ApprovalRequest, Approver};
pub use duplicate_sender::{DuplicateSender, Turn};
pub use folder_quotas::{Quotas, TotalQuota};
pub use known_senders::{KnownSenders, SenderNames, name_for};
pub use pairing_offer::{ATTEMPT_TIMEOUT as PAIRING_TIMEOUT, PAIRING, PairingEvent, PairingOffer};
pub use rejected_senders::{Denial, DenialReason};
pub use transfer_slots::{REMOVED_SENDER_REASON, TransferSlots};

use crate::live::Connection;
use crate::session::code;
use std::time::{Duration, Instant};

/// The service that a sender asks a receiver for.
pub const SERVICE: &str = "transfer";

/// Close code for a transfer that one side's user or program ended; the close reason has the cause.
pub const TRANSFER_ENDED_CODE: u16 = code::APPLICATION;

/// Timeout for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Closes a connection with finished streams, and waits until the socket's thread has processed it.
pub fn close_after_finish(connection: &Connection, code: u16, reason: &str) {
    connection.close(code, reason);
    await_close(connection);
}

/// Waits until the peer closes a connection, for a second at most.
pub fn await_close(connection: &Connection) {
    let begun = Instant::now();
    while connection.closed().is_none() && begun.elapsed() < CLOSE_TIMEOUT {
        std::thread::sleep(Duration::from_millis(1));
    }
}
