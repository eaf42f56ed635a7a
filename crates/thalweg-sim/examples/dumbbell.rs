//! A dumbbell of many flows, built without a scenario file: `dumbbell FLOWS MBITS BUFFER SECONDS`.

use std::time::Instant;
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::{ControllerConfig, EndsConfig};
use thalweg_proto::window::{ReceiverConfig, SenderConfig};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{Simulation, Status, packet_trace::NoTrace};

fn main() {
    let number = |n, default| std::env::args().nth(n).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (flows, mbits, buffer, seconds) = (number(1, 10), number(2, 100), number(3, 625), number(4, 60));
    let direction = |mbits, delay, limit| DirectionSpec {
        rate: Rate::from_mbits_per_sec(mbits),
        queue: DisciplineSpec::fcfs(limit),
        ..DirectionSpec::unlimited_rate(Duration::from_millis(delay))
    };
    let bottleneck = direction(mbits, 10, Limit::Packets(buffer));
    let access = direction(1000, 1, Limit::Unlimited);
    let transport = TransportSpec::new(
        "newreno",
        EndsConfig::new(
            SenderConfig { segment: 1000, ..SenderConfig::default() },
            ReceiverConfig::default(),
            ControllerConfig::NewReno(NewRenoConfig {
                initial_window: 10.0,
                initial_ssthresh: 1e9,
                slow_start_exit: Default::default(),
                ecn_beta: None,
                slow_start_beta: None,
            }),
        ),
        40,
        40,
    );
    let spec = Spec {
        nodes: vec![NodeSpec::new("left"), NodeSpec::new("right")],
        links: vec![LinkSpec::new("bottleneck", [NodeId(0), NodeId(1)], bottleneck.clone(), bottleneck)],
        groups: vec![GroupSpec {
            count: flows as u32,
            access: Some(AccessSpec {
                source_forward: access.clone(),
                source_backward: access.clone(),
                sink_forward: access.clone(),
                sink_backward: access,
                source_processing: Processing::default(),
                sink_processing: Processing::default(),
            }),
            spread: Duration::from_millis(number(5, 0)),
            ..GroupSpec::new("flows", [NodeId(0), NodeId(1)], transport, WorkloadSpec::Bulk)
        }],
        duration: Duration::from_secs(seconds),
        seed: 1,
        ..Spec::default()
    };
    let begin = Instant::now();
    let mut simulation = Simulation::new(&spec, NoTrace).expect("the specification is valid");
    let built = begin.elapsed();
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, NoTrace) = simulation.finish();
    let wall = begin.elapsed().as_secs_f64();
    let rss = std::fs::read_to_string("/proc/self/status").ok();
    let rss = rss.and_then(|text| text.lines().find(|line| line.starts_with("VmHWM")).map(str::to_owned));
    println!(
        "goodput {} jain {:.4} drops {} util {:.4} events {} hops {} | {:.3} s (built in {:.3}), {:.2} M hops/s, {:?}",
        result.groups[0].goodput,
        result.groups[0].jain.unwrap_or(f64::NAN),
        result.links[0].drops_full,
        result.links[0].utilisation,
        result.events,
        result.hops,
        wall,
        built.as_secs_f64(),
        result.hops as f64 / wall / 1e6,
        rss,
    );
    let mut goodput: Vec<_> = result
        .flows
        .iter()
        .map(|flow| (flow.goodput.as_bits_per_sec() / 1000, flow.timeouts, flow.retransmissions))
        .collect();
    goodput.sort_unstable();
    println!("{:?}", goodput.iter().step_by(flows as usize / 10).collect::<Vec<_>>());
    println!("top {:?}", &goodput[goodput.len().saturating_sub(8)..]);
    println!("{:?} {:x}", result.conservation, result.fingerprint);
    assert!(result.conservation.holds());
}
