//! A scenario's own flows, over the kernel's TCP and this project's transport, both compared with simulation.

use super::test_scenarios::{Scenario, two_hosts};
use super::{Shell, supports_live_networks};
use serde_json::Value;
use std::process::Command;

fn run_with_carrier(scheme: &str, more: &[&str]) -> Value {
    let folder = Scenario::new("");
    let out = folder.path().with_extension("results");
    let mut shell = Shell::new(&two_hosts("", ""))
        .args(&["--traffic", scheme, "--for", "4 s", "--out", out.to_str().unwrap()])
        .args(more);
    let output = shell.command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{printed}");
    let document = std::fs::read_to_string(out.join("traffic.json")).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    assert!(printed.contains("Fidelity"), "{printed}");
    serde_json::from_str(&document).unwrap()
}

/// The rate never exceeds the link's, uses most of it, and is consistent with window and round-trip time.
#[test]
fn flows_are_carried_by_the_kernel_and_by_us() {
    if !supports_live_networks() {
        return;
    }
    for scheme in ["kernel:reno", "cubic"] {
        let document = run_with_carrier(scheme, &[]);
        let flow = &document["flows"][0];
        let number = |name: &str| flow[name].as_f64().unwrap();
        let share = number("goodput_bps") / 20e6;
        assert!((0.4..1.0).contains(&share), "{scheme}: {share} of the line; {document:#}");
        assert!(number("mean_smoothed_rtt_s") >= 0.02, "{scheme}: {document:#}");
        assert!(number("mean_window_packets") > 5.0, "{scheme}: {document:#}");
        assert!(flow["series"]["time_s"].as_array().unwrap().len() > 20);
    }
}

/// A real sender receives SEIF feedback from a router: it slows down before packets are lost.
#[test]
fn a_real_sender_receives_router_feedback() {
    if !supports_live_networks() {
        return;
    }
    let text = two_hosts("", "").replace("scheme = \"cubic\"", "scheme = \"seif\"");
    let mut shell = Shell::new(&text).args(&["--traffic", "seif", "--for", "4 s", "--json"]);
    let output = shell.command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && printed.contains("congestion messages of routers"), "{printed}");
}

/// One table with live and simulated results; the kernel's are live only.
#[test]
fn schemes_are_compared_in_both_places() {
    if !supports_live_networks() {
        return;
    }
    let scenario = Scenario::new(&two_hosts("", ""));
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .arg("compare")
        .arg(scenario.path())
        .args(["--live", "--schemes", "newreno,kernel:reno", "--set", "duration=3 s", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows: Vec<(&str, &str)> = document["compared"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["scheme"].as_str().unwrap(), row["where"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [("newreno", "simulated"), ("newreno", "live"), ("kernel:reno", "live")]);
    for row in document["compared"].as_array().unwrap() {
        let [goodput, delay] = ["goodput_bps", "delay_mean_s"].map(|name| row[name].as_f64().unwrap());
        assert!((6e6..20e6).contains(&goodput) && delay >= 0.01, "{row:#}");
        assert_eq!(row["valid"].is_null(), row["where"] == "simulated");
    }
}

#[test]
fn unsupported_traffic_is_rejected() {
    for (arguments, text, words) in [
        (
            &["--traffic", "kernel:cubik"][..],
            two_hosts("", ""),
            "this kernel has no congestion control `cubik`; it has",
        ),
        (&["--traffic", "udp"], two_hosts("", ""), "not reliable"),
        (&["--traffic", "qubic"], two_hosts("", ""), "--traffic:"),
        (&["--traffic", "cubic"], two_hosts("", "").replace("bulk", "1 MB"), "carries bulk flows alone"),
        (&["--traffic", "cubic"], two_hosts("", "start = \"20 s\"\n"), "starts after 10 s"),
        (&["--traffic", "cubic", "--at", "client"], two_hosts("", ""), "cannot be used with"),
    ] {
        let mut shell = Shell::new(&text).args(arguments);
        let output = shell.command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && printed.contains(words), "{arguments:?}: {printed}");
    }
    let scenario = Scenario::new(&two_hosts("", ""));
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .arg("compare")
        .arg(scenario.path())
        .args(["--schemes", "cubic,kernel:reno"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && printed.contains("add --live"), "{printed}");
}

/// From a capture of the kernel's CUBIC, `infer` finds the path of the scenario: rate within 3 %, round trip within 2 %, queue within
/// 15 %. A host that is late by milliseconds makes the queue look longer.
#[test]
fn the_path_of_the_kernel_is_inferred_from_a_capture() {
    if !supports_live_networks() {
        return;
    }
    let text = two_hosts("delay = \"20 ms\"", "").replace("100 pkt", "100 kB");
    let capture = Scenario::new("").path().with_extension("pcapng");
    let mut tries = 0;
    loop {
        tries += 1;
        let arguments = ["--traffic", "kernel:cubic", "--for", "8 s", "--pcap", capture.to_str().unwrap()];
        let live = Shell::new(&text).args(&arguments).command.output().unwrap();
        let printed = String::from_utf8_lossy(&live.stderr).into_owned();
        assert!(live.status.success(), "{printed}");
        let out = capture.with_extension("inferred");
        let inferred = Command::new(env!("CARGO_BIN_EXE_thalweg"))
            .args(["infer", capture.to_str().unwrap(), "--scheme", "cubic", "--json", "--quiet", "--out"])
            .arg(&out)
            .output()
            .unwrap();
        let _ = std::fs::remove_dir_all(&out);
        let _ = std::fs::remove_file(&capture);
        assert!(inferred.status.success(), "{}", String::from_utf8_lossy(&inferred.stderr));
        let document: Value = serde_json::from_slice(&inferred.stdout).unwrap();
        let error = |name: &str, truth: f64| (document["path"][name].as_f64().unwrap() / truth - 1.0).abs();
        // A packet of 1500 B takes its transmission time as well.
        let found = [("rate_bps", 20e6, 0.03), ("round_trip_s", 0.0406, 0.02), ("queue_bytes", 100e3, 0.15)]
            .map(|(name, truth, goal)| (name, error(name, truth), goal));
        if found.iter().all(|(_, error, goal)| error < goal) {
            return;
        }
        assert!(tries < 3, "{found:?}\n{printed}\n{:#}", document["path"]);
    }
}
