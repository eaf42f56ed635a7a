//! Inbox of a sender: a thread of its own reads the receiver's messages, so the receiver never blocks on a sender that
//! is writing.

use crate::transfer::frame_io::FrameReader;
use crate::transfer::transfer_error::{Error, Fault, FaultKind};
use crate::transfer::transfer_messages::{
    MAX_OUTSTANDING_DIGESTS, MAX_OUTSTANDING_OFFERS, ToSender, VERSION,
};
use crate::transfer::transfer_progress::Progress;
use crate::transfer::tree_hash::Digest;
use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// Each outstanding offer causes at most one answer and one end; digests come on request. A receiver that queues more
/// before the sender reads violates the protocol.
const MAX_QUEUED_MESSAGES: usize = 2 * MAX_OUTSTANDING_OFFERS + MAX_OUTSTANDING_DIGESTS as usize + 16;

/// Total time for which a sender with a write error waits for the receiver's reason.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// Digests of the receiver's blocks from `first` on.
pub struct ReceivedDigests {
    pub first_block: u64,
    pub digests: Vec<Digest>,
}

/// Ordered messages from the receiver.
pub struct Inbox {
    /// Received messages; `None` is a wake-up.
    frames: Receiver<Result<Option<ToSender>, Error>>,
    /// Messages read ahead of their processing.
    later: VecDeque<ToSender>,
    /// Offers that these messages give up.
    failed: HashSet<u64>,
    /// A wake-up arrived while nothing waited.
    is_woken: bool,
}

/// Waker of a sender that waits for the receiver.
pub struct InboxWaker(SyncSender<Result<Option<ToSender>, Error>>);

impl InboxWaker {
    /// Wakes the sender for other work.
    pub fn wake(&self) {
        // A full inbox wakes the sender anyway.
        let _ = self.0.try_send(Ok(None));
    }
}

impl Inbox {
    /// Reads `stream` until it ends. A live waker keeps the channel open, so the end is reported only once.
    pub fn new<R: Read + Send + 'static>(
        stream: R,
        progress: Arc<Progress>,
    ) -> io::Result<(Self, InboxWaker)> {
        let (sender, frames) = sync_channel(MAX_QUEUED_MESSAGES);
        let waker = InboxWaker(sender.clone());
        // The thread ends with the stream; nothing joins it.
        std::thread::Builder::new()
            .name("transfer-inbox".to_owned())
            .spawn(move || receive_frames(FrameReader::new(stream), &sender, &progress))?;
        Ok((Self { frames, later: VecDeque::new(), failed: HashSet::new(), is_woken: false }, waker))
    }

    /// Waits for the next frame; `None` on a wake-up since the last wait.
    pub fn wait(&mut self) -> Result<Option<ToSender>, Error> {
        match self.pop() {
            Some(frame) => Ok(Some(frame)),
            None if std::mem::take(&mut self.is_woken) => Ok(None),
            None => self.frames.recv().unwrap_or_else(|_| Err(connection_ended_error())),
        }
    }

    /// Returns the next frame if one has arrived.
    pub fn poll(&mut self) -> Result<Option<ToSender>, Error> {
        match self.pop() {
            Some(frame) => Ok(Some(frame)),
            None => self.take_arrived(),
        }
    }

    fn pop(&mut self) -> Option<ToSender> {
        let frame = self.later.pop_front()?;
        if let ToSender::Failed { id, .. } = frame {
            self.failed.remove(&id);
        }
        Some(frame)
    }

    fn push(&mut self, frame: ToSender) {
        if let ToSender::Failed { id, .. } = frame {
            self.failed.insert(id);
        }
        self.later.push_back(frame);
    }

    /// Returns true if the receiver has given up an offer. Messages read on the way stay queued.
    pub fn has_failed(&mut self, id: u64) -> Result<bool, Error> {
        while self.later.len() < MAX_QUEUED_MESSAGES
            && let Some(frame) = self.take_arrived()?
        {
            self.push(frame);
        }
        Ok(self.failed.contains(&id))
    }

    /// Waits for the next digests; other messages stay queued. Returns `None` if the receiver gives up the file first.
    pub fn wait_for_digests(&mut self, id: u64) -> Result<Option<ReceivedDigests>, Error> {
        loop {
            if self.has_failed(id)? {
                return Ok(None);
            }
            let is_digests =
                |frame: &ToSender| matches!(frame, ToSender::Digests { id: of, .. } if *of == id);
            if let Some(at) = self.later.iter().position(is_digests)
                && let Some(ToSender::Digests { first_block, digests, .. }) = self.later.remove(at)
            {
                return Ok(Some(ReceivedDigests { first_block, digests }));
            }
            let Some(frame) = self.frames.recv().unwrap_or_else(|_| Err(connection_ended_error()))? else {
                self.is_woken = true;
                continue;
            };
            if self.later.len() >= MAX_QUEUED_MESSAGES {
                return Err(Error::Protocol("it sends more than was requested".to_owned()));
            }
            self.push(frame);
        }
    }

    /// Returns why the receiver ended the transfer, such as a refusal, or `error` if no reason arrives in time.
    pub fn wait_for_reason(&mut self, error: Error) -> Error {
        let deadline = Instant::now() + REASON_TIMEOUT;
        loop {
            match self.frames.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                // Frames and wake-ups have none: a refusal is an error.
                Ok(Ok(_)) => {}
                Ok(Err(Error::ConnectionEnded(_)))
                | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return error;
                }
                Ok(Err(other)) => return other,
            }
        }
    }

    fn take_arrived(&mut self) -> Result<Option<ToSender>, Error> {
        loop {
            match self.frames.try_recv() {
                Ok(Ok(None)) => self.is_woken = true,
                Ok(frame) => return frame,
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Err(connection_ended_error()),
            }
        }
    }
}

fn connection_ended_error() -> Error {
    Error::ConnectionEnded(io::ErrorKind::UnexpectedEof.into())
}

fn receive_frames<R: Read>(
    mut stream: FrameReader<R>,
    replies: &SyncSender<Result<Option<ToSender>, Error>>,
    progress: &Progress,
) {
    let mut is_first = true;
    loop {
        let frame = match stream.next() {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                let _ = replies.send(Err(connection_ended_error()));
                return;
            }
            Err(error) => {
                let _ = replies.send(Err(error));
                return;
            }
        };
        let outcome = match frame {
            ToSender::Progress { bytes } => {
                progress.set_bytes(bytes);
                continue;
            }
            ToSender::Paused { paused } => {
                progress.set_held(paused);
                continue;
            }
            ToSender::Hello { version } if is_first => {
                is_first = false;
                if version == VERSION {
                    progress.on_accepted();
                    // The sender may offer more now.
                    let _ = replies.try_send(Ok(None));
                    continue;
                }
                let text = format!("it uses version {version}, this program {VERSION}");
                Err(Error::EndedByPeer(Fault::new(FaultKind::Version, text)))
            }
            ToSender::AwaitingApproval if is_first => {
                progress.set_awaiting_approval(true);
                continue;
            }
            ToSender::Refuse { fault } => Err(Error::EndedByPeer(fault)),
            _ if is_first => Err(Error::Protocol("it does not begin with a greeting".to_owned())),
            frame => Ok(Some(frame)),
        };
        let is_over = outcome.is_err();
        match replies.try_send(outcome) {
            Ok(()) if !is_over => {}
            Err(TrySendError::Full(_)) => {
                let _ = replies.send(Err(Error::Protocol("it sends more than was requested".to_owned())));
                return;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_wait_for_a_reason_has_one_deadline() {
        let (sender, frames) = sync_channel(1);
        let mut inbox = Inbox { frames, later: VecDeque::new(), failed: HashSet::new(), is_woken: false };
        let waker = InboxWaker(sender);
        let start = Instant::now();
        // Wake-ups at intervals below the timeout do not extend the wait.
        let waking = std::thread::spawn(move || {
            while start.elapsed() < 4 * REASON_TIMEOUT {
                std::thread::sleep(REASON_TIMEOUT / 4);
                waker.wake();
            }
        });
        let reason = inbox.wait_for_reason(Error::ConnectionEnded(io::ErrorKind::BrokenPipe.into()));
        assert!(matches!(reason, Error::ConnectionEnded(error) if error.kind() == io::ErrorKind::BrokenPipe));
        assert!((REASON_TIMEOUT..3 * REASON_TIMEOUT).contains(&start.elapsed()), "{:?}", start.elapsed());
        drop(inbox);
        waking.join().unwrap();
    }

    #[test]
    fn a_refusal_is_the_reason() {
        let (sender, frames) = sync_channel(2);
        let mut inbox = Inbox { frames, later: VecDeque::new(), failed: HashSet::new(), is_woken: false };
        sender.send(Ok(None)).unwrap();
        sender.send(Err(Error::EndedByPeer(FaultKind::DiskFull.into()))).unwrap();
        let reason = inbox.wait_for_reason(Error::ConnectionEnded(io::ErrorKind::BrokenPipe.into()));
        assert!(matches!(reason, Error::EndedByPeer(fault) if fault.kind == FaultKind::DiskFull));
    }

    #[test]
    fn a_wakeup_before_the_wait_is_not_lost() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut inbox, waker) = Inbox::new(here, Arc::new(Progress::new())).unwrap();
        waker.wake();
        assert!(inbox.poll().unwrap().is_none(), "a wake-up is not a frame");
        drop(there);
        assert!(inbox.wait().unwrap().is_none(), "the wake-up is reported");
        assert!(matches!(inbox.wait(), Err(Error::ConnectionEnded(_))), "and reported once");
    }
}
