//! Tells the crate by which sources it is built, so that runs which are kept are those of one build.

#[path = "src/sources.rs"]
mod sources;

use std::path::PathBuf;

/// The crates whose sources decide what a run is, and what is kept of it: runs, scores of hunts, and what controllers in Python see.
const CRATES: [&str; 10] = [
    "thalweg-units",
    "thalweg-proto",
    "thalweg-queue",
    "thalweg-catalog",
    "thalweg-sim",
    "thalweg-scenario",
    "thalweg-report",
    "thalweg-sweep",
    "thalweg-hunt",
    "thalweg-python",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut places: Vec<PathBuf> =
        CRATES.iter().map(|name| PathBuf::from(format!("../{name}/src"))).collect();
    // In a package of this crate alone the others are elsewhere: the program is then known by its file.
    if !places.iter().all(|place| place.is_dir()) {
        return;
    }
    let lock = PathBuf::from("../../Cargo.lock");
    if lock.exists() {
        places.push(lock);
    }
    for place in &places {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    match sources::fingerprint(&places) {
        Ok(hash) => println!("cargo::rustc-env=THALWEG_SOURCES={hash}"),
        Err(error) => println!("cargo::error=cannot read the sources: {error}"),
    }
}
