//! Streams with holes, for schemes with partial reliability.

use super::connection_handles::{NetError, RecvStream};
use super::connection_shared_state::State;
use std::future::poll_fn;
use std::task::Poll;
use thalweg_proto::payload::{Payload as _, Slice};

/// Next part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Bytes, in order.
    Bytes(Slice),
    /// Missing packets that will not arrive.
    Hole {
        /// Number of missing packets, at least one.
        packets: u32,
    },
}

impl RecvStream {
    /// Returns the next part of the stream, in order; `None` at the end. The scheme determines the reliability: only
    /// `sstp` with `loss-tolerance` above 0 has holes, at most that share of a segment. Other read functions skip
    /// holes. A hole is counted in packets, as the size of missing packets is unknown.
    ///
    /// # Errors
    /// As [`RecvStream::read_slice`].
    pub fn read_part(&mut self) -> Result<Option<Part>, NetError> {
        if let Some(rest) = self.unread_part.take() {
            return Ok(Some(Part::Bytes(rest)));
        }
        let mut state = self.inner.pipe.lock();
        loop {
            if let Some(part) = state.pop_part() {
                return Ok(Some(self.took(state, part)));
            }
            match Self::end(&state) {
                Some(result) => return result.map(|()| None),
                None => state = self.inner.pipe.wait_readable(state),
            }
        }
    }

    /// Reads as [`RecvStream::read_part`] does, without blocking.
    ///
    /// # Errors
    /// [`NetError::Closed`] if the connection ended before the stream did, [`NetError::Stopped`] if the peer's
    /// application stopped early.
    pub async fn read_part_async(&mut self) -> Result<Option<Part>, NetError> {
        if let Some(rest) = self.unread_part.take() {
            return Ok(Some(Part::Bytes(rest)));
        }
        poll_fn(|context| {
            let mut state = self.inner.pipe.lock();
            if let Some(part) = state.pop_part() {
                return Poll::Ready(Ok(Some(self.took(state, part))));
            }
            match Self::end(&state) {
                Some(result) => Poll::Ready(result.map(|()| None)),
                None => {
                    state.read_waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn took(&self, state: std::sync::MutexGuard<'_, State>, part: Part) -> Part {
        if let Part::Bytes(piece) = &part {
            self.consumed(state, u64::from(piece.len()), 1);
        }
        part
    }
}

impl State {
    /// Records missing packets after the delivered data. Adjacent holes are merged, so there are no more holes than
    /// pieces.
    pub(super) fn push_hole(&mut self, packets: u32) {
        // No piece may extend across a hole.
        self.incoming.seal();
        let place = self.bytes_read + self.incoming.bytes();
        match self.holes.back_mut() {
            Some((last, count)) if *last == place => *count = count.saturating_add(packets),
            _ => self.holes.push_back((place, packets)),
        }
    }

    fn pop_part(&mut self) -> Option<Part> {
        // Drop the holes that other reads have skipped.
        while self.holes.pop_front_if(|(place, _)| *place < self.bytes_read).is_some() {}
        if let Some((_, packets)) = self.holes.pop_front_if(|(place, _)| *place == self.bytes_read) {
            return Some(Part::Hole { packets });
        }
        self.incoming.pop().map(Part::Bytes)
    }
}
