//! Fuzz target: the input scripts the frames of an authorised peer.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/fuzz_targets/mod.rs"]
mod fuzz_targets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| fuzz_targets::session::run(script));
