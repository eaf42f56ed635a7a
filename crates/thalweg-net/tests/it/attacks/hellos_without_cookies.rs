//! Hellos without cookies from unvalidated addresses: limits on the handshakes that they begin, and no effect on
//! others.

use crate::attacks::{MINUTE, answers, overheard, send_hello, server, server_config};
use crate::endpoint_pair::{CLIENT, Channel, Pair, SERVER};
use std::net::SocketAddr;
use thalweg_net::endpoint::{Endpoint, EndpointStats};
use thalweg_net::wire::{Packet, write_hello};
use thalweg_proto::units::{Duration, Time};

/// Number of slots for unvalidated handshakes.
const UNVALIDATED_SLOTS: u64 = 16;

/// Hellos with distinct connection ids.
struct Hellos {
    hello: Vec<u8>,
    count: u64,
}

impl Hellos {
    fn new() -> Self {
        Self { hello: overheard()[0].2.clone(), count: 0 }
    }

    fn next(&mut self) -> &[u8] {
        self.count += 1;
        self.hello[2..10].copy_from_slice(&self.count.to_be_bytes());
        &self.hello
    }
}

fn is_response(bytes: &[u8]) -> bool {
    matches!(Packet::read(bytes), Some(Packet::Response { .. }))
}

fn spoofed_address(number: u32) -> SocketAddr {
    SocketAddr::from(((0x0a00_0000 + number).to_be_bytes(), 7))
}

/// Returns the time from a client's first hello until both ends have the connection, while `meanwhile` runs at each
/// step.
fn connection_time(pair: &mut Pair, mut meanwhile: impl FnMut(&mut Pair)) -> Duration {
    pair.ends[1].handle = None;
    let begun = pair.now;
    pair.connect("cubic");
    let handle = pair.ends[0].handle.unwrap();
    pair.run(MINUTE, |pair| {
        meanwhile(pair);
        pair.ends[0].endpoint.session(handle).is_some()
    });
    let took = pair.now.since(begun);
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
    took
}

fn stats(pair: &Pair) -> EndpointStats {
    pair.ends[1].endpoint.stats()
}

/// The channel's delay is 10 ms.
const DIRECT: Duration = Duration::from_millis(20);
const WITH_A_COOKIE: Duration = Duration::from_millis(40);

/// Holds RFC 9000, section 21.1.1.
#[test]
fn spoofed_hellos_take_few_slots_and_block_no_client() {
    let mut pair = Pair::new(31, Channel::default());
    let mut hellos = Hellos::new();
    let mut flood = |pair: &mut Pair| {
        let (mut responses, now) = (0, pair.now);
        for number in 0..500 {
            let sent = answers(&mut pair.ends[1].endpoint, now, spoofed_address(number), hellos.next());
            responses += sent
                .iter()
                .filter(|(to, bytes)| *to == spoofed_address(number) && is_response(bytes))
                .count();
            // The server's packets to the client are delivered.
            let others = sent.iter().filter(|(to, _)| *to != spoofed_address(number));
            others.for_each(|(to, bytes)| pair.put(SERVER.parse().unwrap(), *to, bytes));
        }
        responses as u64
    };
    assert_eq!(flood(&mut pair), UNVALIDATED_SLOTS);
    let took = connection_time(&mut pair, |pair| assert_eq!(flood(pair), 0));
    assert_eq!(took, WITH_A_COOKIE);
    let EndpointStats { handshakes, unvalidated, forgotten, dropped, .. } = stats(&pair);
    assert_eq!(
        (handshakes, unvalidated, forgotten, dropped),
        (UNVALIDATED_SLOTS + 1, UNVALIDATED_SLOTS, 0, 0)
    );
    // They have expired, and the next client needs no cookie.
    let later = pair.now + Duration::from_secs(21);
    pair.run(MINUTE, |pair| pair.now >= later);
    assert_eq!(pair.ends[1].endpoint.connections(), 1);
    assert_eq!(connection_time(&mut pair, |_| ()), DIRECT);
}

/// An attacker that knows a client's address and port sends hellos in its name, while others at the client's address
/// have used up the share of its ports.
#[test]
fn hellos_in_a_client_s_name_do_not_keep_it_out() {
    let mut pair = Pair::new(32, Channel::default());
    let mut hellos = Hellos::new();
    let client: SocketAddr = CLIENT.parse().unwrap();
    let now = pair.now;
    let mut unvalidated = |endpoint: &mut Endpoint, from| {
        (0..1000).filter(|_| is_response(&answers(endpoint, now, from, hellos.next()).remove(0).1)).count()
    };
    assert_eq!(unvalidated(&mut pair.ends[1].endpoint, client) as u64, UNVALIDATED_SLOTS);
    for number in 0..130u32 {
        let from = SocketAddr::new(client.ip(), 2000 + number as u16);
        send_hello(&mut pair.ends[1].endpoint, now, from, hellos.next());
    }
    assert_eq!(stats(&pair).handshakes, UNVALIDATED_SLOTS + 130);
    assert_eq!(connection_time(&mut pair, |_| ()), WITH_A_COOKIE);
    assert_eq!(stats(&pair).dropped, 0);
}

/// A copy delayed beyond the end of the handshake is answered with a cookie request, which its client ignores.
#[test]
fn a_late_copy_of_a_hello_makes_no_second_handshake() {
    let mut pair = Pair::new(33, Channel::default());
    pair.record = Some(Vec::new());
    assert_eq!(connection_time(&mut pair, |_| ()), DIRECT);
    let (now, hello) = (pair.now, pair.record.as_ref().unwrap()[0].2.clone());
    let client = pair.ends[0].address;
    for _ in 0..100 {
        let sent = answers(&mut pair.ends[1].endpoint, now, client, &hello);
        assert!(!sent.iter().any(|(_, bytes)| is_response(bytes)));
    }
    assert_eq!((stats(&pair).handshakes, pair.ends[1].endpoint.connections()), (1, 1));
    // Before the connection, each copy got the same response.
    let mut endpoint = server(server_config());
    let responses: Vec<_> = (0..100).map(|_| answers(&mut endpoint, now, client, &hello)).collect();
    assert!(is_response(&responses[0][0].1) && responses.iter().all(|response| *response == responses[0]));
    assert_eq!(endpoint.stats().handshakes, 1);
}

/// A low-order point is detected by Diffie-Hellman operations, which are limited for handshakes without a cookie.
#[test]
fn first_messages_that_are_none_cost_no_more_than_others() {
    let mut endpoint = server(server_config());
    let mut hello = Vec::new();
    for number in 0..1000u32 {
        hello.clear();
        write_hello(
            &mut hello,
            thalweg_net::wire::ConnectionId(u64::from(number).to_be_bytes()),
            &[],
            &[0; 32],
        );
        answers(&mut endpoint, Time::ZERO, spoofed_address(number), &hello);
    }
    let EndpointStats { handshakes, forged, .. } = endpoint.stats();
    assert_eq!((handshakes, forged), (UNVALIDATED_SLOTS, UNVALIDATED_SLOTS));
}
