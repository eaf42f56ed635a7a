//! Attacks on an endpoint: an attacker without keys causes no lasting harm, and a peer causes this end no higher cost
//! than its own.

mod attacker;
mod handshake_attacks;
mod hellos_without_cookies;
mod path_attacks;
mod sent_and_kept_bytes;

use crate::endpoint_pair::{
    Channel, Pair, SERVER, client_config, connect, identity, pattern, server_config, wants_cookies,
    with_short_timeouts,
};
use attacker::{answers, send_hello, server, with_cookie};
use proptest::prelude::*;
use std::net::SocketAddr;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{Arrival, ConnectError, EndpointConfig, EndpointEvent, Listen, Trust};
use thalweg_net::session::{CloseReason, SessionEvent, code};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const MINUTE: Duration = Duration::from_secs(60);

/// Delivers a datagram to one of two ends now, and forwards its answers.
fn deliver(pair: &mut Pair, end: usize, from: SocketAddr, datagram: &[u8]) {
    let (now, bytes) = (pair.now, datagram.to_vec());
    pair.ends[end].endpoint.receive(
        now,
        Arrival { from, ecn: Ecn::NotEct },
        bytes.len().max(1),
        bytes,
        Slice::new,
    );
}

/// Returns the datagrams of a handshake and a little data between a client and a server.
fn overheard() -> Vec<(SocketAddr, SocketAddr, Vec<u8>)> {
    let mut pair = Pair::new(1, Channel::default());
    pair.record = Some(Vec::new());
    pair.transfer("cubic", 1, [5000, 5000], MINUTE);
    pair.record.take().unwrap()
}

/// Holds RFC 9000, section 8.1; RFC 9000, section 14.1.
#[test]
fn a_hello_without_a_cookie_has_bounded_cost_and_response() {
    let hello = overheard()[0].2.clone();
    assert_eq!(hello.len(), 1200);
    let mut endpoint = server(server_config());
    for number in 0..10_000u32 {
        let from = SocketAddr::from((number.to_be_bytes(), 7));
        let sent = answers(&mut endpoint, Time::ZERO, from, &hello);
        assert_eq!(sent.len(), 1);
        // A few get a response, shorter than the hello; all others get a cookie at most.
        let (kind, times) = if number < 16 { (3, 6) } else { (2, 30) };
        let (to, answer) = &sent[0];
        assert!(*to == from && answer[0] == kind && answer.len() * times < hello.len(), "{number}");
    }
    let stats = endpoint.stats();
    assert_eq!((endpoint.connections(), stats.handshakes, stats.unvalidated), (16, 16, 16));
    // Short hellos get no answer, which would amplify them.
    assert!(answers(&mut endpoint, Time::ZERO, "192.0.2.9:9".parse().unwrap(), &hello[..1199]).is_empty());
}

/// Holds RFC 9000, section 8.1.4.
#[test]
fn a_cookie_opens_one_handshake_from_one_address() {
    let client: SocketAddr = "192.0.2.1:5".parse().unwrap();
    let mut hello = overheard()[0].2.clone();
    let mut endpoint = server(wants_cookies(server_config()));
    let now = Time::ZERO + Duration::from_secs(5);
    let cookie = answers(&mut endpoint, now, client, &hello).remove(0).1[9..].to_vec();
    hello = with_cookie(&hello, &cookie);
    for _ in 0..1000 {
        let sent = answers(&mut endpoint, now, client, &hello);
        assert_eq!(sent.len(), 1, "the same response each time");
        assert!(sent[0].1.len() < hello.len());
    }
    assert_eq!((endpoint.connections(), endpoint.stats().handshakes), (1, 1));
    // The cookie is invalid from another address ...
    let thief: SocketAddr = "192.0.2.2:5".parse().unwrap();
    assert_eq!(answers(&mut endpoint, now, thief, &hello)[0].1.len(), 33);
    assert_eq!(endpoint.stats().handshakes, 1);
    // ... and after its lifetime, when the handshake has expired.
    let later = now + MINUTE;
    let mut batch = Batch::new();
    let _ = endpoint.poll(later, &mut batch);
    assert_eq!(endpoint.connections(), 0);
    assert_eq!(answers(&mut endpoint, later, client, &hello)[0].1.len(), 33);
}

/// Holds RFC 9000, section 21.1.1.
#[test]
fn handshakes_are_bounded_in_number_and_rate() {
    let template = overheard()[0].2.clone();
    let mut endpoint = server(with_short_timeouts(server_config()));
    let mut now = Time::ZERO + Duration::from_secs(1);
    for round in 0..200u32 {
        let client = SocketAddr::from(([10, 0, (round >> 8) as u8, round as u8], 5));
        let mut hello = template.clone();
        hello[2..6].copy_from_slice(&round.to_be_bytes());
        send_hello(&mut endpoint, now, client, &hello);
        assert!(endpoint.connections() <= 8);
        now += Duration::from_millis(1);
    }
    // A burst of 100, and 100 per second. Only the last eight remain.
    let stats = endpoint.stats();
    assert_eq!((stats.handshakes + stats.dropped, stats.handshakes - stats.forgotten), (200, 8));
    assert!((115..=120).contains(&stats.handshakes), "{stats:?}");
}

#[test]
fn modified_copies_are_refused_and_leave_no_state() {
    let mut random = RandomStream::new(3, "changes", 0);
    let datagrams = overheard();
    let mut endpoint = server(server_config());
    let mut now = Time::ZERO;
    for round in 0..20_000 {
        let (from, _, bytes) = &datagrams[random.below(datagrams.len() as u64) as usize];
        let mut bytes = bytes.clone();
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        if random.chance(0.3) {
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        }
        let sent: usize =
            answers(&mut endpoint, now, *from, &bytes).iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(sent <= bytes.len(), "round {round}: {sent} bytes for {}", bytes.len());
        assert!(endpoint.event().is_none());
        now += Duration::from_micros(100);
    }
    assert!(endpoint.connections() <= 16, "no more than whoever says hello may begin");
    let _ = endpoint.poll(now + MINUTE, &mut Batch::new());
    assert_eq!(endpoint.connections(), 0);
}

/// Holds RFC 9000, section 9.3.
#[test]
fn changed_or_repeated_packets_have_no_effect() {
    let mut pair = Pair::new(4, Channel::default());
    pair.record = Some(Vec::new());
    let data = pattern(4, 200_000);
    pair.connect("cubic");
    pair.ends[0].write(&data);
    pair.ends[1].finish = true;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 100_000);
    let mut random = RandomStream::new(4, "attack", 0);
    let recorded = pair.record.clone().unwrap();
    // Packets in flight arrive first; all later ones are duplicates.
    for (from, to, bytes) in &recorded {
        let now = pair.now;
        if let Some(end) = pair.ends.iter_mut().find(|end| end.address == *to) {
            answers(&mut end.endpoint, now, *from, bytes);
        }
    }
    for _ in 0..5000 {
        let (from, to, bytes) = &recorded[random.below(recorded.len() as u64) as usize];
        let mut bytes = bytes.clone();
        if random.chance(0.5) {
            let at = 9 + random.below(bytes.len() as u64 - 9) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        let now = pair.now;
        if let Some(end) = pair.ends.iter_mut().find(|end| end.address == *to) {
            let sent = answers(&mut end.endpoint, now, *from, &bytes);
            assert!(sent.iter().all(|(_, answer)| answer[0] != 8), "a packet was taken");
        }
    }
    pair.run(MINUTE, |pair| pair.ends[0].finished);
    assert!(pair.ends[1].received == data);
}

#[test]
fn a_server_with_another_key_is_not_believed() {
    let config = EndpointConfig { identity: identity(66), ..server_config() };
    let mut pair = Pair::with(5, Channel::default(), client_config(), config);
    pair.connect("cubic");
    pair.run(MINUTE, |pair| !pair.ends[0].events.is_empty());
    let error = ConnectError::WrongKey(identity(66).public());
    assert_eq!(pair.ends[0].events, [EndpointEvent::NotConnected(error)]);
    // The server never learns of the client.
    pair.run(MINUTE, |pair| pair.ends[1].endpoint.connections() == 0);
    assert!(pair.ends[1].events.is_empty());
}

#[test]
fn a_client_that_may_not_connect_and_a_service_that_there_is_not_are_refused() {
    let listen = Listen::new(Trust::only(identity(9).public()), ["test"]);
    let config = EndpointConfig { listen: Some(listen), ..server_config() };
    let mut pair = Pair::with(6, Channel::default(), client_config(), config);
    pair.connect("cubic");
    pair.run(MINUTE, |pair| pair.ends[0].closed.is_some());
    assert!(matches!(pair.ends[0].closed, Some(CloseReason::Peer { code: code::UNAUTHORIZED, .. })));
    assert!(matches!(pair.ends[1].events[..], [EndpointEvent::Refused(_)]), "{:?}", pair.ends[1].events);
    let mut pair = Pair::new(7, Channel::default());
    let mut request = connect("cubic");
    request.service = "other".into();
    let now = pair.now;
    pair.ends[0].handle = Some(pair.ends[0].endpoint.connect(now, request));
    pair.run(MINUTE, |pair| pair.ends[0].closed.is_some());
    assert!(matches!(pair.ends[0].closed, Some(CloseReason::Peer { code: code::SERVICE, .. })));
    assert!(matches!(pair.ends[1].events[..], [EndpointEvent::Refused(_)]), "{:?}", pair.ends[1].events);
}

#[test]
fn an_endpoint_without_a_listener_sends_nothing() {
    let config = EndpointConfig { listen: None, place: None, ..server_config() };
    let mut pair = Pair::with(8, Channel::default(), client_config(), config);
    pair.connect("cubic");
    pair.run(MINUTE, |pair| !pair.ends[0].events.is_empty());
    assert_eq!(pair.ends[0].events, [EndpointEvent::NotConnected(ConnectError::NoAnswer)]);
    assert_eq!(pair.ends[1].bytes_out, 0);
    assert!(!pair.ends[0].events.contains(&EndpointEvent::Session(SessionEvent::OwnStreamAcknowledged)));
}

proptest! {
    /// Neither kind of endpoint panics, retains state, or sends more bytes than it received.
    #[test]
    fn any_datagrams_are_refused(
        datagrams in prop::collection::vec(
            (prop_oneof![0u8..10, any::<u8>()], prop::collection::vec(any::<u8>(), 0..60), any::<bool>()),
            1..40,
        ),
    ) {
        let mut endpoint = server(server_config());
        let from = SERVER.parse().unwrap();
        for (kind, mut bytes, pads) in datagrams {
            bytes.insert(0, kind);
            if pads {
                bytes.resize(1200, 0);
            }
            let sent: usize = answers(&mut endpoint, Time::ZERO, from, &bytes).iter().map(|(_, b)| b.len()).sum();
            prop_assert!(sent <= bytes.len());
        }
        prop_assert!(endpoint.connections() <= 16);
        let _ = endpoint.poll(Time::ZERO + MINUTE, &mut Batch::new());
        prop_assert_eq!(endpoint.connections(), 0);
        prop_assert!(endpoint.event().is_none());
    }
}
