//! Hunts over real simulations: the same finding for any number of threads and any interruption, and the regression
//! cases of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_catalog::Registry;
use thalweg_hunt::{
    DEFAULT_COMPETING_SCHEME, DisturbanceKind, Evaluator, Finding, GENERATION, Goal, Hunt, HuntError, Kinds,
    MAX_LINES, Schemes, Space, candidate_scenario, check_case, read_cases,
};
use thalweg_proto::random::RandomStream;
use thalweg_scenario::load_text;
use thalweg_sweep::{Purpose, Status, Store};

const PURPOSE: Purpose = Purpose { mark: "A test of hunts", about: "" };

/// Temporary directory of this test, removed on drop.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-hunt-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn store(&self) -> Store {
        Store::open(&self.0, PURPOSE).unwrap()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Hunts for Vegas's starvation; `tick` may set the stop flag.
fn hunt(
    store: &Store,
    threads: usize,
    generations: usize,
    mut tick: impl FnMut(Status, &AtomicBool),
) -> (Finding, Status) {
    let space = Space::new(Goal::Starvation, [DisturbanceKind::Flows].into_iter().collect());
    let stop: Arc<AtomicBool> = Arc::default();
    let registry = Arc::<Registry>::default();
    let hunt = Hunt {
        space: &space,
        schemes: Schemes { tested: "vegas", competing_scheme: DEFAULT_COMPETING_SCHEME },
        against: None,
        registry: &registry,
        candidates: (generations * GENERATION) as u64,
        seed: 1,
        threads,
        build: "test",
        stop: Arc::clone(&stop),
    };
    let mut last = Status::default();
    let finding = hunt.run(store, |status| {
        last = status;
        tick(status, &stop);
    });
    (finding.unwrap(), last)
}

fn finding_text(finding: &Finding) -> String {
    serde_json::to_string(finding).unwrap()
}

/// A hunt interrupted in its second generation resumes with the saved first one and gives the same result as an
/// uninterrupted hunt with other threads.
#[test]
fn interrupted_hunts_resume_with_identical_results() {
    let [one, other] = ["interrupted", "whole"].map(TempFolder::new);
    let (partial, _) = hunt(&one.store(), 2, 2, |status, stop| {
        stop.store(status.finished_runs >= GENERATION, Ordering::Relaxed);
    });
    assert!(!partial.complete && partial.candidates < 2 * GENERATION as u64);
    let (resumed, status) = hunt(&one.store(), 3, 2, |_, _| ());
    assert!(status.stored_runs >= GENERATION, "{status:?}");
    let (uninterrupted, status) = hunt(&other.store(), 1, 2, |_, _| ());
    assert_eq!((status.stored_runs, status.finished_runs), (0, 2 * GENERATION));
    assert_eq!(finding_text(&resumed), finding_text(&uninterrupted));
    // Vegas yields the queue to CUBIC: a known starvation that needs only the competing flow.
    assert!(uninterrupted.is_found && uninterrupted.score > 0.9, "{uninterrupted:?}");
    assert_eq!(uninterrupted.disturbances[1], 1, "{}", uninterrupted.scenario);
    let about = uninterrupted.scenario.lines().next().unwrap();
    assert!(about.starts_with("# Found by `thalweg hunt vegas --goal starvation --with flows"), "{about}");
}

/// Every candidate is a valid scenario of at most the maximum number of lines.
#[test]
fn candidates_are_scenarios() {
    let schemes = Schemes { tested: "newreno", competing_scheme: DEFAULT_COMPETING_SCHEME };
    for goal in Goal::ALL {
        let space = Space::new(goal, Kinds::all());
        let mut stream = RandomStream::new(2, goal.name(), 0);
        for _ in 0..60 {
            let candidate = space.mutate(&space.draw(&mut stream), &mut stream);
            let text = candidate_scenario(&candidate, &space, schemes, "Found.");
            assert!(text.lines().count() <= MAX_LINES, "{text}");
            if let Err(found) = load_text("candidate", &text, Path::new(""), &[]) {
                panic!(
                    "{text}\n{}",
                    found.iter().map(thalweg_scenario::Diagnostic::render).collect::<String>()
                );
            }
        }
    }
}

/// The score is near 0 on a path of the flow's own, and sharing the path with datagrams does not raise it.
#[test]
fn a_flow_that_has_all_does_not_starve() {
    let space = Space::new(Goal::Starvation, Kinds::all());
    let mut candidate =
        thalweg_hunt::Candidate { rate: 4000, delay: 10_000, queue: 60, count: 1, ..Default::default() };
    let registry = Arc::<Registry>::default();
    let evaluator = Evaluator {
        space: &space,
        schemes: Schemes { tested: "cubic", competing_scheme: DEFAULT_COMPETING_SCHEME },
        against: None,
        registry: &registry,
    };
    let alone = evaluator.min_score_above(&candidate, 1, -1.0).unwrap();
    assert!(alone < 0.02, "{alone}");
    candidate.pulses.push(thalweg_hunt::Pulses { start: 0, burst_length: 10, off: 90, percent: 100 });
    let beside = evaluator.min_score_above(&candidate, 1, -1.0).unwrap();
    assert!(beside < 0.05, "{beside}");
    // The scheme is no worse than itself.
    let against = Evaluator { against: Some("cubic"), ..evaluator };
    assert_eq!(against.min_score_above(&candidate, 1, -1.0), Ok(0.0));
}

#[test]
fn there_must_be_such_schemes() {
    let space = Space::new(Goal::Stall, Kinds::all());
    let registry = Arc::<Registry>::default();
    let schemes = Schemes { tested: "vegas", competing_scheme: DEFAULT_COMPETING_SCHEME };
    for (schemes, against) in [
        (Schemes { tested: "vegsa", ..schemes }, None),
        (Schemes { competing_scheme: "vegsa", ..schemes }, None),
        (schemes, Some("vegas:alhpa=1pkt")),
    ] {
        let hunt = Hunt {
            space: &space,
            schemes,
            against,
            registry: &registry,
            candidates: 1,
            seed: 1,
            threads: 1,
            build: "test",
            stop: Arc::default(),
        };
        assert!(matches!(hunt.check(), Err(HuntError::Scheme(_))), "{schemes:?} {against:?}");
    }
}

/// The findings of `scenarios/hunt` still reproduce.
#[test]
fn found_cases_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/hunt");
    let registry = Arc::<Registry>::default();
    let cases = read_cases(&folder).unwrap();
    assert!(cases.len() >= 5);
    for case in &cases {
        let recheck = check_case(case, &folder, &registry);
        assert!(recheck.holds(), "{recheck:?}");
        let lines = fs::read_to_string(folder.join(&case.file)).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{}: {lines} lines", case.file);
    }
    // Of two schemes that differ in one rule, the second does not have the failure.
    for (file, scheme, at_most) in [
        ("bbr-filter-advance-ten-rounds-stall.toml", "bbr", 0.5),
        ("sscop-rate-literal-queue.toml", "sscop-rate", 0.5),
    ] {
        let case = cases.iter().find(|case| case.file == file).unwrap();
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let line = text.lines().find(|line| line.contains("name = \"tested\"")).unwrap();
        let tested_scheme = line.split("scheme = \"").nth(1).unwrap().split('"').next().unwrap();
        let text = text.replace(&format!("scheme = \"{tested_scheme}\""), &format!("scheme = \"{scheme}\""));
        let goal = Goal::by_name(&case.goal).unwrap();
        let score = thalweg_hunt::score_of(file, &text, &folder, goal, &registry).unwrap();
        assert!(score <= at_most, "{scheme} in {file}: {score}");
    }
}

/// There is nothing to confirm: the scenario of a default candidate has no rate, and the hunt divided by it.
#[test]
fn a_hunt_interrupted_at_once_has_no_finding() {
    let folder = TempFolder::new("interrupted-at-once");
    let (registry, store) = (Arc::<Registry>::default(), folder.store());
    let space = Space::new(Goal::Queue, Kinds::all());
    let hunt = Hunt {
        space: &space,
        schemes: Schemes { tested: "cubic", competing_scheme: DEFAULT_COMPETING_SCHEME },
        against: None,
        registry: &registry,
        candidates: 64,
        seed: 1,
        threads: 1,
        build: "test",
        stop: Arc::new(true.into()),
    };
    assert!(matches!(hunt.run(&store, |_| ()), Err(HuntError::Interrupted)));
}
