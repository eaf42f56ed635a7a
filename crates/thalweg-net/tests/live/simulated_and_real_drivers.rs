//! One test body for both drivers of the engines: endpoints in simulated time, and real sockets with a relay between
//! them. Every scheme moves streams in both directions at once through the same impairments. Each byte arrives once and
//! in order, and both ends learn of the end.

use crate::endpoint_pair::{Channel, Pair, pattern};
use crate::relay::{RunningRelay, config, direction};
use std::io::{Read as _, Write as _};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::identity::Identity;
use thalweg_net::impair::RelayConfig;
use thalweg_net::live::{Connection, Socket, SocketConfig};
use thalweg_proto::units::Duration;

/// Impairments of a channel, in each direction.
#[derive(Clone, Copy, Debug)]
struct Impairments {
    seed: u64,
    delay: Duration,
    loss: f64,
    duplication: f64,
    corruption: f64,
    /// Share of datagrams overtaken by others, by up to 3 ms.
    reordering: f64,
    /// Time of a change of the client's address, if the driver supports it.
    rebind: Option<Duration>,
}

/// Outcome of an exchange: all data read by client and server.
type ReadBytes = [Vec<u8>; 2];

/// Driver of both ends of a connection.
trait Driver {
    /// Lets client and server write and finish these streams.
    fn exchange(&self, scheme: &Scheme, impairments: &Impairments, streams: &[Vec<u8>; 2]) -> ReadBytes;
}

/// Runs the test body.
fn check_streams_arrive(driver: &impl Driver, scheme: &Scheme) {
    let calm = Impairments {
        seed: 1,
        delay: Duration::from_millis(2),
        loss: 0.0,
        duplication: 0.0,
        corruption: 0.0,
        reordering: 0.0,
        rebind: None,
    };
    let bad = Impairments {
        seed: 2,
        delay: Duration::from_millis(3),
        loss: 0.05,
        duplication: 0.05,
        corruption: 0.02,
        reordering: 0.05,
        rebind: Some(Duration::from_millis(400)),
    };
    for (impairments, lengths) in [(calm, [0, 1]), (calm, [30_000, 70_000]), (bad, [70_000, 30_000])] {
        let streams = [pattern(impairments.seed, lengths[0]), pattern(impairments.seed + 1, lengths[1])];
        let read = driver.exchange(scheme, &impairments, &streams);
        for (read, written) in read.iter().zip([&streams[1], &streams[0]]) {
            assert_eq!(read.len(), written.len(), "{scheme}, {impairments:?}");
            assert!(read == written, "{scheme}, {impairments:?}: bytes are wrong");
        }
    }
}

/// Returns the reliable schemes.
fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::names().map(|name| name.parse::<Scheme>().unwrap()).filter(Scheme::is_reliable)
}

/// Both ends in one thread, in simulated time.
struct SimulatedPair;

impl Driver for SimulatedPair {
    fn exchange(&self, scheme: &Scheme, impairments: &Impairments, streams: &[Vec<u8>; 2]) -> ReadBytes {
        let jitter = if impairments.reordering > 0.0 { Duration::from_millis(3) } else { Duration::ZERO };
        let channel = Channel {
            loss: impairments.loss,
            duplication: impairments.duplication,
            corruption: impairments.corruption,
            delay: impairments.delay,
            jitter,
            ..Channel::default()
        };
        let mut pair = Pair::new(impairments.seed, channel);
        pair.connect(&scheme.to_string());
        for (end, stream) in pair.ends.iter_mut().zip(streams) {
            end.write(stream);
        }
        let is_over = |pair: &mut Pair| pair.ends.iter().all(|end| end.finished && end.has_ended);
        if let Some(rebind) = impairments.rebind {
            let at = pair.now + rebind;
            pair.run(Duration::from_secs(3600), |pair| pair.now >= at || is_over(pair));
            pair.ends[0].address = "192.0.2.77:7".parse().unwrap();
        }
        pair.run(Duration::from_secs(3600), is_over);
        pair.ends.map(|end| end.received)
    }
}

#[test]
fn every_scheme_in_simulated_time() {
    for scheme in schemes() {
        check_streams_arrive(&SimulatedPair, &scheme);
    }
}

/// UDP, a thread for each socket, and a relay.
struct Sockets;

impl Driver for Sockets {
    fn exchange(&self, scheme: &Scheme, impairments: &Impairments, streams: &[Vec<u8>; 2]) -> ReadBytes {
        let bind = |listen| {
            let endpoint = EndpointConfig { listen, ..EndpointConfig::new(Identity::from_secret([7; 32])) };
            Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap()
        };
        let server = bind(Some(Listen::new(Trust::Anyone, ["test"])));
        let client = bind(None);
        let Impairments { delay, loss, duplication, corruption, reordering, .. } = impairments;
        let path = format!(
            "rate=50Mbit/s,buffer=200pkt,mtu=1500B,delay={}us,loss={loss},duplicate={duplication},corrupt={corruption},\
             reorder={reordering},reorder-delay=3ms",
            delay.as_picos() / 1_000_000,
        );
        let rebinds = impairments.rebind.into_iter().collect();
        let spec = direction(&path);
        let relay =
            RunningRelay::start(RelayConfig { rebinds, ..config(server.local(), spec.clone(), spec) });
        let request = Connect {
            remote: relay.address,
            trust: Trust::Anyone,
            service: "test".into(),
            scheme: scheme.clone(),
            recorder: None,
        };
        let ours = client.connect(request).unwrap();
        let theirs = server.accept().unwrap();
        let [to_server, to_client] = streams.clone();
        let other = std::thread::spawn(move || exchange_streams(theirs, to_client));
        let read = [exchange_streams(ours, to_server), other.join().unwrap()];
        // The closes pass through the relay.
        drop((client, server));
        let stats = relay.stop();
        assert!(*loss == 0.0 || stats.up.lost > 0 && stats.down.lost > 0, "{stats:?}");
        read
    }
}

/// Writes `stream`, finishes it, and returns the peer's stream.
fn exchange_streams(connection: Connection, stream: Vec<u8>) -> Vec<u8> {
    let (mut send, mut receive) = connection.split();
    let writer = std::thread::spawn(move || {
        send.write_all(&stream).unwrap();
        send.finish().unwrap();
    });
    let mut read = Vec::new();
    receive.read_to_end(&mut read).unwrap();
    writer.join().unwrap();
    read
}

#[test]
fn every_scheme_over_real_sockets() {
    // Each handshake completes before the change of address.
    let threads: Vec<_> =
        schemes().map(|scheme| std::thread::spawn(move || check_streams_arrive(&Sockets, &scheme))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
