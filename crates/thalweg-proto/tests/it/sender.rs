//! The sender's rules as packet traces: segments of 1000 bytes are numbered from 0, `r` marks a retransmission, `!` a
//! congestion signal. Expected values are computed by hand from the documents named at each test.

mod drop_signals;

use crate::packet_trace::Trace;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{
    FixedWindowConfig, Growth, NewRenoConfig, RouterSelection, SeifConfig, SlowStartConfig,
};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::{Feedback, Input};
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::{Ack, ControllerConfig, PauseConfig, Pdu, Recovery, RttConfig, SenderConfig};

fn config(recovery: Recovery) -> SenderConfig {
    let rtt = RttConfig { floor: Duration::ZERO, margin: Duration::ZERO, ..RttConfig::default() };
    SenderConfig { segment: 1000, recovery, rtt, ..SenderConfig::default() }
}

/// NewReno in congestion avoidance from the start.
fn new_reno(initial_window: f64) -> ControllerConfig {
    ControllerConfig::NewReno(NewRenoConfig {
        initial_window,
        initial_ssthresh: 2.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// Slow Start in congestion avoidance from the start.
fn tahoe(initial_window: f64, growth: Growth) -> ControllerConfig {
    ControllerConfig::SlowStart(SlowStartConfig { initial_window, initial_ssthresh: 2.0, growth })
}

/// SEIF in its stable state.
fn seif(initial_window: f64) -> ControllerConfig {
    ControllerConfig::Seif(SeifConfig {
        initial_window,
        initial_ssthresh: 2.0,
        max_window: 30.0,
        cut_back: 0.5,
        growth_windows: 1,
        follow: RouterSelection::All,
        signals: thalweg_proto::congestion::Signals::Both,
    })
}

fn fixed(window: f64) -> ControllerConfig {
    ControllerConfig::FixedWindow(FixedWindowConfig { window })
}

/// RFC 5681, section 3.2, with RFC 3042: two new segments on the first two duplicates, on the third the lost one. Half
/// of the flight before them is the new window, and each further duplicate counts for a segment that left the network.
#[test]
fn the_third_duplicate_starts_fast_recovery() {
    let mut t = Trace::new(config(Recovery::NewReno), &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    // Segment 0 is lost. Segments 1 and 2 arrive.
    assert_eq!(t.ack(0), "10");
    assert_eq!(t.ack(0), "11");
    assert_eq!(t.ack(0), "!loss r0");
    // FlightSize was 10 before limited transmit: ssthresh 5. Twelve are outstanding; 5 + 8 duplicates release a 13th.
    assert_eq!(t.ssthresh(), Some(5.0));
    for _ in 4..8 {
        assert_eq!(t.ack(0), "");
    }
    assert_eq!(t.ack(0), "12");
    assert_eq!(t.ack(0), "13");
    // Duplicates for segments 10 and 11.
    assert_eq!(t.ack(0), "14");
    assert_eq!(t.ack(0), "15");
    // Segment 0 arrives: all data sent before the loss detection has arrived, and four segments are in flight.
    t.at(200);
    assert_eq!(t.ack(12), "16");
    assert_eq!(t.stats().recoveries, 1);
    // Congestion avoidance (equation 3): five acknowledgements make it 5 + 1, a little less.
    assert_eq!(t.window(), 5.0);
}

/// RFC 5681, section 3.2, steps 1 and 2: segments sent on the first two duplicates are not part of FlightSize, even if
/// the window allowed them.
#[test]
fn limited_transmit_does_not_count_for_the_halved_window() {
    let mut t = Trace::new(config(Recovery::NewReno), &new_reno(10.0));
    assert_eq!(t.write(6), "0 1 2 3 4 5");
    t.at(100);
    assert_eq!([t.ack(0), t.write(1)], ["", "6"]);
    assert_eq!([t.ack(0), t.write(1)], ["", "7"]);
    assert_eq!(t.ack(0), "!loss r0");
    // Eight are outstanding: six and the two.
    assert_eq!(t.ssthresh(), Some(3.0));
}

/// RFC 9000, section 9.4: on a new path the window and the round-trip time restart, and segments of the old path affect
/// neither.
#[test]
fn a_new_path_resets_the_window() {
    let mut t = Trace::new(config(Recovery::Sack), &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    assert_eq!(t.ack(2), "10 11");
    assert_eq!(t.stats().common.smoothed_rtt, Some(Duration::from_millis(100)));
    assert_eq!((t.on_path_change(&new_reno(4.0)), t.window()), (String::new(), 4.0));
    assert_eq!(t.stats().common.smoothed_rtt, None);
    t.at(200);
    // Of the old path 2 is lost: it is retransmitted, and the window is unchanged.
    assert_eq!(t.sack(2, &[(3, 10)]), "!loss r2 12");
    assert_eq!((t.window(), t.ssthresh()), (4.0, Some(2.0)));
    assert_eq!(t.stats().common.min_rtt, None);
    t.at(230);
    assert_eq!(t.ack(12), "13 14 15");
    t.at(240);
    // Segments sent on the new path measure it, and change the window.
    assert_eq!(t.ack(13), "16");
    assert_eq!(t.stats().common.min_rtt, Some(Duration::from_millis(40)));
    assert!(t.window() > 4.0);
    t.at(300);
    assert_eq!(t.sack(13, &[(14, 17)]), "!loss r13 17");
    assert_eq!(t.window(), 2.0);
}

/// The timer may have been backed off on a dead path: on the new one it is at most the initial one.
#[test]
fn a_new_path_does_not_wait_for_the_old_timer() {
    let mut t = Trace::new(config(Recovery::Sack), &new_reno(2.0));
    assert_eq!(t.write(10), "0 1");
    for at in [1000, 3000, 7000] {
        t.at(at);
        assert_eq!(t.poll(), "!timeout r0");
    }
    assert_eq!(t.timer(), 15000.0);
    t.at(7500);
    assert_eq!(t.on_path_change(&new_reno(2.0)), "r1");
    assert_eq!(t.timer(), 8500.0);
    t.at(8500);
    // The missing data was sent on the old path: no loss of the new one.
    assert_eq!((t.poll(), t.window()), ("!timeout r0 r1".to_owned(), 2.0));
}

/// RFC 6582, section 3.2, step 3: a partial acknowledgement retransmits the next hole at once, deflates the window by
/// the acknowledged data and adds one segment back. It neither ends recovery nor halves again.
#[test]
fn a_partial_acknowledgement_retransmits_the_next_hole() {
    let mut t = Trace::new(config(Recovery::NewReno), &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    // Segments 0 and 4 are lost. Duplicates from 1, 2, 3:
    assert_eq!([t.ack(0), t.ack(0), t.ack(0)], ["10", "11", "!loss r0"]);
    // From 5 to 8, and from 9, the eighth: 12 are outstanding, 5 + 8 may be.
    assert_eq!([t.ack(0), t.ack(0)], ["", ""]);
    assert_eq!([t.ack(0), t.ack(0), t.ack(0)], ["", "", "12"]);
    // From 10 and 11.
    assert_eq!([t.ack(0), t.ack(0)], ["13", "14"]);
    // 15 were outstanding under 5 + 10. Four are acknowledged: 11 under 15 - 4 + 1 = 12 releases one new segment.
    t.at(200);
    assert_eq!(t.ack(4), "r4 15");
    assert_eq!(t.stats().recoveries, 1);
    // Segments 12 to 15 arrive, then 4.
    assert_eq!([t.ack(4), t.ack(4), t.ack(4), t.ack(4)], ["16", "17", "18", "19"]);
    t.at(300);
    // All data sent before the loss detection (up to 11) is acknowledged: the window is 5, and 16 to 19 are in flight.
    assert_eq!(t.ack(16), "20");
    assert_eq!((t.window(), t.stats().recoveries, t.stats().common.retransmissions), (5.0, 1, 2));
}

/// RFC 6675: a segment is lost when more than two segments' worth of bytes, or three discontiguous runs, are
/// selectively acknowledged above it; recovery sends while the pipe is below the window.
#[test]
fn selective_acknowledgements_mark_losses() {
    let mut t = Trace::new(config(Recovery::Sack), &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    // Segments 0 and 2 are lost.
    assert_eq!(t.sack(0, &[(1, 2)]), "10");
    assert_eq!(t.sack(0, &[(3, 4), (1, 2)]), "11");
    // Three segments above 0: lost. Above 2 there are only 3 and 4.
    assert_eq!(t.sack(0, &[(3, 5), (1, 2)]), "!loss r0");
    assert_eq!(t.ssthresh(), Some(5.0));
    // Three above 2: lost, and waits until fewer than 5 are in the network. Of 12, 1, 3, 4, 5 have arrived and 2 is
    // lost: 7 are. Then 6, 7 and 8 arrive.
    assert_eq!(t.sack(0, &[(3, 6), (1, 2)]), "");
    assert_eq!(t.in_flight(), 7);
    assert_eq!(t.sack(0, &[(3, 7), (1, 2)]), "");
    assert_eq!(t.sack(0, &[(3, 8), (1, 2)]), "");
    assert_eq!(t.sack(0, &[(3, 9), (1, 2)]), "r2");
    // From now on each arrival releases a new segment (NextSeg, rule 2).
    assert_eq!(t.sack(0, &[(3, 10), (1, 2)]), "12");
    assert_eq!(t.sack(0, &[(3, 11), (1, 2)]), "13");
    t.at(200);
    // Segment 0 arrives: 2, 11, 12, 13 are in the network.
    assert_eq!(t.sack(2, &[(3, 11)]), "14");
    assert_eq!(t.sack(11, &[]), "15");
    // Segment 11, the last before the loss detection, ends recovery.
    assert_eq!(t.ack(12), "16");
    assert_eq!((t.window(), t.stats().recoveries), (5.0, 1));
}

/// RFC 6675, section 4, IsLost by runs: three discontiguous runs above a segment, however short, mean that it is lost.
#[test]
fn three_runs_above_a_segment_mark_it_lost() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(8.0));
    assert_eq!(t.write(8), "0 1 2 3 4 5 6 7");
    t.at(100);
    // One acknowledgement reports all: 0 has three runs above it, 2 and 4 have fewer and fewer bytes.
    assert_eq!(t.sack(0, &[(5, 6), (3, 4), (1, 2)]), "!loss r0");
    assert_eq!(t.in_flight(), 5);
}

/// RFC 6298: the first measurement of 100 ms gives 100 + 4 * 50; each expiry doubles it (5.5). A retransmitted segment
/// gives no measurement (section 3, Karn), so the back-off stays until a segment sent once is measured.
#[test]
fn the_timer_backs_off_until_a_new_measurement() {
    let mut t = Trace::new(config(Recovery::NewReno), &fixed(2.0));
    assert_eq!(t.write(100), "0 1");
    assert_eq!(t.timer(), 1000.0);
    t.at(100);
    assert_eq!(t.ack(2), "2 3");
    assert_eq!(t.timer(), 400.0);
    // Both are lost.
    t.at(400);
    assert_eq!(t.poll(), "!timeout r2 r3");
    assert_eq!(t.timer(), 400.0 + 600.0);
    t.at(1000);
    assert_eq!(t.poll(), "!timeout r2 r3");
    assert_eq!(t.timer(), 1000.0 + 1200.0);
    t.at(1100);
    // A retransmission is acknowledged: no measurement. The timeout is still 1200 ms.
    assert_eq!(t.ack(4), "4 5");
    assert_eq!(t.timer(), 1100.0 + 1200.0);
    // New segments take 100 ms: 0.75 * 50 + 0.25 * 0 = 37.5 is the new deviation, 100 + 4 * 37.5 the timeout.
    t.at(1200);
    assert_eq!(t.ack(6), "6 7");
    assert_eq!(t.timer(), 1200.0 + 250.0);
    assert_eq!((t.stats().common.timeouts, t.stats().recoveries), (2, 0));
}

/// RFC 5681, section 3.1: after a timeout ssthresh is half of the flight, the window is one segment, and a second
/// expiry for the same segment keeps ssthresh. Slow start then repairs all missing data.
#[test]
fn a_timeout_starts_over_with_one_segment() {
    let mut t = Trace::new(config(Recovery::NewReno), &new_reno(8.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(1000);
    assert_eq!(t.poll(), "!timeout r0");
    assert_eq!((t.window(), t.ssthresh()), (1.0, Some(4.0)));
    t.at(3000);
    assert_eq!(t.poll(), "!timeout r0");
    assert_eq!((t.window(), t.ssthresh()), (1.0, Some(4.0)));
    t.at(3100);
    assert_eq!(t.ack(1), "r1 r2");
    t.at(3200);
    assert_eq!([t.ack(2), t.ack(3)], ["r3 r4", "r5 r6"]);
    // ssthresh is reached: congestion avoidance adds a quarter of a segment each.
    assert_eq!(t.window(), 4.0);
    t.at(3300);
    assert_eq!([t.ack(4), t.ack(5), t.ack(6), t.ack(7)], ["r7", "8", "9", "10"]);
    assert!((t.window() - 4.9).abs() < 0.05);
}

/// RFC 6675, section 5.1: after a timeout with selective acknowledgement only missing data is retransmitted.
#[test]
fn a_timeout_with_selective_acknowledgement_retransmits_only_missing_data() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(4.0));
    assert_eq!(t.write(4), "0 1 2 3");
    t.at(100);
    assert_eq!(t.sack(0, &[(1, 2)]), "");
    assert_eq!(t.sack(0, &[(3, 4)]), "");
    // The measurement of 100 ms does not restart the timer (RFC 6298, 5.3: only new data does).
    t.at(1000);
    assert_eq!(t.poll(), "!timeout r0 r2");
}

/// RFC 2018, section 8: a receiver may discard selectively acknowledged data. If this includes the first segment when
/// the timer expires, its selective acknowledgements no longer count.
#[test]
fn a_reneging_receiver_gets_all_data_again() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(4.0));
    assert_eq!(t.write(4), "0 1 2 3");
    t.at(100);
    assert_eq!(t.sack(0, &[(0, 4)]), "");
    t.at(1000);
    assert_eq!(t.poll(), "!timeout r0 r1 r2 r3");
}

/// Jacobson 1988 (Tahoe): the third duplicate retransmits everything from the lost segment on, from a window of one.
#[test]
fn go_back_n_retransmits_everything() {
    let mut t = Trace::new(config(Recovery::GoBackN), &tahoe(8.0, Growth::Fractional));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(100);
    // Segment 0 arrives, 1 is lost, 2 to 4 are dropped by a receiver without reassembly. No limited transmit.
    assert_eq!(t.ack(1), "8");
    assert_eq!([t.ack(1), t.ack(1), t.ack(1)], ["", "", "!loss r1"]);
    // Half of the window of 8.125.
    assert_eq!((t.window(), t.ssthresh()), (1.0, Some(4.0625)));
    assert_eq!([t.ack(1), t.ack(1), t.ack(1), t.ack(1)], ["", "", "", ""]);
    t.at(200);
    assert_eq!(t.ack(2), "r2 r3");
    assert_eq!([t.ack(3), t.ack(4)], ["r4 r5", "r6 r7"]);
    assert_eq!(t.stats().recoveries, 1);
}

/// Brakmo and Peterson 1995, section 3.1: at a duplicate acknowledgement a segment older than the fine-grained timeout
/// is retransmitted, without two more duplicates; so is the next one, at the first two acknowledgements after a
/// retransmission.
#[test]
fn a_fine_timer_does_not_wait_for_duplicates() {
    for fine_grained_timer in [true, false] {
        let rtt = RttConfig { margin: Duration::from_secs(1), ..config(Recovery::FastRetransmit).rtt };
        let config = SenderConfig { fine_grained_timer, rtt, ..config(Recovery::FastRetransmit) };
        let mut t = Trace::new(config, &fixed(4.0));
        assert_eq!(t.write(5), "0 1 2 3");
        t.at(100);
        // 100 ms with a deviation of 50 ms: the fine-grained timeout is 300 ms, the timer's 1100 ms.
        assert_eq!(t.ack(1), "4");
        assert_eq!(t.timer(), 1200.0);
        // Too recent: the duplicate caused by 3 has no effect. 1 and 2 are lost.
        t.at(200);
        assert_eq!(t.ack(1), "");
        t.at(301);
        assert_eq!(t.ack(1), if fine_grained_timer { "!loss r1" } else { "" });
        if fine_grained_timer {
            // 1 arrives, 2 does not. No duplicate will follow.
            t.at(401);
            assert_eq!(t.ack(2), "!loss r2");
            t.at(501);
            assert_eq!(t.ack(5), "");
            assert_eq!((t.stats().common.timeouts, t.stats().common.retransmissions), (0, 2));
        }
    }
}

/// RFC 896: while data is unacknowledged a partial segment waits, for more data or for the acknowledgement.
#[test]
fn small_segments_wait_for_an_acknowledgement() {
    for nagle in [true, false] {
        let mut t = Trace::new(SenderConfig { nagle, ..config(Recovery::GoBackN) }, &fixed(10.0));
        let bytes = |count| Input::Write(Length(count));
        // The first leaves at once, on an idle connection.
        assert_eq!(t.feed(bytes(100)), "0(100)");
        t.at(10);
        let rest = [t.feed(bytes(300)), t.feed(bytes(500)), t.feed(bytes(400))];
        if nagle {
            // With 1200 bytes a whole segment is sent.
            assert_eq!(rest, ["", "", "0.1"]);
            t.at(100);
            // The first hundred bytes are acknowledged, but a whole segment is outstanding.
            assert_eq!(
                t.feed(Input::Pdu {
                    pdu: Pdu::Ack(Ack { cumulative: 100, window: 1 << 20, ..Ack::default() }),
                    ecn: Ecn::NotEct
                }),
                ""
            );
            assert_eq!(
                t.feed(Input::Pdu {
                    pdu: Pdu::Ack(Ack { cumulative: 1100, window: 1 << 20, ..Ack::default() }),
                    ecn: Ecn::NotEct
                }),
                "1.1(200)"
            );
            assert_eq!(t.stats().common.sent, 3);
        } else {
            assert_eq!(rest, ["0.1(300)", "0.4(500)", "0.9(400)"]);
        }
    }
}

/// RFC 3168, section 6.1.2: a mark halves the window without a retransmission; further marks, and losses, of the same
/// window of data have no effect. Without the option marks change nothing.
#[test]
fn a_mark_cuts_once_a_window() {
    for ecn in [true, false] {
        let mut t = Trace::new(SenderConfig { ecn, ..config(Recovery::Sack) }, &new_reno(8.0));
        assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
        t.at(100);
        assert_eq!(t.ack_marked(1), if ecn { "!mark" } else { "!mark 8" });
        if !ecn {
            assert_eq!((t.window(), t.stats().mark_cuts), (8.125, 0));
            continue;
        }
        assert_eq!(t.window(), 4.0);
        for segment in 2..=4 {
            // Sent before the reduction: these marks come from the same queue, and the window does not grow either.
            assert_eq!(t.ack_marked(segment), "!mark");
            assert_eq!(t.window(), 4.0);
        }
        // Four in flight: from now on one for one.
        assert_eq!(t.ack(5), "8");
        let window = t.window();
        // A loss in the reduced window is repaired without another reduction.
        assert_eq!(t.sack(5, &[(6, 7)]), "9");
        assert_eq!(t.sack(5, &[(6, 8)]), "10");
        assert_eq!(t.sack(5, &[(6, 9)]), "!loss r5 11");
        assert_eq!(t.window(), window);
        assert_eq!((t.stats().mark_cuts, t.stats().common.retransmissions), (1, 1));
        t.at(200);
        // During recovery marks have no effect; a mark of data sent after it reduces again.
        assert_eq!(t.ack_marked(9), "!mark 12");
        assert_eq!(t.ack(11), "13 14");
        assert_eq!(t.stats().mark_cuts, 1);
        assert_eq!(t.ack_marked(13), "!mark");
        assert_eq!((t.stats().mark_cuts, t.window()), (2, 2.0));
    }
}

/// RFC 9293, section 3.8.6.1: a closed window is probed with a byte after a timeout, with back-off. A probe is not a
/// loss. When the window opens, the byte is retransmitted at once.
#[test]
fn a_closed_window_is_probed() {
    let mut t = Trace::new(config(Recovery::Sack), &new_reno(4.0));
    assert_eq!(t.write(2), "0 1");
    t.at(100);
    assert_eq!(t.ack_window(2, 0), "");
    assert_eq!(t.write(2), "");
    assert_eq!(t.timer(), 100.0 + 300.0);
    t.at(400);
    assert_eq!(t.poll(), "2(1)");
    // The peer's window excludes it.
    for (time, next) in [(1000, 2200), (2200, 4600), (4600, 9400), (9400, 19_000)] {
        assert_eq!(t.ack_window(2, 0), "");
        assert_eq!(t.timer(), f64::from(time));
        t.at(u64::try_from(time).unwrap());
        assert_eq!(t.poll(), "r2(1)");
        assert_eq!(t.timer(), f64::from(next));
    }
    assert_eq!((t.window() as u32, t.stats().common.timeouts, t.stats().recoveries), (4, 0, 0));
    t.at(10_000);
    assert_eq!(t.ack_window(2, 10), "r2(1) 2.001 3.001(999)");
}

/// RFC 9293, section 3.8.6.1: a peer that answers probes is alive, however long; without answers the sender gives up.
#[test]
fn a_peer_that_answers_probes_is_not_aborted() {
    for answers in [true, false] {
        let mut t = Trace::new(
            SenderConfig { max_retransmissions: Some(3), ..config(Recovery::Sack) },
            &new_reno(4.0),
        );
        assert_eq!(t.write(1), "0");
        t.at(100);
        assert_eq!(t.ack_window(1, 0), "");
        assert_eq!(t.write(1), "");
        let mut log = Vec::new();
        for _ in 0..6 {
            t.at(t.timer() as u64);
            log.push(t.poll());
            if answers {
                assert_eq!(t.ack_window(1, 0), "");
            }
            if log.last().is_some_and(|last| last.contains("failed")) {
                break;
            }
        }
        let expected: &[&str] = if answers {
            &["1(1)", "r1(1)", "r1(1)", "r1(1)", "r1(1)", "r1(1)"]
        } else {
            &["1(1)", "r1(1)", "r1(1)", "r1(1)", "failed"]
        };
        assert_eq!(log, expected);
    }
}

/// RFC 5681, section 4.1: after an idle time longer than a timeout the window is at most the initial one.
#[test]
fn an_idle_sender_restarts_from_the_initial_window() {
    for (idle_restart, window) in [(true, 2.0), (false, 8.0)] {
        let slow_start = ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 2.0,
            initial_ssthresh: 8.0,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        let mut t = Trace::new(SenderConfig { idle_restart, ..config(Recovery::Sack) }, &slow_start);
        // 2, 4, 8 segments in three round trips of 100 ms.
        assert_eq!(t.write(14), "0 1");
        t.at(100);
        assert_eq!([t.ack(1), t.ack(2)], ["2 3", "4 5"]);
        t.at(200);
        assert_eq!([t.ack(3), t.ack(4), t.ack(5), t.ack(6)], ["6 7", "8 9", "10 11", "12 13"]);
        assert_eq!(t.window(), 8.0);
        t.at(300);
        t.ack(14);
        // 300 ms after the last transmission exceed the timeout of 100 + 4 * some 20 ms.
        t.at(600);
        assert_eq!(t.write(10), if window < 8.0 { "14 15" } else { "14 15 16 17 18 19 20 21" });
    }
}

/// With a pacing rate of a segment per millisecond and a burst of 3, three leave at once and then one per millisecond,
/// for any window; after a pause the burst is available again, but no more.
#[test]
fn pacing_spreads_segments() {
    let mut t = Trace::paced(config(Recovery::Sack), &fixed(100.0), Some((Rate::from_mbits_per_sec(8), 3)));
    assert_eq!(t.write(7), "0 1 2");
    for (time, segment) in [(1, "3"), (2, "4"), (3, "5"), (4, "6")] {
        assert_eq!(t.timer(), f64::from(time));
        t.at(u64::try_from(time).unwrap());
        assert_eq!(t.poll(), segment);
    }
    t.at(50);
    assert_eq!(t.write(7), "7 8 9");
    assert_eq!(t.timer(), 51.0);
}

/// A router grants a zero rate, then a positive one: the sender stops and resumes at that rate.
#[test]
fn pacing_follows_a_new_rate_at_once() {
    let mut t = Trace::paced(config(Recovery::Sack), &fixed(100.0), Some((Rate::ZERO, 1)));
    assert_eq!(t.write(10), "0");
    t.at(10);
    assert_eq!(t.poll(), "");
    assert_eq!(t.grant(Rate::from_mbits_per_sec(8)), "!feedback 1");
    assert_eq!(t.timer(), 11.0);
    t.at(11);
    assert_eq!(t.poll(), "2");
}

/// A router reports a dropped segment: for a controller that counts this as a loss it is retransmitted at once, and
/// only once.
#[test]
fn a_drop_reported_by_a_router_is_retransmitted_once() {
    let mut t = Trace::new(config(Recovery::Sack), &seif(8.0));
    assert_eq!(t.write(4), "0 1 2 3");
    let dropped = |segment: u64| {
        Input::Feedback(Feedback { dropped: Some(segment * 1000), rate: None, growth: None, queue: 0 })
    };
    t.at(50);
    assert_eq!(t.feed(dropped(1)), "!feedback r1");
    assert_eq!(t.feed(dropped(1)), "!feedback");
    assert_eq!(t.feed(dropped(77)), "!feedback");
}

/// Other controllers must see the loss: it is detected as any other, and reduces the window.
#[test]
fn controllers_without_feedback_see_a_reported_drop_as_a_loss() {
    let mut t = Trace::new(config(Recovery::NewReno), &new_reno(4.0));
    assert_eq!(t.write(10), "0 1 2 3");
    t.at(50);
    let dropped = Feedback { dropped: Some(0), rate: None, growth: None, queue: 0 };
    assert_eq!(t.feed(Input::Feedback(dropped)), "!feedback");
    t.at(60);
    t.ack(0);
    t.ack(0);
    let third = t.ack(0);
    assert!(third.contains("r0"), "{third}");
}

/// A pause stops only data: acknowledgements are processed, and a timer that expires during it is not a new loss each
/// time, as nothing could be retransmitted.
#[test]
fn a_pause_is_not_a_series_of_losses() {
    let mut t = Trace::new(config(Recovery::Sack), &new_reno(8.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    assert_eq!(t.feed(Input::Pause), "");
    t.at(100);
    assert_eq!(t.ack(2), "");
    // The first expiry signals a loss; the others add no information.
    let mut log = String::new();
    while t.timer() < 100_000.0 {
        t.at(t.timer() as u64 + 1);
        log += &t.poll();
    }
    assert_eq!(log, "!timeout");
    assert_eq!((t.window(), t.ssthresh()), (1.0, Some(3.0)));
    assert_eq!(t.feed(Input::Resume), "r2");
}

/// Yang and Fu 2001, time slots: the timer stops while the flow has no token, and then has the same remaining time. An
/// acknowledgement during the pause restarts it.
#[test]
fn a_stopped_timer_keeps_its_remaining_time() {
    let pause = PauseConfig { freezes_timer: true, ..PauseConfig::default() };
    let mut t = Trace::new(SenderConfig { pause, ..config(Recovery::Sack) }, &fixed(4.0));
    assert_eq!(t.write(100), "0 1 2 3");
    t.at(100);
    assert_eq!(t.ack(1), "4");
    // A sample of 100 ms: a timeout of 300 ms, at 400 ms. Nothing is due during the pause.
    assert_eq!(t.timer(), 400.0);
    t.at(150);
    assert_eq!(t.feed(Input::Pause), "");
    assert_eq!(t.timer(), f64::INFINITY);
    t.at(5000);
    assert_eq!(t.poll(), "");
    assert_eq!(t.feed(Input::Resume), "");
    assert_eq!(t.timer(), 5000.0 + 250.0);
    assert_eq!(t.stats().common.timeouts, 0);
    // Acknowledged during the next pause, 100 ms into it: the timer then has its full time left.
    assert_eq!(t.feed(Input::Pause), "");
    t.at(5100);
    assert_eq!(t.ack(2), "");
    t.at(6000);
    assert_eq!(t.feed(Input::Resume), "5");
    assert!(t.timer() > 6300.0);
}

/// The congestion gate of the published times: a resumed flow with data in flight waits for an acknowledgement or for
/// its timer; without, it sends at once.
#[test]
fn a_resumed_sender_may_wait_for_its_timer() {
    let pause = PauseConfig { waits_for_timer: true, ..PauseConfig::default() };
    let make = || Trace::new(SenderConfig { pause, ..config(Recovery::Sack) }, &fixed(2.0));
    let mut t = make();
    t.pause_once();
    // The timer ends the wait too.
    assert_eq!(t.feed(Input::Pause), "");
    assert_eq!(t.feed(Input::Resume), "");
    t.at(t.timer() as u64 + 1);
    assert_eq!(t.poll(), "!timeout r2 r3");
    // With nothing in flight there is nothing to wait for.
    let mut t = make();
    assert_eq!(t.write(2), "0 1");
    assert_eq!(t.feed(Input::Pause), "");
    t.at(100);
    assert_eq!(t.ack(2), "");
    assert_eq!(t.write(2), "");
    assert_eq!(t.feed(Input::Resume), "2 3");
}

/// RFC 6298, 5.2 and 5.3: the timer stops when nothing is outstanding and restarts with each acknowledgement of new
/// data, but not with duplicates.
#[test]
fn the_timer_restarts_with_new_data() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(2.0));
    assert_eq!(t.write(3), "0 1");
    t.at(100);
    assert_eq!(t.ack(1), "2");
    assert_eq!(t.timer(), 100.0 + 300.0);
    t.at(150);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.timer(), 400.0);
    assert_eq!(t.ack(3), "");
    assert_eq!(t.timer(), f64::INFINITY);
}

/// Acknowledgements of unsent data are dropped and counted.
#[test]
fn an_acknowledgement_of_unsent_data_is_dropped() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(2.0));
    assert_eq!(t.write(9), "0 1");
    assert_eq!(t.ack(3), "");
    assert_eq!((t.stats().invalid_acks, t.in_flight()), (1, 2));
}

/// After the application has closed, sent data is still repaired, nothing new leaves, and the end is reported.
#[test]
fn stopping_discards_unsent_data() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(2.0));
    assert_eq!(t.write(9), "0 1");
    assert_eq!(t.feed(Input::Stop), "");
    t.at(1000);
    assert_eq!(t.poll(), "!timeout r0 r1");
    t.at(1100);
    assert_eq!(t.ack(2), "finished");
    assert_eq!(t.timer(), f64::INFINITY);
}

/// The path's maximum drops from 1000 bytes to 400: lost segments are retransmitted in pieces, each a segment of its
/// own, and new segments are short as well.
#[test]
fn segments_above_the_new_maximum_are_split_on_retransmission() {
    let mut t = Trace::new(config(Recovery::Sack), &fixed(3.0));
    assert_eq!(t.write(4), "0 1 2");
    t.at(1000);
    t.set_segment(400);
    assert_eq!(t.poll(), "!timeout r0(400) r0.4(400) r0.8(200)");
    t.at(1100);
    // The arrival of a piece releases one, and late segments count as before.
    assert_eq!(t.sack(0, &[(1, 2)]), "");
    assert_eq!(t.feed(ack_bytes(400)), "r2(400)");
    assert_eq!(t.feed(ack_bytes(2000)), "r2.4(400) r2.8(200)");
    assert_eq!(t.feed(ack_bytes(3000)), "3(400) 3.4(400) 3.8(200)");
    t.feed(Input::Finish);
    assert_eq!(t.feed(ack_bytes(4000)), "finished");
    // Segments are longer again once the path allows it.
    let mut t = Trace::new(config(Recovery::Sack), &fixed(3.0));
    t.set_segment(500);
    assert_eq!(t.write(4), "0(500) 0.5(500) 1(500)");
    t.set_segment(1000);
    assert_eq!(t.feed(ack_bytes(1500)), "1.5 2.5 3.5(500)");
}

/// Acknowledges everything below this byte.
fn ack_bytes(cumulative: u64) -> Input<Pdu<Length>, Length> {
    Input::Pdu { pdu: Pdu::Ack(Ack { cumulative, window: 1 << 30, ..Ack::default() }), ecn: Ecn::NotEct }
}
