//! The relay with real sockets: plain UDP through it.

use crate::relay::{RunningRelay, config, direction};
use std::net::{SocketAddr, UdpSocket};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_net::impair::RelayConfig;
use thalweg_proto::Ecn;

/// Starts a relay with these options that rebinds clients after this many milliseconds.
fn start(to: SocketAddr, up: &str, down: &str, rebinds: &[u64]) -> RunningRelay {
    let rebinds = rebinds.iter().map(|&millis| thalweg_proto::units::Duration::from_millis(millis)).collect();
    RunningRelay::start(RelayConfig { rebinds, ..config(to, direction(up), direction(down)) })
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// Returns each datagram to its source, and collects the source addresses; ends at an empty datagram.
fn echo(socket: UdpSocket) -> JoinHandle<Vec<SocketAddr>> {
    std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        let mut seen = Vec::new();
        loop {
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            if length == 0 {
                return seen;
            }
            if !seen.contains(&from) {
                seen.push(from);
            }
            socket.send_to(&buffer[..length], from).unwrap();
        }
    })
}

#[test]
fn datagrams_go_there_and_back_in_both_families() {
    for host in ["127.0.0.1:0", "[::1]:0"] {
        let server = socket(host);
        let to = server.local_addr().unwrap();
        let relay = start(to, "delay=20ms", "delay=30ms", &[]);
        let echo = echo(server);
        let clients = [socket(host), socket(host)];
        let began = Instant::now();
        for (number, client) in (0u8..).zip(&clients) {
            client.send_to(&[number; 1000], relay.address).unwrap();
        }
        for (number, client) in (0u8..).zip(&clients) {
            let mut buffer = [0; 2000];
            let (length, from) = client.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..length], from), (&[number; 1000][..], relay.address));
        }
        assert!(began.elapsed() >= Duration::from_millis(50));
        clients[0].send_to(&[], to).unwrap();
        assert_eq!(echo.join().unwrap().len(), 2, "each client has a port of its own");
        let stats = relay.stop();
        assert_eq!((stats.clients, stats.up.delivered, stats.down.delivered, stats.unsent), (2, 2, 2, 0));
        assert_eq!(stats.down.delivered_bytes, 2000);
    }
}

#[test]
fn the_rate_is_kept() {
    let server = socket("127.0.0.1:0");
    let relay = start(server.local_addr().unwrap(), "rate=8Mbit/s,buffer=50pkt", "", &[]);
    let client = socket("127.0.0.1:0");
    let began = Instant::now();
    for _ in 0..100 {
        client.send_to(&[7; 972], relay.address).unwrap();
    }
    // 1000 bytes take 1 ms on the line. One is in service while fifty are queued, and some have left meanwhile.
    let mut buffer = [0; 2000];
    server.recv(&mut buffer).unwrap();
    let mut received = 1;
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut last = began.elapsed();
    while server.recv(&mut buffer).is_ok() {
        received += 1;
        last = began.elapsed();
    }
    let stats = relay.stop();
    assert_eq!((stats.up.received, stats.up.full), (100, 100 - received));
    assert!((51..100).contains(&received), "{received}");
    assert!(last >= Duration::from_millis(received), "{received} in {last:?}");
}

#[test]
fn damage_loss_and_size_are_counted() {
    let server = socket("127.0.0.1:0");
    server.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let relay = start(server.local_addr().unwrap(), "loss=20%,corrupt=50%,duplicate=10%,mtu=528B", "", &[]);
    let client = socket("127.0.0.1:0");
    let reader = std::thread::spawn(move || {
        let (mut received, mut damaged) = (0, 0);
        let mut buffer = [0; 2000];
        while let Ok(length) = server.recv(&mut buffer) {
            assert_eq!(length, 500);
            received += 1;
            damaged += u64::from(buffer[..length].iter().any(|&byte| byte != 0));
        }
        (received, damaged)
    });
    for _ in 0..200 {
        client.send_to(&[0; 500], relay.address).unwrap();
        client.send_to(&[0; 501], relay.address).unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
    let (received, damaged) = reader.join().unwrap();
    let stats = relay.stop();
    assert_eq!(stats.up.too_long, 200);
    assert_eq!((stats.up.delivered, stats.unsent), (received, 0));
    assert_eq!(received, 200 - stats.up.lost + stats.up.duplicated);
    assert!((20..60).contains(&stats.up.lost) && stats.up.duplicated > 5);
    assert_eq!(damaged, stats.up.corrupted);
    // A seed determines the pattern.
    let mut line = thalweg_net::impair::LinkDirection::new(
        &direction("loss=20%,corrupt=50%,duplicate=10%,mtu=528B"),
        1,
        0,
    );
    for _ in 0..200 {
        line.arrive(
            thalweg_proto::units::Time::ZERO,
            thalweg_net::impair::DelayedDatagram {
                bytes: vec![0; 500],
                header: 28,
                flow: 0,
                ecn: Ecn::NotEct,
            },
        );
    }
    let alone = line.stats();
    assert_eq!(
        (alone.lost, alone.corrupted, alone.duplicated),
        (stats.up.lost, stats.up.corrupted, stats.up.duplicated)
    );
}

#[test]
fn rebinding_changes_addresses_and_blackouts_end() {
    let server = socket("127.0.0.1:0");
    let to = server.local_addr().unwrap();
    let relay = start(to, "blackout=400ms..800ms", "", &[200]);
    let echo = echo(server);
    let client = socket("127.0.0.1:0");
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let began = Instant::now();
    let mut answered = Vec::new();
    for at in [0, 300, 600, 1000] {
        std::thread::sleep(Duration::from_millis(at).saturating_sub(began.elapsed()));
        client.send_to(&[7; 10], relay.address).unwrap();
        answered.push(client.recv(&mut [0; 100]).is_ok());
    }
    client.send_to(&[], to).unwrap();
    let seen = echo.join().unwrap();
    let stats = relay.stop();
    assert_eq!((stats.rebinds, stats.clients, seen.len()), (1, 1, 2));
    assert_eq!((answered, stats.up.blacked_out), (vec![true, true, false, true], 1));
}
