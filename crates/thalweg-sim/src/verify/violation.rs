//! Violations found by a replay.

use crate::packet_trace::{PacketId, Step};
use core::fmt;
use thalweg_proto::units::{Bytes, Time};

/// An impossible record or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The time of the violation.
    pub time: Time,
    /// The link direction, as in [`Record::link_direction`](crate::packet_trace::Record::link_direction).
    pub link: Option<u32>,
    /// That link's name and destination.
    pub place: String,
    /// The packet at fault, if it is a single one.
    pub packet: Option<PacketId>,
    /// The kind of violation.
    pub fault: Fault,
}

/// Kinds of violations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A record is earlier than the one before it.
    TimeWentBack {
        /// The time of the previous record.
        from: Time,
    },
    /// The specification has no such link or flow.
    Unknown {
        /// "link" or "flow".
        what: &'static str,
    },
    /// An endpoint's packets are not numbered consecutively.
    Misnumbered {
        /// The expected number.
        expected: u32,
    },
    /// A router sent a message not provided for by its queue's specification.
    NoSuchMessage,
    /// A filtered packet is not an acknowledgement, or there is no filter.
    NotFiltered,
    /// A sender paused by a gate sent something.
    SentWhilePaused,
    /// A step of a packet that is not in the network, or not at the place of the step.
    FromNowhere {
        /// The step.
        step: Step,
    },
    /// A packet's size or flow differs from when it was sent.
    Changed,
    /// A packet stayed at a node, although nodes take no time.
    Lingered {
        /// Time of its arrival at the node.
        since: Time,
    },
    /// A transmission began before the end of the previous one: the link exceeds its rate.
    AboveRate {
        /// Earliest end of the previous transmission.
        free_at: Time,
    },
    /// A transmission began while the rate was zero.
    Outage,
    /// A packet left a link when its capacity trace allowed nothing, or less than the packet.
    AboveCapacity {
        /// Departure of the packet.
        left: Time,
    },
    /// A packet arrived too early or too late.
    WrongArrival {
        /// Earliest permitted arrival.
        from: Time,
        /// Latest permitted arrival.
        to: Time,
    },
    /// A packet that should have arrived did not.
    Overdue {
        /// Latest permitted arrival.
        due: Time,
    },
    /// A packet overtook another in propagation on a link that keeps order.
    PassedOnWire {
        /// The overtaken packet.
        before: PacketId,
    },
    /// A packet overtook another in a FIFO queue.
    PassedInQueue {
        /// The overtaken packet.
        before: PacketId,
    },
    /// A queue exceeds its limit.
    Overfull {
        /// Number of waiting packets.
        packets: u64,
        /// Number of waiting bytes.
        bytes: Bytes,
    },
    /// A packet was delivered at a node other than its destination.
    WrongDestination,
    /// A count of the result differs from that of the replay.
    Miscounted {
        /// The name of the count.
        what: &'static str,
        /// Value of the result.
        result: u64,
        /// Value of the replay.
        replay: u64,
    },
    /// There were more violations than are listed.
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
            Self::NotFiltered => write!(f, "the queue has no filter, or it is not an acknowledgement"),
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
                write!(f, "it left at {left}, without an opportunity in the capacity trace")
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
            Self::WrongDestination => write!(f, "it is delivered at a wrong node"),
            Self::Miscounted { what, result, replay } => {
                write!(f, "the result counts {result} {what}, the replay {replay}")
            }
            Self::More { count } => write!(f, "and {count} more violations"),
        }
    }
}
