//! Third-party transport stacks in the simulator.
//!
//! A stack without I/O exchanges opaque datagrams: encrypted packets with its data and its acknowledgements. It runs
//! its own handshake, loss recovery and congestion control. [`Stack`] and [`Connection`] are the contract; [`scheme`]
//! makes a scheme of a stack, for the `Registry` of a program that calls `thalweg::run_with`.
//!
//! Application data is a fixed [byte pattern](byte_pattern) of bytes. They travel in the stack's packets, and the receiving end
//! compares them. A connection holds no more than the stack's own buffers, whose size is a key of the scheme, and the
//! datagrams of one transmission.
//!
//! Simulated time is passed to every call ([`simulated_instant`] converts it for stacks that take [`std::time::Instant`]). Random
//! numbers come from the seed of the run and the connection ([`random`]). Two runs with the same seed are therefore
//! equal to the byte.
//!
//! Stacks are not trusted. A stack ends the run, with its name, the flow and the simulated time, if it panics, asks to
//! be woken in the past, acts without end at one instant, delivers other bytes than were written, or sends datagrams
//! that no path carries. A call that does not return ends the process ([`hang_watchdog`]).

/// Passes the events of a connection to its endpoint, and the answers back: for stacks with the interface of `quinn-proto`,
/// whose types differ. `$poll` is the connection's method for such events.
#[macro_export]
macro_rules! exchange_events {
    ($endpoint:expr, $handle:expr, $connection:expr, $poll:ident) => {
        while let Some(event) = $connection.$poll() {
            if let Some(event) = $endpoint.handle_event($handle, event) {
                $connection.handle_event(event);
            }
        }
    };
}

pub mod byte_pattern;
mod datagram;
mod engine;
pub mod hang_watchdog;
mod scheme;
pub mod simulated_instant;
pub mod stack_qlog_files;
mod stack_trait;

pub use datagram::Datagram;
pub use engine::End;
pub use scheme::{Config, Datagrams, scheme};
pub use stack_trait::{Connection, Side, Stack, State, Stats, Transmit};
pub use thalweg_proto::Ecn;
pub use thalweg_proto::transport::Failure;
pub use thalweg_proto::units::{Duration, Rate, Time};
pub use thalweg_stack_random as random;
