//! Transport-protocol engines without I/O.
//!
//! An engine is a state machine. Its driver feeds it inputs and drains its outputs. The driver is the simulator, a test
//! or a socket loop; the engine behaves the same in all of them. This crate has no clock, socket, file, thread, global
//! state or source of randomness of its own.
//!
//! - [`Engine`]: the contract between an engine and its driver.
//! - [`transport`]: inputs, events and counters shared by all families.
//! - [`window`]: the window transport (sender and receiver), with a controller from [`congestion`].
//! - [`sscop`]: SSCOP (Q.2110), with rate-based flow control.
//! - [`datagram`]: an unreliable source and sink.
//! - [`media`]: a live video source under SCReAMv2 congestion control.
//! - [`sstp`]: two-level flow control of large segments.
//! - [`handshake`]: connection establishment and termination, for engines of any family.
//! - [`router_feedback_datagram`]: feedback datagrams from routers to traffic sources.
//! - [`gate`]: priority-based admission of a node's flows to sending.
//! - [`adaptive_ack`]: adaptive acknowledgement, driven by the receiver.
//! - [`DataUnit`](pdu::DataUnit) and [`End`](endpoint::End): family-independent interfaces of PDUs and endpoints.
//! - [`Ecn`]: the ECN codepoints.
//! - [`data_unit_numbers`]: data numbering in logs.
//! - [`state_digest`]: state digests of engines, for state-space exploration.
//! - [`media_frame_counters`]: frame counters of live media.
//! - [`histogram`]: distributions of durations.
//! - [`units`]: time, rate and size. [`random`]: named random-number streams.

pub mod adaptive_ack;
pub mod congestion;
pub mod data_unit_numbers;
pub mod datagram;
mod ecn;
pub mod endpoint;
mod engine_contract;
pub mod gate;
pub mod handshake;
pub mod histogram;
pub mod media;
pub mod media_frame_counters;
mod one_way_delay;
pub mod payload;
pub mod pdu;
pub mod random;
pub mod resequencer;
pub mod router_feedback_datagram;
pub mod sscop;
pub mod sstp;
pub mod state_digest;
pub mod transport;
mod wakeup_lateness;
pub mod window;

pub use ecn::Ecn;
pub use engine_contract::{Engine, Output};
pub use thalweg_units as units;
