//! Connections over real sockets: one or more threads per socket, with blocking and asynchronous handles for
//! applications.
//!
//! The thread owns the socket and its [`Endpoint`](crate::endpoint::Endpoint). Handles and thread share a bounded pipe
//! per connection: writers wait for the network, and the peer waits for the reader.

mod buffer_pool;
mod clock;
mod connection;
mod connection_shared_state;
mod datagram;
mod host_capabilities;
mod lateness;
mod packet_steering;
mod partial_stream;
mod reachability;
mod socket;
mod socket_shared_state;
mod socket_thread;
mod udp;
mod wakeup_coalescing;

pub use clock::{Clock, Jumps};
pub use connection::{Connection, NetError, RecvStream, SendStream};
pub use datagram::MAX_DATAGRAM;
pub use host_capabilities::{Findings, examine};
pub use lateness::Lateness;
pub use partial_stream::Part;
pub use reachability::{ClosedPortDetector, ConnectFailure, connect_reachable};
pub use socket::{Socket, SocketConfig};
pub use udp::{Offload, UdpStats};
