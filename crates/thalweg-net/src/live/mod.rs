//! Connections over real sockets: one or more threads per socket, with blocking and asynchronous handles for
//! applications.
//!
//! The thread owns the socket and its [`Endpoint`](crate::endpoint::Endpoint). Handles and thread share a bounded pipe
//! per connection: writers wait for the network, and the peer waits for the reader.

mod buffer_pool;
mod connection_handles;
mod connection_shared_state;
mod host_capabilities;
mod host_clock;
mod host_lateness;
mod packet_steering;
mod reachability;
mod send_errors;
mod socket;
mod socket_shared_state;
mod socket_thread;
mod streams_with_holes;
mod udp_offload_socket;
mod unreliable_datagrams;
mod wakeup_coalescing;

pub use connection_handles::{Connection, NetError, RecvStream, SendStream};
pub use host_capabilities::{Findings, examine_host};
pub use host_clock::{Clock, Jumps};
pub use host_lateness::Lateness;
pub use reachability::{ClosedPortDetector, ConnectFailure, connect_reachable};
pub use socket::{Socket, SocketConfig};
pub use streams_with_holes::Part;
pub use udp_offload_socket::{Offload, UdpStats};
pub use unreliable_datagrams::MAX_DATAGRAM;
