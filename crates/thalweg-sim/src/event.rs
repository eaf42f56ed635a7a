//! Events: what happens when their time comes, and to what.

use crate::wheel::ENTITY_BITS;

/// The purposes of events. The order is that in which events of one time are handled: what leaves makes room before
/// what arrives, and measurement sees the state after all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A scheduled change of a link.
    Change = 0,
    /// A transmitter's packet has left.
    Service = 1,
    /// The first packet on a wire arrives.
    Arrive = 2,
    /// A packet of a link arrives off the wire's order.
    Stray = 3,
    /// A host's processor is done.
    Host = 4,
    /// A flow starts.
    Start = 5,
    /// A flow's application acts.
    Application = 6,
    /// A flow's application stops.
    Stop = 7,
    /// An endpoint's timer.
    Timer = 8,
    /// A gate's timer.
    Gate = 9,
    /// A router acts of its own accord.
    Router = 10,
    /// A sample of all series is due.
    Sample = 11,
    /// The warm-up ends.
    Warm = 12,
    /// The run ends.
    End = 13,
    /// Routes are others.
    Reroute = 14,
}

/// Entities of a kind are numbered below this.
pub(crate) const MAX_ENTITIES: u32 = 1 << ENTITY_BITS;

impl Kind {
    #[inline]
    pub const fn key(self, entity: u32) -> u32 {
        ((self as u32) << ENTITY_BITS) | entity
    }

    #[inline]
    pub const fn of(key: u32) -> Self {
        match key >> ENTITY_BITS {
            0 => Self::Change,
            1 => Self::Service,
            2 => Self::Arrive,
            3 => Self::Stray,
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
