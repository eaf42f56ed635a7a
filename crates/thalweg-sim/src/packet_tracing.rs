//! Packet tracing, a type parameter of the event loop: untraced runs pay nothing for it.

use crate::buffered_trace_record::BufferedRecord;
use crate::event_queue::EventOrder;
use crate::packet_trace::{Record, Step, Tracer};
use core::fmt;

/// A tracing mode: pass events to a [`Tracer`], buffer them, or do nothing. `order` is the position of the event in a
/// single-threaded run.
pub(crate) trait Tracing {
    /// False when nothing is recorded.
    const ENABLED: bool;
    /// True if records are buffered for a merge with those of other partitions.
    const BUFFERS: bool = false;
    /// Returns false if a step at a link needs no record.
    #[inline]
    fn wants(&self, _step: Step, _link: u32) -> bool {
        true
    }
    /// Records a step of a packet.
    fn record(&mut self, order: EventOrder, record: &Record<'_>);
    /// Records that a gate pauses or resumes the sender of a connection.
    fn gate(&mut self, order: EventOrder, connection: u32, paused: bool);
    /// Records the end of the warm-up.
    fn on_warmup_end(&mut self, order: EventOrder);
    /// Records that a connection of a flow opens; `reply` marks the connection of responses.
    fn open(&mut self, _order: EventOrder, _connection: u32, _flow: u32, _reply: bool) {}
    /// Returns the buffered records, if this mode buffers.
    fn buffered(&mut self) -> Option<&mut Vec<BufferedRecord>> {
        None
    }
}

/// The tracing mode that records nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untraced;

impl Tracing for Untraced {
    const ENABLED: bool = false;
    fn record(&mut self, _order: EventOrder, _record: &Record<'_>) {}
    fn gate(&mut self, _order: EventOrder, _connection: u32, _paused: bool) {}
    fn on_warmup_end(&mut self, _order: EventOrder) {}
}

/// The tracing mode that passes each event to a tracer at once.
pub(crate) struct DirectTracing(pub Box<dyn Tracer>);

impl fmt::Debug for DirectTracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Traced")
    }
}

impl Tracing for DirectTracing {
    const ENABLED: bool = true;
    fn record(&mut self, _order: EventOrder, record: &Record<'_>) {
        self.0.record(record);
    }
    fn gate(&mut self, order: EventOrder, connection: u32, paused: bool) {
        self.0.gate(order.time, connection, paused);
    }
    fn on_warmup_end(&mut self, order: EventOrder) {
        self.0.on_warmup_end(order.time);
    }
}
