//! Send-buffer autotuning: the buffered bytes follow the rate of the network.

use crate::relay::{RunningRelay, config, direction};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Socket, SocketConfig};
use thalweg_proto::payload::{Payload as _, Slice};

/// Writes at full speed for a second, over a path of this rate. Returns the number of bytes written but undelivered by
/// then, and the time until their delivery.
fn left_after_a_second(rate: &str, scheme: &str) -> (u64, Duration) {
    let identity = |number| Identity::from_secret([number; 32]);
    let bind = |endpoint| Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap();
    let listen = Listen::new(Trust::Anyone, ["test"]);
    let server = bind(EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity(2)) });
    let client = bind(EndpointConfig::new(identity(1)));
    // Data in the network is not counted.
    let up = direction(&format!("rate={rate},delay=10ms,buffer=20pkt,mtu=1500B"));
    let relay = RunningRelay::start(config(server.local(), up, direction("delay=10ms")));
    let connect = Connect {
        remote: relay.address,
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: scheme.parse().unwrap(),
        recorder: None,
    };
    let (mut send, _keep) = client.connect(connect).unwrap().split();
    let theirs = server.accept().unwrap();
    let watch = theirs.another_handle();
    let (_keep_too, mut receive) = theirs.split();
    let reader = std::thread::spawn(move || {
        let mut total = 0;
        while let Some(piece) = receive.read_slice().unwrap() {
            total += u64::from(piece.len());
        }
        total
    });
    let piece = Slice::new(vec![7; 256 << 10]);
    let (began, mut written) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(1) {
        send.write_slice(piece.clone()).unwrap();
        written += u64::from(piece.len());
    }
    let delivered = crate::updated_stats(&watch).receiving.delivered;
    let end_time = Instant::now();
    send.finish().unwrap();
    assert_eq!(reader.join().unwrap(), written);
    (written - delivered, end_time.elapsed())
}

#[test]
fn little_waits_where_the_path_is_slow() {
    for scheme in ["cubic", "sstp:rate=2Mbit/s"] {
        let (left, span) = left_after_a_second("2Mbit/s", scheme);
        println!("{scheme}: {left} B left, {span:?}");
        // A tenth of a second is 25 kB; buffers of megabytes would take twenty seconds.
        assert!(left < 400_000, "{scheme}: {left} B were left");
        assert!(span < Duration::from_secs(8), "{scheme}: {span:?}");
    }
}
