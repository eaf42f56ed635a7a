//! Exhaustive exploration: every state that a pair of engines can come into over a channel that misbehaves within bounds.
//!
//! A small number of messages is written at one end. From the first state on, everything that may happen does: a packet
//! arrives, is lost, copied or held back; a timer expires, in its turn or before it. Each of the four faults may happen so
//! often and no more ([`Bounds`]), so that the states are finite and all of them are visited, in breadth-first order.
//!
//! In every state these are checked:
//!
//! - what is delivered is what was written, in order and once;
//! - the sender believes in the end only when everything has been delivered;
//! - once the channel behaves, everything is delivered and the sender learns of it, by timers that expire when they are
//!   due. So no state is a dead end, and none leads round in a circle;
//! - the rules that a protocol has beyond that ([`Scheme::asked`], [`Scheme::check_rest`]).
//!
//! # Time
//!
//! Each end has a clock of its own, which moves only when one of its timers expires: packets take any time, so that
//! nothing else is lost by that. While nothing is on its way, the timer that is due first expires first, and both clocks
//! move; a timer that expires out of its turn (packets were slow, or the other end's clock was) is a fault and counted.
//! States are compared by digests of what decides the future, with times as spans from now
//! ([`Digest`](thalweg_proto::digest::Digest)).
//!
//! A sender that waits for its rate may go on at any time: before the packets on their way arrive, or after. That is no fault.
//! Nor is an application that is slow to read ([`Bounds::slow_reader`]): it takes each byte before any other step or after it.
//! What it has not read is on its way to it, so a timer that expires meanwhile is out of its turn. Else the time until it
//! reads, and the round trips that ends may take it for, would know no bound.
//!
//! [`search_endless`] explores differently: with time, and a stream without end.
//!
//! # Why not a model checker from the shelf
//!
//! Crates such as `stateright` explore actors written for them, from several threads. Here the engines are the very ones
//! that are simulated and deployed, the outcome must be the same on every machine, and the search is some two hundred
//! lines. That is less than an adapter, and no dependency.

mod adaptive_ack;
#[cfg(test)]
mod alike;
mod channel;
mod controlled;
mod digest;
mod endless;
mod scheme;
mod schemes;
mod search;
mod sscop;
mod sstp;
mod tag;
mod trail;
mod visited;
mod window;

pub use adaptive_ack::AdaptiveAck;
pub use channel::End;
pub use controlled::Controlled;
pub use digest::Fnv;
pub use endless::{Endless, search_endless};
pub use scheme::Scheme;
pub use schemes::{SCHEMES, acknowledgement, bounds, explore, has_flow_control};
pub use search::{Counterexample, Outcome, search};
pub use sscop::Sscop;
pub use sstp::Sstp;
pub use tag::Tag;
pub use visited::Visited;
pub use window::Window;

use thalweg_proto::units::Bytes;

/// The bounds of a search: what may happen, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The window in packets; of two-level flow control in segments.
    pub window: u32,
    /// Packets written.
    pub messages: u32,
    /// Packets lost, in either direction.
    pub losses: u8,
    /// Packets copied.
    pub duplicates: u8,
    /// Packets held back, so that others pass them.
    pub delays: u8,
    /// Timers that expire while packets are on their way or something waits to be read, or before one at the other end that is due earlier.
    pub expiries: u8,
    /// The application takes what is delivered a byte at a time, each at any time: the receiver must withhold its window.
    pub slow_reader: bool,
    /// Stop when the states take more memory than that.
    pub memory: Bytes,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            window: 3,
            messages: 5,
            losses: 2,
            duplicates: 1,
            delays: 0,
            expiries: 1,
            slow_reader: false,
            memory: Bytes::new(1_000_000_000),
        }
    }
}
