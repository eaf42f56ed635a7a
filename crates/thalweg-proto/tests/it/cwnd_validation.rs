//! Windows not used by the application as packet traces, in the notation of `sender.rs`. Expected values are computed
//! by hand from RFC 2861 and RFC 7661, with round trips of 100 ms.

use crate::packet_trace::Trace;
use thalweg_proto::congestion::{
    CopaConfig, CubicConfig, DctcpConfig, LedbatPlusPlusConfig, NewRenoConfig, PragueConfig, SlowStartConfig,
};
use thalweg_proto::units::Duration;
use thalweg_proto::window::{ControllerConfig, Recovery, RttConfig, SenderConfig, Validation};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A timeout of a second for any measurement.
fn config(validation: Validation) -> SenderConfig {
    let rtt = RttConfig { floor: MS(1000), margin: Duration::ZERO, ..RttConfig::default() };
    let validation = Some(validation);
    SenderConfig { segment: 1000, recovery: Recovery::Sack, rtt, validation, ..SenderConfig::default() }
}

fn new_reno(initial_window: f64, initial_ssthresh: f64) -> ControllerConfig {
    ControllerConfig::NewReno(NewRenoConfig {
        initial_window,
        initial_ssthresh,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// Returns a trace with a window of sixteen segments: slow start from two, with ssthresh of sixteen; all 30 segments
/// are acknowledged at 400 ms.
fn grown(validation: Validation, controller: &ControllerConfig) -> Trace {
    let mut t = Trace::new(config(validation), controller);
    let _ = t.write(30);
    let mut acknowledged = 0;
    for (at, sent) in [(100, 2), (200, 4), (300, 8), (400, 16)] {
        t.at(at);
        for _ in 0..sent {
            acknowledged += 1;
            let _ = t.ack(acknowledged);
        }
    }
    assert_eq!((t.in_flight(), acknowledged), (0, 30));
    t
}

/// Writes `segments` each 100 ms from `from` on, `rounds` times, and acknowledges them after 100 ms; returns the time
/// at the end.
fn trickle(t: &mut Trace, from: u64, rounds: u64, segments: u32, acknowledged: &mut u64) -> u64 {
    for round in 0..rounds {
        t.at(from + round * 100);
        let _ = t.write(segments);
        t.at(from + round * 100 + 100);
        *acknowledged += u64::from(segments);
        let _ = t.ack(*acknowledged);
    }
    from + rounds * 100
}

/// RFC 2861, section 3: after an idle time the window is halved per timeout, and slow start leads back to three
/// quarters of the old one. Here not below the initial window of two (RFC 5681, section 4.1).
#[test]
fn an_idle_window_halves_with_each_timeout() {
    for (idle, window) in [(900, 16.0), (1100, 8.0), (1900, 8.0), (2100, 4.0), (3100, 2.0), (60_000, 2.0)] {
        let mut t = grown(Validation::Decay, &new_reno(2.0, 16.0));
        assert!((16.0..16.1).contains(&t.window()), "{}", t.window());
        // The last segment left at 300 ms.
        t.at(300 + idle);
        let _ = t.write(1);
        let is = t.window();
        assert!((window..window + 0.1).contains(&is), "{is} after {idle} ms");
        assert_eq!(t.ssthresh(), Some(16.0));
    }
}

/// RFC 2861, section 3: while the application uses part of the window, each timeout moves it halfway towards that, and
/// ssthresh is at least three quarters of the old window.
#[test]
fn an_unused_window_moves_towards_the_used_volume() {
    let mut t = grown(Validation::Decay, &new_reno(2.0, 16.0));
    let before = t.window();
    let mut acknowledged = 30;
    // Four segments per round trip; the window was last full at 300 ms, and a timeout later is 1300 ms.
    let end = trickle(&mut t, 500, 9, 4, &mut acknowledged);
    assert_eq!((end, t.window()), (1400, (before + 4.0) / 2.0));
    let _ = trickle(&mut t, end, 10, 4, &mut acknowledged);
    assert_eq!(t.window(), ((before + 4.0) / 2.0 + 4.0) / 2.0);
    assert_eq!(t.ssthresh(), Some(16.0));
}

/// RFC 2861, section 2: a used window stays.
#[test]
fn a_full_window_does_not_decay() {
    let mut t = grown(Validation::Decay, &new_reno(2.0, 16.0));
    let (before, mut acknowledged) = (t.window(), 30);
    let _ = trickle(&mut t, 500, 30, 16, &mut acknowledged);
    assert!(t.window() >= before, "{} of {before}", t.window());
}

/// RFC 7661, section 4.4: an unused window stays for five minutes, with an idle application or little data. Section
/// 4.4.3: then it is halved, and slow start leads back to three quarters; and again after another five minutes.
#[test]
fn an_unused_window_is_kept_for_five_minutes() {
    for idle in [true, false] {
        let mut t = grown(Validation::PipeAck, &new_reno(2.0, 16.0));
        let (before, mut acknowledged) = (t.window(), 30);
        let at = trickle(&mut t, 500, 30, 2, &mut acknowledged);
        assert_eq!(t.window(), before);
        let at = if idle { 290_000 } else { trickle(&mut t, at, 2865, 2, &mut acknowledged) };
        let _ = trickle(&mut t, at, 1, 2, &mut acknowledged);
        assert_eq!(t.window(), before, "at {at} ms");
        let _ = trickle(&mut t, 310_000, 1, 2, &mut acknowledged);
        assert!((t.window() - before / 2.0).abs() < 1e-9, "{} of {before}", t.window());
        assert_eq!(t.ssthresh(), Some(16.0));
        let _ = trickle(&mut t, 620_000, 1, 2, &mut acknowledged);
        assert!(t.window() < before / 2.0 - 1.0, "{}", t.window());
    }
}

/// RFC 7661, section 4.3: a window with half of it acknowledged in a round trip is validated, for longer than five
/// minutes.
#[test]
fn half_of_the_window_counts_as_used() {
    let mut t = grown(Validation::PipeAck, &new_reno(2.0, 16.0));
    let (before, mut acknowledged) = (t.window(), 30);
    let _ = trickle(&mut t, 500, 3200, 9, &mut acknowledged);
    assert!(t.window() >= before, "{} of {before}", t.window());
}

/// RFC 7661, section 4.4.1: in the nonvalidated phase a loss leaves half of the used or outstanding volume, not of the
/// window. At the end the retransmitted volume is subtracted before.
#[test]
fn a_loss_halves_the_used_window() {
    let mut t = grown(Validation::PipeAck, &new_reno(2.0, 16.0));
    let mut acknowledged = 30;
    // Seven of sixteen are less than half.
    let at = trickle(&mut t, 500, 30, 7, &mut acknowledged);
    assert_eq!(t.window(), 16.0);
    t.at(at);
    // Six are outstanding, the first two of them lost; seven were used in the last three round trips.
    let _ = t.write(6);
    t.at(at + 100);
    let base = acknowledged;
    let _ = t.sack(base, &[(base + 2, base + 3)]);
    let _ = t.sack(base, &[(base + 2, base + 4)]);
    let sent = t.sack(base, &[(base + 2, base + 6)]);
    assert!(sent.starts_with("!loss"), "{sent}");
    assert_eq!((t.window(), t.ssthresh()), (3.5, Some(3.5)));
    t.at(at + 200);
    let _ = t.ack(base + 6);
    // (7 - 2) / 2.
    assert_eq!((t.stats().common.retransmissions, t.window()), (2, 2.5));
    assert_eq!(t.ssthresh(), Some(3.5));
}

/// The same for a controller that halves its window, not FlightSize (Tahoe).
#[test]
fn a_loss_halves_the_used_window_of_any_controller() {
    let tahoe = ControllerConfig::SlowStart(SlowStartConfig {
        initial_window: 2.0,
        initial_ssthresh: 16.0,
        growth: Default::default(),
    });
    let mut t = grown(Validation::PipeAck, &tahoe);
    let mut acknowledged = 30;
    let at = trickle(&mut t, 500, 30, 7, &mut acknowledged);
    t.at(at);
    let _ = t.write(6);
    t.at(at + 100);
    let _ = t.sack(acknowledged, &[(acknowledged + 2, acknowledged + 6)]);
    assert_eq!((t.window(), t.ssthresh()), (1.0, Some(3.5)));
}

/// RFC 7661, section 4.2: the volume of the last three round trips, and of at least a second, counts; older samples
/// expire, within a quarter of it.
#[test]
fn old_pipe_samples_expire() {
    for (rounds, used) in [(5, 7.0), (20, 4.0)] {
        let mut t = grown(Validation::PipeAck, &new_reno(2.0, 64.0));
        let mut acknowledged = 30;
        let at = trickle(&mut t, 500, 30, 7, &mut acknowledged);
        let at = trickle(&mut t, at, rounds, 2, &mut acknowledged);
        t.at(at);
        let _ = t.write(4);
        t.at(at + 100);
        let _ = t.sack(acknowledged, &[(acknowledged + 1, acknowledged + 4)]);
        // The larger of that volume and the four outstanding is halved.
        assert_eq!(t.window(), used / 2.0, "after {rounds} rounds");
    }
}

/// All controllers with a window respond alike: it falls, and ssthresh, if any, is at least three quarters of it.
#[test]
fn every_window_decays() {
    let (initial_window, initial_ssthresh) = (2.0, 4.0);
    let controllers = [
        new_reno(initial_window, initial_ssthresh),
        ControllerConfig::Cubic(CubicConfig {
            initial_window,
            initial_ssthresh,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        }),
        ControllerConfig::Dctcp(DctcpConfig { initial_window, initial_ssthresh, gain: 1.0 / 16.0 }),
        ControllerConfig::Prague(PragueConfig {
            initial_window,
            initial_ssthresh,
            gain: 1.0 / 16.0,
            virtual_rtt: MS(25),
            transition: 500,
            burst_delay: Duration::from_micros(250),
        }),
        LedbatPlusPlusConfig {
            initial_window,
            initial_ssthresh,
            target: MS(60),
            constant: 1.0,
            slowdowns: false,
        }
        .into(),
        CopaConfig { initial_window, delta: 0.5, competitive_mode: true, min_rtt_lifetime: MS(10_000) }
            .into(),
    ];
    for controller in controllers {
        let mut t = Trace::new(config(Validation::Decay), &controller);
        let mut acknowledged = 0;
        let _ = t.write(1000);
        for round in 1..20 {
            t.at(round * 100);
            for _ in 0..t.in_flight() {
                acknowledged += 1;
                let _ = t.ack(acknowledged);
            }
        }
        // The rest is sent, and then nothing for more than a timeout.
        let mut at = 1900;
        let mut sent_at = at;
        while acknowledged < 1000 {
            at += 100;
            t.at(at);
            acknowledged += u64::from(t.in_flight());
            if !t.ack(acknowledged).is_empty() {
                sent_at = at;
            }
        }
        let before = t.window();
        assert!(before > 9.0, "{controller:?}: {before}");
        t.at(sent_at + 1500);
        let _ = t.write(1);
        let after = t.window();
        assert!((after - before / 2.0).abs() < 1.0, "{controller:?}: {after} of {before}");
        assert!(t.ssthresh().is_none_or(|threshold| threshold >= 0.74 * before), "{controller:?}");
    }
}
