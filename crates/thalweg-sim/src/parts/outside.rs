//! Real hosts at nodes of a network: the packets that have arrived for them, and the flows between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_proto::Ecn;
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::{Rate, Time};

/// The name of real flows in results, where others have that of their scheme.
pub const SCHEME: &str = "live";

/// A packet at the end of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time at which it is there.
    pub at: Time,
    /// The flow that it belongs to.
    pub flow: u32,
    /// The ECN codepoint that it has now.
    pub ecn: Ecn,
    /// A wire has damaged it.
    pub damaged: bool,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// A router's message at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The time at which it is there.
    pub at: Time,
    /// The connection whose source it is for.
    pub connection: u32,
    /// Its content. Of a packet that was dropped it has the serial number that [`Live::enter`](crate::live::Live::enter) gave.
    pub feedback: Feedback,
}

/// One direction of a link in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineNow {
    /// Its rate, which is the mean one where a capacity trace rules; zero in an outage.
    pub rate: Rate,
    /// Bytes transmitted since the beginning.
    pub bytes: u64,
    /// Packets that wait.
    pub waiting: u64,
    /// Packets that the queue dropped and the wire lost since the beginning.
    pub lost: u64,
    /// Packets marked since the beginning.
    pub marks: u64,
}

/// A packet that waits at a gate.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub priority: u8,
    pub ecn: Ecn,
    pub bytes: Vec<u8>,
}

/// The hosts outside of a simulation whose packets cross its network.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// The packets that have arrived and that nobody has fetched, in the order of time.
    pub arrived: Vec<Arrival>,
    /// The connections that a gate holds back, with what waits there.
    pub paused: BTreeMap<u32, VecDeque<Held>>,
    /// The bytes that wait at gates.
    pub held_bytes: u64,
    /// The gate of each node.
    pub gates: Vec<u16>,
    /// The messages of routers that have come to their sources.
    pub messages: Vec<Message>,
    /// The connections whose sources understand such messages.
    pub listening: BTreeSet<u32>,
    /// Those of others are told by CE in their next packet that leaves the queue.
    pub translates: bool,
    /// The queues from which a packet of a connection is to leave with CE.
    pub due: BTreeSet<(u32, u32)>,
    /// Connections that were closed, to be used again.
    pub vacant: Vec<u32>,
    /// The number of the entry that stands for real hosts among those of the simulation.
    pub host: u32,
    /// The position among transports of the one of real packets.
    pub transport: u32,
}
