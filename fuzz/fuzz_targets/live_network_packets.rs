//! Fuzz target: the input is a packet in a live network.

#![no_main]

#[path = "../../crates/thalweg/tests/parser_fuzz_targets/mod.rs"]
mod parser_fuzz_targets;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| parser_fuzz_targets::fuzz_live_network_packets(octets));
