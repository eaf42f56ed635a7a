//! Hunts over real simulations: the same finding for any number of threads and any interruption, and the found cases of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_catalog::Registry;
use thalweg_hunt::{
    DEFAULT_COMPETING_SCHEME, Evaluator, Finding, GENERATION, Goal, Hunt, HuntError, Kind, Kinds, MAX_LINES,
    Schemes, Space, cases, look, scenario,
};
use thalweg_proto::random::Stream;
use thalweg_scenario::load_text;
use thalweg_sweep::{Purpose, Status, Store};

const PURPOSE: Purpose = Purpose { mark: "A test of hunts", about: "" };

/// A folder of this test's own, which goes with the guard.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-hunt-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn store(&self) -> Store {
        Store::open(&self.0, PURPOSE).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Hunts for Vegas's starvation; `tick` may set the flag.
fn hunt(
    store: &Store,
    threads: usize,
    generations: usize,
    mut tick: impl FnMut(Status, &AtomicBool),
) -> (Finding, Status) {
    let space = Space::new(Goal::Starvation, [Kind::Flows].into_iter().collect());
    let stop: Arc<AtomicBool> = Arc::default();
    let registry = Arc::<Registry>::default();
    let hunt = Hunt {
        space: &space,
        schemes: Schemes { tested: "vegas", beside: DEFAULT_COMPETING_SCHEME },
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

fn text(finding: &Finding) -> String {
    serde_json::to_string(finding).unwrap()
}

/// A hunt that was interrupted in its second generation goes on with the first, and ends as one that was not, on other threads.
#[test]
fn what_is_interrupted_goes_on_and_ends_alike() {
    let [one, other] = ["interrupted", "whole"].map(Place::new);
    let (partial, _) = hunt(&one.store(), 2, 2, |status, stop| {
        stop.store(status.done >= GENERATION, Ordering::Relaxed);
    });
    assert!(!partial.complete && partial.candidates < 2 * GENERATION as u64);
    let (resumed, status) = hunt(&one.store(), 3, 2, |_, _| ());
    assert!(status.found >= GENERATION, "{status:?}");
    let (whole, status) = hunt(&other.store(), 1, 2, |_, _| ());
    assert_eq!((status.found, status.done), (0, 2 * GENERATION));
    assert_eq!(text(&resumed), text(&whole));
    // Vegas leaves a queue to CUBIC: a known starvation, and nothing but the other flow is needed for it.
    assert!(whole.is_found && whole.score > 0.9, "{whole:?}");
    assert_eq!(whole.disturbances[1], 1, "{}", whole.scenario);
    let about = whole.scenario.lines().next().unwrap();
    assert!(about.starts_with("# Found by `thalweg hunt vegas --goal starvation --with flows"), "{about}");
}

/// Every candidate is a scenario that can be read, no longer than is promised.
#[test]
fn candidates_are_scenarios() {
    let schemes = Schemes { tested: "newreno", beside: DEFAULT_COMPETING_SCHEME };
    for goal in Goal::ALL {
        let space = Space::new(goal, Kinds::all());
        let mut stream = Stream::new(2, goal.name(), 0);
        for _ in 0..60 {
            let genes = space.mutate(&space.draw(&mut stream), &mut stream);
            let text = scenario(&genes, &space, schemes, "Found.");
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

/// The score of a path that is all the flow's is near 0, and of one that is shared with datagrams they do not count.
#[test]
fn a_flow_that_has_all_does_not_starve() {
    let space = Space::new(Goal::Starvation, Kinds::all());
    let mut genes =
        thalweg_hunt::Candidate { rate: 4000, delay: 10_000, queue: 60, count: 1, ..Default::default() };
    let registry = Arc::<Registry>::default();
    let evaluator = Evaluator {
        space: &space,
        schemes: Schemes { tested: "cubic", beside: DEFAULT_COMPETING_SCHEME },
        against: None,
        registry: &registry,
    };
    let alone = evaluator.least_above(&genes, 1, -1.0).unwrap();
    assert!(alone < 0.02, "{alone}");
    genes.pulses.push(thalweg_hunt::Pulses { start: 0, on: 10, off: 90, percent: 100 });
    let beside = evaluator.least_above(&genes, 1, -1.0).unwrap();
    assert!(beside < 0.05, "{beside}");
    // It is no worse than itself.
    let against = Evaluator { against: Some("cubic"), ..evaluator };
    assert_eq!(against.least_above(&genes, 1, -1.0), Ok(0.0));
}

#[test]
fn there_must_be_such_schemes() {
    let space = Space::new(Goal::Stall, Kinds::all());
    let registry = Arc::<Registry>::default();
    let schemes = Schemes { tested: "vegas", beside: DEFAULT_COMPETING_SCHEME };
    for (schemes, against) in [
        (Schemes { tested: "vegsa", ..schemes }, None),
        (Schemes { beside: "vegsa", ..schemes }, None),
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

/// The findings of `scenarios/hunt` are still there.
#[test]
fn found_cases_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/hunt");
    let registry = Arc::<Registry>::default();
    let cases = cases(&folder).unwrap();
    assert!(cases.len() >= 5);
    for case in &cases {
        let looked = look(case, &folder, &registry);
        assert!(looked.holds(), "{looked:?}");
        let lines = fs::read_to_string(folder.join(&case.file)).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{}: {lines} lines", case.file);
    }
    // Of two schemes that differ in one rule the other one does not have what was found.
    for (file, scheme, at_most) in [
        ("bbr-filter-advance-ten-rounds-stall.toml", "bbr", 0.5),
        ("sscop-rate-literal-queue.toml", "sscop-rate", 0.5),
    ] {
        let case = cases.iter().find(|case| case.file == file).unwrap();
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let line = text.lines().find(|line| line.contains("name = \"tested\"")).unwrap();
        let own = line.split("scheme = \"").nth(1).unwrap().split('"').next().unwrap();
        let text = text.replace(&format!("scheme = \"{own}\""), &format!("scheme = \"{scheme}\""));
        let goal = Goal::named(&case.goal).unwrap();
        let score = thalweg_hunt::score_of(file, &text, &folder, goal, &registry).unwrap();
        assert!(score <= at_most, "{scheme} in {file}: {score}");
    }
}
