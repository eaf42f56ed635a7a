//! The trait that queue disciplines implement.

use thalweg_proto::Ecn;
use thalweg_proto::units::{Rate, Time};

/// Queued packet, as seen by a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Owner's identifier of the packet.
    pub packet: u32,
    /// Size on the wire, in bytes.
    pub size: u32,
    /// Flow of the packet.
    pub flow: u32,
    /// Priority of the flow; 1 is the highest.
    pub priority: u8,
    /// True for feedback messages of routers. Disciplines of this crate serve them before all others, in arrival order,
    /// within the limit and without dropping others for them. This is not enforced; a discipline that ignores the flag
    /// delays the feedback.
    pub is_feedback: bool,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// True if this queue has set CE.
    pub marked: bool,
}

impl Entry {
    /// Sets CE on an ECN-capable packet; returns false if the packet must be dropped instead.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let marks = self.ecn.is_capable();
        if marks {
            (self.ecn, self.marked) = (Ecn::Ce, true);
        }
        marks
    }
}

/// Limit of a queue, excluding the packet in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Number of packets of any size.
    Packets(u64),
    /// Number of bytes: an arrival that does not fit in the rest is dropped.
    Bytes(u64),
    /// No limit (a host's own transmit queue, limited by its window or application).
    Unlimited,
}

/// Reason for dropping a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// Queue full.
    Full,
    /// Early drop by the discipline before the queue was full (RED, CoDel, PIE).
    Early,
    /// Acknowledgement superseded by a newer one ([`AckFilter`](crate::AckFilter)).
    Filtered,
}

/// Dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// Dropped entry.
    pub entry: Entry,
    /// Reason for the drop.
    pub reason: DropReason,
}

/// Queue discipline: buffer management, service order, drops and marks.
///
/// A discipline is passive: it is called when a packet arrives and when the link is free, and has no timers. A packet that
/// finds the link free bypasses it, or is enqueued and dequeued at once with
/// [`Traits::enqueues_when_link_idle`](crate::Traits::enqueues_when_link_idle). No call reports an idle link:
/// [`LinkIdle`](crate::LinkIdle) computes idle times. A FIFO with rules of its own holds a [`Fcfs`](crate::Fcfs), one with arrival
/// times a [`TimestampedQueue`](crate::TimestampedQueue). Every enqueued entry comes out exactly once, with its identifier and size,
/// either from [`dequeue`](Discipline::dequeue) or in `dropped`. A discipline may change the ECN field of an entry, by
/// [`Entry::mark`]. For external disciplines this contract is enforced: a violation aborts the simulation run and names the
/// discipline ([`ViolationKind`](crate::ViolationKind)).
pub trait Discipline {
    /// Enqueues a packet that arrives at `now`. Appends drops, of the arrival or of queued packets, to `dropped`.
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>);

    /// Dequeues the next packet for the link, free at `now`. Called only while a packet waits. Returns `None` only if the queue is empty, after drops at
    /// dequeue, which are appended to `dropped`. So every discipline is work-conserving: a link's `shaper` delays packets,
    /// and a [policer](crate::Policer) drops them.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry>;

    /// Returns the packet that the next [`dequeue`](Discipline::dequeue) will probably return, if that is cheap to
    /// tell: a prefetch hint. Not called for external disciplines.
    fn peek(&self) -> Option<&Entry> {
        None
    }

    /// Returns the number of queued packets.
    fn packets(&self) -> u64;

    /// Returns the number of queued bytes.
    fn bytes(&self) -> u64;

    /// Sets the long-run rate of the link, for disciplines that need it: after creation, and at each change of the rate.
    /// Without a call the rate is unknown.
    fn set_rate(&mut self, _rate: Rate) {}

    /// Sets the source and the destination host of the next arrival, for disciplines of this crate that isolate hosts.
    /// Not called for external disciplines.
    fn set_hosts(&mut self, _hosts: [u32; 2]) {}

    /// Changes the limit at `now`. Appends packets that no longer fit to `dropped`: the latest arrivals or, with queues
    /// per flow, those dropped on overflow. Not called for external disciplines: a scenario that schedules another
    /// capacity for one is refused.
    fn set_limit(&mut self, _now: Time, _limit: Limit, _dropped: &mut Vec<DroppedPacket>) {}
}
