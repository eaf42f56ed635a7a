//! The violations that a replay finds.

use crate::trace::{PacketId, Step};
use core::fmt;
use thalweg_proto::units::{Bytes, Time};

/// A record or a result that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The time of the violation.
    pub time: Time,
    /// At which direction of which link, as in [`Record::link`](crate::trace::Record::link).
    pub link: Option<u32>,
    /// That link's name, and where it leads.
    pub place: String,
    /// The packet at fault, if it is one packet's.
    pub packet: Option<PacketId>,
    /// The fault that was found.
    pub fault: Fault,
}

/// The faults that a replay can find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A record is earlier than the one before it.
    TimeWentBack {
        /// The time of the one before.
        from: Time,
    },
    /// There is no such link or flow in the specification.
    Unknown {
        /// "link" or "flow".
        what: &'static str,
    },
    /// An endpoint's packets are not numbered one after the other.
    Misnumbered {
        /// The number that was to come.
        expected: u32,
    },
    /// A router sent a message that its queue's specification does not provide for.
    NoSuchMessage,
    /// Something was filtered that is no acknowledgement, or where there is no filter.
    NotFiltered,
    /// A sender that a gate has paused sent something.
    SentWhilePaused,
    /// A step of a packet that is nowhere in the network, or not where the step takes place.
    FromNowhere {
        /// The step.
        step: Step,
    },
    /// A packet has another size, or belongs to another flow, than when it was sent.
    Changed,
    /// A packet was at a node for some time, though nodes take none.
    Lingered {
        /// Since when.
        since: Time,
    },
    /// A transmitter began before it was done with the packet before: the link is above its rate.
    AboveRate {
        /// The time at which it was done at the earliest.
        free_at: Time,
    },
    /// A transmitter began while its rate was zero.
    Outage,
    /// A packet left a link with a capacity trace when the trace let nothing, or less than the packet, go.
    AboveCapacity {
        /// The time at which it left.
        left: Time,
    },
    /// A packet arrived too early or too late.
    WrongArrival {
        /// The earliest time at which it was to arrive.
        from: Time,
        /// And at the latest.
        to: Time,
    },
    /// A packet that should have arrived never did.
    Overdue {
        /// The latest time at which it was to arrive.
        due: Time,
    },
    /// A packet passed another on a wire that keeps the order.
    PassedOnWire {
        /// The one before it.
        before: PacketId,
    },
    /// A packet passed another in a queue that keeps the order.
    PassedInQueue {
        /// The one before it.
        before: PacketId,
    },
    /// A queue holds more than its limit.
    Overfull {
        /// Packets that wait.
        packets: u64,
        /// Their bytes.
        bytes: Bytes,
    },
    /// A packet was delivered at a node that is not its destination.
    WrongDestination,
    /// The result counts something else than the replay.
    Miscounted {
        /// The name of the count.
        what: &'static str,
        /// By the result.
        result: u64,
        /// By the replay.
        replay: u64,
    },
    /// There were more violations than are kept.
    More {
        /// The number of further violations.
        count: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}", self.time)?;
        if !self.place.is_empty() {
            write!(f, ", {}", self.place)?;
        }
        if let Some(PacketId { connection, incarnation, backward, serial, router }) = self.packet {
            let what = if router.is_some() { "message" } else { "packet" };
            let arrow = if backward { '<' } else { '>' };
            write!(f, ", {what} {connection}.{incarnation}{arrow}{serial}")?;
            if let Some(queue) = router {
                write!(f, " of queue {queue}")?;
            }
        }
        write!(f, ": {}", self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeWentBack { from } => write!(f, "the record before it is of {from}"),
            Self::Unknown { what } => write!(f, "the specification has no such {what}"),
            Self::Misnumbered { expected } => write!(f, "the endpoint's next packet has number {expected}"),
            Self::NotFiltered => write!(f, "the queue has no filter, or it is no acknowledgement"),
            Self::NoSuchMessage => write!(f, "the queue is not one that sends such a message"),
            Self::SentWhilePaused => write!(f, "its sender is paused by a gate"),
            Self::FromNowhere { step } => {
                let done = match step {
                    Step::Sent => "sent",
                    Step::Queued => "queued",
                    Step::Transmitted => "transmitted",
                    Step::Arrived => "said to arrive",
                    Step::Dropped => "dropped",
                    Step::Filtered => "filtered",
                    Step::Lost => "lost",
                    Step::Corrupted => "damaged",
                    Step::Duplicated => "duplicated",
                    Step::Delivered => "delivered",
                };
                write!(f, "it is {done}, but it is not there")
            }
            Self::Changed => write!(f, "its size or flow is not that with which it was sent"),
            Self::Lingered { since } => {
                write!(f, "it has been at the node since {since}, which takes no time")
            }
            Self::AboveRate { free_at } => {
                write!(f, "the transmitter begins, but is busy with the packet before until {free_at}")
            }
            Self::Outage => write!(f, "the transmitter begins in an outage"),
            Self::AboveCapacity { left } => {
                write!(f, "it left at {left}, when the capacity trace did not let it go")
            }
            Self::WrongArrival { from, to } if from == to => write!(f, "it was to arrive at {from}"),
            Self::WrongArrival { from, to } => write!(f, "it was to arrive between {from} and {to}"),
            Self::Overdue { due } => write!(f, "it was to arrive by {due} and has not"),
            Self::PassedOnWire { before } => {
                write!(f, "it passed packet {}>{} on the wire", before.connection, before.serial)
            }
            Self::PassedInQueue { before } => {
                write!(f, "it passed packet {}>{} in the queue", before.connection, before.serial)
            }
            Self::Overfull { packets, bytes } => {
                write!(f, "the queue holds {packets} packets of {bytes}, more than its limit")
            }
            Self::WrongDestination => write!(f, "it is delivered where it was not to go"),
            Self::Miscounted { what, result, replay } => {
                write!(f, "the result counts {result} {what}, the replay {replay}")
            }
            Self::More { count } => write!(f, "and {count} more violations"),
        }
    }
}
