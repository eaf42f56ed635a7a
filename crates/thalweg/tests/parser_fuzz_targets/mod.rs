//! Fuzz targets for parsers of external files and texts. The first byte of an input selects the parser.

mod host_files_and_kernel_replies;
mod live_network_packets;

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use thalweg::Registry;
use thalweg_net::identity::{Identity, PublicKey};
use thalweg_net::pairing::Code;
use thalweg_queue::CapacityTrace;
use thalweg_report::infer;
use thalweg_report::output::{Style, format_summary};
use thalweg_report::report::{AllSeries, Fidelity, NamedTrace, View, draw_figure, report, trace_page};
use thalweg_report::results::Document;
use thalweg_scenario::import::c4;
use thalweg_scenario::{Diagnostic, LoadedScenario, load, load_text, read_sweep_text};
use thalweg_sweep::{Engine, Plan, Program, Purpose, Store};
use thalweg_trace::{KeyLog, Limits};

pub use host_files_and_kernel_replies::fuzz_host_files_and_kernel_replies;
pub use live_network_packets::fuzz_live_network_packets;

/// Memory limit in bytes, above which a scenario is parsed but not built.
const MAX_MEMORY_BYTES: u64 = 64 << 20;
/// Maximum number of points of a sweep that is expanded.
const MAX_SWEEP_POINTS: usize = 1000;

/// A folder of files, removed on drop.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Self {
        static NEXT_FOLDER_NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NEXT_FOLDER_NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("thalweg-readers-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn with_file(self, name: &str, content: &[u8]) -> Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Returns the parser selected by the first byte among `parser_count`, and its input.
fn select_parser(octets: &[u8], parser_count: u8) -> Option<(u8, &[u8])> {
    octets.split_first().map(|(first, rest)| (first % parser_count, rest))
}

fn octets_as_text(octets: &[u8]) -> Option<&str> {
    std::str::from_utf8(octets).ok()
}

/// Checks diagnostics: each has a position within its source, and can be rendered.
fn check_diagnostics(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        assert!(
            diagnostic.span.start <= diagnostic.span.end
                && diagnostic.span.end <= diagnostic.source.text().len(),
            "{diagnostic:?}"
        );
        let rendered = diagnostic.render();
        assert!(rendered.starts_with(diagnostic.severity.name()), "{rendered}");
    }
}

/// Checks a scenario: it can be explained, and its expanded form parses to the same scenario.
fn check_loaded(loaded: Result<LoadedScenario, Vec<Diagnostic>>) {
    match loaded {
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty());
            check_diagnostics(&diagnostics);
        }
        Ok(loaded) => {
            check_diagnostics(&loaded.warnings);
            if loaded.check_memory(MAX_MEMORY_BYTES).is_some() {
                return;
            }
            assert!(!loaded.explain().is_empty());
            let expanded = loaded.expanded();
            if let Err(diagnostics) = load_text("expanded.toml", &expanded, Path::new("/nowhere"), &[]) {
                panic!("{}\n{expanded}", diagnostics.iter().map(Diagnostic::render).collect::<String>());
            }
        }
    }
}

/// Fuzzes traces of any program (qlog, captures, `ss`, `tcp_probe`): summaries, findings and the page. The secrets of QUIC are those of
/// the stored capture that has some.
pub fn fuzz_traces(mut octets: &[u8]) {
    let limits = Limits { packets: 20_000, connections: 100, bytes: 1 << 20 };
    let mut key_log = KeyLog::default();
    key_log.add(include_str!("../../../thalweg-trace/tests/data/aioquic-keys.log"));
    key_log.add(&String::from_utf8_lossy(octets));
    let Ok(packet_trace) = thalweg_trace::read_with_keys(&mut octets, &limits, &key_log) else { return };
    assert!(!packet_trace.connections.is_empty() && packet_trace.connections.len() <= limits.connections);
    for connection in &packet_trace.connections {
        assert!(connection.start <= connection.end, "{connection:?}");
        for direction in 0..2 {
            let summary = thalweg_trace::Summary::from_connection(connection, direction);
            assert!(summary.retransmitted_share.is_none_or(f64::is_finite));
            thalweg_trace::find_all(connection, direction);
            let direction_data = &connection.directions[direction];
            assert!(direction_data.packets.is_sorted_by_key(|packet| packet.time));
            assert!(direction_data.packets.iter().all(|packet| packet.acked_at >= packet.time));
        }
    }
    let page = trace_page(&[NamedTrace { name: "file", trace: &packet_trace }], "1");
    assert!(page.ends_with("</html>\n"));
}

/// Fuzzes recordings for `infer`, and the scenarios inferred from them.
pub fn fuzz_recordings(octets: &[u8]) {
    let Ok(recording) = infer::Recording::read(octets) else { return };
    let retransmitted_fraction = recording.retransmitted();
    assert!(
        (0.0..=1.0).contains(&retransmitted_fraction)
            && recording.round_trips().len() <= recording.packets.len()
    );
    let Ok(path) = infer::Path::infer(&recording) else { return };
    let Ok(scenario) = infer::inferred_scenario::write_inferred_scenario(
        &recording,
        &path,
        "trace",
        None,
        &Registry::default(),
    ) else {
        return;
    };
    let mut trace_file = Vec::new();
    if let Some(capacity_trace) = &path.trace {
        capacity_trace.write(&mut trace_file).unwrap();
    }
    let folder = TempFolder::new().with_file("trace", &trace_file);
    check_loaded(load_text("scenario.toml", &scenario.text, &folder.0, &[]));
}

/// Fuzzes result files: documents, tables of series, stored runs of a sweep, results of papers, stored scores of a hunt, and the
/// flows and fidelity record of a live run.
pub fn fuzz_results(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 6) else { return };
    let Some(text) = octets_as_text(octets) else { return };
    match parser_index {
        // The table of series follows the document.
        0 => {
            let (document, series) = text.split_once('\0').unwrap_or((text, ""));
            let Ok(document) = Document::from_json(document) else { return };
            let series = AllSeries::from_csv(series).unwrap_or_default();
            format_summary(&document, Style::PLAIN);
            draw_figure(&document, &series, &View::default());
            report(&document, &series, None, &[]);
        }
        1 => {
            if let Ok(series) = AllSeries::from_csv(text) {
                assert!(series.points() <= text.len());
            }
        }
        2 => {
            let run_key = Store::name("build", "scenario", 1);
            let (start, end) = run_key.split_at(2);
            let folder = TempFolder::new()
                .with_file("README.txt", Purpose::SWEEP.mark.as_bytes())
                .with_file(&format!("points/{start}/{end}.json"), octets);
            let store = Store::open(&folder.0, Purpose::SWEEP).unwrap();
            if store.get(&run_key).is_some_and(|run| run.complete && run.seed == 1) {
                assert!(store.is_complete_run(&run_key, 1));
            }
        }
        3 => {
            let _ = thalweg_studies::paper::paper_report("title", "1", text);
        }
        4 => {
            thalweg_hunt::parse_saved_scores(octets, 2);
        }
        _ => {
            let mut series = AllSeries::default();
            if series.add_traffic(1, text).is_ok() {
                assert!(series.points() <= text.len());
            }
            let _ = Fidelity::from_json(text);
        }
    }
}

/// Fuzzes networks of a scenario: a topology file in GraphML or SNDlib's XML, with and without link delays; a Mahimahi
/// trace.
pub fn fuzz_networks(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 3) else { return };
    let folder = TempFolder::new().with_file("file", octets);
    let scenario = match parser_index {
        0 => "duration = \"1 s\"\nnetwork = { kind = \"file\", file = \"file\" }\n",
        1 => {
            "duration = \"1 s\"\nnetwork = { kind = \"file\", file = \"file\", rate = \"10 Mbit/s\", delay = \"1 ms\", queue = \"10 pkt\" }\n\
             [[flow]]\nfrom = \"*\"\nto = \"*\"\nscheme = \"cubic\"\n"
        }
        _ => {
            if let Some(text) = octets_as_text(octets) {
                let parsed_trace = CapacityTrace::parse(text);
                assert!(
                    parsed_trace.is_err()
                        || parsed_trace
                            .is_ok_and(|capacity_trace| capacity_trace.opportunities.len() <= octets.len())
                );
            }
            "duration = \"1 s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\ndelay = \"1 ms\"\nqueue = \"10 pkt\"\ntrace = \"file\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\n"
        }
    };
    check_loaded(load_text("network.toml", scenario, &folder.0, &[]));
}

/// Fuzzes traffic files of a scenario: lists of transfers (CSV, Parquet, htsim, ns-3), sizes, writes, losses, delays and traffic
/// matrices.
pub fn fuzz_traffic_files(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 6) else { return };
    let is_parquet = octets.starts_with(b"PAR1");
    let folder = TempFolder::new().with_file(if is_parquet { "file.parquet" } else { "file" }, octets);
    let workload_toml = match parser_index {
        0 if is_parquet => "workload = { kind = \"list\", file = \"file.parquet\" }\n",
        5 if is_parquet => "matrix = \"file.parquet\"\nworkload = { kind = \"poisson\", size = \"10 kB\" }\n",
        0 => "workload = { kind = \"list\", file = \"file\" }\n",
        1 => {
            "workload = { kind = \"poisson\", load = \"50 %\", size = { distribution = \"table\", file = \"file\" } }\n"
        }
        2 => "workload = { kind = \"trace\", file = \"file\" }\n",
        5 => {
            "matrix = \"file\"\nmatrix-unit = \"1 kbit/s\"\nworkload = { kind = \"poisson\", size = \"10 kB\" }\n"
        }
        _ => "workload = \"bulk\"\n",
    };
    let impairment_toml = match parser_index {
        3 => ", loss = { file = \"file\" }",
        4 => ", jitter = { distribution = \"measured\", file = \"file\" }",
        _ => "",
    };
    let scenario = format!(
        "duration = \"2 s\"\nwarmup = \"0 s\"\n\
         network = {{ kind = \"star\", nodes = 4, rate = \"100 Mbit/s\", delay = \"1 ms\", queue = \"100 pkt\"{impairment_toml} }}\n\
         [[flow]]\nname = \"list\"\nfrom = \"n*\"\nto = \"n*\"\nscheme = \"cubic\"\n{workload_toml}"
    );
    check_loaded(load_text("transfers.toml", &scenario, &folder.0, &[]));
}

/// Fuzzes scenarios with includes, C4's specifications, sweeps, and packs and margins of assessments.
pub fn fuzz_scenarios(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 5) else { return };
    match parser_index {
        // Included files follow the scenario.
        0 => {
            let mut folder = TempFolder::new();
            let names = ["scenario.toml", "a.toml", "b.toml"];
            for (name, part) in names.into_iter().zip(octets.splitn(3, |octet| *octet == 0)) {
                folder = folder.with_file(name, part);
            }
            check_loaded(load(&folder.0.join(names[0]), &[]));
        }
        1 => {
            let Some(text) = octets_as_text(octets) else { return };
            let choices = c4::Choices::default();
            if let Ok(imported) = c4::import_c4("case.txt", text, &choices) {
                check_loaded(load_text("case.toml", &imported.scenario, Path::new("/nowhere"), &[]));
            }
        }
        2 => {
            let Some(text) = octets_as_text(octets) else { return };
            match read_sweep_text("sweep.toml", text) {
                Err(diagnostics) => check_diagnostics(&diagnostics),
                Ok(file) => {
                    let Ok(plan) = Plan::from_file(&file) else { return };
                    for point in 0..plan.points.len().min(MAX_SWEEP_POINTS) {
                        plan.named_values(point);
                    }
                }
            }
        }
        3 => {
            let _ =
                octets_as_text(octets).map(|text| thalweg_assess::AssessmentPlan::read("pack.toml", text));
        }
        _ => {
            let _ = octets_as_text(octets).map(|text| thalweg_assess::Margins::read("margins.toml", text));
        }
    }
}

/// Fuzzes key files, files of known peers, and pairing codes.
pub fn fuzz_peer_identities(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 4) else { return };
    let text = String::from_utf8_lossy(octets);
    match parser_index {
        0 => {
            let [known_count, unnamed_count, chosen_count] = thalweg::fuzz_entry_points::known_peers(&text);
            assert!(
                known_count <= text.lines().count()
                    && unnamed_count <= known_count
                    && chosen_count <= known_count
            );
        }
        1 => {
            if let Some(identity) = Identity::from_text(&text) {
                assert_eq!(identity.to_text(), text.trim().to_ascii_lowercase());
            }
        }
        2 => {
            if let Ok(key) = text.parse::<PublicKey>() {
                assert_eq!(key.to_string().parse(), Ok(key));
            }
        }
        _ => {
            if let Ok(code) = text.parse::<Code>() {
                assert!(code.to_string().parse::<Code>().is_ok());
            }
        }
    }
}

/// Fuzzes requests to the endpoint of `--metrics`, at a loopback address and at another one.
pub fn fuzz_metrics_http(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 2) else { return };
    let response = thalweg::fuzz_entry_points::metrics_response(octets, parser_index == 1, "a 1\n");
    if let Some(response) = response {
        let response_text = String::from_utf8(response).unwrap();
        let status = response_text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap();
        assert!(["200", "404", "405", "421"].contains(&status), "{response_text}");
    }
}

/// Fuzzes the request of a `bench` client, and the results of a `bench` server.
pub fn fuzz_bench_messages(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 2) else { return };
    if parser_index == 0 {
        if let Some(request) = octets.first_chunk() {
            assert!(thalweg::fuzz_entry_points::bench_request(*request) <= Duration::from_secs(27 * 3600));
        }
    } else if let Some(text) = thalweg::fuzz_entry_points::bench_counts(octets) {
        assert!(text.len() < octets.len() + 4096, "{text}");
    }
}

/// Fuzzes batches of runs as received by workers, and the answers of engines.
pub fn fuzz_batches(octets: &[u8]) {
    let Some((parser_index, octets)) = select_parser(octets, 2) else { return };
    if parser_index == 0 {
        // Runs are built and stopped at once.
        let stop = Arc::new(AtomicBool::new(true));
        let load = |text: &str| load_text("scenario", text, Path::new("/nowhere"), &[]);
        let _ = thalweg_sweep::run_batch(octets, load, Some(MAX_MEMORY_BYTES), &stop);
        return;
    }
    let program = Program { version: "1".to_owned(), build: "2".to_owned() };
    let mut engine = Engine::new(Cursor::new(octets.to_vec()), std::io::sink(), &program, |_| ());
    let scenario: Arc<str> = "duration = \"1 s\"".into();
    for number in 0..4 {
        engine.enqueue(thalweg_sweep::Task { number, scenario: Arc::clone(&scenario), seed: number as u64 });
    }
    let mut result_count = 0;
    while let Ok(task_results) = engine.poll(0, Duration::from_secs(60)) {
        result_count += task_results.len();
    }
    assert!(result_count <= 4);
}
