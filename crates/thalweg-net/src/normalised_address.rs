//! Normalised socket addresses: IPv4-mapped IPv6 addresses as IPv4.

use std::net::{SocketAddr, SocketAddrV6};

/// Returns the canonical address of a datagram received on an IPv6 socket. IPv4-mapped addresses become IPv4.
/// Link-local addresses keep their scope id, without which no reply can be sent.
pub fn unmap_ipv4(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), v6.port()),
            None => SocketAddrV6::new(*v6.ip(), v6.port(), 0, v6.scope_id()).into(),
        },
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_link_keeps_its_interface() {
        for (given_address, expected_address) in [
            ("[fe80::1%7]:99", "[fe80::1%7]:99"),
            ("[2001:db8::1]:99", "[2001:db8::1]:99"),
            ("[::ffff:192.0.2.1]:99", "192.0.2.1:99"),
            ("192.0.2.1:99", "192.0.2.1:99"),
        ] {
            assert_eq!(
                unmap_ipv4(given_address.parse().unwrap()),
                expected_address.parse().unwrap(),
                "{given_address}"
            );
        }
        let flow = SocketAddrV6::new("fe80::1".parse().unwrap(), 99, 5, 7);
        assert_eq!(
            unmap_ipv4(flow.into()),
            "[fe80::1%7]:99".parse().unwrap(),
            "flow labels tell no addresses apart"
        );
    }
}
