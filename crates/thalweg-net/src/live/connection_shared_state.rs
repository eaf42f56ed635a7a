//! State shared by the handles of a connection and the thread that serves it.

use crate::endpoint::{ConnectError, Handle};
use crate::flow::Reading;
use crate::identity::PublicKey;
use crate::session::{CloseReason, SessionStats};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;
use thalweg_proto::payload::{Payload, Slice};

/// Minimum part of a split slice, in bytes: each part costs a call, and a copy at its end.
pub(super) const MIN_SPLIT: u64 = 32 << 10;

/// Maximum queued datagrams per direction. On overflow the oldest is dropped.
pub(super) const MAX_DATAGRAMS: usize = 256;

/// Stage of connection setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetupStage {
    /// Handshake in progress.
    Waiting,
    /// Connection established.
    Open(Peer),
    /// Connection setup failed.
    Failed(ConnectError),
}

/// Remote peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub key: PublicKey,
    pub remote: SocketAddr,
    pub service: String,
    pub binding: [u8; 32],
}

/// State of a pipe.
#[derive(Debug)]
pub(super) struct State {
    pub handle: Option<Handle>,
    pub opening: SetupStage,
    pub outgoing: VecDeque<Slice>,
    pub outgoing_bytes: u64,
    /// Capacity of the send queue, in bytes.
    pub send_buffer: u64,
    /// True if the application has ended the outgoing stream.
    pub fin_requested: bool,
    /// True if the application wants no more incoming data.
    pub stop_requested: bool,
    /// True once the peer has acknowledged everything.
    pub all_acknowledged: bool,
    pub incoming: Incoming,
    /// Bytes read by the application.
    pub bytes_read: u64,
    /// Gaps of missing packets: stream offset in bytes, and number of packets.
    pub holes: VecDeque<(u64, u32)>,
    pub datagrams_out: VecDeque<Slice>,
    pub datagrams_dropped: u64,
    pub datagrams_in: VecDeque<Slice>,
    pub datagrams_missed: u64,
    /// Bytes and slices read by the application but not yet reported to the thread.
    pub consumed: (u64, u32),
    /// Limit of unreported reads before the thread is notified.
    pub reading: Reading,
    /// End of the incoming stream, once it is known; true if the peer stopped early.
    pub stream_end: Option<bool>,
    /// True if the application has authorised the peer.
    pub authorise: bool,
    /// Code and reason with which the application closes the connection.
    pub close_requested: Option<(u16, String)>,
    /// Reason of the close, once the connection is closed.
    pub closed: Option<CloseReason>,
    pub stats: SessionStats,
    /// True if the statistics were read recently and may be read again.
    pub stats_wanted: bool,
    /// True if the thread is already notified of pending work.
    pub notified: bool,
    /// True if data has arrived since readers were last notified.
    pub unnotified: bool,
    /// Number of blocked callers; without any, the thread skips the wake-up.
    pub readers: u32,
    pub writers: u32,
    pub read_waker: Option<Waker>,
    pub write_waker: Option<Waker>,
    pub open_waker: Option<Waker>,
    pub datagram_waker: Option<Waker>,
}

/// Delivered data that waits to be read. Short slices are copied into blocks: each would pin its receive buffer, and a
/// peer that sends one byte per packet would pin a thousand times as much memory.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    pieces: VecDeque<Slice>,
    /// Short slices behind all others.
    short: Vec<u8>,
    bytes: u64,
}

/// Shorter slices are copied into blocks of this size, in bytes.
const COPY_BLOCK_BYTES: u32 = 1024;
const BLOCK_BYTES: usize = 8 << 10;

impl Incoming {
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the number of unread bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn push(&mut self, piece: Slice) {
        self.bytes += u64::from(piece.len());
        if piece.len() < COPY_BLOCK_BYTES {
            if self.short.len() + piece.len() as usize > BLOCK_BYTES {
                self.seal();
            }
            self.short.extend_from_slice(piece.as_bytes());
        } else {
            self.seal();
            self.pieces.push_back(piece);
        }
    }

    /// Seals the last block: later data is not merged into it.
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

    /// Appends all data to `into` and returns the number of slices.
    pub fn drain_into(&mut self, into: &mut Vec<Slice>) -> usize {
        self.seal();
        self.bytes = 0;
        let count = self.pieces.len();
        into.extend(self.pieces.drain(..));
        count
    }
}

/// Connection as shared by handles and thread.
#[derive(Debug)]
pub(super) struct Pipe {
    /// Socket thread that serves the connection.
    pub shard: usize,
    state: Mutex<State>,
    /// Signals data, end of stream or close.
    pub readable: Condvar,
    /// Signals space to write, complete delivery or close.
    pub writable: Condvar,
}

impl Pipe {
    pub fn new(shard: usize, handle: Option<Handle>, opening: SetupStage) -> Arc<Self> {
        Arc::new(Self {
            shard,
            state: Mutex::new(State {
                handle,
                opening,
                outgoing: VecDeque::new(),
                outgoing_bytes: 0,
                send_buffer: MIN_SPLIT,
                fin_requested: false,
                stop_requested: false,
                all_acknowledged: false,
                incoming: Incoming::default(),
                bytes_read: 0,
                holes: VecDeque::new(),
                datagrams_out: VecDeque::new(),
                datagrams_dropped: 0,
                datagrams_in: VecDeque::new(),
                datagrams_missed: 0,
                consumed: (0, 0),
                reading: Reading { bytes: 1, pieces: 1 },
                stream_end: None,
                authorise: false,
                close_requested: None,
                closed: None,
                stats: SessionStats::default(),
                stats_wanted: false,
                notified: false,
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
        // After a panic elsewhere, each counter and queue is still consistent.
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

    /// Notifies readers of new data, after releasing the lock that they take first.
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

    /// Delivers a datagram from the peer.
    pub fn take_datagram(&self, state: &mut State, datagram: Slice) {
        if state.datagrams_in.len() >= MAX_DATAGRAMS {
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

    /// Waits with a timeout until `state` has data or its end.
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
    /// Appends data to the send queue.
    pub fn push(&mut self, data: Slice) {
        self.outgoing_bytes += u64::from(data.len());
        self.outgoing.push_back(data);
    }

    /// Counts data read by the application. Returns true if the thread must be notified.
    pub fn count_consumed(&mut self, bytes: u64, pieces: u32) -> bool {
        self.bytes_read += bytes;
        self.consumed.0 += bytes;
        self.consumed.1 = self.consumed.1.saturating_add(pieces);
        self.consumed.0 >= self.reading.bytes || self.consumed.1 >= self.reading.pieces
    }

    /// Returns the bytes read by the application since the last call.
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
    //! Tests that unread data takes about as much memory as its size, and is read unchanged.
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
        assert_eq!(incoming.pieces.len(), 100_000 / BLOCK_BYTES, "in full blocks");
        // No piece pins the buffer.
        let mut pieces = Vec::new();
        assert_eq!(incoming.drain_into(&mut pieces), 100_000_usize.div_ceil(BLOCK_BYTES));
        assert_eq!(pieces.iter().map(|piece| piece.len() as usize).sum::<usize>(), 100_000);
        assert!(incoming.is_empty() && incoming.pop().is_none());
    }

    proptest! {
        #[test]
        fn reads_return_the_received_bytes_in_order(
            lengths in prop::collection::vec(prop_oneof![1u32..20, 1000u32..1050, Just(9000)], 0..60),
            reads in prop::collection::vec(0u8..4, 60),
        ) {
            let stream: Vec<u8> = (0..600_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
            let stream_slice = Slice::new(stream.clone());
            let (mut incoming, mut taken, mut at) = (Incoming::default(), Vec::new(), 0);
            for (length, read) in lengths.into_iter().zip(reads) {
                incoming.push(stream_slice.slice(at, at + length));
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
