//! Approval prompt for unknown senders: asks the user at the terminal about one at a time, without blocking anything
//! else.

use super::admitted_sender::{AdmittedSender, OpenedStreams};
use super::fair_queue::{FairQueue, Full};
use crate::console::{Console, one_line, prompt};
use indicatif::DecimalBytes;
use std::collections::HashSet;
use std::io::{self, BufRead as _, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thalweg_net::endpoint::Host;
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Connection, RecvStream};
use thalweg_net::session::code;
use thalweg_net::transfer::{Preview, PreviewItemKind, preview};
use thalweg_report::output::counted;

/// Timeout for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Time for a sender to announce the size of its transfer; afterwards the prompt appears without it.
const ANNOUNCEMENT_TIMEOUT: Duration = Duration::from_secs(3);
/// Minimum age of a prompt for an answer; earlier lines were typed before the user read it.
const MIN_PROMPT_AGE: Duration = Duration::from_millis(400);
/// Polling interval of a reader thread for the decision.
const TICK: Duration = Duration::from_millis(20);

/// Close reason when the approval queue is full.
const APPROVAL_QUEUE_FULL: &str = "others wait for approval; try again later";

/// The decision about a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Admit all transfers of the sender.
    Always,
    /// Admit this transfer.
    Once,
}

/// The senders that wait for approval, and the terminal.
#[derive(Default)]
pub struct ApprovalQueue {
    queue: FairQueue<PendingApproval>,
    /// Typed lines, once a prompt was shown; the channel closes with the input.
    lines: Option<Receiver<String>>,
    /// Rejected senders, about whom the user is not asked again.
    denied: HashSet<PublicKey>,
}

struct PendingApproval {
    connection: Connection,
    key: PublicKey,
    since: Instant,
    seen: Arc<Mutex<Preview>>,
    is_decided: Arc<AtomicBool>,
    /// The sender's streams, returned when their reader stops.
    begun: Receiver<Result<OpenedStreams, String>>,
}

impl ApprovalQueue {
    /// Queues an undecided sender for approval.
    pub fn enqueue(&mut self, now: Instant, connection: &Connection) {
        let key = connection.peer();
        if self.denied.contains(&key) {
            return deny(connection);
        }
        if self.queue.iter().any(|other| other.key == key) {
            return connection.close(code::BUSY, "the same sender waits for approval already");
        }
        let host = Host::of(connection.remote());
        match self.queue.evict(host) {
            Ok(None) => {}
            Ok(Some(other)) => other.connection.close(code::BUSY, APPROVAL_QUEUE_FULL),
            Err(Full) => return connection.close(code::BUSY, APPROVAL_QUEUE_FULL),
        }
        match PendingApproval::begin(now, connection) {
            Ok(pending) => self.queue.add(host, pending),
            Err(_) => connection.close(code::BUSY, "too many senders wait for approval; try again later"),
        }
    }

    /// Rejects all waiting senders.
    pub fn withdraw(&mut self, console: &Console, reason: &str) {
        self.hide(console, reason);
        for pending in self.queue.drain() {
            pending.connection.close(code::BUSY, reason);
        }
    }

    /// Prompts for the next sender, and returns a decided one.
    pub fn poll(&mut self, now: Instant, console: &Console) -> Option<(AdmittedSender, Answer)> {
        self.remove_gone(now, console);
        let (at, next) = self.queue.next()?;
        if self.queue.shown().is_none() {
            let seen = next.seen();
            if !seen.is_complete && now.saturating_duration_since(next.since) < ANNOUNCEMENT_TIMEOUT {
                return None;
            }
            let lines = self.lines.get_or_insert_with(|| lines(io::stdin()));
            // These lines were typed before the prompt.
            while lines.try_recv().is_ok() {}
            prompt(&prompt_text(&next.connection, &seen));
            self.queue.show(at, now);
        }
        let line = self.lines.as_ref()?.try_recv();
        let line = match line {
            Ok(_)
                if self
                    .queue
                    .shown()
                    .is_some_and(|shown| now.saturating_duration_since(shown) < MIN_PROMPT_AGE) =>
            {
                None
            }
            Ok(line) => Some(line),
            Err(TryRecvError::Empty) => None,
            // Input has ended: no answer can come.
            Err(TryRecvError::Disconnected) => Some("no".to_owned()),
        }?;
        match answer(&line) {
            None => {
                prompt("Please answer yes, once or no: ");
                None
            }
            Some(decision) => self.decide(decision),
        }
    }

    fn decide(&mut self, decision: Option<Answer>) -> Option<(AdmittedSender, Answer)> {
        let Some(answer) = decision else {
            let pending = self.queue.remove(0)?;
            self.denied.insert(pending.key);
            deny(&pending.connection);
            return None;
        };
        let pending = self.queue.take()?;
        pending.is_decided.store(true, Ordering::Relaxed);
        // The reader polls the decision often; this wait is short.
        let begun = pending.begun.recv().ok()?.ok()?;
        Some((AdmittedSender::approved(pending.connection, begun), answer))
    }

    /// Removes senders that disconnected or timed out.
    fn remove_gone(&mut self, now: Instant, console: &Console) {
        let mut at = 0;
        while let Some(pending) = self.queue.get(at) {
            let why = if pending.connection.closed().is_some() {
                Some("the sender disconnected".to_owned())
            } else if let Ok(Err(why)) = pending.begun.try_recv() {
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
            if at == 0 {
                self.hide(console, &why);
            }
            self.queue.remove(at);
        }
    }

    fn hide(&self, console: &Console, why: &str) {
        if self.queue.shown().is_some() {
            prompt("\n");
            console.inform(&format!("Not answered: {why}"));
        }
    }
}

impl PendingApproval {
    fn begin(now: Instant, connection: &Connection) -> io::Result<Self> {
        let seen = Arc::new(Mutex::new(Preview::default()));
        let is_decided = Arc::new(AtomicBool::new(false));
        let (result_sender, begun) = channel();
        let (shared, decided) = (Arc::clone(&seen), Arc::clone(&is_decided));
        let streams = connection.another();
        thread::Builder::new().name("transfer-asked".to_owned()).spawn(move || {
            let (mut to_peer, mut from_peer) = streams.split_untrusted();
            let mut kept = Vec::new();
            let patient = UndecidedStream { stream: &mut from_peer, is_decided: &decided };
            let result = preview(patient, &mut to_peer, &shared, &mut kept);
            let result = match result {
                Err(error) if !is_over(&decided) => Err(error.to_string()),
                _ => {
                    // Leave further data in the stream until the decision.
                    while !is_over(&decided) {
                        thread::sleep(TICK);
                    }
                    Ok((to_peer, from_peer, kept))
                }
            };
            let _ = result_sender.send(result);
        })?;
        let (connection, key) = (connection.another(), connection.peer());
        Ok(Self { connection, key, since: now, seen, is_decided, begun })
    }

    fn seen(&self) -> Preview {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn deny(connection: &Connection) {
    connection.close(code::UNAUTHORIZED, "the receiver does not accept files from this key");
}

/// Reads typed lines in a thread of its own, because reads of a terminal block.
fn lines(input: impl Read + Send + 'static) -> Receiver<String> {
    let (typed, lines) = channel();
    // Without the thread there are no answers.
    let _ = thread::Builder::new().name("answers".to_owned()).spawn(move || {
        for line in io::BufReader::new(input).lines() {
            let Ok(line) = line else { break };
            if typed.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Parses an answer; `Some(None)` for no, `None` for an unrecognised line.
fn answer(line: &str) -> Option<Option<Answer>> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Some(Answer::Always)),
        "o" | "once" => Some(Some(Answer::Once)),
        "n" | "no" => Some(None),
        _ => None,
    }
}

fn prompt_text(connection: &Connection, seen: &Preview) -> String {
    format!(
        "{} wants to send {}.\nIts key, {}, is not known. Trust it from now on (yes), for this transfer (once), or not (no)? ",
        connection.remote(),
        words(seen),
        connection.peer()
    )
}

/// Describes the offered transfer.
fn words(seen: &Preview) -> String {
    let named = seen.items.iter().map(|item| {
        // A line break in a name could forge a prompt.
        let name = one_line(&item.name);
        match item.kind {
            PreviewItemKind::File(size) => format!("{name} ({})", DecimalBytes(size)),
            PreviewItemKind::Folder => format!("{name}/"),
            PreviewItemKind::Stream => format!("a stream called {name}"),
        }
    });
    let mut named: Vec<_> = named.collect();
    let more = seen.named.saturating_sub(named.len() as u64);
    if more > 0 && !named.is_empty() {
        named.push(format!("{more} more"));
    }
    let named = named.join(", ");
    match (seen.total, named.is_empty()) {
        (Some(total), false) => {
            format!("{}, {}: {named}", counted(total.files, "file"), DecimalBytes(total.bytes.get()))
        }
        (Some(total), true) => {
            format!("{}, {}", counted(total.files, "file"), DecimalBytes(total.bytes.get()))
        }
        (None, false) if seen.is_complete => named,
        (None, false) => format!("{named} (it is still counting)"),
        (None, true) => "something".to_owned(),
    }
}

/// A stream that can be read until its sender is decided.
struct UndecidedStream<'a> {
    stream: &'a mut RecvStream,
    is_decided: &'a Arc<AtomicBool>,
}

impl Read for UndecidedStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.stream.wait_within(TICK) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_net::transfer::{PreviewItem, Total};
    use thalweg_proto::units::Bytes;

    #[test]
    fn only_three_words_are_an_answer() {
        for (line, expected) in [
            ("yes", Some(Some(Answer::Always))),
            (" Y \r", Some(Some(Answer::Always))),
            ("once", Some(Some(Answer::Once))),
            ("no", Some(None)),
            ("", None),
            ("yes please", None),
        ] {
            assert_eq!(answer(line), expected, "{line}");
        }
    }

    /// A file name from a sender cannot add lines or reverse the direction of text.
    #[test]
    fn a_name_that_is_offered_stays_a_name() {
        let item =
            PreviewItem { name: "a\nTrust it? \u{202e}\u{9b}2J".to_owned(), kind: PreviewItemKind::Folder };
        let seen = Preview { named: 1, items: vec![item], total: None, is_complete: true };
        let words = words(&seen);
        assert!(words.contains("a Trust it? \\u202e\\u009b2J/"), "{words}");
    }

    #[test]
    fn offered_items_are_named_and_counted() {
        let item = |name: &str, kind| PreviewItem { name: name.to_owned(), kind };
        let items =
            vec![item("photos", PreviewItemKind::Folder), item("notes.txt", PreviewItemKind::File(1200))];
        let total = Some(Total { files: 2001, bytes: Bytes::new(30_000_000) });
        let mut seen = Preview { named: 2, items, total, is_complete: true };
        assert_eq!(words(&seen), "2001 files, 30.00 MB: photos/, notes.txt (1.20 kB)");
        seen.named = 12;
        assert!(words(&seen).ends_with(", 10 more"));
        seen = Preview { total: None, is_complete: false, ..seen };
        assert!(words(&seen).ends_with("10 more (it is still counting)"));
        let items = vec![item("stdin", PreviewItemKind::Stream)];
        let stream = Preview { named: 1, items, total: None, is_complete: true };
        assert_eq!(words(&stream), "a stream called stdin");
        assert_eq!(words(&Preview::default()), "something");
    }

    #[test]
    fn lines_and_the_end_of_input_are_received() {
        let lines = lines(io::Cursor::new("yes\nno\n"));
        assert_eq!((lines.recv(), lines.recv()), (Ok("yes".to_owned()), Ok("no".to_owned())));
        assert!(lines.recv().is_err());
    }
}
