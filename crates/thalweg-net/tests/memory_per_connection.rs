//! Memory use of connections. The test has a separate process, so nothing else is measured.

#[path = "it/endpoint_pair/mod.rs"]
mod endpoint_pair;

use endpoint_pair::{Channel, Pair, client_config, identity, server_config};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use thalweg_net::endpoint::Limits;
use thalweg_net::endpoint::{Connect, EndpointConfig, Trust};
use thalweg_net::live::{Socket, SocketConfig};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Duration;

const CONNECTIONS: usize = 1000;

/// Returns the resident memory of this process, in bytes.
fn resident_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

/// Serialises the tests, as allocations of another would be measured too.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns the resident memory of an idle connection at both ends, in bytes. It is measured before anything else in this
/// process: memory of an earlier test, returned meanwhile, would count against it.
fn bytes_of_an_idle_connection() -> usize {
    static BYTES_PER_CONNECTION: OnceLock<usize> = OnceLock::new();
    *BYTES_PER_CONNECTION.get_or_init(measure_idle_connections)
}

/// Buffers fill during the first half million packets; a million more do not change memory use.
#[test]
fn a_million_packets_leave_nothing_behind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    bytes_of_an_idle_connection();
    let host: SocketAddr = "127.0.0.1:0".parse().unwrap();
    // Small datagrams, although loopback would take large ones.
    let config = EndpointConfig { max_datagram_bytes: 1200, ..server_config() };
    let server = Socket::bind(SocketConfig::new(host, config)).unwrap();
    let client = Socket::bind(SocketConfig::new(host, client_config())).unwrap();
    let connect = Connect {
        remote: server.local(),
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    let (mut send, _returns) = client.connect(connect).unwrap().split();
    let connection = server.accept().unwrap();
    let watch = connection.another_handle();
    let (_returns_too, mut receive) = connection.split();
    let is_enough = AtomicBool::new(false);
    let packets = || watch.stats().packets_received;
    let (early, late) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let piece = Slice::new(vec![7; 1 << 16]);
            while !is_enough.load(Ordering::Relaxed) {
                send.write_slice(piece.clone()).unwrap();
            }
            send.finish().unwrap();
        });
        let mut early = None;
        while let Some(piece) = receive.read_slice().unwrap() {
            assert!(piece.as_bytes().iter().all(|byte| *byte == 7));
            if early.is_none() && packets() >= 500_000 {
                early = Some(resident_memory());
            }
            is_enough.fetch_or(packets() >= 1_500_000, Ordering::Relaxed);
        }
        (early.unwrap(), resident_memory())
    });
    println!("{early} bytes after 500 000 packets, {late} after {}", packets());
    // Each end may hold 16 MiB, and the pipes between threads some more. Retained packets would take a gigabyte.
    assert!(late < early + (48 << 20), "memory grew from {early} to {late} bytes");
}

#[test]
fn idle_connections_are_small() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let each = bytes_of_an_idle_connection();
    // Both ends are in this process. The goal is less than 100 MB for 10 000 connections at one end.
    assert!(each < 20_000, "{each} bytes for the two ends of a connection");
    println!("{each} bytes for the two ends of a connection");
}

fn measure_idle_connections() -> usize {
    let limits = Limits {
        connections: CONNECTIONS,
        handshakes: CONNECTIONS,
        unvalidated: 16,
        handshakes_per_second: 1_000_000,
        unauthenticated: CONNECTIONS,
        memory: 1 << 30,
    };
    let mut server = server_config();
    server.limits = limits;
    let mut pair = Pair::with(1, Channel::default(), client_config(), server);
    // Excludes the one-time allocations of the first connection.
    pair.connect("cubic");
    pair.run(Duration::from_secs(5), |pair| pair.ends[1].handle.is_some());
    let before = resident_memory();
    for _ in 1..CONNECTIONS {
        pair.connect("cubic");
    }
    let start = pair.now;
    pair.run(Duration::from_secs(60), |pair| pair.now > start + Duration::from_secs(25));
    assert!(pair.ends.iter().all(|end| end.endpoint.connections() == CONNECTIONS));
    let log = pair.log.capacity() * size_of_val(&pair.log[0]);
    (resident_memory() - before).saturating_sub(log) / CONNECTIONS
}
