//! Fuzz target: the input scripts a peer's scheme with options, and frames for it.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/fuzz_targets/mod.rs"]
mod fuzz_targets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| fuzz_targets::scheme_negotiation::run(script));
