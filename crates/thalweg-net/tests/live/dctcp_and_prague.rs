//! DCTCP and Prague end to end: the ECN codepoint of their packets, and windows that follow the marks of a relay's
//! queue.

use crate::endpoint_pair::{Channel, Pair, pattern};
use crate::relay::{RunningRelay, config, direction};
use std::io::{Read as _, Write as _};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::impair::RelayStats;
use thalweg_net::live::{Socket, SocketConfig};
use thalweg_net::session::{EcnState, SessionStats};
use thalweg_proto::Ecn;
use thalweg_proto::units::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// RFC 9331, section 4.1, and RFC 8257, section 3.3: ECN-capable packets of a transfer carry the codepoint of its
/// scheme, in both directions and in retransmissions.
#[test]
fn data_has_the_codepoint_of_its_scheme() {
    for (scheme, codepoint) in [("dctcp", Ecn::Ect0), ("prague", Ecn::Ect1)] {
        let mut pair = Pair::new(41, Channel { loss: 0.03, ..Channel::default() });
        pair.transfer(scheme, 41, [400_000, 400_000], MINUTE * 5);
        let capable = pair.codepoints;
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let count = capable[usize::from(ecn.bits())];
            assert_eq!(count > 500, ecn == codepoint, "{scheme}: {count} of {ecn:?}");
            assert!(count > 500 || count == 0, "{scheme}: {count} of {ecn:?}");
        }
    }
}

/// If every datagram is marked, the window is one or two segments; if none is, it is limited by the path only.
#[test]
fn marks_slow_a_transfer_down() {
    for scheme in ["dctcp", "prague"] {
        let took = |marks| {
            let mut pair = Pair::new(42, Channel { marks, ..Channel::default() });
            let start = pair.now;
            pair.transfer(scheme, 42, [1_000_000, 0], MINUTE * 5);
            pair.now.since(start)
        };
        let [none, some, all] = [0.0, 0.1, 1.0].map(took);
        assert!(some > none * 2 && all > some * 2, "{scheme}: {none}, {some}, {all}");
        // 700 packets, one or two in a round trip of 20 ms.
        assert!(all > Duration::from_secs(5), "{scheme}: {all}");
    }
}

/// Moves `megabytes` over real sockets through a relay with this path towards the server. Returns the counters of the
/// client near the end, and those of the relay.
fn transfer_through_relay(scheme: &str, path: &str, megabytes: usize) -> (SessionStats, RelayStats) {
    let bind = |listen| {
        let endpoint = EndpointConfig { listen, ..EndpointConfig::new(Identity::from_secret([7; 32])) };
        Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap()
    };
    let server = bind(Some(Listen::new(Trust::Anyone, ["test"])));
    let client = bind(None);
    let relay =
        RunningRelay::start(config(server.local(), direction(path), direction("delay=5ms,mtu=1500B")));
    let request = Connect {
        remote: relay.address,
        trust: Trust::Anyone,
        service: "test".into(),
        scheme: scheme.parse().unwrap(),
        recorder: None,
    };
    let ours = client.connect(request).unwrap();
    let (_, mut theirs) = server.accept().unwrap().split();
    let data = pattern(7, megabytes * 1_000_000);
    let expected = data.clone();
    let reader = std::thread::spawn(move || {
        let mut read = Vec::new();
        theirs.read_to_end(&mut read).unwrap();
        assert!(read == expected, "bytes are wrong");
    });
    let watch = ours.another_handle();
    let (mut send, receive) = ours.split();
    send.write_all(&data).unwrap();
    // The last writes stay in the pipe while most data is in flight.
    let stats = crate::updated_stats(&watch);
    send.finish().unwrap();
    reader.join().unwrap();
    drop((watch, receive, client, server));
    (stats, relay.stop())
}

/// Over real sockets, a relay marks at a step for DCTCP and at the low-latency queue of DualPI2 for Prague. The
/// throughput is the rate of the line, nothing is lost, and the queue stays far below the buffer, which holds more than
/// a second.
#[test]
fn a_relay_that_marks_keeps_the_rate_without_a_loss() {
    let path = |queue: &str| format!("rate=20Mbit/s,delay=5ms,mtu=1500B,buffer=2000pkt,queue={queue}");
    for (scheme, queue) in [("dctcp", "step:threshold=10pkt"), ("prague", "dualpi2")] {
        let (stats, relay) = transfer_through_relay(scheme, &path(queue), 5);
        let what = format!("{scheme}: {stats:?}, {relay:?}");
        assert_eq!((stats.ecn, relay.up.early, relay.up.full), (EcnState::Capable, 0, 0), "{what}");
        assert!(relay.up.marked > 20, "{what}");
        assert!(stats.sending.sender.retransmissions < 20, "{what}");
        // 10 ms of the path, and what the host takes.
        assert!(stats.rtt().unwrap() < Duration::from_millis(50), "{what}");
        assert!(relay.up.longest_queue < 300, "{what}");
    }
}
