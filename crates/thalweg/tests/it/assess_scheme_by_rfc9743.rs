//! End-to-end tests of `thalweg assess`, which evaluates a scheme by the sections of RFC 9743: reports, exit codes, interruption, and
//! unwritable folders.

use crate::command_runs::{errors, temporary_path, thalweg};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn run_assess(folder: &Path, arguments: &[&str]) -> Output {
    thalweg(folder, &[&["assess"], arguments].concat())
}

/// Arguments for one section with short runs, few points and seeds.
const QUICK_ONE_SECTION: [&str; 4] = ["--quick", "--only", "7.4", "--quiet"];

#[test]
fn one_rfc_section_is_assessed_with_reports_of_every_kind() {
    let folder = temporary_path("assess-section");
    let first = run_assess(&folder, &[&["cubic"][..], &QUICK_ONE_SECTION].concat());
    assert!(first.status.success(), "CUBIC does not harm itself: {}", errors(&first));
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(
        text.contains("7.4    Internet of Things")
            && text.contains("CUBIC's goodput is no lower than beside CUBIC: holds"),
        "{text}"
    );
    let out = folder.join("assessment");
    for name in ["cubic.html", "cubic.md", "cubic.json", "cubic.xml", "README.txt"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    // A fixed window takes the whole rate: failed claims give exit code 1. CUBIC's runs are already stored.
    let greedy = "fixed:window=60pkt";
    let second = run_assess(&folder, &[greedy, "--quick", "--only", "7.4", "--json"]);
    assert_eq!(second.status.code(), Some(1), "{}", errors(&second));
    assert!(errors(&second).contains("do not hold"), "{}", errors(&second));
    assert!(errors(&second).contains("24 were stored"), "{}", errors(&second));
    let document: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!(document["sections"][0]["verdict"], "does-not");
    let kept = out.join("fixed-window-60pkt.json");
    assert_eq!(document, serde_json::from_slice::<Value>(&fs::read(kept).unwrap()).unwrap());
}

#[test]
fn mistakes_are_reported_before_anything_runs() {
    let folder = temporary_path("assess-mistakes");
    for (arguments, words) in [
        (&["cubik"][..], "cubic"),
        (&["cubic,cubic"][..], "given twice"),
        (&["cubic:bta=0.5"][..], "beta"),
        (&["cubic", "--only", "9.9"][..], "no section `9.9`"),
        (&["cubic", "--pack", "rfc9473"][..], "did you mean `rfc9743`?"),
        (&["cubic", "--margins", "none.toml"][..], "none.toml"),
        (&[][..], "SCHEME"),
    ] {
        let output = run_assess(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(words), "{arguments:?}: {}", errors(&output));
    }
    assert!(!folder.join("assessment/points").exists());
    fs::create_dir(folder.join("thesis")).unwrap();
    fs::write(folder.join("thesis/chapter.txt"), "x").unwrap();
    let output = run_assess(&folder, &["cubic", "--out", "thesis"]);
    assert!(
        output.status.code() == Some(2) && errors(&output).contains("something else"),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_custom_plan_has_its_margins_and_points() {
    let folder = temporary_path("assess-plan");
    assert!(run_assess(&folder, &["--unpack", "plan"]).status.success());
    assert!(!run_assess(&folder, &["--unpack", "plan"]).status.success(), "what is there is not overwritten");
    let list = run_assess(&folder, &["--list", "--pack", "plan/rfc9743.toml", "--only", "7.4,7.10"]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(
        list.contains("constrained.sweep.toml") && list.contains("not evaluated because flows have one path"),
        "{list}"
    );
    // A margin that no scheme satisfies.
    let margins = fs::read_to_string(folder.join("plan/margins.toml")).unwrap();
    let strict = margins.replace("at-least = \"0.1\"", "at-least = \"1.1\"");
    assert_ne!(margins, strict);
    fs::write(folder.join("strict.toml"), strict).unwrap();
    let pack = ["--pack", "plan/rfc9743.toml", "--margins", "strict.toml"];
    let output = run_assess(&folder, &[&["cubic"][..], &QUICK_ONE_SECTION, &pack].concat());
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("No flow starves: does not hold"), "{text}");
    assert!(fs::read_to_string(folder.join("assessment/cubic.md")).unwrap().contains("at least 1.1"));
}

/// A file size limit emulates a full disk: stored runs are kept, and the same command resumes.
#[test]
fn a_disk_that_is_full_loses_nothing() {
    let folder = temporary_path("assess-full");
    let program = env!("CARGO_BIN_EXE_thalweg");
    let call = "assess cubic --quick --only 7.4 --quiet";
    let full = format!("trap '' XFSZ; ulimit -f 2; '{program}' {call}");
    let output =
        crate::child_processes::command("sh").args(["-c", &full]).current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(errors(&output).contains("repeat the call"), "{}", errors(&output));
    let output = run_assess(&folder, &["cubic", "--quick", "--only", "7.4", "--quiet"]);
    assert!(output.status.success(), "{}", errors(&output));
}
