//! Arbitrary datagrams to a client and a server with an established connection and a half-open one.

use super::{SeededEntropy, piece};
use std::net::SocketAddr;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{
    Arrival, Connect, Endpoint, EndpointConfig, EndpointEvent, Handle, Limits, Listen, Trust,
};
use thalweg_net::flow::{Registry, Scheme};
use thalweg_net::identity::Identity;
use thalweg_net::session::{CloseReason, PollResult, SessionEvent};
use thalweg_net::wire::frame::{Frame, Frames};
use thalweg_net::wire::{Packet, packet_number};
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const HOSTS: [&str; 3] = ["192.0.2.1:1000", "192.0.2.2:2000", "203.0.113.9:9"];

/// Maximum number of datagrams kept for modified replays.
const MAX_RECORDED: usize = 256;

/// Time after which a handshake is dropped; a connection lasts longer.
const TIMEOUT: Duration = Duration::from_secs(20);

type Datagram = (usize, usize, Vec<u8>);

struct Pair {
    now: Time,
    ends: [Endpoint; 2],
    /// Datagrams in flight: source, destination, bytes.
    wire: Vec<Datagram>,
    recorded: Vec<Datagram>,
    received: [Vec<u8>; 2],
    handles: Vec<(usize, Handle)>,
}

/// Runs a script. Each step is an opcode byte and its operands.
pub fn run(script: &[u8]) {
    decode(script);
    let host = |index: usize| HOSTS[index].parse::<SocketAddr>().unwrap();
    let identity = |number: u8| Identity::from_secret([number; 32]);
    let listen = Listen::new(Trust::only(identity(1).public()), ["test"]);
    // With scripts of odd length, each hello needs a cookie.
    let unvalidated = if script.len() % 2 == 1 { 0 } else { Limits::default().unvalidated };
    let limits = Limits { unvalidated, ..Limits::default() };
    let end = |index: usize, listen| {
        let config = EndpointConfig { listen, limits, ..EndpointConfig::new(identity(1 + index as u8)) };
        Endpoint::new(Time::ZERO, config, Box::new(SeededEntropy(RandomStream::new(1, "end", index as u64))))
    };
    let mut pair = Pair {
        now: Time::ZERO,
        ends: [end(0, None), end(1, Some(listen))],
        wire: vec![],
        recorded: vec![],
        received: [vec![], vec![]],
        handles: vec![],
    };
    let connect = Connect {
        remote: host(1),
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    let first = pair.ends[0].connect(pair.now, connect.clone());
    for _ in 0..6 {
        pair.exchange();
    }
    assert!(pair.ends[0].session(first).is_some(), "the handshake takes three messages each way at most");
    let second = pair.ends[0].connect(pair.now, connect);
    let mut written = 0u64;
    let mut octets = script.iter().copied();
    while let Some(step) = octets.next() {
        match step & 7 {
            0 => pair.deliver(usize::from(step >> 3 & 1), usize::from(step >> 4 & 3) % 3, piece(&mut octets)),
            // An earlier datagram, modified and from another address.
            1..=3 => {
                let (which, at, with) =
                    (octets.next().unwrap_or(0), octets.next().unwrap_or(0), octets.next().unwrap_or(0));
                if let Some((from, to, bytes)) = pair.recorded.get(usize::from(which)).cloned() {
                    let mut bytes = bytes;
                    let length = bytes.len();
                    bytes[usize::from(at) % length] ^= with;
                    if step & 7 == 3 {
                        bytes.truncate(usize::from(octets.next().unwrap_or(0)) % length);
                    }
                    pair.deliver(to, if step & 8 == 0 { from } else { 2 }, bytes);
                }
            }
            4 => pair.exchange(),
            5 => pair.now += Duration::from_millis(1 << (step >> 4)),
            // Datagrams in flight are lost.
            6 => pair.wire.clear(),
            _ => {
                if let Some(session) = pair.ends[0].session(first) {
                    let data: Vec<u8> = (written..written + u64::from(step)).map(|at| at as u8).collect();
                    written += u64::from(step);
                    session.write(pair.now, Slice::new(data));
                    pair.ends[0].schedule_poll(first);
                }
            }
        }
    }
    // No third party changed a byte, or ended a connection or handshake of the two endpoints.
    for _ in 0..3 {
        pair.exchange();
    }
    assert!(pair.received[1].iter().enumerate().all(|(at, byte)| *byte == at as u8));
    assert!(pair.received[0].is_empty());
    let _ = second;
}

/// Checks that every decoded packet is encoded to the same bytes, or decodes to the same packet again.
fn decode(bytes: &[u8]) {
    let _ = Packet::read(bytes);
    for expected in [0, 1 << 20, 1 << 62] {
        let _ = packet_number(bytes, expected);
    }
    for frame in Frames::new(bytes) {
        let Ok(frame) = frame else { break };
        if let Frame::Pdu { range, .. } = frame {
            assert!(range.start <= range.end && range.end <= bytes.len());
            continue;
        }
        let mut written = Vec::new();
        frame.write(&mut written);
        assert_eq!(Frames::new(&written).next(), Some(Ok(frame)));
    }
    if let Ok(scheme) = Scheme::decode(bytes, &Registry::default()) {
        assert_eq!(Scheme::decode(&scheme.encode(), &Registry::default()), Ok(scheme));
    }
}

impl Pair {
    fn deliver(&mut self, to: usize, from: usize, bytes: Vec<u8>) {
        let from = HOSTS[from].parse().unwrap();
        let stride = bytes.len();
        self.ends[to].receive(self.now, Arrival { from, ecn: Ecn::NotEct }, stride, bytes, Slice::new);
    }

    /// Delivers datagrams in flight, and collects the answers of both ends.
    fn exchange(&mut self) {
        for (from, to, bytes) in std::mem::take(&mut self.wire) {
            self.deliver(to, from, bytes);
        }
        for index in 0..2 {
            let mut batch = Batch::new();
            for turn in 0.. {
                assert!(turn < 10_000, "an endpoint spins");
                let next = self.ends[index].poll(self.now, &mut batch);
                let is_idle = batch.is_empty();
                for (run, bytes) in batch.datagrams() {
                    // Datagrams to the attacker are dropped.
                    let to = HOSTS.iter().position(|host| run.destination == host.parse().unwrap());
                    if let Some(to @ 0..2) = to {
                        self.wire.push((index, to, bytes.to_vec()));
                    }
                }
                batch.clear();
                if is_idle && next != PollResult::Full {
                    break;
                }
            }
            self.listen(index);
        }
        for datagram in &self.wire {
            if self.recorded.len() < MAX_RECORDED {
                self.recorded.push(datagram.clone());
            }
        }
    }

    fn listen(&mut self, index: usize) {
        while let Some((handle, event)) = self.ends[index].event() {
            match event {
                EndpointEvent::Accepted { .. } => self.handles.push((index, handle)),
                EndpointEvent::Session(SessionEvent::Delivered(data)) => {
                    self.received[index].extend_from_slice(data.as_bytes());
                    if let Some(session) = self.ends[index].session(handle) {
                        session.consumed(self.now, u64::from(data.len()));
                    }
                }
                EndpointEvent::Session(SessionEvent::Closed(why)) => {
                    // One end may give up before the other, which then receives a reset.
                    let is_late = self.now >= Time::ZERO + TIMEOUT;
                    assert!(why == CloseReason::Silent || (why == CloseReason::Reset && is_late), "{why:?}");
                }
                _ => {}
            }
        }
    }
}
