//! An attacker with sockets at many loopback addresses: completes valid handshakes and then sends arbitrary frames.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use thalweg_net::handshake::{ClientParameters, Initiator};
use thalweg_net::identity::Identity;
use thalweg_net::packet_protection::Encryptor;
use thalweg_net::wire::frame::Frame;
use thalweg_net::wire::{ConnectionId, Packet, write_confirm, write_header, write_hello};
use thalweg_proto::adaptive_ack;
use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::sstp;
use thalweg_proto::window::{Pdu, Segment, wire};

/// Service names of transfers and of pairing.
pub const TRANSFER: &str = "transfer";
pub const PAIRING: &str = "pair";

/// Number of packets sent before responses are read.
const BURST: u64 = 32;

/// Totals of sent and received traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficTotals {
    pub packets: u64,
    pub sent: u64,
    /// Bytes sent in abandoned hellos and garbage, which get few responses.
    pub noise: u64,
    pub received: u64,
    /// Number of received datagrams.
    pub answers: u64,
    /// Number of completed handshakes.
    pub connections: u64,
}

pub struct Attacker {
    sockets: Vec<UdpSocket>,
    server: SocketAddr,
    pub counted: TrafficTotals,
    pub rng: RandomStream,
    /// Service that the attacker's connections request.
    pub service: &'static str,
    /// Pause after each burst.
    pub pause: Duration,
    /// Recently sent packets.
    recent: VecDeque<Vec<u8>>,
}

/// A connection of the attacker.
pub struct PeerConnection {
    socket: usize,
    server: ConnectionId,
    encryptor: Encryptor,
    /// Stream offset of the next byte.
    next: u64,
}

impl Attacker {
    /// Creates an attacker with sockets at this number of addresses.
    pub fn new(server: &str, addresses: u8, seed: u64) -> Self {
        let bind = |host: u8| {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 9, seed as u8, host), 0)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self {
            sockets: (1..=addresses).map(bind).collect(),
            server: server.parse().unwrap(),
            counted: TrafficTotals::default(),
            rng: RandomStream::new(seed, "attack", 0),
            service: TRANSFER,
            pause: Duration::from_millis(2),
            recent: VecDeque::new(),
        }
    }

    fn any_socket(&mut self) -> usize {
        self.rng.below(self.sockets.len() as u64) as usize
    }

    fn send(&mut self, socket: usize, bytes: &[u8]) {
        // A full queue drops it, like a path.
        if self.sockets[socket].send_to(bytes, self.server).is_ok() {
            self.counted.packets += 1;
            self.counted.sent += bytes.len() as u64;
        }
        self.recent.push_back(bytes.to_vec());
        if self.recent.len() > 64 {
            self.recent.pop_front();
        }
        if self.counted.packets.is_multiple_of(BURST) {
            std::thread::sleep(self.pause);
            self.receive();
        }
    }

    /// Reads the received datagrams.
    fn receive(&mut self) {
        let mut buffer = [0; 65_536];
        for socket in &self.sockets {
            loop {
                match socket.recv_from(&mut buffer) {
                    Ok((length, _)) => {
                        self.counted.received += length as u64;
                        self.counted.answers += 1;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // ICMP reports that the server is gone: the test will detect it.
                    Err(_) => {}
                }
            }
        }
    }

    /// Receives for this time.
    pub fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the next matching datagram to this socket, within two seconds.
    fn answer<T>(&mut self, socket: usize, wanted: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let end = Instant::now() + Duration::from_secs(2);
        let mut buffer = [0; 65_536];
        while Instant::now() < end {
            match self.sockets[socket].recv_from(&mut buffer) {
                Ok((length, _)) => {
                    self.counted.received += length as u64;
                    self.counted.answers += 1;
                    if let Some(found) = wanted(&buffer[..length]) {
                        return Some(found);
                    }
                }
                Err(_) => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        None
    }

    fn random(&mut self, max: u64) -> Vec<u8> {
        let length = self.rng.below(max);
        (0..length).map(|_| self.rng.next_u64() as u8).collect()
    }

    fn id(&mut self) -> ConnectionId {
        ConnectionId(self.rng.next_u64().to_be_bytes())
    }

    /// Begins a handshake with a new key, up to the message that reveals the identity: without a cookie, or with one if
    /// the server requires it; in that case its response is still to come.
    fn begin(&mut self, socket: usize) -> Option<(Initiator, ConnectionId, Option<Vec<u8>>)> {
        let mut secret = [7; 32];
        secret[..8].copy_from_slice(&self.rng.next_u64().to_be_bytes());
        let source = self.id();
        let initiator = Initiator::new(&Identity::from_secret(secret), source, secret).unwrap();
        let mut hello = Vec::new();
        write_hello(&mut hello, source, &[], initiator.first());
        self.send(socket, &hello);
        let answer = self.answer(socket, |bytes| match Packet::read(bytes) {
            Some(Packet::Cookie { destination, cookie }) if destination == source => {
                Some(Err(cookie.to_vec()))
            }
            _ => response_to(source, bytes).map(Ok),
        })?;
        if let Err(cookie) = &answer {
            hello.clear();
            write_hello(&mut hello, source, cookie, initiator.first());
            self.send(socket, &hello);
        }
        Some((initiator, source, answer.ok()))
    }

    /// Sends a packet that rarely gets a response.
    fn noise(&mut self, socket: usize, bytes: &[u8]) {
        self.counted.noise += bytes.len() as u64;
        self.send(socket, bytes);
    }

    /// Continues with another server.
    pub fn turn_to(&mut self, server: &str) {
        self.server = server.parse().unwrap();
    }

    /// Connects with a scheme.
    fn connect(&mut self, scheme: &str) -> Option<PeerConnection> {
        let socket = self.any_socket();
        let (mut initiator, source, response) = self.begin(socket)?;
        let response = response.or_else(|| self.answer(socket, |bytes| response_to(source, bytes)))?;
        let (server, _) = initiator.read(&response).unwrap();
        let ours = ClientParameters {
            token: [1; 16],
            max_datagram_bytes: 1500,
            service: self.service.into(),
            scheme: scheme.as_bytes().to_vec(),
        };
        let (message, secrets) = initiator.confirm(&ours).unwrap();
        let mut confirm = Vec::new();
        write_confirm(&mut confirm, server.id, &message);
        self.send(socket, &confirm);
        self.counted.connections += 1;
        Some(PeerConnection { socket, server: server.id, encryptor: Encryptor::new(secrets.client), next: 0 })
    }

    /// Sends these frames on a connection.
    fn send_frames(&mut self, peer: &mut PeerConnection, frames: &[u8]) {
        let mut packet = Vec::new();
        write_header(&mut packet, peer.server, peer.encryptor.next_number());
        packet.extend_from_slice(frames);
        peer.encryptor.seal(&mut packet, 0).unwrap();
        // Sometimes send from another address.
        let elsewhere = self.rng.chance(0.02);
        let socket = if elsewhere { self.any_socket() } else { peer.socket };
        self.send(socket, &packet);
    }

    /// Sends segments of the stream at these offsets, of this length, in one packet.
    fn segments(&mut self, peer: &mut PeerConnection, places: impl IntoIterator<Item = u64>, length: usize) {
        let mut frames = Vec::new();
        for sequence in places {
            let mut pdu = vec![0];
            let segment = Segment::new(sequence, Slice::new(vec![b'x'; length]));
            wire::encode(&Pdu::Segment(segment), &mut pdu);
            frames.extend_from_slice(&[9, 0, 0]);
            frames.extend_from_slice(&(pdu.len() as u16).to_be_bytes());
            frames.extend_from_slice(&pdu);
        }
        self.send_frames(peer, &frames);
    }
}

/// Returns the handshake message of a response to the hello with this id.
fn response_to(source: ConnectionId, bytes: &[u8]) -> Option<Vec<u8>> {
    match Packet::read(bytes) {
        Some(Packet::Response { destination, message }) if destination == source => Some(message.to_vec()),
        _ => None,
    }
}

/// An attack: its name, and a function that sends some of its packets.
pub type Attack = (&'static str, fn(&mut Attacker));

/// All attacks.
pub const ATTACKS: [Attack; 8] = [
    ("hellos", send_hellos),
    ("half-open handshakes", half_open),
    ("garbage", send_garbage),
    ("frames of unknown senders", frames),
    ("memory of unknown senders", memory),
    ("bytes out of order", out_of_order),
    ("engines that ask for much", engines),
    ("copies and changes", copies),
];

/// Sends hellos without cookies.
fn send_hellos(attacker: &mut Attacker) {
    for _ in 0..1500 {
        let (socket, id) = (attacker.any_socket(), attacker.id());
        let mut hello = Vec::new();
        let first: [u8; 32] = std::array::from_fn(|_| attacker.rng.next_u64() as u8);
        write_hello(&mut hello, id, &[], &first);
        attacker.noise(socket, &hello);
    }
}

/// Begins handshakes and completes none: without cookies while possible; uses each received cookie. Sends cheap hellos
/// in between.
fn half_open(attacker: &mut Attacker) {
    for _ in 0..60 {
        let socket = attacker.any_socket();
        attacker.begin(socket);
    }
    send_hellos(attacker);
}

/// Sends random bytes of all lengths.
fn send_garbage(attacker: &mut Attacker) {
    for _ in 0..1500 {
        let socket = attacker.any_socket();
        let mut bytes = attacker.random(1400);
        if let Some(kind) = bytes.first_mut() {
            *kind %= 10;
        }
        attacker.noise(socket, &bytes);
    }
}

/// Sends frames on established connections: requests that need a response, implausible PDUs, invalid frames.
fn frames(attacker: &mut Attacker) {
    for _ in 0..6 {
        let Some(mut peer) = attacker.connect("cubic") else { continue };
        for _ in 0..200 {
            let mut frames = Vec::new();
            for _ in 0..1 + attacker.rng.below(12) {
                let token = attacker.rng.next_u64();
                match attacker.rng.below(5) {
                    0 => Frame::Ping(token).write(&mut frames),
                    1 => Frame::Challenge(token.to_be_bytes()).write(&mut frames),
                    2 => Frame::Probe(1200 + token as u16 % 300).write(&mut frames),
                    3 => {
                        let pdu = attacker.random(60);
                        frames.extend_from_slice(&[9, 0, attacker.rng.below(2) as u8, 0, pdu.len() as u8]);
                        frames.extend_from_slice(&pdu);
                    }
                    _ => Frame::Pong(token).write(&mut frames),
                }
            }
            // An invalid frame ends the connection.
            if attacker.rng.chance(0.002) {
                frames.extend(attacker.random(40));
            }
            attacker.send_frames(&mut peer, &frames);
        }
    }
}

/// Exceeds the buffers of many connections, with whole segments and single bytes.
fn memory(attacker: &mut Attacker) {
    for number in 0..12 {
        let Some(mut peer) = attacker.connect("cubic:receive-window=4GB") else { continue };
        let length = if number % 2 == 0 { 1000 } else { 1 };
        for _ in 0..120 {
            let at = peer.next;
            attacker.segments(&mut peer, [at], length);
            peer.next += length as u64;
        }
    }
}

/// Sends single bytes after gaps, as many as fit into a packet.
fn out_of_order(attacker: &mut Attacker) {
    for _ in 0..4 {
        let Some(mut peer) = attacker.connect("cubic") else { continue };
        for round in 0..300 {
            attacker.segments(&mut peer, (0..70).map(|at| 2 * (round * 70 + at) + 1), 1);
        }
    }
}

/// Sends one packet that could make the engine send hundreds of thousands.
fn engines(attacker: &mut Attacker) {
    let mut far_ahead = vec![8, 0, 0, 0];
    let data = sstp::Data {
        shipment: 0,
        segment: 32_766,
        packet: 0,
        last: true,
        is_full: true,
        resent: false,
        payload: Slice::new(*b"x"),
    };
    sstp::wire::encode(0, &sstp::Pdu::Data(data), &mut far_ahead);
    let mut gaps = vec![8, 0, 0, 0];
    adaptive_ack::wire::encode(
        &adaptive_ack::Pdu::Data(adaptive_ack::Data { sequence: 9000, payload: Slice::new(*b"x") }),
        &mut gaps,
    );
    let schemes = [
        (
            "sstp:segment-packets=1pkt,window=32767,buffer=32767,repeat=10ms,segment=1000B,rate=1Gbit/s",
            far_ahead,
        ),
        ("adaptive-ack:t-error=1ms,t-normal=1ms,window=20000pkt,segment=256B", gaps),
    ];
    for (scheme, frames) in schemes.iter().cycle().take(8) {
        if let Some(mut peer) = attacker.connect(scheme) {
            attacker.send_frames(&mut peer, frames);
        }
    }
    attacker.listen(Duration::from_millis(300));
    send_garbage(attacker);
}

/// Repeats earlier packets: unchanged, modified, truncated, and from other addresses.
fn copies(attacker: &mut Attacker) {
    frames(attacker);
    for _ in 0..1500 {
        let which = attacker.rng.below(attacker.recent.len() as u64) as usize;
        let mut bytes = attacker.recent[which].clone();
        if attacker.rng.chance(0.5) && !bytes.is_empty() {
            let at = attacker.rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << attacker.rng.below(8);
        }
        if attacker.rng.chance(0.2) {
            bytes.truncate(attacker.rng.below(bytes.len() as u64 + 1) as usize);
        }
        let socket = attacker.any_socket();
        attacker.send(socket, &bytes);
    }
}
