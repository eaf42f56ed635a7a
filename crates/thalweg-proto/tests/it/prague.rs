//! Prague by the sections of draft-briscoe-iccrg-prague-congestion-control, and the steady-state laws of its window.

#[allow(dead_code, reason = "not every test uses all of it")]
use crate::ack_samples::{ack, loss};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, LossKind, LossSample, Prague,
    PragueConfig,
};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

const CONFIG: PragueConfig = PragueConfig {
    initial_window: 10.0,
    initial_ssthresh: 2.0,
    gain: 1.0 / 16.0,
    virtual_rtt: Duration::from_millis(25),
    transition: 500,
    burst_delay: Duration::from_micros(250),
};

/// A sender with segments of a byte each, over a path with this round-trip time.
struct Flow {
    controller: Prague,
    rtt: Duration,
    now: Time,
    start: u64,
}

impl Flow {
    fn new(config: &PragueConfig, rtt: Duration) -> Self {
        Self { controller: Prague::new(config), rtt, now: Time::ZERO, start: 0 }
    }

    /// Returns the sample of one acknowledged segment of `segments` in a round trip; another segment leaves.
    fn sample(&mut self, segments: u64, segment: u64, ce: u32) -> AckSample {
        let now = self.now + self.rtt * segment / segments;
        let next_sequence = self.start + segments + segment - 1;
        let connection = ConnectionState {
            now,
            next_sequence,
            smoothed_rtt: self.rtt,
            min_rtt: self.rtt,
            in_flight: segments as u32,
            ..ack(0).connection
        };
        AckSample { cumulative: self.start + segment, connection, ce, in_flight_bytes: 0, ..ack(0) }
    }

    /// Simulates a round trip of `segments` segments, with CE on those selected by `is_marked`.
    fn round_of(&mut self, segments: u64, mut is_marked: impl FnMut(u64) -> bool) {
        for segment in 1..=segments {
            let ce = u32::from(is_marked(segment));
            let sample = self.sample(segments, segment, ce);
            self.controller.on_ack(&sample, ());
        }
        self.start += segments;
        self.now += self.rtt;
    }

    /// Simulates a round trip of a window.
    fn round(&mut self, is_marked: impl FnMut(u64) -> bool) {
        self.round_of(self.controller.decision().window as u64, is_marked);
    }

    /// Returns the window after `rounds`, with only the first segment marked.
    fn grown(&mut self, rounds: u64) -> f64 {
        let before = self.controller.window();
        for _ in 0..rounds {
            self.round(|_| false);
        }
        self.controller.window() - before
    }
}

const SHORT_RTT: Duration = Duration::from_millis(5);

/// Section 2.2: data is ECT(1).
#[test]
fn data_is_ect1() {
    assert_eq!(CONFIG.ce_response(), CeResponse::ControllerSpecific(Ecn::Ect1));
}

/// Section 2.3.2: alpha moves by g = 1/16 towards the share of CE once a round, from the first CE on.
#[test]
fn alpha_follows_the_share_of_marks() {
    let mut flow = Flow::new(&CONFIG, Duration::from_millis(100));
    for _ in 0..20 {
        flow.round(|_| false);
    }
    assert_eq!(flow.controller.alpha(), 1.0);
    let mut expected = 1.0;
    for round in 0..60 {
        flow.round_of(64, |segment| segment % 4 == 0);
        // A round is evaluated at the first acknowledgement behind it.
        expected += if round == 0 { 0.0 } else { (0.25 - expected) / 16.0 };
        assert!(
            (flow.controller.alpha() - expected).abs() < 0.01,
            "{} for {expected}",
            flow.controller.alpha()
        );
    }
}

/// Section 2.4.2: the first CE of a round reduces the window by half of alpha, further ones of the round not at all.
/// Section 2.4.3: segments without CE grow the window by a segment per round, also in a round with a reduction.
#[test]
fn the_window_is_reduced_once_a_round_and_still_grows() {
    let mut flow = Flow::new(&CONFIG, Duration::from_millis(100));
    for _ in 0..30 {
        flow.round(|_| false);
    }
    for _ in 0..100 {
        flow.round(|segment| segment == 1);
    }
    let (window, alpha) = (flow.controller.window(), flow.controller.alpha());
    assert!(alpha < 0.5, "{alpha}");
    let segments = window as u64;
    flow.round_of(segments, |segment| segment % 2 == 1);
    // Every second segment increased it.
    let expected = window * (1.0 - alpha / 2.0) + 0.5;
    // Alpha moved once, by at most a sixteenth of the difference.
    assert!((flow.controller.window() - expected).abs() < 0.05 * window, "{}", flow.controller.window());
    let before = flow.controller.window();
    let rise = flow.grown(1);
    assert!((rise - 1.0).abs() < 0.15, "{rise} of {before}");
}

/// Section 2.4.5: slow start doubles the window per round, and the first CE ends it.
#[test]
fn slow_start_ends_with_the_first_mark() {
    let mut flow = Flow::new(&PragueConfig { initial_ssthresh: 1e9, ..CONFIG }, SHORT_RTT);
    flow.round(|_| false);
    flow.round(|_| false);
    assert_eq!(flow.controller.window(), 40.0);
    flow.round(|segment| segment == 1);
    // Alpha is 1 until the first CE. Afterwards this round's other 39 segments add one.
    assert!((flow.controller.window() - 21.9).abs() < 0.2, "{}", flow.controller.window());
    assert!(flow.controller.ssthresh().unwrap() <= 20.0);
    assert!((flow.grown(1) - 1.0).abs() < 0.1);
}

/// Section 2.4.5: CE ends slow start also in the round of a loss, without a further window reduction.
#[test]
fn slow_start_after_a_timeout_ends_with_a_mark() {
    let mut flow = Flow::new(&CONFIG, SHORT_RTT);
    flow.round(|_| false);
    let sample = flow.sample(20, 20, 0);
    flow.controller.on_loss(&LossSample { connection: sample.connection, ..loss(LossKind::Timeout, 20) });
    assert_eq!(flow.controller.window(), 1.0);
    assert!(flow.controller.ssthresh() > Some(1.0));
    let marked = flow.sample(20, 1, 1);
    flow.controller.on_ack(&marked, ());
    assert_eq!((flow.controller.window(), flow.controller.ssthresh()), (1.0, Some(1.0)));
}

/// Section 2.4.4: with RTT / RTT_ref = 1 / 5 the window grows by 1 / 25 per round, after the transition and not before.
/// Round trips longer than the virtual one are unchanged.
#[test]
fn short_round_trips_grow_at_the_virtual_rate() {
    let settled = PragueConfig { transition: 10, ..CONFIG };
    let mut flow = Flow::new(&settled, SHORT_RTT);
    assert!((flow.grown(5) - 5.0).abs() < 0.5);
    flow.round(|segment| segment == 1);
    let _ = flow.grown(10);
    let rise = flow.grown(25);
    assert!((rise - 1.0).abs() < 0.1, "{rise}");
    for (config, rtt) in [(CONFIG, SHORT_RTT), (settled, Duration::from_millis(40))] {
        let mut flow = Flow::new(&config, rtt);
        let _ = flow.grown(20);
        let rise = flow.grown(10);
        assert!((rise - 10.0).abs() < 1.0, "{rise}");
    }
    let mut never =
        Flow::new(&PragueConfig { virtual_rtt: Duration::ZERO, transition: 0, ..CONFIG }, SHORT_RTT);
    assert!((never.grown(10) - 10.0).abs() < 1.0);
}

/// Section 2.4.4: the virtual round-trip time also applies to alpha and to the interval of reductions.
#[test]
fn alpha_and_reductions_share_the_virtual_round() {
    // Large enough for reductions never to reach the minimum window.
    let mut flow = Flow::new(&PragueConfig { transition: 0, initial_window: 1e12, ..CONFIG }, SHORT_RTT);
    let (mut alphas, mut cuts) = (Vec::new(), 0);
    for _ in 0..50 {
        let window = flow.controller.window();
        flow.round_of(20, |segment| segment == 10);
        cuts += u32::from(flow.controller.window() < window);
        alphas.push(flow.controller.alpha());
    }
    alphas.dedup();
    // 50 rounds of 5 ms are ten of 25 ms; one more if a round ends slightly late.
    assert!((8..=11).contains(&alphas.len()), "{alphas:?}");
    assert!((8..=11).contains(&cuts), "{cuts}");
}

/// Section 2.5.1: a window per round trip, twice that in slow start; section 2.5.2: bursts of 250 us.
#[test]
fn pacing_spreads_the_window() {
    let rate = |flow: &Flow| flow.controller.decision().pacing_rate.unwrap().as_f64();
    let mut flow = Flow::new(&PragueConfig { initial_ssthresh: 1e9, ..CONFIG }, Duration::from_millis(10));
    assert_eq!(flow.controller.decision().pacing_rate, None);
    flow.round(|_| false);
    // 20 segments of 1000 bytes in 10 ms.
    assert!((rate(&flow) / (2.0 * 16e6) - 1.0).abs() < 1e-6, "{}", rate(&flow));
    flow.round(|segment| segment == 1);
    let window = flow.controller.window();
    assert!((rate(&flow) / (window * 8e5) - 1.0).abs() < 1e-6, "{}", rate(&flow));
    assert_eq!(flow.controller.decision().burst, 1);
    let mut sample = flow.sample(1000, 1, 0);
    // The flight, if it exceeds the window.
    sample.in_flight_bytes = 1_000_000;
    flow.controller.on_ack(&sample, ());
    assert!((rate(&flow) / 800e6 - 1.0).abs() < 1e-6, "{}", rate(&flow));
    // 800 Mbit/s for 250 us.
    assert_eq!(flow.controller.decision().burst, 25);
}

/// Section 2.4.1: a loss halves; section 3.2.1: including the reduction by CE of the same round.
#[test]
fn a_loss_halves_together_with_the_marks_of_its_round() {
    let round_trip = Duration::from_millis(100);
    let lost = |flow: &mut Flow, kind| {
        let outstanding = flow.controller.decision().window as u32;
        let connection = ConnectionState {
            next_sequence: flow.start + 64,
            smoothed_rtt: round_trip,
            ..loss(kind, outstanding).connection
        };
        flow.controller.on_loss(&LossSample { connection, ..loss(kind, outstanding) });
    };
    let mut flow = Flow::new(&PragueConfig { initial_window: 64.0, ..CONFIG }, round_trip);
    lost(&mut flow, LossKind::Detected);
    assert_eq!(flow.controller.window(), 32.0);
    // CE in the round of the loss has no further effect.
    let sample = flow.sample(32, 1, 1);
    flow.controller.on_ack(&sample, ());
    assert_eq!(flow.controller.window(), 32.0);

    let mut flow = Flow::new(&PragueConfig { initial_window: 64.0, ..CONFIG }, round_trip);
    for _ in 0..20 {
        flow.round_of(64, |segment| segment % 2 == 0);
    }
    let before = flow.controller.window();
    // Beyond the flight of the last reduction.
    let sample = flow.sample(64, 10, 1);
    flow.controller.on_ack(&sample, ());
    let reduced_window = flow.controller.window();
    assert!(reduced_window < 0.95 * before && reduced_window > 0.6 * before, "{reduced_window} of {before}");
    lost(&mut flow, LossKind::Detected);
    assert!(
        (flow.controller.window() / before - 0.5).abs() < 0.02,
        "{} of {before}",
        flow.controller.window()
    );
    lost(&mut flow, LossKind::Timeout);
    assert_eq!(flow.controller.window(), 1.0);
}

/// Section 2.4.2: the fraction of the window counts: with 1.5 segments three leave per two round trips.
#[test]
fn the_fraction_of_a_window_is_in_its_rate() {
    let mut flow = Flow::new(&PragueConfig { initial_window: 2.0, ..CONFIG }, Duration::from_millis(10));
    // Alpha stays at 1 with all segments marked: one segment, the minimum.
    for _ in 0..3 {
        flow.round(|_| true);
    }
    assert_eq!((flow.controller.window(), flow.controller.decision().window), (1.0, 1.0));
    flow.round(|_| false);
    flow.controller.on_loss(&loss(LossKind::Detected, 2));
    assert_eq!(flow.controller.window(), 2.0);
    let mut flow = Flow::new(&PragueConfig { initial_window: 3.0, ..CONFIG }, Duration::from_millis(10));
    let sample = flow.sample(3, 1, 1);
    flow.controller.on_ack(&sample, ());
    let decision = flow.controller.decision();
    assert_eq!((flow.controller.window(), decision.window), (1.5, 2.0));
    assert!((decision.pacing_rate.unwrap().as_f64() / 1.2e6 - 1.0).abs() < 1e-6);
}

/// Section 2.4.3: with marking probability p per segment, and m = p W marks per round, a reduction by half of alpha = p
/// occurs once per round plus the 1 / m rounds until the next mark, and the window grows by (1 - p) of a segment per
/// round. Both are equal for m^2 / (1 + m) = 2 (1 - p): windows are proportional to about (1 - p) / p.
#[test]
fn steady_windows_follow_the_share_of_marks() {
    for p in [0.02, 0.05, 0.1, 0.2] {
        let mut flow = Flow::new(&CONFIG, Duration::from_millis(100));
        let mut random = RandomStream::new(1, "marks", 0);
        let (mut sum, mut alphas) = (0.0, 0.0);
        for round in 0..6000 {
            flow.round(|_| random.unit() < p);
            if round >= 1000 {
                (sum, alphas) = (sum + flow.controller.window(), alphas + flow.controller.alpha());
            }
        }
        let (mean, alpha) = (sum / 5000.0, alphas / 5000.0);
        let kept: f64 = 1.0 - p;
        let expected = (kept + (kept * kept + 2.0 * kept).sqrt()) / p;
        assert!((mean / expected - 1.0).abs() < 0.1, "{mean} for {expected} at {p}");
        assert!((alpha / p - 1.0).abs() < 0.1, "{alpha} for {p}");
    }
}
