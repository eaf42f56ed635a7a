//! The kinds of events, and the entities that they concern.

use crate::event_queue::ENTITY_BITS;

/// Kinds of events. The order is that of events at the same time: departures free space before arrivals, and
/// measurement sees the final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum EventKind {
    /// A scheduled change of a link takes effect.
    Change = 0,
    /// A transmitter finishes sending a packet.
    Service = 1,
    /// The first packet in propagation on a link arrives.
    Arrive = 2,
    /// A packet arrives out of the link's order.
    OutOfOrder = 3,
    /// A host's processor finishes its work.
    Host = 4,
    /// A flow starts.
    Start = 5,
    /// A flow's application acts.
    Application = 6,
    /// A flow's application stops writing.
    Stop = 7,
    /// An endpoint's timer expires.
    Timer = 8,
    /// A gate's timer expires.
    Gate = 9,
    /// A router's timer expires.
    Router = 10,
    /// A sample of all series is due.
    Sample = 11,
    /// The warm-up ends.
    Warm = 12,
    /// The run ends.
    End = 13,
    /// Routes change.
    Reroute = 14,
}

/// Number of entities of a kind; identifiers are below it.
pub(crate) const MAX_ENTITIES: u32 = 1 << ENTITY_BITS;

impl EventKind {
    #[inline]
    pub const fn key(self, entity: u32) -> u32 {
        ((self as u32) << ENTITY_BITS) | entity
    }

    #[inline]
    pub const fn from_key(key: u32) -> Self {
        match key >> ENTITY_BITS {
            0 => Self::Change,
            1 => Self::Service,
            2 => Self::Arrive,
            3 => Self::OutOfOrder,
            4 => Self::Host,
            5 => Self::Start,
            6 => Self::Application,
            7 => Self::Stop,
            8 => Self::Timer,
            9 => Self::Gate,
            10 => Self::Router,
            11 => Self::Sample,
            12 => Self::Warm,
            13 => Self::End,
            _ => Self::Reroute,
        }
    }
}
