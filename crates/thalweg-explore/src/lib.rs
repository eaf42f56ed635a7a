//! Exhaustive exploration of a pair of engines over a channel with bounded faults.
//!
//! One endpoint sends a small number of messages. From the first state on, every possible event is explored: a packet
//! arrives, is lost, duplicated or delayed; a timer expires, when due or early. [`Bounds`] limits the number of each of
//! the four faults. The states are therefore finite, and all are visited, in breadth-first order.
//!
//! Checked in every state:
//!
//! - delivered data equals written data, in order and once;
//! - the sender reports completion only when everything has been delivered;
//! - once the channel has no more faults, everything is delivered and the sender learns of it, by timers that expire
//!   when due. So no state is a dead end, and there is no livelock;
//! - further rules of the protocol ([`Scheme::requested`], [`Scheme::check_rest`]).
//!
//! # Time
//!
//! Each endpoint has a clock of its own, which advances only when one of its timers expires: packets may take any time,
//! so this loses no behaviour. While nothing is in flight, the earliest timer expires first, and both clocks advance.
//! An expiry out of order (slow packets, or a slow clock at the other endpoint) is a fault and counted. States are
//! compared by digests of the state that determines the future, with times as spans from now
//! ([`Digest`](thalweg_proto::state_digest::Digest)).
//!
//! A paced sender may continue at any time, before or after the packets in flight arrive. That is not a fault. Nor is an
//! application that reads slowly ([`Bounds::slow_reader`]): it reads each byte before or after any other step. Unread
//! data counts as in flight to it, so a timer that expires meanwhile is early. Otherwise the time until it reads, and
//! the round-trip times measured from it, would be unbounded.
//!
//! [`search_endless`] explores differently: with time, and an endless stream.
//!
//! # Comparison with existing model checkers
//!
//! Crates such as `stateright` explore actors written for them, from several threads. This crate explores
//! the engines that are simulated and deployed, and its outcome is the same on every machine. The search has some two
//! hundred lines, fewer than an adapter to such a crate, and needs no dependency.

mod adaptive_ack;
mod breadth_first_search;
mod counterexample_trace;
#[cfg(test)]
mod digest_equivalence;
mod endpoint_pair;
mod explorable_protocols;
mod explored_protocol;
mod explored_state;
mod fnv_hash;
mod livelock_search;
mod sscop;
mod sstp;
mod tagged_payload;
mod visited_states;
mod window;
mod window_with_controller;

pub use adaptive_ack::AdaptiveAck;
pub use breadth_first_search::{Counterexample, SearchOutcome, search};
pub use endpoint_pair::End;
pub use explorable_protocols::{
    SCHEMES, acknowledgement_mode, default_bounds, explore_protocol, has_flow_control,
};
pub use explored_protocol::Scheme;
pub use fnv_hash::Fnv;
pub use livelock_search::{EndlessStream, search_endless};
pub use sscop::Sscop;
pub use sstp::Sstp;
pub use tagged_payload::Tag;
pub use visited_states::VisitedStates;
pub use window::Window;
pub use window_with_controller::ControlledWindow;

use thalweg_proto::units::Bytes;

/// The bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Window in packets; in segments for two-level flow control.
    pub window: u32,
    /// Packets written.
    pub messages: u32,
    /// Packets lost, in either direction.
    pub losses: u8,
    /// Packets duplicated.
    pub duplicates: u8,
    /// Packets delayed beyond later ones.
    pub delays: u8,
    /// Early timer expiries: while packets are in flight or data is unread, or before an earlier timer of the other
    /// endpoint.
    pub expiries: u8,
    /// The application reads delivered data one byte at a time, at any time; the receiver must close its window.
    pub slow_reader: bool,
    /// Memory limit for the states; the search stops beyond it.
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
