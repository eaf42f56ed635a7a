//! Sets the crate's build fingerprint from its sources: saved runs are reused only within one build.

#[path = "src/source_hash.rs"]
mod source_hash;

use std::path::PathBuf;

/// Crates whose sources determine saved results: runs, scores of hunts, and observations of Python controllers.
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
    // In a stand-alone package of this crate the other crates are missing: the program is then identified by its file.
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
    match source_hash::hash_sources(&places) {
        Ok(hash) => println!("cargo::rustc-env=THALWEG_SOURCES={hash}"),
        Err(error) => println!("cargo::error=cannot read the sources: {error}"),
    }
}
