//! The state that the handles of a connection and the thread that serves it share.

use crate::endpoint::{ConnectError, Handle};
use crate::flow::Reading;
use crate::identity::PublicKey;
use crate::session::{Closed, SessionStats};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;
use thalweg_proto::payload::{Payload, Slice};

/// A piece is not cut into parts shorter than this, in bytes: each costs a call, and a copy where it ends.
pub(super) const PART: u64 = 32 << 10;

/// Datagrams that wait, each way. When there are more, the oldest is dropped.
pub(super) const MOST_DATAGRAMS: usize = 256;

/// The stage that the opening of a connection has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The handshake.
    Waiting,
    /// It is there.
    Open(Peer),
    /// It is not.
    Failed(ConnectError),
}

/// The peer at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub key: PublicKey,
    pub remote: SocketAddr,
    pub service: String,
    pub binding: [u8; 32],
}

/// The state of a pipe.
#[derive(Debug)]
pub(super) struct State {
    pub handle: Option<Handle>,
    pub opening: Opening,
    pub outgoing: VecDeque<Slice>,
    pub outgoing_bytes: u64,
    /// The number of outgoing bytes that may wait.
    pub room: u64,
    pub finish: bool,
    pub stop: bool,
    /// The peer has everything.
    pub finished: bool,
    pub incoming: Incoming,
    /// Bytes that the application has taken.
    pub taken: u64,
    /// The places where packets are missing, in bytes from the beginning of the stream, and how many.
    pub holes: VecDeque<(u64, u32)>,
    pub datagrams_out: VecDeque<Slice>,
    pub datagrams_dropped: u64,
    pub datagrams_in: VecDeque<Slice>,
    pub datagrams_missed: u64,
    /// The data that the application has taken and the thread has not heard of, in bytes and pieces.
    pub consumed: (u64, u32),
    /// The most of that data that there may be before the thread hears of it.
    pub reading: Reading,
    pub ended: Option<bool>,
    /// The application deals with a peer that was a stranger.
    pub admit: bool,
    pub close: Option<(u16, String)>,
    pub closed: Option<Closed>,
    pub stats: SessionStats,
    /// Somebody has looked at them, and will perhaps look again.
    pub stats_wanted: bool,
    /// The thread has been told that there is something to do.
    pub rung: bool,
    /// Something has come since readers were told of it.
    pub unnotified: bool,
    /// Blocked callers: the thread wakes nobody who does not wait.
    pub readers: u32,
    pub writers: u32,
    pub read_waker: Option<Waker>,
    pub write_waker: Option<Waker>,
    pub open_waker: Option<Waker>,
    pub datagram_waker: Option<Waker>,
}

/// The data that was delivered and waits to be read. Short pieces are copied together: each would hold on to the
/// buffer in which it came, and a peer that sends a byte a packet would have a thousand times of it kept.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    pieces: VecDeque<Slice>,
    /// Short pieces behind all others.
    short: Vec<u8>,
    bytes: u64,
}

/// Pieces of fewer bytes are copied, into blocks of so many.
const SHORT: u32 = 1024;
const BLOCK: usize = 8 << 10;

impl Incoming {
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn push(&mut self, piece: Slice) {
        self.bytes += u64::from(piece.len());
        if piece.len() < SHORT {
            if self.short.len() + piece.len() as usize > BLOCK {
                self.seal();
            }
            self.short.extend_from_slice(piece.as_bytes());
        } else {
            self.seal();
            self.pieces.push_back(piece);
        }
    }

    /// Seals the last piece: what comes next is not joined with what is there.
    pub fn seal(&mut self) {
        if !self.short.is_empty() {
            self.pieces.push_back(Slice::new(&self.short[..]));
            self.short.clear();
        }
    }

    pub fn pop(&mut self) -> Option<Slice> {
        if self.pieces.is_empty() {
            self.seal();
        }
        let piece = self.pieces.pop_front()?;
        self.bytes -= u64::from(piece.len());
        Some(piece)
    }

    /// Appends all of it; how many pieces.
    pub fn drain_into(&mut self, into: &mut Vec<Slice>) -> usize {
        self.seal();
        self.bytes = 0;
        let count = self.pieces.len();
        into.extend(self.pieces.drain(..));
        count
    }
}

/// A connection as both sides see it.
#[derive(Debug)]
pub(super) struct Pipe {
    /// The thread of the socket that serves it.
    pub member: usize,
    state: Mutex<State>,
    /// Something to read, an end, or a close.
    pub readable: Condvar,
    /// Room to write, all has arrived, or a close.
    pub writable: Condvar,
}

impl Pipe {
    pub fn new(member: usize, handle: Option<Handle>, opening: Opening) -> Arc<Self> {
        Arc::new(Self {
            member,
            state: Mutex::new(State {
                handle,
                opening,
                outgoing: VecDeque::new(),
                outgoing_bytes: 0,
                room: PART,
                finish: false,
                stop: false,
                finished: false,
                incoming: Incoming::default(),
                taken: 0,
                holes: VecDeque::new(),
                datagrams_out: VecDeque::new(),
                datagrams_dropped: 0,
                datagrams_in: VecDeque::new(),
                datagrams_missed: 0,
                consumed: (0, 0),
                reading: Reading { bytes: 1, pieces: 1 },
                ended: None,
                admit: false,
                close: None,
                closed: None,
                stats: SessionStats::default(),
                stats_wanted: false,
                rung: false,
                unnotified: false,
                readers: 0,
                writers: 0,
                read_waker: None,
                write_waker: None,
                open_waker: None,
                datagram_waker: None,
            }),
            readable: Condvar::new(),
            writable: Condvar::new(),
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves counters and queues that are sound one by one.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn wake_readers(&self, state: &mut State) {
        if state.readers > 0 {
            self.readable.notify_all();
        }
        if let Some(waker) = state.read_waker.take() {
            waker.wake();
        }
    }

    /// Tells whoever waits to read of what has come. The lock is free by then: those who wake up take it first of all.
    pub fn notify_readers(&self) {
        let mut state = self.lock();
        state.unnotified = false;
        let (waits, waker) = (state.readers > 0 && !state.incoming.is_empty(), state.read_waker.take());
        drop(state);
        if waits {
            self.readable.notify_all();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Hands over a datagram of the peer.
    pub fn take_datagram(&self, state: &mut State, datagram: Slice) {
        if state.datagrams_in.len() >= MOST_DATAGRAMS {
            state.datagrams_in.pop_front();
            state.datagrams_missed += 1;
        }
        state.datagrams_in.push_back(datagram);
        if state.readers > 0 {
            self.readable.notify_all();
        }
        if let Some(waker) = state.datagram_waker.take() {
            waker.wake();
        }
    }

    pub fn wake_writers(&self, state: &mut State) {
        if state.writers > 0 {
            self.writable.notify_all();
        }
        if let Some(waker) = state.write_waker.take() {
            waker.wake();
        }
    }

    pub fn wake_all(&self, state: &mut State) {
        self.wake_readers(state);
        self.wake_writers(state);
        for waker in [state.open_waker.take(), state.datagram_waker.take()].into_iter().flatten() {
            waker.wake();
        }
        self.readable.notify_all();
        self.writable.notify_all();
    }

    pub fn wait_readable<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.readers += 1;
        let mut state = self.readable.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        state.readers -= 1;
        state
    }

    /// Waits until `state` has something to read or its end, for so long at most.
    pub fn wait_readable_within<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        span: std::time::Duration,
        is_there: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        state.readers += 1;
        let waited = self.readable.wait_timeout_while(state, span, |state| !is_there(state));
        let (mut state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        state.readers -= 1;
        state
    }

    pub fn wait_writable<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.writers += 1;
        let mut state = self.writable.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        state.writers -= 1;
        state
    }
}

impl State {
    /// Puts data in the queue of what goes out.
    pub fn push(&mut self, data: Slice) {
        self.outgoing_bytes += u64::from(data.len());
        self.outgoing.push_back(data);
    }

    /// Counts what the application took. True if the thread must hear of it.
    pub fn count_consumed(&mut self, bytes: u64, pieces: u32) -> bool {
        self.taken += bytes;
        self.consumed.0 += bytes;
        self.consumed.1 = self.consumed.1.saturating_add(pieces);
        self.consumed.0 >= self.reading.bytes || self.consumed.1 >= self.reading.pieces
    }

    /// The bytes that the application has taken since this was asked.
    pub fn take_consumed(&mut self) -> u64 {
        std::mem::take(&mut self.consumed).0
    }

    pub fn pop(&mut self) -> Option<Slice> {
        let data = self.outgoing.pop_front()?;
        self.outgoing_bytes -= u64::from(data.len());
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    //! Proves that what waits to be read costs about as much memory as it has bytes, and comes out as it went in.
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_byte_a_packet_is_kept_as_a_byte() {
        let buffer = Slice::new([7; 2048]);
        let mut incoming = Incoming::default();
        for _ in 0..100_000 {
            incoming.push(buffer.slice(0, 1));
        }
        assert_eq!(incoming.bytes(), 100_000);
        assert_eq!(incoming.pieces.len(), 100_000 / BLOCK, "in full blocks");
        // No piece holds on to the buffer.
        let mut pieces = Vec::new();
        assert_eq!(incoming.drain_into(&mut pieces), 100_000_usize.div_ceil(BLOCK));
        assert_eq!(pieces.iter().map(|piece| piece.len() as usize).sum::<usize>(), 100_000);
        assert!(incoming.is_empty() && incoming.pop().is_none());
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in(
            lengths in prop::collection::vec(prop_oneof![1u32..20, 1000u32..1050, Just(9000)], 0..60),
            reads in prop::collection::vec(0u8..4, 60),
        ) {
            let stream: Vec<u8> = (0..600_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
            let whole = Slice::new(stream.clone());
            let (mut incoming, mut taken, mut at) = (Incoming::default(), Vec::new(), 0);
            for (length, read) in lengths.into_iter().zip(reads) {
                incoming.push(whole.slice(at, at + length));
                at += length;
                let mut pieces = Vec::new();
                match read {
                    0 => drop(incoming.drain_into(&mut pieces)),
                    1 => pieces.extend(incoming.pop()),
                    _ => {}
                }
                pieces.iter().for_each(|piece| taken.extend_from_slice(piece.as_bytes()));
                prop_assert_eq!(taken.len() as u64 + incoming.bytes(), u64::from(at));
            }
            while let Some(piece) = incoming.pop() {
                taken.extend_from_slice(piece.as_bytes());
            }
            prop_assert!(taken[..] == stream[..at as usize]);
        }
    }
}
