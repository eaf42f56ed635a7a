//! Address and port translation in packets. Updates checksums incrementally (RFC 1624): invalid ones stay invalid.

use crate::ip_header::{Header, ICMP, ICMP6, TCP, UDP, set_checksum_v4};
use crate::router_originated_packets::compose_ip_packet;
use std::net::IpAddr;

/// The end of a packet to translate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Target,
}

/// Returns the offsets of port and checksum in a transport header.
fn port_and_checksum_offsets(protocol: u8, end: End) -> Option<(usize, usize)> {
    let port = if end == End::Source { 0 } else { 2 };
    match protocol {
        TCP => Some((port, 16)),
        UDP => Some((port, 6)),
        // Echo identifier.
        ICMP | ICMP6 => Some((4, 2)),
        _ => None,
    }
}

/// Replaces the address, of the same family, and port of one end. Returns false and changes nothing if the packet has
/// no ports.
pub(crate) fn replace_endpoint(
    bytes: &mut [u8],
    header: &Header,
    end: End,
    (address, port): (IpAddr, u16),
) -> bool {
    let Some((port_at, sum_at)) =
        port_and_checksum_offsets(header.protocol, end).filter(|_| !header.is_later_fragment)
    else {
        return false;
    };
    let (port_at, sum_at) = (header.transport_offset + port_at, header.transport_offset + sum_at);
    if bytes.len() < (port_at + 2).max(sum_at + 2) {
        return false;
    }
    let (place, new) = match (address, end) {
        (IpAddr::V4(address), End::Source) => (12, address.octets().to_vec()),
        (IpAddr::V4(address), End::Target) => (16, address.octets().to_vec()),
        (IpAddr::V6(address), End::Source) => (8, address.octets().to_vec()),
        (IpAddr::V6(address), End::Target) => (24, address.octets().to_vec()),
    };
    let old: Vec<u8> = bytes[place..place + new.len()].to_vec();
    let old_port = [bytes[port_at], bytes[port_at + 1]];
    bytes[place..place + new.len()].copy_from_slice(&new);
    bytes[port_at..port_at + 2].copy_from_slice(&port.to_be_bytes());
    let sum = [bytes[sum_at], bytes[sum_at + 1]];
    let has_none = header.protocol == UDP && sum == [0; 2];
    if !has_none {
        // The IPv4 ICMP checksum does not cover addresses.
        let covered = if header.protocol == ICMP { 0 } else { new.len() };
        let before = [&old[..covered], &old_port].concat();
        let after = [&new[..covered], &port.to_be_bytes()].concat();
        bytes[sum_at..sum_at + 2].copy_from_slice(&update_checksum(sum, &before, &after));
    }
    if address.is_ipv4()
        && let Some(head) = bytes.get_mut(..header.transport_offset)
    {
        set_checksum_v4(head);
    }
    true
}

/// Returns the checksum after replacing `before` by `after`, both of even length.
fn update_checksum(sum: [u8; 2], before: &[u8], after: &[u8]) -> [u8; 2] {
    let words = |bytes: &[u8]| {
        bytes.as_chunks::<2>().0.iter().map(|word| u64::from(u16::from_be_bytes(*word))).collect::<Vec<_>>()
    };
    let mut total = u64::from(!u16::from_be_bytes(sum));
    total += words(before).into_iter().map(|word| u64::from(!(word as u16))).sum::<u64>();
    total += words(after).into_iter().sum::<u64>();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    (!(total as u16)).to_be_bytes()
}

/// Returns protocol and source port of the packet quoted in an ICMP error.
pub(crate) fn quoted_protocol_and_port(bytes: &[u8], header: &Header) -> Option<(u8, u16)> {
    let (_, protocol, port) = locate_quoted_packet(bytes, header)?;
    Some((protocol, u16::from_be_bytes(*bytes.get(port..)?.first_chunk()?)))
}

/// Returns the offset of the packet quoted in an ICMP error, its protocol, and the offset of its source port.
fn locate_quoted_packet(bytes: &[u8], header: &Header) -> Option<(usize, u8, usize)> {
    let kind = *bytes.get(header.transport_offset)?;
    let is_about_packets = match header.protocol {
        ICMP => matches!(kind, 3 | 11 | 12),
        ICMP6 => (1..=4).contains(&kind),
        _ => false,
    };
    let start = header.transport_offset + 8;
    let (protocol, length) = match bytes.get(start)? >> 4 {
        4 => (*bytes.get(start + 9)?, usize::from(bytes[start] & 15) * 4),
        6 => (*bytes.get(start + 6)?, 40),
        _ => return None,
    };
    let (port, _) = port_and_checksum_offsets(protocol, End::Source).filter(|_| is_about_packets)?;
    Some((start, protocol, start + length + port))
}

/// Translates an ICMP error about a translated packet for the original source.
pub(crate) fn translate_icmp_error(
    bytes: &[u8],
    header: &Header,
    (address, port): (IpAddr, u16),
) -> Option<Vec<u8>> {
    let (start, _, port_at) = locate_quoted_packet(bytes, header)?;
    let mut body = bytes.get(header.transport_offset..)?.to_vec();
    let (start, port_at) = (start - header.transport_offset, port_at - header.transport_offset);
    body.get_mut(2..4)?.fill(0);
    body.get_mut(port_at..port_at + 2)?.copy_from_slice(&port.to_be_bytes());
    match address {
        IpAddr::V4(address) => {
            body.get_mut(start + 12..start + 16)?.copy_from_slice(&address.octets());
            let length = usize::from(body[start] & 15) * 4;
            set_checksum_v4(body.get_mut(start..start + length)?);
        }
        IpAddr::V6(address) => body.get_mut(start + 8..start + 24)?.copy_from_slice(&address.octets()),
    }
    compose_ip_packet(header.source, address, header.protocol, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip_header::checksum;
    use crate::router_icmp::{IcmpError, icmp_error_message};
    use crate::router_originated_packets::compose_udp_datagram;
    use std::net::SocketAddr;

    fn sum_of(bytes: &[u8], header: &Header) -> u16 {
        let at = if header.source.is_ipv4() { 12 } else { 8 };
        let length = (bytes.len() - header.transport_offset) as u16;
        let around =
            [&bytes[at..header.transport_offset], &[0, header.protocol], &length.to_be_bytes()].concat();
        checksum(&[&around, &bytes[header.transport_offset..]])
    }

    #[test]
    fn checksums_follow_addresses_and_ports() {
        for [source, target, other] in [
            ["10.0.0.1:7", "10.0.0.2:4747", "192.0.2.99:65000"],
            ["[fd00::1]:7", "[fd00::2]:4747", "[2001:db8::ff]:65000"],
        ] {
            let [source, target, other]: [SocketAddr; 3] =
                [source, target, other].map(|text| text.parse().unwrap());
            for end in [End::Source, End::Target] {
                let mut packet = compose_udp_datagram(source, target, b"some data").unwrap();
                let header = Header::parse(&packet).unwrap();
                assert!(replace_endpoint(&mut packet, &header, end, (other.ip(), other.port())));
                let after = Header::parse(&packet).unwrap();
                let changed = if end == End::Source {
                    (after.source, after.ports[0])
                } else {
                    (after.target, after.ports[1])
                };
                assert_eq!(changed, (other.ip(), other.port()));
                assert_eq!(sum_of(&packet, &after), 0);
                // Corruption remains detectable.
                packet[header.transport_offset + 9] ^= 1;
                let header = Header::parse(&packet).unwrap();
                replace_endpoint(&mut packet, &header, end, (source.ip(), 9));
                assert_ne!(sum_of(&packet, &Header::parse(&packet).unwrap()), 0);
            }
        }
    }

    #[test]
    fn messages_about_translated_packets_find_their_source() {
        let [inside, outside, target]: [SocketAddr; 3] =
            ["10.0.0.1:7", "192.0.2.1:30000", "192.0.2.9:53"].map(|text| text.parse().unwrap());
        let packet = compose_udp_datagram(outside, target, b"data").unwrap();
        let header = Header::parse(&packet).unwrap();
        let error =
            icmp_error_message("192.0.2.8".parse().unwrap(), IcmpError::TooBig(1300), &packet, &header)
                .unwrap();
        let header = Header::parse(&error).unwrap();
        assert_eq!(quoted_protocol_and_port(&error, &header), Some((UDP, 30_000)));
        let error = translate_icmp_error(&error, &header, (inside.ip(), inside.port())).unwrap();
        let header = Header::parse(&error).unwrap();
        assert_eq!((header.target, checksum(&[&error[header.transport_offset..]])), (inside.ip(), 0));
        let quote = Header::parse(&error[header.transport_offset + 8..]).unwrap();
        assert_eq!((quote.source, quote.ports[0], quote.target), (inside.ip(), 7, target.ip()));
    }
}
