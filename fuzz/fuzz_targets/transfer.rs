//! Any octets as a script: what the other side of a transfer says.

#![no_main]

#[path = "../../crates/thalweg-net/tests/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::transfer::run(script));
