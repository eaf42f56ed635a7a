//! Fuzz target: the input is a scenario, a specification, a sweep or an assessment.

#![no_main]

#[path = "../../crates/thalweg/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| readers::scenarios(octets));
