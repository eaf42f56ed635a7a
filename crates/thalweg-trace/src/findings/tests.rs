//! Each kind of finding on a small trace that has it, and on one that does not.

use super::*;
use crate::trace_model::{Ack, Limit, Packet, Sack, Timeout, View};

fn at_millis(millis: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(millis / 1e3)
}

/// A transfer with a round trip of 40 ms: `count` packets of 1000 B, one every 2 ms, each acknowledged.
fn steady_transfer(count: u64) -> Connection {
    let mut connection = Connection::default();
    let direction = &mut connection.directions[0];
    direction.view = View::Sender;
    direction.segment = Some(1000);
    for number in 0..count {
        let time = number as f64 * 2.0;
        direction.packets.push(Packet {
            time: at_millis(time),
            position: number * 1000,
            size: 1040,
            length: 1000,
            acked_at: at_millis(time + 40.0),
            lost_at: Time::MAX,
            flags: 0,
        });
        direction.acks.push(Ack {
            time: at_millis(time + 40.0),
            position: number * 1000 + 1000,
            edge: u64::MAX,
        });
        direction.round_trips.push((at_millis(time + 40.0), Duration::from_millis(40)));
    }
    direction.counts.payload = count * 1000;
    connection.end = at_millis(count as f64 * 2.0 + 40.0);
    connection
}

fn find_kind(connection: &Connection, kind: FindingKind) -> Option<Finding> {
    find_all(connection, 0).into_iter().find(|finding| finding.kind == kind)
}

/// Checks that a trace has this finding alone, and returns it.
#[track_caller]
fn only_finding(connection: &Connection, kind: FindingKind) -> Finding {
    let all = find_all(connection, 0);
    assert_eq!(all.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [kind], "{all:?}");
    all.into_iter().next().unwrap()
}

/// Marks a packet as lost, 50 ms after it was sent.
fn mark_lost(connection: &mut Connection, number: usize) {
    let packet = &mut connection.directions[0].packets[number];
    packet.lost_at = packet.time + Duration::from_millis(50);
    packet.acked_at = Time::MAX;
}

#[test]
fn a_steady_transfer_has_no_findings() {
    assert_eq!(find_all(&steady_transfer(500), 0), []);
    assert_eq!(find_all(&Connection::default(), 0), []);
}

#[test]
fn names_and_rules_are_distinct() {
    for (number, kind) in FindingKind::ALL.into_iter().enumerate() {
        assert!(kind.reference().contains("RFC "), "{kind:?}");
        assert!(
            FindingKind::ALL[..number]
                .iter()
                .all(|other| other.name() != kind.name() && other.title() != kind.title())
        );
    }
}

#[test]
fn timeouts_count_with_packets_in_flight() {
    let mut connection = steady_transfer(100);
    connection.directions[0].timeouts =
        vec![Timeout { time: at_millis(150.0), silence: Duration::from_millis(230) }];
    let finding = only_finding(&connection, FindingKind::Timeout);
    assert_eq!((finding.occurrences, finding.start), (1, at_millis(150.0)));
    assert!(finding.evidence.contains("230 ms"), "{}", finding.evidence);
    // 20 packets of a round trip of 40 ms, one every 2 ms.
    assert!(finding.evidence.contains("with up to 20 packets in flight"), "{}", finding.evidence);
    // At most 64 are counted: exactly 64, and 65.
    for count in [64, 65] {
        let mut large = steady_transfer(count);
        large.directions[0].packets.iter_mut().for_each(|packet| packet.acked_at = Time::MAX);
        large.directions[0].timeouts =
            vec![Timeout { time: at_millis(400.0), silence: Duration::from_millis(230) }];
        let finding = find_kind(&large, FindingKind::Timeout).unwrap();
        assert!(finding.evidence.contains("with 64 or more packets in flight"), "{}", finding.evidence);
    }
    // With one packet in flight there is no other way.
    let mut lonely = steady_transfer(2);
    lonely.directions[0].timeouts =
        vec![Timeout { time: at_millis(3.0), silence: Duration::from_millis(230) }];
    assert_eq!(find_kind(&lonely, FindingKind::Timeout), None);
}

#[test]
fn spurious_retransmissions_are_counted_among_all() {
    let mut connection = steady_transfer(100);
    let direction = &mut connection.directions[0];
    (direction.counts.retransmitted, direction.counts.spurious) = (4, 1);
    direction.packets[50].flags = Packet::RETRANSMISSION | Packet::SPURIOUS;
    let finding = only_finding(&connection, FindingKind::SpuriousRetransmissions);
    assert_eq!(finding.start, at_millis(100.0));
    assert!(finding.evidence.starts_with("1 of 4 retransmissions (25.00 %)"), "{}", finding.evidence);
    connection.directions[0].counts.spurious = 0;
    assert_eq!(find_kind(&connection, FindingKind::SpuriousRetransmissions), None);
}

#[test]
fn losses_are_persistent_in_most_parts_and_without_a_queue() {
    let mut connection = steady_transfer(1000);
    (0..10).for_each(|number| mark_lost(&mut connection, number * 100 + 7));
    let finding = only_finding(&connection, FindingKind::PersistentLoss);
    assert!(finding.evidence.starts_with("10 of 1000 packets lost (1.00 %)"), "{}", finding.evidence);
    // All in one place.
    let mut once = steady_transfer(1000);
    (0..10).for_each(|number| mark_lost(&mut once, 500 + number));
    assert_eq!(find_kind(&once, FindingKind::PersistentLoss), None);
    // With a queue at the time of each: it overflowed.
    for (time, trip) in &mut connection.directions[0].round_trips {
        let number = time.as_secs_f64() * 500.0;
        *trip = if number % 100.0 < 40.0 { Duration::from_millis(80) } else { Duration::from_millis(40) };
    }
    assert_eq!(find_kind(&connection, FindingKind::PersistentLoss), None);
}

/// A token bucket of 250 kB/s and 50 kB before packets that come at 500 kB/s.
#[test]
fn a_token_bucket_explains_losses() {
    let mut connection = steady_transfer(1000);
    let (mut tokens, mut lost) = (50_000.0, 0);
    for number in 0..1000 {
        // The sender slows down after losses, and its pauses fill the bucket.
        if number % 100 >= 70 {
            tokens += 2.0 * 250.0;
            connection.directions[0].packets[number].size = 10;
            connection.directions[0].packets[number].length = 10;
            continue;
        }
        tokens = f64::min(tokens + 2.0 * 250.0, 50_000.0);
        if tokens < 1040.0 {
            mark_lost(&mut connection, number);
            lost += 1;
        } else {
            tokens -= 1040.0;
        }
    }
    assert!(lost > 100);
    let finding = find_kind(&connection, FindingKind::Policer).unwrap();
    assert_eq!(finding.occurrences, lost);
    let rate: f64 =
        finding.evidence.split(" Mbit/s").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((rate / 2.0 - 1.0).abs() < 0.1, "{}", finding.evidence);
    // Every tenth packet, whatever was sent before.
    let mut random = steady_transfer(1000);
    (0..100).for_each(|number| mark_lost(&mut random, number * 10));
    assert_eq!(find_kind(&random, FindingKind::Policer), None);
}

#[test]
fn packets_that_overtake_others_are_reordered() {
    let mut connection = steady_transfer(100);
    connection.directions[0].counts.late = 3;
    (10..13).for_each(|number| connection.directions[0].packets[number].flags = Packet::ARRIVED_LATE);
    assert_eq!(only_finding(&connection, FindingKind::Reordering).start, at_millis(20.0));
    // Taken for lost, and acknowledged 3 ms later.
    let mut early = steady_transfer(100);
    for number in [20, 30, 40] {
        let packet = &mut early.directions[0].packets[number];
        packet.lost_at = packet.time + Duration::from_millis(38);
        packet.acked_at = packet.time + Duration::from_millis(41);
        packet.flags = Packet::SPURIOUS;
    }
    early.directions[0].counts.spurious = 3;
    assert!(find_kind(&early, FindingKind::Reordering).unwrap().evidence.contains("3.00 ms later"));
    early.directions[0].packets[20].acked_at = Time::MAX;
    assert_eq!(find_kind(&early, FindingKind::Reordering), None);
}

#[test]
fn a_standing_queue_is_bufferbloat() {
    let mut connection = steady_transfer(500);
    for (_, trip) in connection.directions[0].round_trips.iter_mut().skip(100) {
        *trip = Duration::from_millis(240);
    }
    let finding = only_finding(&connection, FindingKind::Bufferbloat);
    assert!(finding.evidence.contains("40 ms at least, 240 ms in the median"), "{}", finding.evidence);
    assert!(finding.evidence.contains("200 ms of queueing"), "{}", finding.evidence);
    // Half of the round trip is a queue that keeps the link busy.
    for (_, trip) in connection.directions[0].round_trips.iter_mut().skip(100) {
        *trip = Duration::from_millis(60);
    }
    assert_eq!(find_kind(&connection, FindingKind::Bufferbloat), None);
}

#[test]
fn a_full_receive_window_is_a_limit() {
    let mut connection = steady_transfer(500);
    connection.directions[0].limits = vec![(at_millis(100.0), at_millis(400.0), Limit::Receiver)];
    let finding = only_finding(&connection, FindingKind::ReceiverLimited);
    assert!(finding.evidence.contains("full for 300 ms (30.06 %)"), "{}", finding.evidence);
    connection.directions[0].limits = vec![(at_millis(100.0), at_millis(150.0), Limit::Receiver)];
    assert_eq!(find_kind(&connection, FindingKind::ReceiverLimited), None);
    connection.directions[0].limits = vec![(at_millis(100.0), at_millis(400.0), Limit::Application)];
    assert_eq!(find_kind(&connection, FindingKind::ReceiverLimited), None);
}

#[test]
fn acknowledgements_of_more_than_two_segments_are_stretched() {
    let every = |count: u64| {
        let mut connection = steady_transfer(500);
        connection.directions[0].acks.retain(|ack| (ack.position / 1000).is_multiple_of(count));
        connection
    };
    let finding = only_finding(&every(5), FindingKind::StretchAcks);
    assert!(finding.evidence.contains("5.0 in the median"), "{}", finding.evidence);
    assert_eq!(find_kind(&every(2), FindingKind::StretchAcks), None);
    // After selective acknowledgements the repair acknowledges much.
    let mut repaired = every(5);
    repaired.directions[0].sacks = (0..500)
        .map(|number| Sack {
            time: at_millis(f64::from(number) * 2.0),
            start: 0,
            end: 1,
            is_duplicate: false,
        })
        .collect();
    assert_eq!(find_kind(&repaired, FindingKind::StretchAcks), None);
}

#[test]
fn silence_between_acknowledgements_is_a_gap() {
    let mut connection = steady_transfer(500);
    let acks = &mut connection.directions[0].acks;
    acks.retain(|ack| !(400_000..420_000).contains(&ack.position));
    let finding = only_finding(&connection, FindingKind::AckGaps);
    assert_eq!(finding.occurrences, 1);
    assert!(
        finding.evidence.starts_with("1 gap of up to 42 ms; the median is 2.00 ms"),
        "{}",
        finding.evidence
    );
    // The receiver reported what arrived behind a hole.
    let mut reported = connection.clone();
    let sack = |number| Sack {
        time: connection.directions[0].acks[398].time + Duration::from_millis(number * 2),
        start: 401_000,
        end: 401_000 + number * 1000,
        is_duplicate: false,
    };
    reported.directions[0].sacks = (1..10_u64).map(sack).collect();
    assert_eq!(find_kind(&reported, FindingKind::AckGaps), None);
    // The sender sent nothing: a pause of its own.
    connection.directions[0].packets.retain(|packet| !(398_000..421_000).contains(&packet.position));
    assert_eq!(find_kind(&connection, FindingKind::AckGaps), None);
}

#[test]
fn many_packets_at_once_are_bursts() {
    let mut connection = steady_transfer(500);
    for number in 0..500 {
        connection.directions[0].packets[number].time =
            at_millis((number / 20) as f64 * 40.0 + (number % 20) as f64 * 0.01);
    }
    let finding = only_finding(&connection, FindingKind::Bursts);
    assert_eq!(finding.occurrences, 25);
    assert!(finding.evidence.contains("up to 20 packets (20 kB)"), "{}", finding.evidence);
    // The initial window is allowed, once.
    let mut initial = steady_transfer(500);
    (0..10).for_each(|number| initial.directions[0].packets[number].time = at_millis(0.0));
    assert_eq!(find_kind(&initial, FindingKind::Bursts), None);
}

#[test]
fn a_full_window_after_a_pause_is_a_restart() {
    let mut connection = steady_transfer(500);
    for number in 250..500 {
        let packet = &mut connection.directions[0].packets[number];
        let restart = if number < 270 { (number - 250) as f64 * 0.2 } else { (number - 250) as f64 * 2.0 };
        packet.time = at_millis(1500.0 + restart);
        packet.acked_at = packet.time + Duration::from_millis(40);
    }
    let finding = find_kind(&connection, FindingKind::IdleRestart).unwrap();
    assert_eq!((finding.occurrences, finding.start), (1, at_millis(1500.0)));
    assert!(finding.evidence.contains("pauses of up to 1002 ms"), "{}", finding.evidence);
    // Slow start after the pause.
    for number in 250..500 {
        let packet = &mut connection.directions[0].packets[number];
        packet.time = at_millis(1500.0 + (number - 250) as f64 * 2.0);
    }
    assert_eq!(find_kind(&connection, FindingKind::IdleRestart), None);
}
