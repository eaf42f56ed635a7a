//! Parsing and rewriting of IP headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thalweg_proto::Ecn;

/// Protocol numbers.
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMP6: u8 = 58;

/// Relevant header fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub source: IpAddr,
    pub target: IpAddr,
    /// TTL (IPv4) or hop limit (IPv6).
    pub hops: u8,
    pub ecn: Ecn,
    /// Differentiated services code point, below 64 (RFC 2474, section 3).
    pub dscp: u8,
    /// Transport protocol, after all IP headers.
    pub protocol: u8,
    /// Offset of the transport header, in bytes.
    pub transport_offset: usize,
    /// Source and destination port, or the echo identifier twice; zeros if there are none.
    pub ports: [u16; 2],
    /// True for a fragment other than the first.
    pub is_later_fragment: bool,
    /// True if routers may fragment the packet.
    pub may_fragment: bool,
}

impl Header {
    /// Parses the headers of a packet; `None` if it is not IP or is truncated.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? >> 4 {
            4 => Self::parse_v4(bytes),
            6 => Self::parse_v6(bytes),
            _ => None,
        }
    }

    fn parse_v4(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; 20] = bytes.first_chunk()?;
        let at = usize::from(header[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if at < 20 || total < at || total != bytes.len() {
            return None;
        }
        let fragment = u16::from_be_bytes([header[6], header[7]]);
        let address = |from: usize| -> Option<IpAddr> {
            let octets: [u8; 4] = *header.get(from..)?.first_chunk()?;
            Some(Ipv4Addr::from(octets).into())
        };
        let is_later_fragment = fragment & 0x1fff != 0;
        let protocol = header[9];
        Some(Self {
            source: address(12)?,
            target: address(16)?,
            hops: header[8],
            ecn: Ecn::from_bits(header[1]),
            dscp: header[1] >> 2,
            protocol,
            transport_offset: at,
            ports: if is_later_fragment { [0; 2] } else { transport_ports(protocol, bytes.get(at..)?) },
            is_later_fragment,
            may_fragment: fragment & 0x4000 == 0,
        })
    }

    fn parse_v6(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; 40] = bytes.first_chunk()?;
        if usize::from(u16::from_be_bytes([header[4], header[5]])) + 40 != bytes.len() {
            return None;
        }
        let address = |from: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = *header.get(from..)?.first_chunk()?;
            Some(Ipv6Addr::from(octets).into())
        };
        let (mut protocol, mut at, mut is_later_fragment) = (header[6], 40, false);
        // Hop-by-hop options, routing, fragment and destination options headers (RFC 8200, section 4).
        while let (0 | 43 | 44 | 60, Some(&[next, length])) =
            (protocol, bytes.get(at..).and_then(<[u8]>::first_chunk))
        {
            if protocol == 44 {
                let offset = bytes.get(at + 2..)?.first_chunk().copied().map(u16::from_be_bytes)?;
                is_later_fragment |= offset & 0xfff8 != 0;
                at += 8;
            } else {
                at += 8 + usize::from(length) * 8;
            }
            protocol = next;
        }
        let behind = bytes.get(at..)?;
        Some(Self {
            source: address(8)?,
            target: address(24)?,
            hops: header[7],
            ecn: Ecn::from_bits(header[1] >> 4),
            dscp: (header[0] & 15) << 2 | header[1] >> 6,
            protocol,
            transport_offset: at,
            ports: if is_later_fragment { [0; 2] } else { transport_ports(protocol, behind) },
            is_later_fragment,
            may_fragment: false,
        })
    }

    /// Returns true for an ICMP message.
    pub const fn is_icmp(&self) -> bool {
        matches!(self.protocol, ICMP | ICMP6)
    }

    /// Returns the application payload size of the packet, in bytes.
    pub fn payload_len(&self, bytes: &[u8]) -> usize {
        let behind = bytes.len().saturating_sub(self.transport_offset);
        let header_length = match self.protocol {
            _ if self.is_later_fragment => 0,
            // TCP data offset, in words.
            TCP => bytes.get(self.transport_offset + 12).map_or(20, |offset| usize::from(offset >> 4) * 4),
            UDP | ICMP | ICMP6 => 8,
            _ => 0,
        };
        behind.saturating_sub(header_length)
    }
}

fn transport_ports(protocol: u8, behind: &[u8]) -> [u16; 2] {
    let word = |at: usize| {
        behind.get(at..).and_then(|rest| rest.first_chunk().copied()).map_or(0, u16::from_be_bytes)
    };
    match protocol {
        TCP | UDP => [word(0), word(2)],
        // Both directions carry the same echo identifier.
        ICMP | ICMP6 => [word(4), word(4)],
        _ => [0; 2],
    }
}

/// Rewrites the TTL or hop limit and the ECN codepoint.
pub(crate) fn rewrite_hops_and_ecn(bytes: &mut [u8], hops: u8, ecn: Ecn) {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => {
            if let Some(header) = bytes.first_chunk_mut::<20>() {
                header[1] = header[1] & !3 | ecn.bits();
                header[8] = hops;
            }
            let length = bytes.first().map_or(20, |first| usize::from(first & 15) * 4);
            if let Some(header) = bytes.get_mut(..length) {
                set_checksum_v4(header);
            }
        }
        Some(6) => {
            if let Some(header) = bytes.first_chunk_mut::<40>() {
                header[1] = header[1] & !0x30 | ecn.bits() << 4;
                header[7] = hops;
            }
        }
        _ => {}
    }
}

/// Sets the checksum of an IPv4 header.
pub(crate) fn set_checksum_v4(header: &mut [u8]) {
    if let Some(sum) = header.get_mut(10..12) {
        sum.fill(0);
    }
    let sum = checksum(&[header]);
    if let Some(place) = header.get_mut(10..12) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
}

/// Returns the Internet checksum (RFC 1071) over `parts`, all but the last of even length.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    // The sum is independent of byte order except in its result (section 2 B); wide words can be added as well as
    // narrow ones.
    let mut sum = 0u64;
    for part in parts {
        let (words, rest) = part.as_chunks::<4>();
        sum += words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum::<u64>();
        let (words, rest) = rest.as_chunks::<2>();
        sum += words.iter().map(|word| u64::from(u16::from_ne_bytes(*word))).sum::<u64>();
        sum += rest.first().map_or(0, |last| u64::from(u16::from_ne_bytes([*last, 0])));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::from_be_bytes((!(sum as u16)).to_ne_bytes())
}

/// Returns the pseudo-header sum for TCP, UDP and ICMPv6: addresses, protocol and length (RFC 768, RFC 8200, section
/// 8.1).
pub(crate) fn pseudo_header_sum(source: IpAddr, target: IpAddr, protocol: u8, length: usize) -> u16 {
    let (length, protocol) = ((length as u32).to_be_bytes(), [0, 0, 0, protocol]);
    !match (source, target) {
        (IpAddr::V4(source), IpAddr::V4(target)) => {
            checksum(&[&source.octets(), &target.octets(), &length, &protocol])
        }
        (IpAddr::V6(source), IpAddr::V6(target)) => {
            checksum(&[&source.octets(), &target.octets(), &length, &protocol])
        }
        _ => checksum(&[&length, &protocol]),
    }
}

/// Splits an IPv4 packet into fragments of at most `mtu` bytes (RFC 791, section 3.2).
pub(crate) fn fragment_ipv4(bytes: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let Some(header) = Header::parse(bytes) else { return Vec::new() };
    let (head, data) = bytes.split_at(header.transport_offset);
    // All fragments but the last carry a multiple of eight octets.
    let piece = mtu.saturating_sub(header.transport_offset) / 8 * 8;
    if piece == 0 {
        return Vec::new();
    }
    let fragment_field = u16::from_be_bytes([head[6], head[7]]);
    let last = data.len().saturating_sub(1) / piece;
    let fragment = |(number, part): (usize, &[u8])| {
        let mut fragment = [head, part].concat();
        let more = if number < last || fragment_field & 0x2000 != 0 { 0x2000 } else { 0 };
        let offset = (fragment_field & 0x1fff) + (number * piece / 8) as u16;
        let total = fragment.len() as u16;
        fragment[2..4].copy_from_slice(&total.to_be_bytes());
        fragment[6..8].copy_from_slice(&(offset | more).to_be_bytes());
        if let Some(head) = fragment.get_mut(..header.transport_offset) {
            set_checksum_v4(head);
        }
        fragment
    };
    data.chunks(piece).enumerate().map(fragment).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a UDP datagram over IPv4, built by hand from RFC 791 and RFC 768.
    pub fn udp_v4(source: [u8; 4], target: [u8; 4], hops: u8, payload: &[u8]) -> Vec<u8> {
        let total = 28 + payload.len() as u16;
        let mut bytes = vec![0x45, 0x02, 0, 0, 0, 7, 0, 0, hops, UDP, 0, 0];
        bytes.extend([source, target].concat());
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        set_checksum_v4(&mut bytes);
        bytes.extend([0x13, 0x88, 0x13, 0x89]);
        bytes.extend((8 + payload.len() as u16).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn headers_are_parsed() {
        let bytes = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 64, b"hello");
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(
            (header.source, header.target),
            (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into())
        );
        assert_eq!(header.dscp, 0);
        assert_eq!(
            (header.hops, header.ecn, header.protocol, header.transport_offset),
            (64, Ecn::Ect0, UDP, 20)
        );
        assert_eq!((header.ports, header.payload_len(&bytes), header.may_fragment), ([5000, 5001], 5, true));
        let mut v6 = vec![0x6b, 0xb0, 0, 0, 0, 16, 0, 9];
        v6.extend([0xfd; 16]);
        v6.extend([0xfe; 16]);
        // Destination options, then TCP.
        v6[6] = 60;
        v6.extend([TCP, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 187, 0, 0, 0, 1]);
        let header = Header::parse(&v6).unwrap();
        // Expedited forwarding (46) is 101110 in binary; its upper three bits are 5.
        assert_eq!(header.dscp, 46);
        assert_eq!(
            (header.hops, header.ecn, header.protocol, header.transport_offset, header.ports),
            (9, Ecn::Ce, TCP, 48, [80, 443])
        );
    }

    /// The example of RFC 1071, section 3.
    #[test]
    fn checksums_are_those_of_the_internet() {
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    }

    #[test]
    fn a_changed_header_is_right() {
        let mut bytes = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 64, b"hello");
        rewrite_hops_and_ecn(&mut bytes, 61, Ecn::Ce);
        let header = Header::parse(&bytes).unwrap();
        assert_eq!((header.hops, header.ecn), (61, Ecn::Ce));
        assert_eq!(checksum(&[&bytes[..20]]), 0);
    }

    /// Tests that the fragments fit, have valid headers and reassemble to the packet.
    #[test]
    fn pieces_make_the_packet() {
        let payload: Vec<u8> = (0..3000u32).map(|n| n as u8).collect();
        let bytes = udp_v4([10, 0, 0, 1], [10, 0, 0, 2], 64, &payload);
        let pieces = fragment_ipv4(&bytes, 1000);
        let mut reassembled: Vec<u8> = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            assert!(piece.len() <= 1000 && checksum(&[&piece[..20]]) == 0);
            let fragment = u16::from_be_bytes([piece[6], piece[7]]);
            assert_eq!(usize::from(fragment & 0x1fff) * 8, reassembled.len());
            assert_eq!(fragment & 0x2000 != 0, number + 1 < pieces.len());
            assert_eq!(Header::parse(piece).unwrap().is_later_fragment, number > 0);
            reassembled.extend(&piece[20..]);
        }
        assert_eq!(reassembled, bytes[20..]);
    }

    proptest! {
        /// Tests that arbitrary input causes no panic and invalid packets are rejected.
        #[test]
        fn arbitrary_input_is_handled(mut bytes in prop::collection::vec(any::<u8>(), 0..200), first in prop::option::of(prop::sample::select(vec![0x45u8, 0x4f, 0x60]))) {
            if let (Some(first), Some(byte)) = (first, bytes.first_mut()) {
                *byte = first;
            }
            if bytes.len() >= 40 {
                let length = bytes.len() as u16;
                let (place, length) = if bytes[0] == 0x60 { (4, length - 40) } else { (2, length) };
                bytes[place..place + 2].copy_from_slice(&length.to_be_bytes());
            }
            if let Some(header) = Header::parse(&bytes) {
                prop_assert!(header.transport_offset <= bytes.len() && header.payload_len(&bytes) <= bytes.len());
                if header.source.is_ipv4() {
                    prop_assert!(fragment_ipv4(&bytes, 68).iter().all(|piece| piece.len() <= 68));
                }
            }
            rewrite_hops_and_ecn(&mut bytes, 3, Ecn::Ce);
        }
    }
}
