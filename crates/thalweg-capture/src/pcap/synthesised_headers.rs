//! Synthesised headers for simulated packets.

use std::net::Ipv4Addr;
use thalweg_proto::Ecn;
use thalweg_proto::handshake::{Control, HandshakeStep, Protocol};
use thalweg_proto::payload::Payload;
use thalweg_proto::pdu::{CapturedBytes, DataUnit as _};
use thalweg_proto::transport::Feedback;
use thalweg_proto::window;
use thalweg_sim::Pdu;
use thalweg_sim::packet_trace::{PacketId, Record};

/// Headers of one packet.
pub(super) struct Headers {
    bytes: [u8; MAX_HEADERS_BYTES],
    length: usize,
    /// Bytes stored after the headers.
    pub(super) body: Vec<u8>,
    /// Total length of headers, body, payload and trailer, in bytes.
    pub(super) total: u32,
    /// Bytes after the payload.
    pub(super) trailer: [u8; 2],
    /// Offset of the trailer in the packet; `None` without one.
    pub(super) trailer_at: Option<u32>,
}

impl Headers {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Source and destination of a packet.
struct PacketEndpoints {
    source: Ipv4Addr,
    target: Ipv4Addr,
    source_port: u16,
    target_port: u16,
}

/// Returns the headers for the packet of `record`; sets ECE in a TCP header if `echoes`.
pub(super) fn packet_headers(record: &Record<'_>, echoes: bool) -> Headers {
    let ends = packet_endpoints(record);
    match record.pdu {
        Pdu::Window(window::Pdu::Segment(segment)) => {
            let mut tcp = build_tcp_header(
                &ends,
                sequence_number_of(segment.sequence),
                sequence_number_of(0),
                ACK,
                u16::MAX,
            );
            tcp.payload = segment.payload.len();
            pad_options(&mut tcp, record.size);
            prepend_ip_header(record, &ends, TCP, tcp)
        }
        Pdu::Window(window::Pdu::Ack(ack)) => {
            let flags = ACK | if echoes { ECE } else { 0 };
            let window = ack.window.div_ceil(1 << WINDOW_SCALE);
            let window = u16::try_from(window).unwrap_or(u16::MAX);
            let mut tcp = build_tcp_header(
                &ends,
                sequence_number_of(0),
                sequence_number_of(ack.cumulative),
                flags,
                window,
            );
            append_sack_option(&mut tcp, ack);
            pad_options(&mut tcp, record.size);
            prepend_ip_header(record, &ends, TCP, tcp)
        }
        Pdu::Handshake(Control { protocol: Protocol::Tcp, step }) => {
            let mut tcp = opens_or_closes(&ends, *step);
            pad_options(&mut tcp, record.size);
            prepend_ip_header(record, &ends, TCP, tcp)
        }
        Pdu::Feedback(feedback) => {
            // The message travels backward; the packet it refers to went forward.
            let about = PacketEndpoints {
                source: ends.target,
                target: ends.source,
                source_port: ends.target_port,
                target_port: ends.source_port,
            };
            let from_router = PacketEndpoints { source: ROUTER, ..ends };
            prepend_ip_header(record, &from_router, ICMP, source_quench(&about, feedback))
        }
        pdu => {
            let captured = pdu.captured(record.packet.connection);
            let ends = on_port(&ends, captured.port, record.reply);
            prepend_ip_header(record, &ends, UDP, in_udp(&ends, captured, pdu.payload_len().unwrap_or(0)))
        }
    }
}

/// Returns the source and destination addresses and ports of a packet.
fn packet_endpoints(record: &Record<'_>) -> PacketEndpoints {
    let reply = record.reply;
    let host = |net: u32| Ipv4Addr::from(net | (record.flow.wrapping_add(1) & HOST_MASK));
    let (source, sink) = (host(SOURCES), host(SINKS));
    let PacketId { connection, incarnation, backward, .. } = record.packet;
    let number = u64::from(connection) + u64::from(incarnation) * INCARNATION_STEP;
    let client = FIRST_CLIENT_PORT + (number % u64::from(u16::MAX - FIRST_CLIENT_PORT)) as u16;
    let server = if reply { ANSWER_PORT } else { SINK_PORT };
    if backward == reply {
        PacketEndpoints { source, target: sink, source_port: client, target_port: server }
    } else {
        PacketEndpoints { source: sink, target: source, source_port: server, target_port: client }
    }
}

/// Returns the endpoints with a protocol-specific port, which identifies the protocol.
fn on_port(ends: &PacketEndpoints, port: u16, reply: bool) -> PacketEndpoints {
    let flow_port = port.saturating_add(reply.into());
    let port = |port| if matches!(port, SINK_PORT | ANSWER_PORT) { flow_port } else { port };
    PacketEndpoints { source_port: port(ends.source_port), target_port: port(ends.target_port), ..*ends }
}

/// Converts a stream position to a sequence number: the first byte is number 1, as after a handshake.
fn sequence_number_of(position: u64) -> u32 {
    position.wrapping_add(1) as u32
}

/// Contents of a packet after the IP header: bytes to write, and the length of the payload after them.
struct Part {
    bytes: [u8; MAX_HEADERS_BYTES],
    length: usize,
    /// A whole PDU, if more than headers is stored; of even length.
    body: Vec<u8>,
    payload: u32,
    trailer: Option<[u8; 2]>,
}

impl Part {
    const fn new(payload: u32) -> Self {
        Self { bytes: [0; MAX_HEADERS_BYTES], length: 0, body: Vec::new(), payload, trailer: None }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn words<const N: usize>(&mut self, words: [u16; N]) {
        words.iter().for_each(|word| self.put(&word.to_be_bytes()));
    }
}

/// Returns a UDP header with the header of the carried protocol and `payload` bytes of payload. A length beyond 65535
/// is written as zero.
fn build_udp_header(ends: &PacketEndpoints, header: &[u8], payload: u32) -> Part {
    let mut part = Part::new(payload);
    let length = u16::try_from(u64::from(payload) + header.len() as u64 + 8).unwrap_or(0);
    part.words([ends.source_port, ends.target_port, length, 0]);
    part.put(header);
    part
}

/// Returns a UDP header with a PDU. Truncates a header that exceeds the buffer.
fn in_udp(ends: &PacketEndpoints, captured: CapturedBytes, payload: u32) -> Part {
    if captured.includes_payload {
        let mut part = build_udp_header(ends, &[], captured.bytes.len() as u32);
        (part.payload, part.body) = (0, captured.bytes);
        return part;
    }
    let header = captured.bytes;
    let stored = &header[..header.len().min(MAX_HEADERS_BYTES - 32)];
    let mut part = build_udp_header(ends, stored, payload + (header.len() - stored.len()) as u32);
    let Some(checksum) = captured.checksum else { return part };
    if part.payload == 0 {
        part.put(&checksum);
    } else {
        part.trailer = Some(checksum);
    }
    let length = part.length as u64 + u64::from(part.payload) + part.trailer.map_or(0, |_| 2);
    part.bytes[4..6].copy_from_slice(&u16::try_from(length).unwrap_or(0).to_be_bytes());
    part
}

fn build_tcp_header(
    ends: &PacketEndpoints,
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    window: u16,
) -> Part {
    let mut part = Part::new(0);
    part.words([ends.source_port, ends.target_port]);
    part.put(&sequence.to_be_bytes());
    part.put(&acknowledged.to_be_bytes());
    part.put(&[5 << 4, flags]);
    part.words([window, 0, 0]);
    part
}

/// Returns a SYN or FIN segment; each takes one sequence number (RFC 9293, section 3.4).
fn opens_or_closes(ends: &PacketEndpoints, step: HandshakeStep) -> Part {
    let (sequence, acknowledged, flags) = match step {
        HandshakeStep::Syn => (0, 0, SYN),
        HandshakeStep::SynAck => (0, 1, SYN | ACK),
        HandshakeStep::Ack | HandshakeStep::HandshakeDone | HandshakeStep::ConnectionClose => (1, 1, ACK),
        HandshakeStep::Fin(length) => (sequence_number_of(length), 1, FIN | ACK),
        HandshakeStep::FinAck(length) => (1, sequence_number_of(length.wrapping_add(1)), FIN | ACK),
        HandshakeStep::AckOfFin(length) => (sequence_number_of(length.wrapping_add(1)), 2, ACK),
    };
    let mut part = build_tcp_header(ends, sequence, acknowledged, flags, u16::MAX);
    if flags & SYN != 0 {
        // SACK permitted (RFC 2018) and window scale (RFC 7323) options.
        part.put(&[4, 2, 1, 3, 3, WINDOW_SCALE as u8, 1, 1]);
        part.bytes[12] = (part.length as u8 / 4) << 4;
    }
    part
}

/// Appends the SACK option (RFC 2018, section 3): kind 5, length, and the edges of each block, after two no-operations
/// for word alignment.
fn append_sack_option(tcp: &mut Part, ack: &window::Ack) {
    let blocks = ack.sack.iter().filter(|block| !block.is_empty());
    let count = blocks.clone().count() as u8;
    if count == 0 {
        return;
    }
    tcp.put(&[1, 1, 5, 2 + 8 * count]);
    for block in blocks {
        for edge in [block.start, block.end] {
            tcp.put(&sequence_number_of(ack.cumulative.wrapping_add(u64::from(edge))).to_be_bytes());
        }
    }
    tcp.bytes[12] = (tcp.length as u8 / 4) << 4;
}

/// Appends no-operations (RFC 9293, section 3.1) up to the size of the packet on the wire, 20 bytes of it IP, in whole words and as far as there
/// is room for options. The simulated transport has options without contents in its headers, such as timestamps.
fn pad_options(tcp: &mut Part, size: u32) {
    let taken = (20 + tcp.length as u32).saturating_add(tcp.payload);
    let free = (MAX_TCP_HEADER_BYTES - tcp.length) as u32;
    let words = size.saturating_sub(taken).min(free) / 4;
    (0..words).for_each(|_| tcp.put(&[NO_OPERATION; 4]));
    tcp.bytes[12] = (tcp.length as u8 / 4) << 4;
}

/// Returns an ICMP message of type 4 (RFC 792) about a data packet between these endpoints.
fn source_quench(about: &PacketEndpoints, feedback: &Feedback) -> Part {
    let kbits = feedback.rate.map_or(0, |rate| rate.as_bits_per_sec() / 1000);
    let mut part = Part::new(0);
    part.words([4 << 8, 0]);
    part.put(&u32::try_from(kbits).unwrap_or(u32::MAX).to_be_bytes());
    let sequence = feedback.dropped.map_or(u32::MAX, sequence_number_of);
    let quoted = build_tcp_header(about, sequence, 0, ACK, u16::MAX);
    part.put(&ip_header(about, TCP, 0, Ecn::NotEct, 20 + quoted.length as u32));
    part.put(&quoted.bytes[..8]);
    part
}

/// Prepends an IP header to `part` and sets its checksum.
fn prepend_ip_header(record: &Record<'_>, ends: &PacketEndpoints, protocol: u8, mut part: Part) -> Headers {
    let before = (part.length as u32 + part.body.len() as u32).saturating_add(part.payload);
    let length = before.saturating_add(part.trailer.map_or(0, |_| 2));
    if let Some(at) = match protocol {
        TCP => Some(16),
        UDP => Some(6),
        _ => None,
    } {
        // The checksum covers the pseudo-header too (RFC 9293, 3.1).
        let addresses = [ends.source.octets(), ends.target.octets()].concat();
        let sum = sum_words(&addresses) + u64::from(protocol) + u64::from(length as u16);
        let odd = before % 2 == 1;
        let end = part.trailer.map_or(0, |[a, b]| u16::from_be_bytes(if odd { [b, a] } else { [a, b] }));
        let parts = sum_words(&part.bytes[..part.length]) + sum_words(&part.body);
        let checksum = fold_checksum(sum + parts + u64::from(end));
        part.bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    } else {
        let checksum = fold_checksum(sum_words(&part.bytes[..part.length]));
        part.bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    let mut headers = Headers {
        bytes: [0; MAX_HEADERS_BYTES],
        length: 20 + part.length,
        body: part.body,
        total: length.saturating_add(20),
        trailer: part.trailer.unwrap_or_default(),
        trailer_at: part.trailer.map(|_| before.saturating_add(20)),
    };
    headers.bytes[..20].copy_from_slice(&ip_header(
        ends,
        protocol,
        record.packet.serial as u16,
        record.ecn,
        headers.total,
    ));
    headers.bytes[20..headers.length].copy_from_slice(&part.bytes[..part.length]);
    headers
}

/// Returns an IPv4 header without options. A total length beyond 65535 is written as zero, as with segmentation
/// offload.
fn ip_header(ends: &PacketEndpoints, protocol: u8, identification: u16, ecn: Ecn, total: u32) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 4 << 4 | 5;
    header[1] = ecn.bits();
    header[2..4].copy_from_slice(&u16::try_from(total).unwrap_or(0).to_be_bytes());
    header[4..6].copy_from_slice(&identification.to_be_bytes());
    header[6] = DO_NOT_FRAGMENT;
    header[8] = INITIAL_TTL;
    header[9] = protocol;
    header[12..16].copy_from_slice(&ends.source.octets());
    header[16..20].copy_from_slice(&ends.target.octets());
    let checksum = fold_checksum(sum_words(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// Returns the sum of the 16-bit words of `bytes`, zero-padded to even length.
fn sum_words(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
    bytes.chunks(2).map(|pair| u64::from(word(pair))).sum()
}

/// Returns the Internet checksum (RFC 1071) of a sum of words.
fn fold_checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Maximum length of a TCP header (RFC 9293, section 3.1), in bytes.
const MAX_TCP_HEADER_BYTES: usize = 60;
/// Option without contents.
const NO_OPERATION: u8 = 1;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// 10.0.0.0/9.
const SOURCES: u32 = 10 << 24;
/// 10.128.0.0/9.
const SINKS: u32 = 10 << 24 | 1 << 23;
const HOST_MASK: u32 = (1 << 23) - 1;
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);

/// First client port; lower ports are for servers.
const FIRST_CLIENT_PORT: u16 = 10_000;
/// Port step per reuse of a connection number; prime, to keep ports of different connections from colliding.
const INCARNATION_STEP: u64 = 1009;
const SINK_PORT: u16 = CapturedBytes::PORT;
const ANSWER_PORT: u16 = SINK_PORT + 1;

/// Window scale: the maximum of RFC 7323, because simulated windows may be as large as 2^30.
const WINDOW_SCALE: u32 = 14;

const DO_NOT_FRAGMENT: u8 = 0x40;
/// Initial TTL. Simulated routers do not decrement it.
const INITIAL_TTL: u8 = 64;

/// Maximum header length: IP and the longest TCP header, or a retransmission request for a 2000-packet segment.
const MAX_HEADERS_BYTES: usize = 20 + 300;
