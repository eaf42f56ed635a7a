//! Fuzz target: the input is a request to `--metrics` or to a bench.

#![no_main]

#[path = "../../crates/thalweg/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| readers::metrics_http(octets));
