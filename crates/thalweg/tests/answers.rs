//! Answers of the command that must be about what was asked.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn thalweg(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// A folder of this test's own with `text` as `own.toml`.
fn place(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("own.toml"), text).unwrap();
    path
}

const OWN: &str = r#"
duration = "5 s"
warmup = "1 s"

[[link]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"

[[flow]]
from = "a"
to = "b"
scheme = { base = "newreno", initial-window = "40 pkt", max-window = "12 pkt" }
"#;

fn fingerprints(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    match document["schemes"].as_array() {
        Some(schemes) => schemes.iter().map(|of| of["runs"][0]["fingerprint"].clone()).collect(),
        None => vec![document["runs"][0]["fingerprint"].clone()],
    }
}

#[test]
fn comparisons_keep_the_options_of_the_file() {
    let place = place("options", OWN);
    let run = fingerprints(&thalweg(&place, &["run", "own.toml", "--json"]));
    let compared = thalweg(&place, &["compare", "own.toml", "--schemes", "newreno,cubic,sstp", "--json"]);
    assert_eq!(run[0], fingerprints(&compared)[0]);
    let said = String::from_utf8(compared.stderr).unwrap();
    let note = "note: options of the file's own schemes: `initial-window = \"40 pkt\"`, `max-window = \"12 pkt\"` \
                kept for newreno and cubic, not for sstp";
    assert!(said.contains(note), "{said}");
    // What is asked for comes first.
    let asked =
        ["compare", "own.toml", "--schemes", "newreno:max-window=12 pkt,newreno:max-window=6 pkt", "--json"];
    let asked = fingerprints(&thalweg(&place, &asked));
    assert_eq!(asked[0], run[0]);
    assert_ne!(asked[1], run[0]);
    // In place as text.
    let text = "flow.1.scheme=newreno:initial-window=40 pkt,max-window=12 pkt";
    let text = thalweg(&place, &["compare", "own.toml", "--schemes", "newreno", "--json", "--set", text]);
    assert_eq!(fingerprints(&text)[0], run[0]);
}

/// A line of 100 Mbit/s of which something lets 8 through: 2 MB take two seconds there at best.
fn held_to(by: &str) -> String {
    let text = OWN.replace("10 Mbit/s\"", &format!("100 Mbit/s\"\n{by}"));
    let scheme = text.find("scheme =").unwrap();
    format!("{}scheme = \"newreno\"\nworkload = \"2 MB\"", &text[..scheme]).replace("warmup = \"1 s\"", "")
}

#[test]
fn the_ideal_time_knows_shapers_and_policers() {
    let shaper = "queue = \"5 MB\"\nshaper = { rate = \"8 Mbit/s\", burst = \"20 kB\" }";
    let policer =
        "queue = { discipline = \"policer\", rate = \"8 Mbit/s\", burst = \"20 kB\", capacity = \"1 bdp\" }";
    for (name, by, most) in [("shaper", shaper, 1.05), ("policer", policer, 4.0)] {
        let place = place(name, &held_to(by));
        let run = thalweg(&place, &["run", "own.toml", "--json", "--set", "duration=60 s"]);
        let document: Value = serde_json::from_slice(&run.stdout).unwrap();
        let slowdown = document["runs"][0]["groups"][0]["slowdown_mean"].as_f64().unwrap();
        assert!((1.0..most).contains(&slowdown), "{name}: {slowdown}");
    }
}

/// A policer that drops a quarter of what comes has a line that is hardly used.
#[test]
fn a_policer_that_is_full_is_shown() {
    let policer =
        "queue = { discipline = \"policer\", rate = \"3 Mbit/s\", burst = \"20 kB\", capacity = \"1 bdp\" }";
    let text = held_to(policer)
        .replace("\"newreno\"", "\"udp\"")
        .replace("\"2 MB\"", "{ kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"1200 B\" }");
    let place = place("policed", &text);
    let run = thalweg(&place, &["run", "own.toml"]);
    let (said, warned) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    let row = said.lines().find(|line| line.starts_with("a -> b")).unwrap_or_else(|| panic!("{said}"));
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[3..10], ["100.0", "Mbit/s", "3.0", "%", "3.000", "Mbit/s", "101.0"], "{said}");
    assert!(warned.contains("4 Mbit/s are offered to `a-b`, whose policer lets in 3 Mbit/s"), "{warned}");
}

/// The exit code, and all that is printed to either output.
fn said(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = thalweg(folder, arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn a_warm_up_that_leaves_nothing_to_count_is_an_error() {
    let place = place("warm-up", OWN);
    let (code, text) = said(&place, &["run", "own.toml", "--set", "duration=1 s"]);
    assert!(
        code == 2 && text.contains("error: the warm-up (1 s) is not shorter than the run (1 s)"),
        "{text}"
    );
    // One that is proposed leaves most of the run.
    let (_, text) = said(&place, &["validate", "own.toml", "--set", "warmup=0 s", "--set", "duration=5 s"]);
    assert!(!text.contains("scenario.warmup"), "{text}");
    fs::write(place.join("own.toml"), OWN.replace("warmup = \"1 s\"", "")).unwrap();
    for (duration, warmup) in [("5 s", "1.25 s"), ("60 s", "5 s")] {
        let (_, text) = said(&place, &["validate", "own.toml", "--set", &format!("duration={duration}")]);
        assert!(text.contains(&format!("say `warmup = \"{warmup}\"`")), "{text}");
    }
}

#[test]
fn slips_are_told_with_what_was_meant() {
    let place = place("slips", &OWN.replace("delay =", "loss = \"1\"\ndelay ="));
    for (arguments, words) in [
        (&["validate", "own.toml"][..], "did you mean \"1 %\"?"),
        (&["run", "dumbbell", "--reps", "1e12"], "expected a whole number from 1 to 100000"),
        (&["compare", "dumbbell", "--schemes", "cubic,vegas", "--reps", "4000000000"], "from 1 to 100000"),
        (&["assess", "vegas", "--reps", "4000000000"], "from 1 to 100000"),
        (&["run", "dumbbell", "--threads", "1000"], "from 1 to 64"),
        // What cannot run live is told before what can has taken its time.
        (
            &["compare", "two-flows", "--live", "--schemes", "cubic,kernel:none"],
            "no congestion control `none`",
        ),
        (&["compare", "fat-tree", "--live", "--schemes", "cubic"], "one way between two nodes"),
        (&["run", "dumbbell", "--jobs", "99999999999999999999"], "99999999999999999999 is more than can be"),
    ] {
        let (code, text) = said(&place, arguments);
        assert!(code == 2 && text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn hosts_are_listed_as_paths_are() {
    let (code, text) = said(&place("hosts", OWN), &["list", "hosts"]);
    assert!(code == 0 && text.contains("linux-loaded") && text.contains("away"), "{text}");
}

/// Of one group with transfers the table of the schemes tells all.
#[test]
fn transfers_of_one_group_are_told_once() {
    let second =
        "\n[[flow]]\nname = \"files\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\nworkload = \"100 kB\"\n";
    let place = place("one-group", &format!("{OWN}{second}"));
    let set = ["--set", "warmup=0 s"];
    let (_, text) =
        said(&place, &[&["compare", "own.toml", "--schemes", "cubic,newreno"][..], &set].concat());
    assert!(text.contains("\nTransfers  ") && !text.contains("Transfers, scheme"), "{text}");
    assert!(text.contains("Group, scheme"), "{text}");
    let two = format!("{OWN}{second}{}", second.replace("files", "more"));
    fs::write(place.join("own.toml"), two).unwrap();
    let (_, text) =
        said(&place, &[&["compare", "own.toml", "--schemes", "cubic,newreno"][..], &set].concat());
    assert!(text.contains("Transfers, scheme"), "{text}");
}
