//! The bodies of the fuzz targets of readers on the inputs that fuzzing has found worth keeping, and on changes of them: the same
//! inputs every time. Those of the network protocol are played by the test of the same name of `thalweg-net`.

#[path = "../../../thalweg-net/tests/corpus/kept.rs"]
mod kept;
#[path = "../../../thalweg-net/tests/corpus/mutate.rs"]
mod mutate;
#[path = "../readers/mod.rs"]
mod readers;

use kept::{Target, play};

/// Targets, with the executions of a minute of all of them on two cores.
const TARGETS: [Target; 9] = [
    ("batches", readers::batches, 20_000),
    ("keys", readers::keys, 200_000),
    ("metrics_http", readers::metrics_http, 200_000),
    ("networks", readers::networks, 20_000),
    ("packets", readers::packets, 40_000),
    ("recordings", readers::recordings, 100_000),
    ("results", readers::results, 20_000),
    ("scenarios", readers::scenarios, 10_000),
    ("transfers", readers::transfers, 20_000),
];

/// A part of a minute, as it is among all tests.
#[test]
fn kept_inputs_of_readers_and_some_changes_of_them_do_no_harm() {
    for target in TARGETS {
        play(target, target.2 / 100);
    }
}

/// A minute of all targets on two cores, as many executions everywhere.
#[test]
#[ignore = "takes a minute; scripts/test runs it"]
fn a_minute_of_readers() {
    std::thread::scope(|scope| {
        for targets in TARGETS.chunks(TARGETS.len().div_ceil(2)) {
            scope.spawn(move || targets.iter().for_each(|target| play(*target, target.2)));
        }
    });
}

/// Kept scores with more refused candidates than there were would overflow the count of a hunt.
#[test]
fn kept_scores_are_of_as_many_candidates_as_there_were() {
    let read = |text: &str| thalweg_hunt::kept_scores(text.as_bytes(), 2);
    assert_eq!(read("{\"scores\":[1,2],\"refused\":2}"), Some(2));
    assert_eq!(read("{\"scores\":[1,2],\"refused\":18446744073709551615}"), None);
    assert_eq!(read("{\"scores\":[1],\"refused\":0}"), None);
}
