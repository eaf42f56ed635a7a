//! Fuzz target: the input scripts the frames of an authorised peer.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::session::run(script));
