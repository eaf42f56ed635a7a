//! `thalweg hunt` as a user meets it: what is found becomes a test, and mistakes are told.

mod calls;
mod children;

use calls::{errors, place};
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

fn hunt(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = children::command(env!("CARGO_BIN_EXE_thalweg"));
    command.arg("hunt").args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn what_is_found_becomes_a_test_that_tells_when_it_changes() {
    let folder = place("hunt-found");
    let output =
        hunt(&folder, &["vegas", "--goal", "starvation", "--with", "flows", "--candidates", "1", "--quiet"]);
    assert!(output.status.success(), "{}", errors(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("vegas, starvation: ") && said.contains("a flow carries"), "{said}");
    let file = "hunt/vegas-starvation.toml";
    assert!(said.contains(file) && folder.join("hunt/vegas-starvation.json").is_file(), "{said}");
    let kept = hunt(&folder, &["--keep", file, "--goal", "starvation"]);
    assert!(kept.status.success(), "{}", errors(&kept));
    assert!(hunt(&folder, &["--check", "cases"]).status.success());
    let again = hunt(&folder, &["--keep", file, "--goal", "starvation"]);
    assert!(again.status.code() == Some(2) && errors(&again).contains("already"), "{}", errors(&again));
    // A scheme that is mended no longer has the score.
    let case = folder.join("cases/vegas-starvation.toml");
    let text = fs::read_to_string(&case).unwrap();
    fs::write(&case, text.replace("scheme = \"vegas\"", "scheme = \"cubic\"")).unwrap();
    let mended = hunt(&folder, &["--check", "cases"]);
    let said = String::from_utf8_lossy(&mended.stdout).into_owned();
    assert!(mended.status.code() == Some(1) && said.starts_with("- vegas-starvation.toml"), "{said}");
    assert!(errors(&mended).contains("1 of 1 case"), "{}", errors(&mended));
}

/// Without a goal those are hunted for that the kinds say something about.
#[test]
fn goals_that_the_kinds_say_nothing_about_are_passed_over() {
    let folder = place("hunt-some-goals");
    let output = hunt(&folder, &["newreno", "--with", "flows", "--candidates", "1", "--quiet"]);
    assert!(output.status.success(), "{}", errors(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("newreno, starvation: ") && !said.contains("newreno, queue: "), "{said}");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = place("hunt-mistakes");
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
        (&["vegas", "--goal", "collapse", "--with", "losses"][..], "say nothing about collapse"),
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
