//! Messages of routers about packets that they do not forward, and answers to those that are for themselves: ICMP (RFC 792, RFC 4443).

use crate::compose::compose;
use crate::packet::{Header, ICMP, ICMP6, UDP};
use std::net::IpAddr;

/// The reason for which a packet does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It has passed as many routers as it may.
    TimeExceeded,
    /// Nothing leads there.
    NoRoute,
    /// Nobody listens there.
    NoPort,
    /// It is larger than this, which the next link takes.
    TooBig(u32),
}

/// A datagram of IPv4 of at most this size is what every host takes (RFC 1812, section 4.3.2.3), of IPv6 this (RFC 4443, section 2.4).
const LARGEST: [usize; 2] = [576, 1280];

/// The message of a router with this address about a packet; `None` where there must be none: about messages about packets, about
/// later fragments, to or from what is no single host (RFC 1122, section 3.2.2).
pub(crate) fn message(router: IpAddr, trouble: Trouble, packet: &[u8], header: &Header) -> Option<Vec<u8>> {
    let kind = packet.get(header.at).copied().unwrap_or(0);
    let is_about_packets = match header.protocol {
        ICMP => matches!(kind, 3 | 4 | 5 | 11 | 12),
        ICMP6 => kind < 128,
        _ => false,
    };
    if is_about_packets || header.is_later_fragment || !is_host(header.source) {
        return None;
    }
    let (kind, code, word) = match (router, trouble) {
        (IpAddr::V4(_), Trouble::TimeExceeded) => (11, 0, 0),
        (IpAddr::V4(_), Trouble::NoRoute) => (3, 0, 0),
        (IpAddr::V4(_), Trouble::NoPort) => (3, 3, 0),
        // The next link's MTU is in the lower half (RFC 1191, section 4).
        (IpAddr::V4(_), Trouble::TooBig(mtu)) => (3, 4, mtu & 0xffff),
        (IpAddr::V6(_), Trouble::TimeExceeded) => (3, 0, 0),
        (IpAddr::V6(_), Trouble::NoRoute) => (1, 0, 0),
        (IpAddr::V6(_), Trouble::NoPort) => (1, 4, 0),
        (IpAddr::V6(_), Trouble::TooBig(mtu)) => (2, 0, mtu),
    };
    let (around, largest) = if router.is_ipv4() { (28, LARGEST[0]) } else { (48, LARGEST[1]) };
    let mut body = vec![kind, code, 0, 0];
    body.extend(word.to_be_bytes());
    body.extend(packet.get(..packet.len().min(largest - around))?);
    message_of(router, header.source, body)
}

/// The answer of a router to a packet that is for itself: echoes come back, and nobody listens to datagrams.
pub(crate) fn answer(packet: &[u8], header: &Header) -> Option<Vec<u8>> {
    let behind = packet.get(header.at..)?;
    match (header.protocol, behind.first()?) {
        (ICMP, 8) => message_of(header.target, header.source, echo(0, behind)),
        (ICMP6, 128) => message_of(header.target, header.source, echo(129, behind)),
        (UDP, _) => message(header.target, Trouble::NoPort, packet, header),
        _ => None,
    }
}

fn echo(kind: u8, request: &[u8]) -> Vec<u8> {
    let mut body = vec![kind, 0, 0, 0];
    body.extend(request.get(4..).unwrap_or_default());
    body
}

fn message_of(source: IpAddr, target: IpAddr, body: Vec<u8>) -> Option<Vec<u8>> {
    let protocol = if source.is_ipv4() { ICMP } else { ICMP6 };
    compose(source, target, protocol, body)
}

/// One host, not many or none.
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
    use crate::packet::checksum;
    use crate::packet::tests::udp_v4;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn about(trouble: Trouble, bytes: &[u8]) -> Option<Vec<u8>> {
        message(Ipv4Addr::new(10, 0, 0, 9).into(), trouble, bytes, &Header::parse(bytes).unwrap())
    }

    #[test]
    fn messages_say_what_became_of_a_packet() {
        let packet = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 1, &[7; 2000]);
        let exceeded = about(Trouble::TimeExceeded, &packet).unwrap();
        let header = Header::parse(&exceeded).unwrap();
        assert_eq!(
            (header.source.to_string(), header.target.to_string()),
            ("10.0.0.9".to_owned(), "10.0.0.1".to_owned())
        );
        assert_eq!((&exceeded[20..22], checksum(&[&exceeded[20..]])), ([11, 0].as_slice(), 0));
        assert_eq!((exceeded.len(), &exceeded[28..]), (576, &packet[..548]));
        let big = about(Trouble::TooBig(1300), &packet).unwrap();
        assert_eq!(big[20..22], [3, 4]);
        assert_eq!(u16::from_be_bytes([big[26], big[27]]), 1300);
    }

    #[test]
    fn nothing_is_said_about_messages() {
        let packet = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 1, b"x");
        let first = about(Trouble::NoRoute, &packet).unwrap();
        assert_eq!(about(Trouble::TimeExceeded, &first), None);
        assert_eq!(about(Trouble::NoRoute, &udp_v4([224, 0, 0, 1], [10, 0, 0, 2], 1, b"x")), None);
    }

    #[test]
    fn echoes_come_back() {
        let request = message_of(
            Ipv4Addr::new(10, 0, 0, 1).into(),
            Ipv4Addr::new(10, 0, 0, 9).into(),
            vec![8, 0, 0, 0, 1, 2, 3, 4, 5],
        )
        .unwrap();
        let reply = answer(&request, &Header::parse(&request).unwrap()).unwrap();
        assert_eq!((reply[20], &reply[24..]), (0, [1, 2, 3, 4, 5].as_slice()));
        assert_eq!(checksum(&[&reply[20..]]), 0);
        let [a, b] = [1, 2].map(Ipv6Addr::from);
        let request = message_of(a.into(), b.into(), vec![128, 0, 0, 0, 1, 2, 3, 4]).unwrap();
        let reply = answer(&request, &Header::parse(&request).unwrap()).unwrap();
        // The checksum of ICMPv6 covers addresses, length and protocol (RFC 4443, section 2.3).
        let around = [b.octets().as_slice(), &a.octets(), &[0, 0, 0, 8, 0, 0, 0, 58]].concat();
        assert_eq!((reply[40], checksum(&[&around, &reply[40..]])), (129, 0));
    }
}
