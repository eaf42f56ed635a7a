//! End-to-end tests of reports: destinations, contents, and self-containment.

use crate::command_runs::{self, prints, temporary_path};
use std::fs;
use std::path::Path;
use std::process::Output;

fn quietly<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--quiet"]].concat()
}

fn thalweg(folder: &Path, arguments: &[&str]) -> Output {
    command_runs::thalweg(folder, &quietly(arguments))
}

#[track_caller]
fn succeeds(folder: &Path, arguments: &[&str]) {
    prints(folder, &quietly(arguments));
}

#[track_caller]
fn fails(folder: &Path, arguments: &[&str]) -> String {
    command_runs::fails(folder, &quietly(arguments), 2)
}

/// Checks that the page is complete, of moderate size, and loads no resources; returns it.
#[track_caller]
fn page(path: &Path) -> String {
    let page = fs::read_to_string(path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    // References within the page load nothing.
    let without_references = page.replace("url(#", "");
    for loads in ["src=", "<link", "url(", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!without_references.contains(loads), "the page holds `{loads}`");
    }
    page
}

#[test]
fn a_folder_gives_the_same_report_afterwards() {
    let place = temporary_path("report-afterwards");
    let call = ["compare", "dumbbell", "--schemes", "newreno,vegas", "--reps", "2", "--set", "duration=2 s"];
    succeeds(&place, &[&call[..], &["--out", "results", "--report", "--svg"]].concat());
    let at_once = page(&place.join("results/report.html"));
    assert!(at_once.contains("vegas") && at_once.contains("interval"));
    succeeds(&place, &["report", "results", "again.html"]);
    assert_eq!(page(&place.join("again.html")), at_once);
    succeeds(&place, &["report", "results", "again.svg"]);
    let figure = fs::read_to_string(place.join("results/figure.svg")).unwrap();
    assert_eq!(fs::read_to_string(place.join("again.svg")).unwrap(), figure);
    assert!(figure.starts_with("<svg ") && figure.contains(">newreno</text>"));
    assert!(fs::read_to_string(place.join("results/README.txt")).unwrap().contains("report.html"));
    // A folder with a report can be replaced, and missing files are tolerated.
    succeeds(&place, &["run", "dumbbell", "--set", "duration=1 s", "--out", "results"]);
    fs::remove_file(place.join("results/series.csv")).unwrap();
    fs::write(place.join("results/scenario.toml"), "no scenario").unwrap();
    succeeds(&place, &["report", "results"]);
    assert!(page(&place.join("results/report.html")).contains("Dumbbell"));
}

/// Returns the width and height of a PNG file.
#[track_caller]
fn png_size(path: &Path) -> (u32, u32) {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", path.display());
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (word(16), word(20))
}

#[test]
fn a_picture_in_pixels_is_that_in_svg_twice_as_large() {
    let place = temporary_path("report-png");
    let call = ["compare", "dumbbell", "--schemes", "newreno,vegas", "--reps", "2", "--set", "duration=1 s"];
    succeeds(&place, &[&call[..], &["--out", "results", "--svg", "--png"]].concat());
    let svg = fs::read_to_string(place.join("results/figure.svg")).unwrap();
    let (width, height) = png_size(&place.join("results/figure.png"));
    let head = format!("width=\"{}\" height=\"{}\"", width / 2, height / 2);
    assert!(svg.lines().next().unwrap().contains(&head), "{head}");
    assert!(fs::read_to_string(place.join("results/README.txt")).unwrap().contains("figure.png"));
    // A later call writes the same bytes.
    succeeds(&place, &["report", "results", "again.PNG"]);
    let image = fs::read(place.join("results/figure.png")).unwrap();
    assert!(fs::read(place.join("again.PNG")).unwrap() == image);
    succeeds(&place, &[&call[..], &["--png=alone.png"]].concat());
    assert!(fs::read(place.join("alone.png")).unwrap() == image);
    assert!(!place.join("alone.svg").exists());
    let paper = ["paper", "liang91", "--quick", "--experiment", "table-5.7/exp-1", "--out", "paper"];
    succeeds(&place, &paper);
    assert!(fails(&place, &["report", "paper", "again.png"]).contains("no picture"));
}

#[test]
fn a_picture_shows_the_requested_plots_and_time() {
    let place = temporary_path("report-plots");
    let call =
        ["compare", "dumbbell", "--schemes", "newreno,vegas", "--set", "duration=2 s", "--out", "results"];
    succeeds(&place, &call);
    let view = ["--plots", "window,queue", "--time", "1 s..2 s"];
    succeeds(&place, &[&["report", "results", "view.svg"][..], &view].concat());
    let svg = fs::read_to_string(place.join("view.svg")).unwrap();
    let at = |words: &str| svg.find(words).unwrap_or_else(|| panic!("no `{words}`"));
    assert!(
        at("newreno: Window of 8 of 10 flows, segments") < at("vegas: Window of 8 of 10 flows, segments")
    );
    assert!(at("vegas: Window of 8 of 10 flows, segments") < at("Queue of bottleneck"));
    assert!(!svg.contains("Goodput") && svg.contains(">1 s</text>") && !svg.contains(">0.5 s</text>"));
    assert!(fails(&place, &["report", "results", "view.html", "--plots", "queue"]).contains(".svg or .png"));
    assert!(fails(&place, &["report", "view.svg"]).contains("`thalweg view view.svg` opens captures"));
    assert!(
        fails(&place, &["report", "results", "view.svg", "--plots", "windo"])
            .contains("did you mean `window`?")
    );
    assert!(
        fails(&place, &["report", "results", "view.pdf"]).contains("does not end in .html, .svg or .png")
    );
    // The error is reported before the run.
    let output = thalweg(&place, &["run", "dumbbell", "--report=view.png"]);
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        messages.contains("`view.png` does not end in .html") && !messages.contains("Simulated"),
        "{messages}"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn sequence_diagrams_are_drawn_in_pixels_too() {
    let place = temporary_path("report-png-sequence");
    let run = ["run", "recovery", "--trace", "sequence"];
    succeeds(&place, &[&run[..], &["--png"]].concat());
    assert_eq!(png_size(&place.join("recovery.png")).0, 2 * 860);
    assert_eq!(png_size(&place.join("recovery-sequence.png")).0, 2 * 760);
    let error = fails(&place, &[&run[..], &["--png", "--trace-packets", "501"]].concat());
    assert!(error.contains("500 packets") && error.contains("not the 501"), "{error}");
    succeeds(&place, &[&run[..], &["--svg=picture.svg", "--trace-packets", "501"]].concat());
    let output = thalweg(&place, &["run", "recovery", "--png=nowhere/picture.png"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write `nowhere/picture.png`"));
}

#[test]
fn a_report_without_a_folder_is_named_like_the_scenario() {
    let place = temporary_path("report-named");
    succeeds(&place, &["run", "web", "--set", "duration=6 s", "--report", "--svg=picture.svg"]);
    assert!(page(&place.join("web.html")).contains("<h1>"));
    assert!(fs::read_to_string(place.join("picture.svg")).unwrap().contains("Goodput"));
}

#[test]
fn a_paper_has_its_values_beside_the_published_ones() {
    let place = temporary_path("report-paper");
    let call = ["paper", "liang91", "--quick", "--experiment", "table-5.7/exp-1"];
    succeeds(&place, &[&call[..], &["--out", "paper", "--report"]].concat());
    let at_once = page(&place.join("paper/report.html"));
    assert!(at_once.contains("Liang 1991") && at_once.contains("<th class=\"number\">Published</th>"));
    succeeds(&place, &["report", "paper", "again.html"]);
    assert_eq!(page(&place.join("again.html")), at_once);
    assert!(fails(&place, &["report", "paper", "again.svg"]).contains("no picture"));
}

#[test]
fn many_flows_stay_small() {
    let place = temporary_path("report-many");
    succeeds(&place, &["run", "ten-thousand-flows", "--set", "duration=50 ms", "--report=many.html"]);
    assert!(page(&place.join("many.html")).contains("\"flow_count\":10000"));
}

#[test]
fn a_path_that_is_no_folder_is_rejected() {
    let place = temporary_path("report-refused");
    assert!(fails(&place, &["report", "nowhere"]).contains("not a results folder"));
    succeeds(&place, &["run", "web", "--set", "duration=6 s", "--out", "results"]);
    // A folder that was interrupted early contains no runs: its page is still written.
    let json = fs::read_to_string(place.join("results/results.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&json).unwrap();
    document["runs"] = serde_json::json!([]);
    fs::write(place.join("results/results.json"), document.to_string()).unwrap();
    succeeds(&place, &["report", "results", "none.html"]);
    fs::write(place.join("results/results.json"), json).unwrap();
    fs::write(place.join("results/series.csv"), "a,b\n").unwrap();
    assert!(fails(&place, &["report", "results"]).contains("line 1"));
    fs::write(place.join("results/results.json"), "{}").unwrap();
    assert!(fails(&place, &["report", "results"]).contains("results.json"));
}

#[test]
fn qlog_has_a_trace_for_each_sender() {
    let place = temporary_path("report-qlog");
    succeeds(&place, &["run", "dumbbell", "--set", "duration=2 s", "--qlog"]);
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(place.join(name)).unwrap()).unwrap()
    };
    let traces = read("dumbbell.qlog")["traces"].as_array().unwrap().clone();
    assert_eq!(traces.len(), 10);
    for trace in traces {
        let events = trace["events"].as_array().unwrap();
        let count = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        let (sent, received) = (count("transport:packet_sent"), count("transport:packet_received"));
        assert!(count("recovery:metrics_updated") > 5 && sent > received && received > sent / 2);
        assert!(count("recovery:packet_lost") > 0, "every flow of this run loses something");
        let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times.last().is_some_and(|last| *last <= 2000.0));
        let rtt = events.iter().filter_map(|event| event["data"]["smoothed_rtt"].as_f64());
        assert!(rtt.fold(0.0, f64::max) > 24.0, "two ways through the network take 24 ms");
    }
    let call =
        ["compare", "dumbbell", "--schemes", "newreno,vegas", "--set", "duration=1 s", "--out", "results"];
    succeeds(&place, &[&call[..], &["--qlog"]].concat());
    assert_eq!(read("results/trace-vegas-1.qlog")["traces"][0]["description"], "vegas");
    assert!(fs::read_to_string(place.join("results/README.txt")).unwrap().contains("qlog"));
    succeeds(&place, &call);
    assert!(!place.join("results/trace-vegas-1.qlog").exists());
}

#[test]
fn a_page_has_the_packets_of_small_runs_and_requested_times() {
    let place = temporary_path("report-replay");
    let replays = |name: &str| {
        let page = page(&place.join(name));
        let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        serde_json::from_str::<serde_json::Value>(data).unwrap()["replays"].clone()
    };
    succeeds(&place, &["run", "slow-chain", "--report=small.html"]);
    let small = &replays("small.html")[0];
    assert_eq!(
        (&small["from_s"], &small["until_s"], &small["cut"]),
        (&0.0.into(), &80.0.into(), &false.into())
    );
    assert!(small["link"]["count"].as_u64().unwrap() > 2000, "{small}");
    let dumbbell = ["run", "dumbbell", "--set", "duration=5 s"];
    succeeds(&place, &[&dumbbell[..], &["--report=none.html"]].concat());
    assert_eq!(replays("none.html"), serde_json::json!([]));
    succeeds(&place, &[&dumbbell[..], &["--replay", "2 s..2.1 s", "--report=some.html"]].concat());
    let some = &replays("some.html")[0];
    assert_eq!((&some["from_s"], &some["until_s"]), (&2.0.into(), &2.1.into()));
    // 100 Mbit/s for 0.1 s, in packets of 1040 bytes, and acknowledgements.
    assert!((1200..4000).contains(&some["link"]["count"].as_u64().unwrap()), "{}", some["link"]["count"]);
    assert!(fails(&place, &["run", "web", "--replay", "1 s"]).contains("--report"));
}

#[test]
fn several_folders_are_shown_side_by_side() {
    let place = temporary_path("report-beside");
    for (folder, rate) in [("narrow", "8 Mbit/s"), ("wide", "10 Mbit/s")] {
        let set = format!("link.1.rate={rate}");
        let sets = ["--set", "duration=3 s", "--set", "warmup=1 s", "--set", &set];
        succeeds(&place, &[&["run", "two-flows", "--out", folder][..], &sets].concat());
    }
    // A live run adds its flows and its fidelity record.
    fs::write(place.join("wide/fidelity.json"), r#"{"valid": false, "why_not": ["late by 7 ms"]}"#).unwrap();
    succeeds(&place, &["report", "narrow", "--beside", "wide"]);
    let both = page(&place.join("beside.html"));
    for words in
        ["Difference from narrow", "wide is NOT VALID: late by 7 ms.", "\"schemes\":[\"narrow\",\"wide\"]"]
    {
        assert!(both.contains(words), "no `{words}`");
    }
    assert!(!place.join("narrow/report.html").exists());
    succeeds(&place, &["report", "narrow", "both.svg", "--beside", "wide", "--plots", "queue,window"]);
    let svg = fs::read_to_string(place.join("both.svg")).unwrap();
    assert!(svg.contains("narrow: Window") && svg.contains("wide: Window"));
    assert!(fails(&place, &["report", "narrow", "--beside", "narrow"]).contains("is given twice"));
    assert!(fails(&place, &["report", "narrow", "--beside", "nowhere"]).contains("not a results folder"));
    fs::write(place.join("wide/traffic.json"), "[]").unwrap();
    assert!(fails(&place, &["report", "narrow", "--beside", "wide"]).contains("traffic.json"));
}
