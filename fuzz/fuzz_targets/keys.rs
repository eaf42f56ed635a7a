//! Fuzz target: the input is a key file or a pairing code.

#![no_main]

#[path = "../../crates/thalweg/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| readers::keys(octets));
