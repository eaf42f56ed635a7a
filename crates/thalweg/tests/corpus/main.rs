//! Runs the fuzz targets of parsers on the stored corpus and on mutations of it, with the same inputs every time. The
//! test of the same name in `thalweg-net` covers the network protocol.

#[path = "../../../thalweg-net/tests/corpus/mutate.rs"]
mod mutate;
#[path = "../parser_fuzz_targets/mod.rs"]
mod parser_fuzz_targets;
#[path = "../../../thalweg-net/tests/corpus/stored_inputs.rs"]
mod stored_inputs;

use stored_inputs::{Target, run_target};

/// Targets, with their number of executions in a minute of all targets on two cores.
const TARGETS: [Target; 12] = [
    ("batches", parser_fuzz_targets::fuzz_batches, 20_000),
    ("bench_messages", parser_fuzz_targets::fuzz_bench_messages, 100_000),
    ("host_files_and_kernel_replies", parser_fuzz_targets::fuzz_host_files_and_kernel_replies, 200_000),
    ("keys", parser_fuzz_targets::fuzz_peer_identities, 200_000),
    ("live_network_packets", parser_fuzz_targets::fuzz_live_network_packets, 40_000),
    ("metrics_http", parser_fuzz_targets::fuzz_metrics_http, 100_000),
    ("networks", parser_fuzz_targets::fuzz_networks, 20_000),
    ("recordings", parser_fuzz_targets::fuzz_recordings, 100_000),
    ("results", parser_fuzz_targets::fuzz_results, 20_000),
    ("scenarios", parser_fuzz_targets::fuzz_scenarios, 10_000),
    ("traces", parser_fuzz_targets::fuzz_traces, 20_000),
    ("traffic_files", parser_fuzz_targets::fuzz_traffic_files, 20_000),
];

/// A fraction of a minute, as one of many tests.
#[test]
fn kept_inputs_of_readers_and_some_changes_of_them_do_no_harm() {
    for target in TARGETS {
        run_target(target, target.2 / 100);
    }
}

/// A minute of all targets on two cores; the number of executions is the same everywhere.
#[test]
#[ignore = "takes a minute; scripts/test runs it"]
fn a_minute_of_readers() {
    std::thread::scope(|scope| {
        for targets in TARGETS.chunks(TARGETS.len().div_ceil(2)) {
            scope.spawn(move || targets.iter().for_each(|target| run_target(*target, target.2)));
        }
    });
}

/// Stored scores with more rejected than generated candidates must not overflow the count.
#[test]
fn kept_scores_are_of_as_many_candidates_as_there_were() {
    let read = |text: &str| thalweg_hunt::parse_saved_scores(text.as_bytes(), 2);
    assert_eq!(read("{\"scores\":[1,2],\"refused\":2}"), Some(2));
    assert_eq!(read("{\"scores\":[1,2],\"refused\":18446744073709551615}"), None);
    assert_eq!(read("{\"scores\":[1],\"refused\":0}"), None);
}
