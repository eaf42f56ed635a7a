//! Builds the IP packets that routers of a live network originate: ICMP messages and UDP datagrams.

use crate::ip_header::{ICMP, UDP, checksum, pseudo_header_sum, set_checksum_v4};
use std::net::{IpAddr, SocketAddr};

/// Initial TTL or hop limit.
const HOPS: u8 = 64;

/// Returns a packet with an ICMP message or a UDP datagram; `body` includes the transport header. Sets its checksum.
pub(crate) fn compose_ip_packet(
    source: IpAddr,
    target: IpAddr,
    protocol: u8,
    mut body: Vec<u8>,
) -> Option<Vec<u8>> {
    let length = u16::try_from(body.len()).ok()?;
    let addresses = match (source, target) {
        (IpAddr::V4(source), IpAddr::V4(target)) => [source.octets(), target.octets()].concat(),
        (IpAddr::V6(source), IpAddr::V6(target)) => [source.octets(), target.octets()].concat(),
        _ => return None,
    };
    // The IPv4 ICMP checksum covers no pseudo-header.
    let around = if protocol == ICMP { 0 } else { pseudo_header_sum(source, target, protocol, body.len()) };
    let place = if protocol == UDP { 6..8 } else { 2..4 };
    let sum = match checksum(&[&around.to_be_bytes(), &body]) {
        // In UDP, a zero field means no checksum.
        0 if protocol == UDP => u16::MAX,
        sum => sum,
    };
    body.get_mut(place)?.copy_from_slice(&sum.to_be_bytes());
    let mut packet = if source.is_ipv4() {
        let mut head = vec![0x45, 0];
        head.extend(length.checked_add(20)?.to_be_bytes());
        head.extend([0, 0, 0x40, 0, HOPS, protocol, 0, 0]);
        head.extend(addresses);
        set_checksum_v4(&mut head);
        head
    } else {
        let mut head = vec![0x60, 0, 0, 0];
        head.extend(length.to_be_bytes());
        head.extend([protocol, HOPS]);
        head.extend(addresses);
        head
    };
    packet.append(&mut body);
    Some(packet)
}

/// Returns a UDP datagram.
pub(crate) fn compose_udp_datagram(
    source: SocketAddr,
    target: SocketAddr,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let length = u16::try_from(8 + payload.len()).ok()?;
    let mut body = [source.port(), target.port(), length, 0].map(u16::to_be_bytes).concat();
    body.extend(payload);
    compose_ip_packet(source.ip(), target.ip(), UDP, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip_header::Header;

    /// A valid checksum makes the receiver's sum all ones (RFC 1071).
    #[test]
    fn datagrams_have_right_checksums() {
        for [source, target] in [["10.0.0.1:7", "10.0.0.2:4747"], ["[fd00::1]:7", "[fd00::2]:4747"]] {
            let [source, target]: [SocketAddr; 2] = [source.parse().unwrap(), target.parse().unwrap()];
            let packet = compose_udp_datagram(source, target, b"odd").unwrap();
            let header = Header::parse(&packet).unwrap();
            assert_eq!((header.source, header.target, header.ports), (source.ip(), target.ip(), [7, 4747]));
            assert_eq!((header.protocol, header.payload_len(&packet)), (UDP, 3));
            let at = if source.is_ipv4() { 12 } else { 8 };
            let around = [&packet[at..header.transport_offset], &[0, UDP, 0, 11]].concat();
            assert_eq!(checksum(&[&around, &packet[header.transport_offset..]]), 0);
        }
    }
}
