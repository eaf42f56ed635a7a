//! An attacker: sockets of his own at many addresses of the loopback network, handshakes that are right, and what he likes
//! after them.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use thalweg_net::handshake::{ClientParameters, Initiator};
use thalweg_net::identity::Identity;
use thalweg_net::keys::Encryptor;
use thalweg_net::wire::frame::Frame;
use thalweg_net::wire::{ConnectionId, Packet, write_confirm, write_header, write_hello};
use thalweg_proto::aack;
use thalweg_proto::payload::Slice;
use thalweg_proto::random::Stream;
use thalweg_proto::sstp;
use thalweg_proto::window::{Pdu, Segment, wire};

/// The services of transfers and of pairing.
pub const TRANSFER: &str = "transfer";
pub const PAIRING: &str = "pair";

/// Packets that are sent before the answers are taken.
const BURST: u64 = 32;

/// The sum of all that was sent and heard.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub packets: u64,
    pub sent: u64,
    /// Bytes of it in hellos that nothing follows and in garbage, which are hardly answered.
    pub noise: u64,
    pub heard: u64,
    /// Datagrams that came back.
    pub answers: u64,
    /// Handshakes that came to their end.
    pub strangers: u64,
}

pub struct Attacker {
    sockets: Vec<UdpSocket>,
    server: SocketAddr,
    pub counted: Counted,
    pub draw: Stream,
    /// The service that his connections ask for.
    pub service: &'static str,
    /// After each burst he waits for so long.
    pub pause: Duration,
    /// Packets that were sent lately.
    recent: VecDeque<Vec<u8>>,
}

/// A connection of his.
pub struct Stranger {
    socket: usize,
    server: ConnectionId,
    sealer: Encryptor,
    /// The number of his next byte of the stream.
    next: u64,
}

impl Attacker {
    /// With sockets at so many addresses.
    pub fn new(server: &str, addresses: u8, seed: u64) -> Self {
        let bind = |host: u8| {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 9, seed as u8, host), 0)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self {
            sockets: (1..=addresses).map(bind).collect(),
            server: server.parse().unwrap(),
            counted: Counted::default(),
            draw: Stream::new(seed, "attack", 0),
            service: TRANSFER,
            pause: Duration::from_millis(2),
            recent: VecDeque::new(),
        }
    }

    fn any_socket(&mut self) -> usize {
        self.draw.below(self.sockets.len() as u64) as usize
    }

    fn send(&mut self, socket: usize, bytes: &[u8]) {
        // A full queue loses it, as a path may.
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
            self.hear();
        }
    }

    /// Takes what has come.
    fn hear(&mut self) {
        let mut buffer = [0; 65_536];
        for socket in &self.sockets {
            loop {
                match socket.recv_from(&mut buffer) {
                    Ok((length, _)) => {
                        self.counted.heard += length as u64;
                        self.counted.answers += 1;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // ICMP says that nobody is there any more: the test will notice.
                    Err(_) => {}
                }
            }
        }
    }

    /// Listens for so long.
    pub fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.hear();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The next datagram to this socket that is wanted, within two seconds.
    fn answer<T>(&mut self, socket: usize, wanted: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let end = Instant::now() + Duration::from_secs(2);
        let mut buffer = [0; 65_536];
        while Instant::now() < end {
            match self.sockets[socket].recv_from(&mut buffer) {
                Ok((length, _)) => {
                    self.counted.heard += length as u64;
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

    fn random(&mut self, most: u64) -> Vec<u8> {
        let length = self.draw.below(most);
        (0..length).map(|_| self.draw.bits() as u8).collect()
    }

    fn id(&mut self) -> ConnectionId {
        ConnectionId(self.draw.bits().to_be_bytes())
    }

    /// A key of his own, new each time, and a handshake up to where it says who he is: without a cookie, and with one if the
    /// server wants that, whose response is still to come then.
    fn begin(&mut self, socket: usize) -> Option<(Initiator, ConnectionId, Option<Vec<u8>>)> {
        let mut secret = [7; 32];
        secret[..8].copy_from_slice(&self.draw.bits().to_be_bytes());
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

    /// Sends what is hardly answered.
    fn noise(&mut self, socket: usize, bytes: &[u8]) {
        self.counted.noise += bytes.len() as u64;
        self.send(socket, bytes);
    }

    /// Goes on with another server.
    pub fn turn_to(&mut self, server: &str) {
        self.server = server.parse().unwrap();
    }

    /// Connects with a scheme.
    fn connect(&mut self, scheme: &str) -> Option<Stranger> {
        let socket = self.any_socket();
        let (mut initiator, source, response) = self.begin(socket)?;
        let response = response.or_else(|| self.answer(socket, |bytes| response_to(source, bytes)))?;
        let (server, _) = initiator.read(&response).unwrap();
        let ours = ClientParameters {
            token: [1; 16],
            largest: 1500,
            service: self.service.into(),
            scheme: scheme.as_bytes().to_vec(),
        };
        let (message, secrets) = initiator.confirm(&ours).unwrap();
        let mut confirm = Vec::new();
        write_confirm(&mut confirm, server.id, &message);
        self.send(socket, &confirm);
        self.counted.strangers += 1;
        Some(Stranger { socket, server: server.id, sealer: Encryptor::new(secrets.client), next: 0 })
    }

    /// Says these frames on a connection.
    fn say(&mut self, stranger: &mut Stranger, frames: &[u8]) {
        let mut packet = Vec::new();
        write_header(&mut packet, stranger.server, stranger.sealer.next_number());
        packet.extend_from_slice(frames);
        stranger.sealer.seal(&mut packet, 0).unwrap();
        // Sometimes from elsewhere.
        let elsewhere = self.draw.chance(0.02);
        let socket = if elsewhere { self.any_socket() } else { stranger.socket };
        self.send(socket, &packet);
    }

    /// Segments of the stream at these places, of so many bytes, in one packet.
    fn segments(&mut self, stranger: &mut Stranger, places: impl IntoIterator<Item = u64>, length: usize) {
        let mut frames = Vec::new();
        for sequence in places {
            let mut pdu = vec![0];
            let segment = Segment {
                sequence,
                payload: Slice::new(vec![b'x'; length]),
                retransmission: false,
                sent_at: None,
                ack_now: false,
            };
            wire::encode(&Pdu::Segment(segment), &mut pdu);
            frames.extend_from_slice(&[9, 0, 0]);
            frames.extend_from_slice(&(pdu.len() as u16).to_be_bytes());
            frames.extend_from_slice(&pdu);
        }
        self.say(stranger, &frames);
    }
}

/// The message of a response to the hello of this id.
fn response_to(source: ConnectionId, bytes: &[u8]) -> Option<Vec<u8>> {
    match Packet::read(bytes) {
        Some(Packet::Response { destination, message }) if destination == source => Some(message.to_vec()),
        _ => None,
    }
}

/// A name, and some packets of it.
pub type Attack = (&'static str, fn(&mut Attacker));

/// Each attack of its own.
pub const ATTACKS: [Attack; 8] = [
    ("hellos", hellos),
    ("half-open handshakes", half_open),
    ("garbage", garbage),
    ("frames of strangers", frames),
    ("memory of strangers", memory),
    ("bytes out of order", out_of_order),
    ("engines that ask for much", engines),
    ("copies and changes", copies),
];

/// Hellos without cookies.
fn hellos(attacker: &mut Attacker) {
    for _ in 0..1500 {
        let (socket, id) = (attacker.any_socket(), attacker.id());
        let mut hello = Vec::new();
        let first: [u8; 32] = std::array::from_fn(|_| attacker.draw.bits() as u8);
        write_hello(&mut hello, id, &[], &first);
        attacker.noise(socket, &hello);
    }
}

/// Handshakes that are begun, and none that is ended: without cookies while that is possible, and each cookie is used, among
/// hellos that cost nothing.
fn half_open(attacker: &mut Attacker) {
    for _ in 0..60 {
        let socket = attacker.any_socket();
        attacker.begin(socket);
    }
    hellos(attacker);
}

/// Octets of all kinds and lengths.
fn garbage(attacker: &mut Attacker) {
    for _ in 0..1500 {
        let socket = attacker.any_socket();
        let mut bytes = attacker.random(1400);
        if let Some(kind) = bytes.first_mut() {
            *kind %= 10;
        }
        attacker.noise(socket, &bytes);
    }
}

/// Frames of strangers: questions that must be answered, PDUs that make little sense, frames that make none.
fn frames(attacker: &mut Attacker) {
    for _ in 0..6 {
        let Some(mut stranger) = attacker.connect("cubic") else { continue };
        for _ in 0..200 {
            let mut frames = Vec::new();
            for _ in 0..1 + attacker.draw.below(12) {
                let token = attacker.draw.bits();
                match attacker.draw.below(5) {
                    0 => Frame::Ping(token).write(&mut frames),
                    1 => Frame::Challenge(token.to_be_bytes()).write(&mut frames),
                    2 => Frame::Probe(1200 + token as u16 % 300).write(&mut frames),
                    3 => {
                        let pdu = attacker.random(60);
                        frames.extend_from_slice(&[9, 0, attacker.draw.below(2) as u8, 0, pdu.len() as u8]);
                        frames.extend_from_slice(&pdu);
                    }
                    _ => Frame::Pong(token).write(&mut frames),
                }
            }
            // What makes no sense ends the connection.
            if attacker.draw.chance(0.002) {
                frames.extend(attacker.random(40));
            }
            attacker.say(&mut stranger, &frames);
        }
    }
}

/// More than fits of each of many strangers, whole segments and single bytes.
fn memory(attacker: &mut Attacker) {
    for number in 0..12 {
        let Some(mut stranger) = attacker.connect("cubic:receive-window=4GB") else { continue };
        let length = if number % 2 == 0 { 1000 } else { 1 };
        for _ in 0..120 {
            let at = stranger.next;
            attacker.segments(&mut stranger, [at], length);
            stranger.next += length as u64;
        }
    }
}

/// Single bytes behind holes, as many in a packet as it holds.
fn out_of_order(attacker: &mut Attacker) {
    for _ in 0..4 {
        let Some(mut stranger) = attacker.connect("cubic") else { continue };
        for round in 0..300 {
            attacker.segments(&mut stranger, (0..70).map(|at| 2 * (round * 70 + at) + 1), 1);
        }
    }
}

/// One packet for which the engine alone would send hundreds of thousands.
fn engines(attacker: &mut Attacker) {
    let mut far_ahead = vec![8, 0, 0, 0];
    let data = sstp::Data {
        shipment: 0,
        segment: 32_766,
        packet: 0,
        last: true,
        full: true,
        resent: false,
        payload: Slice::new(*b"x"),
    };
    sstp::wire::encode(0, &sstp::Pdu::Data(data), &mut far_ahead);
    let mut gaps = vec![8, 0, 0, 0];
    aack::wire::encode(
        &aack::Pdu::Data(aack::Data { sequence: 9000, payload: Slice::new(*b"x") }),
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
        if let Some(mut stranger) = attacker.connect(scheme) {
            attacker.say(&mut stranger, frames);
        }
    }
    attacker.listen(Duration::from_millis(300));
    garbage(attacker);
}

/// Packets that were sent before, again, changed, cut off, and from other addresses.
fn copies(attacker: &mut Attacker) {
    frames(attacker);
    for _ in 0..1500 {
        let which = attacker.draw.below(attacker.recent.len() as u64) as usize;
        let mut bytes = attacker.recent[which].clone();
        if attacker.draw.chance(0.5) && !bytes.is_empty() {
            let at = attacker.draw.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << attacker.draw.below(8);
        }
        if attacker.draw.chance(0.2) {
            bytes.truncate(attacker.draw.below(bytes.len() as u64 + 1) as usize);
        }
        let socket = attacker.any_socket();
        attacker.send(socket, &bytes);
    }
}
