//! Buffered trace records of one partition, to be merged in order with those of the others.

use crate::Pdu;
use crate::event_queue::EventOrder;
use crate::packet_trace::{PacketId, Step};
use thalweg_proto::Ecn;

/// A buffered record.
#[derive(Clone, Debug)]
pub(crate) struct BufferedRecord {
    pub order: EventOrder,
    pub what: RecordContent,
}

/// The content of a record.
#[derive(Clone, Debug)]
pub(crate) enum RecordContent {
    /// A step of a packet.
    Step { step: Step, ecn: Ecn, link: u32, packet: PacketId, size: u32, pdu: Pdu },
    /// A connection of a flow opens.
    Opened { connection: u32, flow: u32, reply: bool },
    /// A gate pauses or resumes a connection.
    Gate { connection: u32, paused: bool },
    /// The warm-up ends.
    Warm,
}
