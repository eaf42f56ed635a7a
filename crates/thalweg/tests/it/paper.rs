//! End-to-end tests of `thalweg paper`.

use crate::command_runs::{self, fails, prints, thalweg};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn temporary_path(name: &str) -> PathBuf {
    command_runs::temporary_path(&format!("paper-{name}"))
}

const ONE_EXPERIMENT: [&str; 5] = ["paper", "liang91", "--experiment", "table-5.2/exp-2", "--quiet"];

fn with_one_experiment<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ONE_EXPERIMENT.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn json_is_one_document_and_the_same_for_any_number_of_threads() {
    let place = temporary_path("json");
    let text = prints(&place, &with_one_experiment(&["--json", "--jobs", "1"]));
    assert_eq!(text, prints(&place, &with_one_experiment(&["--json", "--jobs", "3"])));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["paper"], "liang91");
    assert_eq!(document["experiments"][0]["id"], "table-5.2/exp-2");
    let names: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(names, ["paper", "experiments", "claims"]);
    assert_ne!(
        text,
        prints(&place, &with_one_experiment(&["--json", "--seed", "7"])),
        "another seed, other numbers"
    );
}

#[test]
fn tables_show_ours_beside_the_published_values() {
    let text = prints(&temporary_path("tables"), &with_one_experiment(&[]));
    for words in ["table-5.2/exp-2", "slow-start", "(62.96, ", "source 2", "+/-"] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    assert!(text.is_ascii(), "what is not a terminal gets plain text");
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let place = temporary_path("wrong");
    let error = fails(&place, &["paper", "liang19"], 2);
    assert!(error.contains("no paper `liang19`") && error.contains("did you mean `liang91`?"), "{error}");
    let error = fails(&place, &["paper", "liang91", "--experiment", "table-5.2/exp2"], 2);
    assert!(error.contains("did you mean `table-5.2/exp-2`?"), "{error}");
    let error = fails(&place, &["paper", "liang91", "--experiment", "table-5.99"], 2);
    assert!(error.contains("did you mean `table-5.9"), "{error}");
    assert!(
        fails(&place, &with_one_experiment(&["--seed", "18446744073709551615"]), 2).contains("too large")
    );
    assert!(fails(&place, &with_one_experiment(&["--reps", "20000"]), 2).contains("at most 10000"));
    assert!(fails(&place, &with_one_experiment(&["--reps", "4294967295"]), 2).contains("from 1 to 100000"));
}

#[test]
fn a_list_names_the_experiments_and_runs_none() {
    let text = prints(&temporary_path("list"), &["paper", "liang91", "--list"]);
    assert!(
        text.lines().any(|line| line.starts_with("table-5.2/exp-2") && line.ends_with("one way, 2 users")),
        "{text}"
    );
    let some = prints(&temporary_path("list"), &["paper", "liang91", "--list", "--experiment", "figure-4.5"]);
    assert!(some.contains("table-4.5/exp-1") && some.lines().count() == 3, "{some}");
}

/// Without `--full` a note says what is shortened or left out; `--full` includes it.
#[test]
fn full_runs_are_those_of_the_plan() {
    let place = temporary_path("full");
    let call = |more: &[&str]| {
        let name = ["paper", "yang01", "--experiment", "section-3.1/10-kB", "--reps", "1"];
        thalweg(&place, &[&name, more].concat())
    };
    let messages = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let (short, full) = (call(&[]), call(&["--full"]));
    assert!(short.status.success() && full.status.success(), "{}", messages(&full));
    assert!(
        messages(&short).contains("--full makes all in full length, with 4 minutes"),
        "{}",
        messages(&short)
    );
    assert!(!messages(&full).contains("--full"), "{}", messages(&full));
    let listed = |more: &[&str]| prints(&place, &[&["paper", "gong92", "--list"], more].concat());
    let long =
        |text: &str| text.lines().filter(|line| line.contains("run only with --full or when named")).count();
    assert_eq!((long(&listed(&[])), long(&listed(&["--full"]))), (3, 0));
    assert!(fails(&place, &["paper", "gong92", "--full", "--quick"], 2).contains("cannot be used with"));
}

/// Each run of a paper is stored like one of `thalweg run --out`, and a rerun gives the same numbers.
#[test]
fn a_folder_holds_each_run_ready_to_run_again() {
    let place = temporary_path("out");
    let call = with_one_experiment(&["--out", "results"]);
    let text = prints(&place, &call);
    let folder = place.join("results");
    assert_eq!(fs::read_to_string(folder.join("summary.txt")).unwrap(), text);
    // Without random events, one run represents all seeds.
    let single = fs::read_to_string(folder.join("runs/table-5.2-exp-2-seif/results.json")).unwrap();
    let single: Value = serde_json::from_str(&single).unwrap();
    assert_eq!((single["runs"].as_array().unwrap().len(), &single["seeds"]), (1, &serde_json::json!([1])));
    assert!(
        prints(&place, &["rerun", "results/runs/table-5.2-exp-2-seif", "--quiet"])
            .starts_with("Identical: 1 run")
    );
    let run = "results/runs/table-5.2-exp-2-slow-start";
    assert!(prints(&place, &["rerun", run, "--quiet"]).starts_with("Identical"));
    assert!(place.join(run).join("series.csv").exists() && place.join(run).join("series.parquet").exists());
    let scenario = format!("{run}/scenario.toml");
    let stored = fs::read_to_string(place.join(run).join("results.json")).unwrap();
    let runs = |text: &str| serde_json::from_str::<Value>(text).unwrap()["runs"].clone();
    let reps = runs(&stored).as_array().unwrap().len().to_string();
    let again = prints(&place, &["run", &scenario, "--reps", &reps, "--json", "--quiet"]);
    assert!(runs(&again) == runs(&stored), "{scenario} gives other numbers than the paper's run");
    // It replaces results only.
    prints(&place, &call);
    fs::write(place.join(run).join("notes.txt"), "mine").unwrap();
    assert!(fails(&place, &call, 2).contains("notes.txt"));
}

#[test]
fn a_check_judges_what_was_run() {
    let place = temporary_path("check");
    let call = |id| thalweg(&place, &["paper", "liang91", "--check", "--experiment", id]);
    let messages = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let one = call("table-4.1");
    assert!(
        one.status.success() && messages(&one).contains("2 of 2 claims of the thesis hold"),
        "{}",
        messages(&one)
    );
    assert!(String::from_utf8_lossy(&one.stdout).contains("4.2a  holds: "));
    // A check without any judged claim fails.
    let none = call("table-5.1");
    assert_eq!(none.status.code(), Some(1), "{}", messages(&none));
    assert!(
        messages(&none).contains("nothing was checked: these experiments alone decide no claim"),
        "{}",
        messages(&none)
    );
    assert!(String::from_utf8_lossy(&none.stdout).contains("table-5.1/exp-1"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_paper_keeps_what_there_is() {
    use std::io::Read as _;
    let place = temporary_path("interrupted");
    let mut child = crate::child_processes::command(env!("CARGO_BIN_EXE_thalweg"))
        .args(["paper", "liang91", "--experiment", "table-5.7", "--reps", "3000", "--json", "--quiet"])
        .current_dir(&place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    crate::child_processes::wait_for_work(child.id(), std::time::Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["complete"], false);
    assert_eq!(document["claims"], serde_json::json!([]));
    let last = document["experiments"].as_array().unwrap().iter().find(|of| of["id"] == "table-5.7/exp-4");
    assert!(last.unwrap()["results"][0]["value"].is_null());
}
