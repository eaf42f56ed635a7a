//! Fuzz target: the input is a batch of runs or the results of one.

#![no_main]

#[path = "../../crates/thalweg/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| readers::batches(octets));
