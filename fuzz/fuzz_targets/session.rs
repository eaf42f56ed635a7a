//! Any octets as a script: frames of a peer that was let in.

#![no_main]

#[path = "../../crates/thalweg-net/tests/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::session::run(script));
