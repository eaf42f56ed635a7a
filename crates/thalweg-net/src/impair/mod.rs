//! Network emulation: a relay that forwards datagrams between clients and a server, and impairs them like a network
//! path.
//!
//! Each direction is a [`LinkDirection`]: a queue with a discipline, a transmitter with a rate, and a wire that delays, loses,
//! duplicates, corrupts and reorders. These are the processes of the simulator (`thalweg-queue`), so a seed fixes the
//! pattern: the n-th datagram of a direction gets the same impairment in each run. Arrival times do not depend on the
//! seed, so queue drops may differ between runs.
//!
//! [`LinkDirection`] is sans-I/O and has no clock. [`Relay`] is the event loop with sockets.

mod impairment_options;
mod link_direction;
mod relay_event_loop;

pub use impairment_options::{DirectionError, DirectionSpec, MtuChange, Span};
pub use link_direction::{DelayedDatagram, LinkDirection, LinkDirectionStats};
pub use relay_event_loop::{Relay, RelayConfig, RelayStats};
