//! Benchmarks between two processes, and `thalweg doctor`.

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_thalweg");

/// Starts a server for one client; returns its address and key.
fn server() -> (Child, String, String) {
    server_with(&["--once"])
}

fn server_with(arguments: &[&str]) -> (Child, String, String) {
    let mut command = crate::child_processes::command(PROGRAM);
    command.args(["bench", "server", "127.0.0.1:0", "--json"]).args(arguments).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let rest = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
    let (address, key) = rest.split_once(", key ").unwrap();
    (child, address.to_owned(), key.to_owned())
}

fn client(arguments: &[&str]) -> std::process::Output {
    crate::child_processes::command(PROGRAM)
        .args(["bench", "client"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Without a subcommand both endpoints run in one process: same document, with a flag that CPU time covers both.
#[test]
fn both_ends_may_be_here() {
    for reverse in [false, true] {
        let mut command = crate::child_processes::command(PROGRAM);
        command.args(["bench", "--scheme", "bbr", "--time", "300 ms", "--parallel", "2"]);
        command.args(if reverse { &["--json", "--reverse"][..] } else { &["--json"] });
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["scheme"], "bbr");
        assert_eq!(result["client"]["cpu_of_both_ends"], true);
        assert_eq!(result["servers"].as_array().unwrap().len(), 2);
        assert!(result["received_bits_per_second"].as_f64().unwrap() > 1e6, "{result}");
    }
    let text = crate::child_processes::command(PROGRAM).args(["bench", "--time", "100 ms"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert_eq!(text.matches("CPU s/GB at both ends").count(), 2, "{text}");
    let refused =
        crate::child_processes::command(PROGRAM).args(["bench", "--reverse", "server"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "an option of one end before the other's name");
}

#[test]
fn both_ends_count_the_same_bytes_in_both_directions() {
    for reverse in [false, true] {
        let (child, address, key) = server();
        let mut arguments =
            vec![address.as_str(), "--key", &key, "--time", "300 ms", "--parallel", "2", "--json"];
        if reverse {
            arguments.push("--reverse");
        }
        let output = client(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let here = result["client"]["bytes"].as_u64().unwrap();
        let there: u64 =
            result["servers"].as_array().unwrap().iter().map(|s| s["bytes"].as_u64().unwrap()).sum();
        assert!(here > 0 && here == there, "{here} and {there}");
        assert!(result["client"]["cpu_seconds"].as_f64().unwrap() > 0.0);
        // Two connections of one client.
        let served = child.wait_with_output().unwrap();
        assert!(served.status.success());
        assert_eq!(String::from_utf8(served.stdout).unwrap().lines().count(), 2);
    }
}

#[test]
fn an_unreachable_server_is_reported_as_by_other_commands() {
    let output = client(&["127.0.0.1:9", "--quiet"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("127.0.0.1:9: no response"), "{error}");
}

/// Ctrl-C works even when a shell started the process in the background, with SIGINT ignored.
#[test]
fn an_interrupted_server_ends_and_notifies_clients() {
    let script = format!("'{PROGRAM}' bench server 127.0.0.1:0 --json & echo $!; wait $!");
    let mut shell = crate::child_processes::command("sh");
    let mut shell =
        shell.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut pid, mut line) = (String::new(), String::new());
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    BufReader::new(shell.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().split(',').next().unwrap().to_owned();
    let client = std::thread::spawn(move || client(&[&address, "--time", "30 s"]));
    // It has work once its client sends.
    crate::child_processes::wait_for_work(pid.trim().parse().unwrap(), Duration::from_millis(200));
    let begun = Instant::now();
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", pid.trim())]).status().unwrap();
    assert!(sent.success() && shell.wait().unwrap().success());
    let output = client.join().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("the server was stopped") && begun.elapsed() < Duration::from_secs(20), "{error}");
}

/// The sender observes the path, and reports it to the receiver.
#[test]
fn a_sending_server_reports_its_results() {
    let (child, address, _) = server();
    let output = client(&[&address, "--time", "300 ms", "--reverse", "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = &result["servers"][0]["findings"];
    assert!(findings.is_object() && findings["losses"].is_null(), "{result}");
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn an_interrupted_client_reports_its_measurements() {
    for reverse in [false, true] {
        let (mut child, address, _) = server_with(&[]);
        let mut command = crate::child_processes::command(PROGRAM);
        command.args(["bench", "client", &address, "--time", "60 s"]).args(reverse.then_some("--reverse"));
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = command.spawn().unwrap();
        crate::child_processes::wait_for_work(running.id(), Duration::from_millis(400));
        let begun = Instant::now();
        let kill = format!("kill -INT {}", running.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let output = running.wait_with_output().unwrap();
        let (text, error) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(3), "{text}{error}");
        assert!(begun.elapsed() < Duration::from_secs(30) && error.contains("interrupted"), "{error}");
        assert!(text.starts_with("client: ") && text.contains("bit/s"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Starts a relay to a server; returns its address.
fn start_relay(to: &str, options: &[&str]) -> (Child, String) {
    let mut relay = crate::child_processes::command(PROGRAM);
    relay.args(["impair", "--listen", "127.0.0.1:0", "--to", to]).args(options);
    let mut relay = relay.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(relay.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let through = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap();
    (relay, through.trim_end_matches([',', ':', '.']).to_owned())
}

/// After the handshake all packets are lost: the client waits for the confirmation of its request only up to its
/// timeout.
#[test]
fn a_reversed_bench_ends_without_confirmation_of_its_request() {
    let (mut child, address, _) = server_with(&[]);
    let (mut path, through) = start_relay(&address, &["--delay", "200 ms"]);
    let mut command = crate::child_processes::command(PROGRAM);
    command.args(["bench", "client", &through, "--time", "1 s", "--reverse"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(running.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("the server has the key"), "{line}");
    let stop = format!("kill -STOP {}", path.id());
    assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    let begun = Instant::now();
    let output = running.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("server: did not answer in time"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}: {text}", begun.elapsed());
    for child in [&mut path, &mut child] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// A sending server's advice is shown by its client.
#[test]
fn the_client_of_a_server_that_sends_prints_its_advice() {
    let (mut child, address, _) = server_with(&["--datagram", "1472 B"]);
    let options = ["--rate", "20 Mbit/s", "--delay", "10 ms", "--buffer", "50 kB", "--mtu", "1500 B"];
    let (mut path, through) = start_relay(&address, &options);
    // Twice the path's rate: certain even on busy hosts.
    let scheme = "sstp:rate=40Mbit/s";
    let output = client(&[&through, "--time", "4 s", "--reverse", "--json", "--scheme", scheme]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let advice = result["advice"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(
        advice.contains(" of the data was retransmitted") && advice.contains("configured rate"),
        "{advice}"
    );
    for child in [&mut path, &mut child] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Sizes given for `--mtu` in the guide: 1500 B is an Ethernet path; below 1228 B no connection can be established.
#[test]
fn a_path_carries_packets_of_its_mtu_and_not_too_small_ones() {
    let (mut child, address, _) = server_with(&[]);
    let guide = include_str!("../../../../docs/guide/impair.md");
    let row = guide.lines().find(|line| line.starts_with("| `--mtu")).unwrap();
    assert!(row.contains("`1500B`") && row.contains("Below `1228B` no connection"), "{row}");
    for (mtu, datagram) in [("1500B", Some(1472)), ("1228B", Some(1200)), ("1227B", None)] {
        let (mut path, through) = start_relay(&address, &["--mtu", mtu]);
        let output = client(&[&through, "--time", "1 s", "--json"]);
        let error = String::from_utf8_lossy(&output.stderr);
        if let Some(datagram) = datagram {
            let result: Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{mtu}: {error}"));
            assert_eq!(result["client"]["datagram_bytes"], datagram, "{mtu}");
        } else {
            assert_eq!(output.status.code(), Some(3), "{error}");
            assert!(error.contains("not large packets: the path must carry those of 1228 bytes"), "{error}");
        }
        path.kill().unwrap();
        path.wait().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// With minutes of data in a queue, the benchmark does not wait for all of it, and reports the amount.
#[test]
fn a_bench_ends_when_its_time_is_over() {
    let (mut child, address, _) = server_with(&[]);
    let relay = || start_relay(&address, &["--rate", "200 kbit/s", "--buffer", "8 MB"]);
    let (mut one, through) = relay();
    let through = through.as_str();
    let output = client(&[through, "--scheme", "fixed:window=2000pkt", "--time", "1 s", "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = if result["servers"][0].is_null() { 3 } else { 0 };
    assert_eq!(output.status.code(), Some(expected), "{}", String::from_utf8_lossy(&output.stderr));
    let written = result["client"]["bytes"].as_u64().unwrap();
    if let Some(server) = result["servers"][0].as_object() {
        assert_eq!(server["complete"], false);
        let arrived = server["bytes"].as_u64().unwrap();
        assert_eq!(result["client"]["not_arrived_bytes"].as_u64(), Some(written - arrived));
        // A path of 200 kbit/s delivers 25 kB/s.
        assert!(arrived < written, "{arrived} of {written}");
    } else {
        assert!(result["client"]["not_arrived_bytes"].is_null());
        assert!(result["client"]["bits_per_second"].is_null());
    }
    // The rate is computed from received bytes; written bytes are only counted.
    assert_eq!(result["received_bits_per_second"], result["servers"][0]["bits_per_second"]);
    // The first relay's queue is still full.
    let (mut other, through) = relay();
    let output = client(&[&through, "--scheme", "fixed:window=2000pkt", "--time", "1 s", "--quiet"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("server: "), "{text}");
    let has_answered = !first.contains("did not answer");
    let expected = if has_answered { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(expected), "{}", String::from_utf8_lossy(&output.stderr));
    let second = text.lines().nth(1).unwrap();
    assert!(second.starts_with("client: ") && second.contains(" written, "), "{text}");
    let rest = if has_answered { "had not arrived" } else { "unknown how much" };
    assert!(!second.contains("bit/s") && text.contains(rest), "{text}");
    assert!(text.contains(" s longer than requested"), "{text}");
    for child in [&mut one, &mut other, &mut child] {
        let _ = child.kill();
        child.wait().unwrap();
    }
}

/// The server limits the number of connections and their time, as configured.
#[test]
fn a_server_bounds_client_requests() {
    let (mut child, address, _) = server_with(&["--connections", "1", "--longest", "300 ms"]);
    let parallel = client(&[&address, "--time", "200 ms", "--parallel", "2"]);
    assert_eq!(parallel.status.code(), Some(1));
    let text = String::from_utf8(parallel.stderr).unwrap();
    assert!(text.contains("too many connections"), "{text}");
    // The earlier connections have ended, or end soon.
    let begun = Instant::now();
    let alone = loop {
        let alone = client(&[&address, "--time", "10 min", "--reverse", "--json"]);
        if alone.status.success() || begun.elapsed() > Duration::from_secs(60) {
            break alone;
        }
    };
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
    let result: Value = serde_json::from_slice(&alone.stdout).unwrap();
    assert!(result["client"]["bytes"].as_u64().unwrap() > 0);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_server_with_another_key_is_refused() {
    let (mut child, address, _) = server();
    let output = client(&[&address, "--key", &"ab".repeat(32), "--time", "1 s"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("the unexpected key"), "{text}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn invalid_arguments_are_rejected_before_sending() {
    for (arguments, words) in [
        (&["127.0.0.1:9", "--scheme", "warp"][..], "no scheme `warp`"),
        (&["127.0.0.1:9", "--scheme", "sstp"], "sstp:rate=100Mbit/s"),
        (&["127.0.0.1:9", "--datagram", "1472"], "did you mean \"1472 B\""),
        (&["127.0.0.1:9", "--key", "1234"], "64 hexadecimal digits"),
        (&["127.0.0.1:9", "--datagram", "100 B"], "between 1200 B and 65507 B"),
        (&["nowhere"], "nowhere"),
    ] {
        let output = client(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn the_doctor_reports_the_limits_of_the_host() {
    let output = Command::new(PROGRAM).args(["doctor", "127.0.0.1:9", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["receive_buffer_bytes"].as_u64().unwrap() > 0);
    assert!(result["interface_mtu_bytes"].as_u64().unwrap() >= 1280);
    let text = Command::new(PROGRAM).arg("doctor").output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for words in ["receive buffer", "GSO", "ECN", "encryption"] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
}
