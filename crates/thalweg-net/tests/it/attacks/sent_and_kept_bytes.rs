//! Budgets of an endpoint: limits on the bytes that a peer can make it send and keep, with any scheme and options.
//! Counts sent bytes per received byte, and kept bytes.

use crate::attacks::attacker::{HostileClient, accepted_connection, drain_output, server, wait_until};
use crate::endpoint_pair::{Channel, Pair, SeededEntropy, identity, server_config};
use proptest::prelude::*;
use std::net::SocketAddr;
use thalweg_catalog::{Kind, SCHEMES};
use thalweg_net::endpoint::{Endpoint, EndpointConfig, EndpointEvent, Listen, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::session::SessionEvent;
use thalweg_net::wire::frame::Frame;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

/// Non-data bytes per second to an authorised peer, beside twice its received bytes; also the burst.
const BUDGET_PER_SECOND: u64 = 64 << 10;

/// Path MTU probes, outside that budget: initially at most 40 of the size of an ordinary path.
const PROBES: u64 = 40 * 1500;

const START: Time = Time::from_picos(1_000_000_000_000);
const SECOND: Duration = Duration::from_secs(1);

/// Returns one data packet of two-level flow control for the last segment of its window: the receiver requests all
/// others again and again.
fn far_future_sequences() -> (&'static str, Vec<Vec<u8>>) {
    use thalweg_proto::sstp::{Data, Pdu, wire};
    let scheme = "sstp:segment-packets=1pkt,window=32767,buffer=32767,repeat=10ms,segment=1000B,rate=1Gbit/s";
    let mut bytes = Vec::new();
    let data = Data {
        shipment: 0,
        segment: 32_766,
        packet: 0,
        last: true,
        is_full: true,
        resent: false,
        payload: Slice::new(*b"x"),
    };
    wire::encode(0, &Pdu::Data(data), &mut bytes);
    (scheme, vec![bytes])
}

/// Returns packets of adaptive acknowledgement with many gaps: each request names all of them.
fn packets_with_gaps(count: u64) -> (&'static str, Vec<Vec<u8>>) {
    use thalweg_proto::adaptive_ack::{Data, Pdu, wire};
    let scheme = "adaptive-ack:t-error=1ms,t-normal=1ms,window=20000pkt,segment=256B";
    let pdus = (1..=count).map(|number| {
        let mut bytes = Vec::new();
        let data = Data { sequence: 9000 / count * number, payload: Slice::new(*b"x") };
        wire::encode(&Pdu::Data(data), &mut bytes);
        bytes
    });
    (scheme, pdus.collect())
}

/// A few packets to which the engine alone would send hundreds of thousands of answers, or large ones each millisecond.
#[test]
fn one_packet_elicits_a_bounded_number_of_bytes() {
    for (scheme, pdus) in [far_future_sequences(), packets_with_gaps(1), packets_with_gaps(50)] {
        for authorises in [false, true] {
            let mut endpoint = server(server_config());
            let mut hostile = HostileClient::connect(&mut endpoint, START, 1, scheme.as_bytes());
            let (handle, known) = accepted_connection(&mut endpoint)
                .unwrap_or_else(|| panic!("{scheme}: {:?}", hostile.closed));
            assert!(!known);
            if authorises {
                endpoint.authorise(handle);
            }
            pdus.iter().for_each(|pdu| hostile.pdu(&mut endpoint, START, pdu));
            wait_until(&mut hostile, &mut endpoint, START, START + SECOND * 40);
            // Idle connections end after 30 s.
            let max = if authorises {
                2 * hostile.sent + 31 * BUDGET_PER_SECOND + PROBES
            } else {
                3 * hostile.sent + 64
            };
            assert!(hostile.received <= max, "{scheme}: {} bytes for {}", hostile.received, hostile.sent);
            assert!(
                hostile.polls < 10 * hostile.datagrams + 3000,
                "{} polls, {} datagrams",
                hostile.polls,
                hostile.datagrams
            );
            assert!(hostile.datagrams > 0 && endpoint.connections() == 0);
        }
    }
}

/// Ninety one-byte segments in a packet, each after a hole: an acknowledgement of each would be 75 kB for 16 kB.
/// Holds RFC 9000, section 21.7.
#[test]
fn single_byte_segments_are_not_acknowledged_one_by_one() {
    use thalweg_proto::window::{Pdu, Segment, wire};
    let mut endpoint = server(server_config());
    let mut hostile = HostileClient::connect(&mut endpoint, START, 1, b"cubic");
    let (handle, _) = accepted_connection(&mut endpoint).unwrap();
    endpoint.authorise(handle);
    wait_until(&mut hostile, &mut endpoint, START, START + SECOND * 5);
    let before = hostile.datagrams;
    let mut now = START + SECOND * 5;
    for round in 0..739u64 {
        let mut frames = Vec::new();
        for at in 0..90 {
            let sequence = 2 * (round * 90 + at) + 1;
            let mut pdu = vec![0];
            let segment = Segment::new(sequence, Slice::new(*b"x"));
            wire::encode(&Pdu::Segment(segment), &mut pdu);
            // A PDU of given length.
            frames.extend_from_slice(&[9, 0, 0]);
            frames.extend_from_slice(&(pdu.len() as u16).to_be_bytes());
            frames.extend_from_slice(&pdu);
        }
        hostile.send_frames(&mut endpoint, now, &frames);
        now += Duration::from_millis(1);
    }
    let answers = hostile.datagrams - before;
    assert!(answers <= 4 * 739 + 20, "{answers} for 739 packets");
    let stats = endpoint.session(handle).unwrap().stats(now);
    assert!(hostile.received <= 2 * hostile.sent, "{} {stats:?}", hostile.received);
}

/// An endpoint buffers up to 64 KiB of each unauthenticated peer, and in total up to the memory limit of the socket. A
/// client with a known key connects meanwhile.
/// Holds RFC 9000, section 21.6.
#[test]
fn unauthenticated_peers_hold_little_memory_and_block_no_client() {
    use thalweg_proto::window::{Pdu, Segment, wire};
    let mut pair = Pair::new(41, Channel::default());
    pair.ends[1].authorises = false;
    for number in 0..1500u32 {
        let now = Time::ZERO + Duration::from_millis(u64::from(number) * 4);
        let endpoint = &mut pair.ends[1].endpoint;
        let mut hostile = HostileClient::connect(endpoint, now, number, b"cubic:receive-window=4GB");
        // More than the limit, and the application reads nothing.
        let mut delivered = 0;
        for at in 0..80u64 {
            let mut pdu = Vec::new();
            let payload = Slice::new(vec![7; 1000]);
            wire::encode(&Pdu::Segment(Segment::new(at * 1000, payload)), &mut pdu);
            hostile.pdu(endpoint, now, &pdu);
            while let Some((_, event)) = endpoint.event() {
                if let EndpointEvent::Session(SessionEvent::Delivered(piece)) = event {
                    delivered += u64::from(piece.len());
                }
            }
        }
        assert!((60_000..=65_536).contains(&delivered), "{delivered}");
        assert!(hostile.received <= 3 * hostile.sent + 64);
    }
    // The oldest connections were evicted: at most 1024 remain, plus the state needed to send the closes.
    assert!(pair.ends[1].endpoint.stats().forgotten >= 1500 - 1024);
    pair.now = Time::ZERO + Duration::from_millis(6000);
    pair.ends[1].authorises = true;
    pair.connect("cubic");
    let data = crate::endpoint_pair::pattern(41, 1_000_000);
    pair.ends[0].write(&data);
    pair.ends[1].finish = true;
    pair.run(crate::attacks::MINUTE, |pair| pair.ends[0].finished);
    assert!(pair.ends[1].received == data);
    // Connections closed in the last three seconds may still answer.
    assert!(pair.ends[1].endpoint.connections() <= 1025 + 3000 / 4);
}

/// All authorised clients share one memory limit.
/// Holds RFC 9000, section 21.6.
#[test]
fn receive_windows_of_all_connections_are_bounded_together() {
    let listen = Listen::new(Trust::Anyone, ["test"]);
    let mut endpoint = server(EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity(2)) });
    let (mut promised, mut first) = (0, None);
    let mut handles = Vec::new();
    for number in 0..2000u32 {
        let now = Time::ZERO + Duration::from_millis(u64::from(number) * 4);
        let address = SocketAddr::from(((0x0a00_0000 + number).to_be_bytes(), 7));
        let before = endpoint.stats().dropped;
        let connected = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            HostileClient::connect(&mut endpoint, now, number, b"cubic")
        }));
        if endpoint.stats().dropped > before {
            assert!(connected.is_err(), "{address}");
            break;
        }
        let (handle, _) = accepted_connection(&mut endpoint).unwrap();
        endpoint.authorise(handle);
        let memory = endpoint.session(handle).unwrap().memory();
        first.get_or_insert(memory);
        promised += memory;
        handles.push(handle);
        assert!(memory >= 64 << 10 && promised <= 256 << 20, "{number}: {promised}");
    }
    assert_eq!(first, Some(16 << 20));
    assert!(handles.len() >= 1000, "{}", handles.len());
    // Memory released by one connection is available to the next.
    let now = Time::ZERO + SECOND * 10;
    for handle in handles.drain(..900) {
        endpoint.abandon(now, handle, 0, "");
    }
    let _ = drain_output(&mut endpoint, now);
    HostileClient::connect(&mut endpoint, now, 5000, b"cubic");
    let (handle, _) = accepted_connection(&mut endpoint).unwrap();
    endpoint.authorise(handle);
    assert_eq!(endpoint.session(handle).unwrap().memory(), 16 << 20);
}

/// A scheme that the server's operator has not allowed is refused with a reason, and so is an unknown one.
#[test]
fn only_schemes_that_are_allowed_are_used() {
    let listen = Listen::new(Trust::Anyone, ["test"]).by_schemes(["cubic", "newreno"]);
    for (scheme, expected) in [
        ("cubic", None),
        ("newreno:ecn=false", None),
        (
            "sstp:rate=1Gbit/s",
            Some("the scheme sstp is not allowed here, only cubic, newreno (sstp needs --allow-scheme)"),
        ),
        (
            "fixed",
            Some("the scheme fixed is not allowed here, only cubic, newreno (fixed needs --allow-scheme)"),
        ),
        ("nothing", Some("the scheme cannot be used here: there is no scheme `nothing`")),
        ("cubic:beta=7", Some("the scheme cannot be used here: beta cannot be `7`")),
        ("\u{1b}[2J", Some("the scheme cannot be used here")),
    ] {
        let config = EndpointConfig { listen: Some(listen.clone()), ..server_config() };
        let mut endpoint = server(config);
        let hostile = HostileClient::connect(&mut endpoint, START, 1, scheme.as_bytes());
        assert_eq!(accepted_connection(&mut endpoint).is_some(), expected.is_none(), "{scheme}");
        match (expected, hostile.closed) {
            (None, None) => {}
            (Some(expected), Some((3, reason))) => assert!(reason.starts_with(expected), "{reason}"),
            (_, closed) => panic!("{scheme}: {closed:?}"),
        }
    }
}

/// Invalid frames, one at a time: each ends the connection as a protocol violation.
#[test]
fn frames_that_make_no_sense_end_the_connection() {
    for frames in [&[99][..], &[1, 0, 0], &[7, 0, 0, 0, 9, 9], &[9, 0, 0, 1, 0, 5], &[3], &[2; 5]] {
        let mut endpoint = server(server_config());
        let mut hostile = HostileClient::connect(&mut endpoint, START, 1, b"cubic");
        let (handle, _) = accepted_connection(&mut endpoint).unwrap();
        endpoint.authorise(handle);
        hostile.send_frames(&mut endpoint, START, frames);
        assert!(matches!(hostile.closed, Some((2, _))), "{frames:?}: {:?}", hostile.closed);
    }
}

/// A hundred requests in a packet queue at most sixteen answers.
#[test]
fn sixteen_answers_wait_at_most() {
    let mut endpoint = server(server_config());
    let mut hostile = HostileClient::connect(&mut endpoint, START, 1, b"cubic");
    let (handle, _) = accepted_connection(&mut endpoint).unwrap();
    endpoint.authorise(handle);
    wait_until(&mut hostile, &mut endpoint, START, START + SECOND * 5);
    let before = hostile.pongs;
    let mut frames = Vec::new();
    (0..100).for_each(|token| Frame::Ping(token).write(&mut frames));
    hostile.send_frames(&mut endpoint, START + SECOND * 5, &frames);
    assert_eq!(hostile.pongs - before, 16);
}

/// Draws a scheme with hostile options: at the bounds of their ranges, and beyond.
fn hostile_scheme(rng: &mut RandomStream) -> String {
    const VALUES: &[&str] = &[
        "1ps",
        "1ns",
        "1ms",
        "10ms",
        "1s",
        "1h",
        "1B",
        "256B",
        "65536B",
        "4GB",
        "1pkt",
        "1000pkt",
        "1048576pkt",
        "unlimited",
        "1",
        "3",
        "1000",
        "32767",
        "65535",
        "0",
        "0.5",
        "true",
        "false",
        "1bit/s",
        "1Gbit/s",
        "100Gbit/s",
        "go-back-n",
        "sack",
        "hard",
        "soft",
    ];
    let description = SCHEMES[rng.below(SCHEMES.len() as u64) as usize];
    let keys: Vec<_> = description.keys.flat().filter(|key| key.is_live()).collect();
    let Ok(mut scheme) = description.name.parse::<Scheme>() else { return "cubic".to_owned() };
    // Incompatible options are left out.
    for _ in 0..rng.below(8) {
        let key = keys[rng.below(keys.len() as u64) as usize];
        let words = match key.kind {
            Kind::Word(words) if rng.chance(0.8) => words,
            _ => VALUES,
        };
        let (key, value) = (key.name, words[rng.below(words.len() as u64) as usize]);
        let text = scheme.to_string();
        let separator = if text.contains(':') { ',' } else { ':' };
        scheme = format!("{text}{separator}{key}={value}").parse().unwrap_or(scheme);
    }
    scheme.at_rate("1Mbit/s".parse().ok()).unwrap().to_string()
}

/// Draws PDUs, valid for the scheme or not, with few bits set in their numbers.
fn hostile_pdu(rng: &mut RandomStream) -> Vec<u8> {
    let length = [1, 4, 8, 13, 16, 24, 40, 100, 900][rng.below(9) as usize];
    let kind = rng.below(20) as u8;
    let mut pdu: Vec<u8> =
        (0..length).map(|_| if rng.chance(0.15) { rng.next_u64() as u8 } else { 0 }).collect();
    pdu[0] = kind;
    pdu
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// With any choices and frames of a peer, the limits on bytes and on polls hold, and time advances.
    /// Holds RFC 9000, section 21.9.
    #[test]
    fn hostile_options_stay_within_the_budget(seed in any::<u64>(), authorises in any::<bool>()) {
        let mut rng = RandomStream::new(seed, "hostile options", 0);
        let scheme = hostile_scheme(&mut rng);
        let mut endpoint = Endpoint::new(Time::ZERO, server_config(), Box::new(SeededEntropy(RandomStream::new(seed, "server", 0))));
        let mut hostile = HostileClient::connect(&mut endpoint, START, 1, scheme.as_bytes());
        let accepted = accepted_connection(&mut endpoint);
        prop_assert!(accepted.is_some() || hostile.closed.is_some());
        let Some((handle, _)) = accepted else { return Ok(()) };
        if authorises {
            endpoint.authorise(handle);
        }
        let mut now = START;
        for _ in 0..rng.below(60) {
            match rng.below(8) {
                0..5 => hostile.pdu(&mut endpoint, now, &hostile_pdu(&mut rng)),
                5 => {
                    let token = rng.next_u64();
                    let mut frames = Vec::new();
                    (0..rng.below(40)).for_each(|_| Frame::Ping(token).write(&mut frames));
                    hostile.send_frames(&mut endpoint, now, &frames);
                }
                6 => {
                    let end = now + Duration::from_millis(rng.below(300));
                    wait_until(&mut hostile, &mut endpoint, now, end);
                    now = now.max(end);
                }
                _ => {
                    let mut frames = vec![9, 0, rng.below(2) as u8];
                    let pdu = hostile_pdu(&mut rng);
                    frames.extend_from_slice(&(pdu.len() as u16).to_be_bytes());
                    frames.extend_from_slice(&pdu);
                    hostile.send_frames(&mut endpoint, now, &frames);
                }
            }
        }
        wait_until(&mut hostile, &mut endpoint, now, now + SECOND * 2);
        let seconds = (now + SECOND * 2).since(START).as_secs_f64();
        let max = if authorises {
            2 * hostile.sent + ((seconds + 1.0) * BUDGET_PER_SECOND as f64) as u64 + PROBES
        } else {
            // Also the close or refusal, paid for by the confirm.
            3 * hostile.sent + 64 + 300
        };
        prop_assert!(hostile.received <= max, "{}: {} bytes for {}, at most {}", scheme, hostile.received, hostile.sent, max);
        prop_assert!(hostile.polls <= 4000 + 20 * hostile.datagrams, "{}: {} polls", scheme, hostile.polls);
    }
}
