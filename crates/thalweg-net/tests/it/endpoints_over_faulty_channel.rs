//! Two endpoints over a channel that loses, reorders, duplicates and corrupts datagrams, changes addresses and drops
//! large datagrams. No byte may be wrong, and nothing may hang.

use crate::endpoint_pair::{
    Channel, Pair, client_config, identity, pattern, server_config, with_short_timeouts,
};
use std::net::SocketAddr;
use thalweg_net::endpoint::EndpointConfig;
use thalweg_net::session::CloseReason;
use thalweg_net::wire::SAFE_DATAGRAM;
use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_clean_channel_carries_both_streams() {
    let mut pair = Pair::new(1, Channel::default());
    pair.transfer("cubic", 1, [300_000, 200_000], MINUTE);
    assert_eq!(pair.ends[0].endpoint.stats().forged, 0);
}

#[test]
fn two_hundred_random_channels() {
    for seed in 0..200 {
        let mut random = RandomStream::new(seed, "schedule", 0);
        let channel = Channel {
            loss: random.unit() * 0.3,
            duplication: random.unit() * 0.2,
            corruption: random.unit() * 0.1,
            delay: Duration::from_micros(random.below(100_000)),
            jitter: Duration::from_micros(random.below(50_000)),
            mtu: 1200 + random.below(800) as usize,
            ..Channel::default()
        };
        let mut pair = Pair::new(seed, channel);
        pair.transfer(
            "newreno",
            seed,
            [random.below(60_000) as usize, random.below(60_000) as usize],
            MINUTE * 60,
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let channel = Channel { loss: 0.1, jitter: Duration::from_millis(5), ..Channel::default() };
        let mut pair = Pair::new(9, channel);
        pair.transfer("cubic", 9, [100_000, 50_000], MINUTE * 10);
        (pair.now, pair.log)
    };
    assert!(run() == run());
}

/// Returns the size of the largest datagram with data.
fn largest_sent(pair: &Pair) -> usize {
    pair.log.iter().map(|(_, _, size)| *size).max().unwrap_or(0)
}

/// Timestamps take space in datagrams, and the maximum size stays the same for any path MTU. Both directions use them,
/// as the peer was informed.
#[test]
fn timestamps_fit_into_datagrams() {
    let largest = |scheme: &str| {
        let mut pair = Pair::new(12, Channel::default());
        pair.transfer(scheme, 12, [300_000, 200_000], MINUTE);
        (largest_sent(&pair), pair.log.len())
    };
    let (plain, timestamped) = (largest("cubic"), largest("cubic:timestamps=true"));
    assert_eq!(plain.0, timestamped.0);
    // Four bytes in each of about 350 segments.
    assert!(timestamped.1 > plain.1, "{} datagrams for {}", timestamped.1, plain.1);
}

/// Holds RFC 9000, section 14.4.
#[test]
fn the_path_mtu_is_found_and_used() {
    let mut pair = Pair::new(2, Channel { mtu: 1400, ..Channel::default() });
    pair.connect("cubic");
    pair.ends[0].write(&pattern(2, 2_000_000));
    pair.ends[0].finish = false;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 2_000_000);
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.now > start + Duration::from_secs(15));
    let handle = pair.ends[0].handle.unwrap();
    let now = pair.now;
    let stats = pair.ends[0].endpoint.session(handle).unwrap().stats(now);
    assert!((1385..=1400).contains(&stats.datagram), "{}", stats.datagram);
    assert!(largest_sent(&pair) > 1400, "nothing larger was tried");
    pair.ends[0].write(&pattern(3, 2_000_000));
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 4_000_000);
    let full = pair.log.iter().filter(|(_, _, size)| (1385..=1400).contains(size)).count();
    assert!(full > 1000, "{full} datagrams of 2 MB had that size");
}

#[test]
fn a_black_hole_for_large_datagrams_does_not_end_the_stream() {
    let mut pair = Pair::new(3, Channel { mtu: 1500, ..Channel::default() });
    let data = pattern(3, 4_000_000);
    pair.connect("cubic");
    pair.ends[0].write(&data);
    pair.ends[1].finish = true;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 1_000_000);
    pair.channel.mtu = 1250;
    pair.run(MINUTE * 5, |pair| pair.ends[0].finished);
    assert!(pair.ends[1].received == data);
}

/// Datagrams refused by this host's own network layer are detected at once. The connection that sent one continues with
/// smaller datagrams; another connection with the same peer keeps its size.
#[test]
fn a_refused_datagram_affects_only_its_connection() {
    let mut pair = Pair::new(5, Channel::default());
    let data = pattern(5, 4_000_000);
    let size = |pair: &mut Pair, handle| {
        let now = pair.now;
        pair.ends[0].endpoint.session(handle).unwrap().stats(now).datagram
    };
    let connect = |pair: &mut Pair| {
        pair.connect("cubic");
        let handle = pair.ends[0].handle.unwrap();
        let before = pair.ends[1].received.len();
        pair.run(MINUTE, |pair| pair.ends[0].endpoint.session(handle).is_some());
        let (now, endpoint) = (pair.now, &mut pair.ends[0].endpoint);
        endpoint.session(handle).unwrap().write(now, Slice::new(&data[..]));
        endpoint.schedule_poll(handle);
        pair.run(MINUTE, |pair| size(pair, handle) > 1400);
        (handle, before)
    };
    let (other, _) = connect(&mut pair);
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == data.len());
    let (handle, before) = connect(&mut pair);
    let arrived = pair.ends[1].received.len();
    assert!(arrived - before < data.len() / 2, "{arrived} bytes had arrived before");
    (pair.channel.mtu, pair.channel.refuses) = (1300, true);
    pair.run(Duration::from_millis(200), |pair| size(pair, handle) <= 1300);
    assert!(size(&mut pair, other) > 1400);
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == 2 * data.len());
}

#[test]
fn a_blackout_of_ten_seconds_is_survived() {
    let mut pair = Pair::new(4, Channel::default());
    let data = pattern(4, 3_000_000);
    pair.connect("cubic");
    pair.ends[0].write(&data);
    pair.ends[1].finish = true;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 500_000);
    pair.channel.dark_until = pair.now + Duration::from_secs(10);
    pair.run(MINUTE * 5, |pair| pair.ends[0].finished);
    assert!(pair.ends[1].received == data);
}

/// The last packets and many polls are lost, for every scheme that polls instead of retransmitting on a timer.
#[test]
fn polling_senders_resume_soon_after_a_blackout() {
    let schemes = ["sscop", "sscop-rate", "sscop-rate-literal"];
    for (scheme, dark) in schemes.iter().flat_map(|scheme| [12, 15, 18].map(|dark| (scheme, dark))) {
        let mut pair = Pair::new(5, Channel::default());
        let data = pattern(5, 5_000_000);
        pair.connect(scheme);
        pair.ends[0].write(&data);
        pair.ends[1].finish = true;
        pair.run(MINUTE, |pair| pair.ends[1].received.len() > 50_000);
        let light = pair.now + Duration::from_secs(dark);
        pair.channel.dark_until = light;
        pair.run(MINUTE, |pair| pair.now >= light);
        let before = pair.ends[1].received.len();
        pair.run(MINUTE, |pair| pair.ends[1].received.len() > before);
        assert!(pair.now.since(light) < Duration::from_millis(2200), "{scheme}: {}", pair.now.since(light));
        pair.run(MINUTE, |pair| pair.ends[0].finished);
        assert!(pair.ends[1].received == data);
    }
}

/// Holds RFC 9000, section 9.3.
#[test]
fn the_client_may_change_its_address() {
    let mut pair = Pair::new(6, Channel { loss: 0.01, ..Channel::default() });
    let data = [pattern(6, 1_500_000), pattern(7, 1_500_000)];
    pair.connect("cubic");
    for (end, data) in pair.ends.iter_mut().zip(&data) {
        end.write(data);
    }
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 300_000);
    let old = pair.ends[0].address;
    let new: SocketAddr = "198.51.100.7:4242".parse().unwrap();
    pair.ends[0].address = new;
    let before = pair.log.len();
    pair.run(MINUTE * 5, |pair| pair.ends.iter().all(|end| end.finished && end.has_ended));
    assert!(pair.ends[1].received == data[0] && pair.ends[0].received == data[1]);
    // After some round trips nothing goes to the old address.
    let late = &pair.log[before + (pair.log.len() - before) / 2..];
    assert!(late.iter().all(|(_, to, _)| *to != old));
    // The new address got at most three bytes per received byte until its validation.
    let (mut from_new, mut to_new, mut checked) = (0, 0, 0);
    for (from, to, size) in &pair.log[before..] {
        if *from == new {
            from_new += size;
        } else if *to == new {
            to_new += size;
            // Packets from there are counted when sent, before their arrival: an upper bound only.
            if checked < 3 {
                assert!(to_new <= 3 * from_new, "{to_new} bytes for {from_new}");
            }
            checked += 1;
        }
    }
    assert!(checked > 3);
}

/// A server sends while the client's address changes to a path with a longer round trip. Returns the server's final
/// minimum round-trip time, and the smallest datagram size that it fell back to.
fn shortest_after_move(scheme: &str, new: &str) -> (Duration, u16) {
    let mut pair = Pair::new(24, Channel::default());
    let data = pattern(24, 9_000_000);
    pair.connect(scheme);
    pair.ends[1].write(&data);
    pair.ends[0].finish = true;
    let stats = |pair: &mut Pair| {
        let (now, handle) = (pair.now, pair.ends[1].handle.unwrap());
        pair.ends[1].endpoint.session(handle).unwrap().stats(now)
    };
    pair.run(MINUTE, |pair| pair.ends[0].received.len() > 1_500_000);
    let before = stats(&mut pair);
    assert_eq!(before.sending.sender.min_rtt, Some(Duration::from_millis(20)), "{scheme}");
    assert!(before.datagram > SAFE_DATAGRAM, "{scheme}");
    pair.ends[0].address = new.parse().unwrap();
    pair.channel.delay = Duration::from_millis(40);
    let mut smallest = before.datagram;
    pair.run(MINUTE * 5, |pair| {
        smallest = smallest.min(stats(pair).datagram);
        pair.ends[1].finished
    });
    assert!(pair.ends[0].received == data, "{scheme}");
    (stats(&mut pair).sending.sender.min_rtt.unwrap(), smallest)
}

/// Holds RFC 9000, section 9.4.
#[test]
fn path_state_is_reset_on_migration() {
    let schemes = ["cubic", "newreno", "vegas", "slow-start", "seif", "fixed", "sscop", "sscop-rate"];
    for scheme in schemes {
        let (shortest, smallest) = shortest_after_move(scheme, "198.51.100.7:1000");
        assert!(shortest >= Duration::from_millis(80), "{scheme}: {shortest}");
        assert_eq!(smallest, SAFE_DATAGRAM, "{scheme}");
        // A new port is most often caused by a NAT on the same path (RFC 9000, section 9.4).
        let (shortest, _) = shortest_after_move(scheme, "192.0.2.1:2000");
        assert_eq!(shortest, Duration::from_millis(20), "{scheme}");
    }
}

/// Runs until the client has received the server's response. Its packets from then on are lost, then its address
/// changes.
fn migrated_before_first_packet(seed: u64, dark: impl FnOnce(&mut Pair)) -> (Pair, SocketAddr) {
    let mut pair = Pair::new(seed, Channel::default());
    pair.connect("cubic");
    let handle = pair.ends[0].handle.unwrap();
    pair.run(MINUTE, |pair| pair.ends[0].endpoint.session(handle).is_some());
    dark(&mut pair);
    let until = pair.channel.dark_until;
    pair.run(MINUTE, |pair| pair.now >= until);
    let new: SocketAddr = "198.51.100.7:4242".parse().unwrap();
    pair.ends[0].address = new;
    (pair, new)
}

/// The time from the first hello to the answer is not a round trip if there was an outage in between. It must not
/// determine the interval of confirm retransmissions, as the server forgets the handshake after 20 s.
#[test]
fn a_lost_confirm_is_repeated_soon_after_an_outage() {
    let mut pair = Pair::new(24, Channel::default());
    pair.channel.dark_until = pair.now + Duration::from_secs(10);
    pair.connect("cubic");
    let handle = pair.ends[0].handle.unwrap();
    pair.run(MINUTE, |pair| pair.ends[0].endpoint.session(handle).is_some());
    let visible_at = pair.now;
    pair.channel.dark_until = visible_at + Duration::from_millis(100);
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
    assert!(pair.now.since(visible_at) < Duration::from_secs(1), "{:?}", pair.now.since(visible_at));
}

#[test]
fn a_client_that_moves_before_its_confirm_arrives_is_accepted() {
    let dark = |pair: &mut Pair| pair.channel.dark_until = pair.now + Duration::from_millis(100);
    let (mut pair, new) = migrated_before_first_packet(21, dark);
    assert!(pair.ends[1].handle.is_none());
    let before = pair.log.len();
    let data = [pattern(21, 300_000), pattern(22, 300_000)];
    for (end, data) in pair.ends.iter_mut().zip(&data) {
        end.write(data);
    }
    pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.finished && end.has_ended));
    assert!(pair.ends[1].received == data[0] && pair.ends[0].received == data[1]);
    // The cookie validated the old address. The new one gets three bytes per received byte until a challenge validates
    // it, which takes one round trip. The challenge is the third packet to it at the latest.
    let (mut from_new, mut to_new) = (0, Vec::new());
    for (from, to, size) in &pair.log[before..] {
        from_new += if *from == new { *size } else { 0 };
        if *to == new && to_new.len() < 3 {
            to_new.push(*size);
            assert!(to_new.iter().sum::<usize>() <= 3 * from_new, "{to_new:?} for {from_new}");
        }
    }
    assert_eq!(to_new.len(), 3);
}

#[test]
fn a_client_that_migrates_before_the_first_packet_is_found_soon() {
    // The confirm arrives, the server's packets do not. The client has nothing to send.
    let (mut pair, _) = migrated_before_first_packet(23, |pair| {
        pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
        pair.channel.dark_until = pair.now + Duration::from_millis(100);
    });
    let data = pattern(23, 50_000);
    pair.ends[1].write(&data);
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.ends[1].finished);
    assert!(pair.ends[0].received == data);
    assert!(pair.now.since(start) < Duration::from_secs(2), "{}", pair.now.since(start));
}

/// A stopping server would leave the client with an incomplete handshake.
#[test]
fn a_closed_listener_ignores_new_clients_and_keeps_connections() {
    let mut pair = Pair::new(26, Channel::default());
    pair.connect("cubic");
    pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.handle.is_some()));
    pair.ends[1].endpoint.stop_listening();
    let data = pattern(26, 100_000);
    pair.ends[0].write(&data);
    pair.ends[1].finish = true;
    pair.run(MINUTE, |pair| pair.ends[0].finished);
    assert!(pair.ends[1].received == data);
    let before = pair.ends[1].endpoint.stats();
    pair.connect("cubic");
    let end = pair.now + Duration::from_secs(5);
    pair.run(MINUTE, |pair| pair.now >= end);
    let after = pair.ends[1].endpoint.stats();
    assert_eq!((after.cookies, after.handshakes), (before.cookies, before.handshakes));
}

/// Holds RFC 9000, section 8.2.4.
#[test]
fn packets_copied_from_another_address_do_not_migrate_the_connection() {
    let mut pair = Pair::new(8, Channel::default());
    let (data, answer) = (pattern(8, 60_000), pattern(9, 4_000_000));
    pair.connect("cubic");
    pair.ends[0].write(&data);
    pair.ends[1].write(&answer);
    pair.run(MINUTE, |pair| pair.ends[1].received.len() == data.len());
    assert!(pair.ends[0].received.len() < answer.len() / 2);
    // An on-path attacker repeats the client's acknowledgements from its own address, and is faster. Each is short, so
    // that an unlimited sender would send more than three bytes for each of theirs.
    pair.thief = Some("203.0.113.66:666".parse().unwrap());
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.now > start + Duration::from_secs(2));
    // The attacker delays the connection while active, like any on-path attacker, but not longer.
    pair.thief = None;
    pair.run(MINUTE * 2, |pair| pair.ends.iter().all(|end| end.finished));
    assert!(pair.ends[1].received == data && pair.ends[0].received == answer);
    // It ends 2.5 s after the attack; 6 s after it if the connection stays at the attacker's address until that is given up.
    assert!(pair.now.since(start) < Duration::from_secs(6), "{}", pair.now.since(start));
    let thief: SocketAddr = "203.0.113.66:666".parse().unwrap();
    let (mut from_thief, mut to_thief) = (0, 0);
    for (from, to, size) in &pair.log {
        from_thief += if *from == thief { *size } else { 0 };
        to_thief += if *to == thief { *size } else { 0 };
    }
    assert!(from_thief > 0 && to_thief <= 3 * from_thief, "{to_thief} for {from_thief}");
}

/// Holds RFC 9000, section 10.1.
#[test]
fn the_idle_timeout_closes_the_connection() {
    let mut pair = Pair::with(
        11,
        Channel::default(),
        with_short_timeouts(client_config()),
        with_short_timeouts(server_config()),
    );
    pair.connect("cubic");
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
    // Keep-alives maintain an idle connection.
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.now > start + Duration::from_secs(30));
    assert!(pair.ends.iter().all(|end| end.closed.is_none()));
    pair.channel.dark_until = Time::MAX;
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.closed == Some(CloseReason::Silent)));
    let span = pair.now.since(start);
    assert!(span >= Duration::from_secs(4) && span <= Duration::from_secs(7), "{span}");
    assert!(pair.ends.iter().all(|end| end.endpoint.connections() == 0));
}

/// Holds RFC 9000, section 10.3.
#[test]
fn a_restarted_peer_sends_a_reset() {
    let mut pair = Pair::new(12, Channel::default());
    pair.connect("cubic");
    pair.ends[0].write(&pattern(1, 5_000_000));
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 100_000);
    pair.restart_server(server_config());
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.ends[0].closed.is_some());
    assert_eq!(pair.ends[0].closed, Some(CloseReason::Reset));
    assert!(pair.now.since(start) < Duration::from_secs(2));
    // A third party cannot end a connection this way: only the holder of the key knows the token.
    let mut pair = Pair::new(13, Channel::default());
    pair.connect("cubic");
    pair.ends[0].write(&pattern(1, 1_000_000));
    pair.ends[1].finish = true;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() > 100_000);
    pair.restart_server(EndpointConfig { identity: identity(3), ..server_config() });
    let start = pair.now;
    pair.run(MINUTE * 2, |pair| pair.ends[0].closed.is_some());
    assert_eq!(pair.ends[0].closed, Some(CloseReason::Silent));
    assert!(pair.now.since(start) > Duration::from_secs(20));
}

/// Holds RFC 9000, section 10.2.
#[test]
fn a_close_is_repeated_over_a_lossy_channel() {
    for seed in 0..50 {
        let mut pair = Pair::new(seed, Channel { loss: 0.3, ..Channel::default() });
        pair.connect("cubic");
        pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
        let (now, handle) = (pair.now, pair.ends[1].handle.unwrap());
        pair.ends[1].endpoint.abandon(now, handle, 300, "enough");
        pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.closed.is_some()));
        let reason = CloseReason::Peer { code: 300, reason: "enough".into() };
        assert_eq!(pair.ends[0].closed, Some(reason), "seed {seed}");
        pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.endpoint.connections() == 0));
    }
}

#[test]
fn marks_reach_the_scheme_that_listens_to_them() {
    let mut pair = Pair::new(14, Channel { marks: 1.0, ..Channel::default() });
    pair.transfer("dec-bit", 14, [200_000, 0], MINUTE * 5);
    let (now, handle) = (pair.now, pair.ends[0].handle.unwrap());
    let marked = pair.ends[0].endpoint.session(handle).unwrap().stats(now).sending.sender.window.unwrap();
    let mut pair = Pair::new(14, Channel::default());
    pair.transfer("dec-bit", 14, [200_000, 0], MINUTE * 5);
    let (now, handle) = (pair.now, pair.ends[0].handle.unwrap());
    let unmarked = pair.ends[0].endpoint.session(handle).unwrap().stats(now).sending.sender.window.unwrap();
    assert!(marked < unmarked / 2.0, "{marked} with marks, {unmarked} without");
}

#[test]
fn an_application_that_does_not_read_bounds_what_is_sent() {
    let mut config = server_config();
    config.session.memory = 1 << 18;
    let mut pair = Pair::with(15, Channel::default(), client_config(), config);
    let data = pattern(15, 2_000_000);
    pair.connect("cubic");
    pair.ends[0].write(&data);
    pair.ends[1].finish = true;
    pair.ends[1].reads = false;
    pair.run(MINUTE, |pair| pair.ends[1].received.len() >= 1 << 18);
    let start = pair.now;
    pair.run(MINUTE, |pair| pair.now > start + Duration::from_secs(20));
    assert!(pair.ends[1].received.len() <= 1 << 18, "{}", pair.ends[1].received.len());
    pair.ends[1].reads = true;
    pair.run(MINUTE, |pair| pair.ends[0].finished);
    assert!(pair.ends[1].received == data);
}

#[test]
fn an_endpoint_closed_by_its_peer_may_end_after_its_answer() {
    let mut pair = Pair::new(14, Channel::default());
    pair.connect("cubic");
    pair.run(MINUTE, |pair| pair.ends[1].handle.is_some());
    assert!(!pair.ends[0].endpoint.is_silent());
    let (now, handle) = (pair.now, pair.ends[1].handle.unwrap());
    pair.ends[1].endpoint.abandon(now, handle, 300, "enough");
    assert!(!pair.ends[1].endpoint.is_silent(), "the peer has not been told");
    pair.run(MINUTE, |pair| pair.ends.iter().all(|end| end.endpoint.is_silent()));
    assert!(pair.now.since(now) < Duration::from_secs(1), "{}", pair.now.since(now));
    // The other end may keep the connection for a while, so late packets are not counted as unknown.
    pair.run(MINUTE, |pair| pair.ends[1].endpoint.connections() == 0);
    assert_eq!(pair.ends[0].endpoint.connections(), 1);
}

/// Both directions at once over a path with an outage, then with duplicates and reordering, which cause many requests
/// for retransmission. Retransmissions of one direction do not block the other, and old requests are ignored.
#[test]
fn repeats_of_one_direction_do_not_starve_the_other() {
    for seed in 0..20 {
        let mut pair = Pair::new(
            seed,
            Channel {
                delay: Duration::from_millis(30),
                jitter: Duration::from_millis(35),
                duplication: 0.2,
                loss: 0.04,
                dark_until: Time::ZERO + Duration::from_millis(500),
                ..Channel::default()
            },
        );
        pair.connect("adaptive-ack");
        pair.run(Duration::from_secs(20), |pair| pair.ends[1].handle.is_some());
        let data = [pattern(seed, 27_342), pattern(seed + 1, 121_278)];
        pair.ends[0].write(&data[0]);
        pair.ends[1].write(&data[1]);
        let dark = pair.now + Duration::from_millis(40);
        pair.run(Duration::from_secs(20), |pair| pair.now > dark);
        pair.channel.dark_until = pair.now + Duration::from_secs(10);
        pair.run(Duration::from_secs(60), |pair| pair.ends.iter().all(|end| end.finished));
        assert!(pair.ends[1].received == data[0] && pair.ends[0].received == data[1]);
    }
}
