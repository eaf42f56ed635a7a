//! Packets that reach a host one behind the other are handed over in one piece, as network cards and systems put them together (GRO).
//!
//! Nothing waits for that: it happens to what has arrived by the time that this host looks, and only within [`SPAN`]. Each packet has met
//! its own fate before. A run is of packets that differ in nothing but what follows from their places in it (of IP no fragments
//! and no options; of TCP data alone, without a gap), and whose checksums are right; all but the last are of one size.

use crate::packet::{Header, TCP, UDP, checksum, pseudo, seal_v4};
use crate::port::{Kind, Offload, Port};
use crate::segments::{checksum_at, cut, heads};
use rustix::io::Errno;
use thalweg_proto::units::{Duration, Time};

/// The packets of a run were to arrive within this time: where they come slower, each is handed over by itself.
const SPAN: Duration = Duration::from_micros(100);
/// Packets in a run.
const MOST: usize = 48;
/// Bytes in a run.
const LARGEST: usize = 65_000;
/// Runs that are put together at a time.
const OPEN: usize = 8;

/// Flags of TCP: data that is to be read at once, and an acknowledgement, without which there is no data.
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// A packet, and the time at which it was to arrive.
type Packet = (Time, Vec<u8>);

/// The headers of a packet that may be one of a run.
#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: Kind,
    header: Header,
    /// The bytes of all headers.
    head: usize,
    sequence: u32,
}

impl Shape {
    fn of(packet: &[u8], header: Header) -> Option<Self> {
        let kind = match (header.protocol, header.source.is_ipv4()) {
            (TCP, true) => Kind::Tcp4,
            (TCP, false) => Kind::Tcp6,
            (UDP, _) => Kind::Datagrams,
            _ => return None,
        };
        let is_plain = match header.source.is_ipv4() {
            // No options, no fragment, and none to be made of it.
            true => header.at == 20 && packet[6] & 0xbf == 0 && packet[7] == 0 && !header.may_be_cut,
            false => header.at == 40,
        };
        let head = heads(kind, packet, &header)?;
        let own = &packet[header.at..];
        let is_data = match kind {
            Kind::Tcp4 | Kind::Tcp6 => own[13] & !PSH == ACK,
            Kind::Datagrams => own[6..8] != [0, 0],
        };
        let sequence = match kind {
            Kind::Tcp4 | Kind::Tcp6 => u32::from_be_bytes([own[4], own[5], own[6], own[7]]),
            Kind::Datagrams => 0,
        };
        (is_plain && is_data && packet.len() > head).then_some(Self { kind, header, head, sequence })
    }
}

/// The checksum of a packet is right: of a run the system looks at none.
fn is_right(shape: &Shape, packet: &[u8]) -> bool {
    let Header { source, target, protocol, at, .. } = shape.header;
    let around = pseudo(source, target, protocol, packet.len() - at);
    checksum(&[&around.to_be_bytes(), &packet[at..]]) == 0
}

/// Both are of one flow.
fn is_beside(one: &Header, other: &Header) -> bool {
    let ends = |header: &Header| (header.protocol, header.source, header.target, header.ports);
    ends(one) == ends(other)
}

/// A run that is put together.
#[derive(Debug)]
struct Run {
    shape: Shape,
    packets: Vec<Packet>,
    bytes: usize,
    /// The bytes of data in each packet but the last.
    size: usize,
    /// The sequence number of what comes next.
    next: u32,
    is_open: bool,
}

impl Run {
    fn new(shape: Shape, at: Time, packet: Vec<u8>) -> Self {
        let (size, bytes) = (packet.len() - shape.head, packet.len());
        let is_open = shape.kind == Kind::Datagrams || packet[shape.header.at + 13] & PSH == 0;
        let next = shape.sequence.wrapping_add(size as u32);
        Self { shape, packets: vec![(at, packet)], bytes, size, next, is_open }
    }

    /// Adds a packet of the same flow; gives it back where it does not go on with the run.
    fn add(&mut self, shape: &Shape, at: Time, packet: Vec<u8>) -> Option<Vec<u8>> {
        let Some((began, first)) = self.packets.first() else { return Some(packet) };
        let data = packet.len() - shape.head;
        let goes_on = shape.kind == Kind::Datagrams || shape.sequence == self.next;
        let fits = self.bytes + data <= LARGEST && self.packets.len() < MOST && at.since(*began) <= SPAN;
        let goes_on = goes_on && fits && self.is_open && data <= self.size && is_alike(shape, first, &packet);
        let is_first_right = || self.packets.len() > 1 || is_right(&self.shape, first);
        if !(goes_on && is_first_right() && is_right(shape, &packet)) {
            return Some(packet);
        }
        self.is_open =
            data == self.size && (shape.kind == Kind::Datagrams || packet[shape.header.at + 13] & PSH == 0);
        self.next = self.next.wrapping_add(data as u32);
        self.bytes += data;
        self.packets.push((at, packet));
        None
    }

    /// Writes it; its packets one by one where the system takes no such run.
    fn write(&mut self, port: &Port) -> Result<Written, Errno> {
        let Shape { kind, header, head, .. } = self.shape;
        let last = self.packets.last().and_then(|(_, packet)| packet.get(header.at + 13)).copied();
        let [(_, first), rest @ ..] = self.packets.as_mut_slice() else { return Ok(Written::Whole) };
        if rest.is_empty() {
            return port.write(first).map(|()| Written::Whole);
        }
        dress(first, &self.shape, self.bytes, last.unwrap_or(0));
        let offload = Offload {
            checksum: Some([header.at as u16, checksum_at(kind) as u16]),
            run: Some((kind, self.size as u16)),
        };
        let parts = || [first.as_slice()].into_iter().chain(rest.iter().map(|(_, packet)| &packet[head..]));
        match port.write_run(offload, head as u16, parts()) {
            Err(Errno::INVAL) => {
                let mut done = Ok(Written::InParts);
                cut(offload, &parts().collect::<Vec<_>>().concat(), |packet| {
                    done = done.and_then(|written| port.write(&packet).map(|()| written));
                });
                done
            }
            written => written.map(|()| Written::Whole),
        }
    }
}

/// The headers of a packet are those of the first of a run, but for what follows from its place.
fn is_alike(shape: &Shape, first: &[u8], packet: &[u8]) -> bool {
    let at = shape.header.at;
    if first.len() < shape.head || packet.len() < shape.head {
        return false;
    }
    let ip = match shape.header.source.is_ipv4() {
        // Not the length, the number and the checksum.
        true => first[..2] == packet[..2] && first[6..10] == packet[6..10],
        // Not the length.
        false => first[..4] == packet[..4] && first[6..8] == packet[6..8],
    };
    let own = match shape.kind {
        // Acknowledgement, flags but for PSH, window, urgent data and options.
        Kind::Tcp4 | Kind::Tcp6 => {
            let (first, packet) = (&first[at..shape.head], &packet[at..]);
            first[8..13] == packet[8..13]
                && (first[13] ^ packet[13]) & !PSH == 0
                && first[14..16] == packet[14..16]
                && first[18..] == packet[18..first.len()]
        }
        Kind::Datagrams => true,
    };
    ip && own
}

/// Makes the headers of a first packet those of its run of so many bytes.
fn dress(first: &mut [u8], shape: &Shape, bytes: usize, last_flags: u8) {
    let Header { source, target, protocol, at, .. } = shape.header;
    let half = |value: usize| (value as u16).to_be_bytes();
    if source.is_ipv4() {
        first[2..4].copy_from_slice(&half(bytes));
        seal_v4(&mut first[..at]);
    } else {
        first[4..6].copy_from_slice(&half(bytes - 40));
    }
    match shape.kind {
        Kind::Tcp4 | Kind::Tcp6 => first[at + 13] |= last_flags & PSH,
        Kind::Datagrams => first[at + 4..at + 6].copy_from_slice(&half(bytes - at)),
    }
    let place = at + checksum_at(shape.kind);
    let sum = pseudo(source, target, protocol, bytes - at);
    first[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The form in which a run was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Whole,
    /// Packet by packet, as the system takes no such runs.
    InParts,
}

/// The fate of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// One that was to arrive at this time is handed over now.
    Leaves(Time),
    /// The last that was handed over was not taken, and so many with it.
    Refused(Errno, u64),
}

/// The packets that are to be handed to one host.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    open: Vec<Run>,
    /// The system takes runs of TCP, but not of datagrams.
    tcp_alone: bool,
}

impl Runs {
    /// Nothing waits to be handed over.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A packet for the host, which was to arrive at `at`. What becomes of packets is told.
    pub fn add(&mut self, port: &Port, at: Time, packet: Vec<u8>, mut told: impl FnMut(Told)) {
        let header = if port.takes_runs() { Header::parse(&packet) } else { None };
        let Some(header) = header else { return write(port, at, &packet, &mut told) };
        let known = self.open.iter().position(|run| is_beside(&run.shape.header, &header));
        let shape = Shape::of(&packet, header);
        let shape = shape.filter(|shape| !(self.tcp_alone && shape.kind == Kind::Datagrams));
        match (known, shape) {
            (None, None) => write(port, at, &packet, &mut told),
            // It is not to come before what is there of its flow.
            (Some(known), None) => {
                let run = self.open.remove(known);
                self.write(port, run, &mut told);
                write(port, at, &packet, &mut told);
            }
            (Some(known), Some(shape)) => {
                if let Some(packet) = self.open[known].add(&shape, at, packet) {
                    let run = std::mem::replace(&mut self.open[known], Run::new(shape, at, packet));
                    self.write(port, run, &mut told);
                }
            }
            (None, Some(shape)) => {
                if self.open.len() >= OPEN {
                    self.flush(port, &mut told);
                }
                self.open.push(Run::new(shape, at, packet));
            }
        }
    }

    /// Hands over all that is there.
    pub fn flush(&mut self, port: &Port, mut told: impl FnMut(Told)) {
        while !self.open.is_empty() {
            let run = self.open.remove(0);
            self.write(port, run, &mut told);
        }
    }

    fn write(&mut self, port: &Port, mut run: Run, told: &mut impl FnMut(Told)) {
        run.packets.iter().for_each(|(at, _)| told(Told::Leaves(*at)));
        match run.write(port) {
            Ok(Written::Whole) => {}
            Ok(Written::InParts) => self.tcp_alone |= run.shape.kind == Kind::Datagrams,
            Err(error) => told(Told::Refused(error, run.packets.len() as u64)),
        }
    }
}

/// Hands over a single packet.
fn write(port: &Port, at: Time, packet: &[u8], told: &mut impl FnMut(Told)) {
    told(Told::Leaves(at));
    if let Err(error) = port.write(packet) {
        told(Told::Refused(error, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::tests::{is_right as is_sealed, pieces, unsealed};
    use std::os::unix::net::UnixDatagram;

    /// A host that keeps what is written.
    struct Kept {
        port: Port,
        host: UnixDatagram,
        runs: Runs,
    }

    impl Kept {
        fn new() -> Self {
            let (one, host) = UnixDatagram::pair().unwrap();
            host.set_nonblocking(true).unwrap();
            Self { port: Port::with_headers(one.into()), host, runs: Runs::default() }
        }

        /// Hands over packets that arrive so many microseconds apart: what was written, cut again.
        fn hand(&mut self, packets: &[Vec<u8>], apart: u64) -> Vec<Vec<Vec<u8>>> {
            let mut told = Vec::new();
            for (number, packet) in (0..).zip(packets) {
                let at = Time::ZERO + Duration::from_micros(number * apart);
                self.runs.add(&self.port, at, packet.clone(), |what| told.push(what));
            }
            self.runs.flush(&self.port, |what| told.push(what));
            assert!(told.len() == packets.len() && told.iter().all(|what| matches!(what, Told::Leaves(_))));
            let (mut seen, reader) = (Vec::new(), Port::with_headers(self.host.try_clone().unwrap().into()));
            while let Ok((offload, bytes)) = reader.read(&mut [0; 1 << 17]) {
                let mut parts = Vec::new();
                cut(offload, bytes, |packet| parts.push(packet));
                seen.push(parts);
            }
            seen
        }
    }

    fn data(length: usize) -> Vec<u8> {
        (0..length).map(|number| (number % 253) as u8).collect()
    }

    /// The packets of a run are put together, and cut again they are the same: also at the wrap of sequence numbers.
    #[test]
    fn runs_are_what_was_cut() {
        for kind in [Kind::Tcp4, Kind::Tcp6, Kind::Datagrams] {
            let packets = pieces(kind, 1000, &unsealed(kind, u32::MAX - 1500, ACK | PSH, &data(4500)));
            assert_eq!(packets.len(), 5);
            assert_eq!(Kept::new().hand(&packets, 10), [&*packets], "{kind:?}");
            // Further apart than cards wait.
            assert_eq!(Kept::new().hand(&packets, 101).len(), 5);
            // 50 us apart, three are within 100 us.
            assert_eq!(Kept::new().hand(&packets, 50).iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
        }
    }

    /// A gap, another mark, another acknowledgement, damage, and what is no data: no packet is changed, and none overtakes its flow.
    #[test]
    fn what_differs_stays_apart() {
        let whole = pieces(Kind::Tcp4, 1000, &unsealed(Kind::Tcp4, 0, ACK, &data(5000)));
        let apart = |packets: &[Vec<u8>]| {
            let seen = Kept::new().hand(packets, 1);
            assert_eq!(seen.concat(), packets);
            seen.iter().map(Vec::len).collect::<Vec<_>>()
        };
        let but = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut packets = whole.clone();
            change(&mut packets[2]);
            packets
        };
        let sealed = |packet: &mut Vec<u8>| {
            seal_v4(&mut packet[..20]);
            packet[36..38].fill(0);
            let header = Header::parse(packet).unwrap();
            let around = pseudo(header.source, header.target, TCP, packet.len() - 20);
            let sum = checksum(&[&around.to_be_bytes(), &packet[20..]]);
            packet[36..38].copy_from_slice(&sum.to_be_bytes());
            assert!(is_sealed(packet));
        };
        let missing = [&whole[..2], &whole[3..]].concat();
        assert_eq!(apart(&missing), [2, 2]);
        // CE is 3 where the others have 2.
        assert_eq!(
            apart(&but(&|packet| {
                packet[1] = 3;
                sealed(packet);
            })),
            [2, 1, 2]
        );
        assert_eq!(
            apart(&but(&|packet| {
                packet[31] = 10;
                sealed(packet);
            })),
            [2, 1, 2]
        );
        assert_eq!(apart(&but(&|packet| packet[700] ^= 0x10)), [2, 1, 2]);
        // Of a damaged first packet nothing goes on.
        let mut damaged = whole.clone();
        damaged[0][700] ^= 0x10;
        assert_eq!(apart(&damaged), [1, 4]);
        // An acknowledgement alone.
        assert_eq!(
            apart(&but(&|packet| {
                packet.truncate(52);
                packet[2..4].copy_from_slice(&[0, 52]);
                sealed(packet);
            })),
            [2, 1, 2]
        );
        // A push ends a run, and so does a shorter packet.
        assert_eq!(
            apart(&but(&|packet| {
                packet[33] |= PSH;
                sealed(packet);
            })),
            [3, 2]
        );
        let short = [
            pieces(Kind::Tcp4, 1000, &unsealed(Kind::Tcp4, 0, ACK, &data(1500))),
            pieces(Kind::Tcp4, 1000, &unsealed(Kind::Tcp4, 1500, ACK, &data(2000))),
        ];
        assert_eq!(apart(&short.concat()), [2, 2]);
    }

    /// Flows between each other: each has its run. More than there is room for are handed over before.
    #[test]
    fn flows_are_kept_apart() {
        let of = |port: u8| {
            let mut whole = unsealed(Kind::Datagrams, 0, 0, &data(2000));
            // The sum in the field of the checksum does not cover the port.
            whole[21] = port;
            pieces(Kind::Datagrams, 1000, &whole)
        };
        let flows: Vec<Vec<Vec<u8>>> = (0..10).map(of).collect();
        let turns: Vec<Vec<u8>> =
            (0..2).flat_map(|turn| flows[..4].iter().map(move |flow| flow[turn].clone())).collect();
        assert_eq!(Kept::new().hand(&turns, 1), flows[..4]);
        let turns: Vec<Vec<u8>> =
            (0..2).flat_map(|turn| flows.iter().map(move |flow| flow[turn].clone())).collect();
        let mut seen = Kept::new().hand(&turns, 1).concat();
        let mut sent = turns;
        seen.sort();
        sent.sort();
        assert_eq!(seen, sent);
    }
}
