//! Fuzz target: the input scripts the peer of a transfer. Threads of a transfer may outlive its call for a moment,
//! which the fuzzer reports as leaks: run it with `-- -detect_leaks=0`.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::transfer::run(script));
