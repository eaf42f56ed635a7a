//! Controllers against values computed by hand from the papers and RFCs that define them.

use crate::ack_samples::{ack, acks, connection, loss};
use thalweg_proto::congestion::{
    AckSample, ConnectionState, Controller, Cubic, CubicConfig, Growth, LossKind, LossSample, NewReno,
    NewRenoConfig, SlowStart, SlowStartConfig, Vegas, VegasConfig, VegasSlowStart,
};
use thalweg_proto::units::Duration;
use thalweg_proto::window::ControllerConfig;

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
}

/// RFC 5681, section 3.1, equations 2 to 4, and section 4.1.
#[test]
fn new_reno_follows_its_equations() {
    let mut reno = NewReno::new(&NewRenoConfig {
        initial_window: 2.0,
        initial_ssthresh: 8.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    // Slow start: one segment per acknowledgement, up to ssthresh.
    acks(&mut reno, 6, &ack(0));
    assert_eq!(reno.decision().window, 8.0);
    // Congestion avoidance: 8 + 1/8 = 8.125; 8.125 + 1/8.125 = 8.248...
    acks(&mut reno, 2, &ack(0));
    near(reno.decision().window, 8.248_076_923, 1e-9);
    // No growth during recovery, nor while application-limited.
    acks(&mut reno, 5, &AckSample { recovering: true, ..ack(0) });
    acks(&mut reno, 5, &AckSample { app_limited: true, ..ack(0) });
    near(reno.decision().window, 8.248_076_923, 1e-9);
    // Equation 4: half of FlightSize, not of the window; at least two segments.
    reno.on_loss(&loss(LossKind::Detected, 7));
    assert_eq!((reno.decision().window, reno.ssthresh()), (3.5, Some(3.5)));
    reno.on_loss(&loss(LossKind::Detected, 1));
    assert_eq!((reno.decision().window, reno.ssthresh()), (2.0, Some(2.0)));
    // A timeout: the loss window of one segment; the second for the same segment keeps ssthresh.
    let mut reno = NewReno::new(&NewRenoConfig {
        initial_window: 2.0,
        initial_ssthresh: 20.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    acks(&mut reno, 18, &ack(0));
    reno.on_loss(&loss(LossKind::Timeout, 12));
    assert_eq!((reno.decision().window, reno.ssthresh()), (1.0, Some(6.0)));
    reno.on_loss(&LossSample { repeated: true, ..loss(LossKind::Timeout, 2) });
    assert_eq!((reno.decision().window, reno.ssthresh()), (1.0, Some(6.0)));
    // At most half of the window for any FlightSize (a documented difference from the RFC).
    let mut full = NewReno::new(&NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 5.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    full.on_loss(&loss(LossKind::Detected, 50));
    assert_eq!(full.ssthresh(), Some(5.0));
    // Idle: at most the initial window, and at most the current one.
    reno.on_idle(&connection(0, 0));
    assert_eq!(reno.decision().window, 1.0);
    acks(&mut reno, 4, &ack(0));
    reno.on_idle(&connection(0, 0));
    assert_eq!(reno.decision().window, 2.0);
}

/// RFC 8511, section 3: ssthresh = beta_ecn * FlightSize at a mark in congestion avoidance, 0.8 for NewReno and 0.85
/// for CUBIC; losses and slow start are unchanged. At the end of slow start another factor may apply.
#[test]
fn marks_and_the_end_of_slow_start_have_separate_decrease_factors() {
    let window_decrease = |initial_ssthresh, ecn_beta, slow_start_beta, kind| {
        let (initial_window, slow_start_exit) = (100.0, Default::default());
        let reno =
            NewRenoConfig { initial_window, initial_ssthresh, slow_start_exit, ecn_beta, slow_start_beta };
        let cubic = CubicConfig {
            initial_window,
            initial_ssthresh,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit,
            ecn_beta: ecn_beta.map(|_| 0.85),
            slow_start_beta,
        };
        let (mut reno, mut cubic) = (NewReno::new(&reno), Cubic::new(&cubic));
        reno.on_loss(&loss(kind, 100));
        cubic.on_loss(&loss(kind, 100));
        [reno.ssthresh(), cubic.ssthresh()].map(|ssthresh| ssthresh.unwrap().round())
    };
    use LossKind::{Detected, Mark, Timeout};
    // In congestion avoidance.
    assert_eq!(window_decrease(50.0, None, None, Mark), [50.0, 70.0]);
    assert_eq!(window_decrease(50.0, Some(0.8), None, Mark), [80.0, 85.0]);
    assert_eq!(window_decrease(50.0, Some(0.8), Some(0.3), Mark), [80.0, 85.0]);
    assert_eq!(window_decrease(50.0, Some(0.8), Some(0.3), Detected), [50.0, 70.0]);
    // In slow start.
    assert_eq!(window_decrease(1e9, Some(0.8), None, Mark), [50.0, 70.0]);
    assert_eq!(window_decrease(1e9, Some(0.8), Some(0.3), Mark), [30.0, 30.0]);
    assert_eq!(window_decrease(1e9, None, Some(0.6), Detected), [60.0, 60.0]);
    assert_eq!(window_decrease(1e9, None, Some(0.6), Timeout), [50.0, 70.0]);
}

/// Jacobson 1988, sections 1 and 3: slow start to half the window, then one segment per window; any loss restarts it.
#[test]
fn slow_start_starts_over_after_any_loss() {
    for kind in [LossKind::Detected, LossKind::Timeout] {
        let mut tahoe = SlowStart::new(&SlowStartConfig {
            initial_window: 1.0,
            initial_ssthresh: 64.0,
            growth: Growth::Fractional,
        });
        acks(&mut tahoe, 15, &ack(0));
        assert_eq!(tahoe.decision().window, 16.0);
        // Half of the window, for any flight.
        tahoe.on_loss(&loss(kind, 3));
        assert_eq!((tahoe.decision().window, tahoe.ssthresh()), (1.0, Some(8.0)));
        acks(&mut tahoe, 7, &ack(0));
        assert_eq!(tahoe.decision().window, 8.0);
        // A window of acknowledgements adds slightly less than a segment, as each adds less than the previous one.
        acks(&mut tahoe, 8, &ack(0));
        near(tahoe.decision().window, 8.95, 0.02);
    }
}

/// Acknowledgements with this round-trip time in milliseconds; the last of them ends round `number`.
fn vegas_round(vegas: &mut Vegas, number: u64, rtt: u64) -> f64 {
    let window = vegas.decision().window as u32;
    let sample = AckSample {
        connection: ConnectionState { next_sequence: (number + 1) * 1_000_000, ..connection(0, window) },
        cumulative: (number * 1_000_000).saturating_sub(1),
        rtt: Some(Duration::from_millis(rtt)),
        ..ack(0)
    };
    acks(vegas, window - 1, &sample);
    acks(vegas, 1, &AckSample { cumulative: number * 1_000_000, ..sample });
    vegas.decision().window
}

/// Brakmo and Peterson 1995, section 3.2: Diff = window (1 - base/rtt) segments are queued. Below alpha the window
/// grows by one, above beta it shrinks by one, in between it stays. Base is 100 ms, alpha 2, beta 4.
#[test]
fn vegas_keeps_its_queue_between_alpha_and_beta() {
    // ssthresh of 2 starts it in congestion avoidance. The first acknowledgement ends a separate round and sets the
    // base: nothing is queued.
    let mut vegas = Vegas::new(&VegasConfig {
        initial_window: 9.0,
        initial_ssthresh: 2.0,
        alpha: 2.0,
        beta: 4.0,
        gamma: 1.0,
        slow_start: Default::default(),
    });
    acks(
        &mut vegas,
        1,
        &AckSample { connection: ConnectionState { next_sequence: 1_000_000, ..connection(0, 9) }, ..ack(0) },
    );
    assert_eq!(vegas.decision().window, 10.0);
    // 10 (1 - 100/120) = 1.67: grow. 11 (1 - 100/125) = 2.2: stay. 11 (1 - 100/150) = 3.67: stay.
    assert_eq!(vegas_round(&mut vegas, 1, 120), 11.0);
    assert_eq!(vegas_round(&mut vegas, 2, 125), 11.0);
    assert_eq!(vegas_round(&mut vegas, 3, 150), 11.0);
    // 11 (1 - 100/160) = 4.125: shrink. 10 (1 - 100/160) = 3.75: stay.
    assert_eq!(vegas_round(&mut vegas, 4, 160), 10.0);
    assert_eq!(vegas_round(&mut vegas, 5, 160), 10.0);
}

/// The same, section 3.3: slow start doubles only every other round; the round between gives a stable comparison. It
/// ends when more than gamma are queued (with seven eighths of the window, as in ns-2).
#[test]
fn vegas_grows_every_other_round_in_slow_start() {
    let mut vegas = Vegas::new(&VegasConfig {
        initial_window: 4.0,
        initial_ssthresh: 1e9,
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        slow_start: Default::default(),
    });
    acks(
        &mut vegas,
        1,
        &AckSample { connection: ConnectionState { next_sequence: 1_000_000, ..connection(0, 4) }, ..ack(0) },
    );
    let windows: Vec<f64> = (1..=5).map(|number| vegas_round(&mut vegas, number, 100)).collect();
    assert!(windows.windows(3).all(|w| (w[2] - 2.0 * w[0]).abs() <= 1.0 && w[1] < w[2]), "{windows:?}");
    // A growing round from 20 to 39, with 39 (1 - 100/130) = 9 queued.
    assert_eq!(windows[4], 20.0);
    assert_eq!(vegas_round(&mut vegas, 6, 130), 39.0 * 0.875);
    assert_eq!(vegas.ssthresh(), Some(2.0));
}

/// `tcp_vegas_cong_avoid` of Linux: slow start doubles every round trip, and ends by the shortest round-trip time of a
/// round of at least three samples. The window is then what needs no queue, and one segment.
#[test]
fn vegas_may_grow_each_round_in_slow_start() {
    let mut vegas = Vegas::new(&VegasConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        alpha: 2.0,
        beta: 4.0,
        gamma: 1.0,
        slow_start: VegasSlowStart::EachRound,
    });
    acks(
        &mut vegas,
        1,
        &AckSample {
            connection: ConnectionState { next_sequence: 1_000_000, ..connection(0, 10) },
            ..ack(0)
        },
    );
    let mut windows = vec![vegas.decision().window];
    windows.extend((1..=3).map(|number| vegas_round(&mut vegas, number, 100)));
    assert!(windows.windows(2).all(|pair| (pair[1] - 2.0 * pair[0]).abs() <= 1.0), "{windows:?}");
    // One fast sample among slow ones: no standing queue.
    let before = vegas.decision().window;
    let sample = |rtt| AckSample { rtt: Some(Duration::from_millis(rtt)), ..ack(0) };
    acks(&mut vegas, 5, &sample(160));
    acks(&mut vegas, 1, &sample(100));
    assert!(vegas_round(&mut vegas, 4, 160) > before + 6.0);
    // A round that does not use its window says nothing about the queue of a full one.
    let idle = AckSample { app_limited: true, ..sample(160) };
    acks(&mut vegas, 3, &idle);
    let next = ConnectionState { next_sequence: 6_000_000, ..connection(0, 10) };
    acks(&mut vegas, 1, &AckSample { cumulative: 5_000_000, connection: next, ..idle });
    assert_eq!(vegas.ssthresh(), Some(1e9));
    // All samples of a round are slow: with W segments, W 100/160 need no queue.
    acks(&mut vegas, 3, &sample(160));
    let window = vegas.decision().window;
    acks(&mut vegas, 1, &AckSample { cumulative: 6_000_000, connection: next, ..sample(160) });
    near(vegas.decision().window, window * 0.625 + 1.0, 1e-9);
    assert_eq!(vegas.ssthresh(), Some(2.0));
}

/// The same, section 3.1: a loss detected early leaves three quarters of the window, a timeout the minimum.
#[test]
fn vegas_reacts_to_losses() {
    let mut vegas = Vegas::new(&VegasConfig {
        initial_window: 20.0,
        initial_ssthresh: 2.0,
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        slow_start: Default::default(),
    });
    vegas.on_loss(&loss(LossKind::Detected, 20));
    assert_eq!(vegas.decision().window, 15.0);
    vegas.on_loss(&loss(LossKind::Timeout, 15));
    assert_eq!((vegas.decision().window, vegas.ssthresh()), (2.0, Some(7.5)));
    // Only segments sent after the last reduction reflect the current window.
    let mut vegas = Vegas::new(&VegasConfig {
        initial_window: 20.0,
        initial_ssthresh: 2.0,
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        slow_start: Default::default(),
    });
    vegas.on_loss(&LossSample { connection: connection(300, 20), ..loss(LossKind::Detected, 20) });
    let later = |sent: u64| LossSample {
        connection: connection(400, 15),
        sent_at: connection(sent, 0).now,
        ..loss(LossKind::Detected, 15)
    };
    vegas.on_loss(&later(299));
    assert_eq!(vegas.decision().window, 15.0);
    vegas.on_loss(&later(300));
    assert_eq!(vegas.decision().window, 11.25);
}

/// CUBIC after a loss at a window of 1000, with C = 0.4 and beta = 0.7.
fn cubic_after_loss() -> Cubic {
    let mut cubic = Cubic::new(&CubicConfig {
        initial_window: 1000.0,
        initial_ssthresh: 500.0,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    cubic.on_loss(&loss(LossKind::Detected, 1000));
    // Section 4.6: ssthresh = 1000 * 0.7.
    assert_eq!((cubic.decision().window, cubic.ssthresh()), (700.0, Some(700.0)));
    cubic
}

/// Acknowledges a window every 100 ms, up to `until` in milliseconds.
fn cubic_until(cubic: &mut Cubic, from: u64, until: u64) {
    for millis in (from..=until).step_by(100) {
        let window = cubic.decision().window as u32;
        acks(cubic, window, &ack(millis));
    }
}

/// RFC 9438, sections 4.2 and 4.4: K = cbrt((1000 - 700) / 0.4) = 9.0856 s, and W(t) = 0.4 (t - K)^3 + 1000. Each
/// acknowledgement moves the window by (W(t + RTT) - window) / window; a window of them closes 63 % of the difference.
#[test]
fn cubic_follows_its_curve() {
    let mut cubic = cubic_after_loss();
    // The epoch starts with the first acknowledgement. At t = 0 the curve is at 700, and W_est, at 700 + 0.529412 /
    // 700, above it.
    cubic.on_ack(&ack(0), ());
    near(cubic.decision().window, 700.000_756, 1e-6);
    // At 0.1 s the target is W(0.2) = 0.4 (-8.8856)^3 + 1000 = 719.379.
    cubic.on_ack(&ack(100), ());
    near(cubic.decision().window, 700.000_756 + (719.379 - 700.000_756) / 700.000_756, 1e-5);
    // W(2) = 0.4 (-7.0856)^3 + 1000 = 857.7; the curve rises by 6 per round trip here, and the window follows by 63 %.
    cubic_until(&mut cubic, 200, 1900);
    near(cubic.decision().window, 857.7, 4.0);
    // At K it is flat and at the old maximum; two seconds later it is 0.4 * 2^3 above.
    cubic_until(&mut cubic, 2000, 9000);
    near(cubic.decision().window, 1000.0, 0.5);
    cubic_until(&mut cubic, 9100, 11_000);
    near(cubic.decision().window, 1003.2, 0.4);
}

/// RFC 9438, section 4.3: with few segments and short round trips the window is W_est. It grows by 3 (1 - 0.7) / (1 +
/// 0.7) = 0.529 per round trip, and by 1 once it has reached the window before the loss.
#[test]
fn cubic_is_never_below_new_reno() {
    let mut cubic = Cubic::new(&CubicConfig {
        initial_window: 10.0,
        initial_ssthresh: 5.0,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    cubic.on_loss(&loss(LossKind::Detected, 10));
    assert_eq!(cubic.decision().window, 7.0);
    // Round trips of 1 ms: the curve takes K = cbrt(3 / 0.4) = 1.96 s, W_est 3 / 0.529 = 5.7 round trips.
    let quick = |millis| AckSample {
        connection: ConnectionState { smoothed_rtt: Duration::from_millis(1), ..connection(millis, 10) },
        ..ack(millis)
    };
    for round in 0..4 {
        let window = cubic.decision().window;
        acks(&mut cubic, window as u32, &quick(round));
        near(cubic.decision().window - window, 0.529, 0.09);
    }
    for round in 4..10 {
        let window = cubic.decision().window as u32;
        acks(&mut cubic, window, &quick(round));
    }
    let window = cubic.decision().window;
    assert!(window > 10.0);
    acks(&mut cubic, window as u32, &quick(11));
    near(cubic.decision().window - window, 1.0, 0.12);
}

/// RFC 9438, section 4.3: W_est grows by alpha per window of segments, for any number of acknowledgements: by
/// 0.529412 * 2 / 7 for one of two segments.
#[test]
fn cubic_counts_segments() {
    let mut cubic = Cubic::new(&CubicConfig {
        initial_window: 10.0,
        initial_ssthresh: 5.0,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    cubic.on_loss(&loss(LossKind::Detected, 10));
    cubic.on_ack(&AckSample { acked: 2, ..ack(0) }, ());
    near(cubic.decision().window, 7.151_260_5, 1e-6);
}

/// RFC 9438, section 4.6: FlightSize is multiplied if it is less than the window. Section 4.8 with RFC 5681, section
/// 3.1: a second timeout for the same segment keeps ssthresh.
#[test]
fn cubic_reduces_the_outstanding_amount() {
    let mut cubic = cubic_after_loss();
    cubic.on_loss(&loss(LossKind::Detected, 400));
    assert_eq!((cubic.decision().window, cubic.ssthresh()), (280.0, Some(280.0)));
    cubic.on_loss(&loss(LossKind::Timeout, 200));
    assert_eq!((cubic.decision().window, cubic.ssthresh()), (1.0, Some(140.0)));
    cubic.on_loss(&LossSample { repeated: true, ..loss(LossKind::Timeout, 1) });
    assert_eq!((cubic.decision().window, cubic.ssthresh()), (1.0, Some(140.0)));
}

/// RFC 9438, section 4.4: within a round trip the target is at most 1.5 times the window, at any distance of the curve.
#[test]
fn cubic_grows_by_half_a_window_a_round_trip_at_most() {
    let mut cubic = cubic_after_loss();
    cubic.on_ack(&ack(0), ());
    // A minute later the curve is at 0.4 * 51^3 + 1000, about 54 000 segments.
    let before = cubic.decision().window;
    cubic.on_ack(&ack(60_000), ());
    near(cubic.decision().window, before + 0.5, 1e-9);
}

/// RFC 9438, section 4.7: after a loss below the last maximum of 1000 the new maximum is (1 + 0.7) / 2 of the window:
/// from 700 it is 595, and K = cbrt((595 - 490) / 0.4) = 6.403 s. Without fast convergence it is 700: K = cbrt(210 /
/// 0.4) = 8.067 s.
#[test]
fn cubic_fast_convergence_lowers_the_maximum() {
    for (fast_convergence, maximum, k) in [(true, 595.0, 6.403), (false, 700.0, 8.067)] {
        let mut cubic = Cubic::new(&CubicConfig {
            initial_window: 1000.0,
            initial_ssthresh: 500.0,
            c: 0.4,
            beta: 0.7,
            fast_convergence,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        cubic.on_loss(&loss(LossKind::Detected, 1000));
        cubic.on_loss(&loss(LossKind::Detected, 700));
        near(cubic.decision().window, 490.0, 1e-9);
        let mut millis = 0;
        cubic.on_ack(&ack(0), ());
        while millis < (k * 1000.0) as u64 {
            millis += 100;
            let window = cubic.decision().window as u32;
            acks(&mut cubic, window, &ack(millis));
        }
        near(cubic.decision().window, maximum, 0.5);
    }
}

/// RFC 9438, section 4.8: after a timeout the window is one segment and ssthresh 0.7 of FlightSize. The first
/// congestion avoidance then starts with K = 0 and the current window as the maximum.
#[test]
fn cubic_forgets_its_maximum_after_a_timeout() {
    let mut cubic = Cubic::new(&CubicConfig {
        initial_window: 100.0,
        initial_ssthresh: 50.0,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    cubic.on_loss(&loss(LossKind::Timeout, 100));
    assert_eq!((cubic.decision().window, cubic.ssthresh()), (1.0, Some(70.0)));
    acks(&mut cubic, 69, &ack(0));
    assert_eq!(cubic.decision().window, 70.0);
    // A second later W(1 s) = 0.4 + 70, and W_est, 10 * 0.529 above 70, is larger. With the old maximum the window
    // would be W(1 s) = 0.4 (1 - 4.217)^3 + 100 = 86.7.
    for round in 0..10 {
        let window = cubic.decision().window as u32;
        acks(&mut cubic, window, &ack(100 * round));
    }
    near(cubic.decision().window, 75.3, 0.3);
}

/// RFC 9438, section 5.8: application-limited time does not increase the window.
#[test]
fn cubic_does_not_grow_while_it_is_not_used() {
    let mut cubic = cubic_after_loss();
    cubic.on_ack(&ack(0), ());
    let before = cubic.decision().window;
    cubic.on_ack(&AckSample { app_limited: true, ..ack(10_000) }, ());
    assert_eq!(cubic.decision().window, before);
    // The curve continues from where it stopped: growth as at the start, not that of twenty seconds later.
    cubic.on_ack(&ack(20_000), ());
    near(cubic.decision().window, before + 0.529 / 700.0, 1e-4);
}

/// RFC 3168, section 6.1.2, and RFC 9438, section 4.6: a mark reduces the window like a lost packet, without slow
/// start, also for Tahoe. The others respond as to three duplicates.
#[test]
fn a_mark_cuts_without_a_slow_start() {
    let mut tahoe = SlowStart::new(&SlowStartConfig {
        initial_window: 16.0,
        initial_ssthresh: f64::INFINITY,
        growth: Growth::Fractional,
    });
    tahoe.on_loss(&loss(LossKind::Mark, 16));
    assert_eq!((tahoe.decision().window, tahoe.ssthresh()), (8.0, Some(8.0)));
    for kind in [LossKind::Detected, LossKind::Mark] {
        let mut reno = NewReno::new(&NewRenoConfig {
            initial_window: 20.0,
            initial_ssthresh: f64::INFINITY,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        let mut cubic = Cubic::new(&CubicConfig {
            initial_window: 20.0,
            initial_ssthresh: f64::INFINITY,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        let mut vegas = Vegas::new(&VegasConfig {
            initial_window: 20.0,
            initial_ssthresh: f64::INFINITY,
            alpha: 1.0,
            beta: 3.0,
            gamma: 1.0,
            slow_start: Default::default(),
        });
        reno.on_loss(&loss(kind, 20));
        cubic.on_loss(&loss(kind, 20));
        vegas.on_loss(&loss(kind, 20));
        let windows = [reno.decision(), cubic.decision(), vegas.decision()].map(|decision| decision.window);
        assert_eq!(windows, [10.0, 14.0, 15.0], "{kind:?}");
    }
}

/// RFC 3465, section 2.2: in slow start the window grows by the acknowledged bytes, up to the limit.
#[test]
fn windows_grow_by_the_counted_segments() {
    let unlimited = f64::INFINITY;
    let configs = [
        ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 10.0,
            initial_ssthresh: unlimited,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        }),
        ControllerConfig::SlowStart(SlowStartConfig {
            initial_window: 10.0,
            initial_ssthresh: unlimited,
            growth: Growth::Fractional,
        }),
        ControllerConfig::Cubic(CubicConfig {
            initial_window: 10.0,
            initial_ssthresh: unlimited,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        }),
    ];
    for config in configs {
        let mut controller = config.shared().unwrap();
        acks(&mut controller, 3, &AckSample { acked: 4, counted: 2, ..ack(100) });
        assert_eq!(controller.decision().window, 16.0, "{config:?}");
    }
    // Section 2.1: in congestion avoidance by a segment per acknowledged window.
    let mut reno = NewReno::new(&NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 2.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    acks(&mut reno, 1, &AckSample { acked: 10, counted: 10, ..ack(100) });
    assert_eq!(reno.decision().window, 11.0);
}
