//! Relevance of the command's answers: each must be about the question.

use crate::command_runs::{self, thalweg};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Creates a folder for one test, with `text` as `own.toml`.
fn temporary_path(name: &str, text: &str) -> PathBuf {
    let path = command_runs::temporary_path(name);
    fs::write(path.join("own.toml"), text).unwrap();
    path
}

const SCENARIO: &str = r#"
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
    let place = temporary_path("options", SCENARIO);
    let run = fingerprints(&thalweg(&place, &["run", "own.toml", "--json"]));
    let compared = thalweg(&place, &["compare", "own.toml", "--schemes", "newreno,cubic,sstp", "--json"]);
    assert_eq!(run[0], fingerprints(&compared)[0]);
    let printed = String::from_utf8(compared.stderr).unwrap();
    let note = "note: options of the file's own schemes: `initial-window = \"40 pkt\"`, `max-window = \"12 pkt\"` \
                kept for newreno and cubic, not for sstp";
    assert!(printed.contains(note), "{printed}");
    // Options on the command line override the file's.
    let requested =
        ["compare", "own.toml", "--schemes", "newreno:max-window=12 pkt,newreno:max-window=6 pkt", "--json"];
    let requested = fingerprints(&thalweg(&place, &requested));
    assert_eq!(requested[0], run[0]);
    assert_ne!(requested[1], run[0]);
    // The same options, as text in an override.
    let text = "flow.1.scheme=newreno:initial-window=40 pkt,max-window=12 pkt";
    let text = thalweg(&place, &["compare", "own.toml", "--schemes", "newreno", "--json", "--set", text]);
    assert_eq!(fingerprints(&text)[0], run[0]);
}

/// SCReAM's `ecn` is a word, and that of the window schemes a switch.
#[test]
fn an_option_with_other_values_is_left_out() {
    let scheme = SCENARIO.find("scheme =").unwrap();
    let place =
        temporary_path("other-values", &format!("{}scheme = \"cubic:ecn=true\"", &SCENARIO[..scheme]));
    let compared = thalweg(&place, &["compare", "own.toml", "--schemes", "cubic,scream", "--json"]);
    let printed = String::from_utf8(compared.stderr).unwrap();
    let note = "note: options of the file's own schemes: `ecn = true` kept for cubic, not for scream";
    assert!(printed.contains(note), "{printed}");
}

/// Returns a scenario with a link of 100 Mbit/s, restricted to 8 Mbit/s by something else: 2 MB take at least two
/// seconds.
fn held_to(by: &str) -> String {
    let text = SCENARIO.replace("10 Mbit/s\"", &format!("100 Mbit/s\"\n{by}"));
    let scheme = text.find("scheme =").unwrap();
    format!("{}scheme = \"newreno\"\nworkload = \"2 MB\"", &text[..scheme]).replace("warmup = \"1 s\"", "")
}

#[test]
fn the_ideal_time_knows_shapers_and_policers() {
    let shaper = "queue = \"5 MB\"\nshaper = { rate = \"8 Mbit/s\", burst = \"20 kB\" }";
    let policer =
        "queue = { discipline = \"policer\", rate = \"8 Mbit/s\", burst = \"20 kB\", capacity = \"1 bdp\" }";
    for (name, by, max) in [("shaper", shaper, 1.05), ("policer", policer, 4.0)] {
        let place = temporary_path(name, &held_to(by));
        let run = thalweg(&place, &["run", "own.toml", "--json", "--set", "duration=60 s"]);
        let document: Value = serde_json::from_slice(&run.stdout).unwrap();
        let slowdown = document["runs"][0]["groups"][0]["slowdown_mean"].as_f64().unwrap();
        assert!((1.0..max).contains(&slowdown), "{name}: {slowdown}");
    }
}

/// A policer that drops a quarter of the packets leaves the link's utilisation low.
#[test]
fn a_policer_that_is_full_is_shown() {
    let policer =
        "queue = { discipline = \"policer\", rate = \"3 Mbit/s\", burst = \"20 kB\", capacity = \"1 bdp\" }";
    let text = held_to(policer)
        .replace("\"newreno\"", "\"udp\"")
        .replace("\"2 MB\"", "{ kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"1200 B\" }");
    let place = temporary_path("policed", &text);
    let run = thalweg(&place, &["run", "own.toml"]);
    let (printed, warned) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    let row = printed.lines().find(|line| line.starts_with("a -> b")).unwrap_or_else(|| panic!("{printed}"));
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[3..10], ["100.0", "Mbit/s", "3.0", "%", "3.000", "Mbit/s", "100.0"], "{printed}");
    assert!(warned.contains("4 Mbit/s are offered to `a-b`, whose policer admits 3 Mbit/s"), "{warned}");
}

/// Returns the exit code and the text of both outputs.
fn run_and_print(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = thalweg(folder, arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn a_warm_up_that_leaves_nothing_to_count_is_an_error() {
    let place = temporary_path("warm-up", SCENARIO);
    let (code, text) = run_and_print(&place, &["run", "own.toml", "--set", "duration=1 s"]);
    assert!(
        code == 2 && text.contains("error: the warm-up (1 s) is not shorter than the run (1 s)"),
        "{text}"
    );
    // A suggested warm-up leaves most of the run.
    let (_, text) =
        run_and_print(&place, &["validate", "own.toml", "--set", "warmup=0 s", "--set", "duration=5 s"]);
    assert!(!text.contains("scenario.warmup"), "{text}");
    fs::write(place.join("own.toml"), SCENARIO.replace("warmup = \"1 s\"", "")).unwrap();
    for (duration, warmup) in [("5 s", "1.25 s"), ("60 s", "5 s")] {
        let (_, text) =
            run_and_print(&place, &["validate", "own.toml", "--set", &format!("duration={duration}")]);
        assert!(text.contains(&format!("set `warmup = \"{warmup}\"`")), "{text}");
    }
}

#[test]
fn mistakes_are_reported_with_suggestions() {
    let place = temporary_path("slips", &SCENARIO.replace("delay =", "loss = \"1\"\ndelay ="));
    for (arguments, words) in [
        (&["validate", "own.toml"][..], "did you mean \"1 %\"?"),
        (&["run", "dumbbell", "--reps", "1e12"], "expected a whole number from 1 to 100000"),
        (&["compare", "dumbbell", "--schemes", "cubic,vegas", "--reps", "4000000000"], "from 1 to 100000"),
        (&["assess", "vegas", "--reps", "4000000000"], "from 1 to 100000"),
        (&["run", "dumbbell", "--threads", "1000"], "from 1 to 64"),
        // Features without live support are reported before the first live run takes its time.
        (
            &["compare", "two-flows", "--live", "--schemes", "cubic,kernel:none"],
            "no congestion control `none`",
        ),
        (&["hunt", "kernel:cubic"], "runs in live networks only"),
        (&["hunt", "cubic", "--beside", "kernel:bbr"], "--traffic kernel:NAME"),
        (&["run", "dumbbell", "--set", "flow.flows.scheme=kernel:cubic"], "runs in live networks only"),
        (&["send", "own.toml", "127.0.0.1:9", "--scheme", "kernel:bbr"], "runs in live networks only"),
        (&["assess", "kernel:cubic", "--quick"], "runs live alone: add --live"),
        (&["assess", "kernel:none", "--quick", "--live"], "no congestion control `none`"),
        (&["compare", "fat-tree", "--live", "--schemes", "cubic"], "one path between two nodes"),
        (&["run", "dumbbell", "--jobs", "99999999999999999999"], "99999999999999999999 is too large"),
    ] {
        let (code, text) = run_and_print(&place, arguments);
        assert!(code == 2 && text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn hosts_are_listed_as_paths_are() {
    let (code, text) = run_and_print(&temporary_path("hosts", SCENARIO), &["list", "hosts"]);
    assert!(code == 0 && text.contains("linux-loaded") && text.contains("preempted"), "{text}");
}

/// For one group with transfers, the table of schemes is complete.
#[test]
fn transfers_of_one_group_are_reported_once() {
    let second =
        "\n[[flow]]\nname = \"files\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\nworkload = \"100 kB\"\n";
    let place = temporary_path("one-group", &format!("{SCENARIO}{second}"));
    let set = ["--set", "warmup=0 s"];
    let (_, text) =
        run_and_print(&place, &[&["compare", "own.toml", "--schemes", "cubic,newreno"][..], &set].concat());
    assert!(text.contains("\nTransfers  ") && !text.contains("Transfers, scheme"), "{text}");
    assert!(text.contains("Group, scheme"), "{text}");
    let two = format!("{SCENARIO}{second}{}", second.replace("files", "more"));
    fs::write(place.join("own.toml"), two).unwrap();
    let (_, text) =
        run_and_print(&place, &[&["compare", "own.toml", "--schemes", "cubic,newreno"][..], &set].concat());
    assert!(text.contains("Transfers, scheme"), "{text}");
}

const ALONE: &str = r#"
duration = "5 s"
warmup = "1 s"
[[link]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
[[flow]]
from = "a"
to = "b"
"#;

fn stdout_text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// CUBIC and BBR differ in their defaults for loss recovery: a note precedes any verdict, and the suggested override
/// equalises them.
#[test]
fn defaults_that_differ_are_named_first_and_can_be_levelled() {
    let place = temporary_path("unlike", ALONE);
    let compare = ["compare", "own.toml", "--schemes", "cubic,bbr"];
    let text = stdout_text(&thalweg(&place, &compare));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (warning, verdict) =
        (flat.find("NOT LIKE FOR LIKE").unwrap(), flat.find("in goodput").or(flat.find("carried most")));
    assert!(warning < verdict.unwrap(), "{text}");
    assert!(flat.contains("differ in rack (false: cubic, true: bbr)."), "{text}");
    assert!(flat.contains("To equalise: --set defaults.scheme.rack=true"), "{text}");
    let json = |more: &[&str]| -> Value {
        let arguments = [&compare[..], &["--json"], more].concat();
        serde_json::from_str(&stdout_text(&thalweg(&place, &arguments))).unwrap()
    };
    let document = json(&[]);
    assert_eq!(document["unlike_defaults"][0]["option"], "rack");
    let set = document["unlike_defaults"][0]["set"].as_str().unwrap().to_owned();
    let levelled = json(&["--set", &set]);
    assert_eq!(levelled.get("unlike_defaults"), None);
    // The override changes only the scheme with the other default.
    let prints = |of: &Value| [0, 1].map(|at: usize| of["schemes"][at]["runs"][0]["fingerprint"].clone());
    let (before, after) = (prints(&document), prints(&levelled));
    assert!(before[0] != after[0] && before[1] == after[1], "{before:?} {after:?}");
    // CUBIC's restart after an idle time matters to an application that pauses; BBR has none.
    let pauses = "flow.*.workload={ kind = 'request-response', request = '100 B', response = '100 kB', think = '500 ms' }";
    let paused = json(&["--set", &set, "--set", pauses]);
    let options: Vec<_> = paused["unlike_defaults"].as_array().unwrap().iter().map(|of| &of["set"]).collect();
    assert_eq!(options, ["defaults.scheme.counting=bytes", "defaults.scheme.idle-restart=false"]);
    let both = ["--set", "defaults.scheme.counting=bytes", "--set", "defaults.scheme.idle-restart=false"];
    let levelled = json(&[&["--set", &set, "--set", pauses][..], &both].concat());
    assert_eq!(levelled.get("unlike_defaults"), None);
    // An option that not all schemes have is overridden by the scheme's name.
    let call = ["compare", "own.toml", "--schemes", "cubic,vegas"];
    let flat = stdout_text(&thalweg(&place, &call)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("To equalise: vegas:initial-window=10pkt in place of vegas"), "{flat}");
    let call = ["compare", "own.toml", "--schemes", "cubic,vegas:initial-window=10pkt"];
    assert!(!stdout_text(&thalweg(&place, &call)).contains("LIKE FOR LIKE"));
}

/// In a parking-lot topology totals grow as the long flow starves: fairness and the long flow's share are shown
/// instead.
#[test]
fn goodput_wins_nothing_where_flows_cross_different_numbers_of_full_links() {
    let flow = |name: &str, from: &str, to: &str| {
        format!("[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n")
    };
    let flows = [("long", "n1", "n4"), ("hop1", "n1", "n2"), ("hop2", "n2", "n3"), ("hop3", "n3", "n4")];
    let flows: String = flows.map(|(name, from, to)| flow(name, from, to)).concat();
    let head = "duration = \"20 s\"\nwarmup = \"5 s\"\nnetwork = \"chain nodes=4 rate=20 Mbit/s delay=5 ms\"\n[defaults.link]\nqueue = \"1 bdp\"\n";
    let place = temporary_path("chain", &format!("{head}{flows}"));
    let compare = ["compare", "own.toml", "--schemes", "cubic,vegas"];
    let flat = stdout_text(&thalweg(&place, &compare)).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "proportional fairness",
        "`long`, over 3 full links with a max-min share of 9.65",
        "max-min shares",
        "decides nothing",
    ] {
        assert!(flat.contains(words), "no `{words}` in {flat}");
    }
    assert!(!flat.contains("carried most"), "{flat}");
    let document: Value =
        serde_json::from_str(&stdout_text(&thalweg(&place, &[&compare[..], &["--json"]].concat()))).unwrap();
    let paths = document["contention"]["paths"].as_array().unwrap();
    let links: Vec<usize> = paths.iter().map(|of| of["full_links"].as_array().unwrap().len()).collect();
    assert_eq!(links, [3, 1, 1, 1]);
    // Paths of one group are distinguished by their flows.
    let pairs = "[[flow]]\nname = \"all\"\nfrom = [\"n1\", \"n1\", \"n2\"]\nto = [\"n3\", \"n2\", \"n3\"]\n";
    fs::write(place.join("own.toml"), format!("{head}{pairs}")).unwrap();
    let flat = stdout_text(&thalweg(&place, &compare)).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["`all.1`, over 2 full links", "of others: `all.2` cubic", "; `all.3` cubic"] {
        assert!(flat.contains(words), "no `{words}` in {flat}");
    }
}

/// A mean that appears in both a table and a verdict has the same value in both.
#[test]
fn tables_and_verdicts_show_the_same_means() {
    let far = "[[flow]]\nname = \"far\"\nfrom = \"a\"\nto = \"c\"\n[[link]]\nbetween = [\"b\", \"c\"]\nrate = \"1 Gbit/s\"\ndelay = \"60 ms\"\n";
    let many = format!("{ALONE}count = 2\noverhead = \"1 ms\"\n{far}");
    for (number, text) in [ALONE, &many].into_iter().enumerate() {
        let place = temporary_path(&format!("means{number}"), text);
        let compare = ["compare", "own.toml", "--schemes", "cubic,vegas"];
        let flat = stdout_text(&thalweg(&place, &compare)).split_whitespace().collect::<Vec<_>>().join(" ");
        let document: Value =
            serde_json::from_str(&stdout_text(&thalweg(&place, &[&compare[..], &["--json"]].concat())))
                .unwrap();
        for scheme in document["schemes"].as_array().unwrap() {
            let mean = |name: &str| scheme["summary"]["totals"][name]["mean"].as_f64();
            let millis = mean("delay_mean_s").unwrap() * 1e3;
            let digits = (3.0 - millis.log10().floor()).max(0.0) as usize;
            let words = format!("{millis:.digits$} ms");
            // It appears once in the table and once below it, unless it is the difference from the best scheme.
            let leads =
                flat.contains(&format!("{} had the shortest mean delay", scheme["scheme"].as_str().unwrap()));
            let count = flat.matches(&words).count();
            assert!(count >= if leads || number == 1 { 2 } else { 1 }, "`{words}` {count} times in {flat}");
        }
    }
}

/// Two groups on one link.
const TWO_GROUPS: &str = r#"
duration = "8 s"
warmup = "1 s"

[[link]]
name = "line"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 bdp"

[defaults.flow]
overhead = "1.2 ms"

[[flow]]
name = "new"
from = "a"
to = "b"

[[flow]]
name = "old"
from = "a"
to = "b"
scheme = "cubic"
"#;

#[test]
fn one_group_is_compared_beside_others_that_keep_their_scheme() {
    let place = temporary_path("one-group", TWO_GROUPS);
    let requested = ["compare", "own.toml", "--schemes", "cubic,vegas", "--flows", "new", "--reps", "2"];
    let document = thalweg(&place, &[&requested[..], &["--json"]].concat());
    assert!(document.status.success(), "{}", String::from_utf8_lossy(&document.stderr));
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    for (scheme, of) in ["cubic", "vegas"].iter().zip(document["schemes"].as_array().unwrap()) {
        let used: Vec<&str> = of["runs"][0]["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["scheme"].as_str().unwrap())
            .collect();
        assert_eq!(used, [*scheme, "cubic"]);
    }
    let compared = &document["compared"];
    assert_eq!(compared["groups"], serde_json::json!(["new"]));
    // CUBIC takes the rate that Vegas leaves: one flow's gain is the other's loss.
    let goodput = |of: &str| compared["differences"][0][of]["goodput_bps"]["mean"].as_f64().unwrap();
    assert!(goodput("metrics") < -1e6 && goodput("rest") > 1e6, "{compared}");
    let text = thalweg(&place, &requested);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("Compared: `new`; `old` keeps its scheme"), "{text}");
    assert!(
        text.contains("Beside vegas the others carried") && text.contains("more than beside cubic"),
        "{text}"
    );
    assert!(text.contains("cubic carried most") || text.contains("No clear winner in goodput"), "{text}");
}

#[test]
fn groups_that_are_not_there_are_refused_with_those_that_are() {
    let place = temporary_path("no-group", TWO_GROUPS);
    let compare = ["compare", "own.toml", "--schemes", "cubic", "--flows", "old,newer"];
    let until = ["run", "own.toml", "--until", "goodput of newer 2 %"];
    for command in [&compare[..], &until[..]] {
        let printed = thalweg(&place, command);
        let text = String::from_utf8(printed.stderr).unwrap();
        assert_eq!(printed.status.code(), Some(2), "{text}");
        assert!(text.contains("no flows `newer`; did you mean `new`? its groups are `new`, `old`"), "{text}");
    }
}

/// Two groups of one run with different defaults: the run names them below its tables, and in its document.
#[test]
fn a_run_with_several_schemes_names_defaults_that_differ() {
    let flow = |name: &str, scheme: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\noverhead = \"1 ms\"\nscheme = {scheme}\n"
        )
    };
    let link = "duration = \"3 s\"\nwarmup = \"1 s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\nrate = \"5 Mbit/s\"\ndelay = \"10 ms\"\n";
    let flows = [
        ("one", "\"cubic\""),
        ("two", "\"cubic\""),
        ("three", "\"bbr\""),
        ("tone", "{ base = \"udp\", rate = \"1 Mbit/s\" }"),
    ]
    .map(|(name, scheme)| flow(name, scheme))
    .concat();
    let place = temporary_path("mixed", &format!("{link}{flows}"));
    let run = |more: &[&str]| stdout_text(&thalweg(&place, &[&["run", "own.toml"], more].concat()));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&run(&[]));
    let expected = "by default the schemes of these groups differ in rack (false: cubic, true: bbr). \
                    Differences between groups include the effect of this. To equalise: --set defaults.scheme.rack=true";
    assert!(text.contains(expected), "{text}");
    let document: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert_eq!(document["unlike_defaults"][0]["values"].as_array().unwrap().len(), 2);
    let levelled = words(&run(&["--set", "defaults.scheme.rack=true"]));
    assert!(!levelled.contains("NOT LIKE FOR LIKE"), "{levelled}");
}

/// Options of `compare` that live runs do not have are refused.
#[test]
fn live_comparisons_refuse_options_without_effect() {
    let place = temporary_path("refused", ALONE);
    for option in [&["--margin", "5 %"][..], &["--verify"], &["--threads", "2"], &["--reps", "3"]] {
        let call = [&["compare", "own.toml", "--schemes", "cubic,bbr", "--live"], option].concat();
        let output = thalweg(&place, &call);
        assert_eq!(output.status.code(), Some(2), "{option:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be used with"), "{option:?}");
    }
}

/// A folder with the name of a built-in scenario, such as one with results, does not hide the scenario.
#[test]
fn a_folder_is_no_scenario() {
    let place = temporary_path("folder", SCENARIO);
    fs::create_dir(place.join("dumbbell")).unwrap();
    let output = thalweg(&place, &["validate", "dumbbell"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(place.join("own.sweep.toml"), "scenario = \"dumbbell\"\nschemes = [\"cubic\"]\n").unwrap();
    let output = thalweg(&place, &["sweep", "own.sweep.toml", "--list"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A file does.
    fs::write(place.join("two-flows"), SCENARIO.replace("5 s", "7 s")).unwrap();
    let output = thalweg(&place, &["run", "two-flows", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["duration_s"], 7.0, "{document}");
}

/// Queues mark packets of DCTCP in any case, and those of CUBIC with `ecn` only.
#[test]
fn a_comparison_names_the_ecn_that_one_scheme_always_has() {
    let step = "rate = \"10 Mbit/s\"\nqueue = { discipline = \"step\", capacity = \"1000 pkt\", threshold = \"40 pkt\" }";
    let text = SCENARIO.replace("rate = \"10 Mbit/s\"", step);
    let place = temporary_path("always-ecn", &text);
    let compare = |sets: &[&str]| {
        let arguments = [&["compare", "own.toml", "--schemes", "cubic,dctcp", "--json"][..], sets].concat();
        let output = thalweg(&place, &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["unlike_defaults"].clone()
    };
    let found = compare(&[]);
    assert_eq!(found[0]["option"], "ecn", "{found}");
    let set = found[0]["set"].as_str().unwrap();
    assert_eq!(set, "defaults.scheme.ecn=true");
    assert_eq!(compare(&["--set", set]), Value::Null);
}

/// Nothing is random in a single flow with constant delays, and options without effect have no winner.
#[test]
fn comparisons_without_chance_suggest_no_replications() {
    let place = temporary_path("no-chance", ALONE);
    let flat = |schemes: &str| {
        let printed = thalweg(&place, &["compare", "own.toml", "--schemes", schemes]);
        stdout_text(&printed).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let deterministic = "Nothing in the scenario is random: every replication gives the same results.";
    let text = flat("cubic,vegas");
    assert!(text.contains(deterministic) && !text.contains("--reps"), "{text}");
    let text = flat("cubic:ecn=false,cubic:ecn=true");
    let identical =
        "cubic:ecn=false and cubic:ecn=true gave identical runs: what differs between them had no effect.";
    assert!(text.ends_with(&format!("{identical} {deterministic}")), "{text}");
    assert!(!text.contains(" equal "), "{text}");
    fs::write(place.join("own.toml"), format!("{ALONE}count = 2\noverhead = \"1 ms\"\n")).unwrap();
    let text = flat("cubic,vegas");
    assert!(!text.contains(deterministic) && text.contains("--reps 5 shows whether"), "{text}");
}
