//! The application's side of a sender: written data, and events that the application has not received yet.

use crate::payload::{Payload, Queue};
use crate::transport::{Event, Failure, Signal};
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

/// The state of a failed sender, which sends nothing more. The failure is reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Abort {
    None,
    Due(Failure),
    Reported,
}

/// Data and events between a sender and its application; `Q` is the queue of the payload.
#[derive(Clone, Debug)]
pub(super) struct Application<P, Q> {
    /// Data written and not yet sent.
    queue: Q,
    writable: bool,
    finishing: bool,
    finished: bool,
    signal: Option<Signal>,
    abort: Abort,
    of: PhantomData<P>,
}

impl<P: Payload, Q: Queue<P>> Application<P, Q> {
    /// Creates the state before the first write.
    pub fn new() -> Self {
        Self {
            queue: Q::default(),
            writable: false,
            finishing: false,
            finished: false,
            signal: None,
            abort: Abort::None,
            of: PhantomData,
        }
    }

    /// Returns the number of bytes written and not yet sent.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// Returns true if all written data was sent.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    /// Appends data, unless the stream has ended.
    #[inline]
    pub fn write(&mut self, data: P) {
        if !self.finishing {
            self.queue.push(data);
        }
    }

    /// Ends the stream after the written data.
    pub fn finish(&mut self) {
        self.finishing = true;
    }

    /// Ends the stream, without the data not yet sent.
    pub fn stop(&mut self) {
        self.queue = Q::default();
        self.finishing = true;
    }

    /// Takes data to send, of this length.
    #[inline]
    pub fn fill(&mut self, length: u32) -> Option<P> {
        self.queue.fill(length)
    }

    /// Asks for more data if all of it was sent.
    #[inline]
    pub fn note_sent(&mut self) {
        self.writable |= self.queue.is_empty() && !self.finishing;
    }

    /// Reports a congestion signal. A later one replaces an unread one.
    #[inline]
    pub fn report(&mut self, signal: Signal) {
        self.signal = Some(signal);
    }

    /// Ends the connection, which sends nothing more.
    #[cold]
    pub fn abort(&mut self, failure: Failure) {
        self.abort = Abort::Due(failure);
    }

    /// Returns true if the sender has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.abort != Abort::None
    }

    /// Returns true if the sender has failed or finished.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.has_failed() || self.finished
    }

    /// Returns the next event; `is_acknowledged` tells that nothing is outstanding.
    #[inline]
    pub fn next_event(&mut self, is_acknowledged: bool) -> Option<Event<P>> {
        if let Some(signal) = self.signal.take() {
            return Some(Event::Congestion(signal));
        }
        if core::mem::take(&mut self.writable) {
            return Some(Event::Writable);
        }
        if self.finishing && !self.finished && self.queue.is_empty() && is_acknowledged {
            self.finished = true;
            return Some(Event::Finished);
        }
        if let Abort::Due(failure) = self.abort {
            self.abort = Abort::Reported;
            return Some(Event::Failed(failure));
        }
        None
    }
}

impl<P, Q: Hash> Application<P, Q> {
    /// Feeds `into` with all state.
    pub fn feed_state<H: Hasher>(&self, into: &mut H) {
        let Self { queue, writable, finishing, finished, signal, abort, of: _ } = self;
        (queue, writable, finishing, finished, signal, abort).hash(into);
    }
}
