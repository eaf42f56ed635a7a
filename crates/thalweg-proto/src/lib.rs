//! Transport-protocol engines without I/O.
//!
//! An engine is a value: a state machine that its driver feeds and drains. The driver may be the simulator, a
//! test or a socket loop; the engine cannot tell which. Nothing in this crate has a clock, a socket, a file, a
//! thread, a global, or randomness that was not handed in.
//!
//! - [`Engine`]: the one contract between an engine and its driver.
//! - [`transport`]: the words an endpoint and its application speak.
//! - [`window`]: the window transport (sender and receiver), with a controller from [`congestion`].
//! - [`sscop`]: SSCOP (Q.2110), with rate-based flow control.
//! - [`datagram`]: an unreliable source and sink.
//! - [`media`]: a live video source, which follows the network by SCReAMv2.
//! - [`sstp`]: two-level flow control of large segments.
//! - [`handshake`]: connections that open and close, around engines of any family.
//! - [`told`]: routers' messages to the sources of flows, as datagrams.
//! - [`gate`]: which flows of a node may send, by their priorities.
//! - [`aack`]: adaptive acknowledgement, in which the receiver drives the reports.
//! - [`DataUnit`](pdu::DataUnit) and [`End`](end::End): the PDUs and ends of connections of any family, for those who treat all alike.
//! - [`Ecn`]: the codepoints of explicit congestion notification.
//! - [`numbers`]: the numbers of data in logs.
//! - [`digest`]: what tells states of an engine apart.
//! - [`frames`]: the counts of live media.
//! - [`histogram`]: distributions of durations.
//! - [`units`]: time, rate and size. [`random`]: named streams of random numbers.

pub mod aack;
pub mod congestion;
pub mod datagram;
pub mod digest;
mod ecn;
pub mod end;
mod engine;
pub mod frames;
pub mod gate;
pub mod handshake;
pub mod histogram;
mod lateness;
pub mod media;
pub mod numbers;
pub mod payload;
pub mod pdu;
pub mod random;
pub mod resequence;
pub mod sscop;
pub mod sstp;
pub mod told;
pub mod transport;
pub mod window;

pub use ecn::Ecn;
pub use engine::{Engine, Output};
pub use thalweg_units as units;
