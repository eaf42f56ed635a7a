//! Copa by the sections of Arun and Balakrishnan (2018): individual rules, with the paper's numbers.

#[allow(dead_code, reason = "not every test uses all of it")]
use crate::ack_samples::{ack, loss};
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Copa, CopaConfig, LossKind,
    LostSample,
};
use thalweg_proto::units::{Duration, Rate, Time};

const CONFIG: CopaConfig = CopaConfig {
    initial_window: 10.0,
    delta: 0.5,
    competitive_mode: true,
    min_rtt_lifetime: Duration::from_secs(10),
};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A sender over a path with a round-trip time set by the test.
struct Flow {
    controller: Copa,
    now: Time,
}

impl Flow {
    fn new(config: &CopaConfig) -> Self {
        Self { controller: Copa::new(config), now: Time::ZERO + MS(1000) }
    }

    fn window(&self) -> f64 {
        self.controller.decision().window
    }

    fn sample(&self, rtt: Duration, acked: u32) -> AckSample {
        let connection = ConnectionState { now: self.now, smoothed_rtt: rtt, ..ack(0).connection };
        AckSample { connection, acked, sent_at: self.now - rtt, rtt: Some(rtt), ..ack(0) }
    }

    /// Simulates a round trip of `rtt`, with a window acknowledged segment by segment.
    fn round(&mut self, rtt: Duration) {
        let segments = self.window() as u32;
        for _ in 0..segments {
            self.now += rtt / u64::from(segments);
            let sample = self.sample(rtt, 1);
            self.controller.on_ack(&sample, ());
        }
    }

    /// Returns a flow that left slow start at 100 ms, with a window of about `window` and an empty queue.
    fn steady(config: &CopaConfig, window: f64) -> Self {
        let mut flow = Self::new(&CopaConfig { initial_window: window, ..*config });
        flow.now += MS(100);
        let sample = flow.sample(MS(100), 1);
        flow.controller.on_ack(&sample, ());
        flow.controller.on_loss(&loss(LossKind::Detected, 10));
        flow
    }
}

/// Section 2.1: slow start doubles once per round trip until the rate exceeds the target, window / standing > 1 /
/// (delta * queued).
#[test]
fn slow_start_doubles_until_the_target_rate() {
    let mut flow = Flow::new(&CopaConfig { competitive_mode: false, ..CONFIG });
    for doubled in [20.0, 40.0, 80.0] {
        flow.round(MS(100));
        assert!((flow.window() - doubled).abs() < 1e-9, "{}", flow.window());
    }
    // With 2 ms queued the target is 1 / (0.5 * 2 ms) = 1000 packets a second: a window of 102.
    for _ in 0..20 {
        flow.round(MS(102));
    }
    assert!((flow.window() - 102.0).abs() < 3.0, "{}", flow.window());
}

/// Section 2.1: a round trip moves the window by v / delta packets, 2 with delta = 0.5, and 20 with 0.05.
#[test]
fn a_round_trip_moves_the_window_by_the_velocity_over_delta() {
    for (delta, step) in [(0.5, 2.0), (0.25, 4.0), (0.05, 20.0)] {
        let mut flow = Flow::steady(&CopaConfig { delta, ..CONFIG }, 400.0);
        let before = flow.window();
        flow.round(MS(100));
        let grown = flow.window() - before;
        assert!((grown - step).abs() < 0.05 * step, "{grown} for {step}");
    }
}

/// Section 2.1: v is 1 in the first three round trips after the first one in a direction, then doubles each round trip;
/// it is 1 again after a change of direction.
#[test]
fn the_velocity_doubles_once_the_direction_has_stayed_for_three_round_trips() {
    let mut flow = Flow::steady(&CONFIG, 1000.0);
    let mut velocities = Vec::new();
    for _ in 0..9 {
        flow.round(MS(100));
        velocities.push(flow.controller.velocity());
    }
    assert_eq!(
        velocities,
        [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0],
        "the direction was set by the first"
    );
    // 50 ms queued: the target is 40 packets a second, so the window falls by two packets per round trip.
    flow.round(MS(150));
    assert_eq!(flow.controller.velocity(), 1.0);
    let before = flow.window();
    flow.round(MS(150));
    assert!((before - flow.window() - 2.0).abs() < 0.2, "{}", before - flow.window());
}

/// A segment moves the window by at most one, at any distance of the target.
#[test]
fn a_round_trip_at_most_doubles_the_window() {
    let mut flow = Flow::steady(&CopaConfig { competitive_mode: false, ..CONFIG }, 20.0);
    for _ in 0..12 {
        let before = flow.window();
        flow.round(MS(100));
        assert!(flow.window() <= 2.0 * before + 1.0, "{} after {before}", flow.window());
    }
    assert!(flow.window() > 500.0, "{}", flow.window());
    for _ in 0..30 {
        flow.round(MS(300));
        assert!(flow.window() >= 2.0);
    }
    assert!(flow.window() < 10.0, "{}", flow.window());
}

/// Section 2.1: twice the window per standing round trip, the minimum of the last half of a smoothed one.
#[test]
fn packets_are_paced_at_twice_the_window_for_each_standing_round_trip() {
    let mut flow = Flow::steady(&CONFIG, 100.0);
    flow.round(MS(100));
    let rate = flow.controller.decision().pacing_rate.expect("a round trip was measured");
    let expected = Rate::from_bits_per_sec((2.0 * flow.window() * 8000.0 / 0.1) as u64);
    assert!(rate.as_f64() / expected.as_f64() > 0.99 && rate.as_f64() / expected.as_f64() < 1.01, "{rate}");
    // One longer sample does not change the standing round trip.
    flow.now += MS(1);
    let sample = flow.sample(MS(400), 1);
    flow.controller.on_ack(&sample, ());
    let after = flow.controller.decision().pacing_rate.expect("the same");
    assert!(after.as_f64() / rate.as_f64() > 0.99, "{after}");
}

/// Without a round trip there is no pacing rate: a timeout before the first must not stop the sender.
#[test]
fn a_timeout_before_the_first_round_trip_leaves_pacing_off() {
    let mut controller = Copa::new(&CONFIG);
    controller.on_loss(&loss(LossKind::Timeout, 10));
    assert_eq!(controller.decision().pacing_rate, None);
    assert_eq!(controller.decision().window, 2.0);
}

/// Losses are not a congestion signal in default mode (section 2.2), but a timeout always is.
#[test]
fn a_loss_changes_nothing_in_default_mode() {
    let mut flow = Flow::steady(&CONFIG, 100.0);
    flow.round(MS(100));
    let window = flow.window();
    flow.controller.on_loss(&loss(LossKind::Detected, 100));
    assert_eq!(flow.window(), window);
    let before = flow.controller;
    flow.controller.on_loss(&loss(LossKind::Timeout, 100));
    assert_eq!(flow.window(), 2.0);
    assert!(flow.controller.would_undo(&before));
    flow.controller.on_undo(before, &ack(0).connection);
    assert_eq!(flow.window(), window);
    assert!(!flow.controller.would_undo(&flow.controller.clone()));
}

/// Section 2.2: with a queue that never becomes nearly empty 1 / delta grows by one packet per round trip from the
/// sixth on. A loss halves it, and the first nearly empty moment ends this mode.
#[test]
fn a_standing_queue_enters_competitive_mode() {
    let config = CopaConfig { min_rtt_lifetime: Duration::from_secs(100), ..CONFIG };
    let mut flow = Flow::steady(&config, 100.0);
    flow.round(MS(100));
    let mut deltas = Vec::new();
    for _ in 0..40 {
        flow.round(MS(150));
        flow.round(MS(160));
        deltas.push(1.0 / flow.controller.delta());
    }
    assert!(flow.controller.is_competing());
    assert!(deltas[1] < 2.5 && deltas[39] > 50.0, "{deltas:?}");
    let grown: Vec<f64> = deltas[20..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(grown.iter().all(|grown| (0.9..3.1).contains(grown)), "{grown:?}");
    let before = 1.0 / flow.controller.delta();
    flow.controller.on_loss(&loss(LossKind::Detected, 100));
    assert!((1.0 / flow.controller.delta() - before / 2.0).abs() < 1e-9);
    flow.round(MS(100));
    assert!(!flow.controller.is_competing());
    assert_eq!(flow.controller.delta(), 0.5);
}

/// Section 2.1: the minimum round trip is that of ten seconds, which adapts to a longer path.
#[test]
fn a_longer_path_is_learnt_in_ten_seconds() {
    let mut flow = Flow::steady(&CopaConfig { competitive_mode: false, ..CONFIG }, 100.0);
    flow.round(MS(100));
    for _ in 0..40 {
        flow.round(MS(200));
    }
    assert!(flow.window() < 5.0, "{}", flow.window());
    for _ in 0..28 {
        flow.round(MS(200));
    }
    assert!(flow.window() > 50.0, "{}", flow.window());
}

/// RFC 2861, section 3: the rest of an unused window grows exponentially again, until queueing delay ends that.
#[test]
fn an_unused_window_grows_back_by_slow_start() {
    let mut flow = Flow::steady(&CopaConfig { competitive_mode: false, ..CONFIG }, 400.0);
    flow.round(MS(100));
    let connection = flow.sample(MS(100), 1).connection;
    let rate = flow.controller.decision().pacing_rate.expect("a round trip is known");
    let before = flow.window();
    flow.controller.on_window_unused(100.0, &connection);
    assert_eq!(flow.window(), 100.0);
    let after = flow.controller.decision().pacing_rate.expect("a round trip is known");
    let share = after.as_bits_per_sec() as f64 / rate.as_bits_per_sec() as f64;
    assert!((share - 100.0 / before).abs() < 0.001, "{after} of {rate}");
    flow.round(MS(100));
    assert_eq!(flow.window(), 200.0);
    // At most a window of 404 with 1 ms queued.
    for _ in 0..20 {
        flow.round(MS(101));
    }
    assert!((190.0..=210.0).contains(&flow.window()), "{}", flow.window());
}

/// The authors' code, `ReduceOnLoss`: with more than three in ten of the packets of two round trips lost, the window is
/// reduced to the delivered share; fewer losses change nothing.
#[test]
fn heavy_losses_reduce_the_window_to_the_delivered_share() {
    let lost = |flow: &Flow| {
        let connection = flow.sample(MS(100), 1).connection;
        LostSample { connection, sequence: 0, bytes: 1000, sent_at: flow.now, named: false }
    };
    for (of_ten, left) in [(2, None), (5, Some(0.5)), (9, Some(0.1))] {
        let mut flow = Flow::steady(&CopaConfig { competitive_mode: false, ..CONFIG }, 1000.0);
        let mut cuts = Vec::new();
        for number in 0..900 {
            flow.now += MS(1);
            let before = flow.window();
            if number % 10 < of_ten {
                let sample = lost(&flow);
                flow.controller.on_packet_lost(&sample, ());
            } else {
                let sample = AckSample { sent_at: flow.now, ..flow.sample(MS(100), 1) };
                flow.controller.on_ack(&sample, ());
            }
            if flow.window() < before {
                cuts.push(flow.window() / before);
                assert_eq!(flow.controller.velocity(), 1.0);
            }
        }
        // Two round trips of packets lie between the first cut and the second.
        match (left, cuts.get(1)) {
            (None, None) => assert!(flow.window() > 1000.0, "{}", flow.window()),
            (Some(left), Some(share)) => assert!((share - left).abs() < 0.02, "{share} for {left}"),
            _ => panic!("{cuts:?} for {of_ten} of ten"),
        }
    }
}

/// It does not respond to marks, so its packets must not be ECN-capable.
#[test]
fn packets_are_not_marked() {
    assert_eq!(CONFIG.ce_response(), CeResponse::None);
}
