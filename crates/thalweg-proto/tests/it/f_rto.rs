//! Spurious and genuine timeouts as packet traces, in the notation of `sender.rs`. Expected values are computed by
//! hand from RFC 5682, section 3.1, with round trips of 100 ms.

use crate::packet_trace::Trace;
use thalweg_proto::congestion::{BbrConfig, NewRenoConfig};
use thalweg_proto::units::Duration;
use thalweg_proto::window::{Arrival, ControllerConfig, RackConfig, Recovery, RttConfig, SenderConfig};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Loss detection by time or by duplicates, without any other undo of reductions.
fn config(rack: bool) -> SenderConfig {
    let rtt = RttConfig { floor: MS(1000), margin: Duration::ZERO, ..RttConfig::default() };
    let rack = rack.then_some(RackConfig { undo: false, tail_probe: false, max_ack_delay: Duration::ZERO });
    SenderConfig {
        segment: 1000,
        recovery: Recovery::Sack,
        rack,
        f_rto: true,
        rtt,
        ..SenderConfig::default()
    }
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

/// Returns a trace after a timeout: of ten segments the first was acknowledged at 100 ms, and the timer expired at
/// 1100 ms. 1 is retransmitted, and 2 to 10 are outstanding.
fn timed_out(config: SenderConfig) -> Trace {
    let mut t = Trace::new(config, &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    assert_eq!(t.ack(1), "10");
    t.at(1100);
    assert_eq!(t.poll(), "!timeout r1");
    assert_eq!(t.window(), 1.0);
    t
}

/// Section 3.1, steps 2b and 3b: the whole first flight was late. Two new segments leave at the first acknowledgement;
/// the second shows that the timeout was spurious, and only the first segment was retransmitted. Section 4, with RFC
/// 4015: window and ssthresh are restored.
#[test]
fn a_delay_spike_costs_one_retransmission() {
    for rack in [true, false] {
        let mut t = timed_out(config(rack));
        t.at(1150);
        assert_eq!(t.ack(2), "11 12");
        assert_eq!((t.stats().undone, t.ssthresh()), (0, Some(5.0)));
        t.at(1151);
        // With a window of 10.1, 3 to 10 and the two new ones are in flight.
        assert_eq!(t.ack(3), "");
        assert_eq!((t.stats().undone, t.ssthresh()), (1, Some(2.0)), "rack {rack}");
        assert!(t.window() >= 10.0, "{}", t.window());
        assert_eq!(t.ack(4), "13");
        for segment in 5..=11 {
            let _ = t.ack(segment);
        }
        // The first segment arrived twice.
        t.at(1200);
        let _ = t.arrival(11, &[], Arrival::Spurious, 1);
        assert_eq!(t.stats().common.retransmissions, 1);
        assert_eq!((t.stats().recoveries, t.stats().common.timeouts), (0, 1));
    }
}

/// The same with the first segment retransmitted more than a round trip ago: the late answer appears to belong to the
/// retransmission (RFC 8985, section 6.2, step 2), but does not mark segments sent before it as lost.
#[test]
fn a_delay_spike_longer_than_a_round_trip_costs_one_retransmission() {
    for rack in [true, false] {
        let mut t = timed_out(config(rack));
        t.at(1900);
        assert_eq!(t.ack(2), "11 12");
        t.at(1901);
        assert_eq!(t.ack(3), "");
        assert_eq!(t.stats().undone, 1);
        for segment in 4..=10 {
            t.at(1898 + segment);
            let sent = t.ack(segment);
            assert!(!sent.contains('r'), "rack {rack}: {sent}");
        }
        assert_eq!((t.stats().recoveries, t.stats().common.retransmissions), (0, 1));
    }
}

/// Section 3.1, step 3b: selectively acknowledged data counts as well, with the second segment lost and the third late.
/// The hole is then repaired as usual, by duplicates or time.
#[test]
fn late_segments_above_a_hole_prove_a_spurious_timeout() {
    for rack in [true, false] {
        let mut t = timed_out(config(rack));
        t.at(1150);
        assert_eq!(t.ack(2), "11 12");
        t.at(1151);
        let _ = t.sack(2, &[(3, 4)]);
        assert_eq!((t.stats().undone, t.stats().recoveries), (1, 0), "rack {rack}");
        let before = t.window();
        t.at(1152);
        let _ = t.sack(2, &[(3, 5)]);
        t.at(1153);
        let sent = t.sack(2, &[(3, 6)]);
        assert!(sent.starts_with("!loss r2"), "rack {rack}: {sent}");
        assert!(t.window() < before);
        assert_eq!(t.stats().common.retransmissions, 2);
    }
}

/// Section 3.1, step 2: selective acknowledgements before that of the first segment decide nothing: it may be lost.
#[test]
fn nothing_is_decided_before_the_first_segment_is_acknowledged() {
    let mut t = timed_out(config(true));
    t.at(1150);
    let _ = t.sack(1, &[(2, 5)]);
    assert_eq!((t.stats().undone, t.ssthresh()), (0, Some(5.0)));
    t.at(1200);
    let _ = t.ack(11);
    assert_eq!(t.stats().undone, 0);
}

/// Section 3.1, step 2a: the acknowledgement of the first segment covers all sent data: no later one can decide.
#[test]
fn an_acknowledgement_of_all_data_is_inconclusive() {
    let mut t = timed_out(config(true));
    t.at(1200);
    assert_eq!(t.ack(11), "11 12");
    assert_eq!((t.stats().undone, t.window()), (0, 2.0));
}

/// Section 3.1, step 3a: the flight was lost. Duplicates without new data below them answer the two new segments, and
/// missing data is retransmitted in slow start.
#[test]
fn a_lost_flight_is_retransmitted_after_two_new_segments() {
    for rack in [true, false] {
        let mut t = timed_out(config(rack));
        t.at(1200);
        assert_eq!(t.ack(2), "11 12");
        t.at(1300);
        let sent = t.sack(2, &[(11, 12)]);
        assert!(sent.starts_with("r2"), "rack {rack}: {sent}");
        assert_eq!((t.stats().undone, t.stats().recoveries), (0, 0));
        assert!(t.window() <= 3.0, "{}", t.window());
        assert_eq!(t.ssthresh(), Some(5.0));
    }
}

/// Section 3.1, step 3a: the same for a duplicate without new information.
#[test]
fn a_bare_duplicate_means_a_loss() {
    let mut t = timed_out(config(true));
    t.at(1200);
    assert_eq!(t.ack(2), "11 12");
    t.at(1300);
    let _ = t.ack(2);
    // Transmission is no longer held back.
    t.at(1301);
    let sent = t.sack(2, &[(11, 13)]);
    assert!(sent.starts_with("r2 r3"), "{sent}");
    assert_eq!(t.stats().undone, 0);
}

/// Section 3.1, step 3a: late segments afterwards change nothing.
#[test]
fn a_duplicate_ends_the_detection() {
    let mut t = timed_out(config(true));
    t.at(1200);
    assert_eq!(t.ack(2), "11 12");
    t.at(1300);
    let _ = t.ack(2);
    t.at(1301);
    let _ = t.ack(3);
    assert_eq!(t.stats().undone, 0);
}

/// The answer to the spurious retransmission is not a duplicate of step 3a: the next acknowledgement decides.
#[test]
fn the_acknowledgement_of_a_spurious_retransmission_is_no_sign_of_loss() {
    let mut t = timed_out(config(true));
    t.at(1150);
    assert_eq!(t.ack(2), "11 12");
    t.at(1200);
    assert_eq!(t.arrival(2, &[], Arrival::Spurious, 1), "");
    t.at(1201);
    let _ = t.ack(3);
    assert_eq!(t.stats().undone, 1);
}

/// Section 3.1, step 2b: without new data to send no decision is possible, and lost segments are retransmitted as
/// usual.
#[test]
fn without_new_data_recovery_is_conventional() {
    let mut t = Trace::new(config(true), &new_reno(10.0));
    assert_eq!(t.write(4), "0 1 2 3");
    t.at(100);
    assert_eq!(t.ack(1), "");
    t.at(1100);
    assert_eq!(t.poll(), "!timeout r1");
    t.at(1150);
    assert_eq!(t.ack(2), "r2 r3");
}

/// Section 3.1, step 1: a timeout during the recovery after another counts as genuine; one that recurs before any
/// acknowledgement restarts the detection.
#[test]
fn a_second_timeout_is_checked_only_before_any_acknowledgement() {
    let mut t = timed_out(config(true));
    t.at(3100);
    assert_eq!(t.poll(), "!timeout r1");
    t.at(3150);
    assert_eq!(t.ack(2), "11 12");
    t.at(3151);
    let _ = t.ack(3);
    assert_eq!((t.stats().undone, t.ssthresh()), (1, Some(2.0)));

    let mut t = timed_out(config(true));
    t.at(1200);
    assert_eq!(t.ack(2), "11 12");
    t.at(9000);
    assert!(t.poll().starts_with("!timeout r2"));
    t.at(9100);
    assert_eq!(t.ack(3), "r3 r4");
    assert_eq!(t.stats().undone, 0);
}

/// Without the option lost segments are retransmitted at once.
#[test]
fn disabled_f_rto_detects_nothing() {
    let mut t = timed_out(SenderConfig { f_rto: false, ..config(true) });
    t.at(1150);
    assert_eq!(t.ack(2), "r2 r3");
    let _ = t.ack(3);
    assert_eq!(t.stats().undone, 0);
}

/// A segment retransmitted by a tail probe before the timeout decides nothing (the data of step 3b was sent once).
#[test]
fn an_acknowledged_tail_probe_is_inconclusive() {
    let rack = RackConfig { undo: false, tail_probe: true, max_ack_delay: Duration::ZERO };
    let mut t = Trace::new(SenderConfig { rack: Some(rack), ..config(true) }, &new_reno(10.0));
    assert_eq!(t.write(1), "0");
    t.at(100);
    assert_eq!(t.ack(1), "");
    assert_eq!(t.write(5), "1 2 3 4 5");
    t.at(300);
    assert_eq!(t.poll(), "r5");
    t.at(1300);
    assert_eq!(t.poll(), "!timeout r1");
    assert_eq!(t.write(20), "");
    t.at(1400);
    assert_eq!(t.ack(2), "6 7");
    t.at(1401);
    let _ = t.arrival(2, &[(5, 6)], Arrival::Repair, 5);
    assert_eq!(t.stats().undone, 0);
}

/// BBR implements its own undo (its draft, section 5.6), which is called as after any other spurious loss.
#[test]
fn a_model_is_restored_too() {
    let mut t = Trace::new(config(true), &ControllerConfig::from(BbrConfig::default()));
    let _ = t.write(100);
    t.at(100);
    let _ = t.ack(1);
    let window = t.window();
    t.at(1100);
    assert!(t.poll().starts_with("!timeout r1"));
    assert!(t.window() < window);
    t.at(1150);
    let _ = t.ack(2);
    t.at(1200);
    let _ = t.ack(3);
    assert_eq!(t.stats().undone, 1);
    assert!(t.window() >= window, "{} of {window}", t.window());
}
