//! Random networks with random traffic, each checked by the verifier: no packet appears, vanishes, overtakes, or
//! exceeds a rate; and each run is repeatable however it is advanced.

use crate::test_network::{Listing, bytes, chain, group, millis, run};
use proptest::prelude::*;
use std::sync::Arc;
use thalweg_proto::congestion::{
    CopaConfig, CubicConfig, DctcpConfig, FixedWindowConfig, Growth, LedbatPlusPlusConfig, NewRenoConfig,
    PragueConfig, SlowStartConfig, VegasConfig,
};
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::gate::{CongestionGateConfig, GateConfig, SlotGateConfig};
use thalweg_proto::sscop::{self, rate::RateConfig};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::window::{
    ControllerConfig, DelayedAck, EndsConfig, ReceiverConfig, Recovery, SenderConfig, WindowUnit,
};
use thalweg_proto::{adaptive_ack, media, sstp};
use thalweg_queue::feedback::{
    DecBitSpec, FeedbackSpec, OverheadControl, OverheadSpec, PolicySpec, QuenchSpec, RationsSpec, Recipients,
    SeifPolicy, SeifSpec,
};
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};
use thalweg_queue::{
    AckFilter, AggregationSpec, CapacityTrace, DisciplineSpec, EcnTreatment, FairQueueingConfig, FcfsConfig,
    ImpairmentSpec, Limit, LossSpec, PeriodicVariationSpec, RandomDropConfig, ReorderSpec, SleepSpec,
    StartDelaySpec, TokenBucketSpec,
};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{RunResult, Simulation, Status};

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        6 => (50_000u64..5_000_000).prop_map(Rate::from_bits_per_sec),
        1 => Just(Rate::MAX),
        1 => Just(Rate::from_bits_per_sec(999_983)),
    ]
}

fn queue() -> impl Strategy<Value = DisciplineSpec> {
    let limit = prop_oneof![
        (0u64..30).prop_map(Limit::Packets),
        (0u64..20_000).prop_map(Limit::Bytes),
        Just(Limit::Unlimited)
    ];
    (limit, 0..3).prop_map(|(limit, kind)| match kind {
        0 => DisciplineSpec::fcfs(limit),
        1 => DisciplineSpec::new(limit, RandomDropConfig),
        _ => {
            let config = FairQueueingConfig { mark_above: Some(1.0), ..FairQueueingConfig::default() };
            DisciplineSpec::new(limit, config)
        }
    })
}

fn impairment() -> impl Strategy<Value = ImpairmentSpec> {
    let chance = || prop_oneof![3 => Just(0.0), 1 => 0.0..0.2f64];
    let loss = prop_oneof![
        2 => Just(LossSpec::None),
        1 => (0.0..0.2f64).prop_map(|probability| LossSpec::Uniform { probability }),
        1 => (0.0..0.1f64, 0.1..1.0f64).prop_map(|(good_to_bad, bad_to_good)| LossSpec::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good: 0.0,
            loss_bad: 0.8,
        }),
    ];
    let correlation = || prop_oneof![2 => Just(0.0), 1 => 0.0..1.0f64];
    let reorder = (chance(), 0u64..50, correlation()).prop_map(|(probability, delay, correlation)| {
        ReorderSpec { probability, delay: millis(delay), correlation }
    });
    let correlated = (chance(), correlation());
    (loss, correlated, chance(), prop::option::weighted(0.3, reorder)).prop_map(
        |(loss, (duplicate, duplicate_correlation), corrupt, reorder)| ImpairmentSpec {
            loss,
            duplicate,
            duplicate_correlation,
            corrupt,
            reorder,
            ..ImpairmentSpec::default()
        },
    )
}

fn schedule() -> impl Strategy<Value = Vec<Change>> {
    let (rate, delay) = (prop_oneof![Just(Rate::ZERO), rate()], (0u64..60).prop_map(millis));
    let in_bytes = (0u64..90_000).prop_map(Limit::Bytes);
    let limit = prop_oneof![(0u64..60).prop_map(Limit::Packets), in_bytes, Just(Limit::Unlimited)];
    let jitter = (0u64..40).prop_map(|span| JitterChange { span: millis(span), ..JitterChange::default() });
    let change = (
        (0u64..4000, prop::option::of(rate), prop::option::of(delay), prop::option::of(impairment())),
        (prop::option::weighted(0.3, limit), prop::option::weighted(0.3, jitter)),
    );
    prop::collection::vec(change, 0..4).prop_map(|mut changes| {
        changes.sort_by_key(|change| change.0.0);
        // See `changes_at_one_time_are_made_in_their_order` in `known.rs`.
        changes.dedup_by_key(|change| change.0.0);
        changes
            .into_iter()
            .map(|((at, rate, delay, impairment), (queue, jitter))| Change {
                at: Time::ZERO + millis(at),
                rate,
                delay,
                impairment,
                jitter,
                queue,
            })
            .collect()
    })
}

fn capacity() -> impl Strategy<Value = Arc<CapacityTrace>> {
    prop::collection::vec(0u64..200, 1..40).prop_map(|mut times| {
        times.sort_unstable();
        let opportunities = times.iter().map(|&at| Time::ZERO + millis(at)).collect();
        Arc::new(CapacityTrace { opportunities, period: millis(200), bytes_per_opportunity: 1500 })
    })
}

/// Usually none, as for most links and hosts.
fn jitter() -> impl Strategy<Value = Duration> {
    prop_oneof![4 => Just(Duration::ZERO), 1 => (1u64..30_000).prop_map(Duration::from_micros)]
}

/// Usually none.
fn variation() -> impl Strategy<Value = Option<Arc<VariationSpec>>> {
    let time = || (0u64..20_000).prop_map(Duration::from_micros);
    let max = || prop::option::of(time());
    let distribution = prop_oneof![
        (time(), time()).prop_map(|(a, b)| TimeSpec::Uniform { min: a.min(b), max: a.max(b) }),
        (time(), max()).prop_map(|(mean, max)| TimeSpec::Exponential { mean, max }),
        (time(), time(), max()).prop_map(|(mean, deviation, max)| TimeSpec::Normal { mean, deviation, max }),
        (time(), time()).prop_map(|(a, b)| TimeSpec::Pareto {
            min: a.min(b),
            shape: 1.5,
            max: Some(a.max(b))
        }),
        prop::collection::vec(time(), 1..5).prop_map(|mut times| {
            times.sort_unstable();
            TimeSpec::Quantiles(times.into())
        }),
    ];
    let each = prop_oneof![Just(DrawScope::Packet), Just(DrawScope::Flow)];
    let one = (distribution, each, any::<bool>()).prop_map(|(distribution, each, keeps_order)| {
        Arc::new(VariationSpec { each, keeps_order, ..VariationSpec::new(distribution) })
    });
    prop::option::weighted(0.2, one)
}

fn direction() -> impl Strategy<Value = DirectionSpec> {
    let impairment = prop_oneof![2 => Just(ImpairmentSpec::default()), 1 => impairment()];
    let schedule = prop_oneof![3 => Just(Vec::new()), 1 => schedule()];
    (
        rate(),
        (0u64..40).prop_map(millis),
        queue(),
        impairment,
        schedule,
        prop::option::weighted(0.15, capacity()),
        (prop_oneof![4 => Just(Framing::None), 1 => Just(Framing::AtmAal5)], jitter(), variation()),
        (start_delay(), aggregation(), periodic_variation(), treatment(), ack_filter()),
    )
        .prop_map(
            |(
                rate,
                delay,
                queue,
                impairment,
                schedule,
                capacity,
                (framing, jitter, variation),
                link_effects,
            )| {
                let (start_delay, aggregation, periodic_variation, ecn, filter) = link_effects;
                let is_fcfs = queue.config::<FcfsConfig>().is_some();
                let sets_rate_or_delay = |change: &Change| change.rate.is_some() || change.delay.is_some();
                let sets_rate = capacity.is_some() || schedule.iter().any(sets_rate_or_delay);
                DirectionSpec {
                    rate,
                    delay,
                    jitter,
                    variation,
                    queue,
                    impairment,
                    schedule,
                    capacity,
                    feedback: None,
                    framing,
                    start_delay,
                    aggregation,
                    periodic_variation: periodic_variation.filter(|_| !sets_rate),
                    ecn,
                    ack_filter: if is_fcfs { filter } else { AckFilter::None },
                }
            },
        )
}

fn start_delay() -> impl Strategy<Value = StartDelaySpec> {
    let shaper = (100u64..20_000, 100u64..100_000).prop_map(|(kilobits, burst)| TokenBucketSpec {
        rate: Rate::from_bits_per_sec(kilobits * 1000),
        burst: Bytes::new(burst),
    });
    let state = |after, wake| SleepSpec { idle_time: millis(after), wake: millis(wake) };
    let sleep = prop_oneof![
        5 => Just(Vec::new()),
        1 => Just(vec![state(10, 5)]),
        1 => Just(vec![state(20, 10), state(200, 50)]),
    ];
    (prop::option::weighted(0.2, shaper), sleep)
        .prop_map(|(shaper, sleep)| StartDelaySpec { shaper, sleep: sleep.into() })
}

fn aggregation() -> impl Strategy<Value = Option<AggregationSpec>> {
    let one = (1u64..10, prop::option::of(1u64..64))
        .prop_map(|(every, packets)| AggregationSpec { every: millis(every), packets });
    prop::option::weighted(0.2, one)
}

fn periodic_variation() -> impl Strategy<Value = Option<PeriodicVariationSpec>> {
    let one = (100u64..1000, 0.0..1.0f64, 0u64..40, prop_oneof![Just(0), 1u64..50]).prop_map(
        |(every, rate_spread, delay, outage)| PeriodicVariationSpec {
            every: millis(every),
            rate_spread,
            delay_spread: millis(delay),
            outage: millis(outage),
        },
    );
    prop::option::weighted(0.2, one)
}

fn ack_filter() -> impl Strategy<Value = AckFilter> {
    prop_oneof![3 => Just(AckFilter::None), 1 => Just(AckFilter::Conservative), 1 => Just(AckFilter::Newest)]
}

fn treatment() -> impl Strategy<Value = EcnTreatment> {
    prop_oneof![
        6 => Just(EcnTreatment::Kept),
        1 => Just(EcnTreatment::Bleached),
        1 => Just(EcnTreatment::Ect1ToEct0),
        1 => Just(EcnTreatment::MarksLost),
        1 => Just(EcnTreatment::TunnelCompatible),
    ]
}

fn feedback() -> impl Strategy<Value = FeedbackSpec> {
    let (response_time, window) = (millis(100), Duration::from_secs(1));
    let dynamic = SeifPolicy::Dynamic { alpha: 0.8, response_time, window };
    let policy = prop_oneof![Just(SeifPolicy::Static), Just(SeifPolicy::Reacting), Just(dynamic)];
    let silence = |share| OverheadSpec { share, control: OverheadControl::Silence, message_bytes: 50 };
    let limits = (prop::option::of(0u32..3), prop::option::of((0.001..1.0f64).prop_map(silence)));
    let seif = (policy, 0.0..1.0f64, any::<bool>(), any::<bool>(), limits).prop_map(
        |(policy, threshold_share, filter, mark, (max_links, overhead))| {
            let routing_interval = millis(700);
            let spec =
                SeifSpec { policy, threshold_share, filter, mark, max_links, routing_interval, overhead };
            PolicySpec::Seif(spec)
        },
    );
    let quench = (0.0..1.0f64, any::<bool>())
        .prop_map(|(at, on_drop)| PolicySpec::SourceQuench(QuenchSpec { threshold_share: at, on_drop }));
    let mark = (0.0..3.0f64).prop_map(|at| PolicySpec::DecBit(DecBitSpec { threshold_packets: at }));
    let rations = (1u64..500).prop_map(|interval| {
        PolicySpec::Rations(RationsSpec { interval: millis(interval), ..RationsSpec::default() })
    });
    let policy = prop_oneof![2 => seif, 1 => quench, 1 => mark, 1 => rations];
    (policy, 1u32..200).prop_map(|(policy, message_bytes)| FeedbackSpec {
        policy,
        recipients: Recipients::All,
        message_bytes,
    })
}

/// A direction of a link whose queue may have a feedback policy.
fn direction_with_feedback() -> impl Strategy<Value = DirectionSpec> {
    (direction(), prop::option::weighted(0.4, feedback())).prop_map(|(mut direction, feedback)| {
        // Feedback assumes a constant capacity.
        direction.schedule.iter_mut().filter(|_| feedback.is_some()).for_each(|change| change.queue = None);
        DirectionSpec { feedback, ..direction }
    })
}

fn controller() -> impl Strategy<Value = ControllerConfig> {
    let (initial_window, initial_ssthresh) = (2.0, 1e9);
    prop_oneof![
        (1.0..30.0f64).prop_map(|window| ControllerConfig::FixedWindow(FixedWindowConfig { window })),
        Just(ControllerConfig::SlowStart(SlowStartConfig {
            initial_window,
            initial_ssthresh,
            growth: Growth::Fractional
        })),
        Just(ControllerConfig::NewReno(NewRenoConfig {
            initial_window,
            initial_ssthresh,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        })),
        Just(ControllerConfig::Vegas(VegasConfig {
            initial_window,
            initial_ssthresh,
            alpha: 1.0,
            beta: 3.0,
            gamma: 1.0,
            slow_start: Default::default(),
        })),
        Just(ControllerConfig::Cubic(CubicConfig {
            initial_window,
            initial_ssthresh,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        })),
        Just(ControllerConfig::Dctcp(DctcpConfig { initial_window, initial_ssthresh, gain: 0.0625 })),
        (0u64..50, 0u32..20).prop_map(move |(virtual_rtt, transition)| {
            ControllerConfig::from(PragueConfig {
                initial_window,
                initial_ssthresh,
                gain: 0.0625,
                virtual_rtt: millis(virtual_rtt),
                transition,
                burst_delay: Duration::from_micros(250),
            })
        }),
        (1u64..200, any::<bool>()).prop_map(move |(target, slowdowns)| {
            ControllerConfig::from(LedbatPlusPlusConfig {
                initial_window,
                initial_ssthresh,
                target: millis(target),
                constant: 1.0,
                slowdowns,
            })
        }),
        (0.05..1.0f64, any::<bool>()).prop_map(move |(delta, compete)| {
            ControllerConfig::from(CopaConfig {
                initial_window,
                delta,
                competitive_mode: compete,
                min_rtt_lifetime: millis(2000),
            })
        }),
    ]
}

fn transport() -> impl Strategy<Value = TransportSpec> {
    let recovery = prop::sample::select(Recovery::ALL.to_vec());
    let delayed = prop::option::of(Just(DelayedAck { delay: millis(40), every: 2, adaptive: false }));
    let window = (controller(), recovery, any::<bool>(), delayed, 1u32..1460).prop_map(
        |(controller, recovery, count_bytes, delayed_ack, segment)| {
            TransportSpec::new(
                "window",
                EndsConfig::new(
                    SenderConfig {
                        segment,
                        recovery,
                        ecn: segment % 2 == 0,
                        counting: if count_bytes { WindowUnit::Bytes } else { WindowUnit::Packets },
                        ..SenderConfig::default()
                    },
                    ReceiverConfig { delayed_ack, window: 100_000, ..ReceiverConfig::default() },
                    controller,
                ),
                40,
                40,
            )
        },
    );
    let datagram = (100u32..1460, prop::option::of(100_000u64..2_000_000)).prop_map(|(segment, rate)| {
        TransportSpec::new(
            "udp",
            SourceConfig {
                segment,
                header: 28,
                rate: Some(Rate::from_bits_per_sec(rate.unwrap_or(500_000))),
            },
            28,
            28,
        )
    });
    let adaptive =
        (1u32..1460, 1u32..100, 1u64..100, 1u64..40).prop_map(|(segment, window, normal, error)| {
            TransportSpec::new(
                "adaptive-ack",
                adaptive_ack::Config { segment, window, normal: millis(normal), error: millis(error) },
                16,
                32,
            )
        });
    let media =
        (1u32..1460, 5.0..60.0f64, 20_000u64..3_000_000, 0u8..3).prop_map(|(segment, fps, min, ecn)| {
            let min_rate = Rate::from_bits_per_sec(min);
            let encoder = media::EncoderConfig { fps, min_rate, ..media::EncoderConfig::default() };
            let ecn =
                [media::Response::None, media::Response::Classic, media::Response::L4s][usize::from(ecn)];
            TransportSpec::new(
                "scream",
                media::Config { segment, encoder, ecn, ..media::Config::default() },
                44,
                40,
            )
        });
    let rate = prop::option::of((10_000u64..3_000_000, any::<bool>()).prop_map(|(start, literal)| {
        let rules = if literal { RateConfig::literal() } else { RateConfig::amended() };
        RateConfig { start: Rate::from_bits_per_sec(start), drain_interval: Some(millis(300)), ..rules }
    }));
    let sscop = (1u32..1460, 1u32..100, 1u32..30, rate).prop_map(|(segment, window, max_pd, rate)| {
        let config = sscop::Config { window, max_pd, rate, ..sscop::Config::default() };
        TransportSpec::new("sscop", sscop::EndpointConfig { sscop: Arc::new(config), segment }, 8, 8)
    });
    prop_oneof![4 => window, 1 => datagram, 1 => adaptive, 1 => media, 2 => sscop, 2 => two_level()]
}

fn two_level() -> impl Strategy<Value = TransportSpec> {
    let acknowledgement = prop_oneof![
        Just(sstp::Acknowledgement::Hard),
        Just(sstp::Acknowledgement::Firm),
        Just(sstp::Acknowledgement::Soft(sstp::Evicted::All)),
    ];
    let sizes = (1u32..1460, 1u16..20, 1u16..40, 1u16..40);
    (sizes, acknowledgement, 0u16..4, 100_000u64..3_000_000, any::<bool>()).prop_map(
        |((packet, segment, window, buffer), acknowledgement, reordering, rate, slotted)| {
            let rate = Rate::from_bits_per_sec(rate);
            let size = bytes(u64::from(packet) + 46);
            let rate = sstp::RateSpec::with_average(rate, rate.mul_f64(0.9), 8, size).unwrap();
            let resume = if slotted { sstp::Resume::NextBurst } else { sstp::Resume::AtOnce };
            TransportSpec::new(
                "sstp",
                sstp::EndsConfig::new(
                    sstp::SenderConfig {
                        segment_packets: segment,
                        max_payload: packet,
                        rate,
                        resume,
                        window,
                        soft: acknowledgement.is_soft(),
                    },
                    sstp::ReceiverConfig {
                        segment_packets: segment,
                        max_payload: packet,
                        window,
                        buffer,
                        acknowledgement,
                        tolerance: sstp::Tolerance::Packets(0),
                        reordering,
                        repeat: millis(100),
                        wait_for_consumption: false,
                    },
                ),
                46,
                48,
            )
        },
    )
}

fn workload() -> impl Strategy<Value = WorkloadSpec> {
    let size = prop_oneof![
        (1u64..20_000).prop_map(|size| SizeSpec::Fixed(bytes(size))),
        Just(SizeSpec::Exponential { mean: bytes(5_000) }),
        Just(SizeSpec::Pareto { min: bytes(500), shape: 1.2, max: bytes(50_000) }),
    ];
    let gap = || (5u64..300).prop_map(millis);
    prop_oneof![
        Just(WorkloadSpec::Bulk),
        (1u64..200_000).prop_map(|size| WorkloadSpec::Transfer(bytes(size))),
        gap().prop_map(|gap| WorkloadSpec::Telnet { packet: bytes(100), gap }),
        (gap(), gap(), any::<bool>()).prop_map(|(on, off, random)| WorkloadSpec::OnOff {
            shape: None,
            on,
            off,
            rate: Some(Rate::from_bits_per_sec(800_000)),
            packet: bytes(1000),
            random,
        }),
        Just(WorkloadSpec::ConstantRate { rate: Rate::from_bits_per_sec(400_000), packet: bytes(700) }),
        (gap(), size.clone()).prop_map(|(gap, size)| WorkloadSpec::Poisson { gap, size }),
        (gap(), size).prop_map(|(think, response)| WorkloadSpec::RequestResponse {
            request: bytes(300),
            response,
            think
        }),
    ]
}

fn reading() -> impl Strategy<Value = ReadingSpec> {
    let rate = || prop_oneof![1 => Just(Rate::ZERO), 1 => Just(Rate::MAX), 3 => rate()];
    let change = (0u64..4000, rate(), any::<bool>());
    (rate(), prop::collection::vec(change, 0..4)).prop_map(|(rate, mut changes)| {
        changes.sort_by_key(|change| change.0);
        let change = |(at, rate, announced)| ReadingChange { at: Time::ZERO + millis(at), rate, announced };
        ReadingSpec { rate, changes: changes.into_iter().map(change).collect() }
    })
}

/// Hosts that are late, coarse and preempted for milliseconds, with small buffers.
fn host() -> impl Strategy<Value = HostSpec> {
    let time = || 0u64..3000;
    let times = (time(), 1u64..20, time(), time(), time(), 0u64..200);
    let preemption = prop::option::of((1u64..200, 1u64..50));
    (times, preemption, 2000u64..100_000).prop_map(
        |((late, tail, granularity, coalescing, call, packet), preemption, buffer)| HostSpec {
            wake_up_latency: Duration::from_micros(late),
            wake_up_latency_p99: Duration::from_micros(late * tail),
            preemption_every: millis(preemption.map_or(0, |preemption| preemption.0)),
            preemption: millis(preemption.map_or(0, |preemption| preemption.1)),
            granularity: Duration::from_micros(granularity),
            coalescing: Duration::from_micros(coalescing),
            call: Duration::from_micros(call),
            packet_cost: Duration::from_micros(packet),
            byte_cost: Duration::from_nanos(packet),
            buffer: bytes(buffer),
        },
    )
}

fn groups(nodes: u32) -> impl Strategy<Value = Vec<GroupSpec>> {
    let access = prop::option::weighted(0.4, (direction(), direction(), 0u64..3));
    let more =
        (1u32..4, access, prop::option::weighted(0.1, 0u64..50), 0u64..500, prop::option::of(1000u64..3000));
    let reading = prop::option::weighted(0.3, reading());
    let one = (
        (0..nodes, 1..nodes),
        transport(),
        workload(),
        more,
        (reading, jitter(), prop::option::weighted(0.25, host())),
    )
        .prop_map(
            move |(
                (from, step),
                transport,
                workload,
                (count, access, control, spread, stop),
                (reading, overhead, host),
            )| {
                GroupSpec {
                    overhead,
                    // A host has only one description.
                    host: host.filter(|_| access.as_ref().is_none_or(|access| access.2 == 0)),
                    reading: reading.map(Arc::new),
                    count,
                    from: NodeId(from),
                    to: NodeId((from + step) % nodes),
                    access: access.map(|(out, back, work)| AccessSpec {
                        source_forward: out.clone(),
                        source_backward: back.clone(),
                        sink_forward: out,
                        sink_backward: back,
                        source_processing: Processing { per_packet: millis(work), per_byte: Duration::ZERO },
                        sink_processing: Processing::default(),
                    }),
                    spread: millis(spread),
                    stop: stop.map(|at| Time::ZERO + millis(at)),
                    control_channel: control.map(millis),
                    ..group("g", 0, transport, workload)
                }
            },
        );
    prop::collection::vec(one, 1..4).prop_map(|mut groups| {
        for (number, group) in groups.iter_mut().enumerate() {
            group.name = format!("g{number}");
            // Some transports and workloads do not support a read rate.
            if group.reading_fault().is_some() {
                group.reading = None;
            }
        }
        groups
    })
}

fn spec() -> impl Strategy<Value = Spec> {
    (1usize..4)
        .prop_flat_map(|links| {
            (
                prop::collection::vec((direction_with_feedback(), direction_with_feedback()), links),
                groups(links as u32 + 1),
                0u64..2000,
                prop::option::weighted(0.3, 0u64..3),
                any::<u64>(),
            )
        })
        .prop_map(|(links, groups, warmup, work, seed)| {
            let mut spec = chain(links);
            for node in &mut spec.nodes {
                node.processing.per_packet = millis(work.unwrap_or(0));
            }
            let warmup = if warmup < 1000 { 0 } else { warmup };
            let mut groups = groups;
            for group in &mut groups {
                group.host = group.host.filter(|_| group.access.is_some() || work.unwrap_or(0) == 0);
            }
            Spec { groups, duration: Duration::from_secs(4), warmup: millis(warmup), seed, ..spec }
        })
}

/// Runs without a trace, a few events at a time.
fn run_in_steps(spec: &Spec, events: u64) -> RunResult {
    let mut simulation = Simulation::new(spec, NoTrace).expect("the specification is valid");
    while simulation.advance(events) == Status::Running {}
    simulation.finish().0
}

proptest! {
    /// The verifier finds nothing, and the measurements are plausible.
    #[test]
    fn no_network_does_what_cannot_be(spec in spec()) {
        let result = run(&spec);
        for link in &result.links {
            prop_assert!((0.0..=1.0 + 1e-9).contains(&link.utilisation), "{:?}", link);
            prop_assert!(link.queue.mean_packets <= link.queue.max_packets as f64 + 1e-9, "{:?}", link);
        }
        for group in &result.groups {
            let jain = group.jain.unwrap_or(1.0);
            prop_assert!(jain <= 1.0 + 1e-9 && jain * f64::from(group.flows) >= 1.0 - 1e-9);
        }
        for flow in &result.flows {
            prop_assert!(flow.delivered <= flow.delivered_total);
            prop_assert!(flow.delay.min <= flow.delay.mean && flow.delay.mean <= flow.delay.max);
        }
    }

    /// The same specification gives the same result, traced or not, and however it is advanced.
    #[test]
    fn a_run_repeats(spec in spec(), events in prop_oneof![Just(1u64), 2u64..1000]) {
        let result = run(&spec);
        prop_assert_eq!(&run_in_steps(&spec, events), &result);
        prop_assert_eq!(&run_in_steps(&spec, 1 << 30), &result);
    }

    /// Several threads give the same result as one.
    #[test]
    fn threads_change_nothing(spec in partitionable_spec(), threads in 2usize..5) {
        let alone = run_in_steps(&spec, u64::MAX);
        let mut simulation = Simulation::on_threads(&spec, NoTrace, threads).unwrap();
        while simulation.advance(5000) == Status::Running {}
        prop_assert_eq!(&simulation.finish().0, &alone);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Several threads give the same records as one, in the same order.
    #[test]
    fn threads_record_the_same(spec in partitionable_spec(), threads in 2usize..5) {
        let record = |threads| {
            let mut simulation = Simulation::on_threads(&spec, Listing::default(), threads).unwrap();
            while simulation.advance(5000) == Status::Running {}
            simulation.finish()
        };
        let (alone, Listing(expected)) = record(1);
        let (result, Listing(records)) = record(threads);
        let differ = expected.iter().zip(&records).find(|(one, other)| one != other);
        prop_assert_eq!(differ, None);
        prop_assert_eq!(records.len(), expected.len());
        prop_assert_eq!(result, alone);
    }
}

fn gate() -> impl Strategy<Value = GateSpec> {
    (1u64..20, any::<bool>()).prop_map(|(time, slots)| {
        let (slot, check) = (millis(time), millis(10 * time));
        let slotted = GateConfig::Slots(SlotGateConfig { slot, ..Default::default() });
        let checked = GateConfig::Congestion(CongestionGateConfig { check, ..Default::default() });
        GateSpec::new(if slots { slotted } else { checked })
    })
}

/// Networks with mostly positive delays, for partitioning. Some nodes have gates, for flows of several priorities.
fn partitionable_spec() -> impl Strategy<Value = Spec> {
    let gates = prop::collection::vec(prop::option::weighted(0.3, gate()), 4);
    (spec(), prop::collection::vec(0u64..20, 8), gates).prop_map(|(mut spec, delays, gates)| {
        spec.nodes.iter_mut().zip(gates).for_each(|(node, gate)| node.gate = gate);
        for (number, group) in (1..).zip(&mut spec.groups) {
            group.priority = number;
        }
        let more = |direction: &mut DirectionSpec, number: usize| {
            let delay = Duration::from_micros(delays[number % delays.len()] * 500);
            direction.delay += delay;
            for change in &mut direction.schedule {
                change.delay = change.delay.map(|of| of + delay);
            }
        };
        for (number, link) in spec.links.iter_mut().enumerate() {
            more(&mut link.forward, 2 * number);
            more(&mut link.backward, 2 * number + 1);
        }
        for (number, group) in spec.groups.iter_mut().enumerate() {
            let Some(access) = &mut group.access else { continue };
            more(&mut access.source_forward, number);
            more(&mut access.source_backward, number + 1);
            more(&mut access.sink_forward, number + 2);
            more(&mut access.sink_backward, number + 3);
        }
        spec
    })
}
