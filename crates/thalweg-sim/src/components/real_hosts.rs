//! Real hosts at nodes of a network: their flows, and the packets that have arrived for them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_proto::Ecn;
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::{Rate, Time};

/// Scheme name of real flows in results.
pub const SCHEME: &str = "live";

/// A packet at the end of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Arrival time.
    pub at: Time,
    /// Flow of the packet.
    pub flow: u32,
    /// Current ECN codepoint.
    pub ecn: Ecn,
    /// True if the packet was damaged.
    pub damaged: bool,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// A router's feedback message at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Arrival time.
    pub at: Time,
    /// Connection whose source it addresses.
    pub connection: u32,
    /// Content. For a dropped packet it has the serial number returned by [`LiveNetwork::enter`](crate::live_network::LiveNetwork::enter).
    pub feedback: Feedback,
}

/// State of one direction of a link during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Current rate; the mean rate with a capacity trace, zero in an outage.
    pub rate: Rate,
    /// Bytes transmitted since the start.
    pub bytes: u64,
    /// Number of queued packets.
    pub queued_packets: u64,
    /// Packets dropped by the queue or lost in propagation since the start.
    pub lost: u64,
    /// Packets marked since the start.
    pub marks: u64,
}

/// A packet held at a gate.
#[derive(Clone, Debug)]
pub(crate) struct HeldPacket {
    pub priority: u8,
    pub ecn: Ecn,
    pub bytes: Vec<u8>,
}

/// Real hosts whose packets cross the simulated network.
#[derive(Debug, Default)]
pub(crate) struct RealHostState {
    /// Arrived packets not collected yet, in order of time.
    pub arrived: Vec<Arrival>,
    /// Connections paused by a gate, with their held packets.
    pub paused: BTreeMap<u32, VecDeque<HeldPacket>>,
    /// Bytes held at gates.
    pub held_bytes: u64,
    /// The gate of each node.
    pub gates: Vec<u16>,
    /// Routers' messages that have reached their sources.
    pub messages: Vec<Message>,
    /// Connections whose sources handle such messages.
    pub listening: BTreeSet<u32>,
    /// True if messages for other sources are translated into CE on their next packet that leaves the queue.
    pub translates: bool,
    /// Queue and connection whose next packet leaves with CE.
    pub pending_marks: BTreeSet<(u32, u32)>,
    /// Closed connections, for reuse.
    pub vacant: Vec<u32>,
    /// Index of the host entry that represents real hosts.
    pub host: u32,
    /// Index of the transport of real packets.
    pub transport: u32,
}
