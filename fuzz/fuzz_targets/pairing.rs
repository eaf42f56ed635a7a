//! Fuzz target: the input scripts the peer of a pairing.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/fuzz_targets/mod.rs"]
mod fuzz_targets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| fuzz_targets::pairing::run(script));
