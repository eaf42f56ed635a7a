//! Hostile client that completes the handshake and then sends arbitrary frames, to an endpoint without a socket.
#![allow(dead_code, reason = "not every test uses all of it")]

use crate::endpoint_pair::SeededEntropy;
use std::net::SocketAddr;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{Arrival, Endpoint, EndpointConfig, EndpointEvent, Handle};
use thalweg_net::handshake::{ClientParameters, Initiator};
use thalweg_net::packet_protection::{Decryptor, Encryptor};
use thalweg_net::session::PollResult;
use thalweg_net::wire::frame::{Frame, Frames, begin_pdu};
use thalweg_net::wire::{ConnectionId, Packet, write_confirm, write_header, write_hello};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::Time;

pub fn server(config: EndpointConfig) -> Endpoint {
    Endpoint::new(Time::ZERO, config, Box::new(SeededEntropy(RandomStream::new(1, "server", 0))))
}

/// Delivers a datagram to the endpoint, and returns its answers.
pub fn answers(
    endpoint: &mut Endpoint,
    now: Time,
    from: SocketAddr,
    datagram: &[u8],
) -> Vec<(SocketAddr, Vec<u8>)> {
    let bytes = datagram.to_vec();
    endpoint.receive(now, Arrival { from, ecn: Ecn::NotEct }, bytes.len().max(1), bytes, Slice::new);
    let mut batch = Batch::new();
    let mut sent = Vec::new();
    loop {
        batch.clear();
        let _ = endpoint.poll(now, &mut batch);
        if batch.is_empty() {
            return sent;
        }
        sent.extend(batch.datagrams().map(|(run, bytes)| (run.destination, bytes.to_vec())));
    }
}

/// Inserts a cookie into a hello, after kind, version, id and cookie length.
pub fn with_cookie(hello: &[u8], cookie: &[u8]) -> Vec<u8> {
    let mut with = hello[..10].to_vec();
    with.push(cookie.len() as u8);
    with.extend_from_slice(cookie);
    with.extend_from_slice(&hello[11..]);
    with.truncate(hello.len());
    with
}

/// Sends a hello without a cookie, and one with a cookie if required. Returns the response, if any.
pub fn send_hello(endpoint: &mut Endpoint, now: Time, from: SocketAddr, hello: &[u8]) -> Option<Vec<u8>> {
    let mut answer = answers(endpoint, now, from, hello).into_iter().next()?.1;
    if let Some(Packet::Cookie { cookie, .. }) = Packet::read(&answer) {
        let hello = with_cookie(hello, cookie);
        answer = answers(endpoint, now, from, &hello).into_iter().next()?.1;
    }
    Some(answer)
}

/// Client that completes the handshake and then sends arbitrary frames.
pub struct HostileClient {
    pub address: SocketAddr,
    source: ConnectionId,
    server: ConnectionId,
    encryptor: Encryptor,
    decryptor: Decryptor,
    /// Bytes after the handshake in each direction, and datagrams from the server.
    pub sent: u64,
    pub received: u64,
    pub datagrams: u64,
    /// Answers to pings.
    pub pongs: u64,
    /// Code and reason of the server's close, if any.
    pub closed: Option<(u16, String)>,
    /// Number of polls of the endpoint.
    pub polls: u64,
}

/// Polls until drained at `now`, which takes few polls per sent datagram. Returns the output and the time of the next
/// poll.
pub fn drain_output(endpoint: &mut Endpoint, now: Time) -> (Vec<(SocketAddr, Vec<u8>)>, Time, u64) {
    let mut batch = Batch::new();
    let mut sent = Vec::new();
    for polls in 1.. {
        batch.clear();
        let next = endpoint.poll(now, &mut batch);
        sent.extend(batch.datagrams().map(|(run, bytes)| (run.destination, bytes.to_vec())));
        assert!(sent.len() < 2_000_000 && polls < 1_000_000, "it never ends");
        if let (true, PollResult::At(at)) = (batch.is_empty(), next) {
            return (sent, at, polls);
        }
    }
    unreachable!("it has ended or failed")
}

impl HostileClient {
    /// Connects with the identity `number`, and sends these bytes as `scheme`.
    pub fn connect(endpoint: &mut Endpoint, now: Time, number: u32, scheme: &[u8]) -> Self {
        let address = SocketAddr::from(((0x0a00_0000 + number).to_be_bytes(), 7));
        let mut secret = [3; 32];
        secret[..4].copy_from_slice(&number.to_be_bytes());
        let who = thalweg_net::identity::Identity::from_secret(secret);
        let source = ConnectionId(u64::from(number).to_be_bytes());
        let mut initiator = Initiator::new(&who, source, secret).unwrap();
        let mut hello = Vec::new();
        write_hello(&mut hello, source, &[], initiator.first());
        let response = send_hello(endpoint, now, address, &hello).unwrap();
        let (parameters, _) = initiator.read(&response[9..]).unwrap();
        let ours = ClientParameters {
            token: [1; 16],
            max_datagram_bytes: 65_507,
            service: "test".into(),
            scheme: scheme.to_vec(),
        };
        let (message, secrets) = initiator.confirm(&ours).unwrap();
        let mut confirm = Vec::new();
        write_confirm(&mut confirm, parameters.id, &message);
        let mut hostile = Self {
            address,
            source,
            server: parameters.id,
            encryptor: Encryptor::new(secrets.client),
            decryptor: Decryptor::new(secrets.server),
            sent: 0,
            received: 0,
            datagrams: 0,
            pongs: 0,
            closed: None,
            polls: 0,
        };
        hostile.deliver(endpoint, now, confirm);
        hostile
    }

    fn deliver(&mut self, endpoint: &mut Endpoint, now: Time, bytes: Vec<u8>) {
        let stride = bytes.len();
        endpoint.receive(now, Arrival { from: self.address, ecn: Ecn::NotEct }, stride, bytes, Slice::new);
        self.collect(endpoint, now);
    }

    /// Receives the endpoint's output at `now`, and returns the time of its next poll.
    pub fn collect(&mut self, endpoint: &mut Endpoint, now: Time) -> Time {
        let (sent, next, polls) = drain_output(endpoint, now);
        self.polls += polls;
        for (_, mut bytes) in sent.into_iter().filter(|(to, _)| *to == self.address) {
            self.received += bytes.len() as u64;
            self.datagrams += 1;
            let is_ours = matches!(Packet::read(&bytes), Some(Packet::Protected { destination }) if destination == self.source);
            if is_ours && let Ok((_, range)) = self.decryptor.open(&mut bytes) {
                for frame in Frames::new(&bytes[range]).flatten() {
                    match frame {
                        Frame::Close { code, reason, .. } => self.closed = Some((code, reason.to_owned())),
                        Frame::Pong(_) => self.pongs += 1,
                        _ => {}
                    }
                }
            }
        }
        next
    }

    /// Returns an encrypted packet with these frames.
    pub fn sealed(&mut self, frames: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        write_header(&mut packet, self.server, self.encryptor.next_number());
        packet.extend_from_slice(frames);
        self.encryptor.seal(&mut packet, 0).unwrap();
        self.sent += packet.len() as u64;
        packet
    }

    /// Sends these frames.
    pub fn send_frames(&mut self, endpoint: &mut Endpoint, now: Time, frames: &[u8]) {
        let packet = self.sealed(frames);
        self.deliver(endpoint, now, packet);
    }

    /// Returns an encrypted packet with a PDU of the client's stream.
    pub fn sealed_pdu(&mut self, pdu: &[u8]) -> Vec<u8> {
        let mut frames = Vec::new();
        begin_pdu(&mut frames, 0);
        frames.push(0);
        frames.extend_from_slice(pdu);
        self.sealed(&frames)
    }

    /// Sends a PDU of the client's stream.
    pub fn pdu(&mut self, endpoint: &mut Endpoint, now: Time, pdu: &[u8]) {
        let packet = self.sealed_pdu(pdu);
        self.deliver(endpoint, now, packet);
    }
}

/// Advances time to `end`, and receives the endpoint's output meanwhile.
pub fn wait_until(hostile: &mut HostileClient, endpoint: &mut Endpoint, mut now: Time, end: Time) {
    loop {
        let next = hostile.collect(endpoint, now);
        assert!(next > now, "it spins");
        if next >= end {
            return;
        }
        now = next;
    }
}

pub fn accepted_connection(endpoint: &mut Endpoint) -> Option<(Handle, bool)> {
    std::iter::from_fn(|| endpoint.event()).find_map(|(handle, event)| match event {
        EndpointEvent::Accepted { known, .. } => Some((handle, known)),
        _ => None,
    })
}
