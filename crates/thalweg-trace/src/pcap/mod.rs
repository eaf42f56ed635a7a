//! Packet captures: pcap and pcapng, in both byte orders, with microseconds or nanoseconds.
//!
//! Link types are Ethernet (with VLAN tags and PPPoE), raw IP, Linux cooked mode (versions 1 and 2), loopback and PPP;
//! IPv4 and IPv6 with its extension headers. Packets may be cut to their headers: sizes are those of the headers'
//! length fields.
//!
//! TCP connections are reconstructed as tcptrace does (`tcp`). QUIC is decrypted (`quic`) if the capture or a key log
//! has its secrets. For QUIC without secrets, and for other protocols over UDP, only sizes and times are visible, and
//! QUIC's spin bit (RFC 9000, section 17.4). Fragments other than the first, and packets of other protocols, are
//! counted.

mod capture_connections;
mod connection_endpoints;
mod packet_headers;
mod quic;
mod tcp_reconstruction;
mod thalweg_protocols;
mod udp_flows;

use crate::buffered_input::Input;
use crate::format_and_limits::{Format, Limits, ReadError};
use crate::trace_model::Trace;
use capture_connections::{CapturedAt, Connections};
pub use quic::KeyLog;
use thalweg_units::Time;

/// Byte order and magic number of a pcap file.
#[derive(Clone, Copy)]
struct Order {
    is_big: bool,
}

impl Order {
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).unwrap_or([0; 4]);
        if self.is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let word = bytes.get(at..at + 2).and_then(|word| word.try_into().ok()).unwrap_or([0; 2]);
        if self.is_big { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) }
    }
}

/// Magic numbers: value, whether times are in nanoseconds, and length of a packet's header.
const MAGICS: [(u32, bool, usize); 3] =
    [(0xa1b2_c3d4, false, 16), (0xa1b2_3c4d, true, 16), (0xa1b2_cd34, false, 24)];

fn parse_magic(head: &[u8]) -> Option<(Order, bool, usize)> {
    [false, true].into_iter().find_map(|is_big| {
        let order = Order { is_big };
        let found = head.get(..4).map(|head| order.u32(head, 0))?;
        let (_, nanos, header) = MAGICS.into_iter().find(|(magic, ..)| *magic == found)?;
        Some((order, nanos, header))
    })
}

/// Returns true if a file with this beginning is a capture of libpcap.
pub(crate) fn is_pcap(head: &[u8]) -> bool {
    parse_magic(head).is_some()
}

/// Returns true if a file with this beginning is a capture in pcapng.
pub(crate) fn is_pcapng(head: &[u8]) -> bool {
    head.starts_with(&SECTION.to_le_bytes())
}

/// Reads a capture, with secrets of QUIC connections.
pub(crate) fn read(input: &mut Input<'_>, limits: &Limits, keys: &KeyLog) -> Result<Trace, ReadError> {
    let is_pcap = is_pcap(input.peek(4));
    let format = if is_pcap { Format::Pcap } else { Format::PcapNg };
    let connections = Connections::new(limits, keys.clone());
    let mut reader = Reader { connections, clock: Clock::default(), packets: 0 };
    let problem = if is_pcap { reader.pcap(input) } else { reader.pcapng(input) };
    let packets = reader.packets;
    let jumps = reader.clock.jumps;
    let (connections, mut notes) = reader.connections.finish();
    if connections.is_empty() {
        let problem = match (problem, packets) {
            (Some(problem), 0) => format!("{problem}, before the first packet"),
            (_, 0) => "it has no packets".to_owned(),
            _ => format!("no TCP or UDP among its {packets} packets: {}", notes.join(" ")),
        };
        return Err(ReadError::Unusable { format, problem });
    }
    if jumps > 0 {
        notes.push(format!(
            "The clock goes back at {jumps} packets; they count as simultaneous with the one before."
        ));
    }
    let is_cut = problem.is_some();
    notes.extend(problem.map(|problem| format!("{problem}; the {packets} packets before are shown.")));
    let epoch = reader.clock.first.map(|nanos| nanos as f64 / 1e9);
    Ok(Trace { format, connections, epoch, notes, is_cut })
}

/// Clock of a capture.
#[derive(Default)]
struct Clock {
    /// Time of the first packet, in nanoseconds since 1970.
    first: Option<u64>,
    last: Time,
    jumps: u64,
}

impl Clock {
    /// Returns the time of a packet since the first one.
    fn time(&mut self, nanos: u64) -> Time {
        let first = *self.first.get_or_insert(nanos);
        let picos = nanos.saturating_sub(first).min(MAX_NANOS) * 1000;
        let time = Time::from_picos(picos);
        self.jumps += u64::from(self.last.since(time) > MAX_JUMP);
        self.last = self.last.max(time);
        self.last
    }
}

/// Maximum duration of a capture: 200 days, in nanoseconds.
const MAX_NANOS: u64 = 200 * 86_400 * 1_000_000_000;
/// Backward step of the clock that is not reported.
const MAX_JUMP: thalweg_units::Duration = thalweg_units::Duration::from_millis(1);

struct Reader {
    connections: Connections,
    clock: Clock,
    packets: u64,
}

/// Interface of a pcapng section.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    snapshot: u32,
    /// Ticks of its clock per second.
    ticks: u64,
    /// Seconds to add.
    offset: u64,
}

impl Reader {
    /// Reads a pcap file; returns what ended it early.
    fn pcap(&mut self, input: &mut Input<'_>) -> Option<String> {
        let head = input.peek(24);
        if head.len() < 24 {
            return Some("The file ends within its header".to_owned());
        }
        let (order, is_nano, header) = parse_magic(head)?;
        // The upper half has the length of the frame check sequence.
        let link = order.u32(head, 20) & 0xffff;
        input.consume(24);
        loop {
            let position = input.position();
            let head = input.peek(header);
            if head.is_empty() {
                return None;
            }
            if head.len() < header {
                return Some(format!(
                    "The file ends at byte {} within a packet",
                    position + head.len() as u64
                ));
            }
            let [seconds, fraction, captured, length] = [0, 4, 8, 12].map(|at| order.u32(head, at));
            let captured = captured as usize;
            if captured > MAX_CAPTURED {
                return Some(format!(
                    "The packet at byte {position} has a length of {captured} B: the file is damaged there"
                ));
            }
            let whole = input.peek(header + captured);
            if whole.len() < header + captured {
                return Some(format!(
                    "The file ends at byte {} within a packet",
                    position + whole.len() as u64
                ));
            }
            let fraction = u64::from(fraction) * if is_nano { 1 } else { 1000 };
            let nanos = u64::from(seconds) * 1_000_000_000 + fraction;
            let bytes = &whole[header..header + captured];
            self.packets += 1;
            let time = self.clock.time(nanos);
            self.connections.packet(CapturedAt { interface: 0, link }, time, bytes, length);
            input.consume(header + captured);
        }
    }

    /// Reads a pcapng file; returns what ended it early.
    fn pcapng(&mut self, input: &mut Input<'_>) -> Option<String> {
        let mut order = Order { is_big: false };
        let mut interfaces: Vec<Interface> = Vec::new();
        loop {
            let position = input.position();
            let head = input.peek(12);
            if head.is_empty() {
                return None;
            }
            let truncated_file =
                |end: usize| Some(format!("The file ends at byte {} within a block", position + end as u64));
            if head.len() < 12 {
                return truncated_file(head.len());
            }
            let kind = order.u32(head, 0);
            if kind == SECTION {
                order = match head[8..12] {
                    [0x1a, 0x2b, 0x3c, 0x4d] => Order { is_big: true },
                    [0x4d, 0x3c, 0x2b, 0x1a] => Order { is_big: false },
                    _ => {
                        return Some(format!(
                            "The section at byte {position} has no byte order: the file is damaged there"
                        ));
                    }
                };
                interfaces.clear();
            }
            let length = order.u32(head, 4) as usize;
            if length < 12 || !length.is_multiple_of(4) {
                return Some(format!(
                    "The block at byte {position} has a length of {length} B: the file is damaged there"
                ));
            }
            let is_used = [INTERFACE, ENHANCED, SIMPLE, PACKET, SECRETS].contains(&kind);
            if !is_used {
                if !input.skip(length as u64) {
                    return truncated_file(length);
                }
                continue;
            }
            if length > MAX_BLOCK {
                return Some(format!(
                    "The block at byte {position} has a length of {length} B: the file is damaged there"
                ));
            }
            let block = input.peek(length);
            if block.len() < length {
                let end = block.len();
                return truncated_file(end);
            }
            let body = &block[8..length - 4];
            match kind {
                SECRETS => self.secrets(order, body),
                INTERFACE if interfaces.len() < MAX_INTERFACES => {
                    interfaces.push(Interface::parse(order, body));
                }
                INTERFACE => {
                    return Some(format!(
                        "The section has more than {MAX_INTERFACES} interfaces at byte {position}"
                    ));
                }
                _ => self.block(order, kind, body, &interfaces),
            }
            input.consume(length);
        }
    }

    /// Adds the key log of a block of secrets (draft-ietf-opsawg-pcapng, section 4.7).
    fn secrets(&mut self, order: Order, body: &[u8]) {
        let length = order.u32(body, 4) as usize;
        let text = body.get(8..).unwrap_or_default();
        if order.u32(body, 0) == TLS_KEY_LOG {
            self.connections.keys.add(&String::from_utf8_lossy(&text[..length.min(text.len())]));
        }
    }

    /// Adds the packet of a block.
    fn block(&mut self, order: Order, kind: u32, body: &[u8], interfaces: &[Interface]) {
        let number = match kind {
            ENHANCED => order.u32(body, 0) as usize,
            PACKET => usize::from(order.u16(body, 0)),
            _ => 0,
        };
        let Some(interface) = interfaces.get(number) else { return };
        let at = CapturedAt { interface: u16::try_from(number).unwrap_or(u16::MAX), link: interface.link };
        if kind == SIMPLE {
            // It has no time: that of the packet before is the best one known.
            let length = order.u32(body, 0);
            let snapshot = if interface.snapshot == 0 { u32::MAX } else { interface.snapshot };
            let captured = length.min(snapshot) as usize;
            let bytes = body.get(4..).unwrap_or_default();
            self.packets += 1;
            self.connections.packet(at, self.clock.last, &bytes[..captured.min(bytes.len())], length);
            return;
        }
        let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
        let (captured, length) = (order.u32(body, 12) as usize, order.u32(body, 16));
        let bytes = body.get(20..).unwrap_or_default();
        let bytes = &bytes[..captured.min(bytes.len())];
        self.packets += 1;
        let time = self.clock.time(interface.nanos(ticks));
        self.connections.packet(at, time, bytes, length);
    }
}

impl Interface {
    fn parse(order: Order, body: &[u8]) -> Self {
        let mut interface = Self {
            link: order.u16(body, 0).into(),
            snapshot: order.u32(body, 4),
            ticks: 1_000_000,
            offset: 0,
        };
        let mut options = body.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, length) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
            let Some(value) = options.get(4..4 + length) else { break };
            match code {
                0 => break,
                // Resolution: a power of ten, or of two with the highest bit.
                9 => match value.first() {
                    Some(power @ 0..=18) => interface.ticks = 10u64.pow((*power).into()),
                    Some(power @ 128..=190) => interface.ticks = 1 << (power & 0x7f),
                    _ => {}
                },
                14 if length == 8 => {
                    let [one, other] = [0, 4].map(|at| u64::from(order.u32(value, at)));
                    interface.offset = if order.is_big { one << 32 | other } else { other << 32 | one };
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        interface
    }

    /// Returns a time in nanoseconds since 1970.
    fn nanos(self, ticks: u64) -> u64 {
        let (seconds, rest) = (ticks / self.ticks, ticks % self.ticks);
        let fraction = u128::from(rest) * 1_000_000_000 / u128::from(self.ticks);
        seconds.saturating_add(self.offset).saturating_mul(1_000_000_000).saturating_add(fraction as u64)
    }
}

/// Types of blocks (draft-ietf-opsawg-pcapng, section 4).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
const SECRETS: u32 = 10;
/// Type of secrets: a key log of TLS.
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Maximum length of a captured packet, in bytes; that of libpcap is 262,144.
const MAX_CAPTURED: usize = 1 << 20;
/// Maximum length of a block with a packet or an interface, in bytes.
const MAX_BLOCK: usize = 4 << 20;
/// Maximum number of interfaces.
const MAX_INTERFACES: usize = 10_000;
