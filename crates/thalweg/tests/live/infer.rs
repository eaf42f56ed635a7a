//! Records transfers over a known path, and infers the path.

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_thalweg");

/// Starts a program; returns the address from its first line of standard error, which ends before `until`.
fn start_listening(arguments: &[&str], before: &str, until: &str) -> (Child, String) {
    let mut child = crate::child_processes::command(PROGRAM)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let rest = line.trim().strip_prefix(before).unwrap_or_else(|| panic!("{line}"));
    let address = rest.split_once(until).unwrap_or_else(|| panic!("{line}")).0.to_owned();
    (child, address)
}

fn thalweg(arguments: &[&str]) -> Output {
    crate::child_processes::command(PROGRAM).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Records two seconds of `scheme` over 8 Mbit/s and 40 ms; returns the file.
fn recorded(scheme: &str, folder: &Path, loss: &str) -> PathBuf {
    let (mut server, address) = start_listening(
        // The size of Ethernet: loopback carries datagrams that exceed a queue of 40 kB.
        &["bench", "server", "127.0.0.1:0", "--once", "--datagram", "1472B"],
        "listening on ",
        ",",
    );
    let relay =
        ["impair", "--listen", "127.0.0.1:0", "--to", &address, "--rate", "8Mbit/s", "--delay", "20ms"];
    let more = ["--buffer", "40kB", "--up", loss, "--for", "60s"];
    let (mut relay, through) = start_listening(&[&relay[..], &more[..]].concat(), "relaying ", " ->");
    let file = folder.join("run.qlog");
    let name = file.to_str().unwrap();
    let output = thalweg(&[
        "bench", "client", &through, "--scheme", scheme, "--time", "2 s", "--record", name, "--quiet",
    ]);
    assert!(output.status.success(), "{scheme}: {}", String::from_utf8_lossy(&output.stderr));
    relay.kill().unwrap();
    relay.wait().unwrap();
    server.wait().unwrap();
    file
}

/// Recording works with every scheme, and each inferred scenario can run.
#[test]
fn every_scheme_can_be_recorded_and_simulated() {
    let schemes = ["cubic", "vegas", "fixed:window=20pkt", "adaptive-ack:window=20pkt"];
    let others = ["sscop:window=40pkt", "sscop-rate", "sstp:rate=6Mbit/s"];
    std::thread::scope(|scope| {
        for (number, scheme) in schemes.into_iter().chain(others).enumerate() {
            scope.spawn(move || found_again(number, scheme));
        }
    });
}

fn found_again(number: usize, scheme: &str) {
    let folder = folder(&format!("infer-{number}"));
    let file = recorded(scheme, &folder, "loss=0");
    let output = thalweg(&["infer", file.to_str().unwrap(), "--json", "--quiet"]);
    assert!(output.status.success(), "{scheme}: {}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let round_trip = result["path"]["round_trip_s"].as_f64().unwrap();
    // Transmission takes 1.5 ms; busy hosts add delay; adaptive acknowledgement reports every 40 ms.
    assert!((0.04..0.15).contains(&round_trip), "{scheme}: {result}");
    // The path's rate is the limit, but packets delayed by a busy host may arrive in bursts.
    let rate = result["path"]["rate_bps"].as_f64().unwrap();
    assert!(rate < 16e6, "{scheme}: {result}");
    let simulated_rate = result["path"]["simulated_rate_bps"].as_f64().unwrap();
    for (run, max) in [("recorded", 8e6), ("simulated", simulated_rate.max(8e6))] {
        let goodput = result[run]["goodput_bps"].as_f64().unwrap();
        assert!(goodput > 1e5 && goodput < max, "{scheme}, {run}: {result}");
    }
    let scenario = folder.join("run/scenario.toml");
    let checked = thalweg(&["validate", scenario.to_str().unwrap()]);
    assert!(checked.status.success());
    let warnings = String::from_utf8_lossy(&checked.stderr);
    // Except for the warning that a fixed window does not fill the path.
    let others = warnings.matches("warning[").count() - warnings.matches("[scenario.window]").count();
    assert_eq!(others, 0, "{scheme}: what was written here is doubted: {warnings}");
}

/// The scenario contains the hosts, and the error is the difference of the two runs.
#[test]
fn hosts_are_simulated_and_the_error_is_reported() {
    let folder = folder("infer-hosts");
    // Few packets: none arrives while a host wakes up for the previous ones.
    let file = recorded("fixed:window=2pkt", &folder, "loss=0");
    let infer = |host: &str| thalweg(&["infer", file.to_str().unwrap(), "--json", "--quiet", "--host", host]);
    let shortest = |output: &Output| {
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let of = |run: &str, key: &str| result[run][key].as_f64().unwrap();
        let (live, again) = (of("recorded", "goodput_bps"), of("simulated", "goodput_bps"));
        assert!((of("error", "goodput") - (again / live - 1.0)).abs() < 1e-9, "{result}");
        of("simulated", "min_rtt_s")
    };
    let late = shortest(&infer("{ late = \"10 ms\", late-p99 = \"10 ms\" }"));
    let server = shortest(&infer("linux-server"));
    assert!((0.019..0.021).contains(&(late - server)), "{late} {server}: two wake-ups");
    assert!(infer("here").status.success());
    let scenario = std::fs::read_to_string(folder.join("run/scenario.toml")).unwrap();
    assert!(scenario.contains("host = { late = "), "{scenario}");
    // An invalid host is reported before anything is written.
    std::fs::remove_dir_all(folder.join("run")).unwrap();
    let wrong =
        [("linux-mainframe", "linux-server"), ("{ late = 2 }", "has no unit"), ("{ late", "or a table")];
    for (host, words) in wrong.into_iter().chain([("{ preemption = \"1 ms\" }", "go together")]) {
        let output = infer(host);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{host}: {messages}");
        assert!(messages.contains(words) && messages.contains("--host"), "{host}: {messages}");
        assert!(!folder.join("run").exists(), "{host}");
    }
}

#[test]
fn losses_show() {
    let folder = folder("infer-loss");
    // There is no standing queue that could explain losses.
    let file = recorded("fixed:window=20pkt,recovery=sack", &folder, "loss=5%");
    let output = thalweg(&["infer", file.to_str().unwrap(), "--out", folder.to_str().unwrap()]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Losses") && text.contains("Recorded") && text.contains("Simulated"), "{text}");
    let scenario = std::fs::read_to_string(folder.join("scenario.toml")).unwrap();
    let loss = scenario.lines().find_map(|line| line.strip_prefix("loss = ")).unwrap();
    // About 50 of 1000 packets are lost: 2 to 9 % covers at least four standard deviations.
    assert!(loss.starts_with('{') || (0.02..0.09).contains(&loss.parse::<f64>().unwrap()), "{scenario}");
}

#[test]
fn failed_recordings_and_reads_are_reported() {
    let output = thalweg(&["bench", "client", "127.0.0.1:1", "--record", "x.qlog", "--reverse"]);
    assert_eq!(output.status.code(), Some(2));
    let folder = folder("infer-bad");
    let file = folder.join("bad.qlog");
    std::fs::write(&file, "{}").unwrap();
    let output = thalweg(&["infer", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("this is not a trace; expected qlog"));
    let output = thalweg(&["infer", folder.join("none.qlog").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let file = folder.join("x.pcap");
    std::fs::write(&file, [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0]).unwrap();
    let output = thalweg(&["infer", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(messages.contains("pcap: The file ends within its header"), "{messages}");
}
