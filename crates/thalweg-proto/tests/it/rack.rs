//! Time-based loss detection, tail loss probes and undone reductions as packet traces, in the notation of `sender.rs`.
//! Expected values are computed by hand from RFC 8985 and RFC 4015, with round trips of 100 ms.

use crate::packet_trace::Trace;
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::units::Duration;
use thalweg_proto::window::{Arrival, ControllerConfig, RackConfig, Recovery, RttConfig, SenderConfig};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn config(undo: bool, tail_probe: bool) -> SenderConfig {
    // Timeouts are long, except in the tests of timeouts.
    let rtt = RttConfig { floor: MS(1000), margin: Duration::ZERO, ..RttConfig::default() };
    let rack = RackConfig { undo, tail_probe, max_ack_delay: MS(25) };
    SenderConfig { segment: 1000, recovery: Recovery::Sack, rack: Some(rack), rtt, ..SenderConfig::default() }
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

/// Returns a trace with ten segments sent at 0 and a round trip of 100 ms measured with the first.
fn begun(config: SenderConfig) -> Trace {
    let mut t = Trace::new(config, &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    assert_eq!(t.ack(1), "10");
    t
}

/// Section 6.2, step 4: without any reordering, three selectively acknowledged segments above a missing one make it
/// lost at once, as with duplicates.
#[test]
fn without_reordering_three_segments_mean_a_loss() {
    let mut t = begun(config(true, false));
    assert_eq!(t.sack(1, &[(2, 3)]), "11");
    assert_eq!(t.sack(1, &[(2, 4)]), "12");
    assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
    assert_eq!(t.stats().recoveries, 1);
}

/// Section 6.2, steps 4 and 5: with fewer than three it counts as lost a quarter of the minimum round trip after the
/// round trip of the later segment.
#[test]
fn the_end_of_a_burst_waits_for_the_reordering_window() {
    let mut t = Trace::new(config(true, false), &new_reno(3.0));
    assert_eq!(t.write(3), "0 1 2");
    t.at(100);
    assert_eq!(t.sack(0, &[(1, 3)]), "");
    // Sent at 0, it counts as lost 100 + 100 / 4 ms later.
    assert_eq!(t.timer(), 125.0);
    t.at(124);
    assert_eq!(t.poll(), "");
    t.at(125);
    assert_eq!(t.poll(), "!loss r0");
}

/// Section 6.2, step 3: one late arrival gives all later segments a reordering window.
#[test]
fn a_reordering_path_delays_loss_detection() {
    let mut t = begun(config(true, false));
    // Segment 1 is late, not lost.
    assert_eq!(t.sack(1, &[(2, 4)]), "11 12");
    t.at(103);
    assert_eq!(t.arrival(4, &[], Arrival::Late, 1), "13");
    // So is 4, overtaken by five others.
    assert_eq!(t.sack(4, &[(5, 10)]), "14 15 16 17 18");
    // Sent at 0; the newest arrival took 103 ms, and the reordering window is a quarter of 100 ms.
    assert_eq!(t.timer(), 128.0);
    t.at(110);
    assert_eq!(t.arrival(10, &[], Arrival::Late, 4), "19");
    assert_eq!((t.stats().recoveries, t.stats().common.retransmissions), (0, 0));
}

/// RFC 4015, section 3.2, and RFC 9438, section 4.9: if all segments declared lost were late, the window and ssthresh
/// are restored.
#[test]
fn a_spurious_reduction_is_undone() {
    let mut t = begun(config(true, false));
    let (window, threshold) = (t.window(), t.ssthresh());
    assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
    assert!(t.window() < window);
    t.at(103);
    let _ = t.arrival(5, &[], Arrival::Late, 1);
    assert!(t.window() >= window, "{} of {window}", t.window());
    assert_eq!((t.ssthresh(), t.stats().undone), (threshold, 1));
}

/// RFC 3708, section 2: a retransmission without new data shows the same, also after the end of recovery.
#[test]
fn a_spurious_retransmission_undoes_the_reduction() {
    let mut t = begun(config(true, false));
    let window = t.window();
    assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
    // The acknowledgement of the late segment was lost; the next one does not report it.
    t.at(110);
    let _ = t.ack(11);
    assert_eq!(t.stats().undone, 0);
    t.at(200);
    let _ = t.arrival(11, &[], Arrival::Spurious, 1);
    assert_eq!(t.stats().undone, 1);
    assert!(t.window() >= window, "{} of {window}", t.window());
}

/// One of two was lost: the reduction was justified.
#[test]
fn an_episode_with_one_true_loss_is_not_undone() {
    let mut t = begun(config(true, false));
    assert_eq!(t.sack(1, &[(2, 3), (4, 8)]), "!loss r1 r3");
    let reduced_window = t.window();
    t.at(103);
    let _ = t.arrival(3, &[(4, 8)], Arrival::Late, 1);
    t.at(200);
    let _ = t.arrival(11, &[], Arrival::Repair, 3);
    assert_eq!(t.stats().undone, 0);
    assert!(t.window() < reduced_window + 2.0, "{}", t.window());
}

/// Without the option a spurious reduction stays.
#[test]
fn disabled_undo_restores_nothing() {
    let mut t = begun(config(false, false));
    assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
    let reduced_window = t.window();
    t.at(103);
    let _ = t.arrival(5, &[], Arrival::Late, 1);
    assert_eq!((t.stats().undone, t.window()), (0, reduced_window));
}

/// Section 6.2, step 4: each round with a spurious retransmission widens the reordering window by a quarter of the
/// round trip.
#[test]
fn spurious_retransmissions_widen_the_reordering_window() {
    for (arrival, deadline) in [(Arrival::Plain, 235.0), (Arrival::Spurious, 260.0)] {
        let mut t = begun(config(true, false));
        assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
        t.at(110);
        let sent = t.arrival(11, &[], arrival, 1);
        assert!(sent.starts_with("11 12"), "{sent}");
        t.at(210);
        let _ = t.sack(11, &[(12, 13)]);
        assert_eq!(t.timer(), deadline, "{arrival:?}");
    }
}

/// Later transmissions reveal a lost retransmission without the timer, with another reduction (RFC 5681, section 4.3).
#[test]
fn a_lost_retransmission_is_found() {
    let mut t = begun(config(true, false));
    assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
    let reduced_window = t.window();
    t.at(110);
    // The other segments sent at 0 arrive, and release new segments after the retransmission.
    let sent = t.sack(1, &[(2, 10)]);
    assert!(sent.starts_with("11 12"), "{sent}");
    t.at(210);
    assert_eq!(t.sack(1, &[(2, 12)]).split(' ').take(2).collect::<Vec<_>>(), ["!loss", "r1"]);
    assert!(t.window() < reduced_window);
    assert_eq!(t.stats().common.timeouts, 0);
}

/// Linux, and RFC 9002, section 7.3.2: one reduction per window of data. The retransmission is still sent again.
#[test]
fn a_lost_retransmission_need_not_cut_again() {
    let mut t = begun(SenderConfig { cut_for_lost_repairs: false, ..config(true, false) });
    assert_eq!(t.sack(1, &[(2, 5)]), "!loss r1");
    let reduced_window = t.window();
    t.at(110);
    let _ = t.sack(1, &[(2, 10)]);
    t.at(210);
    let sent = t.sack(1, &[(2, 12)]);
    assert!(sent.starts_with("r1"), "{sent}");
    assert_eq!(t.window(), reduced_window);
    assert_eq!(t.stats().common.timeouts, 0);
}

/// Section 7.2 and 7.3: after two round trips without an answer the last segment is retransmitted, before the timer
/// expires.
#[test]
fn the_end_of_a_burst_is_probed() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(3), "1 2 3");
    assert_eq!(t.timer(), 300.0);
    t.at(300);
    assert_eq!(t.poll(), "r3");
    // 1 and 2 arrived, the end was lost: the probe repaired it, and the window is reduced.
    t.at(400);
    let window = t.window();
    assert_eq!(t.arrival(4, &[], Arrival::Repair, 3), "!loss");
    assert!(t.window() < window);
    assert_eq!(t.stats().common.timeouts, 0);
}

/// Section 7.2: one segment may wait for a delayed acknowledgement. Section 7.3: new data serves as a probe as well.
#[test]
fn a_spurious_probe_changes_nothing() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(1), "1");
    assert_eq!(t.timer(), 325.0);
    t.at(325);
    assert_eq!(t.poll(), "r1");
    t.at(330);
    let window = t.window();
    assert_eq!(t.ack(2), "");
    assert!(t.window() >= window);
    assert_eq!(t.stats().recoveries, 0);
}

/// Section 7.3: one probe at a time, and none before another round-trip measurement: afterwards only the timer remains.
#[test]
fn there_is_one_probe_until_a_round_trip_is_measured() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    // Nothing was measured.
    assert_eq!(t.timer(), 1000.0);
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(1), "1");
    t.at(325);
    assert_eq!(t.poll(), "r1");
    // Further data starts no other probe, before or after the answer, which does not identify its transmission.
    assert_eq!(t.write(1), "2");
    assert_eq!(t.timer(), 1325.0);
    t.at(425);
    assert_eq!(t.arrival(2, &[], Arrival::Spurious, 1), "");
    assert_eq!(t.timer(), 1425.0);
    t.at(430);
    assert_eq!(t.ack(3), "");
    assert_eq!(t.write(1), "3");
    assert!(t.timer() < 700.0, "{}", t.timer());
}

/// Section 7.3: the measurement of a handshake counts, so the first flight is probed too.
#[test]
fn the_first_flight_is_probed_after_a_handshake() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    t.opened(MS(100));
    assert_eq!(t.write(3), "0 1 2");
    assert_eq!(t.timer(), 200.0);
    t.at(200);
    assert_eq!(t.poll(), "r2");
}

/// After a zero round trip there is nothing to wait for, and engines must announce timeouts in the future.
#[test]
fn a_zero_round_trip_is_not_probed() {
    let mut t = Trace::new(config(true, true), &new_reno(3.0));
    assert_eq!(t.write(100), "0 1 2");
    assert_eq!(t.ack(1), "3");
    assert_eq!(t.timer(), 1000.0);
}

/// Section 7.4.2: if the answer to the probe was lost, the next acknowledgement beyond the data sent before it shows
/// that it repaired a loss. An acknowledgement of the probe alone does not yet show the opposite.
#[test]
fn the_next_acknowledgement_may_answer_the_probe() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(1), "1");
    t.at(325);
    assert_eq!(t.poll(), "r1");
    t.at(425);
    assert_eq!(t.ack(2), "");
    let window = t.window();
    assert_eq!(t.write(1), "2");
    t.at(525);
    assert_eq!(t.ack(3), "!loss");
    assert!(t.window() < window);
}

/// Section 7.4.2: a second acknowledgement of the same data, without SACK blocks, answers the probe: both copies
/// arrived.
#[test]
fn a_duplicate_without_blocks_answers_the_probe() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(1), "1");
    t.at(325);
    assert_eq!(t.poll(), "r1");
    t.at(330);
    assert_eq!(t.ack(2), "");
    t.at(425);
    assert_eq!(t.ack(2), "");
    assert_eq!(t.write(1), "2");
    let window = t.window();
    t.at(525);
    assert_eq!(t.ack(3), "");
    assert!(t.window() >= window);
    assert_eq!(t.stats().recoveries, 0);
}

/// Section 7.4: the last segments were lost and only the probe arrived: it reveals the losses below it.
#[test]
fn a_probe_shows_what_is_missing() {
    let mut t = Trace::new(config(true, true), &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(3), "1 2 3");
    t.at(300);
    assert_eq!(t.poll(), "r3");
    t.at(400);
    assert_eq!(t.arrival(1, &[(3, 4)], Arrival::Repair, 3), "!loss r1 r2");
    assert_eq!(t.stats().common.timeouts, 0);
}

/// Section 6.3: the timer marks the first segment as lost, and those sent a round trip ago or earlier. Later ones stay
/// in flight.
#[test]
fn the_timer_marks_only_old_segments_lost() {
    let mut t = begun(config(true, false));
    t.at(1000);
    assert_eq!(t.write(0), "");
    t.at(1100);
    // Nine of the first ten, and the one sent at 100, are older than a round trip.
    assert_eq!(t.poll(), "!timeout r1");
    assert_eq!(t.in_flight(), 1);
}

/// After a timeout the window restarts from one segment and grows (RFC 5681, section 3.1), also if a retransmission is
/// lost again: in recovery it would not grow until all of a large window is repaired.
#[test]
fn a_repair_lost_after_a_timeout_lets_the_window_grow() {
    let mut t = begun(config(true, false));
    t.at(1200);
    assert_eq!(t.poll(), "!timeout r1");
    t.at(1300);
    // In slow start up to ssthresh.
    assert_eq!(t.ack(2), "r2 r3");
    t.at(1400);
    // 2 was lost again, and 3 arrived.
    let window = t.window();
    let sent = t.sack(2, &[(3, 4)]);
    assert!(sent.starts_with("r2"), "{sent}");
    assert!(t.window() >= window, "{} after {window}", t.window());
    assert_eq!(t.stats().recoveries, 0);
}

/// RFC 5682, section 1: a delay longer than the timeout makes the timer expire spuriously, and late data is
/// retransmitted. When the receiver has reported all of it as late, the window and ssthresh are restored, as after
/// F-RTO's response (RFC 4015, section 3.2).
#[test]
fn a_spurious_timeout_is_undone() {
    let mut t = begun(config(true, false));
    let (window, threshold) = (t.window(), t.ssthresh());
    t.at(1100);
    assert_eq!(t.poll(), "!timeout r1");
    assert_eq!(t.window(), 1.0);
    // All of the first flight arrives 1 s late, when 2 to 10 have been retransmitted.
    t.at(1150);
    for segment in 2..=11 {
        let _ = t.ack(segment);
    }
    let again = t.stats().common.retransmissions;
    assert_eq!(t.stats().undone, 0);
    t.at(1250);
    for segment in 1..=again {
        assert_eq!(t.stats().undone, 0, "{segment} of {again}");
        let _ = t.arrival(11, &[], Arrival::Spurious, segment);
    }
    assert_eq!((t.stats().undone, t.ssthresh()), (1, threshold));
    assert!(t.window() >= window, "{} of {window}", t.window());
}

/// RFC 5682, section 1: a genuine timeout is not undone: a single necessary retransmission proves it.
#[test]
fn a_timeout_with_a_loss_is_not_undone() {
    let mut t = begun(config(true, false));
    t.at(1100);
    assert_eq!(t.poll(), "!timeout r1");
    t.at(1200);
    let _ = t.arrival(2, &[], Arrival::Repair, 1);
    t.at(1300);
    for segment in 2..=10 {
        let _ = t.arrival(11, &[], Arrival::Spurious, segment);
    }
    assert_eq!(t.stats().undone, 0);
    assert!(t.ssthresh() <= Some(6.0), "{:?}", t.ssthresh());
}
