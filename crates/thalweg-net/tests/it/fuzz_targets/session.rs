//! Arbitrary frames from an authenticated peer to a session of any scheme.

use super::{SeededEntropy, piece};
use std::sync::OnceLock;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::flow::Scheme;
use thalweg_net::handshake::{ClientParameters, Initiator, Responder, Secrets, ServerParameters};
use thalweg_net::identity::Identity;
use thalweg_net::packet_protection::{Decryptor, Encryptor};
use thalweg_net::session::{PollResult, Session, SessionConfig, SessionEvent, Side, Terms};
use thalweg_net::wire::{ConnectionId, write_header};
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const IDS: [ConnectionId; 2] = [ConnectionId([1; 8]), ConnectionId([2; 8])];
const HOSTS: [&str; 2] = ["192.0.2.1:1000", "203.0.113.9:9"];

/// Maximum number of unread bytes of an application.
const MEMORY: u64 = 1 << 16;

/// Returns the secrets of a handshake, the same each time.
fn secrets() -> &'static Secrets {
    static SECRETS: OnceLock<Secrets> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let identity = |number| Identity::from_secret([number; 32]);
        let mut initiator = Initiator::new(&identity(1), IDS[0], [3; 32]).unwrap();
        let parameters = ServerParameters { id: IDS[1], token: [0; 16], max_datagram_bytes: 1500 };
        let (_, response) =
            Responder::new(&identity(2), IDS[0], [4; 32], initiator.first(), &parameters).unwrap();
        initiator.read(&response).unwrap();
        let parameters = ClientParameters {
            token: [0; 16],
            max_datagram_bytes: 1500,
            service: "test".into(),
            scheme: b"fixed".to_vec(),
        };
        initiator.confirm(&parameters).unwrap().1
    })
}

/// Runs a script. The first two bytes select the scheme and the side. Each step is an opcode byte and, for a packet,
/// its frames.
pub fn run(script: &[u8]) {
    let Some((&scheme, rest)) = script.split_first() else { return };
    let schemes: Vec<_> = Scheme::names().collect();
    run_with(schemes[usize::from(scheme) % schemes.len()].parse().unwrap(), rest);
}

/// Runs the rest of a script with this scheme.
pub fn run_with(scheme: Scheme, script: &[u8]) {
    let mut octets = script.iter().copied();
    let Some(options) = octets.next() else { return };
    let side = if options & 1 == 0 { Side::Server } else { Side::Client };
    let agreed = Terms {
        side,
        peer: Identity::from_secret([1; 32]).public(),
        service: "test".into(),
        scheme,
        local: IDS[1],
        remote: IDS[0],
        token: [7; 16],
        max_datagram_bytes: 1500,
        binding: [0; 32],
        is_authorised: options & 2 == 0,
    };
    let Secrets { client, server, .. } = secrets().clone();
    let (ours, theirs) = if side == Side::Server { (server, client) } else { (client, server) };
    let config = SessionConfig { memory: MEMORY, ..SessionConfig::default() };
    let mut now = Time::ZERO + Duration::from_secs(1);
    let keys = (Encryptor::new(ours), Decryptor::new(theirs.clone()));
    let mut session = Session::new(now, agreed, config, keys, HOSTS[0].parse().unwrap(), None, None);
    let mut peer = Encryptor::new(theirs);
    let mut entropy = SeededEntropy(RandomStream::new(1, "session", 0));
    let mut unread = 0;
    while let Some(step) = octets.next() {
        match step & 7 {
            0..=4 => {
                let mut packet = Vec::new();
                write_header(&mut packet, IDS[1], peer.next_number());
                for _ in 0..1 + (step >> 6) {
                    packet.extend(piece(&mut octets));
                }
                peer.seal(&mut packet, 0).unwrap();
                let (number, range) = session.open(&mut packet).unwrap();
                let from = HOSTS[usize::from(step >> 3 & 1)].parse().unwrap();
                let packet = Slice::new(packet);
                session.receive(now, from, Ecn::from_bits(step >> 4), (number, &packet, range), &mut entropy);
            }
            5 => now += Duration::from_millis(1 << (step >> 4)),
            6 if session.writable_bytes() > 0 => {
                session.write(now, Slice::new(vec![step; 1 + usize::from(step) * 8]));
            }
            6 => session.finish(now),
            _ => session.consumed(now, std::mem::take(&mut unread)),
        }
        unread += drain_session(&mut session, now);
        // No flow delivers more than the advertised limit, except for the excess of one PDU.
        assert!(unread <= MEMORY + (1 << 16), "{unread} bytes wait");
    }
}

/// Drains the session's events and output. Returns the number of delivered bytes.
fn drain_session(session: &mut Session, now: Time) -> u64 {
    let mut delivered = 0;
    let mut batch = Batch::new();
    for turn in 0.. {
        assert!(turn < 10_000, "a session spins");
        batch.clear();
        let next = session.poll(now, &mut batch);
        while let Some(event) = session.event() {
            if let SessionEvent::Delivered(data) = event {
                delivered += u64::from(data.len());
            }
        }
        match next {
            PollResult::Full => {}
            PollResult::At(at) => {
                assert!(at > now || session.is_over() || !batch.is_empty(), "nothing was done at its time");
                if batch.is_empty() {
                    return delivered;
                }
            }
        }
    }
    delivered
}
