//! Connections over real sockets: a thread for each socket, or several, blocking and asynchronous handles for applications.
//!
//! The thread owns the socket and its [`Endpoint`](crate::endpoint::Endpoint). Handles and thread share a
//! pipe for each connection, which is bounded both ways: a writer waits for the network, a peer for the reader.

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
mod socket;
mod steer;
mod udp;

pub use clock::{Clock, Jumps};
pub use connection::{Connection, NetError, RecvStream, SendStream};
pub use datagram::LONGEST_DATAGRAM;
pub use examine::{Findings, examine};
pub use lateness::Lateness;
pub use part::Part;
pub use socket::{Socket, SocketConfig};
pub use udp::{Offload, UdpStats};
