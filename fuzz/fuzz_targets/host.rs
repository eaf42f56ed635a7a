//! Fuzz target: the input is configuration, a table or a reply of the host, or an attribute of a file.

#![no_main]

#[path = "../../crates/thalweg/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| readers::host(octets));
