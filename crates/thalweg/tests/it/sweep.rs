//! End-to-end tests of sweeps: results, interruption, and error messages.

use crate::command_runs::{self, errors};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn call(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = crate::child_processes::command(env!("CARGO_BIN_EXE_thalweg"));
    command.arg("sweep").args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn sweep(folder: &Path, arguments: &[&str]) -> Output {
    call(folder, arguments).output().unwrap()
}

/// Creates an empty folder for one test, with a sweep file.
fn temporary_path(name: &str, file: &str) -> PathBuf {
    let path = command_runs::temporary_path(name);
    fs::write(path.join("s.toml"), file).unwrap();
    path
}

fn results(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap()
}

/// Returns the number of stored runs in a folder.
fn count_stored_runs(folder: &Path) -> usize {
    let folders = fs::read_dir(folder.join("points")).into_iter().flatten().flatten();
    folders.map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count)).sum()
}

const GRID: &str = r#"
scenario = "two-flows"
set = ["duration=2 s", "warmup=500 ms"]
schemes = ["cubic", "vegas"]
reps = 2
[grid]
link.left-right.rate = ["10 Mbit/s", "20 Mbit/s"]
"#;

/// Names of the files derived from the runs alone.
const RESULT_FILES: [&str; 3] = ["results.json", "flows.parquet", "links.parquet"];

#[test]
fn a_grid_is_run_once_whatever_the_threads() {
    let folder = temporary_path("sweep-grid", GRID);
    let first = sweep(&folder, &["s.toml", "--json", "--report", "--jobs", "3"]);
    assert!(first.status.success(), "{}", errors(&first));
    let document: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(document, results(&folder.join("s")));
    let points = document["points"].as_array().unwrap();
    assert_eq!((points.len(), document["complete"].as_bool()), (4, Some(true)));
    // The same seeds for all points: common random numbers.
    assert!(points.iter().all(|point| point["seeds"] == points[0]["seeds"]), "{points:?}");
    let goodput = |point: usize| points[point]["metrics"]["goodput_bps"]["mean"].as_f64().unwrap();
    assert!(goodput(2) > 1.5 * goodput(0), "twice the rate: {} and {}", goodput(0), goodput(2));
    let share = document["importance"]["goodput_bps"]["factors"]["link.left-right.rate"].as_f64().unwrap();
    assert!(share > 0.9, "{share}");
    assert!(fs::read_to_string(folder.join("s/report.html")).unwrap().contains("<svg class=\"heat\""));
    // The same command makes no run again; with another number of threads elsewhere the bytes are the same.
    let again = sweep(&folder, &["s.toml"]);
    assert!(
        errors(&again).contains("0 runs in") && errors(&again).contains("8 were stored"),
        "{}",
        errors(&again)
    );
    assert!(sweep(&folder, &["s.toml", "--out", "one", "--jobs", "1", "--quiet"]).status.success());
    for name in RESULT_FILES {
        assert_eq!(
            fs::read(folder.join("s").join(name)).unwrap(),
            fs::read(folder.join("one").join(name)).unwrap(),
            "{name}"
        );
    }
    // The command in `--list` reproduces a point.
    let list = sweep(&folder, &["s.toml", "--list"]);
    let list = String::from_utf8(list.stdout).unwrap();
    let third = list.lines().nth(2).unwrap();
    assert!(third.starts_with("thalweg compare two-flows --schemes cubic"), "{third}");
    let command = third.replacen("thalweg", env!("CARGO_BIN_EXE_thalweg"), 1);
    let run =
        Command::new("sh").args(["-c", &format!("{command} --reps 2 --json --quiet")]).output().unwrap();
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(run["schemes"][0]["summary"]["totals"]["goodput_bps"]["mean"].as_f64(), Some(goodput(2)));
}

/// The other flows keep their scheme, and a point's command names the flows of each scheme.
#[test]
fn schemes_are_for_the_flows_that_are_named() {
    let file = GRID.replace("reps = 2", "flows = [\"shy\"]").replace("\"vegas\"", "\"newreno\"");
    let folder = temporary_path("sweep-flows", &file);
    assert!(sweep(&folder, &["s.toml", "--quiet"]).status.success());
    let list = String::from_utf8(sweep(&folder, &["s.toml", "--list"]).stdout).unwrap();
    let last = list.lines().last().unwrap();
    assert!(
        last.starts_with("thalweg run two-flows") && last.contains("--set flow.shy.scheme=newreno"),
        "{last}"
    );
    let command = last.replacen("thalweg", env!("CARGO_BIN_EXE_thalweg"), 1);
    let run = Command::new("sh").args(["-c", &format!("{command} --json --quiet")]).output().unwrap();
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    let schemes: Vec<&str> = run["runs"][0]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["scheme"].as_str().unwrap())
        .collect();
    assert_eq!(schemes, ["newreno", "cubic"]);
    let point = &results(&folder.join("s"))["points"][3];
    let goodput = run["runs"][0]["totals"]["goodput_bps"].as_f64();
    assert_eq!(point["metrics"]["goodput_bps"]["mean"].as_f64(), goodput);
    fs::write(folder.join("s.toml"), file.replace("\"shy\"", "\"shyer\"")).unwrap();
    let wrong = sweep(&folder, &["s.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        errors(&wrong).contains("no flows `shyer`") && errors(&wrong).contains("shy"),
        "{}",
        errors(&wrong)
    );
}

const LONG_SWEEP: &str = r#"
scenario = "dumbbell"
set = ["duration=10 s", "link.bottleneck.rate=50 Mbit/s"]
reps = 20
[grid]
link.bottleneck.delay = ["5 ms", "20 ms"]
"#;

/// Waits until this number of runs is stored; returns false if the process ends before.
fn waits_for(folder: &Path, runs: usize, child: &mut std::process::Child) -> bool {
    let begun = Instant::now();
    while count_stored_runs(folder) < runs {
        assert!(begun.elapsed() < Duration::from_secs(120), "no runs are kept");
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let folder = temporary_path("sweep-interrupted", LONG_SWEEP);
    let mut before = 0;
    for signal in [Signal::INT, Signal::KILL] {
        let mut child = call(&folder, &["s.toml", "--jobs", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(
            waits_for(&folder.join("s"), before + 5, &mut child),
            "it was over too soon to be interrupted"
        );
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        if signal == Signal::INT {
            assert_eq!(output.status.code(), Some(1));
            assert!(errors(&output).contains("repeat the call"), "{}", errors(&output));
            assert_eq!(results(&folder.join("s"))["complete"].as_bool(), Some(false));
        }
        before = count_stored_runs(&folder.join("s"));
        assert!((5..40).contains(&before), "{before}");
    }
    let last = sweep(&folder, &["s.toml"]);
    assert!(last.status.success(), "{}", errors(&last));
    let message = format!("{} runs in", 40 - before);
    assert!(
        errors(&last).contains(&message) && errors(&last).contains(&format!("{before} were stored")),
        "{}",
        errors(&last)
    );
    let complete = sweep(&folder, &["s.toml", "--out", "whole", "--quiet"]);
    assert!(complete.status.success());
    for name in RESULT_FILES {
        assert_eq!(
            fs::read(folder.join("s").join(name)).unwrap(),
            fs::read(folder.join("whole").join(name)).unwrap(),
            "{name}"
        );
    }
}

/// A point has the same columns as `run`, including completion times of transfers and round-trip times. A column
/// without any value is omitted.
#[test]
fn points_have_the_columns_of_runs() {
    let file = "scenario = \"net.toml\"\n[grid]\nlink.wire.rate = [\"10 Mbit/s\", \"20 Mbit/s\"]\n";
    let folder = temporary_path("sweep-columns", file);
    let network = "duration = \"2 s\"\n\
        [[link]]\nname = \"wire\"\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
        [[flow]]\nfrom = \"a\"\nto = \"b\"\nworkload = \"200 kB\"\nscheme = \"cubic\"\n";
    fs::write(folder.join("net.toml"), network).unwrap();
    let text = String::from_utf8(sweep(&folder, &["s.toml"]).stdout).unwrap();
    for head in ["Goodput", "Delay mean", "Time mean", "p99.9"] {
        assert!(text.contains(head), "no column {head}:\n{text}");
    }
    for head in ["Marked", "Jitter", "Unfinished"] {
        assert!(!text.contains(head), "a column {head}:\n{text}");
    }
    // 200 kB at 10 and 20 Mbit/s take at least 160 and 80 ms.
    let results = results(&folder.join("s"));
    let mean =
        |point: usize| results["points"][point]["metrics"]["completion_mean_s"]["mean"].as_f64().unwrap();
    assert!((0.16..0.5).contains(&mean(0)) && (0.08..0.4).contains(&mean(1)), "{} {}", mean(0), mean(1));
}

#[test]
fn points_whose_goodput_counts_data_from_the_warm_up_are_named() {
    let file = "scenario = \"dumbbell\"\nset = [\"warmup=1 s\", \"link.bottleneck.queue=2 bdp\", \"link.bottleneck.rate=10 Mbit/s\"]\n\
        schemes = [\"cubic\"]\n[grid]\nduration = [\"6 s\", \"200 s\"]\n";
    let folder = temporary_path("sweep-warmup", file);
    let text = String::from_utf8(sweep(&folder, &["s.toml"]).stdout).unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("At 1 of 2 points, a part of the goodput is data that arrived during the warm-up"),
        "{text}"
    );
    let points = results(&folder.join("s"))["points"].clone();
    assert!(points[0]["from_warmup"].as_f64().unwrap() > 0.05, "{points}");
    assert!(points[1].get("from_warmup").is_none(), "{points}");
}

#[test]
fn a_point_that_fails_loses_no_other() {
    let folder = temporary_path(
        "sweep-failing",
        "scenario = \"two-flows\"\nset = [\"warmup=1 s\"]\n[grid]\nduration = [\"2 s\", \"500 ms\"]\n",
    );
    let output = sweep(&folder, &["s.toml", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    let message = errors(&output);
    for words in ["point 2 (duration 500 ms) failed", "warm-up (1 s) is not shorter", "1 of 2 points failed"]
    {
        assert!(message.contains(words), "no `{words}` in {message}");
    }
    let again = message.lines().find_map(|line| line.strip_prefix("again: ")).unwrap();
    let again = again.replacen("thalweg", env!("CARGO_BIN_EXE_thalweg"), 1);
    let again = Command::new("sh").args(["-c", &again]).output().unwrap();
    assert!(errors(&again).contains("is not shorter"), "{}", errors(&again));
    let document = results(&folder.join("s"));
    assert_eq!(
        (document["points"].as_array().unwrap().len(), document["failed"][0]["point"].as_u64()),
        (1, Some(2))
    );
}

#[test]
fn runs_end_when_the_interval_is_narrow_enough() {
    let text = "scenario = \"dumbbell\"\nset = [\"duration=3 s\"]\nuntil = \"goodput 50 %\"\n[grid]\nwarmup = [\"1 s\", \"0 s\"]\n";
    let folder = temporary_path("sweep-until", text);
    let output = sweep(&folder, &["s.toml", "--quiet"]);
    assert!(output.status.success(), "{}", errors(&output));
    let document = results(&folder.join("s"));
    for point in document["points"].as_array().unwrap() {
        assert_eq!((point["seeds"].as_array().unwrap().len(), point["reached"].as_bool()), (10, Some(true)));
    }
    fs::write(
        folder.join("s.toml"),
        text.replace("50 %", "0.001 %").replace("[grid]", "max-reps = 12\n[grid]"),
    )
    .unwrap();
    let output = sweep(&folder, &["s.toml", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("NOT REACHED: after 12 runs"));
}

#[test]
fn factors_that_change_nothing_are_named() {
    let text = "scenario = \"two-flows\"\nset = [\"duration=2 s\", \"warmup=500 ms\"]\nschemes = [\"cubic\", \"vegas\"]\n[grid]\n\
                link.left-right.rate = [\"5 Mbit/s\", \"10 Mbit/s\"]\ndefaults.link.delay = [\"1 ms\", \"50 ms\"]\n";
    let folder = temporary_path("sweep-no-effect", text);
    let said = errors(&sweep(&folder, &["s.toml"]));
    assert!(said.contains("warning: `defaults.link.delay` changes nothing"), "{said}");
    assert_eq!(said.matches("changes nothing").count(), 1, "{said}");
    assert!(!errors(&sweep(&folder, &["s.toml", "--quiet"])).contains("changes nothing"));
}

#[test]
fn processes_share_the_points() {
    let folder = temporary_path("sweep-shards", GRID);
    let is_there = |name: &str| folder.join("s").join(name).exists();
    for (shard, runs) in [("1/2", 4), ("2/2", 8)] {
        let done = sweep(&folder, &["s.toml", "--shard", shard, "--quiet"]);
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            done.status.success() && text.contains("of 2 is complete") && !text.contains("PARTIAL"),
            "{text}"
        );
        assert_eq!(count_stored_runs(&folder.join("s")), runs);
        // Those of each shard would replace those of the others.
        assert!(!["flows.parquet", "links.parquet", "results.json"].into_iter().any(is_there), "{shard}");
    }
    let page = sweep(&folder, &["s.toml", "--shard", "1/2", "--report"]);
    assert!(
        page.status.code() == Some(2) && errors(&page).contains("leave out the shard"),
        "{}",
        errors(&page)
    );
    let all = sweep(&folder, &["s.toml", "--shard", "1/1"]);
    assert!(errors(&all).contains("8 were stored"), "{}", errors(&all));
    assert!(["flows.parquet", "links.parquet", "results.json"].into_iter().all(is_there));
    assert!(errors(&sweep(&folder, &["s.toml", "--shard", "3/2"])).contains("I/N"));
}

#[test]
fn mistakes_are_reported_with_their_lines_before_anything_runs() {
    let folder = temporary_path("sweep-mistakes", "");
    for (text, words) in [
        (
            "scenario = \"two-flows\"\n[grid]\nlink.core.rate = [\"1 Mbit/s\"]\n",
            ["s.toml:3:6", "no link `core`"],
        ),
        ("scenario = \"two-flows\"\n[grid]\nduration = [\"1 s\", \"2 m\"]\n", ["s.toml:3:20", "2 m"]),
        (
            "scenario = \"two-flows\"\n[grid]\nlink.left-right.rat = [1]\n",
            ["s.toml:3:", "did you mean `rate`?"],
        ),
        ("scenario = \"two-flows\"\nschemes = [\"cubic\", \"cubik\"]\n", ["s.toml:2:21", "did you mean"]),
        ("scenario = \"two-flow\"\n", ["s.toml:1:12", "did you mean `two-flows`?"]),
        ("scenario = \"two-flows\"\nuntil = \"godput 2 %\"\n", ["s.toml:2:9", "did you mean `goodput`?"]),
        ("scenario = \"two-flows\"\nset = [\"duraton=1 s\"]\n", ["s.toml:2:8", "duraton"]),
        ("scenario = \"two-flows\"\n[grid\n", ["s.toml:2:", "error"]),
    ] {
        fs::write(folder.join("s.toml"), text).unwrap();
        let output = sweep(&folder, &["s.toml"]);
        let message = errors(&output);
        assert!(
            output.status.code() == Some(2) && words.iter().all(|word| message.contains(word)),
            "{text}: {message}"
        );
        assert!(!folder.join("s").exists(), "{text}: nothing is written");
    }
    fs::create_dir(folder.join("s")).unwrap();
    fs::write(folder.join("s/thesis.txt"), "years of work").unwrap();
    fs::write(folder.join("s.toml"), GRID).unwrap();
    assert!(errors(&sweep(&folder, &["s.toml"])).contains("holds something else"));
    assert!(errors(&sweep(&folder, &["none.toml"])).contains("none.toml"));
}

/// A full file system, emulated by a file size limit.
#[test]
fn a_write_failure_ends_the_sweep_without_losing_results() {
    let folder = temporary_path("sweep-full", GRID);
    let few = GRID.replace("reps = 2", "reps = 1").replace(", \"vegas\"", "");
    fs::write(folder.join("s.toml"), few).unwrap();
    assert!(sweep(&folder, &["s.toml", "--quiet"]).status.success());
    fs::write(folder.join("s.toml"), GRID).unwrap();
    let limited = format!("trap '' XFSZ; ulimit -f 0; exec {} sweep s.toml", env!("CARGO_BIN_EXE_thalweg"));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("repeat the call"), "{}", errors(&output));
    assert_eq!(count_stored_runs(&folder.join("s")), 2);
    let rest = sweep(&folder, &["s.toml"]);
    assert!(errors(&rest).contains("2 were stored"), "{}", errors(&rest));
}

#[test]
fn a_sweep_over_one_group_is_about_it_and_has_the_others_beside() {
    let file = "scenario = \"own.toml\"\n[grid]\nflow.new.count = [1, 3]\n";
    let scenario = r#"
duration = "4 s"
[[link]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[[flow]]
name = "new"
from = "a"
to = "b"
overhead = "1.2 ms"
[[flow]]
name = "old"
from = "a"
to = "b"
overhead = "1.2 ms"
"#;
    let folder = temporary_path("sweep-one-group", file);
    fs::write(folder.join("own.toml"), scenario).unwrap();
    let made = sweep(&folder, &["s.toml"]);
    let text = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(made.status.success(), "{}", errors(&made));
    assert!(text.contains("Metrics are of `new` alone") && text.contains("Goodput of the others"), "{text}");
    let results = results(&folder.join("s"));
    assert_eq!(results["compared"], serde_json::json!(["new"]));
    let points = results["points"].as_array().unwrap();
    let mean = |point: &Value, path: &str| point.pointer(path).unwrap().as_f64().unwrap();
    let own: Vec<f64> = points.iter().map(|point| mean(point, "/metrics/goodput_bps/mean")).collect();
    let rest: Vec<f64> = points.iter().map(|point| mean(point, "/rest/goodput_bps/mean")).collect();
    assert!(own[1] > own[0] && rest[1] < rest[0], "{own:?} {rest:?}");
    for (number, point) in points.iter().enumerate() {
        let share = mean(point, "/share/mean");
        assert!((share - own[number] / (own[number] + rest[number])).abs() < 1e-9, "{share}");
    }
}
