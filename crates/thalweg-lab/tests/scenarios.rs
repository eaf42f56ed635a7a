//! The scenario files of the repository are read as they say.

use std::path::{Path, PathBuf};
use thalweg_lab::scenario::{Loaded, load};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

#[track_caller]
fn read(name: &str, sets: &[&str]) -> Loaded {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(&file(name), &sets).unwrap_or_else(|found| {
        panic!("{}", found.iter().map(thalweg_lab::scenario::Diagnostic::render).collect::<String>())
    })
}

#[test]
fn the_dumbbell() {
    let spec = read("dumbbell.toml", &["flow.*.scheme=vegas", "link.bottleneck.delay=20 ms"]).scenario.spec;
    println!("{spec:#?}");
    assert_eq!(spec.groups[0].count, 10);
}
