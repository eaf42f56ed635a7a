//! What the handles of a connection and the thread that serves it share.

use crate::endpoint::{ConnectError, Handle};
use crate::flow::Reading;
use crate::identity::PublicKey;
use crate::session::{Closed, SessionStats};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;
use thalweg_proto::payload::{Payload, Slice};

/// A piece is not cut into parts shorter than this, in bytes: they would make packets that are not full.
pub(super) const PART: u64 = 32 << 10;

/// Datagrams that wait, each way. When there are more, the oldest is dropped.
pub(super) const MOST_DATAGRAMS: usize = 256;

/// What a connection is waiting for, or has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The handshake.
    Waiting,
    /// It is there.
    Open(Peer),
    /// It is not.
    Failed(ConnectError),
}

/// Who is at the other end.
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
    /// How many of them may wait.
    pub room: u64,
    pub finish: bool,
    pub stop: bool,
    /// The peer has everything.
    pub finished: bool,
    pub incoming: VecDeque<Slice>,
    /// Bytes that the application has taken.
    pub taken: u64,
    /// Where packets are missing, in bytes from the beginning of the stream, and how many.
    pub holes: VecDeque<(u64, u32)>,
    pub datagrams_out: VecDeque<Slice>,
    pub datagrams_dropped: u64,
    pub datagrams_in: VecDeque<Slice>,
    pub datagrams_missed: u64,
    /// What the application has taken and the thread has not heard of, in bytes and pieces.
    pub consumed: (u64, u32),
    /// How much of that may be.
    pub reading: Reading,
    pub ended: Option<bool>,
    pub close: Option<(u16, String)>,
    pub closed: Option<Closed>,
    pub stats: SessionStats,
    /// Somebody has looked at them, and will perhaps look again.
    pub stats_wanted: bool,
    /// The thread has been told that there is something to do.
    pub rung: bool,
    /// Something has come since readers were told of it.
    pub untold: bool,
    /// Blocked callers: the thread wakes nobody who does not wait.
    pub readers: u32,
    pub writers: u32,
    pub read_waker: Option<Waker>,
    pub write_waker: Option<Waker>,
    pub open_waker: Option<Waker>,
    pub datagram_waker: Option<Waker>,
}

/// A connection as both sides see it.
#[derive(Debug)]
pub(super) struct Pipe {
    state: Mutex<State>,
    /// Something to read, an end, or a close.
    pub readable: Condvar,
    /// Room to write, all has arrived, or a close.
    pub writable: Condvar,
}

impl Pipe {
    pub fn new(handle: Option<Handle>, opening: Opening) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                handle,
                opening,
                outgoing: VecDeque::new(),
                outgoing_bytes: 0,
                room: PART,
                finish: false,
                stop: false,
                finished: false,
                incoming: VecDeque::new(),
                taken: 0,
                holes: VecDeque::new(),
                datagrams_out: VecDeque::new(),
                datagrams_dropped: 0,
                datagrams_in: VecDeque::new(),
                datagrams_missed: 0,
                consumed: (0, 0),
                reading: Reading { bytes: 1, pieces: 1 },
                ended: None,
                close: None,
                closed: None,
                stats: SessionStats::default(),
                stats_wanted: false,
                rung: false,
                untold: false,
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
    pub fn tell_readers(&self) {
        let mut state = self.lock();
        state.untold = false;
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
