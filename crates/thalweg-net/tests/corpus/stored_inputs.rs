//! Fuzz inputs kept in the repository, replayed with mutations.

use super::mutate;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use thalweg_proto::random::RandomStream;

/// Target: name, body, and number of executions in a minute of all targets on two cores.
pub type Target = (&'static str, fn(&[u8]), u64);

/// Returns the inputs of a target's corpus, sorted by name (a hash).
fn corpus_inputs(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: BTreeSet<_> = files.map(|file| file.unwrap().path()).collect();
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs the body on all inputs, and on mutations of them.
pub fn run_target((name, body, _): Target, changes: u64) {
    let corpus = corpus_inputs(name);
    assert!(!corpus.is_empty(), "{name}");
    corpus.iter().for_each(|input| body(input));
    let mut rng = RandomStream::new(7, name, 0);
    for _ in 0..changes {
        body(&mutate::mutate_input(&mut rng, &corpus));
    }
    println!("{name}: {} inputs, {} executions", corpus.len(), corpus.len() as u64 + changes);
}
