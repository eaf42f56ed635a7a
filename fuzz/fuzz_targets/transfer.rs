//! Any octets as a script: what the other side of a transfer says. A transfer's threads may live a moment longer than its
//! call, which the fuzzer takes for leaks: run it with `-- -detect_leaks=0`.

#![no_main]

#[path = "../../crates/thalweg-net/tests/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::transfer::run(script));
