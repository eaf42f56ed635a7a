//! Datagrams beside the streams of a connection.
//!
//! A datagram is sealed like all else, goes out alone in a packet, and is never sent again. It takes no part in the scheme's
//! control of congestion: whoever sends many paces them itself. Queues are short and give up what is oldest, at both ends.

use super::connection::{Connection, NetError};
use super::pipe::{MAX_DATAGRAMS, State};
use std::future::poll_fn;
use std::task::Poll;
use thalweg_proto::payload::Slice;

/// The longest datagram, in bytes: it fits every path, whatever its size.
pub const LONGEST_DATAGRAM: usize = crate::wire::frame::LONGEST_DATAGRAM;

impl Connection {
    /// Sends a datagram of 1 to [`LONGEST_DATAGRAM`] bytes and does not wait. It arrives once or not at all, in any order, and
    /// nobody tells. Where more are given than leave, the oldest of 256 is dropped and counted
    /// ([`datagrams_dropped`](crate::session::SessionStats::datagrams_dropped)).
    ///
    /// # Errors
    /// [`NetError::DatagramSize`]; [`NetError::Closed`] once the connection has ended.
    pub fn send_datagram(&self, bytes: &[u8]) -> Result<(), NetError> {
        if !(1..=LONGEST_DATAGRAM).contains(&bytes.len()) {
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
        self.inner.ring(state);
        Ok(())
    }

    /// The next datagram of the peer. Up to 256 wait to be taken; of more the oldest are dropped and counted
    /// ([`Connection::datagrams_missed`]).
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended and no datagram is left.
    pub fn recv_datagram(&self) -> Result<Slice, NetError> {
        let mut state = self.inner.pipe.lock();
        loop {
            match next(&mut state) {
                Some(result) => return result,
                None => state = self.inner.pipe.wait_readable(state),
            }
        }
    }

    /// [`Connection::recv_datagram`], without blocking. One caller waits at a time: of several only the last is woken.
    ///
    /// # Errors
    /// [`NetError::Closed`] once the connection has ended and no datagram is left.
    pub async fn recv_datagram_async(&self) -> Result<Slice, NetError> {
        poll_fn(|context| {
            let mut state = self.inner.pipe.lock();
            match next(&mut state) {
                Some(result) => Poll::Ready(result),
                None => {
                    state.datagram_waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Datagrams of the peer that came and were dropped, because they were not taken in time.
    pub fn datagrams_missed(&self) -> u64 {
        self.inner.pipe.lock().datagrams_missed
    }
}

fn next(state: &mut State) -> Option<Result<Slice, NetError>> {
    let datagram = state.datagrams_in.pop_front().map(Ok);
    datagram.or_else(|| state.closed.clone().map(|why| Err(NetError::Closed(why))))
}
