//! Packet traces: one record for every step of every packet.

use crate::Pdu;
use core::any::Any;
use thalweg_proto::Ecn;
use thalweg_proto::units::Time;

/// A packet's identity, unique within a run. Copies made by a link share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// The connection. Flows have one or two; workloads of many transfers reuse numbers.
    pub connection: u32,
    /// Number of uses of the connection's number.
    pub incarnation: u16,
    /// True for packets from the connection's receiver to its sender.
    pub backward: bool,
    /// Serial number of the packet among those of its endpoint; for feedback messages, among those of the queue.
    pub serial: u32,
    /// For a router's message to the connection's sender: the link of the queue that caused it.
    pub router: Option<u32>,
}

/// The events in the life of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An endpoint sent it, or the router whose queue is that of `link_direction`.
    Sent,
    /// It arrived at a busy transmitter and was queued.
    Queued,
    /// A transmitter began to send it.
    Transmitted,
    /// It reached the far end of a link.
    Arrived,
    /// A queue dropped it.
    Dropped,
    /// A queue dropped it as an acknowledgement superseded by a newer one.
    Filtered,
    /// It was lost in propagation.
    Lost,
    /// It was damaged in propagation: its receiver drops it on arrival.
    Corrupted,
    /// This copy was created by duplication on the link.
    Duplicated,
    /// Its endpoint received it.
    Delivered,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 10] = [
        Self::Sent,
        Self::Queued,
        Self::Transmitted,
        Self::Arrived,
        Self::Dropped,
        Self::Filtered,
        Self::Lost,
        Self::Corrupted,
        Self::Duplicated,
        Self::Delivered,
    ];
}

/// One step of one packet.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// The time of the step.
    pub time: Time,
    /// The step that the packet took.
    pub step: Step,
    /// The link direction, as a position in the simulation's table of transmitters; `u32::MAX` at endpoints.
    pub link_direction: u32,
    /// The packet's identity.
    pub packet: PacketId,
    /// The flow.
    pub flow: u32,
    /// True if its connection leads from the flow's sink to its source: responses to requests.
    pub reply: bool,
    /// Its ECN codepoint after the step.
    pub ecn: Ecn,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// The PDU that it carries.
    pub pdu: &'a Pdu,
}

/// Receives the records of a run.
pub trait Tracer: Any {
    /// Returns false if no records are wanted. A simulation calls it once, when built, and then skips all recording
    /// work.
    fn is_enabled(&self) -> bool {
        true
    }
    /// Returns false if records of a step at a link direction (`u32::MAX` for endpoints) are not needed. A run on several
    /// threads, which must order records, calls it once, when built, and may omit such records.
    fn needs(&self, _step: Step, _link_direction: u32) -> bool {
        true
    }
    /// Takes one record.
    fn record(&mut self, record: &Record<'_>);
    /// Records that a gate pauses or resumes a connection's sender.
    fn gate(&mut self, _time: Time, _connection: u32, _paused: bool) {}
    /// Records the end of the warm-up, which resets counts. Some records of the same time may follow.
    fn on_warmup_end(&mut self, _time: Time) {}
}

/// No trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    fn is_enabled(&self) -> bool {
        false
    }
    fn needs(&self, _step: Step, _link_direction: u32) -> bool {
        false
    }
    fn record(&mut self, _record: &Record<'_>) {}
}

impl<A: Tracer, B: Tracer> Tracer for (A, B) {
    fn is_enabled(&self) -> bool {
        self.0.is_enabled() || self.1.is_enabled()
    }
    fn needs(&self, step: Step, link_direction: u32) -> bool {
        self.0.needs(step, link_direction) || self.1.needs(step, link_direction)
    }
    fn record(&mut self, record: &Record<'_>) {
        self.0.record(record);
        self.1.record(record);
    }
    fn gate(&mut self, time: Time, connection: u32, paused: bool) {
        self.0.gate(time, connection, paused);
        self.1.gate(time, connection, paused);
    }
    fn on_warmup_end(&mut self, time: Time) {
        self.0.on_warmup_end(time);
        self.1.on_warmup_end(time);
    }
}

impl<T: Tracer> Tracer for Option<T> {
    fn is_enabled(&self) -> bool {
        self.as_ref().is_some_and(T::is_enabled)
    }
    fn needs(&self, step: Step, link_direction: u32) -> bool {
        self.as_ref().is_some_and(|tracer| tracer.needs(step, link_direction))
    }
    fn record(&mut self, record: &Record<'_>) {
        if let Some(tracer) = self {
            tracer.record(record);
        }
    }
    fn gate(&mut self, time: Time, connection: u32, paused: bool) {
        if let Some(tracer) = self {
            tracer.gate(time, connection, paused);
        }
    }
    fn on_warmup_end(&mut self, time: Time) {
        if let Some(tracer) = self {
            tracer.on_warmup_end(time);
        }
    }
}
