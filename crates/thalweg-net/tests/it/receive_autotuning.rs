//! Receive-window autotuning over whole connections in simulated time.

use crate::endpoint_pair::{Channel, Pair, client_config, pattern, server_config};
use thalweg_catalog::Registry;
use thalweg_net::impair::{DirectionSpec, LinkDirection};
use thalweg_net::session::SessionConfig;
use thalweg_proto::units::{Duration, Time};

const ROUND_TRIP: Duration = Duration::from_millis(300);

/// Returns the client's congestion window after each round trip from its first data on, with an application that always
/// has data.
fn windows(scheme: &str, round_trips: u64) -> Vec<f64> {
    let channel = Channel { delay: ROUND_TRIP / 2, ..Channel::default() };
    let mut pair = Pair::new(1, channel);
    pair.connect(scheme);
    pair.ends[0].write(&pattern(1, 24_000_000));
    let mut windows = Vec::new();
    let mut next = Time::MAX;
    pair.run(Duration::from_secs(60), |pair| {
        let now = pair.now;
        let handle = pair.ends[0].handle;
        let session = handle.and_then(|handle| pair.ends[0].endpoint.session(handle));
        let Some(sender) = session.map(|session| session.stats(now).sending.sender) else { return false };
        if sender.sent > 0 && next == Time::MAX {
            next = now + ROUND_TRIP / 2;
        }
        if now >= next {
            next += ROUND_TRIP;
            windows.extend(sender.window);
        }
        windows.len() as u64 >= round_trips
    });
    windows
}

/// RFC 5681, section 3.1: slow start doubles the window per round trip. Hosts with batching acknowledge a whole batch
/// at once, and receivers acknowledge every second segment, so growth counts acknowledged bytes (RFC 3465).
#[test]
fn slow_start_doubles_the_window_in_a_round_trip() {
    for scheme in ["cubic", "newreno"] {
        let windows = windows(scheme, 9);
        for pair in windows.windows(2) {
            assert!(pair[1] >= 1.9 * pair[0], "{scheme}: {windows:?}");
        }
    }
    // If each acknowledgement counts once, growth is much slower.
    let windows = windows("cubic:byte-counting=1pkt", 9);
    assert!(windows[8] < 8.0 * windows[0], "{windows:?}");
}

/// Runs until the receiver has everything, for a minute at most. Returns the maximum memory of its session, in bytes.
fn peak_memory_until_ended(pair: &mut Pair) -> u64 {
    let mut memory = 0;
    pair.run(Duration::from_secs(60), |pair| {
        let handle = pair.ends[1].handle;
        let session = handle.and_then(|handle| pair.ends[1].endpoint.session(handle));
        memory = session.map_or(memory, |session| memory.max(session.memory()));
        pair.ends[1].has_ended
    });
    memory
}

/// Returns the duration of 100 MB at 800 Mbit/s and 300 ms in seconds with this receive memory limit, and the final
/// receive memory.
fn transfer_over_long_path(max_memory: u64) -> (f64, u64) {
    let channel = Channel { delay: ROUND_TRIP / 2, ..Channel::default() };
    let session = SessionConfig { max_memory, ..SessionConfig::default() };
    let mut server = server_config();
    server.session = session;
    let mut pair = Pair::with(1, channel, client_config(), server);
    let mut spec = DirectionSpec::default();
    spec.set_all("rate=800Mbit/s,delay=150ms,buffer=30MB", &Registry::default()).unwrap();
    pair.bottleneck = Some(LinkDirection::new(&spec, 1, 0));
    let begun = pair.now;
    pair.connect("cubic");
    pair.ends[0].write(&pattern(1, 100_000_000));
    let memory = peak_memory_until_ended(&mut pair);
    assert!(pair.ends[1].received.len() == 100_000_000);
    (pair.now.since(begun).as_secs_f64(), memory)
}

/// 30 MB are in flight in one direction. Slow start from 10 packets of 1200 bytes reaches that in 12 round trips, and
/// fills the path from then on: about 4.9 s in all with the handshake. A window of 16 MiB allows at most 447 Mbit/s.
#[test]
fn receive_windows_grow_with_the_path() {
    let (grown, memory) = transfer_over_long_path(64 << 20);
    let (fixed, small) = transfer_over_long_path(16 << 20);
    eprintln!("{grown:.2} s with {memory}, {fixed:.2} s with {small}");
    assert_eq!(small, 16 << 20);
    assert!(memory > 32 << 20 && memory <= 64 << 20, "{memory}");
    assert!(grown < 5.5 && grown < fixed - 0.4, "{grown} {fixed}");
}

/// Memory given to one connection is not available to others, and the total stays within the endpoint's limit.
#[test]
fn windows_grow_within_the_memory_of_all() {
    let mut server = server_config();
    server.limits.memory = 40 << 20;
    let channel = Channel { delay: ROUND_TRIP / 2, ..Channel::default() };
    let mut pair = Pair::with(1, channel, client_config(), server);
    pair.connect("cubic");
    pair.ends[0].write(&pattern(1, 60_000_000));
    let memory = peak_memory_until_ended(&mut pair);
    // An eighth of three quarters initially, then half of the remainder each time.
    assert!(memory > 4 << 20 && memory < 30 << 20, "{memory}");
}
