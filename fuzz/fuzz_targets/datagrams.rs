//! Fuzz target: the input scripts datagrams to endpoints with live connections.

#![no_main]

#[path = "../../crates/thalweg-net/tests/it/octets/mod.rs"]
mod octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| octets::datagrams::run(script));
