//! Workloads with barriers between rounds, and on-off workloads with long silent periods.

use crate::link_scenarios::{load, rendered_errors, with_link};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_sim::simulation_spec::WorkloadSpec;

fn workload(keys: &str) -> String {
    format!("{}workload = {{ {keys} }}\n", with_link(""))
}

#[test]
fn rounds_and_pareto_times_are_read_and_written() {
    let read = |keys: &str| {
        let loaded = load(&workload(keys)).unwrap_or_else(|found| panic!("{found:?}"));
        assert_eq!(load(&loaded.expanded()).unwrap().spec(), loaded.spec(), "{}", loaded.expanded());
        (loaded.spec().groups[0].workload.clone(), loaded.explain())
    };
    let (size, think) = (Bytes::new(64_000), Duration::from_millis(2));
    let (found, explanation) = read("kind = \"rounds\", size = \"64 kB\", rounds = 7, think = \"2 ms\"");
    assert_eq!(found, WorkloadSpec::Rounds { size, rounds: Some(7), think });
    assert!(explanation.contains("7 rounds of 64 kB from each flow"), "{explanation}");
    let (found, _) = read("kind = \"rounds\", size = \"64 kB\"");
    assert_eq!(found, WorkloadSpec::Rounds { size, rounds: None, think: Duration::ZERO });
    let (found, explanation) =
        read("kind = \"on-off\", on = \"1 s\", off = \"2 s\", rate = \"1 Mbit/s\", shape = 1.5");
    assert!(matches!(found, WorkloadSpec::OnOff { shape: Some(1.5), random: false, .. }), "{found:?}");
    assert!(explanation.contains("Pareto of shape 1.5"), "{explanation}");
    for (keys, expected) in [
        ("kind = \"rounds\", size = \"64 kB\", rounds = 0", "at least 1"),
        ("kind = \"rounds\", size = \"0 B\"", "at least 1 B"),
        ("kind = \"rounds\", rounds = 3", "needs `size`"),
        ("kind = \"on-off\", on = \"1 s\", off = \"2 s\", shape = 1", "above 1"),
        ("kind = \"on-off\", on = \"1 s\", off = \"2 s\", shape = 1.5, random = true", "exponential"),
    ] {
        let text = rendered_errors(&workload(keys));
        assert!(text.contains(expected), "{keys}: {text}");
    }
    let udp = format!("{}scheme = \"udp\"\n", workload("kind = \"rounds\", size = \"1 kB\""));
    assert!(rendered_errors(&udp).contains("does not repair losses"));
}
