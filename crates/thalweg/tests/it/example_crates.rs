//! Examples, which are crates like users' crates, outside the folder `crates`: their additions are available by name.
//! `scripts/test` runs these tests beside the others, because they build programs.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Returns the folder of an example.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Returns the path of an example's program, which is built as in the workspace's tests. They have compiled its dependencies, and
/// run its unit tests.
#[track_caller]
fn program(name: &str) -> PathBuf {
    let program = match name {
        "controller" => "thalweg-aimd",
        "discipline" => "thalweg-newest-first",
        "engine" => "thalweg-stop-and-wait",
        _ => panic!("there is no example {name}"),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut command = crate::child_processes::command(cargo);
    // Remove cargo's variables for this test: they would make build scripts run again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target folder");
    // All of the workspace, as in `scripts/test`: dependencies have the features that any of it asks for.
    command.args(["build", "--quiet", "--offline", "--locked", "--workspace", "--bin", program]);
    command.arg("--target-dir").arg(target).current_dir(folder(name));
    printed_text(&command.output().expect("cargo runs"));
    target.join("debug").join(program)
}

/// Returns the command that runs the program of an example, in the folder of the example.
#[track_caller]
fn example(name: &str, arguments: &[&str]) -> Command {
    let mut command = crate::child_processes::command(program(name));
    command.args(arguments).current_dir(folder(name));
    command
}

#[track_caller]
fn run(name: &str, arguments: &[&str]) -> Output {
    example(name, arguments).output().expect("it runs")
}

/// Starts a benchmark server for one client on a free port; returns its address.
#[track_caller]
fn server(mut command: Command) -> (Child, String) {
    let mut server = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(server.stderr.take().expect("it is piped")).read_line(&mut line).expect("it is text");
    let address = line.strip_prefix("listening on ").and_then(|line| line.split(',').next());
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    (server, address)
}

/// Returns the output of a successful call.
#[track_caller]
fn printed_text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// A third-party discipline can be simulated, listed, written out and checked like the built-in ones.
#[test]
#[ignore = "builds a program; scripts/test runs it"]
fn a_third_party_discipline_is_used_by_name() {
    let listed = printed_text(&run("discipline", &["list", "queues"]));
    assert!(listed.contains("newest-first") && listed.contains("fq-codel"), "{listed}");
    let schema = printed_text(&run("discipline", &["schema"]));
    assert!(schema.contains("Packets that have waited longer are dropped"), "the schema has its keys");
    let text = printed_text(&run("discipline", &["validate", "stack.toml"]));
    assert!(text.contains("newest-first queue, maximum delay 30 ms, capacity "), "{text}");
    let document = printed_text(&run("discipline", &["run", "stack.toml", "--json", "--verify"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let totals = &document["runs"][0]["totals"];
    // 1028 bytes on the wire at 10 Mbit/s are 1216 of the 1875 arriving packets per second; the newest waits for at
    // most one.
    let delivered = totals["delay_samples"].as_u64().unwrap();
    assert!((6055..=6080).contains(&delivered), "{delivered} of 6080 in 5 s");
    let longest = totals["delay_p99_worst_s"].as_f64().unwrap();
    assert!((0.0108..0.0118).contains(&longest), "{longest} s: 10 ms, and two packets of 0.82 ms");
    // A FIFO of Thalweg with a rule of its own marks, and drops retransmissions, which are Not-ECT (RFC 3168, section 6.1.5).
    let document = printed_text(&run("discipline", &["run", "marks.toml", "--json", "--verify"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let link = &document["runs"][0]["links"][0];
    let of = |name: &str| link[name].as_u64().unwrap_or_else(|| panic!("{name} in {link}"));
    assert!(of("marks") > 100 && of("drops_early") < 20, "{link}");
    let wrong = run("discipline", &["validate", "stack.toml", "--set", "link.bottleneck.queue.max-delay=0s"]);
    let wrong = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.contains("max-delay"), "{wrong}");
}

/// A third-party controller is compared with the built-in ones under its name and with its own keys, and transfers
/// bytes between programs that have it. Its source is short.
#[test]
#[ignore = "builds a program; scripts/test runs it"]
fn a_third_party_controller_is_used_by_name() {
    let source = std::fs::read_to_string(folder("controller").join("src/main.rs")).unwrap();
    assert!(source.lines().count() < 100, "{}", source.lines().count());
    let listed = printed_text(&run("controller", &["list", "schemes"]));
    assert!(listed.contains("\naimd ") && listed.contains("\ncubic "), "{listed}");
    let schema = printed_text(&run("controller", &["schema"]));
    assert!(schema.contains("Segments added to the window per round trip."), "the schema has its keys");
    // It keeps three quarters or a tenth of its window at a loss: the higher value uses more of the link.
    let compare = |keeps: &str| {
        let schemes = format!("cubic,aimd:decrease={keeps}");
        let call =
            ["compare", "dumbbell", "--schemes", &schemes, "--set", "duration=20s", "--verify", "--json"];
        let document = printed_text(&run("controller", &call));
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["schemes"][1]["scheme"], format!("aimd:decrease={keeps}"));
        document["schemes"][1]["runs"][0]["totals"]["goodput_bps"].as_f64().unwrap()
    };
    let (kept, lost) = (compare("0.75"), compare("0.1"));
    assert!(kept > lost * 1.01 && lost > 1e6, "{kept} and {lost} bit/s");
    let wrong = run("controller", &["bench", "client", "127.0.0.1:1", "--scheme", "aimd:increase=1000pkt"]);
    let wrong = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.contains("increase cannot be `1000pkt`: it must lie from 0.1 pkt to 100 pkt"), "{wrong}");

    let (mut there, address) = server(example("controller", &["bench", "server", "127.0.0.1:0", "--once"]));
    let call = ["bench", "client", &address, "--scheme", "aimd:increase=2pkt", "--time", "200ms", "--json"];
    let document: serde_json::Value = serde_json::from_str(&printed_text(&run("controller", &call))).unwrap();
    assert_eq!(document["scheme"], "aimd:increase=2pkt");
    assert!(document["servers"][0]["bytes"].as_u64().unwrap() > 1 << 20, "{document}");
    assert!(there.wait().unwrap().success());

    // A program without it reports this, and lists its schemes.
    let mut without = crate::child_processes::command(env!("CARGO_BIN_EXE_thalweg"));
    without.args(["bench", "server", "127.0.0.1:0"]);
    let (mut there, address) = server(without);
    let refused = run("controller", &["bench", "client", &address, "--scheme", "aimd", "--time", "200ms"]);
    there.kill().and_then(|()| there.wait()).unwrap();
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && why.contains("there is no scheme `aimd`; there are fixed, "),
        "{why}"
    );
}

/// A third-party engine family is simulated, compared, drawn, captured and explained under its name, and transfers
/// bytes between programs that have it.
#[test]
#[ignore = "builds a program; scripts/test runs it"]
fn a_third_party_engine_family_is_used_by_name() {
    let text = printed_text(&run("engine", &["validate", "wire.toml"]));
    assert!(text.contains("stop-and-wait, one packet of 1000 B at a time, again after 100 ms"), "{text}");
    let document = printed_text(&run("engine", &["run", "wire.toml", "--json", "--verify"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let flow = &document["runs"][0]["flows"][0];
    // 1036 bytes at 8 Mbit/s take 1.036 ms, a response of 36 bytes 0.036 ms, and propagation 20 ms: 47.45 packets per
    // second.
    let packets = flow["sent_packets"].as_u64().unwrap();
    assert!((474..=475).contains(&packets), "{packets} in 10 s");
    // A lost packet is retransmitted after 100 ms, the time of about five responses.
    let set = ["--set", "link.wire.loss=0.1", "--set", "duration=100s"];
    let document =
        printed_text(&run("engine", &[&["run", "wire.toml", "--json", "--verify"][..], &set].concat()));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let flow = &document["runs"][0]["flows"][0];
    let (sent, again) = (&flow["sent_packets"], &flow["retransmissions"]);
    let share = again.as_f64().unwrap() / sent.as_f64().unwrap();
    // Loss of the packet or of its response: 1 - 0.9^2.
    assert!((0.17..0.21).contains(&share), "{share} of {sent}");

    let compared =
        printed_text(&run("engine", &["compare", "wire.toml", "--schemes", "stop-and-wait,cubic", "--json"]));
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["schemes"][0]["scheme"], "stop-and-wait");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine-out");
    let _ = std::fs::remove_dir_all(&out);
    let folder = out.to_str().unwrap();
    let capture = format!("--pcap={folder}.pcap");
    let call = ["run", "wire.toml", "--trace", "sequence", "--out", folder, &capture];
    printed_text(&run("engine", &[&call[..], &["--set", "duration=1s"]].concat()));
    let drawn = std::fs::read_to_string(out.join("sequence.txt")).unwrap();
    assert!(drawn.contains("packet 7") && drawn.contains("got 7"), "{drawn}");
    // The capture contains the packet's bytes: type and number.
    let captured = std::fs::read(format!("{folder}.pcap")).unwrap();
    assert!(captured.windows(9).any(|bytes| bytes == [1, 0, 0, 0, 0, 0, 0, 0, 7]));

    let (mut there, address) = server(example("engine", &["bench", "server", "127.0.0.1:0", "--once"]));
    let call =
        ["bench", "client", &address, "--scheme", "stop-and-wait:timeout=50ms", "--time", "200ms", "--json"];
    let document: serde_json::Value = serde_json::from_str(&printed_text(&run("engine", &call))).unwrap();
    assert!(document["scheme"].as_str().unwrap().starts_with("stop-and-wait:"), "{document}");
    assert!(document["servers"][0]["bytes"].as_u64().unwrap() > 10_000, "{document}");
    assert!(there.wait().unwrap().success());
}

/// A third-party controller is assessed like the built-in ones: with a small reduction it loses too much at a policer.
#[test]
#[ignore = "builds a program; scripts/test runs it"]
fn a_third_party_controller_is_assessed() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside-assessed");
    let _ = std::fs::remove_dir_all(&out);
    let bold = "aimd:increase=20pkt,decrease=0.95";
    let out = out.to_str().expect("it is text");
    let output =
        run("controller", &["assess", bold, "--quick", "--only", "7.2", "--out", out, "--quiet", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (document["scheme"].as_str(), document["sections"][0]["verdict"].as_str()),
        (Some(bold), Some("does-not"))
    );
}
