//! `thalweg view` and `thalweg infer` on traces: of simulations, whose figures are known, of other programs, and on files that are none.

use crate::command_runs::{fails, prints, temporary_path};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[track_caller]
fn document(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&prints(folder, arguments)).unwrap()
}

/// Traces of other programs, stored with their reader.
fn stored_trace(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../thalweg-trace/tests/data").join(name);
    path.to_str().unwrap().to_owned()
}

/// A transfer by `scheme` over `rate`, `delay` and `queue`, captured and logged at its source; returns the results.
fn simulate_and_capture(folder: &Path, scheme: &str, [rate, delay, queue, more]: [&str; 4]) -> Value {
    let text = format!(
        "duration = \"20 s\"\nwarmup = \"0 s\"\n[[link]]\nname = \"line\"\nbetween = [\"client\", \"server\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {queue}\n{more}\n\
         [[flow]]\nname = \"transfer\"\nfrom = \"client\"\nto = \"server\"\nscheme = \"{scheme}\"\nworkload = \"bulk\"\n[scheme.{scheme}]\nhandshake = \"tcp\"\n"
    );
    fs::write(folder.join("path.toml"), text).unwrap();
    document(folder, &["run", "path.toml", "--json", "--quiet", "--pcap=run.pcap", "--qlog=run.qlog"])
}

/// Figures of a capture and of a log are those of the simulation.
#[test]
fn a_simulation_s_own_traces_have_its_figures() {
    let place = temporary_path("view-own");
    let results = simulate_and_capture(&place, "cubic", ["10 Mbit/s", "20 ms", "\"150 kB\"", ""]);
    let flow = &results["runs"][0]["flows"][0];
    for file in ["run.pcap", "run.qlog"] {
        let view = document(&place, &["view", file, "--json"]);
        let connection = &view["files"][0]["connections"][0];
        let direction = &connection["directions"][0];
        let number = |name: &str| direction[name].as_f64().unwrap();
        assert_eq!(connection["recorded_at"], "client", "{file}");
        let goodput = flow["goodput_bps"].as_f64().unwrap();
        assert!((number("goodput_bps") / goodput - 1.0).abs() < 0.02, "{file}: {direction:#} {flow:#}");
        let again = flow["retransmissions"].as_f64().unwrap();
        assert!((number("retransmitted_packets") - again).abs() <= 2.0, "{file}: {direction:#} {flow:#}");
        // The simulator's shortest round trip is that of the SYN, which takes less than the 1.2 ms of a packet with data.
        let excess = direction["rtt"]["min_s"].as_f64().unwrap() - flow["min_rtt_s"].as_f64().unwrap();
        assert!((0.0..0.0013).contains(&excess), "{file}: {direction:#} {flow:#}");
    }
    let text = prints(&place, &["view", "run.pcap"]);
    assert!(text.contains("TCP") && text.contains("Bufferbloat") && text.contains("RFC 7567"), "{text}");
}

/// Returns the connections with acknowledgements in a file: packets, retransmissions, bytes, and the shortest round trip in
/// units of 10 us.
fn shown_transfers(folder: &Path, file: &str) -> Vec<[u64; 4]> {
    let view = document(folder, &["view", file, "--json"]);
    let connections = view["files"][0]["connections"].as_array().unwrap().iter();
    let directions = connections.map(|connection| connection["directions"][0].clone());
    directions
        .filter(|direction| direction["rtt"].is_object())
        .map(|direction| {
            let of = |name: &str| direction[name].as_u64().unwrap();
            let trip = direction["rtt"]["min_s"].as_f64().unwrap();
            [of("packets"), of("retransmitted_packets"), of("delivered_bytes"), (trip * 1e5).round() as u64]
        })
        .collect()
}

/// Each transfer of a flow is a connection with offsets of its own, in a log as in a capture. The log of a sender of UDP has no delivered bytes.
#[test]
fn transfers_of_a_flow_are_connections() {
    let place = temporary_path("view-transfers");
    for workload in [
        "{ kind = \"list\", transfers = \"1 0s 100kB; 1 1s 100kB; 1 1.01s 100kB; 1 2s 300kB\" }",
        "{ kind = \"poisson\", load = \"30 %\", size = \"50 kB\" }",
    ] {
        let text = format!(
            "duration = \"4 s\"\nwarmup = \"0 s\"\n[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 MB\"\n\
             [[flow]]\nname = \"web\"\nfrom = \"client\"\nto = \"server\"\nscheme = \"cubic\"\nworkload = {workload}\n\
             [[flow]]\nname = \"voice\"\nfrom = \"client\"\nto = \"server\"\nscheme = \"udp\"\nworkload = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n"
        );
        fs::write(place.join("web.toml"), text).unwrap();
        prints(&place, &["run", "web.toml", "--quiet", "--pcap=web.pcap", "--qlog=web.qlog"]);
        let (captured, logged) = (shown_transfers(&place, "web.pcap"), shown_transfers(&place, "web.qlog"));
        assert!(logged.len() >= 4 && logged.iter().all(|of| of[1] == 0), "{workload}: {logged:?}");
        assert_eq!(captured, logged, "{workload}");
        let infer = |file| document(&place, &["infer", file, "--json", "--quiet", "--scheme", "cubic"]);
        let [captured, logged] = ["web.pcap", "web.qlog"].map(infer);
        assert_eq!(logged["recorded"]["retransmitted_share"], 0.0, "{logged:#}");
        let goodput = |inferred: &Value| inferred["recorded"]["goodput_bps"].as_f64().unwrap();
        assert!((goodput(&logged) / goodput(&captured) - 1.0).abs() < 0.05, "{captured:#} {logged:#}");
        let view = document(&place, &["view", "web.qlog", "--json"]);
        let voice = view["files"][0]["connections"].as_array().unwrap().last().unwrap();
        let of_voice = &voice["directions"][0];
        assert_eq!([&voice["name"], &of_voice["delivered_bytes"]], [&Value::from("voice"), &Value::Null]);
        assert!(of_voice["goodput_bps"].is_null() && of_voice["packets"].as_u64() > Some(100));
    }
}

/// The path of a capture is found again: rate within 3 %, round trip within 2 %, queue within 15 %.
#[test]
fn the_path_of_a_capture_is_inferred() {
    let place = temporary_path("view-infer");
    for (scheme, rate, millis, queue) in
        [("cubic", 20.0, 20, 100), ("newreno", 5.0, 40, 80), ("bbr", 50.0, 10, 150)]
    {
        let [rate_text, delay, queue_text] =
            [format!("{rate} Mbit/s"), format!("{millis} ms"), format!("\"{queue} kB\"")];
        simulate_and_capture(&place, scheme, [&rate_text, &delay, &queue_text, ""]);
        for file in ["run.pcap", "run.qlog"] {
            let found =
                document(&place, &["infer", file, "--json", "--quiet", "--scheme", scheme, "--out", "out"]);
            let path = &found["path"];
            let number = |name: &str| path[name].as_f64().unwrap();
            let error = |found: f64, truth: f64| (found / truth - 1.0).abs();
            assert!(error(number("rate_bps"), rate * 1e6) < 0.03, "{scheme}, {file}: {path:#}");
            // A packet of 1500 B takes its transmission time as well.
            let trip = 2.0 * f64::from(millis) / 1e3 + 12e3 / (rate * 1e6);
            assert!(error(number("round_trip_s"), trip) < 0.02, "{scheme}, {file}: {path:#}");
            let size = f64::from(queue) * 1e3;
            assert!(
                !path["queue_was_full"].as_bool().unwrap() || error(number("queue_bytes"), size) < 0.15,
                "{scheme}, {file}: {path:#}"
            );
            // Without a queue there is no upper end.
            let [low, high] =
                [0, 1].map(|end| path["intervals"]["rate_bps"][end].as_f64().unwrap_or(f64::INFINITY));
            // Whole bits per second.
            assert!(low - 1.0 <= number("rate_bps") && number("rate_bps") <= high + 1.0, "{path:#}");
        }
    }
}

#[test]
fn a_policer_and_other_schemes() {
    let place = temporary_path("view-policer");
    let queue =
        "{ discipline = \"policer\", capacity = \"500 kB\", rate = \"8 Mbit/s\", burst = \"100 kB\" }";
    simulate_and_capture(&place, "cubic", ["40 Mbit/s", "15 ms", queue, "reverse = { queue = \"500 kB\" }"]);
    let view = document(&place, &["view", "run.pcap", "--json"]);
    let found = view["files"][0]["connections"][0]["directions"][0]["findings"].as_array().unwrap();
    assert!(found.iter().any(|finding| finding["kind"] == "policer"), "{found:#?}");
    let inferred = document(&place, &["infer", "run.pcap", "--json", "--quiet", "--schemes", "bbr,newreno"]);
    let policer = &inferred["path"]["policer"];
    let of = |name: &str| policer[name].as_f64().unwrap();
    assert!(
        (of("rate_bps") / 8e6 - 1.0).abs() < 0.03 && (of("burst_bytes") / 1e5 - 1.0).abs() < 0.3,
        "{policer:#}"
    );
    let others: Vec<_> =
        inferred["others"].as_array().unwrap().iter().map(|other| other["scheme"].clone()).collect();
    assert_eq!(others, ["bbr", "newreno"]);
    assert_eq!(inferred["scheme"], "cubic");
    let scenario = fs::read_to_string(place.join("run/scenario.toml")).unwrap();
    assert!(scenario.contains("discipline = \"policer\""), "{scenario}");
    let text = prints(&place, &["infer", "run.pcap", "--quiet", "--schemes", "bbr"]);
    assert!(
        text.contains("Policer     ") && text.contains("Simulated with") && text.contains("bbr"),
        "{text}"
    );
}

#[test]
fn traces_of_other_programs_become_pages() {
    let place = temporary_path("view-pages");
    let [client, server, capture, log] =
        ["quic-go-client.sqlog.gz", "quic-go-server.sqlog.gz", "kernel-cubic.pcap.gz", "kernel-cubic.ss"]
            .map(stored_trace);
    prints(&place, &["view", &client, &server, "--report=both.html", "--quiet"]);
    prints(&place, &["view", &capture, &log, "--report=kernel.html", "--quiet"]);
    for name in ["both.html", "kernel.html"] {
        let page = fs::read_to_string(place.join(name)).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n") && page.len() < 2_000_000);
        for loads in ["src=\"", "href=\"", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(loads), "{name}: {loads}");
        }
        assert!(page.contains("Time and sequence") && page.contains("\"rtt-sample\""), "{name}");
    }
    let [quic, keys] = ["aioquic-keys.pcap.gz", "aioquic-keys.log"].map(stored_trace);
    let hidden = document(&place, &["view", &quic, "--json"]);
    let open = document(&place, &["view", &quic, "--keys", &keys, "--json"]);
    let protocol = |of: &Value| of["files"][0]["connections"][0]["protocol"].clone();
    assert_eq!([protocol(&hidden), protocol(&open)], ["QUIC (encrypted)", "QUIC"]);
    assert!(fails(&place, &["view", &quic, "--keys", &log], 2).contains("no secrets of TLS 1.3"));
    let one = document(&place, &["view", &client, &capture, "--connection", "3", "--json"]);
    let files = one["files"].as_array().unwrap();
    assert_eq!((files.len(), files[0]["connections"].as_array().unwrap().len()), (1, 1));
    assert!(fails(&place, &["view", &client, "--connection", "2"], 2).contains("there are 1 connection"));
    assert!(fails(&place, &["view", &client, "--report=page.svg"], 2).contains("does not end in .html"));
    let messages = fails(&place, &["infer", &server], 1);
    assert!(messages.contains("recorded at the receiver"), "{messages}");
    let messages = fails(&place, &["infer", &log], 1);
    assert!(messages.contains("no packets with data"), "{messages}");
}

/// "No findings." depends on the findings alone: not on notes, and not on what the text leaves out.
#[test]
fn findings_are_counted_beside_notes_and_beyond_what_is_shown() {
    let place = temporary_path("view-findings");
    // A log of bpftrace without `mss=`, which is noted.
    let lines = (0..60).map(|sample| {
        format!(
            "{}000000 src=10.0.0.1:38040 dest=10.0.0.2:5001 snd_nxt=9000 snd_una=2000 snd_cwnd=10 srtt=20000\n",
            5000 + sample * 100
        )
    });
    fs::write(place.join("probe.log"), lines.collect::<String>()).unwrap();
    let text = prints(&place, &["view", "probe.log"]);
    assert!(
        text.contains("1. Note: The log has no segment size") && text.ends_with("No findings.\n"),
        "{text}"
    );
    // 40 transfers of one packet, and one that fills the queue.
    let small: String = (0..40).map(|number| format!("1 {}s 1kB; ", f64::from(number) / 10.0)).collect();
    let text = format!(
        "duration = \"20 s\"\nwarmup = \"0 s\"\n[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"300 kB\"\n\
         [[flow]]\nname = \"web\"\nfrom = \"client\"\nto = \"server\"\nscheme = \"cubic\"\nworkload = {{ kind = \"list\", transfers = \"{small}1 5s 8MB\" }}\n"
    );
    fs::write(place.join("web.toml"), text).unwrap();
    prints(&place, &["run", "web.toml", "--quiet", "--pcap=web.pcap"]);
    let view = document(&place, &["view", "web.pcap", "--json"]);
    let connections = view["files"][0]["connections"].as_array().unwrap().iter();
    let counts: Vec<usize> = connections
        .map(|connection| connection["directions"].as_array().unwrap())
        .map(|directions| directions.iter().map(|of| of["findings"].as_array().unwrap().len()).sum())
        .collect();
    assert!(
        counts.len() == 41 && counts[..40].iter().all(|count| *count == 0) && counts[40] > 0,
        "{counts:?}"
    );
    let text = prints(&place, &["view", "web.pcap"]);
    let hidden = format!(
        "{} finding{} not shown; --json has all.\n",
        counts[40],
        if counts[40] == 1 { "" } else { "s" }
    );
    assert!(text.contains("1 more connection; --json has all.\n") && text.ends_with(&hidden), "{text}");
    assert!(!text.contains("No findings."), "{text}");
    let text = prints(&place, &["view", "web.pcap", "--connection", "41"]);
    assert!(text.contains("Bufferbloat") && !text.contains("not shown; --json"), "{text}");
}

#[test]
fn files_that_are_no_trace_are_refused_with_what_was_expected() {
    let place = temporary_path("view-bad");
    let garbage: Vec<u8> =
        (0..5000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let deep = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}", "[".repeat(1_000_000));
    let files: [(&str, &[u8], &str); 6] = [
        ("empty", b"", "the file is empty; expected qlog"),
        ("text", b"GET / HTTP/1.1\n", "this is not a trace; expected qlog"),
        ("garbage", &garbage, "this is not a trace; expected qlog"),
        ("deep.qlog", deep.as_bytes(), "nested more than 100 levels deep"),
        ("short.pcap", &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "pcap: The file ends within its header"),
        ("cut.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1], "cannot be read"),
    ];
    for (name, bytes, words) in files {
        fs::write(place.join(name), bytes).unwrap();
        for command in ["view", "infer"] {
            let messages = fails(&place, &[command, name], 1);
            assert!(messages.contains(words) && messages.contains(name), "{command} {name}: {messages}");
        }
    }
    assert!(fails(&place, &["view", "."], 2).contains("not a results folder"));
    assert!(fails(&place, &["infer", "."], 2).contains("a folder"));
    assert!(fails(&place, &["view", "missing.pcap"], 2).contains("missing.pcap"));
    // Two files, of which one is none.
    assert!(
        fails(&place, &["view", &stored_trace("kernel-cubic.ss"), "text"], 1)
            .contains("text: this is not a trace")
    );
    assert!(
        fails(&place, &["infer", &stored_trace("kernel-cubic.pcap.gz"), "--schemes", "qubic"], 2)
            .contains("qubic")
    );
}

/// A results folder is shown by its captures and logs, or else by its series.
#[test]
fn results_folders_are_shown() {
    let place = temporary_path("view-results");
    simulate_and_capture(&place, "cubic", ["10 Mbit/s", "20 ms", "\"60 kB\"", ""]);
    prints(&place, &["run", "path.toml", "--quiet", "--out", "plain"]);
    let results: Value =
        serde_json::from_str(&fs::read_to_string(place.join("plain/results.json")).unwrap()).unwrap();
    let view = document(&place, &["view", "plain", "--json", "--report=plain.html"]);
    let (file, flow) = (&view["files"][0], &results["runs"][0]["flows"][0]);
    assert_eq!((&file["format"], &file["connections"][0]["protocol"]), (&"results".into(), &"flow".into()));
    let direction = &file["connections"][0]["directions"][0];
    let [goodput, truth] = [&direction["goodput_bps"], &flow["goodput_bps"]].map(|of| of.as_f64().unwrap());
    assert!((goodput / truth - 1.0).abs() < 0.01, "{direction:#} {flow:#}");
    // The scenario has the size of a segment.
    assert!(direction["segment_bytes"].as_u64().unwrap() > 1000, "{direction:#}");
    let page = fs::read_to_string(place.join("plain.html")).unwrap();
    assert!(page.contains("\"quantity\":\"window\""));
    prints(&place, &["run", "path.toml", "--quiet", "--out", "packets", "--pcap", "--qlog"]);
    let view = document(&place, &["view", "packets", "plain", "--json"]);
    let formats: Vec<&str> =
        view["files"].as_array().unwrap().iter().map(|file| file["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["pcap", "qlog", "results"]);
    fs::remove_file(place.join("plain/series.csv")).unwrap();
    assert!(fails(&place, &["view", "plain"], 2).contains("measure.interval"));
}

/// Cut files show what comes before, and say so.
#[test]
fn cut_files_are_shown_with_a_note() {
    let place = temporary_path("view-cut");
    simulate_and_capture(&place, "cubic", ["10 Mbit/s", "20 ms", "\"60 kB\"", ""]);
    for file in ["run.pcap", "run.qlog"] {
        let whole = fs::read(place.join(file)).unwrap();
        fs::write(place.join("cut"), &whole[..whole.len() / 2]).unwrap();
        let view = document(&place, &["view", "cut", "--json"]);
        let file_value = &view["files"][0];
        assert_eq!(file_value["is_cut"], true, "{file}");
        assert!(file_value["notes"].to_string().contains("ends at byte"), "{file_value:#}");
        let delivered = file_value["connections"][0]["directions"][0]["delivered_bytes"].as_u64().unwrap();
        assert!(delivered > 5_000_000, "{file}: {delivered}");
        assert!(prints(&place, &["view", "cut"]).contains("Note: The file ends at byte"));
    }
}

/// Captures of this project's own protocols have the simulation's figures.
#[test]
fn protocols_of_this_project_are_read_from_captures() {
    let place = temporary_path("view-pdus");
    for (scheme, protocol) in [("sscop", "SSCOP"), ("sstp", "SSTP"), ("adaptive-ack", "adaptive ack")] {
        let text = format!(
            "duration = \"10 s\"\nwarmup = \"0 s\"\n[[link]]\nname = \"line\"\nbetween = [\"client\", \"server\"]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"200 kB\"\nloss = 0.01\n\
             [[flow]]\nname = \"transfer\"\nfrom = \"client\"\nto = \"server\"\nscheme = \"{scheme}\"\nworkload = \"bulk\"\n"
        );
        fs::write(place.join("path.toml"), text).unwrap();
        let results = document(&place, &["run", "path.toml", "--json", "--quiet", "--pcap=run.pcap"]);
        let flow = &results["runs"][0]["flows"][0];
        let view = document(&place, &["view", "run.pcap", "--json"]);
        let connection = &view["files"][0]["connections"][0];
        assert_eq!(connection["protocol"], protocol, "{connection:#}");
        assert_eq!(connection["notes"].as_array().unwrap().len(), 0, "{connection:#}");
        let direction = &connection["directions"][0];
        // What is on its way to the sender at the end is not acknowledged in the capture.
        let [found, truth] =
            [&direction["delivered_bytes"], &flow["delivered_bytes"]].map(|of| of.as_f64().unwrap());
        assert!((found / truth - 1.0).abs() < 0.01, "{scheme}: {direction:#} {flow:#}");
        let again = direction["retransmitted_packets"].as_f64().unwrap();
        let truth = flow["retransmissions"].as_f64().unwrap();
        assert!((again - truth).abs() <= 0.02 * truth + 2.0, "{scheme}: {direction:#} {flow:#}");
        // Twice the delay, and the transmission time of a packet.
        let trip = direction["rtt"]["min_s"].as_f64().unwrap();
        assert!((0.04..0.06).contains(&trip), "{scheme}: {direction:#}");
        assert!(direction["lost_packets"].as_u64().unwrap() > 0, "{scheme}: {direction:#}");
    }
}
