//! Handshake attacks: denial of service to others, aborted handshakes, and duplicate connections. Also resets, which
//! end a connection.

use crate::attacks::{MINUTE, answers, deliver, overheard, server, with_cookie};
use crate::endpoint_pair::{
    CLIENT, Channel, Pair, SERVER, client_config, identity, server_config, wants_cookies,
};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use thalweg_net::endpoint::{Arrival, ConnectError, EndpointConfig, EndpointEvent};
use thalweg_net::handshake::{Responder, ServerParameters};
use thalweg_net::session::{CloseReason, SessionEvent};
use thalweg_net::wire::{ConnectionId, Packet, write_cookie, write_header, write_hello, write_response};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::{Duration, Time};

/// Attacker that begins handshakes from many addresses and ports and never completes one.
struct HandshakeFlood {
    hello: Vec<u8>,
    addresses: Vec<SocketAddr>,
    count: u32,
    next: Time,
    /// Number of hellos per burst, with a hundred bursts per second.
    rate: u32,
    read: usize,
}

impl HandshakeFlood {
    fn new(addresses: Vec<SocketAddr>, rate: u32) -> Self {
        Self { hello: overheard()[0].2.clone(), addresses, count: 0, next: Time::ZERO, rate, read: 0 }
    }

    /// Sends the hellos that are due, and answers cookies.
    fn act(&mut self, pair: &mut Pair) {
        let to = pair.ends[1].address;
        let recorded: Vec<_> = pair.record.as_ref().unwrap()[self.read..].to_vec();
        self.read += recorded.len();
        for (_, client, bytes) in recorded {
            if let Some(Packet::Cookie { destination, cookie }) = Packet::read(&bytes)
                && self.addresses.contains(&client)
            {
                self.hello[2..10].copy_from_slice(&destination.0);
                pair.put(client, to, &with_cookie(&self.hello, cookie));
            }
        }
        if pair.now >= self.next {
            self.next = pair.now + Duration::from_millis(10);
            for _ in 0..self.rate {
                let from = self.addresses[self.count as usize % self.addresses.len()];
                self.hello[2..6].copy_from_slice(&self.count.to_be_bytes());
                pair.put(from, to, &self.hello.clone());
                self.count += 1;
            }
        }
    }
}

/// Lets the attacker fill all slots before a client connects.
fn fill_slots_before_client(addresses: Vec<SocketAddr>, rate: u32) {
    // Start at arbitrary phases.
    let mut pair = Pair::new(11, Channel { jitter: Duration::from_millis(20), ..Channel::default() });
    pair.record = Some(Vec::new());
    let mut flood = HandshakeFlood::new(addresses, rate);
    // Much longer than the attacker needs.
    while pair.now < Time::ZERO + Duration::from_secs(3) {
        flood.act(&mut pair);
        pair.step();
    }
    let stats = pair.ends[1].endpoint.stats();
    assert!(stats.handshakes + stats.dropped >= 3000, "{stats:?}");
    let begun = pair.now;
    pair.connect("cubic");
    pair.ends[0].write(&[7; 50_000]);
    pair.ends[1].finish = true;
    while pair.ends[1].received.len() < 50_000 {
        flood.act(&mut pair);
        pair.step();
        assert!(pair.now < begun + Duration::from_secs(10), "kept out: {}", pair.describe());
    }
    assert!(pair.ends[1].endpoint.connections() <= 1001);
}

fn address_with_port(of: &str, port: u16) -> SocketAddr {
    let address: SocketAddr = of.parse().unwrap();
    SocketAddr::new(address.ip(), port)
}

/// Holds RFC 9000, section 21.1.1.
#[test]
fn half_open_handshakes_from_one_port_block_no_client() {
    fill_slots_before_client(vec![address_with_port("198.51.100.1:1", 5)], 30);
    // Even with an attacker at the same address.
    fill_slots_before_client(vec![address_with_port(CLIENT, 5)], 30);
}

#[test]
fn half_open_handshakes_from_all_ports_of_an_address_block_no_client() {
    fill_slots_before_client(
        (1024..3024).map(|number| address_with_port("198.51.100.1:1", number)).collect(),
        30,
    );
    fill_slots_before_client((1024..3024).map(|number| address_with_port(CLIENT, number)).collect(), 30);
}

#[test]
fn half_open_handshakes_from_many_addresses_block_no_client() {
    fill_slots_before_client(
        (0..2000u32).map(|host| SocketAddr::from(((0x0a00_0000 + host).to_be_bytes(), 5))).collect(),
        30,
    );
}

/// A replay of the hello after its handshake has become a connection.
/// Holds RFC 9000, section 8.1.4.
#[test]
fn a_cookie_opens_no_second_handshake() {
    let mut pair = Pair::with(12, Channel::default(), client_config(), wants_cookies(server_config()));
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
    let record = pair.record.take().unwrap();
    let is_response = |bytes: &[u8]| matches!(Packet::read(bytes), Some(Packet::Response { .. }));
    let with_cookie = |bytes: &[u8]| matches!(Packet::read(bytes), Some(Packet::Hello { cookie, .. }) if !cookie.is_empty());
    let hello = &record.iter().find(|(_, _, bytes)| with_cookie(bytes)).unwrap().2;
    let (now, client) = (pair.now, pair.ends[0].address);
    let server = &mut pair.ends[1].endpoint;
    let before = server.stats().handshakes;
    for _ in 0..100 {
        assert!(!answers(server, now, client, hello).iter().any(|(_, bytes)| is_response(bytes)));
    }
    assert_eq!((server.stats().handshakes, server.connections()), (before, 1));
}

/// Each message in the clear begins with the ephemeral key of its end (Noise, section 7.5).
#[test]
fn ephemeral_keys_are_of_one_handshake() {
    let mut pair = Pair::new(18, Channel::default());
    pair.record = Some(Vec::new());
    for count in 1..=3 {
        pair.ends[1].handle = None;
        pair.connect("cubic");
        pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
        let mut keys = BTreeSet::new();
        for (_, _, bytes) in pair.record.as_ref().unwrap() {
            let packet = Packet::read(bytes);
            if let Some(Packet::Hello { message, .. } | Packet::Response { message, .. }) = packet {
                keys.insert(message[..32].to_vec());
            }
        }
        assert_eq!(keys.len(), 2 * count, "one of each end, for each handshake");
    }
}

/// An on-path attacker answers before the server, with a different key.
#[test]
fn a_quicker_answer_does_not_end_a_handshake() {
    let mut pair = Pair::new(13, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    let (client, server) = (pair.ends[0].address, pair.ends[1].address);
    let mut read = 0;
    let mut forged = 0;
    while pair.ends[1].handle.is_none() {
        let recorded: Vec<_> = pair.record.as_ref().unwrap()[read..].to_vec();
        read += recorded.len();
        for (_, to, bytes) in recorded {
            let Some(Packet::Hello { source, message, .. }) = Packet::read(&bytes) else { continue };
            if to != server {
                continue;
            }
            let parameters =
                ServerParameters { id: ConnectionId([5; 8]), token: [0; 16], max_datagram_bytes: 1500 };
            let (_, response) = Responder::new(&identity(66), source, [6; 32], message, &parameters).unwrap();
            let mut bytes = Vec::new();
            write_response(&mut bytes, source, &response);
            // The forgery arrives before the server has received anything.
            let now = pair.now;
            answers(&mut pair.ends[0].endpoint, now, server, &bytes);
            // An invalid response arrives early too.
            bytes.truncate(60);
            answers(&mut pair.ends[0].endpoint, now, server, &bytes);
            forged += 1;
        }
        assert!(pair.step(), "{}", pair.describe());
        assert!(pair.now < Time::ZERO + MINUTE, "{}", pair.describe());
    }
    assert!(
        forged > 0
            && pair.ends[0].events.iter().any(|event| matches!(event, EndpointEvent::Connected { .. }))
    );
    let _ = client;
}

/// A fast on-path attacker modifies each hello, begins a handshake with it in the client's name, and sends cookies in
/// the server's name.
#[test]
fn changed_hellos_and_forged_cookies_do_not_end_a_handshake() {
    changed_hellos_and_forged_cookies(server_config());
    changed_hellos_and_forged_cookies(wants_cookies(server_config()));
}

fn changed_hellos_and_forged_cookies(config: EndpointConfig) {
    let mut pair = Pair::with(19, Channel::default(), client_config(), config);
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    let begun = pair.now;
    let (client, server) = (pair.ends[0].address, pair.ends[1].address);
    let (mut read, mut changed, mut forged) = (0, 0, 0u8);
    while pair.ends[1].handle.is_none() {
        let recorded: Vec<_> = pair.record.as_ref().unwrap()[read..].to_vec();
        read += recorded.len();
        for (_, to, bytes) in recorded {
            let Some(Packet::Hello { source, cookie, message }) = Packet::read(&bytes) else { continue };
            assert_eq!(to, server);
            let mut message = message.to_vec();
            message[5] ^= 1;
            let now = pair.now;
            let mut hello = Vec::new();
            // With the client's cookie, and with one for the modified hello.
            write_hello(&mut hello, source, cookie, &message);
            let sent = answers(&mut pair.ends[1].endpoint, now, client, &hello);
            let (mine, others) = sent.split_last().unwrap();
            // The server's packets to the client are delivered.
            for (_, bytes) in others {
                pair.put(server, client, bytes);
            }
            let responses = match Packet::read(&mine.1) {
                Some(Packet::Cookie { cookie, .. }) => {
                    hello.clear();
                    write_hello(&mut hello, source, cookie, &message);
                    answers(&mut pair.ends[1].endpoint, now, client, &hello)
                }
                _ => {
                    assert!(cookie.is_empty(), "the client's cookie is good for what was changed");
                    vec![mine.clone()]
                }
            };
            for (_, response) in responses {
                answers(&mut pair.ends[0].endpoint, now, server, &response);
                changed += 1;
            }
            // Before the server has received anything.
            for _ in 0..3 {
                forged = forged.wrapping_add(1);
                let mut cookie = Vec::new();
                write_cookie(&mut cookie, source, &[forged; 24]);
                let (from, now) = (server, pair.now);
                pair.ends[0].endpoint.receive(
                    now,
                    Arrival { from, ecn: Ecn::NotEct },
                    cookie.len(),
                    cookie,
                    Slice::new,
                );
            }
        }
        assert!(pair.step(), "{}", pair.describe());
        assert!(pair.now < begun + Duration::from_secs(2), "{}", pair.describe());
    }
    assert!(changed > 0 && forged > 0);
    pair.ends[0].write(&[1; 1000]);
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 1000);
}

/// For any number of cookies, this end sends only a few hellos until the next retransmission.
#[test]
fn cookies_draw_few_hellos() {
    let mut pair = Pair::new(20, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.channel.loss = 1.0;
    pair.step();
    let source = pair.record.as_ref().unwrap()[0].2[2..10].try_into().unwrap();
    let (begun, mut number) = (pair.now, 0_u64);
    let mut sent_for_a_thousand = |now| {
        let mut sent = 0;
        for _ in 0..1000 {
            let mut cookie = Vec::new();
            number += 1;
            let mut made_up = [0; 24];
            made_up[..8].copy_from_slice(&number.to_be_bytes());
            write_cookie(&mut cookie, ConnectionId(source), &made_up);
            sent += answers(&mut pair.ends[0].endpoint, now, SERVER.parse().unwrap(), &cookie).len();
        }
        sent
    };
    // At one time, and again after 300 ms, when a retransmission is due.
    assert_eq!(sent_for_a_thousand(begun), 8);
    assert_eq!(sent_for_a_thousand(begun + Duration::from_millis(300)), 9);
}

/// Without another answer, the client soon reports the wrong key.
#[test]
fn a_wrong_key_is_reported_soon() {
    let config = EndpointConfig { identity: identity(66), ..server_config() };
    let mut pair = Pair::with(14, Channel::default(), client_config(), config);
    pair.connect("cubic");
    pair.run(MINUTE, |pair| !pair.ends[0].events.is_empty());
    let error = ConnectError::WrongKey(identity(66).public());
    assert_eq!(pair.ends[0].events, [EndpointEvent::NotConnected(error)]);
    assert!(pair.now < Time::ZERO + Duration::from_secs(5), "{}", pair.now);
}

/// Forged confirms arrive at the rate of a fast host, and the client's own confirm is lost.
#[test]
fn forged_confirms_do_not_end_a_handshake() {
    let mut pair = Pair::new(15, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    let sent = |pair: &Pair, kind: u8| {
        let record = pair.record.as_ref().unwrap();
        record.iter().find(|(_, _, bytes)| bytes[0] == kind).cloned()
    };
    while sent(&pair, 3).is_none() {
        pair.step();
    }
    pair.channel.loss = 1.0;
    while sent(&pair, 4).is_none() {
        pair.step();
    }
    let confirm = sent(&pair, 4);
    let (client, _, confirm) = confirm.unwrap();
    for round in 0..2000usize {
        let mut forged = confirm.clone();
        let at = 9 + round % (forged.len() - 9);
        forged[at] ^= 1;
        let now = pair.now;
        let from = if round % 2 == 0 { client } else { "203.0.113.9:9".parse().unwrap() };
        assert!(answers(&mut pair.ends[1].endpoint, now, from, &forged).is_empty());
    }
    // The cost of forgeries is limited, per address, to a quarter of the total handshake budget per second.
    assert!(pair.ends[1].endpoint.stats().forged <= 501 + 4, "{:?}", pair.ends[1].endpoint.stats());
    pair.channel.loss = 0.0;
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
}

/// A socket with the same identity receives a request for the reset of another socket's connection.
/// Holds RFC 9000, section 21.11.
#[test]
fn no_other_socket_of_the_identity_reveals_a_reset_token() {
    let here = |place: &str| EndpointConfig { place: Some(place.as_bytes().to_vec()), ..server_config() };
    let nowhere = || EndpointConfig { place: None, ..server_config() };
    // The `place` of the socket, whether it answers, and whether the answer ends the connection.
    let others = [
        (here("4822"), true, false),
        // A socket that does not restart sends no reset.
        (nowhere(), false, false),
        (EndpointConfig { listen: None, ..nowhere() }, false, false),
        // The same place after a restart has the same key, as stateless resets require.
        (here("4821"), true, true),
    ];
    for (other, does_answer, does_end) in others {
        let mut pair = Pair::with(16, Channel::default(), client_config(), here("4821"));
        pair.record = Some(Vec::new());
        pair.connect("cubic");
        pair.ends[0].to_write.push_back(Slice::new(&[1_u8; 1000][..]));
        pair.ends[1].to_write.push_back(Slice::new(&[2_u8; 1000][..]));
        pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.received.len() == 1000));
        let record = pair.record.take().unwrap();
        let mut other = server(other);
        let (mut probes, mut answered) = (0, 0);
        for (_, to, bytes) in record.iter().filter(|(_, _, bytes)| bytes[0] == 8) {
            probes += 1;
            let mut question = Vec::new();
            write_header(&mut question, ConnectionId(bytes[1..9].try_into().unwrap()), 1);
            question.resize(60, 7);
            let sent = answers(&mut other, pair.now, "203.0.113.9:9".parse().unwrap(), &question);
            let Some((_, reset)) = sent.first() else { continue };
            assert_eq!(reset[0], 5, "no reset");
            answered += 1;
            // The peer of the end with the connection id received its token, and would accept the right one.
            let peer = pair.ends.iter().position(|end| end.address != *to).unwrap();
            deliver(&mut pair, peer, *to, reset);
            pair.step();
        }
        assert!(probes >= 4, "{probes} packets were recorded");
        assert_eq!(answered > 0, does_answer);
        let reset_ends = pair.ends.iter().filter(|end| end.closed == Some(CloseReason::Reset)).count();
        assert_eq!(reset_ends > 0, does_end, "{reset_ends} ends were reset");
        if !does_end {
            assert!(pair.ends.iter().all(|end| end.closed.is_none()));
            pair.ends[0].to_write.push_back(Slice::new(&[3_u8; 1000][..]));
            pair.run(MINUTE, |pair| pair.ends[1].received.len() == 2000);
        }
    }
}

/// The token is right, as its sender received it from the server, but the sender is not at the server's address.
/// Holds RFC 9000, section 10.3.
#[test]
fn a_reset_from_another_address_is_ignored() {
    let config = EndpointConfig { place: Some(b"here".to_vec()), ..server_config() };
    let mut pair = Pair::with(17, Channel::default(), client_config(), config.clone());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.ends[0].write(&[1; 1000]);
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 1000);
    let record = pair.record.take().unwrap();
    let to_server =
        &record.iter().rfind(|(_, to, bytes)| *to == SERVER.parse().unwrap() && bytes[0] == 8).unwrap().2;
    // The same place after a restart has the token.
    let sent = answers(&mut server(config), pair.now, CLIENT.parse().unwrap(), to_server);
    let reset = &sent[0].1;
    let now = pair.now;
    let elsewhere = "203.0.113.9:9".parse().unwrap();
    answers(&mut pair.ends[0].endpoint, now, elsewhere, reset);
    while let Some((_, event)) = pair.ends[0].endpoint.event() {
        assert!(!matches!(event, EndpointEvent::Session(SessionEvent::Closed(_))));
    }
    answers(&mut pair.ends[0].endpoint, now, SERVER.parse().unwrap(), reset);
    let closed = std::iter::from_fn(|| pair.ends[0].endpoint.event()).last();
    assert_eq!(closed.unwrap().1, EndpointEvent::Session(SessionEvent::Closed(CloseReason::Reset)));
}

/// Any number of packets of unknown connections cause about a hundred resets per second, and cookies are still sent.
/// Holds RFC 9000, section 10.3.3.
#[test]
fn resets_are_rate_limited_and_displace_no_cookie() {
    let mut endpoint = server(wants_cookies(server_config()));
    let hello = overheard()[0].2.clone();
    let (mut resets, mut cookies) = (0, 0);
    for round in 0..1000u32 {
        let now = Time::ZERO + Duration::from_millis(u64::from(round));
        // All of these arrive before the endpoint is polled.
        for number in 0..100u8 {
            let mut packet = vec![8; 13];
            packet[1..5].copy_from_slice(&round.to_be_bytes());
            packet[5] = number;
            packet.resize(30, 1);
            let arrival =
                thalweg_net::endpoint::Arrival { from: "203.0.113.9:9".parse().unwrap(), ecn: Ecn::NotEct };
            endpoint.receive(now, arrival, 30, packet, thalweg_proto::payload::Slice::new);
        }
        let sent = answers(&mut endpoint, now, CLIENT.parse().unwrap(), &hello);
        let is_shorter = |(_, bytes): &&(SocketAddr, Vec<u8>)| bytes[0] == 5 && bytes.len() < 30;
        resets += sent.iter().filter(is_shorter).count();
        cookies += sent.iter().filter(|(_, bytes)| bytes[0] == 2).count();
    }
    assert_eq!(cookies, 1000);
    assert!((100..=200).contains(&resets), "{resets}");
}
