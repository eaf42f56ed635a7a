//! HyStart as in Linux (Ha and Rhee 2011, section 4), rule by rule: constructed acknowledgements, at times in
//! milliseconds.

use crate::ack_samples::{acks, connection, loss};
use thalweg_proto::congestion::{
    AckSample, ConnectionState, Controller, Cubic, CubicConfig, LossKind, SlowStartExit,
};
use thalweg_proto::units::{Duration, Time};

fn micros(millis: f64) -> Duration {
    Duration::from_micros((millis * 1000.0) as u64)
}

fn cubic(initial_window: f64) -> Cubic {
    Cubic::new(&CubicConfig {
        initial_window,
        initial_ssthresh: f64::INFINITY,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: SlowStartExit::Hystart,
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// Returns an acknowledgement in a round that ends at byte `end`; the minimum round trip is 100 ms.
fn ack(at: f64, cumulative: u64, end: u64, rtt: Option<f64>) -> AckSample {
    let now = Time::ZERO + micros(at);
    AckSample {
        connection: ConnectionState { now, next_sequence: end, ..connection(0, 100) },
        cumulative,
        rtt: rtt.map(micros),
        ..crate::ack_samples::ack(0)
    }
}

/// Returns the end of slow start for at most 150 acknowledgements at intervals of `gap` from 1000 ms on, each with
/// round trip `rtt`.
fn left_at(window: f64, gap: f64, rtt: Option<f64>) -> Option<f64> {
    let mut cubic = cubic(window);
    let times = (0..150).map(|count| 1000.0 + f64::from(count) * gap);
    times.zip(1..).find_map(|(at, count)| {
        cubic.on_ack(&ack(at, count, 10_000, rtt), ());
        cubic.ssthresh().is_some_and(f64::is_finite).then_some(at)
    })
}

/// A train longer than half of the minimum round trip ends slow start (Ha and Rhee 2011, section 4.1): 50 ms of 100.
#[test]
fn a_train_of_half_a_round_trip_ends_slow_start() {
    assert_eq!(left_at(100.0, 1.0, Some(100.0)), Some(1051.0));
    assert_eq!(left_at(100.0, 0.5, None), Some(1050.5));
}

/// Acknowledgements more than 2 ms apart are not a train.
#[test]
fn a_gap_ends_the_train() {
    assert_eq!(left_at(100.0, 2.0, Some(100.0)), Some(1052.0));
    assert_eq!(left_at(100.0, 2.1, Some(100.0)), None);
    // After a gap the train has ended for the rest of the round, however dense the acknowledgements.
    let mut cubic = cubic(100.0);
    for count in 0..100_u32 {
        let at = 1000.0 + f64::from(count) * 0.9 + if count > 10 { 5.0 } else { 0.0 };
        cubic.on_ack(&ack(at, u64::from(count) + 1, 10_000, None), ());
    }
    assert_eq!(cubic.ssthresh(), Some(f64::INFINITY));
    for count in 0..100_u32 {
        cubic.on_ack(&ack(1200.0 + f64::from(count) * 0.9, 10_001 + u64::from(count), 20_000, None), ());
    }
    assert!(cubic.ssthresh().is_some_and(f64::is_finite));
}

/// Each round starts a new train.
#[test]
fn a_round_begins_a_train() {
    let mut cubic = cubic(100.0);
    for count in 1..=200_u64 {
        // 20 rounds of 10 ms.
        let end = count.div_ceil(10) * 10;
        cubic.on_ack(&ack(1000.0 + count as f64, count, end, None), ());
    }
    assert_eq!(cubic.ssthresh(), Some(f64::INFINITY));
}

/// Slow start continues below 16 segments.
#[test]
fn a_small_window_stays_in_slow_start() {
    let mut cubic = cubic(10.0);
    for count in 0..100_u32 {
        let mut sample = ack(1000.0 + f64::from(count), u64::from(count) + 1, 10_000, Some(200.0));
        sample.counted = 0;
        cubic.on_ack(&sample, ());
    }
    assert_eq!(cubic.ssthresh(), Some(f64::INFINITY));
}

/// The delay ends slow start as well: the minimum of more than eight round trips of a round exceeds that of the
/// connection by an eighth of it, clamped to 4 to 16 ms (Ha and Rhee 2011, section 4.2, with Linux' bounds). Gaps of 5
/// ms are not a train.
#[test]
fn a_longer_round_trip_ends_slow_start() {
    assert_eq!(left_at(100.0, 5.0, Some(112.5)), None);
    assert_eq!(left_at(100.0, 5.0, Some(112.6)), Some(1040.0));
    // One short round trip shows that there is no queue.
    let mut cubic = cubic(100.0);
    for count in 0..100_u32 {
        let rtt = if count == 3 { 101.0 } else { 150.0 };
        cubic.on_ack(&ack(1000.0 + f64::from(count) * 5.0, u64::from(count) + 1, 10_000, Some(rtt)), ());
    }
    assert_eq!(cubic.ssthresh(), Some(f64::INFINITY));
}

/// From the exit to the first loss the window grows by at least 5 % per round trip, as in Linux; after a loss by RFC
/// 9438.
#[test]
fn the_first_growth_is_five_percent_of_a_round_trip() {
    let mut cubic = cubic(1000.0);
    for count in 0..60_u32 {
        cubic.on_ack(&ack(1000.0 + f64::from(count), u64::from(count) + 1, 10_000, None), ());
    }
    let exit = cubic.decision().window;
    assert_eq!(cubic.ssthresh(), Some(1051.0), "{exit}");
    let slow = ack(1060.0, 100, 10_000, None);
    acks(&mut cubic, 1000, &slow);
    let grown = cubic.decision().window - exit;
    assert!((49.9..51.0).contains(&grown), "{grown}");
    cubic.on_loss(&loss(LossKind::Detected, 1100));
    let reduced_window = cubic.decision().window;
    acks(&mut cubic, 100, &slow);
    let grown = cubic.decision().window - reduced_window;
    // The curve has just begun: a round trip closes a tenth of the distance to the maximum.
    let curve = |t: f64| {
        let k = ((exit + 50.0 - reduced_window) / 0.4).cbrt();
        0.4 * (t - k).powi(3) + exit + 50.0
    };
    let max = (curve(0.1) - reduced_window) / reduced_window * 100.0 + 1.0;
    assert!(grown <= max && grown < 4.0, "{grown}, {max}");
}
