//! A relay that stands for a network: it passes datagrams on between clients and a server, and does to them what paths do.
//!
//! Each direction is a [`Line`]: a queue with a discipline, a transmitter with a rate, a wire that delays, loses, copies,
//! damages and reorders. They are the processes of the simulator (`thalweg-queue`), so that one seed gives one pattern: the
//! n-th datagram of a direction meets the same fate in each run. When datagrams come is not for the seed to say, so what a
//! queue drops may differ between runs.
//!
//! [`Line`] has no sockets and no clock. [`Relay`] is the loop that has them.

mod line;
mod relay;
mod spec;

pub use line::{Line, LineStats, Parcel};
pub use relay::{Relay, RelayConfig, RelayStats};
pub use spec::{DirectionError, DirectionSpec, Narrowing, Span};
