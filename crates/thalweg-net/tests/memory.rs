//! How much memory connections take. A process of its own, so that nothing else is measured.

mod pair;

use pair::{Channel, Pair, client_config, server_config};
use thalweg_net::endpoint::Limits;
use thalweg_proto::units::Duration;

const CONNECTIONS: usize = 1000;

/// The memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

#[test]
fn idle_connections_are_small() {
    let limits =
        Limits { connections: CONNECTIONS, handshakes: CONNECTIONS, handshakes_per_second: 1_000_000 };
    let mut server = server_config();
    server.limits = limits;
    let mut pair = Pair::with(1, Channel::default(), client_config(), server);
    // What the first takes beyond the others is not theirs.
    pair.connect("cubic");
    pair.run(Duration::from_secs(5), |pair| pair.ends[1].handle.is_some());
    let before = resident();
    for _ in 1..CONNECTIONS {
        pair.connect("cubic");
    }
    let start = pair.now;
    pair.run(Duration::from_secs(60), |pair| pair.now > start + Duration::from_secs(25));
    assert!(pair.ends.iter().all(|end| end.endpoint.connections() == CONNECTIONS));
    let log = pair.log.capacity() * size_of_val(&pair.log[0]);
    let each = (resident() - before).saturating_sub(log) / CONNECTIONS;
    // Both ends are in this process. 10 000 connections are to take less than 100 MB on one end.
    assert!(each < 20_000, "{each} bytes for the two ends of a connection");
    println!("{each} bytes for the two ends of a connection");
}
