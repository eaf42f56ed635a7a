//! Series and names of flows while a run goes on, for displays.

use crate::test_network::{direction, group, millis, pipe, window};
use thalweg_proto::congestion::FixedWindowConfig;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::{GroupSpec, MeasureSpec, Spec, WorkloadSpec};
use thalweg_sim::{Series, Simulation, Status};

#[test]
fn series_grow_during_a_run_into_those_of_its_results() {
    let fixed = || window(ControllerConfig::FixedWindow(FixedWindowConfig { window: 20.0 }));
    let pair = GroupSpec { count: 2, ..group("pair", 1, fixed(), WorkloadSpec::Bulk) };
    let groups = vec![pair, group("single", 1, fixed(), WorkloadSpec::Bulk)];
    let path = pipe(direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Packets(20)));
    let measure = MeasureSpec { interval: Some(millis(100)), ..path.measure.clone() };
    let spec = Spec { groups, measure, duration: Duration::from_secs(5), ..path };
    let mut simulation = Simulation::new(&spec, NoTrace).unwrap();
    let names: Vec<_> = (0..4).map(|flow| simulation.flow_name(flow)).collect();
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(names, [name("pair.1"), name("pair.2"), name("single"), None]);
    let mut parts: Vec<Vec<Series>> = Vec::new();
    while simulation.advance(1000) == Status::Running {
        parts.push(simulation.series().cloned().collect());
    }
    let (result, _) = simulation.finish();
    assert!(parts.len() > 3, "{}", parts.len());
    let points = |series: &[Series]| series.iter().map(|of| of.points.len()).sum::<usize>();
    assert!(parts.windows(2).all(|pair| points(&pair[0]) < points(&pair[1])));
    for part in parts {
        for last in &result.series {
            let found = part.iter().find(|of| (of.quantity, of.subject) == (last.quantity, last.subject));
            assert!(last.points.starts_with(&found.unwrap().points), "{:?}", last.quantity);
        }
    }
}
