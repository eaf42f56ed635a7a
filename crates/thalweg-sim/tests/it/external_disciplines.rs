//! Third-party disciplines: they run like built-in ones, and a contract violation ends the run and names the
//! discipline.

use crate::test_network::{direction, group, millis, pipe, run, window};
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::{
    Discipline, DisciplineConfig, DisciplineSpec, DroppedPacket, Entry, Fcfs, Limit, Pie, PieConfig,
    RandomStreams, Traits,
};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::{Spec, WorkloadSpec};
use thalweg_sim::{Simulation, Status};

/// 10 Mbit/s, 10 ms each way.
fn spec_of_path(queue: DisciplineSpec, controller: ControllerConfig) -> Spec {
    let forward = direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Unlimited);
    let mut spec = pipe(forward);
    spec.links[0].forward.queue = queue;
    let groups = vec![group("flow", 1, window(controller), WorkloadSpec::Bulk)];
    Spec { groups, duration: Duration::from_secs(20), ..spec }
}

/// PIE under another name.
#[derive(Clone, Debug, PartialEq)]
struct MyPie(PieConfig);

impl DisciplineConfig for MyPie {
    type Queue = Pie;
    const NAME: &'static str = "my-pie";
    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Pie {
        self.0.make(limit, streams)
    }
    fn traits(&self) -> Traits {
        self.0.traits()
    }
    fn description(&self) -> String {
        self.0.description()
    }
}

/// A wrapper that counts does not change a discipline's behaviour.
#[test]
fn an_external_discipline_runs_as_a_built_in_one() {
    let limit = Limit::Packets(100);
    let reno = || {
        ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        })
    };
    let built_in = run(&spec_of_path(DisciplineSpec::new(limit, PieConfig::default()), reno()));
    let other = run(&spec_of_path(DisciplineSpec::new(limit, MyPie(PieConfig::default())), reno()));
    assert!(built_in.links[0].drops_early > 0);
    assert_eq!(built_in.fingerprint, other.fingerprint);
}

/// A queue that never releases a packet, or reports one packet more than wait.
#[derive(Clone, Debug, PartialEq)]
struct FaultyDiscipline {
    withholds: bool,
}

#[derive(Debug)]
struct BrokenLine(Fcfs, FaultyDiscipline);

impl Discipline for BrokenLine {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        self.0.enqueue(now, entry, dropped);
    }
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if self.1.withholds { None } else { self.0.dequeue(now, dropped) }
    }
    fn packets(&self) -> u64 {
        self.0.packets() + u64::from(!self.1.withholds)
    }
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl DisciplineConfig for FaultyDiscipline {
    type Queue = BrokenLine;
    const NAME: &'static str = "mine";
    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> BrokenLine {
        BrokenLine(Fcfs::new(limit), self.clone())
    }
    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: true,
            drops_early: false,
            marks_ecn: false,
            is_random: false,
            enqueues_when_link_idle: false,
            depends_on_priority: false,
            isolates_hosts: false,
        }
    }
    fn description(&self) -> String {
        "mine".to_owned()
    }
}

/// Four packets of 1000 bytes leave at once. The first is in service for 0.8 ms, the second waits from the start, and
/// the transmitter requests it when idle.
#[test]
fn a_contract_violation_of_a_discipline_ends_the_run_and_names_it() {
    for (withholds, expected) in [
        (false, "`l0: n0 -> n1` at 0 s: the discipline `mine` reports 2 packets where 1 are queued"),
        (
            true,
            "`l0: n0 -> n1` at 800 us: the discipline `mine` dequeued no packet for an idle link although 3 are queued",
        ),
    ] {
        let queue = DisciplineSpec::new(Limit::Unlimited, FaultyDiscipline { withholds });
        let spec = spec_of_path(queue, ControllerConfig::FixedWindow(FixedWindowConfig { window: 4.0 }));
        let mut simulation = Simulation::new(&spec, NoTrace).unwrap();
        while simulation.advance(1 << 20) == Status::Running {}
        assert_eq!(simulation.advance(1), Status::Broken);
        assert_eq!(simulation.error().unwrap().to_string(), expected);
        assert!(!simulation.finish().0.is_complete);
    }
}
