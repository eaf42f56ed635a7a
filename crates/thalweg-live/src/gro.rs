//! Receive coalescing (GRO): merges consecutive packets to a host into one buffer, as network cards and systems do.
//!
//! No packet is delayed for this: it merges packets that have arrived by the time of a poll, within [`MAX_MERGE_SPAN`]. Each
//! packet has passed the network separately before. Merged packets have valid checksums and the same headers except for
//! position-dependent fields (IP: no fragments or options; TCP: only data, without gaps); all but the last have the
//! same size.

use crate::gso::{checksum_at, headers_length, split_gso_buffer};
use crate::ip_header::{Header, TCP, UDP, checksum, pseudo_header_sum, set_checksum_v4};
use crate::tun_queue::{GsoKind, Offload, Port};
use rustix::io::Errno;
use thalweg_proto::units::{Duration, Time};

/// Maximum span of scheduled arrival times within a merged buffer. Packets that arrive more slowly are delivered
/// individually.
const MAX_MERGE_SPAN: Duration = Duration::from_micros(100);
/// Maximum packets per buffer.
const MAX_RUN_PACKETS: usize = 48;
/// Maximum size of a buffer, in bytes.
const MAX_BUFFER_BYTES: usize = 65_000;
/// Maximum number of buffers merged concurrently.
const MAX_OPEN_BUFFERS: usize = 8;

/// TCP flags: PSH, and ACK, which every data segment has.
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// A packet and its scheduled arrival time.
type Packet = (Time, Vec<u8>);

/// Parsed headers of a mergeable packet.
#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: GsoKind,
    header: Header,
    /// Total length of all headers, in bytes.
    headers_len: usize,
    sequence: u32,
}

impl Shape {
    fn from_packet(packet: &[u8], header: Header) -> Option<Self> {
        let kind = match (header.protocol, header.source.is_ipv4()) {
            (TCP, true) => GsoKind::Tcp4,
            (TCP, false) => GsoKind::Tcp6,
            (UDP, _) => GsoKind::Datagrams,
            _ => return None,
        };
        let is_plain = match header.source.is_ipv4() {
            // No options, not a fragment, and DF set.
            true => {
                header.transport_offset == 20
                    && packet[6] & 0xbf == 0
                    && packet[7] == 0
                    && !header.may_fragment
            }
            false => header.transport_offset == 40,
        };
        let headers_len = headers_length(kind, packet, &header)?;
        let transport = &packet[header.transport_offset..];
        let is_data = match kind {
            GsoKind::Tcp4 | GsoKind::Tcp6 => transport[13] & !PSH == ACK,
            GsoKind::Datagrams => transport[6..8] != [0, 0],
        };
        let sequence = match kind {
            GsoKind::Tcp4 | GsoKind::Tcp6 => {
                u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]])
            }
            GsoKind::Datagrams => 0,
        };
        (is_plain && is_data && packet.len() > headers_len).then_some(Self {
            kind,
            header,
            headers_len,
            sequence,
        })
    }
}

/// Returns true if the packet's checksum is valid; the system checks none of a merged buffer.
fn has_valid_checksum(shape: &Shape, packet: &[u8]) -> bool {
    let Header { source, target, protocol, transport_offset: at, .. } = shape.header;
    let pseudo_sum = pseudo_header_sum(source, target, protocol, packet.len() - at);
    checksum(&[&pseudo_sum.to_be_bytes(), &packet[at..]]) == 0
}

/// Returns true if both packets belong to one flow.
fn is_same_flow(one: &Header, other: &Header) -> bool {
    let ends = |header: &Header| (header.protocol, header.source, header.target, header.ports);
    ends(one) == ends(other)
}

/// Packets of one connection that are merged into one segment for the receiving host.
#[derive(Debug)]
struct Run {
    shape: Shape,
    packets: Vec<Packet>,
    bytes: usize,
    /// Payload bytes of each packet but the last.
    size: usize,
    /// Next expected sequence number.
    next: u32,
    is_open: bool,
}

impl Run {
    fn new(shape: Shape, at: Time, packet: Vec<u8>) -> Self {
        let (size, bytes) = (packet.len() - shape.headers_len, packet.len());
        let is_open =
            shape.kind == GsoKind::Datagrams || packet[shape.header.transport_offset + 13] & PSH == 0;
        let next = shape.sequence.wrapping_add(size as u32);
        Self { shape, packets: vec![(at, packet)], bytes, size, next, is_open }
    }

    /// Appends a packet of the same flow; returns it if it cannot be merged.
    fn add(&mut self, shape: &Shape, at: Time, packet: Vec<u8>) -> Option<Vec<u8>> {
        let Some((began, first)) = self.packets.first() else { return Some(packet) };
        let data = packet.len() - shape.headers_len;
        let continues = shape.kind == GsoKind::Datagrams || shape.sequence == self.next;
        let fits = self.bytes + data <= MAX_BUFFER_BYTES
            && self.packets.len() < MAX_RUN_PACKETS
            && at.since(*began) <= MAX_MERGE_SPAN;
        let continues = continues
            && fits
            && self.is_open
            && data <= self.size
            && has_matching_headers(shape, first, &packet);
        let is_first_valid = || self.packets.len() > 1 || has_valid_checksum(&self.shape, first);
        if !(continues && is_first_valid() && has_valid_checksum(shape, &packet)) {
            return Some(packet);
        }
        self.is_open = data == self.size
            && (shape.kind == GsoKind::Datagrams || packet[shape.header.transport_offset + 13] & PSH == 0);
        self.next = self.next.wrapping_add(data as u32);
        self.bytes += data;
        self.packets.push((at, packet));
        None
    }

    /// Writes the buffer; packet by packet if the system does not accept such buffers.
    fn write(&mut self, port: &Port) -> Result<WrittenForm, Errno> {
        let Shape { kind, header, headers_len, .. } = self.shape;
        let last =
            self.packets.last().and_then(|(_, packet)| packet.get(header.transport_offset + 13)).copied();
        let [(_, first), rest @ ..] = self.packets.as_mut_slice() else { return Ok(WrittenForm::Merged) };
        if rest.is_empty() {
            return port.write(first).map(|()| WrittenForm::Merged);
        }
        set_headers(first, &self.shape, self.bytes, last.unwrap_or(0));
        let offload = Offload {
            checksum: Some([header.transport_offset as u16, checksum_at(kind) as u16]),
            run: Some((kind, self.size as u16)),
        };
        let parts =
            || [first.as_slice()].into_iter().chain(rest.iter().map(|(_, packet)| &packet[headers_len..]));
        match port.write_run(offload, headers_len as u16, parts()) {
            Err(Errno::INVAL) => {
                let mut done = Ok(WrittenForm::InParts);
                split_gso_buffer(offload, &parts().collect::<Vec<_>>().concat(), |packet| {
                    done = done.and_then(|written| port.write(&packet).map(|()| written));
                });
                done
            }
            written => written.map(|()| WrittenForm::Merged),
        }
    }
}

/// Returns true if a packet's headers match the first packet's, except for position-dependent fields.
fn has_matching_headers(shape: &Shape, first: &[u8], packet: &[u8]) -> bool {
    let at = shape.header.transport_offset;
    if first.len() < shape.headers_len || packet.len() < shape.headers_len {
        return false;
    }
    let ip = match shape.header.source.is_ipv4() {
        // Ignore length, identification and checksum.
        true => first[..2] == packet[..2] && first[6..10] == packet[6..10],
        // Ignore the length.
        false => first[..4] == packet[..4] && first[6..8] == packet[6..8],
    };
    let is_same_transport = match shape.kind {
        // Acknowledgement number, flags except PSH, window, urgent pointer and options.
        GsoKind::Tcp4 | GsoKind::Tcp6 => {
            let (first, packet) = (&first[at..shape.headers_len], &packet[at..]);
            first[8..13] == packet[8..13]
                && (first[13] ^ packet[13]) & !PSH == 0
                && first[14..16] == packet[14..16]
                && first[18..] == packet[18..first.len()]
        }
        GsoKind::Datagrams => true,
    };
    ip && is_same_transport
}

/// Converts the headers of the first packet for a merged buffer of `bytes` bytes.
fn set_headers(first: &mut [u8], shape: &Shape, bytes: usize, last_flags: u8) {
    let Header { source, target, protocol, transport_offset: at, .. } = shape.header;
    let half = |value: usize| (value as u16).to_be_bytes();
    if source.is_ipv4() {
        first[2..4].copy_from_slice(&half(bytes));
        set_checksum_v4(&mut first[..at]);
    } else {
        first[4..6].copy_from_slice(&half(bytes - 40));
    }
    match shape.kind {
        GsoKind::Tcp4 | GsoKind::Tcp6 => first[at + 13] |= last_flags & PSH,
        GsoKind::Datagrams => first[at + 4..at + 6].copy_from_slice(&half(bytes - at)),
    }
    let place = at + checksum_at(shape.kind);
    let sum = pseudo_header_sum(source, target, protocol, bytes - at);
    first[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Form of a written buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WrittenForm {
    Merged,
    /// Packet by packet: the system does not accept such buffers.
    InParts,
}

/// Delivery event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryEvent {
    /// Delivery of a packet that was scheduled for this time.
    Leaves(Time),
    /// The system rejected the last write, with this number of packets.
    Refused(Errno, u64),
}

/// Pending packets to one host.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    open_runs: Vec<Run>,
    /// True if the system accepts merged TCP segments but not merged datagrams.
    tcp_alone: bool,
}

impl Runs {
    /// Returns true if no packet is pending.
    pub fn is_empty(&self) -> bool {
        self.open_runs.is_empty()
    }

    /// Adds a packet for the host, scheduled for `at`. Reports delivery events through `on_delivery`.
    pub fn add(
        &mut self,
        port: &Port,
        at: Time,
        packet: Vec<u8>,
        mut on_delivery: impl FnMut(DeliveryEvent),
    ) {
        let header = if port.takes_runs() { Header::parse(&packet) } else { None };
        let Some(header) = header else { return write_to_port(port, at, &packet, &mut on_delivery) };
        let known = self.open_runs.iter().position(|run| is_same_flow(&run.shape.header, &header));
        let shape = Shape::from_packet(&packet, header);
        let shape = shape.filter(|shape| !(self.tcp_alone && shape.kind == GsoKind::Datagrams));
        match (known, shape) {
            (None, None) => write_to_port(port, at, &packet, &mut on_delivery),
            // Pending packets of the same flow must precede it.
            (Some(known), None) => {
                let run = self.open_runs.remove(known);
                self.write(port, run, &mut on_delivery);
                write_to_port(port, at, &packet, &mut on_delivery);
            }
            (Some(known), Some(shape)) => {
                if let Some(packet) = self.open_runs[known].add(&shape, at, packet) {
                    let run = std::mem::replace(&mut self.open_runs[known], Run::new(shape, at, packet));
                    self.write(port, run, &mut on_delivery);
                }
            }
            (None, Some(shape)) => {
                if self.open_runs.len() >= MAX_OPEN_BUFFERS {
                    self.flush(port, &mut on_delivery);
                }
                self.open_runs.push(Run::new(shape, at, packet));
            }
        }
    }

    /// Delivers all pending packets.
    pub fn flush(&mut self, port: &Port, mut on_delivery: impl FnMut(DeliveryEvent)) {
        while !self.open_runs.is_empty() {
            let run = self.open_runs.remove(0);
            self.write(port, run, &mut on_delivery);
        }
    }

    fn write(&mut self, port: &Port, mut run: Run, on_delivery: &mut impl FnMut(DeliveryEvent)) {
        run.packets.iter().for_each(|(at, _)| on_delivery(DeliveryEvent::Leaves(*at)));
        match run.write(port) {
            Ok(WrittenForm::Merged) => {}
            Ok(WrittenForm::InParts) => self.tcp_alone |= run.shape.kind == GsoKind::Datagrams,
            Err(error) => on_delivery(DeliveryEvent::Refused(error, run.packets.len() as u64)),
        }
    }
}

/// Delivers a single packet.
fn write_to_port(port: &Port, at: Time, packet: &[u8], on_delivery: &mut impl FnMut(DeliveryEvent)) {
    on_delivery(DeliveryEvent::Leaves(at));
    if let Err(error) = port.write(packet) {
        on_delivery(DeliveryEvent::Refused(error, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gso::tests::{has_valid_checksum as is_sealed, pieces, unsealed};
    use std::os::unix::net::UnixDatagram;

    /// Host that records all writes.
    struct RecordingHost {
        port: Port,
        host: UnixDatagram,
        runs: Runs,
    }

    impl RecordingHost {
        fn new() -> Self {
            let (one, host) = UnixDatagram::pair().unwrap();
            host.set_nonblocking(true).unwrap();
            Self { port: Port::with_headers(one.into()), host, runs: Runs::default() }
        }

        /// Delivers packets at intervals of a number of microseconds. Returns the written buffers, split again.
        fn hand(&mut self, packets: &[Vec<u8>], spacing: u64) -> Vec<Vec<Vec<u8>>> {
            let mut events = Vec::new();
            for (number, packet) in (0..).zip(packets) {
                let at = Time::ZERO + Duration::from_micros(number * spacing);
                self.runs.add(&self.port, at, packet.clone(), |what| events.push(what));
            }
            self.runs.flush(&self.port, |what| events.push(what));
            assert!(
                events.len() == packets.len()
                    && events.iter().all(|what| matches!(what, DeliveryEvent::Leaves(_)))
            );
            let (mut seen, reader) = (Vec::new(), Port::with_headers(self.host.try_clone().unwrap().into()));
            while let Ok((offload, bytes)) = reader.read(&mut [0; 1 << 17]) {
                let mut parts = Vec::new();
                split_gso_buffer(offload, bytes, |packet| parts.push(packet));
                seen.push(parts);
            }
            seen
        }
    }

    fn data(length: usize) -> Vec<u8> {
        (0..length).map(|number| (number % 253) as u8).collect()
    }

    /// Tests that merged packets split into the original ones, also across the wrap of sequence numbers.
    #[test]
    fn runs_are_what_was_cut() {
        for kind in [GsoKind::Tcp4, GsoKind::Tcp6, GsoKind::Datagrams] {
            let packets = pieces(kind, 1000, &unsealed(kind, u32::MAX - 1500, ACK | PSH, &data(4500)));
            assert_eq!(packets.len(), 5);
            assert_eq!(RecordingHost::new().hand(&packets, 10), [&*packets], "{kind:?}");
            // Beyond the merge span.
            assert_eq!(RecordingHost::new().hand(&packets, 101).len(), 5);
            // 50 us apart, three are within 100 us.
            assert_eq!(
                RecordingHost::new().hand(&packets, 50).iter().map(Vec::len).collect::<Vec<_>>(),
                [3, 2]
            );
        }
    }

    /// Tests gaps, other ECN codepoints, other acknowledgement numbers, corruption and packets without data: no packet
    /// changes or overtakes its flow.
    #[test]
    fn packets_with_different_headers_are_not_merged() {
        let original = pieces(GsoKind::Tcp4, 1000, &unsealed(GsoKind::Tcp4, 0, ACK, &data(5000)));
        let run_lengths = |packets: &[Vec<u8>]| {
            let seen = RecordingHost::new().hand(packets, 1);
            assert_eq!(seen.concat(), packets);
            seen.iter().map(Vec::len).collect::<Vec<_>>()
        };
        let but = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut packets = original.clone();
            change(&mut packets[2]);
            packets
        };
        let sealed = |packet: &mut Vec<u8>| {
            set_checksum_v4(&mut packet[..20]);
            packet[36..38].fill(0);
            let header = Header::parse(packet).unwrap();
            let pseudo_sum = pseudo_header_sum(header.source, header.target, TCP, packet.len() - 20);
            let sum = checksum(&[&pseudo_sum.to_be_bytes(), &packet[20..]]);
            packet[36..38].copy_from_slice(&sum.to_be_bytes());
            assert!(is_sealed(packet));
        };
        let missing = [&original[..2], &original[3..]].concat();
        assert_eq!(run_lengths(&missing), [2, 2]);
        // CE is 3 where the others have 2.
        assert_eq!(
            run_lengths(&but(&|packet| {
                packet[1] = 3;
                sealed(packet);
            })),
            [2, 1, 2]
        );
        assert_eq!(
            run_lengths(&but(&|packet| {
                packet[31] = 10;
                sealed(packet);
            })),
            [2, 1, 2]
        );
        assert_eq!(run_lengths(&but(&|packet| packet[700] ^= 0x10)), [2, 1, 2]);
        // Nothing merges with a corrupted first packet.
        let mut damaged = original.clone();
        damaged[0][700] ^= 0x10;
        assert_eq!(run_lengths(&damaged), [1, 4]);
        // A pure acknowledgement.
        assert_eq!(
            run_lengths(&but(&|packet| {
                packet.truncate(52);
                packet[2..4].copy_from_slice(&[0, 52]);
                sealed(packet);
            })),
            [2, 1, 2]
        );
        // PSH or a shorter packet ends a buffer.
        assert_eq!(
            run_lengths(&but(&|packet| {
                packet[33] |= PSH;
                sealed(packet);
            })),
            [3, 2]
        );
        let short = [
            pieces(GsoKind::Tcp4, 1000, &unsealed(GsoKind::Tcp4, 0, ACK, &data(1500))),
            pieces(GsoKind::Tcp4, 1000, &unsealed(GsoKind::Tcp4, 1500, ACK, &data(2000))),
        ];
        assert_eq!(run_lengths(&short.concat()), [2, 2]);
    }

    /// Tests interleaved flows, each with its own buffer; beyond the limit, older buffers are delivered first.
    #[test]
    fn flows_are_not_merged() {
        let of = |port: u8| {
            let mut original = unsealed(GsoKind::Datagrams, 0, 0, &data(2000));
            // The partial sum in the checksum field does not cover the port.
            original[21] = port;
            pieces(GsoKind::Datagrams, 1000, &original)
        };
        let flows: Vec<Vec<Vec<u8>>> = (0..10).map(of).collect();
        let turns: Vec<Vec<u8>> =
            (0..2).flat_map(|turn| flows[..4].iter().map(move |flow| flow[turn].clone())).collect();
        assert_eq!(RecordingHost::new().hand(&turns, 1), flows[..4]);
        let turns: Vec<Vec<u8>> =
            (0..2).flat_map(|turn| flows.iter().map(move |flow| flow[turn].clone())).collect();
        let mut seen = RecordingHost::new().hand(&turns, 1).concat();
        let mut sent = turns;
        seen.sort();
        sent.sort();
        assert_eq!(seen, sent);
    }
}
