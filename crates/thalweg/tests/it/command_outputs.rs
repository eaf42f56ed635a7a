//! End-to-end tests of the command: outputs, exit codes and files.

use crate::command_runs::{fails, prints, temporary_path, thalweg};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

const SHORT_RUN: [&str; 5] = ["--set", "duration=2 s", "--set", "warmup=500 ms", "--quiet"];

fn with_short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().chain(SHORT_RUN).collect()
}

#[test]
fn a_run_shows_flows_groups_and_bottlenecks() {
    let text = prints(&temporary_path("run"), &with_short(&["run", "dumbbell"]));
    for words in ["flows.10", "Limited by", "Jain", "left -> right", "Fingerprint"] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    assert!(text.is_ascii(), "what is not a terminal gets plain text");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

/// Returns the output of a command on a terminal of this width, without markers of headings.
fn at_terminal(columns: u16, arguments: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let end = fs::File::options().read(true).write(true).open(name).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(arguments).stdin(Stdio::null()).stdout(end.try_clone().unwrap()).stderr(end);
    command.env("NO_COLOR", "1").env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    // Only the child keeps its end of the terminal open.
    drop(command);
    let (mut screen, mut text, mut bytes) = (fs::File::from(master), Vec::new(), [0; 4096]);
    // The read fails when the process ends.
    while let Ok(count @ 1..) = screen.read(&mut bytes) {
        text.extend_from_slice(&bytes[..count]);
    }
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    String::from_utf8(text).unwrap()
}

#[test]
fn output_is_wrapped_to_the_terminal_width() {
    let run = ["run", "web", "--reps", "2", "--set", "duration=6 s", "--quiet"];
    let compared = [
        "compare",
        "two-flows",
        "--schemes",
        "cubic,vegas",
        "--reps",
        "2",
        "--set",
        "duration=6 s",
        "--quiet",
    ];
    let calls: [&[&str]; 8] = [
        &["list", "queues"],
        &["list", "papers"],
        &["validate", "web"],
        &["model"],
        &["model", "gong92"],
        &["paper", "yang01", "--list"],
        &run,
        &compared,
    ];
    for columns in [60, 80] {
        for call in calls {
            let text = at_terminal(columns, call);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(columns), "{call:?} takes {widest} of {columns}:\n{text}");
        }
    }
    // Texts are as wide as in a file.
    let text = at_terminal(160, &["list", "queues"]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for call in calls {
        let text = prints(&std::env::temp_dir(), call);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{call:?}:\n{text}");
    }
}

#[test]
fn a_search_shows_how_far_it_is() {
    let text = at_terminal(100, &["explore", "adversary", "--depth", "6"]);
    assert!(text.contains(" states, ") && text.contains(" of them to visit"), "{text}");
    assert!(!text.contains("0/0"), "{text}");
    assert!(
        text.contains("adversary: 1 connection of the client; at most 1 forgery, 0 intrusions"),
        "{text}"
    );
}

#[test]
fn options_of_formulas_are_named_where_their_values_cannot_be() {
    for (arguments, words) in [
        (["mathis", "--p", "0"], "'--p <P,..>': expected a probability above 0 and below 1"),
        (["mathis", "--rtt", "0s"], "'--rtt <TIME>': it must be above 0"),
        (["padhye", "--max-window", "-1"], "'--max-window <N>': expected a number from 1 on"),
        (["cubic", "--beta", "1"], "'--beta <BETA>': expected a number above 0 and below 1"),
        (["md1", "--load", "1"], "'--load <RHO,..>': expected a number from 0 on and below 1"),
        (["mg1", "--variation", "nan"], "'--variation <V>': expected a number from 0 on"),
        (["buffer", "--packet", "0B"], "'--packet <SIZE>': it must be above 0"),
        (["gong92", "--rate", "0bit/s"], "'--rate <RATE>': it must be above 0"),
    ] {
        let error = fails(&std::env::temp_dir(), &[&["model"], &arguments[..]].concat(), 2);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn queues_are_listed_as_disciplines_too() {
    let folder = std::env::temp_dir();
    assert_eq!(prints(&folder, &["list", "disciplines"]), prints(&folder, &["list", "queues"]));
}

/// Returns the subcommands of `path` and its options, from its help.
fn commands_and_options(path: &[String]) -> (Vec<String>, Vec<String>) {
    let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = prints(&std::env::temp_dir(), &arguments);
    // The program's own help has a list for each group of commands.
    let is_program = path.is_empty();
    let begins = |line: &str| if is_program { line.starts_with("Usage:") } else { line == "Commands:" };
    let ends = |line: &str| if is_program { line == "Options:" } else { line.is_empty() };
    let listed = help.lines().skip_while(|line| !begins(line)).skip(1).take_while(|line| !ends(line));
    // A description may continue on the next line, with more indentation.
    let commands = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands = commands.filter_map(|line| line.split_whitespace().next()).filter(|&name| name != "help");
    let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let options = options.filter_map(|line| line.split(ends).find(|word| word.starts_with("--")));
    let options = options.filter(|&name| !["--help", "--version"].contains(&name));
    (commands.map(str::to_owned).collect(), options.map(str::to_owned).collect())
}

/// docs/reference/command.md covers every command and option of the command's help.
#[test]
fn the_reference_has_every_command_and_option() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command.md");
    let reference = fs::read_to_string(reference).unwrap();
    let mentions = |word: &str| {
        let ends =
            |at: usize| !reference[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-');
        reference.match_indices(word).any(|(at, _)| ends(at))
    };
    let mut missing = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let (commands, options) = commands_and_options(&path);
        seen += options.len();
        missing.extend(
            options.into_iter().filter(|option| !mentions(option)).map(|option| (path.clone(), option)),
        );
        for name in commands {
            if !mentions(&name) {
                missing.push((path.clone(), name.clone()));
            }
            open.push(path.iter().cloned().chain([name]).collect());
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert!(seen > 60, "{seen}");
}

#[test]
fn json_is_one_document_and_the_same_for_any_number_of_threads() {
    let place = temporary_path("json");
    let call = |jobs| {
        let arguments = ["run", "web", "--json", "--reps", "3", "--seed", "7", "--jobs", jobs];
        prints(&place, &with_short(&arguments))
    };
    let text = call("1");
    assert_eq!(text, call("3"));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["kind"], "replications");
    assert_eq!(document["seeds"], serde_json::json!([7, 8, 9]));
    assert_eq!(document["summary"]["runs"], 3);
    assert!(document["runs"][0]["conservation"]["holds"].as_bool().unwrap());
}

#[test]
fn json_lines_begin_with_parameters_and_end_with_results() {
    let place = temporary_path("lines");
    let call = |jobs| {
        let arguments = ["run", "web", "--json-lines", "--reps", "2", "--jobs", jobs];
        prints(&place, &with_short(&arguments))
    };
    let text = call("1");
    assert_eq!(text, call("2"), "records come in the order of runs");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = records.iter().map(|record| record["record"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("parameters", "results"));
    assert!(kinds[1..kinds.len() - 1].iter().all(|kind| *kind == "interval"));
    for seed in [1, 2] {
        let of_seed = records.iter().filter(|record| record["seed"] == seed);
        let simulated: f64 = of_seed.map(|record| record["interval_s"].as_f64().unwrap()).sum();
        assert!((simulated - 2.0).abs() < 1e-9, "{simulated} s");
    }
}

#[test]
fn replications_are_made_until_the_interval_is_narrow() {
    let place = temporary_path("until");
    let run = |goal: &str, max: &str, jobs: &str| {
        let arguments =
            ["run", "two-flows", "--until", goal, "--max-reps", max, "--jobs", jobs, "--quiet", "--json"];
        let mut arguments = arguments.to_vec();
        arguments.extend(["--set", "duration=7 s", "--out", "results"]);
        let _ = fs::remove_dir_all(place.join("results"));
        thalweg(&place, &arguments)
    };
    let reached = |jobs: &str| {
        let output = run("delay 5 %", "60", jobs);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let one = reached("1");
    assert_eq!(one, reached("4"), "how many runs it takes depends on threads");
    let document: Value = serde_json::from_str(&one).unwrap();
    let (runs, until) = (document["runs"].as_array().unwrap().len(), &document["until"]);
    assert!((10..60).contains(&runs) && runs == document["seeds"].as_array().unwrap().len(), "{runs} runs");
    assert!(until["widest"].as_f64().unwrap() <= 0.05, "{until}");
    // The reported interval is the widest of all means.
    let means = document["summary"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| &group["metrics"]["delay_mean_s"]);
    let shares = means.map(|mean| mean["ci95"].as_f64().unwrap() / mean["mean"].as_f64().unwrap());
    assert_eq!(shares.fold(0.0, f64::max), until["widest"].as_f64().unwrap());
    assert!(prints(&place, &["rerun", "results"]).starts_with("Identical"));

    let too_few = run("delay 0.01 %", "11", "2");
    assert_eq!(too_few.status.code(), Some(1), "not reached is not a success");
    let too_few: Value = serde_json::from_slice(&too_few.stdout).unwrap();
    assert_eq!(too_few["runs"].as_array().unwrap().len(), 11);
    assert!(too_few["until"]["widest"].as_f64().unwrap() > 0.0001);
    let error = fails(&place, &["run", "slow-reader", "--until", "goodput 2 %"], 2);
    assert!(error.contains("nothing in this scenario is random"), "{error}");
    let error = fails(&place, &["run", "two-flows", "--until", "delay 5 %", "--reps", "5"], 2);
    assert!(error.contains("--reps") && error.contains("cannot be used with"), "{error}");
}

/// The interval is relative to the mean: if the mean is 0, more runs do not help.
#[test]
fn a_metric_that_is_always_zero_is_not_waited_for() {
    let arguments = ["run", "two-flows", "--set", "duration=6 s", "--until", "marked 2 %"];
    let output = thalweg(&temporary_path("until-zero"), &arguments);
    let (text, messages) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("NOT REACHED: marked is 0 in each of 10 runs"), "{text}");
    assert!(messages.contains("Simulated 60.0 s"), "runs that are in no result are not counted: {messages}");
    assert!(messages.contains("--until asks for was not reached"), "{messages}");
}

#[test]
fn a_comparison_names_the_winner() {
    let arguments = ["compare", "dumbbell", "--schemes", "newreno,vegas", "--reps", "4"];
    let mut arguments = with_short(&arguments);
    arguments.extend(["--set", "flow.flows.spread=100 ms"]);
    let text = prints(&temporary_path("compare"), &arguments);
    assert!(text.contains("vegas had the shortest mean delay"), "{text}");
    assert!(text.contains("Difference from newreno"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[test]
fn datagrams_in_the_background_keep_their_scheme() {
    let place = temporary_path("background");
    let scenario = "title = \"x\"\nduration = \"1 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
        delay = \"5 ms\"\nqueue = \"1 bdp\"\n[[flow]]\nname = \"file\"\nfrom = \"a\"\nto = \"b\"\n\
        scheme = \"cubic\"\n[[flow]]\nname = \"noise\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"udp\"\n\
        workload = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"500 B\" }\n";
    fs::write(place.join("mixed.toml"), scenario).unwrap();
    let text = prints(&place, &["compare", "mixed.toml", "--schemes", "vegas,newreno", "--json", "--quiet"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    for (position, scheme) in ["vegas", "newreno"].into_iter().enumerate() {
        let groups = &document["schemes"][position]["runs"][0]["groups"];
        assert_eq!((&groups[0]["scheme"], &groups[1]["scheme"]), (&scheme.into(), &"udp".into()));
    }
}

#[test]
fn a_results_folder_explains_itself_and_runs_again() {
    let place = temporary_path("folder");
    let arguments = ["run", "web", "--reps", "2", "--out", "results", "--pcap"];
    prints(&place, &with_short(&arguments));
    let folder = place.join("results");
    let names = ["README.txt", "results.json", "scenario.toml", "seeds.txt", "series.csv", "series.parquet"];
    for name in names.into_iter().chain(["summary.txt", "trace-1.pcap", "trace-2.pcap", "version.txt"]) {
        assert!(folder.join(name).metadata().is_ok_and(|file| file.len() > 0), "{name}");
        assert!(!fs::read(folder.join(name)).unwrap().is_empty());
    }
    assert!(prints(&place, &["rerun", "results"]).starts_with("Identical: 2 runs"));
    let results = fs::read_to_string(folder.join("results.json")).unwrap();
    let first = results.find("\"hops\": ").unwrap() + 8;
    let forged = format!("{}1{}", &results[..first], &results[first..]);
    fs::write(folder.join("results.json"), forged).unwrap();
    let error = fails(&place, &["rerun", "results"], 1);
    assert!(error.contains("seed 1: hops was 1"), "{error}");
    // A changed scenario has another number of events: the difference is reported, with possible causes.
    fs::write(folder.join("results.json"), results).unwrap();
    let scenario = fs::read_to_string(folder.join("scenario.toml")).unwrap();
    let longer = scenario.replacen("duration = \"", "duration = \"1", 1);
    assert_ne!(scenario, longer);
    fs::write(folder.join("scenario.toml"), longer).unwrap();
    let error = fails(&place, &["rerun", "results"], 1);
    assert!(error.contains("seed 1") && error.contains("scenario in the folder was changed"), "{error}");
}

#[test]
fn a_comparison_runs_again_scheme_by_scheme() {
    let place = temporary_path("rerun");
    let arguments = ["compare", "two-flows", "--schemes", "cubic,slow-start", "--out", "results"];
    prints(&place, &with_short(&arguments));
    assert!(place.join("results/scenario-slow-start.toml").exists());
    assert!(prints(&place, &["rerun", "results"]).starts_with("Identical: 2 runs"));
}

/// Schemes with options keep their name as typed, and can be rerun from the stored results.
#[test]
fn schemes_are_compared_with_options() {
    let place = temporary_path("options");
    let schemes = "cubic,cubic:beta=0.4,fast-convergence=false,cubic:beta=0.7";
    let call = ["compare", "two-flows", "--schemes", schemes, "--out", "results", "--json"];
    let document: serde_json::Value = serde_json::from_str(&prints(&place, &with_short(&call))).unwrap();
    let run = |number: usize| &document["schemes"][number]["runs"][0];
    let name = |number: usize| document["schemes"][number]["scheme"].as_str().unwrap();
    assert_eq!([0, 1, 2].map(name), ["cubic", "cubic:beta=0.4,fast-convergence=false", "cubic:beta=0.7"]);
    // 0.7 is the default (RFC 9438, section 4.6).
    assert_eq!(run(0)["fingerprint"], run(2)["fingerprint"]);
    assert_ne!(run(0)["fingerprint"], run(1)["fingerprint"]);
    assert!(prints(&place, &["rerun", "results"]).starts_with("Identical: 3 runs"));
}

#[test]
fn unrelated_folders_are_not_modified() {
    let place = temporary_path("foreign");
    fs::create_dir(place.join("thesis")).unwrap();
    fs::write(place.join("thesis/chapter.txt"), "years of work").unwrap();
    let error = fails(&place, &["run", "dumbbell", "--out", "thesis"], 2);
    assert!(error.contains("chapter.txt"), "{error}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "nothing was left behind");
}

/// Every parameter of a model has a range, and errors name values outside it; probabilities near 1 are computed at
/// once.
#[test]
fn an_analysis_reports_uncomputable_metrics() {
    let place = temporary_path("model");
    for (arguments, words) in [
        (["--p", "2"], "expected a probability from 0 to 1"),
        (["--p", "-1"], "expected a probability from 0 to 1"),
        (["--p", "1e-3,often"], "invalid value 'often'"),
        (["--window", "foo"], "of w_a, such as 2.5wa"),
        (["--window", "-1wa"], "a window must be above 0"),
        (["--rate", "0 bit/s"], "'--rate <RATE>': it must be above 0"),
        (["--rtd", "30"], "has no unit"),
    ] {
        let error = fails(&place, &[&["model", "gong92"], &arguments[..]].concat(), 2);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    let table =
        prints(&place, &["model", "gong92", "--p", "1e-300,0.9999999999999999", "--window", "12,2.5wa"]);
    assert_eq!(table.lines().count(), 7, "{table}");
    assert!(table.lines().all(|line| line.len() < 100), "{table}");
}

/// An exploration ends with success or a counterexample, and sets the exit code.
#[test]
fn exploration_ends_well_or_with_a_trace() {
    let place = temporary_path("explore");
    let small = ["--window", "2", "--messages", "4", "--losses", "1", "--quiet"];
    for protocol in ["adaptive-ack", "sack", "sscop", "sstp", "sstp-soft-one"] {
        let text = prints(&place, &[&["explore", protocol], &small[..]].concat());
        assert!(text.contains("All states were visited"), "{protocol}: {text}");
    }
    let text = prints(&place, &[&["explore", "sstp", "--slow-reader"], &small[..]].concat());
    assert!(text.contains("read at any time") && text.contains("All states were visited"), "{text}");
    let text = prints(&place, &["explore", "sstp", "--endless", "--quiet"]);
    assert!(text.contains("the stream recovers"), "{text}");
    let failed = |arguments: &[&str]| {
        let output = thalweg(&place, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = failed(&["explore", "sstp-hard", "--endless", "--json", "--quiet"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["endless"], &document["bounds"]["window"]), (&Value::Bool(true), &20.into()));
    assert!(document["counterexample"]["trace"].as_array().unwrap().len() > 10, "{text}");
    // SSCOP relies on in-order delivery.
    let text = failed(&[&["explore", "sscop", "--delays", "1"], &small[..]].concat());
    assert!(text.contains("is delayed"), "{text}");
    let text = failed(&["explore", "sstp", "--memory", "1 kB", "--quiet"]);
    assert!(text.contains("not all were visited"), "{text}");
}

#[test]
fn the_search_over_adversaries_ends_well_or_with_a_trace() {
    let place = temporary_path("adversary");
    let small = ["explore", "adversary", "--forgeries", "0", "--quiet"];
    let text = prints(&place, &[&small[..], &["--depth", "6"]].concat());
    assert!(text.contains("the client connects once the attacker stops"), "{text}");
    let output = thalweg(&place, &[&small[..], &["--fault", "cookie-again", "--json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["fault"], &document["complete"]), (&"cookie-again".into(), &true.into()));
    assert_eq!(document["counterexample"]["what"], "a cookie admitted a second handshake");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("adversary: a cookie admitted a second handshake"), "{error}");
    let output = thalweg(&place, &[&small[..], &["--memory", "1 kB"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("reduce the attacker's bounds"), "{error}");
    let pairing = ["explore", "adversary", "--pairing", "--quiet"];
    let text = prints(&place, &[&pairing[..], &["--intrusions", "2"]].concat());
    assert!(text.contains("at most 2 connections of the attacker"), "{text}");
    let output = thalweg(&place, &[&pairing[..], &["--fault", "pairing-unbound"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Violation: the receiver accepted the attacker as the sender"), "{text}");
    for (arguments, expected) in [
        (["--fault", "cookie-again"], "leave out --pairing"),
        (["--forgeries", "1"], "cannot be used with '--forgeries"),
    ] {
        let error = fails(&place, &[&pairing[..], &arguments].concat(), 2);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn lists_and_help_are_complete() {
    let place = temporary_path("list");
    for (what, expected) in [
        ("schemes", "cubic"),
        ("queues", "random-drop"),
        ("workloads", "bulk"),
        ("losses", "gilbert-elliott"),
        ("scenarios", "parking-lot"),
    ] {
        assert!(prints(&place, &["list", what]).contains(expected), "{what}");
    }
    let version = prints(&place, &["--version"]);
    let build = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    assert!(
        version.starts_with(concat!("thalweg ", env!("CARGO_PKG_VERSION"))) && version.contains(&build),
        "{version}"
    );
    assert_eq!(prints(&place, &["-V"]).lines().count(), 1);
    assert!(prints(&place, &["schema"]).starts_with('{'));
    assert!(prints(&place, &["validate", "dumbbell"]).contains("bandwidth-delay product"));
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let place = temporary_path("manual");
    let (commands, _) = commands_and_options(&[]);
    assert!(commands.len() > 20, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let completions = prints(&place, &["completions", shell]);
        let missing: Vec<_> = commands.iter().filter(|name| !completions.contains(*name)).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
    }
    prints(&place, &["man", "pages"]);
    for name in &commands {
        let page = fs::read_to_string(place.join(format!("pages/thalweg-{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{page}");
    }
    assert!(fs::read_to_string(place.join("pages/thalweg-run.1")).unwrap().contains("seed"));
    let refused = thalweg(&place, &["man", "pages/thalweg.1"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("pages/thalweg.1: cannot write man pages"), "{said}");
}

#[test]
fn identical_replications_are_pointed_out() {
    let place = temporary_path("identical");
    let output = thalweg(&place, &["run", "parking-lot", "--reps", "2", "--set", "duration=1 s"]);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("nothing in this scenario is random"), "{messages}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_there_is() {
    use std::io::Read as _;
    let place = temporary_path("interrupted");
    let mut child = crate::child_processes::command(env!("CARGO_BIN_EXE_thalweg"))
        .args([
            "run",
            "ten-thousand-flows",
            "--set",
            "duration=10000 s",
            "--quiet",
            "--json",
            "--out",
            "results",
        ])
        .current_dir(&place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    crate::child_processes::wait_for_work(child.id(), std::time::Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["complete"], false);
    assert!(document["runs"][0]["ended_s"].as_f64().unwrap() < 10_000.0);
    assert!(prints(&place, &["rerun", "results", "--quiet"]).starts_with("Identical: 1 run"));
}

/// A results folder can be replaced with any of a run's files in it; its description names all of them.
#[test]
fn a_folder_with_every_output_is_written_again() {
    let place = temporary_path("again");
    let everything =
        ["--out", "out", "--pcap", "--qlog", "--report", "--svg", "--png", "--trace", "sequence"];
    for (run, picture) in [
        (&["run", "two-flows"][..], "sequence.svg"),
        (&["run", "two-flows", "--reps", "2"], "sequence-2.svg"),
    ] {
        for _ in 0..2 {
            prints(&place, &with_short(&[run, &everything[..]].concat()));
        }
        assert!(place.join("out").join(picture).exists(), "{picture}");
    }
    let readme = fs::read_to_string(place.join("out/README.txt")).unwrap();
    for entry in fs::read_dir(place.join("out")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let named = match name.split_once('-') {
            Some((stem, rest)) => format!("{stem}*.{}", rest.split_once('.').unwrap().1),
            None => name,
        };
        assert!(readme.contains(&named), "{named} is not in\n{readme}");
    }
}

/// Files outside the results folder are reported; files of several runs as a pattern.
#[test]
fn a_run_lists_its_output_files() {
    let place = temporary_path("written");
    let messages = |arguments: &[&str]| {
        let call = ["run", "two-flows", "--set", "duration=200 ms", "--set", "warmup=0 s"];
        let output = thalweg(&place, &[&call[..], arguments].concat());
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {messages}");
        messages
    };
    let one = messages(&["--verify", "--pcap=one.pcap"]);
    assert!(one.contains("Written: one.pcap\n") && one.contains("Verified: "), "{one}");
    let several = messages(&["--reps", "2", "--pcap=some.pcap", "--qlog", "--trace", "sequence"]);
    for name in ["some-*.pcap", "two-flows-*.qlog", "two-flows-sequence-*.svg"] {
        assert!(several.contains(&format!("Written: {name}\n")), "{name}: {several}");
        assert!(place.join(name.replace('*', "2")).exists(), "{name}");
    }
    let inside = messages(&["--pcap", "--out", "results"]);
    assert!(inside.contains("Results are in ") && !inside.contains("Written"), "{inside}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = temporary_path("pipe");
    let script = "\"$0\" run dumbbell --quiet --json-lines 2>errors | head -n 1; echo \"${PIPESTATUS[0]}\"";
    let output =
        Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_thalweg")]).current_dir(&place).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(text.lines().last(), Some("0"), "{text}");
    assert_eq!(fs::read_to_string(place.join("errors")).unwrap(), "");
}

/// Wireshark parses the capture of a real run: it finds the flow's data and no malformed packet.
#[test]
fn tshark_opens_the_capture_of_a_run() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let place = temporary_path("capture");
    prints(&place, &with_short(&["run", "two-flows", "--pcap=flows.pcap"]));
    let count = |filter: &str| {
        let file = place.join("flows.pcap");
        let output = Command::new("tshark").arg("-r").arg(file).args(["-n", "-Y", filter]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    assert!(count("tcp.dstport == 5001 && ip.src == 10.0.0.1") > 100);
    assert!(count("tcp.srcport == 5001 && ip.dst == 10.0.0.1") > 100);
    assert_eq!(count("_ws.malformed"), 0);
}

/// An exported link capacity can be imported again: the same capacity, and the same file.
#[test]
fn a_capacity_trace_goes_out_and_in_again() {
    let place = temporary_path("mahimahi");
    let built_in = prints(&place, &["mahimahi", "cellular-trace", "cell", "--quiet"]);
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/cellular.trace");
    assert_eq!(built_in, fs::read_to_string(original).unwrap());
    let link = |capacity: &str| {
        format!(
            "title = \"t\"\nduration = \"6 s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n{capacity}\n\
             delay = \"10 ms\"\nqueue = \"100 pkt\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"udp\"\n\
             workload = {{ kind = \"cbr\", rate = \"20 Mbit/s\", packet = \"1472 B\" }}\n"
        )
    };
    let changes = "rate = \"12 Mbit/s\"\nschedule = [{ at = \"2 s\", rate = \"4 Mbit/s\" }, { at = \"4 s\", outage = \"500 ms\" }]";
    fs::write(place.join("rates.toml"), link(changes)).unwrap();
    let trace = prints(&place, &["mahimahi", "rates.toml"]);
    fs::write(place.join("link.trace"), &trace).unwrap();
    fs::write(place.join("trace.toml"), link("trace = \"link.trace\"")).unwrap();
    assert_eq!(prints(&place, &["mahimahi", "trace.toml"]), trace);
    // 2 s at 12 Mbit/s and 3.5 s at 4 Mbit/s, in packets of 1500 bytes.
    assert_eq!(trace.lines().count(), 2000 + 1166);
    let goodput = |file: &str| {
        let results: Value =
            serde_json::from_str(&prints(&place, &["run", file, "--json", "--quiet"])).unwrap();
        results["runs"][0]["totals"]["goodput_bps"].as_f64().unwrap()
    };
    let (rates, traced) = (goodput("rates.toml"), goodput("trace.toml"));
    assert!((rates - traced).abs() < 0.001 * rates, "{rates} and {traced}");
    assert!(fails(&place, &["mahimahi", "parking-lot"], 2).contains("name a link"));
    assert!(fails(&place, &["mahimahi", "rates.toml", "--from", "c"], 2).contains("joins `a` and `b`"));
}
