//! Applications with a read rate: it limits the goodput, the receiver's window bounds unread data, and the sender
//! reports what limits it.

use crate::test_network::{bytes, direction, group, millis, pipe, run};
use std::sync::Arc;
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::sscop;
use thalweg_proto::sstp;
use thalweg_proto::transport::Limit as SenderLimit;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, EndsConfig};
use thalweg_proto::window::{ReceiverConfig, SenderConfig};
use thalweg_queue::{Limit, LossSpec};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{Quantity, RunResult, SegmentDelay, Simulation, SpecError};

const FAST: Rate = Rate::from_mbits_per_sec(8);
const SLOW: Rate = Rate::from_mbits_per_sec(2);
/// Receive buffer in bytes.
const RECEIVE_WINDOW: u64 = 60 * 960;

/// Returns every transport with a receive window, with 60 packets of 960 bytes.
fn transports() -> Vec<TransportSpec> {
    let window = |controller| {
        TransportSpec::new(
            "window",
            EndsConfig::new(
                SenderConfig { segment: 960, ..SenderConfig::default() },
                ReceiverConfig { window: RECEIVE_WINDOW, ..ReceiverConfig::default() },
                controller,
            ),
            40,
            40,
        )
    };
    let timers = sscop::TimerConfig { poll: millis(20), ..sscop::Config::default().timers };
    let config = sscop::Config { window: 60, timers, ..sscop::Config::default() };
    vec![
        window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 60.0 })),
        window(ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 10.0,
            initial_ssthresh: 1e9,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        })),
        TransportSpec::new("sscop", sscop::EndpointConfig { sscop: Arc::new(config), segment: 960 }, 36, 36),
        two_level(),
    ]
}

/// Segments of 6 packets, a window of 10 of them.
fn two_level() -> TransportSpec {
    let rate = sstp::RateSpec::with_average(FAST, FAST, 6, bytes(1000)).unwrap();
    TransportSpec::new(
        "sstp",
        sstp::EndsConfig::new(
            sstp::SenderConfig {
                segment_packets: 6,
                max_payload: 960,
                rate,
                resume: sstp::Resume::AtOnce,
                window: 10,
                soft: false,
            },
            sstp::ReceiverConfig {
                segment_packets: 6,
                max_payload: 960,
                window: 10,
                buffer: 10,
                acknowledgement: sstp::Acknowledgement::Firm,
                tolerance: sstp::Tolerance::Packets(0),
                reordering: 0,
                repeat: millis(21),
                wait_for_consumption: false,
            },
        ),
        40,
        40,
    )
}

fn reading(rate: Rate, changes: &[(u64, Rate, bool)]) -> Option<Arc<ReadingSpec>> {
    let change = |&(at, rate, announced): &_| ReadingChange { at: Time::ZERO + millis(at), rate, announced };
    Some(Arc::new(ReadingSpec { rate, changes: changes.iter().map(change).collect() }))
}

/// 8 Mbit/s, a round trip of 20 ms, and a queue for a whole window.
fn spec(
    transport: TransportSpec,
    workload: WorkloadSpec,
    reading: Option<Arc<ReadingSpec>>,
    seconds: u64,
) -> Spec {
    let spec = pipe(direction(FAST, millis(10), Limit::Packets(1000)));
    let groups = vec![GroupSpec { reading, ..group("flow", 1, transport, workload) }];
    let measure = MeasureSpec { interval: Some(millis(10)), ..MeasureSpec::default() };
    Spec { groups, duration: Duration::from_secs(seconds), measure, ..spec }
}

fn share(result: &RunResult, held: SenderLimit) -> f64 {
    let limits = result.flows[0].limits;
    let all: f64 = limits.iter().map(|time| time.as_secs_f64()).sum();
    limits[held.index()].as_secs_f64() / all
}

#[test]
fn goodput_is_what_the_application_reads() {
    for transport in transports() {
        let mut spec = spec(transport.clone(), WorkloadSpec::Bulk, reading(SLOW, &[]), 20);
        spec.warmup = Duration::from_secs(2);
        let result = run(&spec);
        let flow = &result.flows[0];
        let off = flow.goodput.as_f64() / SLOW.as_f64();
        assert!((off - 1.0).abs() < 0.01, "{}: {off}", transport.scheme);
        // The window is full except for data in flight, and never exceeded.
        let peak = flow.unread_peak.expect("it reads at its own pace").get();
        assert!((RECEIVE_WINDOW / 2..=RECEIVE_WINDOW).contains(&peak), "{}: {peak}", transport.scheme);
        let held = share(&result, SenderLimit::ReceiverWindow);
        assert!(held > 0.7, "{}: {held} of {:?}", transport.scheme, flow.limits);
        assert_eq!((flow.retransmissions, flow.timeouts), (0, 0), "{}", transport.scheme);
        // A fast application makes no difference, nor does its sender notice.
        spec.groups[0].reading = reading(Rate::MAX, &[]);
        let result = run(&spec);
        let flow = &result.flows[0];
        assert!(flow.goodput.as_f64() > 7.3e6, "{}: {}", transport.scheme, flow.goodput);
        assert_eq!(flow.unread_peak.map(|peak| peak.get() <= 960), Some(true));
    }
}

#[test]
fn a_transfer_ends_when_it_has_been_read() {
    for transport in transports() {
        for workload in [WorkloadSpec::Transfer(bytes(100_000)), WorkloadSpec::Deliver(bytes(100_000))] {
            let result = run(&spec(transport.clone(), workload, reading(SLOW, &[]), 5));
            let flow = &result.flows[0];
            // 100 kB in 0.4 s; the first packet arrives after 11 ms and the handshake.
            let end = flow.finished.expect("it has ended").as_secs_f64();
            assert!((0.410..0.450).contains(&end), "{}: {end}", transport.scheme);
            // All arrived data reaches the application.
            assert!(flow.delivered_total.get() >= 100_000, "{}", transport.scheme);
            assert_eq!(result.groups[0].transfers.completion.count, 1, "{}", transport.scheme);
        }
    }
}

#[test]
fn an_application_that_stops_reading_stops_its_sender_and_starts_it_again() {
    for transport in transports() {
        let changes = [(1000, Rate::ZERO, false), (4000, Rate::MAX, false)];
        let result = run(&spec(transport.clone(), WorkloadSpec::Bulk, reading(FAST, &changes), 8));
        let at = |from: f64, to: f64| {
            let goodput = result.series.iter().find(|series| series.quantity == Quantity::Goodput).unwrap();
            let points: Vec<f64> = goodput
                .points
                .iter()
                .filter(|(at, _)| (from..to).contains(&at.as_secs_f64()))
                .map(|&(_, value)| value)
                .collect();
            points.iter().sum::<f64>() / points.len() as f64
        };
        let name = transport.scheme;
        assert!(at(0.5, 1.0) > 6e6, "{name}: {}", at(0.5, 1.0));
        assert_eq!(at(1.05, 4.0), 0.0, "{name}");
        // A sender of the window transport probes after up to a doubled timeout.
        assert!(at(6.0, 8.0) > 7e6, "{name}: {}", at(6.0, 8.0));
        assert!(result.flows[0].unread_peak.unwrap().get() <= RECEIVE_WINDOW, "{name}");
        assert_eq!(result.flows[0].failed, None, "{name}");
    }
}

/// Gong and Parulkar 1992, section 3.4: an announced slow-down from F to F1 reduces the window to W1 = F1/F·W0. At a
/// fifth of the negotiated rate that is two segments of ten; the application still reads at full speed.
#[test]
fn an_announced_slow_down_makes_the_window_smaller() {
    let agreed = FAST.mul_f64(0.96);
    let fifth = agreed.mul_f64(0.2);
    let max = |announced: bool| {
        let changes = [(1000, fifth, announced), (5000, Rate::MAX, announced)];
        let result = run(&spec(two_level(), WorkloadSpec::Bulk, reading(agreed, &changes), 7));
        let unread = result.series.iter().find(|series| series.quantity == Quantity::Unread).unwrap();
        let of = |from: f64, to: f64| {
            let points = unread.points.iter().filter(|(at, _)| (from..to).contains(&at.as_secs_f64()));
            points.map(|&(_, value)| value).fold(0.0, f64::max)
        };
        // Credit granted before the slow-down is not withdrawn: that data must be read first.
        assert!(of(1.0, 2.0) > 7.0 * 5760.0);
        assert_eq!(result.flows[0].retransmissions, 0, "no window was mistaken for a loss");
        assert!(of(5.1, 7.0) < 5760.0 && result.flows[0].goodput.as_f64() > 4e6);
        of(2.0, 5.0) / 5760.0
    };
    let (announced, unnotified) = (max(true), max(false));
    assert!((1.0..=2.0).contains(&announced), "{announced}");
    assert!((8.0..=10.0).contains(&unnotified), "{unnotified}");
}

#[test]
fn requests_are_answered_when_they_have_been_read() {
    let exchange = || WorkloadSpec::RequestResponse {
        request: bytes(9600),
        response: SizeSpec::Fixed(bytes(500_000)),
        think: Duration::ZERO,
    };
    for transport in transports() {
        let mean = |reading| {
            let result = run(&spec(transport.clone(), exchange(), reading, 60));
            assert!(result.groups[0].transfers.completion.count > 10, "{}", transport.scheme);
            result.groups[0].transfers.completion.mean.as_secs_f64()
        };
        // 9600 bytes in 384 ms, excluding the first packet's path; the response is read at once, whatever its size.
        let slow = mean(reading(Rate::from_bits_per_sec(200_000), &[])) - mean(None);
        assert!((0.36..0.39).contains(&slow), "{}: {slow}", transport.scheme);
    }
}

#[test]
fn invalid_reading_specs_are_rejected() {
    let refused = |transport, workload, reading| {
        let spec = spec(transport, workload, reading, 1);
        matches!(Simulation::new(&spec, NoTrace), Err(SpecError::Reading { .. }))
    };
    let poisson = WorkloadSpec::Poisson { gap: millis(100), size: SizeSpec::Fixed(bytes(1000)) };
    assert!(refused(crate::test_network::datagrams(), WorkloadSpec::Transfer(bytes(1)), reading(SLOW, &[])));
    assert!(refused(two_level(), poisson, reading(SLOW, &[])));
    let announced = || reading(SLOW, &[(5, FAST, true)]);
    assert!(refused(transports().remove(0), WorkloadSpec::Bulk, announced()));
    assert!(!refused(two_level(), WorkloadSpec::Bulk, announced()));
    let disorder = reading(SLOW, &[(5, FAST, false), (4, FAST, false)]);
    assert!(refused(two_level(), WorkloadSpec::Bulk, disorder));
}

/// Segment delay without loss: s packets at the rate, plus the path. With one loss: until the retransmission arrives.
#[test]
fn segments_are_timed_from_their_first_packet_to_their_acceptance() {
    let none = run(&spec(two_level(), WorkloadSpec::Bulk, None, 4));
    // Six packets of 1 ms, then 10 ms of propagation.
    let expected = SegmentDelay { mean: millis(16), max: millis(16), ..none.flows[0].segment_delay };
    assert_eq!(none.flows[0].segment_delay, expected);
    assert!((650..=666).contains(&expected.count), "{}", expected.count);
    let mut one = spec(two_level(), WorkloadSpec::Bulk, None, 4);
    one.links[0].forward.impairment.loss = LossSpec::List(vec![600].into());
    let lost = run(&one).flows[0].segment_delay;
    // The next packet reveals the loss; the request takes 10 ms and its transmission time, the retransmission waits for
    // the current segment and takes 11 ms.
    assert!((millis(16 + 20)..millis(16 + 20 + 9)).contains(&lost.max), "{lost:?}");
    // Segments before the end of the warm-up are not counted.
    one.warmup = Duration::from_secs(2);
    let later = run(&one).flows[0].segment_delay;
    assert!(later.max == millis(16) && (325..=334).contains(&later.count), "{later:?}");
}
