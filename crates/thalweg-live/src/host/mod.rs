//! Hosts of a live network: network namespaces, each with a TUN device.

mod error;
pub(crate) mod names;
pub(crate) mod namespace;
pub(crate) mod netlink;
pub(crate) mod sockets;
mod tun;

pub use error::HostError;
pub use names::serve;
pub use namespace::{Host, Names, end_with_parent, enter, make, prepare_namespace};
pub use sockets::{Sockets, TcpInfo};
