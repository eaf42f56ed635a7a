//! Headers of packets: link layer, IP and transport.

/// A packet of IP with TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram<'a> {
    pub source: Address,
    pub sink: Address,
    /// Length of the IP packet, in bytes, by its header.
    pub size: u32,
    /// True if a router marked it CE (RFC 3168).
    pub is_ce: bool,
    /// Identification: of IPv4 alone.
    pub identification: Option<u16>,
    /// True for TCP, false for UDP.
    pub is_tcp: bool,
    /// Captured part of the TCP segment or UDP datagram.
    pub bytes: &'a [u8],
    /// Length of the whole segment or datagram.
    pub length: u32,
}

/// An address of IPv4 or IPv6. IPv4 is mapped (RFC 4291, section 2.5.5.2).
pub(super) type Address = u128;

/// Reason for skipping a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SkipReason {
    /// Link type that is not read.
    Link(u32),
    /// Protocol other than IP.
    NoIp,
    /// Protocol over IP other than TCP and UDP.
    Other,
    /// Fragment other than the first.
    Fragment,
    /// Cut before the end of the headers.
    Short,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// Finds the TCP segment or UDP datagram in a packet of this link type; `wire` is its length on the link.
pub(super) fn locate_datagram(link: u32, bytes: &[u8], wire: u32) -> Result<Datagram<'_>, SkipReason> {
    let (start, protocol) = locate_network_layer(link, bytes)?;
    let bytes = bytes.get(start..).ok_or(SkipReason::Short)?;
    let wire = wire.saturating_sub(start as u32);
    // Raw links say nothing about the version.
    let version = bytes.first().ok_or(SkipReason::Short)? >> 4;
    match (protocol, version) {
        (Some(IPV4) | None, 4) => parse_ipv4(bytes, wire),
        (Some(IPV6) | None, 6) => parse_ipv6(bytes, wire),
        _ => Err(SkipReason::NoIp),
    }
}

/// Types of Ethernet frames.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// Returns where the network layer begins, and its protocol where the link layer names it.
fn locate_network_layer(link: u32, bytes: &[u8]) -> Result<(usize, Option<u16>), SkipReason> {
    let protocol = |at: usize| u16_at(bytes, at).ok_or(SkipReason::Short);
    match link {
        1 => {
            let (mut at, mut kind) = (14, protocol(12)?);
            // VLAN tags (IEEE 802.1Q and 802.1ad).
            for _ in 0..4 {
                if !matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
                    break;
                }
                kind = protocol(at + 2)?;
                at += 4;
            }
            // PPPoE sessions (RFC 2516).
            if kind == 0x8864 {
                kind = of_ppp(protocol(at + 6)?);
                at += 8;
            }
            Ok((at, Some(kind)))
        }
        // Raw IP, under its several numbers.
        12 | 14 | 101 | 228 | 229 => Ok((0, None)),
        113 => Ok((16, Some(protocol(14)?))),
        276 => Ok((20, Some(protocol(0)?))),
        // Loopback: four bytes with the address family, in the byte order of the host.
        0 | 108 => Ok((4, None)),
        9 | 50 | 51 => {
            let at = if bytes.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
            Ok((at + 2, Some(of_ppp(protocol(at)?))))
        }
        link => Err(SkipReason::Link(link)),
    }
}

/// Returns the Ethernet type for a protocol of PPP.
fn of_ppp(protocol: u16) -> u16 {
    match protocol {
        0x0021 => IPV4,
        0x0057 => IPV6,
        other => other,
    }
}

fn parse_ipv4(bytes: &[u8], wire: u32) -> Result<Datagram<'_>, SkipReason> {
    let head: &[u8; 20] = bytes.first_chunk().ok_or(SkipReason::Short)?;
    let header = usize::from(head[0] & 0xf) * 4;
    let total = u32::from(u16::from_be_bytes([head[2], head[3]]));
    // Zero: the packet was captured before a network card cut it.
    let size = if total == 0 { wire } else { total };
    if header < 20 || size < header as u32 {
        return Err(SkipReason::NoIp);
    }
    if u16::from_be_bytes([head[6], head[7]]) & 0x1fff != 0 {
        return Err(SkipReason::Fragment);
    }
    let address = |at: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|byte| u128::from(head[at + byte]));
        0xffff_0000_0000 | a << 24 | b << 16 | c << 8 | d
    };
    let addresses = [address(12), address(16)];
    let identification = Some(u16::from_be_bytes([head[4], head[5]]));
    Ok(Datagram { identification, ..parse_transport(bytes, header, size, head[9], head[1], addresses)? })
}

fn parse_ipv6(bytes: &[u8], wire: u32) -> Result<Datagram<'_>, SkipReason> {
    let head: &[u8; 40] = bytes.first_chunk().ok_or(SkipReason::Short)?;
    let payload = u32::from(u16::from_be_bytes([head[4], head[5]]));
    let size = if payload == 0 { wire } else { payload + 40 };
    let class = head[0] << 4 | head[1] >> 4;
    let address = |at: usize| {
        let bytes: Option<[u8; 16]> = head.get(at..at + 16).and_then(|bytes| bytes.try_into().ok());
        u128::from_be_bytes(bytes.unwrap_or_default())
    };
    let addresses = [address(8), address(24)];
    let (mut next, mut at) = (head[6], 40);
    // Extension headers (RFC 8200, section 4).
    for _ in 0..8 {
        let length = match next {
            0 | 43 | 60 => usize::from(*bytes.get(at + 1).ok_or(SkipReason::Short)?) * 8 + 8,
            51 => usize::from(*bytes.get(at + 1).ok_or(SkipReason::Short)?) * 4 + 8,
            44 => {
                if u16_at(bytes, at + 2).ok_or(SkipReason::Short)? & 0xfff8 != 0 {
                    return Err(SkipReason::Fragment);
                }
                8
            }
            _ => break,
        };
        next = *bytes.get(at).ok_or(SkipReason::Short)?;
        at += length;
    }
    parse_transport(bytes, at, size, next, class, addresses)
}

fn parse_transport(
    bytes: &[u8],
    at: usize,
    size: u32,
    protocol: u8,
    class: u8,
    [source, sink]: [Address; 2],
) -> Result<Datagram<'_>, SkipReason> {
    let is_tcp = match protocol {
        6 => true,
        17 => false,
        _ => return Err(SkipReason::Other),
    };
    let length = size.checked_sub(at as u32).ok_or(SkipReason::NoIp)?;
    let rest = bytes.get(at..).unwrap_or_default();
    // Short frames are padded.
    let bytes = &rest[..rest.len().min(length as usize)];
    let is_ce = class & 3 == 3;
    Ok(Datagram { source, sink, size, is_ce, identification: None, is_tcp, bytes, length })
}

/// Headers of a TCP segment (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub sequence: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    /// Payload, in bytes.
    pub length: u32,
    /// Maximum segment size option.
    pub mss: Option<u16>,
    /// Window scale option (RFC 7323, section 2).
    pub scale: Option<u8>,
    /// Timestamps option: value and echo (RFC 7323, section 3).
    pub stamps: Option<(u32, u32)>,
    /// Identification of the IP packet: of IPv4 alone.
    pub identification: Option<u16>,
    /// Ranges of the SACK option (RFC 2018), in order, and their number.
    pub sacks: [(u32, u32); 4],
    pub sack_count: usize,
}

impl Segment {
    pub(super) const FIN: u8 = 1;
    pub(super) const SYN: u8 = 2;
    pub(super) const RST: u8 = 4;
    pub(super) const ACK: u8 = 16;

    pub(super) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Reads the headers of a segment of `length` bytes; options that were not captured are missing.
    pub(super) fn read(bytes: &[u8], length: u32) -> Option<Self> {
        let head: &[u8; 20] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let header = usize::from(head[12] >> 4) * 4;
        let mut segment = Self {
            sequence: word(4),
            ack: word(8),
            flags: head[13],
            window: u16::from_be_bytes([head[14], head[15]]),
            length: length.checked_sub(header as u32).filter(|_| header >= 20)?,
            ..Self::default()
        };
        segment.options(bytes.get(20..header.min(bytes.len())).unwrap_or_default());
        Some(segment)
    }

    fn options(&mut self, mut rest: &[u8]) {
        while let [kind, after @ ..] = rest {
            if *kind == 1 {
                rest = after;
                continue;
            }
            let [_, length, ..] = *rest else { return };
            let Some(value) = rest.get(2..usize::from(length)).filter(|_| *kind != 0) else { return };
            let word = |at: usize| {
                value.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_be_bytes)
            };
            match (kind, value) {
                (2, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
                // Larger scales count as 14 (RFC 7323, section 2.3).
                (3, [scale]) => self.scale = Some((*scale).min(14)),
                (5, ranges) => {
                    for at in (0..ranges.len() / 8).take(self.sacks.len()) {
                        if let (Some(start), Some(end)) = (word(8 * at), word(8 * at + 4)) {
                            self.sacks[at] = (start, end);
                            self.sack_count = at + 1;
                        }
                    }
                }
                (8, _) => self.stamps = word(0).zip(word(4)),
                _ => {}
            }
            rest = &rest[usize::from(length)..];
        }
    }
}
