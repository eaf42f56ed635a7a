//! Proves for every discipline, on random sequences of arrivals and departures: nothing appears or vanishes, the
//! limit is kept, packets of a class leave in order, and urgent ones leave first.

use proptest::prelude::*;
use std::collections::BTreeSet;
use thalweg_proto::random::Stream;
use thalweg_proto::units::Time;
use thalweg_queue::{Any, Discipline, DisciplineSpec, DropReason, Entry, Limit};

#[derive(Clone, Debug)]
enum Step {
    Arrive { size: u32, urgent: bool },
    Leave,
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0u64..20).prop_map(Limit::Packets),
        (0u64..5000).prop_map(Limit::Bytes),
        Just(Limit::Unlimited)
    ]
}

fn specs() -> impl Strategy<Value = DisciplineSpec> {
    prop_oneof![
        limits().prop_map(|limit| DisciplineSpec::Fcfs { limit }),
        limits().prop_map(|limit| DisciplineSpec::RandomDrop { limit })
    ]
}

fn limit_of(spec: &DisciplineSpec) -> Limit {
    match *spec {
        DisciplineSpec::Fcfs { limit } | DisciplineSpec::RandomDrop { limit } => limit,
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrive = (prop_oneof![Just(40u32), Just(1500u32), 0u32..2000], prop::bool::weighted(0.1))
        .prop_map(|(size, urgent)| Step::Arrive { size, urgent });
    prop::collection::vec(prop_oneof![3 => arrive, 2 => Just(Step::Leave)], 0..300)
}

/// What waits, kept in the plainest way: one list.
#[derive(Default)]
struct Waiting(Vec<Entry>);

impl Waiting {
    fn remove(&mut self, entry: Entry) {
        let at = self.0.iter().position(|waiting| *waiting == entry).expect("it waited, and left once");
        self.0.remove(at);
    }

    fn next(&self) -> Option<Entry> {
        self.0.iter().find(|entry| entry.urgent).or(self.0.first()).copied()
    }
}

proptest! {
    #[test]
    fn every_discipline_keeps_the_contract(spec in specs(), steps in steps(), seed: u64) {
        let mut queue = Any::new(&spec, |purpose| Stream::new(seed, purpose, 0));
        let (mut waiting, mut dropped) = (Waiting::default(), Vec::new());
        let mut arrivals = 0;
        let mut out = BTreeSet::new();
        for step in steps.into_iter().chain(std::iter::repeat_n(Step::Leave, 301)) {
            dropped.clear();
            match step {
                Step::Arrive { size, urgent } => {
                    let entry = Entry { packet: arrivals, size, flow: 7, urgent, markable: true, marked: false };
                    arrivals += 1;
                    waiting.0.push(entry);
                    queue.enqueue(Time::ZERO, entry, &mut dropped);
                    prop_assert!(dropped.len() <= 1);
                    if urgent {
                        prop_assert!(dropped.iter().all(|drop| drop.entry == entry));
                    }
                }
                Step::Leave => {
                    let left = queue.dequeue(Time::ZERO, &mut dropped);
                    prop_assert_eq!(left, waiting.next());
                    if let Some(entry) = left {
                        waiting.remove(entry);
                        prop_assert!(out.insert(entry.packet));
                    }
                }
            }
            for drop in &dropped {
                prop_assert_eq!(drop.reason, DropReason::Full);
                waiting.remove(drop.entry);
                prop_assert!(out.insert(drop.entry.packet));
            }
            let bytes: u64 = waiting.0.iter().map(|entry| u64::from(entry.size)).sum();
            prop_assert_eq!((queue.packets(), queue.bytes()), (waiting.0.len() as u64, bytes));
            match limit_of(&spec) {
                Limit::Packets(limit) => prop_assert!(queue.packets() <= limit),
                Limit::Bytes(limit) => prop_assert!(queue.bytes() <= limit),
                Limit::Unlimited => prop_assert!(dropped.is_empty()),
            }
        }
        prop_assert_eq!(out.len() as u64, u64::from(arrivals));
    }

    #[test]
    fn a_run_repeats(spec in specs(), steps in steps(), seed: u64) {
        // The same seed and steps drop the same packets.
        let run = || {
            let mut queue = Any::new(&spec, |purpose| Stream::new(seed, purpose, 0));
            let (mut log, mut dropped) = (Vec::new(), Vec::new());
            for (packet, step) in (0..).zip(&steps) {
                match *step {
                    Step::Arrive { size, urgent } => {
                        let entry = Entry { packet, size, flow: 0, urgent, markable: false, marked: false };
                        queue.enqueue(Time::ZERO, entry, &mut dropped);
                    }
                    Step::Leave => log.push(queue.dequeue(Time::ZERO, &mut dropped)),
                }
            }
            (log, dropped)
        };
        prop_assert_eq!(run(), run());
    }
}
