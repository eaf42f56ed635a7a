//! Recording of packets, or none: chosen when the event loop is compiled, so that a run without a trace does not pay for it.

use crate::trace::{Record, Tracer};
use core::fmt;
use thalweg_proto::units::Time;

/// A way of tracing: what [`Tracer`] has, or nothing at all.
pub(crate) trait Tracing {
    /// False when nothing is recorded.
    const ENABLED: bool;
    fn record(&mut self, record: &Record<'_>);
    fn gate(&mut self, time: Time, connection: u32, paused: bool);
    fn warm(&mut self, time: Time);
}

/// Nothing is recorded.
#[derive(Debug)]
pub(crate) struct Untraced;

impl Tracing for Untraced {
    const ENABLED: bool = false;
    fn record(&mut self, _record: &Record<'_>) {}
    fn gate(&mut self, _time: Time, _connection: u32, _paused: bool) {}
    fn warm(&mut self, _time: Time) {}
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
    fn record(&mut self, record: &Record<'_>) {
        self.0.record(record);
    }
    fn gate(&mut self, time: Time, connection: u32, paused: bool) {
        self.0.gate(time, connection, paused);
    }
    fn warm(&mut self, time: Time) {
        self.0.warm(time);
    }
}
