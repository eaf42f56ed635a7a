//! Fuzz targets run on the stored corpus and on mutations of it: the same inputs every time. `fuzz/corpus` has a folder
//! per target, which `scripts/fuzz` minimises. The test of the same name in `thalweg` runs the targets of the other
//! parsers.

#[path = "../../../thalweg-proto/tests/it/codec_octets/mod.rs"]
mod codec_octets;
#[path = "../it/fuzz_targets/mod.rs"]
mod fuzz_targets;
mod mutate;
#[path = "../../../thalweg-proto/tests/it/sscop_octets/mod.rs"]
mod sscop_octets;
mod stored_inputs;

use stored_inputs::{Target, run_target};

const TARGETS: [Target; 10] = [
    ("adaptive_ack", codec_octets::adaptive_ack, 20_000_000),
    ("datagrams", fuzz_targets::datagrams::run, 6000),
    ("file_transfer_peer", fuzz_targets::file_transfer_peer::run, 40_000),
    ("media", codec_octets::media, 20_000_000),
    ("pairing", fuzz_targets::pairing::run, 40_000),
    ("scheme_negotiation", fuzz_targets::scheme_negotiation::run, 80_000),
    ("session", fuzz_targets::session::run, 80_000),
    ("sscop", sscop_octets::run, 600_000),
    ("sstp", codec_octets::sstp, 3_000_000),
    ("window", codec_octets::window, 20_000_000),
];

/// Runs a fraction of a minute, as one of all tests.
#[test]
fn kept_inputs_and_some_changes_of_them_do_no_harm() {
    for target in TARGETS {
        run_target(target, target.2 / 400);
    }
}

/// One minute of all targets on two cores, run by `scripts/test`. Counts are executions, so results are the same
/// everywhere.
#[test]
#[ignore = "takes a minute; scripts/test runs it"]
fn a_minute() {
    let (slow, fast): (Vec<_>, Vec<_>) = TARGETS.into_iter().partition(|target| target.2 < 50_000);
    std::thread::scope(|scope| {
        for targets in [slow, fast] {
            scope.spawn(move || targets.into_iter().for_each(|target| run_target(target, target.2)));
        }
    });
}
