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
//! - [`sstp`]: two-level flow control of large segments.
//! - [`handshake`]: connections that open and close, around engines of any family.
//! - [`gate`]: which flows of a node may send, by their priorities.
//! - [`aack`]: adaptive acknowledgement, in which the receiver drives the reports.
//! - [`DataUnit`](pdu::DataUnit) and [`End`](end::End): the PDUs and ends of connections of any family, for those who treat all alike.
//! - [`Ecn`]: the codepoints of explicit congestion notification.
//! - [`numbers`]: the numbers of data in logs.
//! - [`digest`]: what tells states of an engine apart.
//! - [`units`]: time, rate and size. [`random`]: named streams of random numbers.

pub mod aack;
pub mod congestion;
pub mod datagram;
pub mod digest;
mod ecn;
pub mod end;
mod engine;
pub mod gate;
pub mod handshake;
mod lateness;
pub mod numbers;
pub mod payload;
pub mod pdu;
pub mod random;
pub mod sscop;
pub mod sstp;
pub mod transport;
pub mod window;

pub use ecn::Ecn;
pub use engine::{Engine, Output};
pub use thalweg_units as units;
