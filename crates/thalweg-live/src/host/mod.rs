//! Hosts of a live network: network namespaces, each with a TUN device.

pub(crate) mod addresses_and_routes;
pub(crate) mod dns_server;
pub(crate) mod namespace;
mod setup_error;
pub(crate) mod tcp_info;
mod tun;

pub use dns_server::serve;
pub use namespace::{Host, Names, create_host, end_with_parent, enter_namespaces, prepare_namespace};
pub use setup_error::HostError;
pub use tcp_info::{Sockets, TcpInfo};
