//! HyStart as Linux has it (Ha and Rhee 2011, section 4), rule by rule: acknowledgements made by hand, at times in milliseconds.

mod samples;

use samples::{acks, loss, path};
use thalweg_proto::congestion::{AckSample, Controller, Cubic, CubicConfig, LossKind, Path, SlowStartExit};
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

/// An acknowledgement in a round that ends at byte `end`; the shortest round trip has been 100 ms.
fn ack(at: f64, cumulative: u64, end: u64, rtt: Option<f64>) -> AckSample {
    let now = Time::ZERO + micros(at);
    AckSample {
        path: Path { now, next_sequence: end, ..path(0, 100) },
        cumulative,
        rtt: rtt.map(micros),
        ..samples::ack(0)
    }
}

/// The time at which acknowledgements `gap` apart, from 1000 ms on, end slow start; each has this round trip. At most 150.
fn left_at(window: f64, gap: f64, rtt: Option<f64>) -> Option<f64> {
    let mut cubic = cubic(window);
    let times = (0..150).map(|count| 1000.0 + f64::from(count) * gap);
    times.zip(1..).find_map(|(at, count)| {
        cubic.on_ack(&ack(at, count, 10_000, rtt), ());
        cubic.ssthresh().is_some_and(f64::is_finite).then_some(at)
    })
}

/// A train that lasts longer than half of the shortest round trip ends slow start (Ha and Rhee 2011, section 4.1): 50 ms of 100.
#[test]
fn a_train_of_half_a_round_trip_ends_slow_start() {
    assert_eq!(left_at(100.0, 1.0, Some(100.0)), Some(1051.0));
    assert_eq!(left_at(100.0, 0.5, None), Some(1050.5));
}

/// Acknowledgements that are more than 2 ms apart are no train.
#[test]
fn a_gap_ends_the_train() {
    assert_eq!(left_at(100.0, 2.0, Some(100.0)), Some(1052.0));
    assert_eq!(left_at(100.0, 2.1, Some(100.0)), None);
    // What follows a gap is not of the train, however dense it is, until the round is over.
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

/// Each round has a train of its own.
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

/// Windows below 16 segments are left alone.
#[test]
fn a_small_window_goes_on() {
    let mut cubic = cubic(10.0);
    for count in 0..100_u32 {
        let mut sample = ack(1000.0 + f64::from(count), u64::from(count) + 1, 10_000, Some(200.0));
        sample.counted = 0;
        cubic.on_ack(&sample, ());
    }
    assert_eq!(cubic.ssthresh(), Some(f64::INFINITY));
}

/// The delay ends it as well: the shortest of more than eight round trips of a round above the shortest of the connection by an eighth of
/// it, within 4 and 16 ms (Ha and Rhee 2011, section 4.2, with Linux' bounds). Gaps of 5 ms are no train.
#[test]
fn a_longer_round_trip_ends_slow_start() {
    assert_eq!(left_at(100.0, 5.0, Some(112.5)), None);
    assert_eq!(left_at(100.0, 5.0, Some(112.6)), Some(1040.0));
    // One quick round trip tells that there is no queue.
    let mut cubic = cubic(100.0);
    for count in 0..100_u32 {
        let rtt = if count == 3 { 101.0 } else { 150.0 };
        cubic.on_ack(&ack(1000.0 + f64::from(count) * 5.0, u64::from(count) + 1, 10_000, Some(rtt)), ());
    }
    assert_eq!(cubic.ssthresh(), Some(f64::INFINITY));
}

/// From the exit to the first loss the window grows by 5 % a round trip at least, as in Linux; after a loss as RFC 9438 has it.
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
    cubic.on_loss(&loss(LossKind::Duplicates, 1100));
    let cut = cubic.decision().window;
    acks(&mut cubic, 100, &slow);
    let grown = cubic.decision().window - cut;
    // The curve has just begun: a round trip leads up by a tenth of what it lacks of the maximum.
    let curve = |t: f64| {
        let k = ((exit + 50.0 - cut) / 0.4).cbrt();
        0.4 * (t - k).powi(3) + exit + 50.0
    };
    let most = (curve(0.1) - cut) / cut * 100.0 + 1.0;
    assert!(grown <= most && grown < 4.0, "{grown}, {most}");
}
