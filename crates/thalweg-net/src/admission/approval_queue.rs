//! Unknown senders that wait for approval. The user is asked about one at a time, without blocking anything else.

use super::admitted_sender::{AdmittedSender, OpenedStreams};
use super::fair_queue::{FairQueue, QueueFull};
use crate::endpoint::Host;
use crate::identity::PublicKey;
use crate::live::{Connection, RecvStream};
use crate::session::code;
use crate::transfer::{Preview, preview_offer};
use std::collections::HashSet;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Time for a sender to announce the size of its transfer; afterwards the prompt appears without it.
const ANNOUNCEMENT_TIMEOUT: Duration = Duration::from_secs(3);
/// Polling interval of a reader thread for the decision.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Close reason when the approval queue is full.
const APPROVAL_QUEUE_FULL: &str = "others wait for approval; try again later";

/// Approval of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Of all transfers of the sender.
    Always,
    /// Of this transfer.
    Once,
}

/// A question about an unknown sender.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// Address of the sender.
    pub remote: SocketAddr,
    /// Its key.
    pub key: PublicKey,
    /// Announced transfer, as far as it is known.
    pub preview: Preview,
}

/// The user who decides about unknown senders, or a program in the user's place.
pub trait Approver {
    /// Asks about a sender. There is one question at a time.
    fn ask(&mut self, now: Instant, request: &ApprovalRequest);

    /// Returns the answer to the question, once there is one: `Some(None)` for a rejection.
    fn answer(&mut self, now: Instant) -> Option<Option<Approval>>;

    /// Withdraws the question, for this reason.
    fn withdraw(&mut self, reason: &str);
}

/// The senders that wait for approval.
#[derive(Debug, Default)]
pub struct ApprovalQueue {
    queue: FairQueue<PendingApproval>,
    /// Rejected senders, about whom the user is not asked again.
    denied: HashSet<PublicKey>,
}

#[derive(Debug)]
struct PendingApproval {
    connection: Connection,
    key: PublicKey,
    since: Instant,
    preview: Arc<Mutex<Preview>>,
    is_decided: Arc<AtomicBool>,
    /// The sender's streams, returned when their reader stops.
    opened_streams: Receiver<Result<OpenedStreams, String>>,
}

impl ApprovalQueue {
    /// Queues an undecided sender for approval.
    pub fn enqueue(&mut self, now: Instant, connection: &Connection) {
        let key = connection.peer();
        if self.denied.contains(&key) {
            return close_denied(connection);
        }
        if self.queue.iter().any(|other| other.key == key) {
            return connection.close(code::BUSY, "the same sender waits for approval already");
        }
        let host = Host::from_address(connection.remote());
        match self.queue.evict(host) {
            Ok(None) => {}
            Ok(Some(other)) => other.connection.close(code::BUSY, APPROVAL_QUEUE_FULL),
            Err(QueueFull) => return connection.close(code::BUSY, APPROVAL_QUEUE_FULL),
        }
        match PendingApproval::begin(now, connection) {
            Ok(pending) => self.queue.add(host, pending),
            Err(_) => connection.close(code::BUSY, "too many senders wait for approval; try again later"),
        }
    }

    /// Rejects all waiting senders.
    pub fn withdraw(&mut self, approver: &mut dyn Approver, reason: &str) {
        if self.queue.shown().is_some() {
            approver.withdraw(reason);
        }
        for pending in self.queue.drain() {
            pending.connection.close(code::BUSY, reason);
        }
    }

    /// Asks about the next sender, and returns an approved one.
    pub fn poll(&mut self, now: Instant, approver: &mut dyn Approver) -> Option<(AdmittedSender, Approval)> {
        self.remove_gone(now, approver);
        let (at, next) = self.queue.next()?;
        if self.queue.shown().is_none() {
            let preview = next.preview();
            if !preview.is_complete && now.saturating_duration_since(next.since) < ANNOUNCEMENT_TIMEOUT {
                return None;
            }
            approver.ask(now, &ApprovalRequest { remote: next.connection.remote(), key: next.key, preview });
            self.queue.show(at, now);
        }
        let approval = approver.answer(now)?;
        self.decide(approval)
    }

    fn decide(&mut self, approval: Option<Approval>) -> Option<(AdmittedSender, Approval)> {
        let Some(approval) = approval else {
            let pending = self.queue.remove(0)?;
            self.denied.insert(pending.key);
            close_denied(&pending.connection);
            return None;
        };
        let pending = self.queue.take()?;
        pending.is_decided.store(true, Ordering::Relaxed);
        // The reader polls the decision often; this wait is short.
        let begun = pending.opened_streams.recv().ok()?.ok()?;
        Some((AdmittedSender::approved(pending.connection, begun), approval))
    }

    /// Removes senders that disconnected or timed out.
    fn remove_gone(&mut self, now: Instant, approver: &mut dyn Approver) {
        let mut at = 0;
        while let Some(pending) = self.queue.get(at) {
            let why = if pending.connection.closed().is_some() {
                Some("the sender disconnected".to_owned())
            } else if let Ok(Err(why)) = pending.opened_streams.try_recv() {
                pending.connection.close(code::PROTOCOL, &why);
                Some(why)
            } else if now.saturating_duration_since(pending.since) >= ANSWER_TIMEOUT {
                let why = "it was not approved within two minutes";
                pending.connection.close(code::BUSY, why);
                Some(why.to_owned())
            } else {
                None
            };
            let Some(why) = why else {
                at += 1;
                continue;
            };
            if at == 0 && self.queue.shown().is_some() {
                approver.withdraw(&why);
            }
            self.queue.remove(at);
        }
    }
}

impl PendingApproval {
    fn begin(now: Instant, connection: &Connection) -> io::Result<Self> {
        let seen = Arc::new(Mutex::new(Preview::default()));
        let is_decided = Arc::new(AtomicBool::new(false));
        let (result_sender, begun) = channel();
        let (shared, decided) = (Arc::clone(&seen), Arc::clone(&is_decided));
        let streams = connection.another_handle();
        thread::Builder::new().name("transfer-asked".to_owned()).spawn(move || {
            let (mut to_peer, mut from_peer) = streams.split_untrusted();
            let mut kept = Vec::new();
            let patient = UndecidedStream { stream: &mut from_peer, is_decided: &decided };
            let result = preview_offer(patient, &mut to_peer, &shared, &mut kept);
            let result = match result {
                Err(error) if !is_over(&decided) => Err(error.to_string()),
                _ => {
                    // Leave further data in the stream until the decision.
                    while !is_over(&decided) {
                        thread::sleep(POLL_INTERVAL);
                    }
                    Ok((to_peer, from_peer, kept))
                }
            };
            let _ = result_sender.send(result);
        })?;
        let (connection, key) = (connection.another_handle(), connection.peer());
        Ok(Self { connection, key, since: now, preview: seen, is_decided, opened_streams: begun })
    }

    fn preview(&self) -> Preview {
        self.preview.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn close_denied(connection: &Connection) {
    connection.close(code::UNAUTHORIZED, "the receiver does not accept files from this key");
}

/// A stream that can be read until its sender is decided.
struct UndecidedStream<'a> {
    stream: &'a mut RecvStream,
    is_decided: &'a Arc<AtomicBool>,
}

impl Read for UndecidedStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.stream.wait_within(POLL_INTERVAL) {
            if is_over(self.is_decided) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        self.stream.read(into)
    }
}

/// Returns true after a decision, or when the prompt was dropped: then no other thread holds the flag.
fn is_over(is_decided: &Arc<AtomicBool>) -> bool {
    is_decided.load(Ordering::Relaxed) || Arc::strong_count(is_decided) == 1
}
