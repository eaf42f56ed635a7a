//! Hosts of a live network: network namespaces, each with a TUN device.

mod error;
pub(crate) mod names;
mod namespace;
mod netlink;
mod sockets;
mod tun;

pub use error::HostError;
pub use names::serve;
pub use namespace::{Host, Names, end_with_parent, enter, make, settle};
pub use sockets::{Sockets, TcpInfo};
