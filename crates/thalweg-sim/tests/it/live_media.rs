//! Live media between two hosts: results that follow from its rules, with competing traffic, and compared with
//! published figures.

use crate::test_network::{direction, group, pipe, run};
use thalweg_proto::congestion::CubicConfig;
use thalweg_proto::media::{Config, EncoderConfig, Response};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::{DisciplineSpec, DualPi2Config, FqCoDelConfig, Limit};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{MediaResult, RunResult};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A call over a link; the first 10 s are not counted.
fn call(config: Config, rate: Rate, delay: Duration, queue: DisciplineSpec) -> Spec {
    let mut spec = pipe(DirectionSpec { queue, ..direction(rate, delay, Limit::Unlimited) });
    spec.links[0].backward = direction(rate, delay, Limit::Unlimited);
    spec.groups = vec![group("call", 1, TransportSpec::new("scream", config, 44, 40), WorkloadSpec::Bulk)];
    spec.duration = Duration::from_secs(40);
    spec.warmup = Duration::from_secs(10);
    spec
}

fn fifo(bytes: u64) -> DisciplineSpec {
    DisciplineSpec::fcfs(Limit::Bytes(bytes))
}

fn media(result: &RunResult) -> MediaResult {
    **result.flows[0].media.as_ref().expect("media")
}

/// A fixed-rate encoder on a faster path: each frame of 5000 B is five packets of at most 1200 B, paced at 1.5 times
/// the rate of 8 * 5000 * 25 bit/s and their headers of 16 B. The last leaves four packets after the first; the link of
/// 100 Mbit/s and its 10 ms are added.
#[test]
fn frames_take_their_pacing_and_the_path() {
    let rate = Rate::from_bits_per_sec(1_013_333);
    let encoder = EncoderConfig {
        min_rate: rate,
        max_rate: rate,
        spread: 0.0,
        key_size: 1.0,
        ..EncoderConfig::default()
    };
    let config = Config { encoder, ..Config::default() };
    let result = run(&call(config, Rate::from_mbits_per_sec(100), millis(10), fifo(1 << 20)));
    let media = media(&result);
    let bytes = 1_013_333.0 * 1200.0 / 1216.0 / 200.0;
    let rest = bytes - 4800.0;
    assert!((199.0..201.0).contains(&rest), "{rest}");
    assert_eq!((media.encoded.frames, media.shown.frames), (750, 750));
    assert!((media.rate.unwrap().as_f64() / 1e6 - 1.0).abs() < 0.001, "{:?}", media.rate);
    let paced = 4.0 * 1216.0 * 8.0 / (1.5 * 1.013_333e6);
    let sent = (rest + 44.0) * 8.0 / 1e8;
    let expected = paced + sent + 0.01;
    // Captures are rounded to the clock of 90 kHz.
    for of in [media.delay.p50, media.delay.p99, media.delay.mean] {
        assert!((of.as_secs_f64() / expected - 1.0).abs() < 0.016, "{of} and not {expected}");
    }
    assert_eq!((media.shown.freezes, media.shown.lost, media.encoded.skipped), (0, 0, 0));
}

/// Two seeds give different frames, one seed the same.
#[test]
fn frame_sizes_follow_the_seed() {
    let bytes = |seed| {
        let mut spec = call(Config::default(), Rate::from_mbits_per_sec(100), millis(10), fifo(1 << 20));
        spec.seed = seed;
        media(&run(&spec)).encoded.bytes
    };
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

/// An outage of a second freezes the picture until a key frame has arrived after it; the call recovers.
#[test]
fn an_outage_freezes_the_picture() {
    let mut spec = call(Config::default(), Rate::from_mbits_per_sec(4), millis(25), fifo(100_000));
    let at = |secs| Time::ZERO + Duration::from_secs(secs);
    let change = |secs, rate| Change {
        at: at(secs),
        rate: Some(rate),
        delay: None,
        impairment: None,
        jitter: None,
        queue: None,
    };
    spec.links[0].forward.schedule = vec![change(20, Rate::ZERO), change(21, Rate::from_mbits_per_sec(4))];
    let media = media(&run(&spec));
    assert!((1..=2).contains(&media.shown.freezes), "{media:?}");
    let frozen = media.shown.frozen.as_secs_f64();
    assert!((1.0..3.0).contains(&frozen), "{frozen}");
    assert!(media.rate.unwrap().as_f64() > 2.5e6, "{:?}", media.rate);
}

/// The queueing delay stays near SCReAMv2's target of 60 ms without marks (section 4.2.1.4), whatever the buffer size.
#[test]
fn delay_is_held_to_the_target() {
    let mut config = Config::default();
    config.encoder.max_rate = Rate::from_mbits_per_sec(50);
    let result = run(&call(config, Rate::from_mbits_per_sec(10), millis(25), fifo(1_000_000)));
    let flow = &result.flows[0];
    assert_eq!(flow.counts.lost_data, 0);
    let queue = flow.delay.p95.as_secs_f64() - 0.025;
    assert!((0.005..0.070).contains(&queue), "{queue}");
    assert!(flow.goodput.as_f64() > 7e6, "{}", flow.goodput);
}

/// The reference code's published traces (EricssonResearch/scream, `examples/trace-dualpi-50Mbps-25ms-l4s.txt` and
/// `-nol4s.txt`, from 10 s on): over DualPI2, 50 Mbit/s and 25 ms, the median queue is 1.0 ms with L4S and 4.2 ms
/// without, and the mean target 38.2 and 44.1 Mbit/s. Its encoder differs, and its frame sizes hardly vary.
#[test]
fn dualpi2_gives_what_the_reference_code_has() {
    let of = |ecn| {
        let encoder = EncoderConfig {
            fps: 50.0,
            max_rate: Rate::from_mbits_per_sec(100),
            spread: 0.02,
            key_size: 1.0,
            reaction: Duration::ZERO,
            ..EncoderConfig::default()
        };
        let config = Config { ecn, encoder, ..Config::default() };
        let queue = DisciplineSpec::new(Limit::Bytes(1_250_000), DualPi2Config::default());
        let result = run(&call(config, Rate::from_mbits_per_sec(50), Duration::from_micros(12_500), queue));
        let flow = &result.flows[0];
        (media(&result).rate.unwrap().as_f64() / 1e6, (flow.delay.p50.as_secs_f64() - 0.0125) * 1e3)
    };
    let ((l4s, l4s_queue), (other, other_queue)) = (of(Response::L4s), of(Response::None));
    assert!((l4s / 38.2 - 1.0).abs() < 0.15, "{l4s} Mbit/s with L4S");
    assert!((other / 44.1 - 1.0).abs() < 0.15, "{other} Mbit/s without");
    assert!((0.2..2.0).contains(&l4s_queue), "{l4s_queue} ms with L4S");
    assert!((2.0..8.0).contains(&other_queue), "{other_queue} ms without");
}

/// Next to CUBIC the queue matters: in a short FIFO queue frames wait behind a download, with FQ-CoDel and DualPI2 they
/// do not.
#[test]
fn flow_queueing_and_dualpi2_isolate_calls_from_downloads() {
    let of = |queue: DisciplineSpec| {
        let mut spec = call(Config::default(), Rate::from_mbits_per_sec(10), millis(25), queue);
        let cubic = crate::test_network::window(ControllerConfig::Cubic(CubicConfig {
            initial_window: 10.0,
            initial_ssthresh: 1e9,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        }));
        spec.groups.push(group("download", 1, cubic, WorkloadSpec::Bulk));
        media(&run(&spec))
    };
    let limit = Limit::Bytes(250_000);
    let fifo = of(fifo(250_000));
    for isolated in [
        of(DisciplineSpec::new(limit, FqCoDelConfig::default())),
        of(DisciplineSpec::new(limit, DualPi2Config::default())),
    ] {
        assert!(
            isolated.delay.p95.as_secs_f64() < 0.6 * fifo.delay.p95.as_secs_f64(),
            "{isolated:?} {fifo:?}"
        );
        assert!(isolated.rate.unwrap().as_f64() > 1.5e6, "{isolated:?}");
    }
}
