//! Every scenario of the repository gives the same results on any number of threads.

use std::path::{Path, PathBuf};
use thalweg_proto::units::Duration;
use thalweg_scenario::load;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::{RunResult, Simulation, Status};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "toml") {
            found.push(path);
        }
    }
}

fn run(spec: &Spec, threads: usize) -> (RunResult, bool) {
    let mut simulation = Simulation::on_threads(spec, NoTrace, threads).unwrap();
    let is_parallel = simulation.is_parallel();
    while simulation.advance(1 << 20) == Status::Running {}
    (simulation.finish().0, is_parallel)
}

#[test]
fn threads_change_no_scenario() {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut all);
    all.sort();
    let mut partitioned = Vec::new();
    for path in all {
        // Paper plans are not scenarios.
        let Ok(loaded) = load(&path, &["duration=2 s".to_owned(), "warmup=500 ms".to_owned()]) else {
            continue;
        };
        let mut spec = loaded.spec().clone();
        if spec.groups.iter().any(|group| !group.pairs.is_empty()) {
            // Data-centre scenarios need less simulated time.
            (spec.duration, spec.warmup) = (Duration::from_millis(200), Duration::from_millis(50));
        }
        for group in &mut spec.groups {
            group.count = group.count.min(40);
        }
        let (alone, _) = run(&spec, 1);
        for threads in [2, 3] {
            let (result, is_parallel) = run(&spec, threads);
            // Compared field by field, to locate a difference.
            let name = path.display();
            assert_eq!(result.fingerprint, alone.fingerprint, "{name} on {threads}");
            assert_eq!(result.flows, alone.flows, "{name} on {threads}");
            assert_eq!(result.links, alone.links, "{name} on {threads}");
            assert!(result == alone, "{name} on {threads}");
            if is_parallel {
                partitioned.push(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    for name in ["parking-lot", "dumbbell", "ten-thousand-flows"] {
        assert!(partitioned.iter().any(|of| of == name), "{name} is on one thread: {partitioned:?}");
    }
}
