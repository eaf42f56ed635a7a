//! Fuzz target: the input is the request of a `bench` client, or the results of a `bench` server.

#![no_main]

#[path = "../../crates/thalweg/tests/parser_fuzz_targets/mod.rs"]
mod parser_fuzz_targets;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| parser_fuzz_targets::fuzz_bench_messages(octets));
