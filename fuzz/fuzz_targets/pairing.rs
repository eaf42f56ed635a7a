//! Any octets as a script: what the other end of a pairing says.

#![no_main]

#[path = "../../crates/thalweg-net/tests/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::pairing::run(script));
