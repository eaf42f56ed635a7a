//! Fuzz target: the input scripts the peer of a transfer. Threads of a transfer may outlive its call for a moment,
//! which the fuzzer reports as leaks: run it with `-- -detect_leaks=0`.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/fuzz_targets/mod.rs"]
mod fuzz_targets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| fuzz_targets::file_transfer_peer::run(script));
