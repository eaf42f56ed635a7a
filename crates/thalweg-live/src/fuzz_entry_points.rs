//! Entry points for fuzzing: the parsers of bytes from programs in a live network, and of files and replies of the
//! host.

use crate::gateway::name_server;
use crate::gso;
use crate::host::namespace::{dropped_in, resolved_by};
use crate::host::{addresses_and_routes, tcp_info};
use crate::tun_queue::Offload;
use std::net::{IpAddr, SocketAddr};

pub use crate::tun_queue::HEADER;

/// Answers a message to the name server of a host that knows `server`; `None` where there must be no answer.
pub fn dns_answer(message: &[u8]) -> Option<Vec<u8>> {
    let addresses = vec![IpAddr::from([10, 71, 0, 2]), IpAddr::from([0xfd74, 0, 0, 0, 0, 0, 0, 2])];
    crate::host::dns_server::NodeAddresses::new([("server".to_owned(), addresses)]).answer(message)
}

/// Splits a GSO buffer, preceded by the device's header, into packets; returns their lengths.
pub fn split_gso_buffer(header: [u8; HEADER], bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    gso::split_gso_buffer(Offload::parse(header), bytes, |packet| lengths.push(packet.len()));
    lengths
}

/// Returns the name server of a text of `/etc/resolv.conf`, and that of the same text with `server` in its place.
pub fn name_servers(text: &str, server: IpAddr) -> [Option<SocketAddr>; 2] {
    [name_server(text), name_server(&resolved_by(text, &server.to_string()))]
}

/// Returns the packets that a device dropped, by a text of `/proc/net/dev`.
pub fn parse_dropped_packets(text: &str) -> u64 {
    dropped_in(text)
}

/// Parses a reply of rtnetlink; returns true for an acknowledgement.
pub fn is_acknowledged(reply: &[u8]) -> bool {
    addresses_and_routes::parse_acknowledgement(reply).is_ok()
}

/// Parses a reply of sock_diag; returns the number of connections.
pub fn count_sock_diag_connections(reply: &[u8]) -> usize {
    let mut found = Vec::new();
    // Connections before an error count.
    let _ = tcp_info::read(reply, &mut found);
    found.len()
}
