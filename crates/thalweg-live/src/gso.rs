//! Segmentation of GSO buffers that the system leaves to the network card. They are split before they enter the
//! network, to let each packet pass it separately.

use crate::ip_header::{Header, checksum, pseudo_header_sum, set_checksum_v4};
use crate::tun_queue::{GsoKind, Offload};

/// TCP flags that belong to only the first or the last packet of a buffer.
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Returns the offset of the checksum in the transport header.
pub(crate) const fn checksum_at(kind: GsoKind) -> usize {
    match kind {
        GsoKind::Tcp4 | GsoKind::Tcp6 => 16,
        GsoKind::Datagrams => 6,
    }
}

/// Passes each packet of a buffer from the system to `each`, split and with checksums. An invalid GSO buffer yields one
/// empty packet.
pub(crate) fn split_gso_buffer(offload: Offload, bytes: &[u8], mut each: impl FnMut(Vec<u8>)) {
    let Some((kind, size)) = offload.run else {
        let mut packet = bytes.to_vec();
        if let Some([start, offset]) = offload.checksum {
            set_checksum(&mut packet, usize::from(start), usize::from(offset));
        }
        return each(packet);
    };
    let header = Header::parse(bytes);
    let Some((header, head)) =
        header.and_then(|header| Some((header, headers_length(kind, bytes, &header)?)))
    else {
        return each(Vec::new());
    };
    let (head, data) = bytes.split_at(head);
    if size == 0 || data.is_empty() {
        return each(Vec::new());
    }
    let size = usize::from(size);
    let last = (data.len() - 1) / size;
    for (number, part) in data.chunks(size).enumerate() {
        let mut packet = Vec::with_capacity(head.len() + part.len());
        packet.extend(head);
        packet.extend(part);
        set_headers(&mut packet, kind, &header, (number * size, number), number == last);
        each(packet);
    }
}

/// Returns the total length of a packet's headers, if they are complete.
pub(crate) fn headers_length(kind: GsoKind, bytes: &[u8], header: &Header) -> Option<usize> {
    let transport_length = match kind {
        // TCP data offset, in words.
        GsoKind::Tcp4 | GsoKind::Tcp6 => usize::from(bytes.get(header.transport_offset + 12)? >> 4) * 4,
        GsoKind::Datagrams => 8,
    };
    let min = checksum_at(kind) + 2;
    (transport_length >= min && header.transport_offset + transport_length <= bytes.len())
        .then_some(header.transport_offset + transport_length)
}

/// Sets the headers of a packet that follows `bytes` payload bytes and `packets` packets in its buffer.
fn set_headers(
    packet: &mut [u8],
    kind: GsoKind,
    header: &Header,
    (bytes, packets): (usize, usize),
    is_last: bool,
) {
    let (at, length) = (header.transport_offset, packet.len());
    // The buffer has at most 64 KiB, and so do its parts.
    let half = |value: usize| (value as u16).to_be_bytes();
    if header.source.is_ipv4() {
        packet[2..4].copy_from_slice(&half(length));
        let number = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(packets as u16);
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        set_checksum_v4(&mut packet[..at]);
    } else {
        packet[4..6].copy_from_slice(&half(length - 40));
    }
    let sum = pseudo_header_sum(header.source, header.target, header.protocol, length - at);
    let transport = &mut packet[at..];
    match kind {
        GsoKind::Tcp4 | GsoKind::Tcp6 => {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]])
                .wrapping_add(bytes as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            transport[13] &= if is_last { !0 } else { !(FIN | PSH) };
            transport[13] &= if packets == 0 { !0 } else { !CWR };
        }
        GsoKind::Datagrams => transport[4..6].copy_from_slice(&half(length - at)),
    }
    let place = checksum_at(kind);
    transport[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    set_checksum(packet, at, place);
}

/// Sets the checksum over the range from `start`; the field holds the pseudo-header sum.
fn set_checksum(packet: &mut [u8], start: usize, offset: usize) {
    let Some(part) = packet.get_mut(start..) else { return };
    let sum = match checksum(&[part]) {
        // In UDP, a zero field means no checksum.
        0 => u16::MAX,
        sum => sum,
    };
    if let Some(place) = part.get_mut(offset..offset + 2) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ip_header::{TCP, UDP};
    use proptest::prelude::*;
    use std::net::IpAddr;

    /// Returns a packet with a TCP header of 32 bytes or a UDP header, as the system delivers it: the checksum field
    /// holds the pseudo-header sum.
    pub fn unsealed(kind: GsoKind, sequence: u32, flags: u8, data: &[u8]) -> Vec<u8> {
        let (protocol, mut transport) = match kind {
            GsoKind::Datagrams => (UDP, vec![0x13, 0x88, 0x13, 0x89, 0, 0, 0, 0]),
            GsoKind::Tcp4 | GsoKind::Tcp6 => {
                let mut transport = vec![0x13, 0x88, 0x13, 0x89];
                transport.extend(sequence.to_be_bytes());
                transport
                    .extend([0, 0, 0, 9, 0x80, flags, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
                (TCP, transport)
            }
        };
        let length = transport.len() + data.len();
        if kind == GsoKind::Datagrams {
            transport[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        }
        let is_v6 = kind == GsoKind::Tcp6;
        let addresses: [IpAddr; 2] = [1, 2].map(|last| {
            if is_v6 {
                IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, last])
            } else {
                IpAddr::from([10, 0, 0, last as u8])
            }
        });
        let sum = pseudo_header_sum(addresses[0], addresses[1], protocol, length);
        let place = checksum_at(kind);
        transport[place..place + 2].copy_from_slice(&sum.to_be_bytes());
        let mut packet = if is_v6 {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
            head[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            head
        } else {
            let mut head = vec![0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0];
            head[2..4].copy_from_slice(&(length as u16 + 20).to_be_bytes());
            head
        };
        for address in addresses {
            match address {
                IpAddr::V4(address) => packet.extend(address.octets()),
                IpAddr::V6(address) => packet.extend(address.octets()),
            }
        }
        if !is_v6 {
            set_checksum_v4(&mut packet);
        }
        packet.extend(transport);
        packet.extend(data);
        packet
    }

    pub fn pieces(kind: GsoKind, size: u16, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let offload = Offload { checksum: Some([20, 16]), run: Some((kind, size)) };
        split_gso_buffer(offload, bytes, |packet| pieces.push(packet));
        pieces
    }

    /// A valid checksum makes the receiver's sum all ones (RFC 1071).
    pub fn has_valid_checksum(packet: &[u8]) -> bool {
        let header = Header::parse(packet).unwrap();
        let sum = pseudo_header_sum(
            header.source,
            header.target,
            header.protocol,
            packet.len() - header.transport_offset,
        );
        let of_v4 = header.source.is_ipv6() || checksum(&[&packet[..header.transport_offset]]) == 0;
        of_v4 && checksum(&[&sum.to_be_bytes(), &packet[header.transport_offset..]]) == 0
    }

    /// Tests that sequence numbers continue, lengths and checksums are valid, FIN and PSH are in the last packet and
    /// CWR is in the first (RFC 9293, RFC 3168).
    #[test]
    fn runs_are_cut() {
        let data: Vec<u8> = (0..3500u32).map(|number| (number % 251) as u8).collect();
        for kind in [GsoKind::Tcp4, GsoKind::Tcp6, GsoKind::Datagrams] {
            let original = unsealed(kind, u32::MAX - 999, FIN | PSH | CWR | 0x10, &data);
            let header = Header::parse(&original).unwrap();
            let head = headers_length(kind, &original, &header).unwrap();
            let pieces = pieces(kind, 1000, &original);
            assert_eq!(
                pieces.iter().map(|piece| piece.len() - head).collect::<Vec<_>>(),
                [1000, 1000, 1000, 500]
            );
            for (number, piece) in pieces.iter().enumerate() {
                assert!(has_valid_checksum(piece), "{kind:?} {number}");
                let transport = &piece[header.transport_offset..];
                match kind {
                    GsoKind::Datagrams => {
                        assert_eq!(
                            usize::from(u16::from_be_bytes([transport[4], transport[5]])),
                            transport.len()
                        );
                    }
                    GsoKind::Tcp4 | GsoKind::Tcp6 => {
                        let sequence = u32::from_be_bytes(*transport[4..].first_chunk().unwrap());
                        assert_eq!(sequence, (u32::MAX - 999).wrapping_add(number as u32 * 1000));
                        let flags = [CWR | 0x10, 0x10, 0x10, FIN | PSH | 0x10][number];
                        assert_eq!(transport[13], flags, "{number}");
                    }
                }
                if kind != GsoKind::Tcp6 {
                    assert_eq!(
                        u16::from_be_bytes([piece[4], piece[5]]),
                        0xffffu16.wrapping_add(number as u16)
                    );
                }
            }
            let together: Vec<u8> = pieces.iter().flat_map(|piece| piece[head..].to_vec()).collect();
            assert_eq!(together, data);
        }
    }

    #[test]
    fn a_single_packet_gets_its_checksum() {
        for kind in [GsoKind::Tcp4, GsoKind::Tcp6, GsoKind::Datagrams] {
            let packet = unsealed(kind, 7, 0x10, b"hello");
            let at = Header::parse(&packet).unwrap().transport_offset as u16;
            let mut found = Vec::new();
            let offload = Offload { checksum: Some([at, checksum_at(kind) as u16]), run: None };
            split_gso_buffer(offload, &packet, |packet| found.push(packet));
            assert!(found.len() == 1 && has_valid_checksum(&found[0]), "{kind:?}");
            split_gso_buffer(Offload::default(), &packet, |same| assert_eq!(same, packet));
        }
    }

    proptest! {
        /// Tests that arbitrary headers, which root in a namespace can write, cause no panic and no growth.
        #[test]
        fn arbitrary_input_is_handled(mut bytes in prop::collection::vec(any::<u8>(), 0..200), first in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0]),
            protocol in prop::sample::select(vec![TCP, UDP, 0]), size in 0u16..100, places in any::<[u16; 2]>(), kind in 0usize..4) {
            if bytes.len() >= 40 {
                bytes[0] = first;
                let length = bytes.len() as u16;
                let (place, length, at) = if first == 0x60 { (4, length - 40, 6) } else { (2, length, 9) };
                bytes[place..place + 2].copy_from_slice(&length.to_be_bytes());
                bytes[at] = protocol;
            }
            let kind: Option<GsoKind> = [None, Some(GsoKind::Tcp4), Some(GsoKind::Tcp6), Some(GsoKind::Datagrams)][kind];
            let offload = Offload { checksum: Some(places), run: kind.map(|kind| (kind, size)) };
            let mut count = 0;
            split_gso_buffer(offload, &bytes, |packet| {
                count += 1;
                assert!(packet.len() <= bytes.len());
            });
            prop_assert!(count >= 1 && count <= bytes.len().max(1));
        }
    }
}
