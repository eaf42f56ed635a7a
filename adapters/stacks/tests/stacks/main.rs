//! All stacks in scenarios: delivery, losses, ECN, slow readers, many connections, and reproducibility.

#[path = "../../../kit/claims.rs"]
mod claims;
mod hunt_cases;
mod issue_tracker_reports;

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use thalweg::{Caller, Registry};

/// The path of all scenarios: 20 Mbit/s with 20 ms of propagation.
const PATH: &str = r#"
warmup = "0 s"
[[link]]
name = "wire"
between = ["here", "there"]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "50 pkt"
"#;

/// One greedy flow.
const ONE_GREEDY_FLOW: &str = r#"
duration = "10 s"
flow = [{ name = "one", from = "here", to = "there", scheme = "cubic" }]
"#;

/// Short connections, and requests with their responses.
const SHORT_CONNECTIONS: &str = r#"
duration = "3 s"
flow = [
    { name = "pages", from = "here", to = "there", scheme = "cubic", workload = { kind = "poisson", load = "8 Mbit/s", size = "50 kB" } },
    { name = "exchanges", from = "here", to = "there", scheme = "cubic", workload = { kind = "request-response", request = "1 kB", response = "20 kB", think = "100 ms" } },
]
"#;

/// Writes a scenario with these flows on the path to a file for this test.
fn file(name: &str, flows: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    std::fs::write(&path, format!("{flows}{PATH}")).unwrap();
    path
}

/// Returns the schemes of stacks: all that the command does not have by itself.
fn schemes() -> Vec<&'static str> {
    let own = Registry::default();
    let all = thalweg_stacks::registry_with_stacks();
    let names = all.schemes().iter().map(|scheme| scheme.name);
    names.filter(|name| own.scheme(name).is_none()).collect()
}

/// Runs a command and returns its output.
#[track_caller]
fn call(arguments: &[&str]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let called =
        thalweg::call(Arc::new(thalweg_stacks::registry_with_stacks()), &words, Arc::new(Caller::default()));
    assert_eq!(called.code, 0, "{arguments:?}: {}", called.text());
    called.printed_results
}

/// Compares schemes in a scenario, with these changes. Returns the first run of each.
#[track_caller]
fn compare(name: &str, flows: &str, schemes: &[&str], sets: &[&str]) -> Vec<Value> {
    let path = file(name, flows);
    let list = schemes.join(",");
    let mut arguments = vec!["compare", path.to_str().unwrap(), "--schemes", &list, "--json", "--verify"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", *set]));
    let mut document: Value = serde_json::from_str(&call(&arguments)).unwrap();
    let of = document["schemes"].as_array_mut().unwrap().iter_mut();
    of.map(|scheme| scheme["runs"][0].take()).collect()
}

#[track_caller]
fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("no `{key}` in {of}"))
}

/// Schemes with congestion control use most of a clean link; delivered bytes are those written (the contract compares them).
#[test]
fn stacks_fill_a_clean_link() {
    let schemes = schemes();
    for (scheme, run) in schemes.iter().zip(compare("clean", ONE_GREEDY_FLOW, &schemes, &[])) {
        let goodput = number(&run["flows"][0], "goodput_bps") / 20e6;
        let expected = match *scheme {
            // Without congestion control most packets are lost, and timeouts double.
            "smoltcp-none" => 0.001..0.3,
            "smoltcp-cubic" => 0.4..0.97,
            // Losses at the end of slow start cost timeouts of a second.
            "sctp" => 0.65..0.97,
            scheme if scheme.starts_with("smoltcp") => 0.75..0.97,
            scheme if scheme.contains("bbr3") || scheme.starts_with("quiche") => 0.75..0.97,
            _ => 0.9..0.97,
        };
        assert!(expected.contains(&goodput), "{scheme}: {goodput} of the link");
    }
}

/// A transfer completes on a path that loses 1 % of the packets in each direction.
#[test]
fn stacks_recover_from_losses() {
    let schemes: Vec<_> = schemes().into_iter().filter(|scheme| *scheme != "smoltcp-none").collect();
    let sets = ["link.wire.loss=0.01", "duration=30s", "flow.one.workload={kind=\"transfer\",size=\"2 MB\"}"];
    for (scheme, run) in schemes.iter().zip(compare("lossy", ONE_GREEDY_FLOW, &schemes, &sets)) {
        let flow = &run["flows"][0];
        let lost = number(flow, "lost_packets");
        assert!(lost > 5.0 && number(flow, "retransmissions") >= lost, "{scheme}: {lost} lost, {flow}");
        assert!(!flow["finished_s"].is_null(), "{scheme}: {flow}");
    }
}

/// A queue marks packets of stacks with ECN where it drops those of others, and their senders slow down.
#[test]
fn stacks_with_ecn_react_to_marks() {
    let queue = "link.wire.queue={discipline=\"step\",capacity=\"50 pkt\",threshold=\"20 pkt\"}";
    let schemes = ["quinn-cubic", "quinn-cubic:ecn=false", "smoltcp-reno"];
    let runs = compare("marks", ONE_GREEDY_FLOW, &schemes, &[queue, "warmup=2s"]);
    let [quinn, without, smoltcp] = [0, 1, 2].map(|at| &runs[at]["flows"][0]);
    let marks = |flow: &Value| number(flow, "marked_packets");
    // Marks alone keep the queue short.
    assert!(marks(quinn) > 100.0 && number(quinn, "lost_packets") == 0.0, "{quinn}");
    assert!(marks(without) == 0.0 && number(without, "lost_packets") > 0.0, "{without}");
    assert_eq!(marks(smoltcp), 0.0);
}

/// A slow application closes the receive window of the stack, and holds back the sender.
#[test]
fn stacks_wait_for_a_slow_application() {
    let schemes =
        ["quinn-cubic", "noq-newreno", "sctp", "smoltcp-reno"].map(|name| format!("{name}:buffer=256KiB"));
    let schemes = schemes.each_ref().map(String::as_str);
    let runs = compare("slow", ONE_GREEDY_FLOW, &schemes, &["flow.one.reading=\"2 Mbit/s\""]);
    for (scheme, run) in schemes.iter().zip(runs) {
        let flow = &run["flows"][0];
        let goodput = number(flow, "goodput_bps");
        // Messages of SCTP occupy the buffer until they are complete.
        let expected = if scheme.starts_with("sctp") { 1.7e6..2.05e6 } else { 1.9e6..2.05e6 };
        assert!(expected.contains(&goodput), "{scheme}: {goodput} bit/s");
        // 2 Mbit/s are 2.5 MB in 10 s, and 256 KiB wait in the buffer: without flow control 25 MB leave.
        let sent = number(flow, "sent_packets");
        assert!(sent < 3000.0, "{scheme}: {sent} packets");
    }
}

/// Connections open, end and follow each other, in both directions.
#[test]
fn stacks_serve_many_connections() {
    let schemes = ["quinn-cubic", "noq-bbr3", "sctp", "smoltcp-reno"];
    for (scheme, run) in schemes.iter().zip(compare("many", SHORT_CONNECTIONS, &schemes, &[])) {
        let groups = run["groups"].as_array().unwrap();
        let completed: Vec<f64> = groups.iter().map(|group| number(group, "completions")).collect();
        assert!(completed[0] > 30.0 && completed[1] > 12.0, "{scheme}: {completed:?}");
    }
}

/// Results and the packets of a capture, which are encrypted, are the same bytes each time, in any order of the runs.
#[test]
fn two_runs_are_equal_to_the_byte() {
    let schemes = schemes().join(",");
    let many = file("twice", SHORT_CONNECTIONS);
    let path = many.to_str().unwrap();
    let document =
        |jobs: &str| call(&["compare", path, "--schemes", &schemes, "--reps", "2", "--jobs", jobs, "--json"]);
    let first = document("2");
    assert_eq!(first, document("1"));
    assert_eq!(first, document("2"));
    // Controllers that draw random numbers over a longer time, as the first run of a thread and as a later one.
    let long = file("longer", ONE_GREEDY_FLOW);
    let drawing = [
        "compare",
        long.to_str().unwrap(),
        "--schemes",
        "quinn-bbr,noq-bbr3",
        "--reps",
        "3",
        "--json",
        "--set",
    ];
    let [one, two] =
        ["1", "2"].map(|jobs| call(&[&drawing[..], &["flow.one.count=2", "--jobs", jobs]].concat()));
    assert_eq!(one, two);

    let capture = |name: &str, scheme: &str, seed: &str| {
        let capture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let option = format!("--pcap={}", capture.display());
        let sets = ["pages", "exchanges"].map(|flow| format!("flow.{flow}.scheme=\"{scheme}\""));
        let set = ["--set", &sets[0], "--set", &sets[1], "--set", "duration=1s"];
        call(&[&["run", path, "--seed", seed, &option][..], &set].concat());
        std::fs::read(capture).unwrap()
    };
    for scheme in ["quinn-bbr", "noq-cubic", "sctp", "smoltcp-cubic"] {
        let [one, same, other] = [("one", "1"), ("same", "1"), ("other", "2")]
            .map(|(name, seed)| capture(&format!("{scheme}-{name}.pcap"), scheme, seed));
        assert!(one.len() > 100_000 && one == same, "{scheme}");
        assert_ne!(one, other, "{scheme}");
    }
}

/// Stacks with qlog write it for each end, with simulated times and the same bytes, and results do not change. Session keys too
/// are the same.
#[test]
fn qlog_of_the_stacks_is_written_beside_the_results() {
    let path = file("logged", ONE_GREEDY_FLOW);
    let run = |scheme: &str, folder: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg-stacks"));
        let set = format!("flow.one.scheme=\"{scheme}\"");
        command.args([
            "run",
            path.to_str().unwrap(),
            "--json",
            "--quiet",
            "--set",
            "duration=1s",
            "--set",
            &set,
        ]);
        if let Some(folder) = folder {
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
            // A folder of an earlier test run has keys, and more would be appended.
            let _ = std::fs::remove_dir_all(&folder);
            command.env("SSLKEYLOGFILE", folder.join("keys.log")).env("QLOGDIR", folder);
        }
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let logging = schemes();
    for scheme in ["quinn-cubic", "noq-bbr3", "quiche-bbr2"].into_iter().filter(|name| logging.contains(name))
    {
        let folders = ["first", "second"].map(|name| format!("{scheme}-{name}"));
        let without = run(scheme, None);
        let [first, second] = folders.each_ref().map(|folder| {
            assert_eq!(run(scheme, Some(folder)), without);
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
            let mut files: Vec<_> =
                std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.sort();
            let name = |path: &PathBuf| path.file_name().unwrap().to_owned();
            files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect::<Vec<_>>()
        });
        assert!(first.len() == 3 && first == second, "{scheme}: two ends, and the keys");
        let (_, keys) = &first[0];
        assert!(
            keys.contains("CLIENT_TRAFFIC_SECRET_0 ") && keys.contains("SERVER_TRAFFIC_SECRET_0 "),
            "{keys}"
        );
        let (_, client) = &first[1];
        let last = client.lines().last().unwrap().trim_start_matches('\u{1e}');
        let event: Value = serde_json::from_str(last).unwrap();
        assert!(number(&event, "time") > 0.5 && client.contains("packet_sent"), "{scheme}: {last}");
    }
    let path = file("in the way", "");
    let (code, _, message) = run("quinn-cubic", path.to_str());
    assert!(code == Some(2) && message.contains("QLOGDIR cannot be created"), "{code:?}: {message}");
}

/// Stacks are listed and explained like the schemes of the command.
#[test]
fn stacks_are_listed_and_explained() {
    let listed = call(&["list", "schemes"]);
    assert!(listed.contains("\nquinn-cubic ") && listed.contains("\ncubic "), "{listed}");
    let path = file("explained", ONE_GREEDY_FLOW);
    let set = "flow.one.scheme=\"quinn-bbr\"";
    let text = call(&["validate", path.to_str().unwrap(), "--set", set]);
    assert!(text.contains("quinn-bbr, datagrams of at most 1472 B"), "{text}");
}
