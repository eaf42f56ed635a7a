//! Fuzz target: the input scripts the peer of a pairing.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::pairing::run(script));
