//! ICMP messages of routers about undeliverable packets, and answers to packets addressed to a router (RFC 792, RFC
//! 4443).

use crate::ip_header::{Header, ICMP, ICMP6, UDP};
use crate::router_originated_packets::compose_ip_packet;
use std::net::IpAddr;

/// The reason why a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IcmpError {
    /// The TTL or hop limit expired.
    TimeExceeded,
    /// No route to the destination.
    NoRoute,
    /// Port unreachable.
    NoPort,
    /// The packet exceeds the next link's MTU, in bytes.
    TooBig(u32),
}

/// Maximum message size that every host accepts, in bytes: IPv4 (RFC 1812, section 4.3.2.3) and IPv6 (RFC 4443, section
/// 2.4).
const MAX_ICMP_BYTES: [usize; 2] = [576, 1280];

/// Returns an ICMP message about a packet from the router with this address. Returns `None` where RFC 1122, section
/// 3.2.2, forbids it: about ICMP errors, non-initial fragments, and non-unicast addresses.
pub(crate) fn icmp_error_message(
    router: IpAddr,
    error: IcmpError,
    packet: &[u8],
    header: &Header,
) -> Option<Vec<u8>> {
    let kind = packet.get(header.transport_offset).copied().unwrap_or(0);
    let is_about_packets = match header.protocol {
        ICMP => matches!(kind, 3 | 4 | 5 | 11 | 12),
        ICMP6 => kind < 128,
        _ => false,
    };
    if is_about_packets || header.is_later_fragment || !is_host(header.source) {
        return None;
    }
    let (kind, code, word) = match (router, error) {
        (IpAddr::V4(_), IcmpError::TimeExceeded) => (11, 0, 0),
        (IpAddr::V4(_), IcmpError::NoRoute) => (3, 0, 0),
        (IpAddr::V4(_), IcmpError::NoPort) => (3, 3, 0),
        // The lower half of the word holds the next hop's MTU (RFC 1191, section 4).
        (IpAddr::V4(_), IcmpError::TooBig(mtu)) => (3, 4, mtu & 0xffff),
        (IpAddr::V6(_), IcmpError::TimeExceeded) => (3, 0, 0),
        (IpAddr::V6(_), IcmpError::NoRoute) => (1, 0, 0),
        (IpAddr::V6(_), IcmpError::NoPort) => (1, 4, 0),
        (IpAddr::V6(_), IcmpError::TooBig(mtu)) => (2, 0, mtu),
    };
    let (around, largest) = if router.is_ipv4() { (28, MAX_ICMP_BYTES[0]) } else { (48, MAX_ICMP_BYTES[1]) };
    let mut body = vec![kind, code, 0, 0];
    body.extend(word.to_be_bytes());
    body.extend(packet.get(..packet.len().min(largest - around))?);
    message_of(router, header.source, body)
}

/// Returns a router's answer to a packet addressed to itself: an echo reply, or port unreachable for a datagram.
pub(crate) fn answer_to_router_packet(packet: &[u8], header: &Header) -> Option<Vec<u8>> {
    let behind = packet.get(header.transport_offset..)?;
    match (header.protocol, behind.first()?) {
        (ICMP, 8) => message_of(header.target, header.source, echo_reply(0, behind)),
        (ICMP6, 128) => message_of(header.target, header.source, echo_reply(129, behind)),
        (UDP, _) => icmp_error_message(header.target, IcmpError::NoPort, packet, header),
        _ => None,
    }
}

fn echo_reply(kind: u8, request: &[u8]) -> Vec<u8> {
    let mut body = vec![kind, 0, 0, 0];
    body.extend(request.get(4..).unwrap_or_default());
    body
}

fn message_of(source: IpAddr, target: IpAddr, body: Vec<u8>) -> Option<Vec<u8>> {
    let protocol = if source.is_ipv4() { ICMP } else { ICMP6 };
    compose_ip_packet(source, target, protocol, body)
}

/// Returns true for the unicast address of a host.
pub(crate) fn is_host(address: IpAddr) -> bool {
    let special = match address {
        IpAddr::V4(address) => address.is_broadcast() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(special || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip_header::checksum;
    use crate::ip_header::tests::udp_v4;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn icmp_error(error: IcmpError, bytes: &[u8]) -> Option<Vec<u8>> {
        icmp_error_message(Ipv4Addr::new(10, 0, 0, 9).into(), error, bytes, &Header::parse(bytes).unwrap())
    }

    #[test]
    fn messages_describe_the_error_of_a_packet() {
        let packet = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 1, &[7; 2000]);
        let exceeded = icmp_error(IcmpError::TimeExceeded, &packet).unwrap();
        let header = Header::parse(&exceeded).unwrap();
        assert_eq!(
            (header.source.to_string(), header.target.to_string()),
            ("10.0.0.9".to_owned(), "10.0.0.1".to_owned())
        );
        assert_eq!((&exceeded[20..22], checksum(&[&exceeded[20..]])), ([11, 0].as_slice(), 0));
        assert_eq!((exceeded.len(), &exceeded[28..]), (576, &packet[..548]));
        let big = icmp_error(IcmpError::TooBig(1300), &packet).unwrap();
        assert_eq!(big[20..22], [3, 4]);
        assert_eq!(u16::from_be_bytes([big[26], big[27]]), 1300);
    }

    #[test]
    fn no_error_is_sent_about_an_error() {
        let packet = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 1, b"x");
        let first = icmp_error(IcmpError::NoRoute, &packet).unwrap();
        assert_eq!(icmp_error(IcmpError::TimeExceeded, &first), None);
        assert_eq!(icmp_error(IcmpError::NoRoute, &udp_v4([224, 0, 0, 1], [10, 0, 0, 2], 1, b"x")), None);
    }

    #[test]
    fn echo_requests_are_answered() {
        let request = message_of(
            Ipv4Addr::new(10, 0, 0, 1).into(),
            Ipv4Addr::new(10, 0, 0, 9).into(),
            vec![8, 0, 0, 0, 1, 2, 3, 4, 5],
        )
        .unwrap();
        let reply = answer_to_router_packet(&request, &Header::parse(&request).unwrap()).unwrap();
        assert_eq!((reply[20], &reply[24..]), (0, [1, 2, 3, 4, 5].as_slice()));
        assert_eq!(checksum(&[&reply[20..]]), 0);
        let [a, b] = [1, 2].map(Ipv6Addr::from);
        let request = message_of(a.into(), b.into(), vec![128, 0, 0, 0, 1, 2, 3, 4]).unwrap();
        let reply = answer_to_router_packet(&request, &Header::parse(&request).unwrap()).unwrap();
        // The ICMPv6 checksum covers addresses, length and protocol (RFC 4443, section 2.3).
        let around = [b.octets().as_slice(), &a.octets(), &[0, 0, 0, 8, 0, 0, 0, 58]].concat();
        assert_eq!((reply[40], checksum(&[&around, &reply[40..]])), (129, 0));
    }
}
