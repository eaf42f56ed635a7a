//! Tests the rules of two-level flow control individually: detection of gaps, answers of each endpoint and their times,
//! limits of windows and buffers. Packets leave every millisecond, with a delay of ten each way.

use crate::sstp_pair::{Outcome, PACKET, Pair, receiver_config, sender_config, text};
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::Engine as _;
use thalweg_proto::Output;
use thalweg_proto::payload::Slice;
use thalweg_proto::sstp::{
    Acknowledgement, Data, Evicted, MAX_WINDOW, Pdu, Position, Receiver, ReceiverConfig, Resume, Tolerance,
};
use thalweg_proto::transport::{Input, Limit};
use thalweg_proto::units::{Duration, Time};

const LONG: Duration = Duration::from_secs(60);
const SEGMENT: usize = 4 * PACKET as usize;

/// Returns a pair whose sender has `segments` whole segments of four packets, and a window of `window`.
fn pair(segments: usize, window: u16) -> Pair {
    let mut pair = Pair::new(sender_config(4, window), receiver_config(4, window));
    pair.write(&text(segments * SEGMENT));
    pair.finish();
    pair
}

fn lossy(segments: usize, window: u16, lost: &[u64]) -> Pair {
    let mut pair = Pair::new(sender_config(4, window), receiver_config(4, window)).lose(lost);
    pair.write(&text(segments * SEGMENT));
    pair.finish();
    pair
}

#[test]
fn segments_are_accepted_one_by_one() {
    let mut pair = pair(3, 8);
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!(pair.delivered, text(3 * SEGMENT));
    // The last packets leave at 3, 7 and 11 ms and arrive 10 ms later.
    assert_eq!(pair.accepted(), [(13, 0), (17, 1), (21, 2)]);
    assert_eq!(pair.requests(), []);
    let stats = pair.sender.stats(pair.now);
    assert_eq!((stats.common.sent, stats.common.retransmissions, stats.buffered), (12, 0, 0));
    assert_eq!(stats.common.min_rtt, Some(Duration::from_millis(20)));
}

#[test]
fn a_gap_within_a_segment_is_requested_when_the_segment_ends() {
    let mut pair = lossy(3, 8, &[1]);
    pair.run(LONG);
    assert_eq!(pair.requests(), [(13, 0, vec![1])]);
    // The request arrives at 23; the answer leaves at once and arrives at 33.
    assert_eq!(pair.accepted(), [(17, 1), (21, 2), (33, 0)]);
    assert_eq!(pair.delivered, text(3 * SEGMENT));
}

#[test]
fn requests_yield_round_trip_samples_if_every_segment_has_losses() {
    // The second packet of each segment is lost, and requested after the arrival of the last one.
    let mut pair = lossy(12, 12, &(0..12).map(|segment| 4 * segment + 1).collect::<Vec<_>>());
    pair.run(LONG);
    assert_eq!(pair.requests().len(), 12);
    assert_eq!(pair.sender.stats(pair.now).common.smoothed_rtt, Some(Duration::from_millis(20)));
}

#[test]
fn the_largest_window_is_handled_when_a_repair_moves_it_far() {
    let window = MAX_WINDOW;
    let mut pair = Pair::new(sender_config(1, window), receiver_config(1, window)).lose(&[1]);
    pair.write(&text(100 * PACKET as usize));
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished && pair.delivered == text(100 * PACKET as usize));
    let stats = pair.sender.stats(pair.now);
    assert_eq!((stats.refused, stats.common.retransmissions), (0, 1));
}

#[test]
fn loss_of_the_last_packet_of_a_segment_is_detected_by_the_next_segment() {
    let mut pair = lossy(3, 8, &[3]);
    pair.run(LONG);
    assert_eq!(pair.requests(), [(14, 0, vec![3])]);
    assert_eq!(pair.delivered, text(3 * SEGMENT));
}

#[test]
fn loss_of_entire_segments_is_detected_by_the_next_segment() {
    let mut pair = lossy(4, 8, &[4, 5, 6, 7, 8, 9, 10, 11]);
    pair.run(LONG);
    assert_eq!(pair.requests(), [(22, 1, vec![0, 1, 2, 3]), (22, 2, vec![0, 1, 2, 3])]);
    assert_eq!(pair.delivered, text(4 * SEGMENT));
}

#[test]
fn the_end_of_the_stream_shows_what_its_tail_has_lost() {
    // The last packet leaves at 7 ms and is lost; the end of the stream follows it at 8 ms.
    let mut pair = lossy(2, 8, &[7]);
    pair.run(LONG);
    assert_eq!(pair.requests(), [(18, 1, vec![3])]);
    assert!(pair.finished);
    assert_eq!(pair.delivered, text(2 * SEGMENT));
    // Also if all of it is lost.
    let mut pair = lossy(1, 8, &[0, 1, 2, 3]);
    pair.run(LONG);
    assert_eq!(pair.requests(), [(14, 0, vec![0, 1, 2, 3])]);
    assert!(pair.finished);
}

#[test]
fn a_lost_retransmission_is_found_by_its_gap() {
    // Packet 1 is lost; the request arrives at 23 ms and is answered when segment 5 is complete, by packet number 24.
    // That is lost too, as the next packet shows, ten milliseconds after its transmission at 25.
    let mut pair = lossy(20, 30, &[1, 24]);
    pair.run(LONG);
    assert_eq!(pair.packets()[24], (24, 0, 1, true));
    assert_eq!(pair.requests(), [(13, 0, vec![1]), (35, 0, vec![1])]);
    assert_eq!(pair.delivered, text(20 * SEGMENT));
}

#[test]
fn answers_that_are_lost_are_found_one_by_one() {
    // Packets 1 and 9 of segments 0 and 2, and both answers, numbers 24 and 33.
    let mut pair = lossy(20, 30, &[1, 9, 24, 33]);
    pair.run(LONG);
    assert_eq!((pair.packets()[24].3, pair.packets()[33].3), (true, true));
    let requests = pair.requests();
    assert_eq!(requests, [(13, 0, vec![1]), (21, 2, vec![1]), (35, 0, vec![1]), (44, 2, vec![1])]);
    assert_eq!(pair.delivered, text(20 * SEGMENT));
}

#[test]
fn one_gap_can_hold_answers_and_new_segments() {
    // The answer for segment 0 (24), all of segment 6 (25 to 28) and the first packet of segment 7 (29).
    let mut pair = lossy(20, 30, &[1, 24, 25, 26, 27, 28, 29]);
    pair.run(LONG);
    let requests = pair.requests();
    assert_eq!(requests[1..], [(40, 0, vec![1]), (40, 6, vec![0, 1, 2, 3]), (42, 7, vec![0])]);
    assert_eq!(pair.delivered, text(20 * SEGMENT));
}

#[test]
fn the_current_segment_precedes_requests_and_new_segments() {
    // Packet 1 is requested at 13 ms; the request arrives at 23. Segment 5 began at 20 ms; its last packet leaves at
    // 23.
    let mut pair = lossy(20, 30, &[1]);
    pair.run(Duration::from_millis(40));
    let packets: Vec<_> =
        pair.packets().iter().map(|&(_, segment, packet, again)| (segment, packet, again)).collect();
    let at = packets.iter().position(|packet| packet.2).unwrap();
    assert_eq!(packets[at], (0, 1, true));
    assert_eq!(packets[at - 1].1, 3, "a segment was cut in two: {packets:?}");
    assert_eq!(packets[at + 1].1, 0);
}

#[test]
fn the_window_stops_the_sender_and_a_report_moves_it() {
    let mut pair = pair(6, 2);
    pair.run(Duration::from_millis(22));
    assert_eq!(pair.packets().len(), 8);
    // Segment 0 was accepted at 13 ms: from 23 ms on segment 2 may leave.
    pair.run(LONG);
    assert_eq!(pair.packets()[8], (23, 2, 0, false));
    let stats = pair.sender.stats(pair.now);
    assert!(stats.common.limits[Limit::ReceiverWindow.index()] >= Duration::from_millis(15));
    assert_eq!((stats.buffered_peak, pair.finished), (2, true));
}

#[test]
fn an_idle_sender_reports_its_position_once_a_period() {
    let mut pair = pair(6, 2);
    pair.run(Duration::from_millis(22));
    let idle: Vec<u64> = pair
        .log
        .iter()
        .filter(|(_, pdu)| matches!(pdu, Pdu::KeepAlive(_)))
        .map(|(at, _)| at.as_picos() / 1_000_000_000)
        .collect();
    assert_eq!(idle, [8, 12, 16, 20]);
}

#[test]
fn bursts_leave_gaps_between_them() {
    // Twice the average rate for half the time: 4 packets in 4 ms, every 8 ms.
    let mut config = sender_config(4, 8);
    let rate = thalweg_proto::units::Rate::from_bits_per_sec(80_000);
    let size = thalweg_proto::units::Bytes::new(10);
    config.rate = thalweg_proto::sstp::RateSpec::with_average(rate, rate.mul_f64(0.5), 4, size).unwrap();
    config.resume = Resume::NextBurst;
    let mut pair = Pair::new(config, receiver_config(4, 8));
    pair.write(&text(2 * SEGMENT));
    pair.finish();
    pair.run(LONG);
    let times: Vec<u64> = pair.packets().iter().map(|packet| packet.0).collect();
    assert_eq!(times, [0, 1, 2, 3, 8, 9, 10, 11]);
    assert!(pair.finished);
}

#[test]
fn tolerated_losses_are_accepted_and_reported() {
    let receiver = ReceiverConfig { tolerance: Tolerance::Fraction(0.25), ..receiver_config(4, 8) };
    // One packet of segment 0; two of segment 1, above the limit.
    let mut pair = Pair::new(sender_config(4, 8), receiver).lose(&[1, 4, 6]);
    pair.write(&text(3 * SEGMENT));
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!(pair.requests(), [(17, 1, vec![0, 2])]);
    assert_eq!(pair.holes, [(10, 1)]);
    let text_sent = text(3 * SEGMENT);
    assert_eq!(pair.delivered, [&text_sent[..10], &text_sent[20..]].concat());
    assert_eq!(pair.receiver.stats().incomplete, 1);
    assert_eq!(Tolerance::Fraction(0.25).of(4), 1);
    assert_eq!(Tolerance::Fraction(f64::NAN).of(4), 0);
    assert_eq!(Tolerance::Packets(9).of(4), 4);
}

/// Packets of a full segment indicate that it is full: the receiver knows its missing packets even if the last ones are
/// lost. For a short segment only the last packet, or a keep-alive packet, indicates its length.
#[test]
fn lost_ends_of_segments_are_tolerated_where_their_length_is_known() {
    let receiver = || ReceiverConfig { tolerance: Tolerance::Packets(2), ..receiver_config(4, 8) };
    let text_sent = text(3 * SEGMENT);
    let mut pair = Pair::new(sender_config(4, 8), receiver()).lose(&[2, 3, 7]);
    pair.write(&text_sent);
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!((pair.requests(), &pair.holes), (vec![], &vec![(20, 2), (50, 1)]));
    let stats = pair.receiver.stats();
    assert_eq!((stats.incomplete, stats.holes), (2, 3));
    // The answer to a request indicates it too: three packets are above the limit, and one of the answer is lost.
    let mut pair = Pair::new(sender_config(4, 8), receiver()).lose(&[1, 2, 3, 14]);
    pair.write(&text(8 * SEGMENT));
    pair.finish();
    pair.run(LONG);
    assert_eq!((pair.requests().len(), pair.holes.iter().map(|hole| hole.1).sum::<u32>()), (1, 1));
    // A short segment at the end: the end-of-stream packet indicates its length. Nothing of the segment before it
    // arrived, whose length is unknown.
    let mut pair = Pair::new(sender_config(4, 8), receiver()).lose(&[0, 1, 2, 3, 5]);
    pair.write(&text(60));
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!((pair.requests()[0].1, &pair.holes), (0, &vec![(50, 1)]));
}

#[test]
fn a_stop_among_retransmissions_leaves_nothing_to_wait_for() {
    for millis in 10..60 {
        let mut pair = Pair::new(sender_config(4, 8), receiver_config(4, 8)).lose(&[1, 6, 9, 30]);
        pair.write(&text(1000));
        pair.run(Duration::from_millis(millis));
        pair.sender.handle(pair.now, Input::Stop);
        pair.run(LONG);
        assert!(pair.finished, "stopped after {millis} ms: {:?}", pair.log.last());
        assert_eq!(pair.delivered, text(1000)[..pair.delivered.len()]);
    }
}

#[test]
fn short_segments_end_at_the_reported_length() {
    let mut pair = Pair::new(sender_config(4, 8), receiver_config(4, 8)).lose(&[5]);
    pair.write(&text(60));
    pair.run(Duration::from_millis(30));
    // Six packets: a segment of four and one of two, whose last packet is lost; the keep-alive packet indicates its
    // end.
    assert_eq!(pair.requests(), [(16, 1, vec![1])]);
    pair.write(&text(5));
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!(pair.delivered, [text(60), text(5)].concat());
    assert_eq!(pair.receiver.stats().segments, 3);
}

#[test]
fn a_stop_within_a_segment_ends_the_stream_there() {
    let mut pair = Pair::new(sender_config(4, 8), receiver_config(4, 8));
    pair.write(&text(1000));
    pair.run(Duration::from_millis(5));
    pair.sender.handle(pair.now, Input::Stop);
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!(pair.delivered, text(pair.packets().len() * 10));
    assert!(pair.delivered.len() < 100, "{}", pair.delivered.len());
}

#[test]
fn a_gate_holds_data_back_and_nothing_else() {
    let mut pair = pair(4, 8);
    pair.run(Duration::from_millis(2));
    pair.sender.handle(pair.now, Input::Pause);
    pair.run(Duration::from_millis(30));
    let sent = pair.packets().len();
    assert!(sent < 4, "{sent}");
    pair.sender.handle(pair.now, Input::Resume);
    pair.run(LONG);
    pair.finish();
    pair.run(LONG);
    assert_eq!((pair.delivered.len(), pair.finished), (4 * SEGMENT, true));
}

/// 4.3.1: data beyond the buffer is discarded and requested; acknowledged data is kept.
#[test]
fn hard_acknowledgement_keeps_buffered_segments() {
    let receiver = ReceiverConfig { buffer: 2, ..receiver_config(4, 8) };
    let mut pair = Pair::new(sender_config(4, 8), receiver).lose(&[1]);
    pair.write(&text(6 * SEGMENT));
    pair.finish();
    pair.run(Duration::from_millis(34));
    // The buffer holds segments 0 and 1. Segments 2, 3 and 4 are discarded; the answer for 0 arrives at 34 ms, behind
    // segment 5, which began at 20 and ends at 23.
    let (accepted, requests) = (pair.accepted(), pair.requests());
    assert_eq!(accepted[0], (17, 1));
    let requested: Vec<u16> = requests.iter().map(|request| request.1).collect();
    assert_eq!(requested, [0, 2, 3, 4, 5], "{requests:?}");
    pair.run(LONG);
    assert_eq!((pair.delivered.len(), pair.finished), (6 * SEGMENT, true));
    assert_eq!(pair.receiver.stats().buffered_peak, 2);
}

/// 4.3.1: a lower segment evicts the highest one.
#[test]
fn soft_acknowledgement_evicts_for_lower_segments() {
    let receiver = ReceiverConfig {
        buffer: 2,
        acknowledgement: Acknowledgement::Soft(Evicted::All),
        ..receiver_config(4, 8)
    };
    // All of segment 0 is lost, so segments 1 and 2 take both slots, and 0 evicts 2 when it arrives.
    let sender = thalweg_proto::sstp::SenderConfig { soft: true, ..sender_config(4, 8) };
    let mut pair = Pair::new(sender, receiver).lose(&[0, 1, 2, 3]);
    pair.write(&text(3 * SEGMENT));
    pair.finish();
    pair.run(LONG);
    let accepted: Vec<u16> = pair.accepted().iter().map(|&(_, segment)| segment).collect();
    assert_eq!(accepted.iter().filter(|&&segment| segment == 2).count(), 2, "{accepted:?}");
    assert_eq!(pair.receiver.stats().evictions, 1);
    let requests: Vec<u16> = pair.requests().iter().map(|request| request.1).collect();
    assert_eq!(requests, [0, 2], "segment 2 is asked for when it is the lowest missing one");
    assert_eq!((pair.delivered.len(), pair.finished), (3 * SEGMENT, true));
}

/// 3.2: a short slow-down withholds the window; no transmission is wasted.
#[test]
fn a_slow_application_slows_the_sender_down_without_retransmission() {
    let receiver = ReceiverConfig { wait_for_consumption: true, ..receiver_config(4, 3) };
    let mut pair = Pair::new(sender_config(4, 3), receiver);
    pair.reading = Some(2); // a fifth of the rate
    pair.write(&text(20 * SEGMENT));
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished);
    assert_eq!(pair.delivered, text(20 * SEGMENT));
    let (sender, receiver) = (pair.sender.stats(pair.now), pair.receiver.stats());
    assert_eq!((sender.common.retransmissions, receiver.refused), (0, 0));
    assert!(receiver.buffered_peak <= 3 && sender.buffered_peak <= 3, "{receiver:?}");
    // 800 bytes at 2 per millisecond.
    assert!(pair.now >= Time::ZERO + Duration::from_millis(390), "{}", pair.now);
}

/// 3.2: after a long slow-down from F to F1 the window is W1 = (F1/F)·W0, and again W0 afterwards.
#[test]
fn a_long_slow_down_shrinks_the_window_in_proportion() {
    let receiver = ReceiverConfig { wait_for_consumption: true, ..receiver_config(4, 8) };
    let mut pair = Pair::new(sender_config(4, 8), receiver);
    pair.receiver.set_reading_share(0.5);
    pair.write(&text(40 * SEGMENT));
    // The advertised limit stays: R_h = 7. Then it advances with 4 segments of buffer only.
    assert_eq!(pair.receiver.limit(), 7);
    pair.reading = Some(5);
    while pair.receiver.limit() < 20 {
        assert!(pair.step());
        let read = pair.delivered.len() / SEGMENT;
        assert!(
            pair.receiver.limit() <= (read as u64 + 3).max(7),
            "limit {} at {read}",
            pair.receiver.limit()
        );
    }
    pair.receiver.set_reading_share(1.0);
    assert!(pair.receiver.limit() >= 24);
    pair.receiver.set_reading_share(f64::NAN);
    pair.receiver.set_reading_share(-1.0);
    pair.reading = Some(100);
    pair.finish();
    pair.run(LONG);
    assert!(pair.finished);
}

/// With hard acknowledgement a slow application causes repeated retransmissions of refused segments; firm
/// acknowledgement requests them once there is buffer space.
#[test]
fn firm_acknowledgement_requests_once_there_is_buffer_space() {
    let resent = |acknowledgement| {
        let receiver = ReceiverConfig {
            buffer: 2,
            acknowledgement,
            wait_for_consumption: true,
            ..receiver_config(4, 8)
        };
        let mut pair = Pair::new(sender_config(4, 8), receiver);
        pair.reading = Some(1);
        pair.write(&text(12 * SEGMENT));
        pair.finish();
        pair.run(LONG);
        assert_eq!((pair.finished, &pair.delivered), (true, &text(12 * SEGMENT)), "{acknowledgement:?}");
        pair.sender.stats(pair.now).common.retransmissions
    };
    let (hard, firm) = (resent(Acknowledgement::Hard), resent(Acknowledgement::Firm));
    // Each of the 12 segments is retransmitted at most once.
    assert!(firm <= 48 && hard > 2 * firm, "{hard} and {firm}");
}

#[test]
fn reordering_within_the_tolerance_is_no_loss() {
    let run = |reordering| {
        let receiver = ReceiverConfig { reordering, ..receiver_config(4, 8) };
        let late = Box::new(|is_data: bool, number: u64, _: Time| {
            if is_data && number == 1 { Outcome::Late(Duration::from_micros(2500)) } else { Outcome::Arrive }
        });
        let mut pair =
            Pair::new(sender_config(4, 8), receiver).outcomes(late, Box::new(|_, _, _| Outcome::Arrive));
        pair.write(&text(3 * SEGMENT));
        pair.finish();
        pair.run(LONG);
        assert_eq!((pair.finished, &pair.delivered), (true, &text(3 * SEGMENT)));
        pair.sender.stats(pair.now).common.retransmissions
    };
    // Packet 1 comes after packet 3, the segment's last.
    assert_eq!((run(0), run(1), run(2), run(3)), (1, 1, 0, 0));
}

#[test]
fn old_and_duplicate_packets_have_no_effect() {
    let twice = || Box::new(|_: bool, _: u64, _: Time| Outcome::Twice);
    let mut pair = Pair::new(sender_config(4, 8), receiver_config(4, 8)).outcomes(twice(), twice());
    pair.write(&text(5 * SEGMENT));
    pair.finish();
    pair.run(LONG);
    assert_eq!((pair.finished, &pair.delivered), (true, &text(5 * SEGMENT)));
    let sender = pair.sender.stats(pair.now);
    assert_eq!((sender.common.retransmissions, pair.receiver.stats().duplicates), (0, 20));
    // Each report arrived twice; the control number identifies the second as a duplicate.
    assert_eq!(sender.refused, sender.reports);
}

fn data(shipment: u32, segment: u16, packet: u16, length: usize) -> Pdu<Slice> {
    Pdu::Data(Data {
        shipment,
        segment,
        packet,
        last: false,
        is_full: false,
        resent: false,
        payload: Slice::new(vec![0; length]),
    })
}

/// An obsolete request hides no report due with it: the engine announces no timeout in the past.
#[test]
fn an_answered_request_hides_no_report() {
    let config = receiver_config(2, 8);
    let repeat = config.repeat;
    let mut receiver = Receiver::<Slice>::new(Arc::new(config));
    // Segment 1 reveals that packet 1 of segment 0 is missing; it is requested, and arrives late. Segment 1 stays
    // incomplete.
    for (shipment, segment, packet) in [(0, 0, 0), (2, 1, 0), (1, 0, 1)] {
        let pdu = data(shipment, segment, packet, 10);
        receiver.handle(Time::ZERO, Input::Pdu { pdu, ecn: Ecn::NotEct });
    }
    let (mut now, mut reports) = (Time::ZERO, Vec::new());
    while reports.len() < 6 {
        match receiver.poll(now) {
            Output::Transmit(_) => reports.push(now.since(Time::ZERO)),
            Output::Timeout { at, .. } => {
                assert!(at > now, "due already: {at:?}");
                now = at;
            }
            Output::Event(_) => {}
            Output::Idle => panic!("segment 1 is incomplete"),
        }
    }
    // The acceptance at once, and the state in every period; the request would be repeated after two periods.
    assert_eq!(reports, [0, 1, 2, 3, 4, 5].map(|periods| repeat * periods));
}

#[test]
fn impossible_packets_are_counted_and_dropped() {
    let mut receiver = Receiver::<Slice>::new(Arc::new(receiver_config(4, 8)));
    let bad = [
        data(0, 8, 0, 10),        // beyond the window
        data(1, u16::MAX, 0, 10), // before the stream
        data(2, 0, 4, 10),        // no such packet
        data(3, 0, 0, 11),        // too long
        data(4, 0, 0, 0),         // empty
        Pdu::KeepAlive(Position { shipment: 5, segment: 9, packet: 0 }),
        Pdu::EndOfStream(Position { shipment: 5, segment: 0, packet: 4 }),
    ];
    for (count, pdu) in (1..).zip(bad) {
        receiver.handle(Time::ZERO, Input::Pdu { pdu, ecn: Ecn::NotEct });
        assert!(!matches!(receiver.poll(Time::ZERO), Output::Transmit(_) | Output::Event(_)), "{count}");
        assert_eq!(receiver.stats().malformed, count);
    }
    assert_eq!((receiver.expected(), receiver.limit(), receiver.stats().stored), (0, 7, 0));
}
