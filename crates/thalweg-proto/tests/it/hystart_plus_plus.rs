//! HyStart++ rule by rule (RFC 9406, sections 4.2 and 4.3): constructed acknowledgements, round by round.

use crate::ack_samples::{ack, acks, connection, loss};
use thalweg_proto::congestion::{
    AckSample, ConnectionState, Controller, Cubic, CubicConfig, LossKind, NewReno, NewRenoConfig,
    SlowStartExit,
};
use thalweg_proto::units::Duration;

const SEGMENT: u64 = 1000;

/// A controller with HyStart++, and the state of its acknowledgements.
struct Start<C> {
    controller: C,
    acknowledged: u64,
}

fn new_reno() -> Start<NewReno> {
    let controller = NewReno::new(&NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: f64::INFINITY,
        slow_start_exit: SlowStartExit::HystartPlusPlus,
        ecn_beta: None,
        slow_start_beta: None,
    });
    Start { controller, acknowledged: 0 }
}

fn micros(millis: f64) -> Duration {
    Duration::from_micros((millis * 1000.0) as u64)
}

impl<C: Controller<PacketInfo = ()>> Start<C> {
    fn window(&self) -> f64 {
        self.controller.decision().window
    }

    /// Acknowledges `acked` segments at once.
    fn acked(&mut self, acked: u32, sample: &AckSample) {
        self.acknowledged += u64::from(acked) * SEGMENT;
        self.controller.on_ack(&AckSample { acked, cumulative: self.acknowledged, ..*sample }, ());
    }

    /// Simulates a round with one acknowledged segment per round-trip time; returns the window growth by each.
    fn round(&mut self, rtts: &[Option<Duration>]) -> Vec<f64> {
        let next_sequence = self.acknowledged + rtts.len() as u64 * SEGMENT;
        let connection = ConnectionState { next_sequence, ..connection(0, 10) };
        let grow = |rtt: &Option<Duration>| {
            let before = self.window();
            self.acked(1, &AckSample { connection, rtt: *rtt, ..ack(0) });
            self.window() - before
        };
        rtts.iter().map(grow).collect()
    }

    /// Simulates a round of `count` acknowledgements, each with a round trip of `millis` ms.
    fn even(&mut self, count: usize, millis: f64) -> Vec<f64> {
        self.round(&vec![Some(micros(millis)); count])
    }
}

/// RFC 9406, section 4.2: the threshold is an eighth of the last round's minimum round trip, clamped to 4 to 16 ms
/// (section 4.3), and reaching it is enough.
#[test]
fn the_threshold_is_an_eighth_between_4_and_16_ms() {
    for (last, threshold) in [(8.0, 4.0), (32.0, 4.0), (64.0, 8.0), (128.0, 16.0), (600.0, 16.0)] {
        for (more, grown) in [(threshold - 0.001, 1.0), (threshold, 0.25)] {
            let mut start = new_reno();
            start.even(10, last);
            let grew = start.even(10, last + more);
            assert_eq!(grew[..8], [1.0; 8], "{last} ms");
            assert_eq!(grew[8..], [grown; 2], "{last} ms and {more} ms");
        }
    }
}

/// RFC 9406, section 4.2: a decision needs `N_RTT_SAMPLE` (8, section 4.3) measured round trips in a round.
/// Acknowledgements without a measurement do not count.
#[test]
fn eight_samples_are_needed() {
    let mut start = new_reno();
    start.even(10, 50.0);
    assert_eq!(start.even(7, 90.0), [1.0; 7]);
    // The previous round, though slow, is the reference: its minimum is 90 ms, so 90 ms is not an increase.
    assert_eq!(start.even(20, 90.0), [1.0; 20]);

    let mut start = new_reno();
    start.even(10, 50.0);
    let mut rtts = vec![None; 30];
    rtts.extend(vec![Some(micros(90.0)); 9]);
    let grew = start.round(&rtts);
    assert_eq!((grew[37], grew[38]), (1.0, 0.25));
}

/// RFC 9406, section 4.2: the minimum of the round decides, so jitter of some packets has no effect.
#[test]
fn one_short_round_trip_shows_an_empty_queue() {
    let mut start = new_reno();
    start.even(10, 50.0);
    let mut rtts = vec![Some(micros(90.0)); 20];
    rtts[3] = Some(micros(51.0));
    assert_eq!(start.round(&rtts), [1.0; 20]);
}

/// RFC 9406, section 4.2: the first round has no reference, nor has one after a round without measurements.
#[test]
fn a_round_without_samples_is_no_reference() {
    let mut start = new_reno();
    let mut rtts = vec![Some(micros(10.0)); 8];
    rtts.extend(vec![Some(micros(500.0)); 20]);
    assert_eq!(start.round(&rtts), [1.0; 28]);

    let mut start = new_reno();
    start.even(10, 50.0);
    start.round(&[None; 10]);
    assert_eq!(start.even(20, 90.0), [1.0; 20]);
    // Comparisons then resume.
    assert_eq!(start.even(10, 110.0)[9], 0.25);
}

/// RFC 9406, sections 4.2 and 4.3: conservative slow start lasts five rounds, including the partial first one. Then
/// ssthresh becomes the window, and congestion avoidance follows.
#[test]
fn conservative_slow_start_ends_after_five_rounds() {
    let mut start = new_reno();
    start.even(10, 50.0);
    start.even(10, 60.0);
    for round in 2..=5 {
        assert_eq!(start.controller.ssthresh(), Some(f64::INFINITY), "round {round}");
        assert_eq!(start.even(12, 60.0), [0.25; 12], "round {round}");
    }
    let window = start.window();
    assert_eq!(window, 10.0 + 20.0 + 4.0 * 12.0 / 4.0 - 2.0 * 0.75);
    // The acknowledgement that ends the fifth round ends slow start.
    start.even(1, 60.0);
    assert_eq!((start.window(), start.controller.ssthresh()), (window, Some(window)));
    let grew = start.even(1, 60.0);
    assert!((grew[0] - 1.0 / window).abs() < 1e-12, "{grew:?}");
}

/// RFC 9406, section 4.2: a round with a minimum round trip below that of the entry, with eight measured, shows a
/// spurious exit. Slow start continues with HyStart++, and the five rounds restart.
#[test]
fn a_spurious_exit_resumes_slow_start() {
    let mut start = new_reno();
    start.even(10, 50.0);
    start.even(10, 60.0);
    assert_eq!(start.even(10, 60.0), [0.25; 10], "equal is not below");
    assert_eq!(start.even(7, 55.0), [0.25; 7], "seven samples");
    let grew = start.even(10, 59.0);
    assert_eq!((grew[7], grew[8]), (0.25, 1.0));
    // Checked as before: 8 ms above the last round's 59 ms exceed the threshold.
    assert_eq!(start.even(10, 66.0), [1.0; 10]);
    assert_eq!(start.even(10, 75.0)[8..], [0.25; 2]);
    for _ in 0..4 {
        start.even(8, 75.0);
    }
    assert_eq!(start.controller.ssthresh(), Some(f64::INFINITY), "rounds of the first time do not count");
    start.even(1, 75.0);
    assert_eq!(start.controller.ssthresh(), Some(start.window()));
}

/// RFC 9406, section 4.3: HyStart++ applies only to the first slow start. That after a timeout ends at ssthresh.
#[test]
fn later_slow_starts_are_not_left_early() {
    for kind in [LossKind::Timeout, LossKind::Detected, LossKind::Mark] {
        let mut start = new_reno();
        start.even(10, 50.0);
        start.even(10, 60.0);
        start.controller.on_loss(&loss(kind, 20));
        assert_eq!(start.controller.ssthresh(), Some(10.0));
        start.controller.on_loss(&loss(LossKind::Timeout, 20));
        let threshold = start.controller.ssthresh().expect("it has one");
        start.even(8, 50.0);
        start.even(30, 500.0);
        assert!(start.window() > threshold, "{kind:?}: {} of {threshold}", start.window());
    }
}

/// RFC 9406, sections 4.2 and 4.3: an acknowledgement counts for its segments, up to L = 8, and for a quarter of that
/// in conservative slow start; for more if the sender's limit is higher.
#[test]
fn an_acknowledgement_counts_for_eight_segments() {
    let grow = |start: &mut Start<NewReno>, acked, counted| {
        let before = start.window();
        let connection = ConnectionState { next_sequence: u64::MAX, ..connection(0, 10) };
        start.acked(acked, &AckSample { connection, counted, rtt: None, ..ack(0) });
        start.window() - before
    };
    let mut start = new_reno();
    assert_eq!(grow(&mut start, 2, 1), 2.0);
    assert_eq!(grow(&mut start, 8, 1), 8.0);
    assert_eq!(grow(&mut start, 40, 1), 8.0);
    assert_eq!(grow(&mut start, 40, 40), 40.0);
    let mut start = new_reno();
    start.even(10, 50.0);
    start.even(10, 60.0);
    assert_eq!(grow(&mut start, 40, 1), 2.0);
    assert_eq!(grow(&mut start, 40, 40), 10.0);
}

/// RFC 5681, section 3.1: acknowledgements of an application-limited flow do not increase the window, but their round
/// trips count.
#[test]
fn round_trips_of_idle_applications_count() {
    let mut start = new_reno();
    start.even(10, 50.0);
    let window = start.window();
    let next_sequence = start.acknowledged + 8 * SEGMENT;
    let limited = AckSample {
        connection: ConnectionState { next_sequence, ..connection(0, 10) },
        rtt: Some(micros(90.0)),
        app_limited: true,
        ..ack(0)
    };
    for _ in 0..8 {
        start.acked(1, &limited);
    }
    assert_eq!(start.window(), window);
    assert_eq!(start.even(1, 90.0), [0.25]);
}

/// RFC 9438, sections 4.8 and 4.10: after HyStart++ CUBIC starts with K = 0 and the window of the exit as its maximum:
/// W(t) = 0.4 t^3 + W.
#[test]
fn cubic_continues_from_the_exit_window() {
    let controller = Cubic::new(&CubicConfig {
        initial_window: 10.0,
        initial_ssthresh: f64::INFINITY,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: SlowStartExit::HystartPlusPlus,
        ecn_beta: None,
        slow_start_beta: None,
    });
    let mut start = Start { controller, acknowledged: 0 };
    start.even(90, 50.0);
    start.even(90, 60.0);
    for _ in 0..4 {
        assert_eq!(start.even(90, 60.0), [0.25; 90]);
    }
    let exit = start.window();
    start.even(1, 60.0);
    assert_eq!(start.controller.ssthresh(), Some(exit));
    // The curve begins with the next acknowledgement; 5 s later its target is the value one round trip of 100 ms ahead.
    acks(&mut start.controller, 1, &ack(0));
    let before = start.window();
    start.controller.on_ack(&ack(5000), ());
    let target = 0.4 * 5.1f64.powi(3) + exit;
    let expected = before + (target - before) / before;
    assert!((start.window() - expected).abs() < 1e-4, "{} in place of {expected}", start.window());
}
