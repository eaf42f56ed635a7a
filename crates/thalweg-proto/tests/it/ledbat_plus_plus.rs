//! LEDBAT++ by the sections of draft-irtf-iccrg-ledbat-plus-plus: individual rules, with the draft's numbers.

#[allow(dead_code, reason = "not every test uses all of it")]
use crate::ack_samples::{ack, loss};
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, LedbatPlusPlus,
    LedbatPlusPlusConfig, LossKind, LossSample,
};
use thalweg_proto::units::{Duration, Time};

const CONFIG: LedbatPlusPlusConfig = LedbatPlusPlusConfig {
    initial_window: 2.0,
    initial_ssthresh: 1e9,
    target: Duration::from_millis(60),
    constant: 1.0,
    slowdowns: true,
};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A sender over a path with a round-trip time set by the test.
struct Flow {
    controller: LedbatPlusPlus,
    now: Time,
}

impl Flow {
    fn new(config: &LedbatPlusPlusConfig) -> Self {
        Self { controller: LedbatPlusPlus::new(config), now: Time::ZERO + MS(1000) }
    }

    fn window(&self) -> f64 {
        self.controller.decision().window
    }

    fn ssthresh(&self) -> f64 {
        self.controller.ssthresh().expect("it has one")
    }

    fn connection(&self, rtt: Duration) -> ConnectionState {
        ConnectionState { now: self.now, smoothed_rtt: rtt, ..ack(0).connection }
    }

    /// Simulates a round trip of `rtt`, with a window acknowledged segment by segment.
    fn round(&mut self, rtt: Duration) {
        let segments = self.window() as u64;
        for _ in 0..segments {
            self.now += rtt / segments;
            let sample = AckSample {
                connection: self.connection(rtt),
                sent_at: self.now - rtt,
                rtt: Some(rtt),
                ..ack(0)
            };
            self.controller.on_ack(&sample, ());
        }
    }

    fn lose(&mut self, kind: LossKind) {
        let connection = self.connection(MS(100));
        self.controller.on_loss(&LossSample { connection, ..loss(kind, 10) });
    }

    /// Returns a flow after slow start, without slowdowns, with this window and minimum round trip.
    fn steady(window: f64, shortest: Duration) -> Self {
        let config = LedbatPlusPlusConfig {
            initial_window: window,
            initial_ssthresh: window,
            slowdowns: false,
            ..CONFIG
        };
        let mut flow = Self::new(&config);
        flow.round(shortest);
        flow
    }
}

/// Section 4.2: 1 / min(16, ceil(2 * 60 ms / base)).
#[test]
fn the_gain_follows_the_base_delay() {
    for (base, divisor) in
        [(200, 1.0), (120, 1.0), (119, 2.0), (50, 3.0), (20, 6.0), (8, 15.0), (7, 16.0), (1, 16.0)]
    {
        let flow = Flow::steady(10.0, MS(base));
        assert!((flow.controller.gain() - 1.0 / divisor).abs() < 1e-9, "{base} ms");
    }
}

/// Section 4.1: two segments, times (1 + gain) per round trip, until the queueing delay exceeds 3/4 of the target.
#[test]
fn slow_start_grows_by_the_gain_and_ends_before_the_target() {
    for (base, factor) in [(120, 2.0), (60, 1.5)] {
        let config = LedbatPlusPlusConfig { initial_window: 64.0, ..CONFIG };
        let mut flow = Flow::new(&config);
        for _ in 0..3 {
            let before = flow.window();
            flow.round(MS(base));
            assert!((flow.window() / before - factor).abs() < 0.02, "{} after {before}", flow.window());
        }
        let before = flow.window();
        flow.round(MS(base + 45));
        assert!(flow.window() > 1.4 * before, "45 ms are 3/4 of 60 ms");
        // The minimum of four round trips counts: the fourth longer one ends slow start.
        let before = flow.window();
        flow.round(MS(base + 46));
        assert!(flow.window() < before + 5.0, "{} after {before}", flow.window());
        assert!(flow.ssthresh() <= flow.window(), "{}", flow.ssthresh());
    }
    assert_eq!(LedbatPlusPlus::new(&CONFIG).decision().window, 2.0);
}

/// Section 4.2: growth by gain segments per round trip while the queueing delay does not exceed the target.
#[test]
fn the_window_grows_by_the_gain_up_to_the_target() {
    for (base, gain) in [(120, 1.0), (60, 0.5), (20, 1.0 / 6.0)] {
        let mut flow = Flow::steady(100.0, MS(base));
        for queued in [0, 30, 60] {
            let before = flow.window();
            flow.round(MS(base + queued));
            let grown = flow.window() - before;
            assert!((grown - gain).abs() < 0.03, "{grown} for {gain} at {base} ms");
        }
    }
}

/// Section 4.3: max(gain - window * (delay / target - 1), -window / 2), once per round trip.
#[test]
fn the_window_shrinks_by_the_queueing_beyond_the_target() {
    // 66 ms are a tenth above the target, 90 ms half above it, 240 ms four times as much.
    for (queued, left) in [(66, 91.0), (75, 76.0), (90, 51.0), (91, 50.0), (240, 50.0)] {
        let mut flow = Flow::steady(100.0, MS(120));
        // The filter still holds the minimum.
        let rtt = MS(120 + queued);
        let before = flow.window();
        flow.round(rtt);
        let grown = 3.0 / 100.0;
        let expected = left + (before - 100.0) * left / 100.0;
        assert!((flow.window() - expected - grown).abs() < 0.6, "{} for {expected}", flow.window());
    }
    let mut flow = Flow::steady(100.0, MS(120));
    for _ in 0..20 {
        flow.round(MS(500));
    }
    assert_eq!(flow.window(), 2.0);
}

/// RFC 6817, section 2.4.2: half after a loss, one segment after a timeout.
#[test]
fn a_loss_halves_the_window() {
    let mut flow = Flow::steady(100.0, MS(120));
    let before = flow.window();
    flow.lose(LossKind::Detected);
    assert!((flow.window() - before / 2.0).abs() < 1e-9);
    flow.lose(LossKind::Timeout);
    assert_eq!(flow.window(), 1.0);
    assert!((flow.ssthresh() - before / 4.0).abs() < 1e-9);
    assert_eq!(CONFIG.ce_response(), CeResponse::AsToLoss);
}

/// Section 4.4: two round trips after the first slow start the window is two segments for two round trips, then returns
/// to the old value. The next slowdown follows after nine times the duration of this one.
#[test]
fn slowdowns_take_a_tenth_of_the_time() {
    let config = LedbatPlusPlusConfig { initial_window: 64.0, initial_ssthresh: 64.0, ..CONFIG };
    let mut flow = Flow::new(&config);
    flow.round(MS(120));
    let left = flow.now;
    let mut start_times = Vec::new();
    let mut end_times = Vec::new();
    let mut still = Duration::ZERO;
    let mut before = flow.window();
    for _ in 0..2000 {
        if end_times.len() == 4 {
            break;
        }
        let slowed = flow.controller.is_slowed_down();
        flow.round(MS(120));
        match (slowed, flow.controller.is_slowed_down()) {
            (false, true) => {
                start_times.push(flow.now);
                assert_eq!(flow.window(), 2.0);
                assert!((flow.ssthresh() - before).abs() < 3.0, "{} for {before}", flow.ssthresh());
                still = Duration::ZERO;
            }
            (true, false) => {
                end_times.push(flow.now);
                assert!(flow.window() > flow.ssthresh() - 1.0);
                assert!((MS(120)..=MS(360)).contains(&still), "{still}");
            }
            (true, true) if flow.window() == 2.0 => still += MS(120),
            _ => {}
        }
        if !flow.controller.is_slowed_down() {
            before = flow.window();
        }
    }
    assert!((MS(120)..=MS(360)).contains(&start_times[0].since(left)), "{}", start_times[0].since(left));
    for index in 0..3 {
        let (took, interval) =
            (end_times[index].since(start_times[index]), start_times[index + 1].since(end_times[index]));
        let ratio = interval.as_secs_f64() / took.as_secs_f64();
        assert!((7.5..11.0).contains(&ratio), "{took}, then {interval}");
    }
}

/// Without the option there are no slowdowns.
#[test]
fn slowdowns_can_be_left_out() {
    let mut flow = Flow::steady(64.0, MS(120));
    for _ in 0..400 {
        flow.round(MS(120));
        assert!(!flow.controller.is_slowed_down());
    }
}

/// RFC 2861, section 3, with an unused window in a slowdown: the saved window is kept.
#[test]
fn an_unused_window_forgets_no_slowdown() {
    let mut flow = Flow::steady(64.0, MS(120));
    let connection = flow.connection(MS(120));
    flow.controller.on_window_unused(16.0, &connection);
    assert_eq!((flow.window(), flow.ssthresh()), (16.0, 64.0));
    let mut flow =
        Flow::new(&LedbatPlusPlusConfig { initial_window: 64.0, initial_ssthresh: 64.0, ..CONFIG });
    while !flow.controller.is_slowed_down() {
        flow.round(MS(120));
    }
    let (window, threshold) = (flow.window(), flow.ssthresh());
    flow.controller.on_window_unused(1.0, &flow.connection(MS(120)));
    assert_eq!((flow.window(), flow.ssthresh()), (window, threshold));
}

/// Section 4.4: slowdowns continue while competing traffic fills the queue; the window recovers when it has ended.
#[test]
fn a_least_window_slows_down_again() {
    let mut flow =
        Flow::new(&LedbatPlusPlusConfig { initial_window: 64.0, initial_ssthresh: 64.0, ..CONFIG });
    flow.round(MS(120));
    for rtt in [400, 120].into_iter().flat_map(|millis| [MS(millis); 400]) {
        let (before, window) = (flow.controller.is_slowed_down(), flow.window());
        flow.round(rtt);
        if rtt == MS(120) && window > 20.0 && !before && flow.controller.is_slowed_down() {
            return;
        }
    }
    panic!("no slowdown from a window of {}", flow.window());
}

/// Section 4.5: the current delay is the minimum of the last four round trips, so three long ones have no effect.
#[test]
fn four_long_round_trips_indicate_a_queue() {
    let mut flow = Flow::steady(64.0, MS(120));
    let before = flow.window();
    for long in 1..=4 {
        flow.now += MS(120);
        let rtt = Some(MS(300));
        let sample =
            AckSample { connection: flow.connection(MS(120)), sent_at: flow.now - MS(110), rtt, ..ack(0) };
        flow.controller.on_ack(&sample, ());
        assert_eq!(flow.window() < before, long == 4, "after {long}: {} of {before}", flow.window());
    }
}

/// A timeout of the two segments of a slowdown does not reduce the saved window: the window doubles per round trip
/// back to it. A timeout of segments sent before halves it as usual.
#[test]
fn a_timeout_in_a_slowdown_keeps_the_saved_window() {
    let config = LedbatPlusPlusConfig { initial_window: 64.0, initial_ssthresh: 64.0, ..CONFIG };
    let slowed = || {
        let mut flow = Flow::new(&config);
        while !flow.controller.is_slowed_down() {
            flow.round(MS(120));
        }
        flow
    };
    let mut flow = slowed();
    let aside = flow.ssthresh();
    let connection = flow.connection(MS(120));
    let kind = LossKind::Timeout;
    flow.controller.on_loss(&LossSample { connection, kind, sent_at: Time::ZERO, repeated: false });
    assert!((flow.ssthresh() - aside / 2.0).abs() < 1e-9);
    let mut flow = slowed();
    flow.round(MS(120));
    for repeated in [false, true] {
        let connection = flow.connection(MS(120));
        flow.controller.on_loss(&LossSample { connection, kind, sent_at: flow.now, repeated });
        assert_eq!((flow.window(), flow.ssthresh()), (1.0, aside));
        flow.now += MS(400);
    }
    for doubled in [2.0, 4.0, 8.0] {
        flow.round(MS(120));
        assert!((flow.window() - doubled).abs() < 1e-9, "{}", flow.window());
        assert!(flow.controller.is_slowed_down());
    }
}
