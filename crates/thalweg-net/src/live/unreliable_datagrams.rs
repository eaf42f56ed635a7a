//! Unreliable datagrams beside the streams of a connection.
//!
//! A datagram is encrypted like all else, travels alone in a packet and is never retransmitted. It is outside the
//! scheme's congestion control: an application that sends many must pace them itself. Queues at both ends are short and
//! drop the oldest datagram.

use super::connection_handles::{Connection, NetError};
use super::connection_shared_state::{MAX_DATAGRAMS, State};
use std::future::poll_fn;
use std::task::Poll;
use thalweg_proto::payload::Slice;

/// Maximum datagram size, in bytes; it fits every path MTU.
pub const MAX_DATAGRAM: usize = crate::wire::frame::MAX_DATAGRAM;

impl Connection {
    /// Sends a datagram of 1 to [`MAX_DATAGRAM`] bytes without waiting. It arrives at most once, in any order,
    /// without an acknowledgement. If the queue of 256 overflows, the oldest is dropped and counted
    /// ([`datagrams_dropped`](crate::session::SessionStats::datagrams_dropped)).
    ///
    /// # Errors
    /// [`NetError::DatagramSize`]; [`NetError::Closed`] once the connection has ended.
    pub fn send_datagram(&self, bytes: &[u8]) -> Result<(), NetError> {
        if !(1..=MAX_DATAGRAM).contains(&bytes.len()) {
            return Err(NetError::DatagramSize);
        }
        let datagram = Slice::new(bytes);
        let mut state = self.inner.pipe.lock();
        if let Some(why) = &state.closed {
            return Err(NetError::Closed(why.clone()));
        }
        if state.datagrams_out.len() >= MAX_DATAGRAMS {
            state.datagrams_out.pop_front();
            state.datagrams_dropped += 1;
        }
        state.datagrams_out.push_back(datagram);
        self.inner.wake(state);
        Ok(())
    }

    /// Receives the peer's next datagram. Up to 256 are queued; on overflow the oldest is dropped and counted
    /// ([`Connection::datagrams_missed`]).
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended and no datagram is left.
    pub fn recv_datagram(&self) -> Result<Slice, NetError> {
        let mut state = self.inner.pipe.lock();
        loop {
            match next_received(&mut state) {
                Some(result) => return result,
                None => state = self.inner.pipe.wait_readable(state),
            }
        }
    }

    /// Receives as [`Connection::recv_datagram`] does, without blocking. Only one caller may wait: of several, the last
    /// is woken.
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended and no datagram is left.
    pub async fn recv_datagram_async(&self) -> Result<Slice, NetError> {
        poll_fn(|context| {
            let mut state = self.inner.pipe.lock();
            match next_received(&mut state) {
                Some(result) => Poll::Ready(result),
                None => {
                    state.datagram_waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Returns the number of the peer's datagrams dropped because the application did not read them in time.
    pub fn datagrams_missed(&self) -> u64 {
        self.inner.pipe.lock().datagrams_missed
    }
}

fn next_received(state: &mut State) -> Option<Result<Slice, NetError>> {
    let datagram = state.datagrams_in.pop_front().map(Ok);
    datagram.or_else(|| state.closed.clone().map(|why| Err(NetError::Closed(why))))
}
