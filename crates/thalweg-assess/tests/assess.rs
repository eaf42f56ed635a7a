//! Assessments of small plans: verdicts, failing schemes, and results that depend on the plan alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_assess::{
    AssessError, Assessment, AssessmentPlan, Choice, Document, Files, Margins, Verdict, compare_assessments,
    format_assessment, junit, markdown, page,
};
use thalweg_catalog::{
    Key, Kind, Range, Registry, SchemeDescription, bind, option_keys::key, schemes::window,
};
use thalweg_proto::congestion::{AckSample, ConfigureController, Controller, Decision, LossSample};
use thalweg_report::output::Style;
use thalweg_sweep::{Program, Purpose, Store};

const PLAN: &str = r#"
title = "A small plan"
references = ["cubic", "newreno"]
margins = "margins.toml"
replications = 5
quick = { replications = 2, points = 1 }

[[section]]
number = "1"
title = "Harm"
[[section.experiment]]
sweep = "beside.sweep.toml"
title = "Beside CUBIC"
claim = [
    { text = "CUBIC's goodput is no lower than beside CUBIC", of = ["other"], measure = "goodput_bps", margin = "goodput" },
    { text = "No flow starves", of = ["tested", "other"], measure = "min_share", margin = "starved" },
]

[[section]]
number = "2"
title = "Use"
[[section.experiment]]
sweep = "beside.sweep.toml"
title = "The link"
claim = [{ text = "The link is used", of = ["core"], measure = "utilisation", margin = "used", only = { "link.core.rate" = ["2 Mbit/s"] } }]

[[section]]
number = "3"
title = "More"
not-evaluated = "it is a test"
"#;

const MARGINS: &str = r#"
[goodput]
about = "Goodput of others"
better = "more"
share = "20 %"
amount = "1 kbit/s"
[starved]
about = "The least share"
at-least = "0.3"
[used]
about = "Use of the link"
at-least = "50 %"
"#;

const SWEEP: &str = r#"
scenario = "beside.toml"
schemes = ["cubic", "newreno"]
flows = ["tested"]
[grid]
link.core.rate = ["2 Mbit/s", "8 Mbit/s"]
"#;

const SCENARIO: &str = r#"
duration = "20 s"
warmup = "5 s"
[[link]]
name = "core"
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { discipline = "fcfs", capacity = "20 pkt", feedback = "none" }
[defaults.flow]
spread = "1 s"
overhead = "500 us"
[[flow]]
name = "tested"
from = "a"
to = "b"
scheme = "cubic"
[[flow]]
name = "other"
from = "a"
to = "b"
scheme = "cubic"
"#;

/// Controller with a constant window; above a limit it panics like a buggy third-party scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stubborn {
    window: f64,
    limit: f64,
}

#[derive(Clone, Debug)]
struct HeldCase(Stubborn, f64);

impl Controller for HeldCase {
    type PacketInfo = ();
    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        self.1 += f64::from(sample.counted);
        assert!(self.1 < self.0.limit, "so much was not expected");
    }
    fn on_loss(&mut self, _sample: &LossSample) {}
    fn decision(&self) -> Decision {
        Decision::window(self.0.window)
    }
}

impl ConfigureController for Stubborn {
    type Controller = HeldCase;
    const NAME: &'static str = "stubborn";
    fn make(&self) -> HeldCase {
        HeldCase(*self, 0.0)
    }
}

const KEYS: &[Key] = &[
    key("window", Kind::Packets, "200 pkt", "The window.").within(Range::between(1.0, 1000.0), ""),
    key("limit", Kind::Packets, "1000000 pkt", "Acknowledged packets that are not expected.")
        .within(Range::between(1.0, 1e6), ""),
];
bind!(Stubborn { window: "window", limit: "limit" });

static STUBBORN: SchemeDescription =
    window::external_scheme::<Stubborn>("Keeps its window.", window::window_keys(KEYS, window::SACK));

const PURPOSE: Purpose = Purpose { mark: "A test", about: "" };

/// Returns an empty directory for this test, with the plan.
fn temporary_path(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    for (name, text) in [
        ("plan.toml", PLAN),
        ("margins.toml", MARGINS),
        ("beside.sweep.toml", SWEEP),
        ("beside.toml", SCENARIO),
    ] {
        fs::write(path.join(name), text).unwrap();
    }
    path
}

fn assess(
    folder: &Path,
    store: &str,
    scheme: &str,
    choice: &Choice,
    threads: usize,
) -> Result<Document, AssessError> {
    let files = Files::Folder(folder.to_owned());
    let plan = AssessmentPlan::read("plan.toml", &files.text("plan.toml").unwrap()).unwrap();
    let margins = Margins::read("margins.toml", &files.text("margins.toml").unwrap()).unwrap();
    let mut registry = Registry::default();
    registry.add_scheme(&STUBBORN);
    let program = Program { version: "test".to_owned(), build: "test".to_owned() };
    let assessment = Assessment {
        scheme,
        plan: &plan,
        margins: &margins,
        files: &files,
        registry: &Arc::new(registry),
        choice,
        threads,
        memory: None,
        program: &program,
        command: "writer",
        stop: Arc::new(AtomicBool::new(false)),
    };
    assessment.run(&Store::open(&folder.join(store), PURPOSE).unwrap(), None, |_| ())
}

fn verdicts_of(document: &Document) -> Vec<Verdict> {
    document.claims().map(|(.., claim)| claim.verdict).collect()
}

#[test]
fn greedy_schemes_harm_others_and_fair_ones_do_not() {
    let folder = temporary_path("assess-harm");
    let cubic = assess(&folder, "runs", "cubic", &Choice::default(), 2).unwrap();
    assert_eq!(verdicts_of(&cubic), [Verdict::Holds; 3], "{}", markdown(&cubic));
    // Two points with five seeds, with NewReno too: CUBIC is its own reference.
    assert_eq!((cubic.points, cubic.runs, cubic.complete), (2, 20, true));
    let greedy = assess(&folder, "runs", "stubborn", &Choice::default(), 2).unwrap();
    assert_eq!(
        verdicts_of(&greedy),
        [Verdict::DoesNotHold, Verdict::DoesNotHold, Verdict::Holds],
        "{}",
        markdown(&greedy)
    );
    let sections: Vec<Verdict> = greedy.sections.iter().map(|section| section.verdict).collect();
    assert_eq!(sections, [Verdict::DoesNotHold, Verdict::Holds, Verdict::NotEvaluated]);
    let (.., harm) = greedy.claims().next().unwrap();
    assert_eq!(harm.points.len(), 2);
    for point in &harm.points {
        let reference = &point.references[0];
        assert!(reference.difference.unwrap() < -0.5 * reference.mean.unwrap(), "{point:?}");
        assert_eq!((point.seeds, point.different), (5, 5));
        assert!(point.command.contains("flow.tested.scheme=stubborn") && point.command.ends_with("--seed 1"));
    }
    // Verdicts by a bound cover the references, too.
    let (.., starved) = greedy.claims().nth(1).unwrap();
    assert_eq!(starved.by_reference["cubic"], Verdict::Holds);
    let (.., used) = greedy.claims().nth(2).unwrap();
    assert_eq!(used.points.len(), 1, "`only` keeps one point");
    let text = markdown(&greedy);
    for part in [
        "**does not hold**",
        "| `goodput` | Goodput of others | at most 20 % plus 1 kbit/s lower | 1 |",
        "Not evaluated because it is a test.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(page(&greedy).contains("<svg class=\"heat\""));
    let xml = junit(&greedy);
    assert!(xml.contains("failures=\"2\"") && xml.matches("<failure ").count() == 2, "{xml}");
    let both = compare_assessments(&[cubic, greedy]);
    assert!(both.contains("| 1 Harm | holds | **does not hold** |"), "{both}");
    let failed = "- 1, Beside CUBIC: not \"CUBIC's goodput is no lower than beside CUBIC\"; `goodput_bps` ";
    assert!(both.contains(failed), "{both}");
    assert!(both.contains("Verdicts compare with cubic or with absolute bounds."), "{both}");
    assert!(both.contains("- Section 3 is not evaluated because it is a test.\n"), "{both}");
}

/// CUBIC states no target queue: neither a cell nor a section's verdict suggests that its claim was tested.
#[test]
fn claims_without_results_are_not_shown_as_successes() {
    let folder = temporary_path("assess-not-evaluated");
    let claim = r#"{ text = "The queue is short", of = ["tested", "core"], measure = "queue_per_target", margin = "short" }"#;
    let plan = PLAN.replace(
        "\"link.core.rate\" = [\"2 Mbit/s\"] } }]",
        &format!("\"link.core.rate\" = [\"2 Mbit/s\"] }} }}, {claim}]"),
    );
    assert!(plan.contains(claim));
    fs::write(folder.join("plan.toml"), plan).unwrap();
    let bound = "[short]\nabout = \"Queue divided by the target\"\nat-most = \"1000\"\n";
    fs::write(folder.join("margins.toml"), format!("{MARGINS}{bound}")).unwrap();
    let assessed = |scheme| assess(&folder, "runs", scheme, &Choice::default(), 2).unwrap();
    let (cubic, vegas) = (assessed("cubic"), assessed("vegas"));
    let verdict = |document: &Document| document.claims().nth(3).map(|(.., claim)| claim.verdict);
    assert_eq!(verdict(&cubic), Some(Verdict::NotEvaluated));
    assert_ne!(verdict(&vegas), Some(Verdict::NotEvaluated));
    let single = markdown(&cubic);
    assert!(single.contains("| 2 | Use | holds | 1 |  |  | 1 |"), "{single}");
    assert!(single.contains("`cubic` is its own reference"), "{single}");
    let both = compare_assessments(&[cubic, vegas]);
    assert!(both.contains("| 2, The link: The queue is short | `short` | not evaluated | "), "{both}");
    assert!(both.contains("| 2 Use | holds (1 of 2 claims evaluated) | "), "{both}");
    assert_eq!(both.matches("claims evaluated)").count(), 1, "{both}");
    assert_eq!(both.matches("is its own reference").count(), 1, "{both}");
    assert!(both.contains("| `short` | Queue divided by the target | at most 1000 | 2 |"), "{both}");
}

#[test]
fn the_bytes_follow_from_the_plan_whatever_the_threads_and_interruptions() {
    let folder = temporary_path("assess-bytes");
    let one = assess(&folder, "one", "newreno", &Choice::default(), 1).unwrap();
    let three = assess(&folder, "three", "newreno", &Choice::default(), 3).unwrap();
    assert_eq!(one.to_json(), three.to_json());
    assert_eq!((markdown(&one), page(&one), junit(&one)), (markdown(&three), page(&three), junit(&three)));
    // Only the missing run is executed again.
    let lost = fs::read_dir(folder.join("three/points")).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(lost).unwrap();
    let again = assess(&folder, "three", "newreno", &Choice::default(), 2).unwrap();
    assert_eq!(one.to_json(), again.to_json());
    let read: Document = serde_json::from_str(&one.to_json()).unwrap();
    assert_eq!(read.to_json(), one.to_json());
}

#[test]
fn a_panic_at_one_point_loses_no_other() {
    let folder = temporary_path("assess-panic");
    // 20 s of 2 Mbit/s carry at most 3300 packets; 20 s of 8 Mbit/s carry four times as many.
    let document = assess(&folder, "runs", "stubborn:limit=4000pkt", &Choice::default(), 2).unwrap();
    assert_eq!(document.failed.len(), 1, "{:?}", document.failed);
    let failed = &document.failed[0];
    assert_eq!(failed.values["link.core.rate"], "8 Mbit/s");
    assert!(failed.why.contains("stubborn"), "{}", failed.why);
    assert!(document.complete);
    let (.., harm) = document.claims().next().unwrap();
    let outcomes: Vec<String> = harm.points.iter().map(|point| format!("{:?}", point.outcome)).collect();
    assert_eq!(outcomes, ["DoesNotHold", "NoResult"]);
    assert_eq!(document.sections[1].verdict, Verdict::Holds, "its point has results");
    assert!(junit(&document).contains("<error "));
    assert!(page(&document).contains("Points without a result"));
}

#[test]
fn router_assisted_schemes_without_router_support_are_flagged() {
    let folder = temporary_path("assess-routers");
    let choice = Choice { quick: true, ..Choice::default() };
    let document = assess(&folder, "runs", "dec-bit", &choice, 2).unwrap();
    assert_eq!(document.needs_routers.as_deref(), Some("dec-bit"));
    // One point, and another for the claim that covers only that one.
    assert_eq!((document.points, document.seeds, document.quick), (2, (1, 2), true));
    assert!(document.claims().all(|(.., claim)| !claim.points.is_empty()));
    assert_eq!(markdown(&document).matches("Internet routers do not send (`dec-bit`)").count(), 2);
}

/// The 1988 transport uses go-back-N: every output warns before any verdict that CUBIC does not, until the options are
/// equal.
#[test]
fn differing_default_options_are_warned_of_before_verdicts() {
    let folder = temporary_path("assess-unlike");
    let mut choice = Choice { quick: true, ..Choice::default() };
    let document = assess(&folder, "runs", "dec-bit", &choice, 2).unwrap();
    let options: Vec<&str> = document.unlike_defaults.iter().map(|of| of.option.as_str()).collect();
    assert_eq!(options, ["initial-window", "recovery", "ecn"]);
    let (text, remedy) = (markdown(&document), "--set defaults.scheme.recovery=sack");
    assert!(text.find(remedy).unwrap() < text.find("## Sections").unwrap(), "{text}");
    let page = page(&document);
    assert!(page.find(remedy).unwrap() < page.find("Claims that hold").unwrap());
    let summary = format_assessment(&document, Style::PLAIN);
    assert!(summary.find("LIKE FOR LIKE").unwrap() < summary.find("claims:").unwrap(), "{summary}");
    assert!(junit(&document).contains("<property name=\"unlike-defaults\" value=\"NOT LIKE FOR LIKE"));
    choice.sets = ["defaults.scheme.recovery=sack", "defaults.scheme.ecn=true"].map(str::to_owned).to_vec();
    let levelled = assess(&folder, "runs", "dec-bit:initial-window=10pkt", &choice, 2).unwrap();
    assert_eq!(levelled.unlike_defaults, []);
    assert!(
        levelled
            .claims()
            .all(|(.., claim)| claim.points.iter().all(|of| of.command.contains("recovery=sack")))
    );
    let sets = "with defaults.scheme.recovery=sack and defaults.scheme.ecn=true everywhere";
    assert!(markdown(&levelled).contains(sets));
}

#[test]
fn errors_are_reported_before_the_first_run() {
    let folder = temporary_path("assess-mistakes");
    let fault = |scheme: &str, only: &str| {
        let choice = Choice { selected_sections: vec![only.to_owned()], ..Choice::default() };
        match assess(&folder, "runs", scheme, &choice, 1).unwrap_err() {
            AssessError::Scheme(found) | AssessError::Scenario(found) => format!("{found:?}"),
            AssessError::Invalid(why) => why,
            AssessError::Unfinished(error) => panic!("{error}"),
        }
    };
    assert!(fault("cubik", "1").contains("cubic"));
    assert!(fault("cubic", "9").contains("there are 1, 2, 3"));
    fs::write(folder.join("beside.sweep.toml"), SWEEP.replace("[\"tested\"]", "[\"tasted\"]")).unwrap();
    let found = fault("vegas", "1");
    assert!(found.contains("no flows `tasted`") && found.contains("tested"), "{found}");
    assert!(!folder.join("runs/points").exists());
}
