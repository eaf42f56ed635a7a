//! Blocking and asynchronous handles of a connection, for applications.

use super::buffer_pool::Pool;
use super::connection_shared_state::{MIN_SPLIT, Peer, Pipe, SetupStage, State};
use super::socket_shared_state::SocketThreads;
use crate::endpoint::ConnectError;
use crate::identity::PublicKey;
use crate::session::{CloseReason, SessionStats, code};
use crate::wire::VERSION;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::transport::Failure;

/// Error of a connection attempt, a connection or a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetError {
    /// Connection setup failed.
    Connect(ConnectError),
    /// Connection closed.
    Closed(CloseReason),
    /// Stream reset: the peer's application stopped before it had sent everything.
    Stopped,
    /// Local stream already finished or stopped; nothing more can be written.
    Finished,
    /// Datagram empty or longer than [`MAX_DATAGRAM`](super::MAX_DATAGRAM).
    DatagramSize,
    /// A thread of the socket has ended.
    Over,
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(ConnectError::NoAnswer) => {
                f.write_str("no answer: nothing listens there, or UDP is blocked on the path (a firewall, a NAT)")
            }
            Self::Connect(ConnectError::Unsendable(number)) => {
                write!(f, "this host cannot send to it: {}", io::Error::from_raw_os_error(*number))
            }
            Self::Connect(ConnectError::WrongKey(key)) => {
                write!(f, "the peer that answered has the unexpected key {key}")
            }
            Self::Connect(ConnectError::PathMtuTooSmall) => f.write_str(
                "the peer answers, but not large packets: the path must carry those of 1228 bytes (of 1248 over IPv6)",
            ),
            Self::Connect(ConnectError::Version(theirs)) => write!(
                f,
                "the peer uses version {theirs} of the protocol, this end version {VERSION}: use the same release at both"
            ),
            Self::Connect(ConnectError::NameTooLong) => f.write_str("a name is too long to be sent"),
            Self::Closed(CloseReason::Here) => f.write_str("it was closed at this end"),
            Self::Closed(CloseReason::Peer { code, reason }) if reason.is_empty() => {
                write!(f, "the peer closed the connection (code {code})")
            }
            Self::Closed(CloseReason::Peer { code, reason }) => {
                write!(f, "the peer closed the connection: {reason} (code {code})")
            }
            Self::Closed(CloseReason::Silent) => f.write_str("the peer timed out"),
            Self::Closed(CloseReason::Unsendable(number)) => {
                let error = io::Error::from_raw_os_error(*number);
                write!(f, "the peer timed out, and this host could not send to it: {error}")
            }
            Self::Closed(CloseReason::Reset) => {
                f.write_str(
                    "the peer no longer knows the connection: it restarted, or timed out",
                )
            }
            Self::Closed(CloseReason::PathMtuTooSmall) => {
                f.write_str("the path no longer carries packets of 1228 bytes (of 1248 over IPv6)")
            }
            Self::Closed(CloseReason::Forgeries) => f.write_str("too many packets were forged"),
            Self::Closed(CloseReason::Protocol) => f.write_str("the peer sent an invalid frame"),
            Self::Closed(CloseReason::Failed(Failure::ContractViolation(violation))) => write!(f, "{violation}"),
            Self::Closed(CloseReason::Failed(Failure::FalseAcknowledgement)) => {
                f.write_str("the peer acknowledged data that had not been sent to it")
            }
            Self::Closed(CloseReason::Failed(failure)) => write!(f, "the transport aborted: {failure:?}"),
            Self::Stopped => f.write_str("the peer stopped before it had sent everything"),
            Self::Finished => f.write_str("the stream was finished before"),
            Self::DatagramSize => f.write_str("a datagram is empty or too long"),
            Self::Over => f.write_str("the socket is gone"),
        }
    }
}

impl std::error::Error for NetError {}

impl From<NetError> for io::Error {
    fn from(error: NetError) -> Self {
        let kind = match &error {
            NetError::Connect(
                ConnectError::NoAnswer | ConnectError::Unsendable(_) | ConnectError::PathMtuTooSmall,
            )
            | NetError::Closed(CloseReason::Silent | CloseReason::Unsendable(_)) => io::ErrorKind::TimedOut,
            NetError::Connect(ConnectError::Version(_)) => io::ErrorKind::Unsupported,
            NetError::Connect(ConnectError::WrongKey(_)) => io::ErrorKind::PermissionDenied,
            NetError::Connect(ConnectError::NameTooLong) | NetError::DatagramSize => {
                io::ErrorKind::InvalidInput
            }
            NetError::Closed(CloseReason::Reset) => io::ErrorKind::ConnectionReset,
            NetError::Closed(_) | NetError::Stopped => io::ErrorKind::ConnectionAborted,
            NetError::Finished => io::ErrorKind::BrokenPipe,
            NetError::Over => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

/// State shared by all handles of a connection. Dropping the last handle closes the connection.
#[derive(Debug)]
pub(super) struct SharedHandle {
    pub(super) pipe: Arc<Pipe>,
    running: Arc<SocketThreads>,
    peer: Peer,
}

impl Drop for SharedHandle {
    fn drop(&mut self) {
        let mut state = self.pipe.lock();
        if state.closed.is_none() {
            state.close_requested.get_or_insert((code::DONE, String::new()));
            self.wake(state);
        }
    }
}

impl SharedHandle {
    /// Notifies the thread of pending work, unless already notified.
    pub(super) fn wake(&self, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.notified, true) {
            drop(state);
            self.running.wake(&self.pipe);
        }
    }

    fn close(&self, code: u16, reason: &str) {
        let mut state = self.pipe.lock();
        if state.closed.is_none() {
            state.close_requested.get_or_insert((code, reason.to_owned()));
            self.wake(state);
        }
    }
}

/// Connection with mutually known keys: one byte stream and datagrams in each direction.
#[derive(Debug)]
pub struct Connection {
    pub(super) inner: Arc<SharedHandle>,
}

impl Connection {
    pub(super) fn opened(running: &Arc<SocketThreads>, pipe: Arc<Pipe>) -> Result<Self, NetError> {
        let (opening, closed) = {
            let state = pipe.lock();
            (state.opening.clone(), state.closed.clone())
        };
        match (opening, closed) {
            (SetupStage::Open(peer), _) => {
                Ok(Self { inner: Arc::new(SharedHandle { pipe, running: Arc::clone(running), peer }) })
            }
            (SetupStage::Failed(error), _) => Err(NetError::Connect(error)),
            (SetupStage::Waiting, closed) => Err(closed.map_or(NetError::Over, NetError::Closed)),
        }
    }

    /// Returns the peer's key.
    pub fn peer(&self) -> PublicKey {
        self.inner.peer.key
    }

    /// Returns the channel binding: bytes that only the two endpoints of this connection share, even with a man in the
    /// middle. They differ per connection and are not secret.
    pub fn binding(&self) -> &[u8; 32] {
        &self.inner.peer.binding
    }

    /// Returns the peer's address at connection setup.
    pub fn remote(&self) -> SocketAddr {
        self.inner.peer.remote
    }

    /// Returns the service that the client requested.
    pub fn service(&self) -> &str {
        &self.inner.peer.service
    }

    /// Returns counters and estimates: at most a few hundredths of a second old while data moves, else no older than
    /// the last call.
    pub fn stats(&self) -> SessionStats {
        let mut state = self.inner.pipe.lock();
        let mut stats = state.stats;
        stats.datagrams_dropped += state.datagrams_dropped;
        if state.closed.is_none() {
            state.stats_wanted = true;
            self.inner.wake(state);
        }
        stats
    }

    /// Closes the connection immediately. Undelivered data is lost. Applications use codes from [`code::APPLICATION`]
    /// on, and [`code::DONE`].
    pub fn close(&self, code: u16, reason: &str) {
        self.inner.close(code, reason);
    }

    /// Returns the close reason; `None` while the connection is open.
    pub fn closed(&self) -> Option<CloseReason> {
        self.inner.pipe.lock().closed.clone()
    }

    /// Returns another handle of the connection, to observe or close it.
    #[must_use]
    pub fn another_handle(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }

    /// Authorises the peer: normal limits apply from now on. A socket that accepts any key leaves this to its
    /// application and limits a peer until then ([`Limits`](crate::endpoint::Limits)): it sends at most three bytes per
    /// byte received and buffers 64 KiB. Peers with a configured trusted key, and servers, need no call.
    pub fn authorise(&self) {
        let mut state = self.inner.pipe.lock();
        state.authorise = true;
        self.inner.wake(state);
    }

    /// Authorises the peer ([`Connection::authorise`]) and returns the two streams.
    pub fn split(self) -> (SendStream, RecvStream) {
        self.authorise();
        self.split_untrusted()
    }

    /// Returns the two streams without authorising the peer: enough to identify it.
    pub fn split_untrusted(self) -> (SendStream, RecvStream) {
        let receive = RecvStream { inner: Arc::clone(&self.inner), unread_part: None };
        let pool = Pool::new(MAX_AT_ONCE, MAX_COPIES);
        (SendStream { inner: self.inner, is_over: false, pool }, receive)
    }
}

/// Stream to the peer.
#[derive(Debug)]
pub struct SendStream {
    inner: Arc<SharedHandle>,
    is_over: bool,
    /// Buffers for copies of large writes: fresh memory costs more than the copy.
    pool: Pool,
}

impl SendStream {
    /// Writes a slice without copying it and blocks until all of it is queued. The queue holds at most a tenth of a
    /// second of data, within bounds. Small queued slices share packets.
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended, [`NetError::Finished`] once this stream has; part of the
    /// slice may have been written.
    pub fn write_slice(&mut self, data: Slice) -> Result<(), NetError> {
        let mut rest = data;
        loop {
            let mut state = self.inner.pipe.lock();
            while !self.has_room(&state)? {
                state = self.inner.pipe.wait_writable(state);
            }
            let room = (state.send_buffer - state.outgoing_bytes).max(MIN_SPLIT);
            let room = u32::try_from(room).unwrap_or(u32::MAX);
            if rest.len() <= room {
                self.push(state, rest);
                return Ok(());
            }
            self.push(state, rest.slice(0, room));
            rest = rest.slice(room, rest.len());
        }
    }

    /// Writes a slice as [`SendStream::write_slice`] does, without blocking; accepts the whole slice as soon as there
    /// is any space.
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended, [`NetError::Finished`] once this stream has.
    pub async fn write_slice_async(&mut self, data: Slice) -> Result<(), NetError> {
        poll_fn(|context| {
            let mut state = self.inner.pipe.lock();
            match self.has_room(&state) {
                Ok(true) => {
                    self.push(state, data.clone());
                    Poll::Ready(Ok(()))
                }
                Ok(false) => {
                    state.write_waker = Some(context.waker().clone());
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await
    }

    fn has_room(&self, state: &State) -> Result<bool, NetError> {
        if let Some(why) = &state.closed {
            return Err(NetError::Closed(why.clone()));
        }
        if self.is_over {
            return Err(NetError::Finished);
        }
        Ok(state.outgoing_bytes < state.send_buffer)
    }

    fn push(&self, mut state: MutexGuard<'_, State>, data: Slice) {
        if !data.is_empty() {
            state.push(data);
            self.inner.wake(state);
        }
    }

    /// Finishes the stream and waits until the peer has acknowledged all data and the end.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ends before that.
    pub fn finish(&mut self) -> Result<(), NetError> {
        self.begin_finish();
        let mut state = self.inner.pipe.lock();
        loop {
            match Self::is_finished(&state) {
                Some(result) => return result,
                None => state = self.inner.pipe.wait_writable(state),
            }
        }
    }

    /// Finishes the stream as [`SendStream::finish`] does, without blocking.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ends before that.
    pub async fn finish_async(&mut self) -> Result<(), NetError> {
        self.begin_finish();
        poll_fn(|context| {
            let mut state = self.inner.pipe.lock();
            match Self::is_finished(&state) {
                Some(result) => Poll::Ready(result),
                None => {
                    state.write_waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn begin_finish(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            let mut state = self.inner.pipe.lock();
            state.fin_requested = true;
            self.inner.wake(state);
        }
    }

    fn is_finished(state: &State) -> Option<Result<(), NetError>> {
        if state.all_acknowledged {
            return Some(Ok(()));
        }
        state.closed.clone().map(|why| Err(NetError::Closed(why)))
    }

    /// Resets the stream: unsent data is dropped and the peer is notified.
    pub fn stop(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            let mut state = self.inner.pipe.lock();
            state.outgoing.clear();
            state.outgoing_bytes = 0;
            state.stop_requested = true;
            self.inner.wake(state);
        }
    }
}

impl Write for SendStream {
    /// Copies up to 256 KiB; [`SendStream::write_slice`] copies nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MAX_AT_ONCE)];
        let copy = if bytes.len() < MAX_AT_ONCE / 2 {
            Slice::new(bytes)
        } else {
            let mut buffer = self.pool.take();
            buffer.bytes()[..bytes.len()].copy_from_slice(bytes);
            // The cast is lossless: `bytes` is bounded above.
            self.pool.lend(buffer).slice(0, bytes.len() as u32)
        };
        self.write_slice(copy)?;
        Ok(bytes.len())
    }

    /// Nothing is buffered here.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stream from the peer.
#[derive(Debug)]
pub struct RecvStream {
    pub(super) inner: Arc<SharedHandle>,
    /// Unread part of the last slice.
    pub(super) unread_part: Option<Slice>,
}

impl RecvStream {
    /// Returns the next slice without copying it; `None` at the end. The slice pins memory of the socket: copy data
    /// that is kept for long.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ended before the stream did, [`NetError::Stopped`] if the peer's
    /// application stopped early.
    pub fn read_slice(&mut self) -> Result<Option<Slice>, NetError> {
        if let Some(rest) = self.unread_part.take() {
            return Ok(Some(rest));
        }
        let mut state = self.inner.pipe.lock();
        loop {
            if let Some(piece) = state.incoming.pop() {
                self.consumed(state, u64::from(piece.len()), 1);
                return Ok(Some(piece));
            }
            match Self::end(&state) {
                Some(result) => return result.map(|()| None),
                None => state = self.inner.pipe.wait_readable(state),
            }
        }
    }

    /// Waits at most `span` until there is data or the end of the stream. Returns false on timeout.
    pub fn wait_within(&self, span: std::time::Duration) -> bool {
        let is_there = |state: &State| !state.incoming.is_empty() || Self::end(state).is_some();
        let pipe = &self.inner.pipe;
        self.unread_part.is_some() || is_there(&pipe.wait_readable_within(pipe.lock(), span, is_there))
    }

    /// Appends all available slices to `into`, at least one unless the stream has ended. Cheaper than single reads.
    ///
    /// # Errors
    /// As [`RecvStream::read_slice`].
    pub fn read_slices(&mut self, into: &mut Vec<Slice>) -> Result<usize, NetError> {
        let before = into.len();
        into.extend(self.unread_part.take());
        let mut state = self.inner.pipe.lock();
        loop {
            if !state.incoming.is_empty() {
                let bytes = state.incoming.bytes();
                state.incoming.drain_into(into);
                self.consumed(state, bytes, into.len() - before);
                return Ok(into.len() - before);
            }
            if into.len() > before {
                return Ok(into.len() - before);
            }
            match Self::end(&state) {
                Some(result) => return result.map(|()| 0),
                None => state = self.inner.pipe.wait_readable(state),
            }
        }
    }

    /// Reads to the end and keeps only the last `max` bytes. Returns the total number of bytes, which `progress` shows
    /// meanwhile, and the kept bytes.
    ///
    /// # Errors
    /// As [`RecvStream::read_slice`].
    pub fn read_tail(&mut self, max: usize, progress: &AtomicU64) -> Result<(u64, Vec<u8>), NetError> {
        let (mut bytes, mut pieces) = (0, Vec::new());
        // The fewest trailing slices that contain the requested bytes.
        let (mut last, mut held) = (VecDeque::new(), 0);
        while self.read_slices(&mut pieces)? > 0 {
            for piece in pieces.drain(..) {
                bytes += u64::from(piece.len());
                held += piece.len() as usize;
                last.push_back(piece);
                while let Some(gone) =
                    last.pop_front_if(|first: &mut Slice| held - first.len() as usize >= max)
                {
                    held -= gone.len() as usize;
                }
            }
            progress.store(bytes, Ordering::Relaxed);
        }
        let mut tail: Vec<u8> = last.iter().flat_map(Slice::as_bytes).copied().collect();
        tail.drain(..tail.len().saturating_sub(max));
        Ok((bytes, tail))
    }

    /// Reads as [`RecvStream::read_slice`] does, without blocking.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ended before the stream did, [`NetError::Stopped`] if the peer's
    /// application stopped early.
    pub async fn read_slice_async(&mut self) -> Result<Option<Slice>, NetError> {
        if let Some(rest) = self.unread_part.take() {
            return Ok(Some(rest));
        }
        poll_fn(|context| self.poll_slice(context)).await
    }

    fn poll_slice(&self, context: &mut Context<'_>) -> Poll<Result<Option<Slice>, NetError>> {
        let mut state = self.inner.pipe.lock();
        if let Some(piece) = state.incoming.pop() {
            self.consumed(state, u64::from(piece.len()), 1);
            return Poll::Ready(Ok(Some(piece)));
        }
        match Self::end(&state) {
            Some(result) => Poll::Ready(result.map(|()| None)),
            None => {
                state.read_waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Notifies the thread of large amounts only; it learns of small ones at its next delivery.
    pub(super) fn consumed(&self, mut state: MutexGuard<'_, State>, bytes: u64, pieces: usize) {
        if state.count_consumed(bytes, u32::try_from(pieces).unwrap_or(u32::MAX)) {
            self.inner.wake(state);
        }
    }

    pub(super) fn end(state: &State) -> Option<Result<(), NetError>> {
        match (state.stream_end, &state.closed) {
            (Some(false), _) => Some(Ok(())),
            (Some(true), _) => Some(Err(NetError::Stopped)),
            (None, Some(why)) => Some(Err(NetError::Closed(why.clone()))),
            (None, None) => None,
        }
    }
}

impl Read for RecvStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < into.len() {
            // Return more than one slice only if that needs no waiting.
            if read > 0 && self.unread_part.is_none() && self.inner.pipe.lock().incoming.is_empty() {
                break;
            }
            let Some(piece) = self.read_slice()? else { break };
            let length = (piece.len() as usize).min(into.len() - read);
            into[read..read + length].copy_from_slice(&piece.as_bytes()[..length]);
            read += length;
            if length < piece.len() as usize {
                // The cast is lossless: a slice's length fits.
                self.unread_part = Some(piece.slice(length as u32, piece.len()));
            }
        }
        Ok(read)
    }
}

/// Maximum bytes copied by one call of `write`.
const MAX_AT_ONCE: usize = 256 << 10;

/// Maximum number of pooled copies, 24 MiB: typically the unsent and unacknowledged data.
const MAX_COPIES: usize = 96;
