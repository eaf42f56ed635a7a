//! End-to-end tests of `thalweg hunt`: findings become tests, and errors are reported.

use crate::command_runs::{errors, temporary_path, thalweg};
use std::fs;
use std::path::Path;
use std::process::Output;

fn hunt(folder: &Path, arguments: &[&str]) -> Output {
    thalweg(folder, &[&["hunt"], arguments].concat())
}

#[test]
fn findings_become_regression_tests() {
    let folder = temporary_path("hunt-found");
    let output =
        hunt(&folder, &["vegas", "--goal", "starvation", "--with", "flows", "--candidates", "1", "--quiet"]);
    assert!(output.status.success(), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("vegas, starvation: ") && printed.contains("a flow carries"), "{printed}");
    let file = "hunt/vegas-starvation.toml";
    assert!(printed.contains(file) && folder.join("hunt/vegas-starvation.json").is_file(), "{printed}");
    let kept = hunt(&folder, &["--keep", file, "--goal", "starvation"]);
    assert!(kept.status.success(), "{}", errors(&kept));
    assert!(hunt(&folder, &["--check", "cases"]).status.success());
    let again = hunt(&folder, &["--keep", file, "--goal", "starvation"]);
    assert!(again.status.code() == Some(2) && errors(&again).contains("already"), "{}", errors(&again));
    // A fixed scheme no longer has the stored score.
    let case = folder.join("cases/vegas-starvation.toml");
    let text = fs::read_to_string(&case).unwrap();
    fs::write(&case, text.replace("scheme = \"vegas\"", "scheme = \"cubic\"")).unwrap();
    let mended = hunt(&folder, &["--check", "cases"]);
    let printed = String::from_utf8_lossy(&mended.stdout).into_owned();
    assert!(mended.status.code() == Some(1) && printed.starts_with("- vegas-starvation.toml"), "{printed}");
    assert!(errors(&mended).contains("1 of 1 case"), "{}", errors(&mended));
}

/// Without a goal, the hunt covers the goals for which the given kinds are relevant.
#[test]
fn goals_without_matching_kinds_are_skipped() {
    let folder = temporary_path("hunt-some-goals");
    let output = hunt(&folder, &["newreno", "--with", "flows", "--candidates", "1", "--quiet"]);
    assert!(output.status.success(), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("newreno, starvation: ") && !printed.contains("newreno, queue: "), "{printed}");
}

#[test]
fn mistakes_are_reported_before_anything_runs() {
    let folder = temporary_path("hunt-mistakes");
    fs::create_dir(folder.join("cases")).unwrap();
    fs::write(folder.join("cases/cases.toml"), "[[case]]\nfile = \"x\"\ngoal = \"stal\"\nat-least = 1\n")
        .unwrap();
    fs::create_dir(folder.join("thesis")).unwrap();
    fs::write(folder.join("thesis/chapter.txt"), "x").unwrap();
    fs::write(folder.join("plain.toml"), "duration = \"1 s\"\n").unwrap();
    for (arguments, words) in [
        (&["vegsa"][..], "vegas"),
        (&["vegas", "--beside", "vegsa"][..], "vegas"),
        (&["vegas:alhpa=1pkt"][..], "alpha"),
        (&["vegas", "--goal", "stal"][..], "stall"),
        (&["vegas", "--with", "pulse"][..], "pulses"),
        (&["vegas", "--goal", "collapse", "--with", "losses"][..], "do not apply to collapse"),
        (&["vegas", "--candidates", "0"][..], "candidates"),
        (&["vegas", "--out", "thesis"][..], "something else"),
        (&["--check", "none"][..], "cases.toml"),
        (&["--check", "cases"][..], "no goal `stal`"),
        (&["--keep", "none.toml", "--goal", "stall"][..], "none.toml"),
        (&["--keep", "plain.toml", "--goal", "stall,queue"][..], "one --goal"),
        (&[][..], "SCHEME"),
    ] {
        let output = hunt(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(words), "{arguments:?}: {}", errors(&output));
    }
    let output = hunt(&folder, &["--keep", "plain.toml", "--goal", "stall"]);
    assert!(!output.status.success() && errors(&output).contains("plain.toml"), "{}", errors(&output));
    assert!(!folder.join("hunt").exists(), "nothing ran");
}
