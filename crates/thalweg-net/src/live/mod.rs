//! Connections over real sockets: one or more threads per socket, with blocking and asynchronous handles for
//! applications.
//!
//! The thread owns the socket and its [`Endpoint`](crate::endpoint::Endpoint). Handles and thread share a bounded pipe
//! per connection: writers wait for the network, and the peer waits for the reader.

mod clock;
mod coalescing;
mod connection;
mod datagram;
mod driver;
mod examine;
mod lateness;
mod part;
mod pipe;
mod pool;
mod reach;
mod socket;
mod steer;
mod threads;
mod udp;

pub use clock::{Clock, Jumps};
pub use connection::{Connection, NetError, RecvStream, SendStream};
pub use datagram::MAX_DATAGRAM;
pub use examine::{Findings, examine};
pub use lateness::Lateness;
pub use part::Part;
pub use reach::{ClosedPortDetector, ConnectFailure, reach};
pub use socket::{Socket, SocketConfig};
pub use udp::{Offload, UdpStats};
