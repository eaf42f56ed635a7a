//! Helpers that build a test's network and traffic, and a runner that verifies every run.

use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, EndsConfig};
use thalweg_proto::window::{ReceiverConfig, SenderConfig};
use thalweg_queue::{DisciplineSpec, ImpairmentSpec, Limit, LossSpec};
use thalweg_sim::packet_trace::{Record, Tracer};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::verify::Verifier;
use thalweg_sim::{RunResult, Simulation, Status};

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns a plain direction with room for this many packets.
pub fn direction(rate: Rate, delay: Duration, limit: Limit) -> DirectionSpec {
    DirectionSpec { rate, queue: DisciplineSpec::fcfs(limit), ..DirectionSpec::unlimited_rate(delay) }
}

/// Adds random loss with this probability.
pub fn with_random_loss(direction: DirectionSpec, probability: f64) -> DirectionSpec {
    let impairment = ImpairmentSpec { loss: LossSpec::Uniform { probability }, ..ImpairmentSpec::default() };
    DirectionSpec { impairment, ..direction }
}

/// Returns nodes 0, 1 ... in a row, connected by these links.
pub fn chain(links: Vec<(DirectionSpec, DirectionSpec)>) -> Spec {
    let nodes = (0..=links.len()).map(|number| NodeSpec::new(format!("n{number}"))).collect();
    let links = (0..)
        .zip(links)
        .map(|(number, (forward, backward))| {
            LinkSpec::new(format!("l{number}"), [number, number + 1].map(NodeId), forward, backward)
        })
        .collect();
    Spec {
        nodes,
        links,
        duration: Duration::from_secs(10),
        seed: 1,
        measure: MeasureSpec { interval: None, ..MeasureSpec::default() },
        ..Spec::default()
    }
}

/// Returns two nodes and one link with equal directions.
pub fn pipe(direction: DirectionSpec) -> Spec {
    chain(vec![(direction.clone(), direction)])
}

pub fn group(name: &str, to: u32, transport: TransportSpec, workload: WorkloadSpec) -> GroupSpec {
    GroupSpec::new(name, [NodeId(0), NodeId(to)], transport, workload)
}

/// Segments of 960 bytes with headers of 40, acknowledgements of 40.
pub fn window(controller: ControllerConfig) -> TransportSpec {
    TransportSpec::new(
        "window",
        EndsConfig::new(
            SenderConfig { segment: 960, ..SenderConfig::default() },
            ReceiverConfig::default(),
            controller,
        ),
        40,
        40,
    )
}

/// Datagrams of up to 65 000 bytes without headers, sent as they are written.
pub fn datagrams() -> TransportSpec {
    TransportSpec::new("udp", SourceConfig { segment: 65_000, header: 0, rate: None }, 0, 0)
}

pub fn bytes(bytes: u64) -> Bytes {
    Bytes::new(bytes)
}

/// Runs to the end with the verifier.
#[track_caller]
pub fn run(spec: &Spec) -> RunResult {
    let mut simulation = Simulation::new(spec, Verifier::new(spec)).expect("the specification is valid");
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, verifier) = simulation.finish();
    assert!(result.conservation.holds(), "{:?}", result.conservation);
    if let Err(violations) = verifier.finish(&result) {
        let text: Vec<String> = violations.iter().take(5).map(ToString::to_string).collect();
        panic!("{} violations:\n{}", violations.len(), text.join("\n"));
    }
    result
}

/// All records, as text.
#[derive(Debug, Default)]
pub struct Listing(pub Vec<String>);

impl Tracer for Listing {
    fn record(&mut self, record: &Record<'_>) {
        self.0.push(format!("{record:?}"));
    }

    fn gate(&mut self, time: Time, connection: u32, paused: bool) {
        self.0.push(format!("{time:?}: {connection} paused: {paused}"));
    }

    fn on_warmup_end(&mut self, time: Time) {
        self.0.push(format!("{time:?}: the end of the warm-up"));
    }
}
