//! Fuzz target: the input scripts a peer's scheme with options, and frames for it.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::options::run(script));
