//! Tests every discipline on random arrivals and departures of several flows: packets are conserved, the limit holds,
//! packets of a flow leave in order, and urgent ones leave first and push nothing out.

use proptest::prelude::*;
use std::collections::BTreeSet;
use thalweg_proto::Ecn;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{
    Any, CakeConfig, CoDelConfig, Discipline, DisciplineSpec, DropReason, DrrConfig, DualPi2Config, Entry,
    FairQueueingConfig, FqCoDelConfig, HrrConfig, Isolation, Limit, PieConfig, PriorityConfig,
    RandomDropConfig, RedConfig, RedUnit, SfqConfig, SharedBufferDrop, StepConfig, Threshold,
    VirtualClockConfig, Weights,
};

#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u32, size: u32, urgent: bool, ecn: Ecn },
    Leave,
    Wait(Duration),
    Resize(Limit),
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0u64..20).prop_map(Limit::Packets),
        (0u64..5000).prop_map(Limit::Bytes),
        Just(Limit::Unlimited)
    ]
}

fn specs() -> impl Strategy<Value = DisciplineSpec> {
    let fair = (0u64..3000, prop::option::of(0.1..2.0f64), weights()).prop_map(
        |(promptness, mark_above, weights)| FairQueueingConfig {
            promptness: Bytes::new(promptness),
            mark_above,
            weights,
        },
    );
    prop_oneof![
        limits().prop_map(DisciplineSpec::fcfs),
        limits().prop_map(|limit| DisciplineSpec::new(limit, RandomDropConfig)),
        (limits(), fair).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), sfq()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), drr()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), virtual_clock()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), hrr()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), red()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), codel()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), fq_codel()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), cake()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), pie()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), step()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), dualpi2()).prop_map(|(limit, config)| DisciplineSpec::new(limit, config)),
        (limits(), any::<bool>())
            .prop_map(|(limit, push_out)| { DisciplineSpec::new(limit, PriorityConfig { push_out }) }),
    ]
}

fn overflow() -> impl Strategy<Value = SharedBufferDrop> {
    prop_oneof![
        Just(SharedBufferDrop::LongestTail),
        Just(SharedBufferDrop::LongestHead),
        Just(SharedBufferDrop::Share)
    ]
}

fn span(max_us: u64) -> impl Strategy<Value = Duration> {
    (1..max_us).prop_map(Duration::from_micros)
}

fn sfq() -> impl Strategy<Value = SfqConfig> {
    (1u32..6, prop::option::of(span(100_000)), overflow())
        .prop_map(|(buckets, perturbation, overflow)| SfqConfig { buckets, perturbation, overflow })
}

fn weights() -> impl Strategy<Value = Weights> {
    prop_oneof![Just(Weights::default()), prop::array::uniform6(1u32..8).prop_map(Weights)]
}

fn drr() -> impl Strategy<Value = DrrConfig> {
    (1u64..3000, prop::option::of(1u32..6), overflow(), weights()).prop_map(
        |(quantum, buckets, overflow, weights)| DrrConfig {
            quantum: Bytes::new(quantum),
            buckets,
            overflow,
            weights,
        },
    )
}

fn virtual_clock() -> impl Strategy<Value = VirtualClockConfig> {
    let rate = prop::option::of((1u64..100_000_000).prop_map(Rate::from_bits_per_sec));
    (rate, weights()).prop_map(|(rate, weights)| VirtualClockConfig { flow_rate: rate, weights })
}

fn hrr() -> impl Strategy<Value = HrrConfig> {
    (1u64..3000, 1u32..10, 0u32..10, 1u32..=6, weights()).prop_map(|(slot, frame, below, levels, weights)| {
        HrrConfig {
            slot: Bytes::new(slot),
            frame_slots: frame,
            lower_slots: below.min(frame - 1),
            levels,
            weights,
        }
    })
}

fn red() -> impl Strategy<Value = RedConfig> {
    (0.0..3.0f64, 0.1..5.0f64, 0.01..1.0f64, 0.01..1.0f64, any::<[bool; 4]>()).prop_map(
        |(min, more, weight, max_probability, [in_bytes, gentle, ecn, hard_drop])| {
            let (unit, scale) = if in_bytes { (RedUnit::Bytes, 500.0) } else { (RedUnit::Packets, 1.0) };
            let (min_threshold, max_threshold) = (min * scale, (min + more) * scale);
            let mean_packet = Bytes::new(500);
            RedConfig {
                unit,
                min_threshold,
                max_threshold,
                weight,
                max_probability,
                gentle,
                ecn,
                hard_drop,
                mean_packet,
            }
        },
    )
}

fn codel() -> impl Strategy<Value = CoDelConfig> {
    (0u64..2000, span(20_000), 0u64..2000, any::<bool>()).prop_map(|(target, interval, largest, ecn)| {
        CoDelConfig { target: Duration::from_micros(target), interval, max_packet: Bytes::new(largest), ecn }
    })
}

fn fq_codel() -> impl Strategy<Value = FqCoDelConfig> {
    (codel(), 1u32..6, 1u64..3000, 1u32..5, weights()).prop_map(
        |(codel, flows, quantum, drop_batch, weights)| FqCoDelConfig {
            codel,
            flows,
            quantum: Bytes::new(quantum),
            drop_batch,
            weights,
        },
    )
}

fn cake() -> impl Strategy<Value = CakeConfig> {
    let isolation = prop::sample::select(vec![
        Isolation::Flows,
        Isolation::Sources,
        Isolation::HostPairs,
        Isolation::DualDestination,
        Isolation::Triple,
    ]);
    (isolation, span(100_000), 1u32..5, any::<bool>()).prop_map(|(isolation, rtt, sets, ecn)| CakeConfig {
        isolation,
        rtt,
        flows: sets * 8,
        ecn,
    })
}

fn pie() -> impl Strategy<Value = PieConfig> {
    (span(5000), span(5000), 0.1..1000.0f64, 0.1..1000.0f64, 0u64..10_000, 0.0..1.0f64).prop_map(
        |(target, update, alpha, beta, burst, ecn_threshold)| PieConfig {
            target,
            update,
            alpha,
            beta,
            max_burst: Duration::from_micros(burst),
            ecn_threshold,
            mean_packet: Bytes::new(100),
        },
    )
}

fn step() -> impl Strategy<Value = StepConfig> {
    let threshold =
        prop_oneof![(0u64..10).prop_map(Threshold::Packets), (0u64..5000).prop_map(Threshold::Bytes)];
    threshold.prop_map(|threshold| StepConfig { threshold })
}

fn dualpi2() -> impl Strategy<Value = DualPi2Config> {
    let spans = (span(5000), span(100_000), span(5000), span(1000), 0u64..1000);
    (spans, 0.1..10.0f64, 0.0..=1.0f64).prop_map(
        |((target, max_rtt, update, threshold, range), coupling, classic_share)| DualPi2Config {
            target,
            max_rtt,
            update,
            coupling,
            threshold,
            range: Duration::from_micros(range),
            classic_share,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flow = prop_oneof![0u32..4, any::<u32>()];
    let size = prop_oneof![Just(40u32), Just(1500u32), 0u32..2000];
    let arrive = (flow, size, prop::bool::weighted(0.1), 0u8..4).prop_map(|(flow, size, urgent, bits)| {
        Step::Arrive { flow, size, urgent, ecn: Ecn::from_bits(bits) }
    });
    let wait = prop_oneof![0u64..2_000, 0u64..1_000_000].prop_map(|us| Step::Wait(Duration::from_micros(us)));
    let resize = limits().prop_map(Step::Resize);
    prop::collection::vec(prop_oneof![60 => arrive, 40 => Just(Step::Leave), 20 => wait, 3 => resize], 0..300)
}

fn rates() -> impl Strategy<Value = Option<Rate>> {
    prop::option::of((0u64..100).prop_map(Rate::from_mbits_per_sec))
}

fn make(spec: &DisciplineSpec, rate: Option<Rate>, seed: u64) -> Any {
    let mut queue = Any::new(spec, |purpose| RandomStream::new(seed, purpose, 0));
    if let Some(rate) = rate {
        queue.set_rate(rate);
    }
    queue
}

/// Reference model of the queued packets: one list.
#[derive(Default)]
struct QueueModel(Vec<Entry>);

impl QueueModel {
    /// Removes the enqueued packet equal to `entry`, except for a CE mark set by the queue on an ECN-capable packet.
    fn remove(&mut self, entry: Entry) {
        let is_as_enqueued = |waiting: &Entry| {
            let is_same = if entry.marked {
                entry.ecn == Ecn::Ce && waiting.ecn.is_capable()
            } else {
                entry.ecn == waiting.ecn
            };
            is_same && Entry { ecn: waiting.ecn, marked: false, ..entry } == *waiting
        };
        let at = self.0.iter().position(is_as_enqueued).expect("it waited, and left once");
        self.0.remove(at);
    }

    /// Returns the entry that must leave before `entry`, if any.
    fn before(&self, entry: Entry, spec: &DisciplineSpec) -> Option<Entry> {
        let urgent = self.0.iter().find(|waiting| waiting.is_feedback);
        let original = self.0.iter().find(|waiting| waiting.packet == entry.packet).expect("it waited");
        // Only flows with both low-latency and classic packets are reordered.
        let by_codepoint = spec.config::<DualPi2Config>().is_some();
        let is_low_latency = |entry: &Entry| matches!(entry.ecn, Ecn::Ect1 | Ecn::Ce);
        let first = self.0.iter().find(|waiting| {
            let is_of_flow = waiting.flow == entry.flow
                && (!by_codepoint || is_low_latency(waiting) == is_low_latency(original));
            spec.keeps_arrival_order() || is_of_flow
        });
        urgent.or(first).filter(|first| first.packet != entry.packet).copied()
    }
}

proptest! {
    #[test]
    fn every_discipline_keeps_the_contract(spec in specs(), rate in rates(), steps in steps(), seed: u64) {
        prop_assert_eq!(spec.check(), Ok(()));
        let mut queue = make(&spec, rate, seed);
        let (mut waiting, mut dropped) = (QueueModel::default(), Vec::new());
        let (mut arrivals, mut now) = (0, Time::ZERO);
        let mut out = BTreeSet::new();
        let mut max = spec.limit();
        // At the end the queue drains; a discipline may drop several packets for each that it serves.
        for step in steps.into_iter().chain(std::iter::repeat_n(Step::Leave, 301)) {
            dropped.clear();
            match step {
                Step::Arrive { flow, size, urgent, ecn } => {
                    let entry = Entry { packet: arrivals, size, flow, priority: (flow % 8) as u8, is_feedback: urgent, ecn, marked: false };
                    arrivals += 1;
                    waiting.0.push(entry);
                    queue.enqueue(now, entry, &mut dropped);
                    if urgent {
                        prop_assert!(dropped.iter().all(|drop| drop.entry == entry));
                    }
                }
                Step::Leave => {
                    let hint = queue.peek().copied();
                    let left = queue.dequeue(now, &mut dropped);
                    prop_assert!(left.is_some() || queue.packets() == 0);
                    for drop in &dropped {
                        waiting.remove(drop.entry);
                        prop_assert!(out.insert(drop.entry.packet));
                    }
                    if let Some(entry) = left {
                        prop_assert_eq!(waiting.before(entry, &spec), None);
                        prop_assert!(hint.is_none() || hint == left);
                        waiting.remove(entry);
                        prop_assert!(out.insert(entry.packet));
                    }
                    dropped.clear();
                }
                Step::Wait(time) => now += time,
                Step::Resize(limit) => {
                    max = limit;
                    queue.set_limit(now, limit, &mut dropped);
                    prop_assert!(dropped.iter().all(|drop| drop.reason == DropReason::Full));
                    // Urgent packets are dropped last, and no packet is dropped before one behind it in the same FIFO.
                    let is_urgent_gone = dropped.iter().any(|drop| drop.entry.is_feedback);
                    prop_assert!(!is_urgent_gone || dropped.len() == waiting.0.len()
                        || waiting.0.iter().filter(|entry| !entry.is_feedback).count()
                            == dropped.iter().filter(|drop| !drop.entry.is_feedback).count());
                }
            }
            for drop in &dropped {
                prop_assert!(drop.reason == DropReason::Full || spec.drops_early());
                waiting.remove(drop.entry);
                prop_assert!(out.insert(drop.entry.packet));
            }
            let bytes: u64 = waiting.0.iter().map(|entry| u64::from(entry.size)).sum();
            prop_assert_eq!((queue.packets(), queue.bytes()), (waiting.0.len() as u64, bytes));
            match max {
                Limit::Packets(limit) => prop_assert!(queue.packets() <= limit),
                Limit::Bytes(limit) => prop_assert!(queue.bytes() <= limit),
                Limit::Unlimited => prop_assert!(dropped.iter().all(|drop| drop.reason == DropReason::Early)),
            }
        }
        prop_assert_eq!(out.len() as u64, u64::from(arrivals));
    }

    #[test]
    fn a_run_repeats(spec in specs(), rate in rates(), steps in steps(), seed: u64) {
        // The same seed and steps drop the same packets.
        let run = || {
            let mut queue = make(&spec, rate, seed);
            let (mut log, mut dropped, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
            for (packet, step) in (0..).zip(&steps) {
                match *step {
                    Step::Arrive { flow, size, urgent, ecn } => {
                        let entry = Entry { packet, size, flow, priority: (flow % 8) as u8, is_feedback: urgent, ecn, marked: false };
                        queue.enqueue(now, entry, &mut dropped);
                    }
                    Step::Leave => log.push(queue.dequeue(now, &mut dropped)),
                    Step::Wait(time) => now += time,
                    Step::Resize(limit) => queue.set_limit(now, limit, &mut dropped),
                }
            }
            (log, dropped)
        };
        prop_assert_eq!(run(), run());
    }
}
