//! The bodies of the fuzz targets on the inputs that fuzzing has found worth keeping, and on changes of them: the same inputs
//! every time. `fuzz/corpus` has a folder for each target, which `scripts/fuzz` keeps small.

#[path = "../../../thalweg-proto/tests/codec_octets/mod.rs"]
mod codec_octets;
mod mutate;
#[path = "../octets/mod.rs"]
mod octets;
#[path = "../../../thalweg-proto/tests/sscop_octets/mod.rs"]
mod sscop_octets;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use thalweg_proto::random::Stream;

/// A target: its name, its body, and the executions of a minute of it and its kin on two cores.
type Target = (&'static str, fn(&[u8]), u64);

const TARGETS: [Target; 10] = [
    ("aack", codec_octets::aack, 20_000_000),
    ("datagrams", octets::datagrams::run, 6000),
    ("media", codec_octets::media, 20_000_000),
    ("options", octets::options::run, 80_000),
    ("pairing", octets::pairing::run, 40_000),
    ("session", octets::session::run, 80_000),
    ("sscop", sscop_octets::run, 600_000),
    ("sstp", codec_octets::sstp, 3_000_000),
    ("transfer", octets::transfer::run, 40_000),
    ("window", codec_octets::window, 20_000_000),
];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The inputs of a target that are kept, in the order of their names, which are hashes.
fn kept(name: &str) -> Vec<Vec<u8>> {
    let folder = repository().join("fuzz/corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: BTreeSet<_> = files.map(|file| file.unwrap().path()).collect();
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs the body on all inputs, and on so many changes of them.
fn play((name, body, _): Target, changes: u64) {
    let corpus = kept(name);
    assert!(!corpus.is_empty(), "{name}");
    corpus.iter().for_each(|input| body(input));
    let mut draw = Stream::new(7, name, 0);
    for _ in 0..changes {
        body(&mutate::changed(&mut draw, &corpus));
    }
    println!("{name}: {} inputs, {} executions", corpus.len(), corpus.len() as u64 + changes);
}

/// A part of a minute, as it is among all tests.
#[test]
fn kept_inputs_and_some_changes_of_them_do_no_harm() {
    for target in TARGETS {
        play(target, target.2 / 400);
    }
}

/// A minute of all targets on two cores. `scripts/test` runs it, and the numbers are those of executions, so that it is the same
/// everywhere.
#[test]
#[ignore = "takes a minute; scripts/test runs it"]
fn a_minute() {
    let (slow, fast): (Vec<_>, Vec<_>) = TARGETS.into_iter().partition(|target| target.2 < 50_000);
    std::thread::scope(|scope| {
        for targets in [slow, fast] {
            scope.spawn(move || targets.into_iter().for_each(|target| play(target, target.2)));
        }
    });
}

/// Each fuzz target has inputs here, and each folder of inputs a target.
#[test]
fn every_target_is_played() {
    let names = |folder: &str| -> BTreeSet<String> {
        let files = fs::read_dir(repository().join("fuzz").join(folder)).unwrap();
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        files.map(|file| stem(file.unwrap().path())).collect()
    };
    let ours: BTreeSet<_> = TARGETS.iter().map(|target| target.0.to_owned()).collect();
    assert_eq!(names("fuzz_targets"), ours);
    assert_eq!(names("corpus"), ours);
}
