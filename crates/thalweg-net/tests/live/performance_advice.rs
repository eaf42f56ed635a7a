//! Advice of senders over real sockets and the relay, on hosts that may be busy.

use crate::relay::{RunningRelay, config, direction};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Clock, Socket, SocketConfig};
use thalweg_net::performance_advice::{Advice, Advisor, MAX_MEAN_RATE_SHARE};

fn identity(number: u8) -> Identity {
    Identity::from_secret([number; 32])
}

/// Runs an endless sender through this line with 50 ms back, until it has advice or `max` has passed.
fn advice(up: &str, max: Duration) -> (Option<Advice>, Advisor) {
    let bind = "127.0.0.1:0".parse().unwrap();
    let listen = Some(Listen::new(Trust::only(identity(1).public()), ["test"]));
    let endpoint = EndpointConfig { listen, ..EndpointConfig::new(identity(2)) };
    let server = Socket::bind(SocketConfig::new(bind, endpoint)).unwrap();
    let client = Socket::bind(SocketConfig::new(bind, EndpointConfig::new(identity(1)))).unwrap();
    let relay = RunningRelay::start(config(server.local(), direction(up), direction("delay=50ms,mtu=1500B")));
    let request = Connect {
        remote: relay.address,
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    let sending = client.connect(request).unwrap();
    let (_send, mut receiving) = server.accept().unwrap().split();
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while receiving.read(&mut buffer).is_ok_and(|length| length > 0) {}
    });
    let watched = sending.another_handle();
    let (mut send, _receive) = sending.split();
    let writer = std::thread::spawn(move || while send.write_all(&[7; 1 << 16]).is_ok() {});
    let (clock, mut advisor, began) = (Clock::new(), Advisor::default(), Instant::now());
    while advisor.advice_on_wire_losses().is_none() && began.elapsed() < max {
        advisor.observe(clock.now(), &watched.stats());
        std::thread::sleep(Duration::from_millis(50));
    }
    watched.close(0, "enough");
    writer.join().unwrap();
    reader.join().unwrap();
    relay.stop();
    (advisor.advice_on_wire_losses(), advisor)
}

/// 100 Mbit/s, 100 ms and 1 %: cubic sends about 1.5 Mbit/s, and looks for as long as a dozen losses take, or some more.
#[test]
fn relay_losses_are_distinguished_from_congestion() {
    let line = "rate=100Mbit/s,delay=50ms,loss=1%,buffer=1250kB,mtu=1500B";
    let (advice, advisor) = advice(line, Duration::from_secs(120));
    let Some(Advice::WireLosses { peak_carried, sent, share }) = advice else { panic!("{advisor:?}") };
    assert!(
        peak_carried.as_f64() <= 110e6 && sent.as_f64() <= MAX_MEAN_RATE_SHARE * peak_carried.as_f64() + 1.0,
        "{advice:?}"
    );
    assert!((0.002..0.03).contains(&share), "{share}");
}

/// A queue that overflows on the same path at 10 Mbit/s causes no such advice, however late hosts are.
#[test]
fn an_overflowing_queue_is_distinguished_from_losses() {
    let line = "rate=10Mbit/s,delay=50ms,buffer=125kB,mtu=1500B";
    let (advice, advisor) = advice(line, Duration::from_secs(25));
    assert_eq!(advice, None, "{advisor:?}");
}
