//! Any octets as a script: any scheme with any options from a peer, and frames for it.

#![no_main]

#[path = "../../crates/thalweg-net/tests/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::options::run(script));
