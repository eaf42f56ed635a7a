//! Fuzz target: the input is a packet in a live network.

#![no_main]

#[path = "../../crates/thalweg/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| readers::packets(octets));
