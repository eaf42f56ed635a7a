//! A server that runs for years: the test advances its clock beyond the clock's range.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Clock, Connection, Jumps, NetError, Socket, SocketConfig};
use thalweg_net::session::{CloseReason, SessionConfig, code};
use thalweg_proto::units::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn connect(server: &Socket) -> Connection {
    connect_to(server.local())
}

fn connect_to(remote: SocketAddr) -> Connection {
    let client = Identity::from_secret([2; 32]);
    let socket =
        Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), EndpointConfig::new(client))).unwrap();
    let connect = Connect {
        remote,
        trust: Trust::only(Identity::from_secret([1; 32]).public()),
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    socket.connect(connect).unwrap()
}

/// Opens a connection and transfers data.
fn connect_and_transfer(server: &Socket) {
    let ours = connect(server);
    let theirs = server.accept().unwrap();
    let (mut send, _keep) = ours.split();
    let (_keep_too, mut receive) = theirs.split();
    send.write_all(b"still here").unwrap();
    send.finish().unwrap();
    let mut text = String::new();
    receive.read_to_string(&mut text).unwrap();
    assert_eq!(text, "still here");
}

fn server(session: SessionConfig) -> (Socket, Jumps) {
    let (clock, jumps) = Clock::with_jumps();
    let client = Identity::from_secret([2; 32]).public();
    let endpoint = EndpointConfig {
        listen: Some(Listen::new(Trust::only(client), ["test"])),
        session,
        ..EndpointConfig::new(Identity::from_secret([1; 32]))
    };
    let config = SocketConfig { clock, ..SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint) };
    (Socket::bind(config).unwrap(), jumps)
}

#[test]
fn a_server_answers_after_any_number_of_days() {
    let (server, jumps) = server(SessionConfig::default());
    connect_and_transfer(&server);
    // The range of the clock is 213.5 days.
    for days in [99, 99, 120, 180, 212, 214, 400, 13] {
        for _ in 0..days / 100 {
            jumps.advance(DAY * 100);
        }
        jumps.advance(DAY * (days % 100));
        connect_and_transfer(&server);
    }
}

/// The restart cannot wait indefinitely for an idle server.
#[test]
fn connections_are_closed_for_the_clock_restart_after_200_days() {
    // This server has no idle timeout.
    let session =
        SessionConfig { idle: Duration::MAX, keep_alive: Duration::MAX, ..SessionConfig::default() };
    let (server, jumps) = server(session);
    let ours = connect(&server);
    let _theirs = server.accept().unwrap();
    jumps.advance(DAY * 150);
    let (mut send, mut receive) = ours.split();
    send.write_all(b"not yet").unwrap();
    jumps.advance(DAY * 51);
    send.write_all(b"now").unwrap();
    let error = loop {
        match receive.read_slice() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, NetError::Closed(CloseReason::Peer { code: code::CLOCK_RESTART, .. })),
        "{error:?}"
    );
    connect_and_transfer(&server);
}

/// A connection to a peer that does not answer takes time to close; others may connect meanwhile.
#[test]
fn peers_may_connect_while_old_connections_are_closed() {
    let session =
        SessionConfig { idle: Duration::MAX, keep_alive: Duration::MAX, ..SessionConfig::default() };
    let (server, jumps) = server(session);
    let (relay, forwards) = relay_to(server.local());
    let _ours = connect_to(relay);
    let _theirs = server.accept().unwrap();
    forwards.store(false, Ordering::Relaxed);
    jumps.advance(DAY * 201);
    connect_and_transfer(&server);
    connect_and_transfer(&server);
}

/// Starts a relay of datagrams between one client and a server; returns its address and a switch.
fn relay_to(server: SocketAddr) -> (SocketAddr, Arc<AtomicBool>) {
    let relay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (address, forwards) = (relay.local_addr().unwrap(), Arc::new(AtomicBool::new(true)));
    let is_on = Arc::clone(&forwards);
    std::thread::spawn(move || {
        let (mut buffer, mut client) = ([0; 65_536], None);
        while let Ok((length, from)) = relay.recv_from(&mut buffer) {
            let to = if from == server { client } else { Some(server) };
            if from != server {
                client = Some(from);
            }
            if let Some(to) = to.filter(|_| is_on.load(Ordering::Relaxed)) {
                let _ = relay.send_to(&buffer[..length], to);
            }
        }
    });
    (address, forwards)
}
