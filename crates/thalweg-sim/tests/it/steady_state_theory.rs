//! Transports compared with the theory of their steady state.

use crate::test_network::{bytes, direction, group, millis, pipe, run, window, with_random_loss};
use thalweg_proto::congestion::{CubicConfig, FixedWindowConfig, NewRenoConfig, VegasConfig};
use thalweg_proto::transport::Limit as HeldBy;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::{ControllerConfig, EndsConfig};
use thalweg_proto::window::{ReceiverConfig, Recovery, SenderConfig};
use thalweg_queue::{ImpairmentSpec, Limit, LossSpec};
use thalweg_sim::closed_formulas;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{RunResult, Simulation, Status};

/// Payload of a segment, in bits.
const PAYLOAD: f64 = 960.0 * 8.0;

const INITIAL: (f64, f64) = (2.0, 64.0);

fn new_reno() -> ControllerConfig {
    let (initial_window, initial_ssthresh) = INITIAL;
    ControllerConfig::NewReno(NewRenoConfig {
        initial_window,
        initial_ssthresh,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

fn vegas(alpha: f64, beta: f64) -> ControllerConfig {
    let (initial_window, initial_ssthresh) = INITIAL;
    ControllerConfig::Vegas(VegasConfig {
        initial_window,
        initial_ssthresh,
        alpha,
        beta,
        gamma: 1.0,
        slow_start: Default::default(),
    })
}

fn cubic(fast_convergence: bool) -> ControllerConfig {
    let (initial_window, initial_ssthresh) = INITIAL;
    ControllerConfig::Cubic(CubicConfig {
        initial_window,
        initial_ssthresh,
        c: 0.4,
        beta: 0.7,
        fast_convergence,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    })
}

/// Runs without the verifier, for many millions of packets.
fn run_fast(spec: &Spec) -> RunResult {
    let mut simulation = Simulation::new(spec, NoTrace).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, NoTrace) = simulation.finish();
    assert!(result.conservation.holds());
    result
}

fn bulk(controller: ControllerConfig) -> GroupSpec {
    group("flow", 1, window(controller), WorkloadSpec::Bulk)
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} instead of {expected}");
}

/// 10 Mbit/s and 10 ms each way: a round trip takes 20 ms, 0.8 ms for the segment and 0.032 ms for its acknowledgement.
const ROUND_TRIP: f64 = 0.020_832;

fn ten_mbit(limit: Limit) -> DirectionSpec {
    direction(Rate::from_mbits_per_sec(10), millis(10), limit)
}

/// With too small a window, exactly one window of segments is delivered per round trip.
#[test]
fn a_small_window_sends_a_window_each_round_trip() {
    for window in [1, 2, 7, 26] {
        let spec = pipe(ten_mbit(Limit::Unlimited));
        let flow = bulk(ControllerConfig::FixedWindow(FixedWindowConfig { window: f64::from(window) }));
        let result = run(&Spec { groups: vec![flow], duration: Duration::from_secs(10), ..spec });
        // Segment k (from 0) of each window arrives 10.8 ms and k times 0.8 ms after the window began.
        let until = |k: i32| ((10.0 - 0.0108 - 0.0008 * f64::from(k)) / ROUND_TRIP).floor() as u64 + 1;
        let expected: u64 = (0..window).map(until).sum();
        assert_eq!(result.flows[0].delivered.get(), expected * 960, "window {window}");
        assert_eq!(result.flows[0].retransmissions, 0);
    }
}

/// With a sufficient window (the path holds 26.04 segments) the link is never idle and delivers 960 bytes of each 1000.
#[test]
fn enough_window_fills_the_link() {
    for window in [27.0, 40.0, 200.0] {
        let mut spec = pipe(ten_mbit(Limit::Unlimited));
        (spec.warmup, spec.duration) = (Duration::from_secs(1), Duration::from_secs(11));
        spec.groups = vec![bulk(ControllerConfig::FixedWindow(FixedWindowConfig { window }))];
        let result = run(&spec);
        // Within one packet: the one in service at the end of the warm-up is not counted.
        assert_near(result.links[0].utilisation, 1.0, 1e-4);
        assert_near(result.flows[0].goodput.as_f64(), 9.6e6, 1.5e-4);
        // The excess over the path's capacity waits; the segment in service does not count as waiting.
        assert_near(result.links[0].queue.mean_packets + 1.0, window - (ROUND_TRIP - 0.0008) / 0.0008, 0.05);
    }
}

/// Every controller fills a link with a queue of one bandwidth-delay product.
#[test]
fn every_controller_fills_a_well_buffered_link() {
    for controller in [new_reno(), cubic(true), vegas(2.0, 4.0)] {
        let mut spec = pipe(ten_mbit(Limit::Packets(26)));
        (spec.warmup, spec.duration) = (Duration::from_secs(5), Duration::from_secs(35));
        spec.groups = vec![bulk(controller.clone())];
        let result = run(&spec);
        assert!(result.links[0].utilisation > 0.98, "{controller:?}: {}", result.links[0].utilisation);
    }
}

/// A path of 100 ms, much faster than the window, with losses as in `loss`.
fn lossy_path(loss: LossSpec, controller: ControllerConfig, recovery: Recovery, seconds: u64) -> f64 {
    let clean = direction(Rate::from_mbits_per_sec(10_000), millis(50), Limit::Unlimited);
    let impairment = ImpairmentSpec { loss, ..ImpairmentSpec::default() };
    let mut spec = pipe(clean.clone());
    spec.links[0].forward = DirectionSpec { impairment, ..clean };
    (spec.warmup, spec.duration) = (Duration::from_secs(seconds / 10), Duration::from_secs(seconds));
    let transport = TransportSpec::new(
        "window",
        EndsConfig::new(
            SenderConfig { segment: 960, recovery, ..SenderConfig::default() },
            ReceiverConfig::default(),
            controller,
        ),
        40,
        40,
    );
    spec.groups = vec![group("flow", 1, transport, WorkloadSpec::Bulk)];
    let result = run_fast(&spec);
    // Mean window in segments.
    result.flows[0].goodput.as_f64() / PAYLOAD * 0.1
}

/// NewReno's response function (Mathis et al. 1997): the mean window is sqrt(3/2) / sqrt(p), within 15 %, for random
/// losses with p from 1e-4 to 1e-2, at 300 losses or more each.
#[test]
fn new_reno_responds_to_loss_as_in_mathis() {
    for (probability, seconds) in [(1e-4, 3000), (3e-4, 2000), (1e-3, 1500), (3e-3, 1000), (1e-2, 800)] {
        let loss = LossSpec::Uniform { probability };
        let mean = lossy_path(loss, new_reno(), Recovery::Sack, seconds);
        assert_near(mean, closed_formulas::mathis_window(probability, 1.0).unwrap(), 0.15);
    }
}

/// Returns the packets lost by a link that loses one in `period`.
fn one_in(period: u64) -> LossSpec {
    LossSpec::List((1..200).map(|n| n * period).collect())
}

/// The same with exactly one loss in 1/p packets, for which the formula is exact: within 5 %, with or without selective
/// acknowledgement.
#[test]
fn new_reno_responds_to_periodic_loss() {
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        for (period, seconds) in [(1_000, 200), (10_000, 1000)] {
            let mean = lossy_path(one_in(period), new_reno(), recovery, seconds);
            assert_near(mean, closed_formulas::mathis_window(1.0 / period as f64, 1.0).unwrap(), 0.05);
        }
    }
}

/// CUBIC's response function, RFC 9438, section 5.1, equation 5, in its model of one loss in 1/p packets: the mean
/// window is [`closed_formulas::cubic_window`]. The curve is so flat near its maximum that CUBIC takes hundreds of losses to
/// converge. Hence the first loss comes when the window has the maximum of the model, 4 / 3.7 of the mean. Within 7 %:
/// each loss takes a round trip to repair, at the lowest window, which the model ignores.
#[test]
fn cubic_responds_to_loss_as_in_rfc_9438() {
    for (period, seconds) in [(10_000u64, 500), (50_000, 600)] {
        let mean = closed_formulas::cubic_window(1.0 / period as f64, 0.1, 0.4, 0.7).unwrap();
        let max = mean * 4.0 / 3.7;
        let initial_ssthresh = 0.7 * max;
        let k = (0.3 * max / 0.4).cbrt();
        let first = 2.0 * initial_ssthresh + (initial_ssthresh * k + 0.1 * k.powi(4)) / 0.1;
        let loss = LossSpec::List((0..200).map(|n| first as u64 + n * period).collect());
        let cubic = ControllerConfig::Cubic(CubicConfig {
            initial_window: 2.0,
            initial_ssthresh,
            c: 0.4,
            beta: 0.7,
            fast_convergence: false,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        assert_near(lossy_path(loss, cubic, Recovery::Sack, seconds), mean, 0.07);
    }
}

/// Vegas keeps between alpha and beta segments of each flow in the queue (Brakmo and Peterson 1995, section 3.2),
/// without loss, and fills the link.
#[test]
fn vegas_keeps_alpha_to_beta_segments_queued() {
    for (alpha, beta) in [(1.0, 3.0), (2.0, 4.0), (6.0, 10.0)] {
        for flows in [1u32, 3] {
            let mut spec = pipe(ten_mbit(Limit::Packets(200)));
            (spec.warmup, spec.duration) = (Duration::from_secs(20), Duration::from_secs(60));
            spec.groups = vec![GroupSpec { count: flows, ..bulk(vegas(alpha, beta)) }];
            let result = run(&spec);
            // The segment in service is not in the queue, but counts for Vegas.
            let queued = (result.links[0].queue.mean_packets + 1.0) / f64::from(flows);
            assert!(
                queued > alpha - 0.5 && queued < beta + 0.5,
                "{queued} for {alpha} to {beta}, {flows} flows"
            );
            assert_eq!(result.links[0].drops_full, 0);
            assert!(result.links[0].utilisation > 0.999);
        }
    }
}

/// Two equal flows with different start times share a link equally in the long run.
#[test]
fn equal_flows_share_equally() {
    for (controller, index) in [(new_reno(), 0.98), (cubic(true), 0.95), (vegas(2.0, 4.0), 0.9)] {
        let mut spec = pipe(ten_mbit(Limit::Packets(26)));
        (spec.warmup, spec.duration) = (Duration::from_secs(30), Duration::from_secs(230));
        let stagger = millis(5_003);
        spec.groups = vec![GroupSpec { count: 2, stagger, ..bulk(controller.clone()) }];
        let result = run_fast(&spec);
        assert!(result.groups[0].jain.unwrap() > index, "{controller:?}: {:?}", result.groups[0].jain);
        assert_near(result.groups[0].goodput.as_f64(), 9.6e6, 0.03);
    }
}

/// NewReno's window over a full queue is a saw-tooth between half of its maximum and the maximum: link and queue hold
/// 26.04 + 40 segments plus one in service. The mean queue is the mean of the saw-tooth less the path.
#[test]
fn new_reno_draws_a_saw_tooth() {
    let mut spec = pipe(ten_mbit(Limit::Packets(40)));
    (spec.warmup, spec.duration) = (Duration::from_secs(20), Duration::from_secs(220));
    spec.groups = vec![bulk(new_reno())];
    let result = run_fast(&spec);
    let max = 40.0 + ROUND_TRIP / 0.0008;
    // The window grows by one per round trip, whose duration is proportional to the window: larger windows weigh more.
    let windows = (max / 2.0) as u32..=max as u32;
    let time: f64 = windows.clone().map(|w| f64::from(w).max(26.04)).sum();
    let queue: f64 = windows.map(|w| (f64::from(w) - 26.04).max(0.0) * f64::from(w).max(26.04)).sum();
    assert_near(result.links[0].queue.mean_packets, queue / time, 0.08);
    assert_eq!(result.flows[0].timeouts, 0);
}

/// Each component has its own random stream: a second lossy link with its own traffic leaves the first flow's result
/// bit-identical; another seed does not.
#[test]
fn components_have_independent_random_streams() {
    let link = with_random_loss(ten_mbit(Limit::Packets(20)), 0.01);
    let mut alone = pipe(link.clone());
    let poisson =
        WorkloadSpec::Poisson { gap: millis(20), size: SizeSpec::Exponential { mean: bytes(9_000) } };
    alone.groups = vec![group("first", 1, window(new_reno()), poisson.clone())];
    let mut both = alone.clone();
    for name in ["x", "y"] {
        both.nodes.push(NodeSpec::new(name));
    }
    both.links.push(LinkSpec::new("other", [NodeId(2), NodeId(3)], link.clone(), link));
    both.groups
        .push(GroupSpec { from: NodeId(2), ..group("second", 3, window(cubic(true)), WorkloadSpec::Bulk) });
    let (alone_result, both_result) = (run(&alone), run(&both));
    assert_eq!(alone_result.flows[0], both_result.flows[0]);
    assert_eq!(alone_result.links[0], both_result.links[0]);
    assert_eq!(alone_result.fingerprint, run(&alone).fingerprint);
    assert_ne!(alone_result.fingerprint, run(&Spec { seed: 2, ..alone }).fingerprint);
}

/// Returns the result of a transfer of ten segments over the pipe that loses these packets.
fn with_losses(lost: &[u64]) -> RunResult {
    with_losses_until(lost, Duration::from_secs(10))
}

fn with_losses_until(lost: &[u64], end: Duration) -> RunResult {
    let mut link = ten_mbit(Limit::Unlimited);
    link.impairment = ImpairmentSpec { loss: LossSpec::List(lost.into()), ..ImpairmentSpec::default() };
    let mut spec = pipe(link);
    // Acknowledgements are never lost.
    spec.links[0].backward = ten_mbit(Limit::Unlimited);
    spec.groups = vec![group("flow", 1, window(new_reno()), WorkloadSpec::Transfer(bytes(9600)))];
    spec.duration = end;
    run(&spec)
}

/// A wait for the retransmission timer is reported as such, whatever its cause: the first flight lost (the initial
/// timeout of a second, RFC 6298, 2.1), the last segment lost, and a retransmission lost.
#[test]
fn waits_for_the_retransmission_timer_have_one_name() {
    for (what, lost) in [("first flight", vec![1, 2]), ("tail", vec![10]), ("repair", vec![3, 11])] {
        let flow = &with_losses(&lost).flows[0];
        assert_eq!(flow.timeouts, 1, "{what}");
        let total: f64 = flow.limits.iter().map(|span| span.as_secs_f64()).sum();
        let waited = flow.limits[HeldBy::RetransmissionTimer.index()].as_secs_f64();
        assert!(waited / total > 0.6, "{what}: {waited} s of {total} s");
        for limit in HeldBy::ALL.into_iter().filter(|limit| *limit != HeldBy::RetransmissionTimer) {
            assert!(flow.limits[limit.index()].as_secs_f64() < waited, "{what}: {}", limit.name());
        }
        let end = flow.finished.expect("it ends").as_secs_f64();
        assert!((total - end).abs() < 0.02, "{what}: {total} s of {end} s");
    }
    // If the run ends before the timer expires, the wait is still reported, but not the sending before it.
    for (what, lost, end) in
        [("first flight", vec![1, 2], 0.5), ("tail", vec![10], 0.2), ("repair", vec![3, 11], 0.2)]
    {
        let flow = &with_losses_until(&lost, Duration::from_secs_f64(end)).flows[0];
        let waited = flow.limits[HeldBy::RetransmissionTimer.index()].as_secs_f64();
        assert_eq!(flow.timeouts, 0, "{what}");
        assert!(
            (0.1..end - 0.01).contains(&waited) || what == "first flight" && waited > 0.45,
            "{what}: {waited} s of {end} s"
        );
        let total: f64 = flow.limits.iter().map(|span| span.as_secs_f64()).sum();
        assert!((total - end).abs() < 1e-9, "{what}: {total} s of {end} s");
    }
    // If acknowledgements are in flight at the end, there is no wait.
    let shortened_run = &with_losses_until(&[4], Duration::from_millis(15)).flows[0];
    assert_eq!(shortened_run.limits[HeldBy::RetransmissionTimer.index()], Duration::ZERO);
    // If the timer does not expire, there is no wait.
    let calm = &with_losses(&[4]).flows[0];
    assert_eq!((calm.timeouts, calm.limits[HeldBy::RetransmissionTimer.index()]), (0, Duration::ZERO));
}
