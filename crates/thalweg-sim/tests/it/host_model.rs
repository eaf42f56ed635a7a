//! Hosts whose thread is late, coarse, busy or preempted: effects on packets and transports.

use crate::test_network::{bytes, direction, group, millis, pipe, run, window};
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::packet_trace::{NoTrace, Record, Step, Tracer};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{Simulation, SpecError, Status};

const IDEAL: HostSpec = HostSpec::IDEAL;

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// Datagrams of at most `segment` bytes; writes may share one.
fn source(segment: u32, rate: Option<Rate>) -> TransportSpec {
    TransportSpec::new("udp", SourceConfig { segment, header: 0, rate }, 0, 0)
}

/// 10 ms without transmission time; ten thousand datagrams, `gap` apart.
fn datagrams(gap: Duration, host: HostSpec) -> Spec {
    let mut spec = pipe(direction(Rate::MAX, millis(10), Limit::Unlimited));
    let writes = (0..10_000).map(|number| (gap * number, bytes(100))).collect();
    let flow = group("flow", 1, source(100, None), WorkloadSpec::Trace(writes));
    spec.groups = vec![GroupSpec { host: Some(host), ..flow }];
    spec.duration = gap * 10_000 + Duration::from_secs(1);
    spec
}

/// A window of `window_packets` over 10 Gbit/s and 10 ms each way.
fn spec_with_window(window_packets: f64, host: HostSpec) -> Spec {
    let mut spec = pipe(direction(Rate::from_mbits_per_sec(10_000), millis(10), Limit::Unlimited));
    let fixed = ControllerConfig::FixedWindow(FixedWindowConfig { window: window_packets });
    let flow = group("flow", 1, window(fixed), WorkloadSpec::Bulk);
    spec.groups = vec![GroupSpec { host: Some(host), ..flow }];
    spec.duration = Duration::from_secs(2);
    spec
}

/// Sending and delivery times of data packets, in milliseconds.
#[derive(Default)]
struct Times {
    sent: Vec<f64>,
    delivered: Vec<f64>,
    /// Delays, if all arrive in order.
    spans: Vec<f64>,
}

impl Tracer for Times {
    fn record(&mut self, record: &Record<'_>) {
        let now = record.time.as_secs_f64() * 1e3;
        match record.step {
            Step::Sent if !record.packet.backward => self.sent.push(now),
            Step::Delivered if !record.packet.backward => {
                self.spans.push(now - self.sent[record.packet.serial as usize]);
                self.delivered.push(now);
            }
            _ => {}
        }
    }
}

fn times(spec: &Spec) -> Times {
    let mut simulation = Simulation::new(spec, Times::default()).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().1
}

fn delivery_times(spec: &Spec) -> Vec<f64> {
    times(spec).delivered
}

/// Returns the delays of packets, ascending.
fn packet_delays(spec: &Spec) -> Vec<f64> {
    let mut spans = times(spec).spans;
    spans.sort_by(f64::total_cmp);
    spans
}

/// With otherwise ideal hosts, a packet waits for the receiving thread, and a round trip for both threads.
#[test]
fn the_wake_up_latency_is_added_at_each_end() {
    let late = HostSpec { wake_up_latency: micros(300), wake_up_latency_p99: micros(300), ..IDEAL };
    let delay = run(&datagrams(millis(1), late)).flows[0].delay;
    assert_eq!(
        (delay.count, delay.min, delay.max),
        (10_000, millis(10) + micros(300), millis(10) + micros(300))
    );
    let base = run(&spec_with_window(1.0, IDEAL)).flows[0].min_rtt;
    assert_eq!(run(&spec_with_window(1.0, late)).flows[0].min_rtt, base + micros(600));
}

/// The wake-up latency has the configured median and 99th percentile.
#[test]
fn lateness_has_its_quantiles() {
    let late = HostSpec { wake_up_latency: micros(50), wake_up_latency_p99: micros(800), ..IDEAL };
    let spans = packet_delays(&datagrams(millis(10), late));
    assert_eq!(spans.len(), 10_000);
    // Five standard errors of a quantile: sqrt(q (1 - q) / n) / density, of a logarithm with a standard deviation of
    // 1.19.
    assert!((spans[5000] - 10.050).abs() < 0.004, "{}", spans[5000]);
    assert!((spans[9900] - 10.800).abs() < 0.180, "{}", spans[9900]);
}

/// A thread with 20 us of work per packet is preempted once per 50 packets, for 10 ms on average. Packets that arrive
/// meanwhile, a millisecond apart, wait for its rest: in total E(A^2)/2 over the gap, which is 100 ms per preemption
/// and 2 ms per packet.
#[test]
fn a_thread_is_preempted_after_its_share_of_work() {
    let preemption =
        HostSpec { preemption: millis(10), preemption_every: millis(1), packet_cost: micros(20), ..IDEAL };
    let mut all = Vec::new();
    for seed in 1..=5 {
        all.push(
            run(&Spec { seed, ..datagrams(millis(1), preemption) }).flows[0].delay.mean.as_millis_f64()
                - 10.0,
        );
    }
    let mean = all.iter().sum::<f64>() / 5.0;
    // A thousand preemptions: the relative standard deviation of the mean of their squares is sqrt(5/1000).
    assert!((mean / 2.0 - 1.0).abs() < 4.0 * (5.0f64 / 1000.0).sqrt(), "{mean} ms, {all:?}");
    let ideal = HostSpec { packet_cost: Duration::ZERO, ..preemption };
    assert_eq!(
        run(&datagrams(millis(1), ideal)).flows[0].delay.max,
        millis(10),
        "who does not work is not interrupted"
    );
}

/// A thread with 10 us of work per packet handles 100,000 a second, including one acknowledgement per round.
#[test]
fn work_bounds_the_rate() {
    let host = HostSpec { packet_cost: micros(10), ..IDEAL };
    let result = run(&spec_with_window(10_000.0, host));
    let rate = result.flows[0].goodput.as_bits_per_sec() as f64 / (960.0 * 8.0);
    assert!((95_000.0..100_000.0).contains(&rate), "{rate} packets a second");
}

/// Packets are coalesced after a thread that just handled many slept longer.
#[test]
fn wake_ups_are_coalesced_where_packets_are_many() {
    let rounds = |spec: &Spec| {
        let mut times = delivery_times(spec);
        times.dedup();
        times.len()
    };
    assert_eq!(rounds(&datagrams(micros(10), IDEAL)), 10_000, "each for itself");
    // It wakes after 200 us and receives 20, which are many: 1.2 ms and 120 packets from then on.
    let late = HostSpec {
        wake_up_latency: micros(200),
        wake_up_latency_p99: micros(200),
        coalescing: millis(1),
        ..IDEAL
    };
    let rounds = rounds(&datagrams(micros(10), late));
    assert!((80..=90).contains(&rounds), "{rounds}");
}

/// A deadline finer than the thread's granularity waits: a paced source sends in bursts.
#[test]
fn deadlines_are_no_finer_than_the_granularity() {
    let paced = |host| {
        let mut spec = datagrams(micros(1), host);
        spec.groups[0].transport = source(1000, Some(Rate::from_mbits_per_sec(8)));
        spec.groups[0].workload = WorkloadSpec::Bulk;
        spec.duration = Duration::from_secs(1);
        spec
    };
    let gaps = |spec: &Spec| {
        let times = delivery_times(spec);
        times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
    };
    assert!((gaps(&paced(IDEAL)) - 1.0).abs() < 1e-6, "1000 B each millisecond");
    let coarse = paced(HostSpec { granularity: millis(5), ..IDEAL });
    assert!(
        delivery_times(&coarse).windows(2).all(|pair| pair[1] - pair[0] > 4.9 || pair[1] - pair[0] < 1e-6)
    );
}

/// Packets that arrive during a preemption fill the socket buffer; the rest is dropped and counted.
#[test]
fn a_socket_without_a_reader_overflows() {
    let (preemption, preemption_every) = (millis(50), millis(10));
    let host =
        HostSpec { preemption, preemption_every, packet_cost: micros(100), buffer: bytes(1000), ..IDEAL };
    let result = run(&datagrams(millis(1), host));
    let delay = result.flows[0].delay;
    let drops = result.flows[0].counts.drops;
    assert!(drops > 500, "{drops}");
    assert_eq!(delay.count + drops, 10_000);
}

/// A transfer ends with any host model.
#[test]
fn transfers_end_on_the_worst_of_hosts() {
    let host = HostSpec {
        wake_up_latency: millis(1),
        wake_up_latency_p99: millis(20),
        preemption: millis(30),
        preemption_every: millis(10),
        granularity: millis(4),
        coalescing: millis(2),
        call: micros(50),
        packet_cost: micros(100),
        byte_cost: Duration::from_nanos(10),
        buffer: bytes(20_000),
    };
    let mut spec = spec_with_window(1.0, host);
    let config = NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    };
    let transport = window(ControllerConfig::NewReno(config));
    spec.groups[0] =
        GroupSpec { transport, workload: WorkloadSpec::Transfer(bytes(1_000_000)), ..spec.groups[0].clone() };
    spec.duration = Duration::from_secs(60);
    let result = run(&spec);
    assert!(result.flows[0].finished.is_some());
    assert!(result.flows[0].counts.drops > 0, "the socket overflows");
}

#[test]
fn invalid_hosts_are_rejected() {
    for host in [
        HostSpec { wake_up_latency: millis(2), wake_up_latency_p99: millis(1), ..IDEAL },
        HostSpec { preemption: millis(2), ..IDEAL },
        HostSpec { preemption_every: millis(2), ..IDEAL },
        HostSpec { call: Duration::from_secs(4000), ..IDEAL },
        HostSpec { buffer: bytes(0), ..IDEAL },
    ] {
        let refused = Simulation::new(&spec_with_window(1.0, host), NoTrace).unwrap_err();
        assert!(matches!(refused, SpecError::Host { .. }), "{refused}");
    }
    let mut twice = spec_with_window(1.0, IDEAL);
    twice.nodes[1].processing.per_packet = millis(1);
    assert!(Simulation::new(&twice, NoTrace).unwrap_err().to_string().contains("one of them"));
}
