//! Recording of packets, or none: chosen when the event loop is compiled, so that a run without a trace does not pay for it.

use crate::kept::Kept;
use crate::trace::{Record, Step, Tracer};
use crate::wheel::Place;
use core::fmt;

/// A way of tracing: what [`Tracer`] has, or nothing at all.
pub(crate) trait Tracing {
    /// False when nothing is recorded.
    const ENABLED: bool;
    /// True where records are kept, to be put in order among those of other parts of the run.
    const KEEPS: bool = false;
    /// False where a step at a link needs no record.
    #[inline]
    fn wants(&self, _step: Step, _link: u32) -> bool {
        true
    }
    fn record(&mut self, place: Place, record: &Record<'_>);
    fn gate(&mut self, place: Place, connection: u32, paused: bool);
    fn warm(&mut self, place: Place);
    /// A connection of a flow opens; it is the flow's answers where it is a reply.
    fn open(&mut self, _place: Place, _connection: u32, _flow: u32, _reply: bool) {}
    /// The records that were kept.
    fn kept(&mut self) -> Option<&mut Vec<Kept>> {
        None
    }
}

/// Nothing is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untraced;

impl Tracing for Untraced {
    const ENABLED: bool = false;
    fn record(&mut self, _place: Place, _record: &Record<'_>) {}
    fn gate(&mut self, _place: Place, _connection: u32, _paused: bool) {}
    fn warm(&mut self, _place: Place) {}
}

/// A tracer, of whatever type.
pub(crate) struct Traced(pub Box<dyn Tracer>);

impl fmt::Debug for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Traced")
    }
}

impl Tracing for Traced {
    const ENABLED: bool = true;
    fn record(&mut self, _place: Place, record: &Record<'_>) {
        self.0.record(record);
    }
    fn gate(&mut self, place: Place, connection: u32, paused: bool) {
        self.0.gate(place.time, connection, paused);
    }
    fn warm(&mut self, place: Place) {
        self.0.warm(place.time);
    }
}
