//! The contract of a queue discipline.

use thalweg_proto::Ecn;
use thalweg_proto::units::{Rate, Time};

/// A packet as a queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The owner's name for the packet.
    pub packet: u32,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// The flow that it belongs to.
    pub flow: u32,
    /// The priority of that flow, 1 the highest.
    pub priority: u8,
    /// Goes ahead of all ordinary packets (routers' feedback messages).
    pub urgent: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// This queue has set CE.
    pub marked: bool,
}

impl Entry {
    /// Sets CE, where the packet may have it; false where it may not and has to be dropped.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let marks = self.ecn.is_capable();
        if marks {
            (self.ecn, self.marked) = (Ecn::Ce, true);
        }
        marks
    }
}

/// The most that a queue holds, not counting the packet in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// This many packets of any size.
    Packets(u64),
    /// This many bytes: an arrival that does not fit in what is left is not stored.
    Bytes(u64),
    /// Everything (a host's own transmit queue, which its window or application bounds).
    Unlimited,
}

/// The reason for which a queue dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// There was no room.
    Full,
    /// The discipline dropped it before the queue was full (RED, CoDel, PIE).
    Early,
    /// An acknowledgement, made superfluous by a newer one ([`AckFilter`](crate::AckFilter)).
    Filtered,
}

/// A packet that a queue dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The packet.
    pub entry: Entry,
    /// The reason for which it was dropped.
    pub reason: DropReason,
}

/// A queue discipline: what is kept, in which order it leaves, what is dropped or marked.
///
/// A discipline is passive: it is asked when a packet arrives and when the line is free, and has no timers of its
/// own. Every entry that goes in comes out exactly once, with its number and size, either from
/// [`dequeue`](Discipline::dequeue) or in `dropped`. Disciplines of other crates are held to that: one that breaks it ends the
/// simulated run, by name ([`BreachKind`](crate::BreachKind)).
pub trait Discipline {
    /// A packet arrives at `now`. Whatever is dropped, be it the arrival or a packet stored earlier, is appended to
    /// `dropped`.
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<Dropped>);

    /// The line is free at `now`: the packet to send next, `None` only where none waits. Packets dropped on this occasion are appended to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Entry>;

    /// The packet that the next [`dequeue`](Discipline::dequeue) is likely to give, where that is cheap to tell: a hint
    /// for whoever wants to have it at hand.
    fn peek(&self) -> Option<&Entry> {
        None
    }

    /// The number of packets that wait.
    fn packets(&self) -> u64;

    /// The number of bytes that wait.
    fn bytes(&self) -> u64;

    /// The line sends at `rate` from now on: for disciplines whose rules need to know. Those that were never told take
    /// the line for one of unknown rate.
    fn set_rate(&mut self, _rate: Rate) {}

    /// The queue holds `limit` from `now` on. What no longer fits is appended to `dropped`: the last packets that came, or, where flows
    /// have queues of their own, those that go when the queue overflows. Disciplines of other crates, whose limits do not change, need
    /// not have it.
    fn set_limit(&mut self, _now: Time, _limit: Limit, _dropped: &mut Vec<Dropped>) {}
}
