//! Handshakes, and their measurements of path and peer: round trips, lost large packets, other versions.

use crate::endpoint_pair::{CLIENT, Channel, Pair, SERVER, client_config, server_config, wants_cookies};
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{Arrival, ConnectError, EndpointEvent};
use thalweg_net::session::{CloseReason, code};
use thalweg_net::wire::{Packet, VERSION, write_version};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::{Duration, Time};

const MINUTE: Duration = Duration::from_secs(60);

/// One round trip until the client is connected, with two datagrams; another one if the server requires a cookie.
#[test]
fn a_server_under_low_load_requires_no_cookie() {
    let connected = |config| {
        let mut pair = Pair::with(70, Channel::default(), client_config(), config);
        let begun = pair.now;
        pair.record = Some(Vec::new());
        pair.connect("cubic");
        let handle = pair.ends[0].handle.unwrap();
        pair.run(MINUTE, |pair| pair.ends[0].endpoint.session(handle).is_some());
        let kinds: Vec<_> = pair.record.unwrap().iter().map(|(_, _, bytes)| bytes[0]).collect();
        (kinds, pair.now.since(begun))
    };
    assert_eq!(connected(server_config()), (vec![1, 3], Duration::from_millis(20)));
    assert_eq!(connected(wants_cookies(server_config())), (vec![1, 2, 1, 3], Duration::from_millis(40)));
}

/// Hellos are retransmitted after 300 ms and then every 600 ms. With slightly longer round trips, answers arrive just
/// after a retransmission (Karn and Partridge 1987: ambiguity of round-trip samples with retransmissions).
#[test]
fn two_level_flow_control_gets_its_rate_whatever_the_round_trip() {
    const BYTES: usize = 5_000_000;
    let took = |millis, config| {
        let rtt = Duration::from_millis(millis);
        let channel = Channel { delay: rtt / 2, ..Channel::default() };
        let mut pair = Pair::with(71, channel, client_config(), config);
        pair.connect("sstp:rate=20Mbit/s");
        let data = crate::endpoint_pair::pattern(71, BYTES);
        pair.ends[0].write(&data);
        pair.ends[1].finish = true;
        pair.run(MINUTE, |pair| pair.ends[1].received.len() == BYTES);
        pair.now.since(Time::ZERO)
    };
    // At the rate it takes 2 s, and longer as written pieces end within packets. A longer round trip adds itself for
    // the handshake, the first data and a preceding cookie, and the rest of the time between two hellos.
    let near = took(2, server_config());
    assert!(near < Duration::from_millis(3500), "{near}");
    for (trips, config) in [(2, server_config()), (3, wants_cookies(server_config()))] {
        for millis in [20, 150, 299, 302, 306, 605, 905, 1510] {
            let (took, rtt) = (took(millis, config.clone()), Duration::from_millis(millis));
            assert!(took <= near + rtt * trips + Duration::from_millis(600), "{trips}, {millis} ms: {took}");
        }
    }
}

/// The path delivers small packets, so the host is known to be reachable.
/// Holds RFC 9000, section 14.1.
#[test]
fn a_path_mtu_too_small_for_a_handshake_is_reported() {
    let mut pair = Pair::new(72, Channel { mtu: 1199, ..Channel::default() });
    pair.connect("cubic");
    pair.run(MINUTE, |pair| !pair.ends[0].events.is_empty());
    assert_eq!(pair.ends[0].events, [EndpointEvent::NotConnected(ConnectError::PathMtuTooSmall)]);
    let text = thalweg_net::live::NetError::Connect(ConnectError::PathMtuTooSmall).to_string();
    assert!(text.contains("1228 bytes") && text.contains("1248 over IPv6"), "{text}");
    // An unreachable host is reported differently.
    let mut pair = Pair::new(73, Channel { loss: 1.0, ..Channel::default() });
    pair.connect("cubic");
    pair.run(MINUTE, |pair| !pair.ends[0].events.is_empty());
    assert_eq!(pair.ends[0].events, [EndpointEvent::NotConnected(ConnectError::NoAnswer)]);
}

/// Holds RFC 9000, section 21.12.
#[test]
fn a_version_mismatch_is_reported() {
    [VERSION - 1, VERSION + 1].into_iter().for_each(two_versions);
}

fn two_versions(other: u8) {
    // A client of another version connects to this server.
    let mut pair = Pair::new(74, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.step();
    let mut hello = pair.record.as_ref().unwrap()[0].2.clone();
    hello[1] = other;
    let from = CLIENT.parse().unwrap();
    let server = &mut pair.ends[1].endpoint;
    server.receive(Time::ZERO, Arrival { from, ecn: Ecn::NotEct }, 1200, hello.clone(), Slice::new);
    let mut batch = Batch::new();
    let _ = server.poll(Time::ZERO, &mut batch);
    let answers = batch.datagrams().map(|(_, bytes)| bytes);
    let is_version = |bytes: &&[u8]| matches!(Packet::read(bytes), Some(Packet::Version { .. }));
    let answer = answers.filter(is_version).last().unwrap();
    let Some(Packet::Version { destination, version }) = Packet::read(answer) else { panic!("{answer:?}") };
    assert_eq!((&destination.0[..], version), (&hello[2..10], VERSION));
    assert!(answer.len() <= 10, "it is smaller than all that it answers");
    // This client connects to a server of another version, which answers as this one does.
    for loss in [1.0, 0.0] {
        let mut pair = Pair::new(75, Channel::default());
        pair.record = Some(Vec::new());
        pair.connect("cubic");
        pair.step();
        pair.channel.loss = loss;
        let hello = pair.record.as_ref().unwrap()[0].2.clone();
        let Some(Packet::Hello { source, .. }) = Packet::read(&hello) else { panic!("{hello:?}") };
        let mut answer = Vec::new();
        write_version(&mut answer, source);
        answer[9] = other;
        let (now, from) = (pair.now, SERVER.parse().unwrap());
        pair.ends[0].endpoint.receive(now, Arrival { from, ecn: Ecn::NotEct }, 10, answer, Slice::new);
        pair.run(MINUTE, |pair| !pair.ends[0].events.is_empty());
        if loss > 0.0 {
            let error = ConnectError::Version(other);
            assert_eq!(pair.ends[0].events, [EndpointEvent::NotConnected(error)]);
        } else {
            // A forged version reply.
            assert!(matches!(pair.ends[0].events[0], EndpointEvent::Connected { .. }));
        }
    }
    let text = thalweg_net::live::NetError::Connect(ConnectError::Version(other)).to_string();
    assert!(
        text.contains(&format!("version {other}")) && text.contains(&format!("version {VERSION}")),
        "{text}"
    );
}

/// A path MTU below the minimum: small packets still arrive, so no idle timeout ends the connection.
/// Holds RFC 9000, section 14.2.
#[test]
fn a_path_mtu_below_the_minimum_closes_the_connection() {
    for scheme in ["cubic", "sstp:rate=20Mbit/s", "sscop", "adaptive-ack"] {
        let mut pair = Pair::new(76, Channel::default());
        pair.connect(scheme);
        pair.ends[0].write(&crate::endpoint_pair::pattern(76, 3_000_000));
        pair.ends[1].finish = true;
        pair.run(MINUTE, |pair| pair.ends[1].received.len() > 300_000);
        pair.channel.mtu = 1000;
        let reduced = pair.now;
        pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.closed.is_some()));
        assert_eq!(pair.ends[0].closed, Some(CloseReason::PathMtuTooSmall), "{scheme}");
        let is_reported = matches!(&pair.ends[1].closed, Some(CloseReason::Peer { code: code::PATH_MTU_TOO_SMALL, reason }) if reason.contains("1228"));
        assert!(is_reported, "{scheme}: {:?}", pair.ends[1].closed);
        // Five seconds without progress, and twenty of probes; one end sends new data for a while before.
        assert!(pair.now.since(reduced) < Duration::from_secs(50), "{scheme}: {}", pair.now.since(reduced));
    }
}

/// An application that does not read for minutes, behind a path with 10 % loss.
#[test]
fn a_slow_reader_is_no_mtu_black_hole() {
    for scheme in ["cubic", "sstp:rate=20Mbit/s", "sscop", "adaptive-ack"] {
        let mut pair = Pair::new(77, Channel { loss: 0.1, ..Channel::default() });
        pair.connect(scheme);
        pair.ends[0].write(&crate::endpoint_pair::pattern(77, 20_000_000));
        pair.run(MINUTE, |pair| pair.ends[1].received.len() > 30_000);
        pair.ends[1].reads = false;
        let until = pair.now + MINUTE * 3;
        pair.run(MINUTE * 4, |pair| pair.now > until);
        assert!(pair.ends.iter().all(|end| end.closed.is_none()), "{scheme}: {:?}", pair.ends[0].closed);
    }
}
