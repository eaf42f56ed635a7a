//! A connection in the hands of an application.

use super::pipe::{Opening, PART, Peer, Pipe, State};
use super::pool::Pool;
use super::socket::Running;
use crate::endpoint::ConnectError;
use crate::identity::PublicKey;
use crate::session::{Closed, SessionStats, code};
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

/// The reason for which there is no connection, or not any more, or for which a call on it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetError {
    /// It could not be made.
    Connect(ConnectError),
    /// It has ended.
    Closed(Closed),
    /// The peer's application stopped before it had sent all that it meant to.
    Stopped,
    /// This end's stream has been finished or stopped: nothing more can be written.
    Finished,
    /// A datagram is empty or longer than [`LONGEST_DATAGRAM`](super::LONGEST_DATAGRAM).
    DatagramSize,
    /// A thread of the socket has ended.
    Over,
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(ConnectError::NoAnswer) => {
                f.write_str("nobody answered: nothing runs there, or UDP is blocked on the way (a firewall, a NAT)")
            }
            Self::Connect(ConnectError::WrongKey(key)) => {
                write!(f, "the one who answered has the key {key}, which is not the one expected")
            }
            Self::Connect(ConnectError::Narrow) => f.write_str(
                "somebody answers there, but not large packets: the path must carry those of 1228 bytes (of 1248 over IPv6)",
            ),
            Self::Connect(ConnectError::Version(theirs)) => write!(
                f,
                "the other end speaks version {theirs} of the protocol, this one version {VERSION}: use the same release at both"
            ),
            Self::Connect(ConnectError::Unspeakable) => f.write_str("a name is too long to be sent"),
            Self::Closed(Closed::Here) => f.write_str("it was closed at this end"),
            Self::Closed(Closed::Peer { code, reason }) if reason.is_empty() => {
                write!(f, "the peer closed the connection (code {code})")
            }
            Self::Closed(Closed::Peer { code, reason }) => {
                write!(f, "the peer closed the connection: {reason} (code {code})")
            }
            Self::Closed(Closed::Silent) => f.write_str("the peer fell silent"),
            Self::Closed(Closed::Reset) => {
                f.write_str(
                    "the peer does not know the connection any more: it was started anew, or gave up after it had heard nothing \
                     for long",
                )
            }
            Self::Closed(Closed::Narrow) => {
                f.write_str("the path does not carry packets of 1228 bytes any more (of 1248 over IPv6)")
            }
            Self::Closed(Closed::Forgeries) => f.write_str("too many packets were forged"),
            Self::Closed(Closed::Protocol) => f.write_str("the peer said something that makes no sense"),
            Self::Closed(Closed::Failed(Failure::Breach(breach))) => write!(f, "{breach}"),
            Self::Closed(Closed::Failed(Failure::FalseAcknowledgement)) => {
                f.write_str("the peer acknowledged data that had not been sent to it")
            }
            Self::Closed(Closed::Failed(failure)) => write!(f, "the transport gave up: {failure:?}"),
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
            NetError::Connect(ConnectError::NoAnswer | ConnectError::Narrow)
            | NetError::Closed(Closed::Silent) => io::ErrorKind::TimedOut,
            NetError::Connect(ConnectError::Version(_)) => io::ErrorKind::Unsupported,
            NetError::Connect(ConnectError::WrongKey(_)) => io::ErrorKind::PermissionDenied,
            NetError::Connect(ConnectError::Unspeakable) | NetError::DatagramSize => {
                io::ErrorKind::InvalidInput
            }
            NetError::Closed(Closed::Reset) => io::ErrorKind::ConnectionReset,
            NetError::Closed(_) | NetError::Stopped => io::ErrorKind::ConnectionAborted,
            NetError::Finished => io::ErrorKind::BrokenPipe,
            NetError::Over => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

/// The part that all handles of a connection hold. The last one closes it.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) pipe: Arc<Pipe>,
    running: Arc<Running>,
    peer: Peer,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut state = self.pipe.lock();
        if state.closed.is_none() {
            state.close.get_or_insert((code::DONE, String::new()));
            self.ring(state);
        }
    }
}

impl Inner {
    /// Tells the thread that there is something to do, unless it knows.
    pub(super) fn ring(&self, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.rung, true) {
            drop(state);
            self.running.ring(&self.pipe);
        }
    }

    fn close(&self, code: u16, reason: &str) {
        let mut state = self.pipe.lock();
        if state.closed.is_none() {
            state.close.get_or_insert((code, reason.to_owned()));
            self.ring(state);
        }
    }
}

/// A connection: a stream of bytes and datagrams each way, between two ends that know each other's keys.
#[derive(Debug)]
pub struct Connection {
    pub(super) inner: Arc<Inner>,
}

impl Connection {
    pub(super) fn opened(running: &Arc<Running>, pipe: Arc<Pipe>) -> Result<Self, NetError> {
        let (opening, closed) = {
            let state = pipe.lock();
            (state.opening.clone(), state.closed.clone())
        };
        match (opening, closed) {
            (Opening::Open(peer), _) => {
                Ok(Self { inner: Arc::new(Inner { pipe, running: Arc::clone(running), peer }) })
            }
            (Opening::Failed(error), _) => Err(NetError::Connect(error)),
            (Opening::Waiting, closed) => Err(closed.map_or(NetError::Over, NetError::Closed)),
        }
    }

    /// The peer's key.
    pub fn peer(&self) -> PublicKey {
        self.inner.peer.key
    }

    /// The bytes that only the two ends of this connection have in common, whatever somebody in between does: each
    /// connection has others. They are no secret.
    pub fn binding(&self) -> &[u8; 32] {
        &self.inner.peer.binding
    }

    /// The peer's address when the connection was made.
    pub fn remote(&self) -> SocketAddr {
        self.inner.peer.remote
    }

    /// The service that the client wants of the server.
    pub fn service(&self) -> &str {
        &self.inner.peer.service
    }

    /// Counters and beliefs, no older than a few hundredths of a second while data moves, and else no older than the last
    /// call.
    pub fn stats(&self) -> SessionStats {
        let mut state = self.inner.pipe.lock();
        let mut stats = state.stats;
        stats.datagrams_dropped += state.datagrams_dropped;
        if state.closed.is_none() {
            state.stats_wanted = true;
            self.inner.ring(state);
        }
        stats
    }

    /// Closes the connection now. What has not arrived is lost. Applications use codes from
    /// [`code::APPLICATION`] on, and [`code::DONE`].
    pub fn close(&self, code: u16, reason: &str) {
        self.inner.close(code, reason);
    }

    /// The reason for which the connection ended; `None` while it has not.
    pub fn closed(&self) -> Option<Closed> {
        self.inner.pipe.lock().closed.clone()
    }

    /// Another handle of the same connection, to watch or to close it by.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }

    /// Deals with the peer: from now on it may send as much as any other, and is sent whatever there is. A socket that trusts
    /// anyone leaves this to its application, and gives a peer little until then ([`Limits`](crate::endpoint::Limits)): three
    /// bytes are sent for one that came, and 64 KiB kept. Peers with a key that the socket was told to trust, and servers, need
    /// it not.
    pub fn admit(&self) {
        let mut state = self.inner.pipe.lock();
        state.admit = true;
        self.inner.ring(state);
    }

    /// The two streams, of a peer that is dealt with from now on ([`Connection::admit`]).
    pub fn split(self) -> (SendStream, RecvStream) {
        self.admit();
        self.split_untrusted()
    }

    /// The two streams, of a peer about which nothing is decided yet: enough to find out who it is.
    pub fn split_untrusted(self) -> (SendStream, RecvStream) {
        let receive = RecvStream { inner: Arc::clone(&self.inner), rest: None };
        let pool = Pool::new(MOST_AT_ONCE, MOST_COPIES);
        (SendStream { inner: self.inner, is_over: false, pool }, receive)
    }
}

/// The stream to the peer.
#[derive(Debug)]
pub struct SendStream {
    inner: Arc<Inner>,
    is_over: bool,
    /// For copies of what is written in large pieces: fresh memory costs more than the copy.
    pool: Pool,
}

impl SendStream {
    /// Writes a piece without copying it, and waits until there is room for all of it: no more waits than moves in a tenth
    /// of a second, within bounds. Small pieces that wait are joined in packets.
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended, [`NetError::Finished`] once this stream has;
    /// some of the piece may have been written.
    pub fn write_slice(&mut self, data: Slice) -> Result<(), NetError> {
        let mut rest = data;
        loop {
            let mut state = self.inner.pipe.lock();
            while !self.room(&state)? {
                state = self.inner.pipe.wait_writable(state);
            }
            let room = (state.room - state.outgoing_bytes).max(PART);
            let room = u32::try_from(room).unwrap_or(u32::MAX);
            if rest.len() <= room {
                self.push(state, rest);
                return Ok(());
            }
            self.push(state, rest.slice(0, room));
            rest = rest.slice(room, rest.len());
        }
    }

    /// [`SendStream::write_slice`], without blocking, and of a whole piece as soon as there is some room.
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended, [`NetError::Finished`] once this stream has.
    pub async fn write_slice_async(&mut self, data: Slice) -> Result<(), NetError> {
        poll_fn(|context| {
            let mut state = self.inner.pipe.lock();
            match self.room(&state) {
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

    fn room(&self, state: &State) -> Result<bool, NetError> {
        if let Some(why) = &state.closed {
            return Err(NetError::Closed(why.clone()));
        }
        if self.is_over {
            return Err(NetError::Finished);
        }
        Ok(state.outgoing_bytes < state.room)
    }

    fn push(&self, mut state: MutexGuard<'_, State>, data: Slice) {
        if !data.is_empty() {
            state.push(data);
            self.inner.ring(state);
        }
    }

    /// Ends the stream, and waits until the peer has all of it and knows that it is all.
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

    /// [`SendStream::finish`], without blocking.
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
            state.finish = true;
            self.inner.ring(state);
        }
    }

    fn is_finished(state: &State) -> Option<Result<(), NetError>> {
        if state.finished {
            return Some(Ok(()));
        }
        state.closed.clone().map(|why| Err(NetError::Closed(why)))
    }

    /// Ends the stream before everything was written. What has not been sent is dropped, and the peer learns of it.
    pub fn stop(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            let mut state = self.inner.pipe.lock();
            state.outgoing.clear();
            state.outgoing_bytes = 0;
            state.stop = true;
            self.inner.ring(state);
        }
    }
}

impl Write for SendStream {
    /// Copies up to 256 KiB; [`SendStream::write_slice`] copies nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST_AT_ONCE)];
        let copy = if bytes.len() < MOST_AT_ONCE / 2 {
            Slice::new(bytes)
        } else {
            let mut buffer = self.pool.take();
            buffer.bytes()[..bytes.len()].copy_from_slice(bytes);
            // It fits: so many bytes do.
            self.pool.lend(buffer).slice(0, bytes.len() as u32)
        };
        self.write_slice(copy)?;
        Ok(bytes.len())
    }

    /// Nothing is held back, so that there is nothing to do.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The stream from the peer.
#[derive(Debug)]
pub struct RecvStream {
    pub(super) inner: Arc<Inner>,
    /// The part that is left of the last piece.
    pub(super) rest: Option<Slice>,
}

impl RecvStream {
    /// The next piece, without copying it; `None` at the end. It holds on to memory of the socket: who keeps pieces for
    /// long copies them.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ended before the stream did, [`NetError::Stopped`] if the
    /// peer's application stopped early.
    pub fn read_slice(&mut self) -> Result<Option<Slice>, NetError> {
        if let Some(rest) = self.rest.take() {
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

    /// Waits until there is something to read, or nothing any more, for `span` at most. False if it has to be waited for longer.
    pub fn wait_within(&self, span: std::time::Duration) -> bool {
        let is_there = |state: &State| !state.incoming.is_empty() || Self::end(state).is_some();
        let pipe = &self.inner.pipe;
        self.rest.is_some() || is_there(&pipe.wait_readable_within(pipe.lock(), span, is_there))
    }

    /// All pieces that are there, at least one unless the stream is at its end, appended to `into`. Cheaper than one by one.
    ///
    /// # Errors
    /// As [`RecvStream::read_slice`].
    pub fn read_slices(&mut self, into: &mut Vec<Slice>) -> Result<usize, NetError> {
        let before = into.len();
        into.extend(self.rest.take());
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

    /// Reads to the end and keeps the last `most` bytes alone: how many there were, which `progress` tells meanwhile, and those.
    ///
    /// # Errors
    /// As [`RecvStream::read_slice`].
    pub fn read_tail(&mut self, most: usize, progress: &AtomicU64) -> Result<(u64, Vec<u8>), NetError> {
        let (mut bytes, mut pieces) = (0, Vec::new());
        // The last pieces, as few as have the bytes that matter.
        let (mut last, mut held) = (VecDeque::new(), 0);
        while self.read_slices(&mut pieces)? > 0 {
            for piece in pieces.drain(..) {
                bytes += u64::from(piece.len());
                held += piece.len() as usize;
                last.push_back(piece);
                while let Some(gone) =
                    last.pop_front_if(|first: &mut Slice| held - first.len() as usize >= most)
                {
                    held -= gone.len() as usize;
                }
            }
            progress.store(bytes, Ordering::Relaxed);
        }
        let mut tail: Vec<u8> = last.iter().flat_map(Slice::as_bytes).copied().collect();
        tail.drain(..tail.len().saturating_sub(most));
        Ok((bytes, tail))
    }

    /// [`RecvStream::read_slice`], without blocking.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ended before the stream did, [`NetError::Stopped`] if the
    /// peer's application stopped early.
    pub async fn read_slice_async(&mut self) -> Result<Option<Slice>, NetError> {
        if let Some(rest) = self.rest.take() {
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

    /// The thread hears of it when it is much, or else when it delivers more.
    pub(super) fn consumed(&self, mut state: MutexGuard<'_, State>, bytes: u64, pieces: usize) {
        if state.count_consumed(bytes, u32::try_from(pieces).unwrap_or(u32::MAX)) {
            self.inner.ring(state);
        }
    }

    pub(super) fn end(state: &State) -> Option<Result<(), NetError>> {
        match (state.ended, &state.closed) {
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
            // More than one piece only if nothing needs to be waited for.
            if read > 0 && self.rest.is_none() && self.inner.pipe.lock().incoming.is_empty() {
                break;
            }
            let Some(piece) = self.read_slice()? else { break };
            let length = (piece.len() as usize).min(into.len() - read);
            into[read..read + length].copy_from_slice(&piece.as_bytes()[..length]);
            read += length;
            if length < piece.len() as usize {
                // It fits: a piece's length does.
                self.rest = Some(piece.slice(length as u32, piece.len()));
            }
        }
        Ok(read)
    }
}

/// The most that one call of `write` copies.
const MOST_AT_ONCE: usize = 256 << 10;

/// Copies that are used again, 24 MiB: what waits to be sent and acknowledged, usually.
const MOST_COPIES: usize = 96;
