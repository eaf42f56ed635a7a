//! Delay-based controllers end to end, over a relay with a buffer of several seconds.

use crate::endpoint_pair::pattern;
use crate::relay::{RunningRelay, config, direction};
use std::io::{Read as _, Write as _};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::impair::RelayStats;
use thalweg_net::live::{Socket, SocketConfig};

/// Moves `megabytes` over real sockets through a relay with this path towards the server. Returns the duration in
/// seconds and the counters of the relay.
fn transfer_through_relay(scheme: &str, path: &str, megabytes: usize) -> (f64, RelayStats) {
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
    let start = std::time::Instant::now();
    let reader = std::thread::spawn(move || {
        let mut read = Vec::new();
        theirs.read_to_end(&mut read).unwrap();
        assert!(read == expected, "bytes are wrong");
    });
    let (mut send, receive) = ours.split();
    send.write_all(&data).unwrap();
    send.finish().unwrap();
    reader.join().unwrap();
    let took = start.elapsed().as_secs_f64();
    drop((receive, client, server));
    (took, relay.stop())
}

/// The line of 20 Mbit/s is fully used, and only a few of the 3000 buffer slots are.
#[test]
fn the_buffer_of_the_path_stays_nearly_empty() {
    let path = "rate=20Mbit/s,delay=20ms,mtu=1500B,buffer=3000pkt";
    for (scheme, max) in
        [("copa:compete=false", 150), ("copa:compete=false,delta=2", 150), ("ledbat-plus-plus", 400)]
    {
        let (took, relay) = transfer_through_relay(scheme, path, 8);
        let what = format!("{scheme}: {took} s, {relay:?}");
        assert!(relay.up.longest_queue < max, "{what}");
        assert_eq!(relay.up.full, 0, "{what}");
        // 8 MB take 3.2 s at the line's rate; busy hosts take longer.
        assert!(took < 8.0, "{what}");
    }
}
