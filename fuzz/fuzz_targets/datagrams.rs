//! Fuzz target: the input scripts datagrams to endpoints with live connections.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/fuzz_targets/mod.rs"]
mod fuzz_targets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| fuzz_targets::datagrams::run(script));
