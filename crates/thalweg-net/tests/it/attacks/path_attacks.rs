//! Path attacks: copied packets sent from an attacker's addresses, and a peer's frames at the end of a connection.

use crate::attacks::{MINUTE, deliver};
use crate::endpoint_pair::{CLIENT, Channel, Pair, SERVER, client_config, pattern, server_config};
use std::net::SocketAddr;
use thalweg_net::endpoint::EndpointConfig;
use thalweg_net::session::{CloseReason, SessionConfig, code};
use thalweg_proto::units::{Duration, Time};

/// Copies every packet to `end` from other addresses as soon as it is sent; the copies overtake the original.
fn copy_everything(pair: &mut Pair, end: usize, thieves: &[SocketAddr], read: &mut usize) {
    let recorded: Vec<_> = pair.record.as_ref().unwrap()[*read..].to_vec();
    *read += recorded.len();
    let to_end = pair.ends[end].address;
    for (number, (_, to, bytes)) in recorded.into_iter().enumerate() {
        if to == to_end {
            deliver(pair, end, thieves[number % thieves.len()], &bytes);
        }
    }
}

fn hijacker_addresses() -> Vec<SocketAddr> {
    (1..=200).map(|host| SocketAddr::from(([203, 0, 113, host], 9))).collect()
}

/// Sends in both directions, with or without an attacker that copies the server's packets. Returns the completion time.
fn transfer_time(thieves: &[SocketAddr]) -> Time {
    let mut pair = Pair::new(31, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    let data = pattern(31, 500_000);
    pair.ends[0].write(&data);
    pair.ends[1].write(&data);
    let mut read = 0;
    while !(pair.ends[0].finished && pair.ends[1].finished) {
        if !thieves.is_empty() {
            copy_everything(&mut pair, 0, thieves, &mut read);
        }
        assert!(pair.step());
        assert!(pair.now < Time::ZERO + MINUTE, "{}", pair.describe());
    }
    assert_eq!(pair.log.iter().filter(|(_, to, _)| thieves.contains(to)).count(), 0);
    pair.now
}

/// A client does not migrate to the apparent source of copies of its server's packets. The copies are accepted: another
/// path does not make them invalid.
/// Holds RFC 9000, section 9.
#[test]
fn a_client_discards_packets_from_other_addresses() {
    let (alone, copied) = (transfer_time(&[]), transfer_time(&hijacker_addresses()));
    assert!(copied <= alone + Duration::from_millis(20), "{copied} in place of {alone}");
}

/// A client configured to follow does migrate.
#[test]
fn a_client_can_be_configured_to_follow_its_server() {
    let session = SessionConfig { follows: true, ..SessionConfig::default() };
    let config = EndpointConfig { session, ..client_config() };
    let mut pair = Pair::with(32, Channel::default(), config, server_config());
    pair.connect("cubic");
    pair.ends[0].write(&pattern(32, 300_000));
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 50_000);
    pair.ends[1].address = "[2001:db8::3]:2000".parse().unwrap();
    pair.run(MINUTE, |pair| pair.ends[0].finished);
}

/// A server follows its clients. An attacker that copies their packets makes it migrate, but at a limited rate.
/// Holds RFC 9000, section 9.3.3.
#[test]
fn migrations_are_rate_limited_and_the_old_address_is_restored() {
    // Packets that arrive singly are acknowledged singly.
    let mut pair = Pair::new(33, Channel { jitter: Duration::from_millis(10), ..Channel::default() });
    pair.connect("cubic");
    let data = pattern(33, 2_000_000);
    pair.ends[1].write(&data);
    pair.ends[0].finish = true;
    let thieves = hijacker_addresses();
    let mut times = Vec::new();
    for (step, thief) in thieves.iter().cycle().enumerate() {
        if pair.ends[1].finished {
            break;
        }
        // The attacker's copies take half the time. While it copies everything, nothing gets through.
        pair.thief = (step % 2 == 0).then_some(*thief);
        assert!(pair.step());
        assert!(pair.now.since(Time::ZERO) < MINUTE, "{}", pair.describe());
        if let Some(handle) = pair.ends[1].handle
            && let Some(session) = pair.ends[1].endpoint.session(handle)
        {
            times.resize(session.stats(pair.now).migrations as usize, pair.now);
        }
    }
    assert!(pair.ends[0].received == data);
    let handle = pair.ends[1].handle.unwrap();
    let now = pair.now;
    let moves = pair.ends[1].endpoint.session(handle).unwrap().stats(now).migrations;
    assert!(moves >= 4, "{moves} in {now}: there was no attack");
    // The peer migrates back and forth four times at once and four times a second: at most eight times in any second.
    let in_a_second = |since: &&[Time]| since[16].since(since[0]) < Duration::from_secs(1);
    assert_eq!(times.windows(17).find(in_a_second), None, "{moves} in {now}");
    // Three bytes per received byte until a challenge is answered, which never happens.
    let stolen: usize =
        pair.log.iter().filter(|(_, to, _)| thieves.contains(to)).map(|(_, _, size)| size).sum();
    let copied: usize = pair
        .log
        .iter()
        .filter(|(from, _, _)| *from == CLIENT.parse().unwrap())
        .map(|(_, _, size)| size)
        .sum();
    assert!(stolen <= 3 * copied, "{stolen} for {copied}");
}

/// One packet is copied while the client has nothing more to send: the server also challenges its old address.
/// Holds RFC 9000, section 9.3.2.
#[test]
fn one_copied_packet_does_not_close_the_connection() {
    let mut pair = Pair::new(34, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.ends[1].write(&pattern(34, 10_000));
    pair.ends[1].finish = false;
    pair.run(MINUTE, |pair| pair.ends[0].received.len() == 10_000);
    let idle = pair.now + Duration::from_secs(2);
    pair.run(MINUTE, |pair| pair.now > idle);
    // A keep-alive of the client, which awaits the answer: the next is seconds away.
    let from = pair.record.as_ref().unwrap().len();
    pair.run(MINUTE, |pair| {
        pair.record.as_ref().unwrap()[from..].iter().any(|(_, to, _)| *to == SERVER.parse().unwrap())
    });
    let ping = pair.record.as_ref().unwrap()[from..]
        .iter()
        .find(|(_, to, _)| *to == SERVER.parse().unwrap())
        .unwrap()
        .2
        .clone();
    deliver(&mut pair, 1, hijacker_addresses()[0], &ping);
    let begun = pair.now;
    pair.ends[1].write(&pattern(35, 50_000));
    pair.run(MINUTE, |pair| pair.ends[0].received.len() == 60_000);
    // A few round trips of 20 ms, instead of the five seconds of challenges.
    assert!(pair.now.since(begun) < Duration::from_millis(500), "{}", pair.now.since(begun));
}

/// An attacker holds back a packet of the client and sends it later from its own address. It is authentic, but newer
/// packets have arrived.
/// Holds RFC 9000, section 9.3.
#[test]
fn a_delayed_packet_does_not_migrate_the_connection() {
    let mut pair = Pair::new(37, Channel::default());
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.ends[0].write(&pattern(37, 20_000));
    pair.ends[0].finish = false;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 20_000);
    let (server, from) = (SERVER.parse::<SocketAddr>().unwrap(), pair.record.as_ref().unwrap().len());
    pair.channel.loss = 1.0;
    pair.ends[0].write(&pattern(38, 1000));
    pair.ends[0].finish = false;
    let held = loop {
        assert!(pair.step());
        let record = &pair.record.as_ref().unwrap()[from..];
        if let Some((_, _, bytes)) = record.iter().find(|(_, to, bytes)| *to == server && bytes[0] == 8) {
            break bytes.clone();
        }
    };
    pair.channel.loss = 0.0;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 21_000);
    let (now, handle) = (pair.now, pair.ends[1].handle.unwrap());
    let received = |pair: &mut Pair| {
        let session = pair.ends[1].endpoint.session(handle).unwrap();
        (session.stats(now).packets_received, session.stats(now).migrations, session.remote())
    };
    let (before, _, _) = received(&mut pair);
    deliver(&mut pair, 1, hijacker_addresses()[0], &held);
    assert_eq!(
        received(&mut pair),
        (before + 1, 0, CLIENT.parse().unwrap()),
        "it was taken, and moves nothing"
    );
}

/// A client that has migrated validates its new address in one round trip.
/// Holds RFC 9000, section 8.2.2.
#[test]
fn a_challenge_is_answered_at_once() {
    let mut pair = Pair::new(39, Channel::default());
    pair.connect("cubic");
    pair.ends[0].write(&pattern(39, 20_000));
    pair.ends[0].finish = false;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 20_000);
    let new: SocketAddr = "198.51.100.7:4242".parse().unwrap();
    pair.ends[0].address = new;
    pair.ends[0].write(&pattern(40, 1000));
    let handle = pair.ends[1].handle.unwrap();
    let session = |pair: &mut Pair| {
        let session = pair.ends[1].endpoint.session(handle).unwrap();
        (session.remote(), session.is_validated())
    };
    pair.run(MINUTE, |pair| session(pair).0 == new);
    let begun = pair.now;
    pair.run(MINUTE, |pair| session(pair).1);
    // A round trip of 20 ms.
    assert_eq!(session(&mut pair), (new, true));
    assert!(pair.now.since(begun) <= Duration::from_millis(25), "{}", pair.now.since(begun));
}

/// The reason of a close appears on terminals and in logs.
#[test]
fn the_reason_of_a_close_drives_no_terminal() {
    let mut pair = Pair::new(36, Channel::default());
    pair.connect("cubic");
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
    let (now, handle) = (pair.now, pair.ends[1].handle.unwrap());
    let hostile_reason = format!("\x1b]0;title\x07\u{202e}{}", "\x1b".repeat(200));
    pair.ends[1].endpoint.session(handle).unwrap().close(now, 300, &hostile_reason);
    pair.ends[1].endpoint.schedule_poll(handle);
    pair.run(MINUTE, |pair| pair.ends[0].closed.is_some());
    let Some(CloseReason::Peer { code: 300, reason }) = &pair.ends[0].closed else {
        panic!("{:?}", pair.ends[0].closed)
    };
    assert!(reason.starts_with("\\u{1b}]0;title\\u{7}\\u{202e}\\u{1b}") && reason.is_ascii());
    assert!(reason.len() <= 256 && !reason.chars().any(char::is_control));
}

/// Holds RFC 9001, section 6.6.
#[test]
fn a_connection_is_closed_at_the_integrity_limit() {
    let session = SessionConfig { forgeries: 100, ..SessionConfig::default() };
    let config = EndpointConfig { session, ..server_config() };
    let mut pair = Pair::with(34, Channel::default(), client_config(), config);
    pair.record = Some(Vec::new());
    pair.connect("cubic");
    pair.ends[0].write(&pattern(34, 20_000));
    pair.run(MINUTE, |pair| pair.ends[1].has_ended);
    let server: SocketAddr = SERVER.parse().unwrap();
    let recorded = pair.record.clone().unwrap();
    let (from, _, packet) =
        recorded.iter().rev().find(|(_, to, bytes)| *to == server && bytes[0] == 8).unwrap();
    // An unused number, so decryption is attempted.
    let mut forged = packet.clone();
    forged[12] = forged[12].wrapping_add(100);
    for _ in 1..100 {
        deliver(&mut pair, 1, *from, &forged);
        // Duplicates do not count as forgeries.
        deliver(&mut pair, 1, *from, packet);
    }
    pair.run(MINUTE, |pair| pair.ends[0].finished);
    assert_eq!((&pair.ends[0].closed, &pair.ends[1].closed), (&None, &None));
    deliver(&mut pair, 1, *from, &forged);
    pair.run(MINUTE, |pair| pair.ends[0].closed.is_some());
    assert_eq!(pair.ends[1].closed, Some(CloseReason::Forgeries));
    let is_reported = matches!(pair.ends[0].closed, Some(CloseReason::Peer { code: code::FORGERIES, .. }));
    assert!(is_reported, "{:?}", pair.ends[0].closed);
}
