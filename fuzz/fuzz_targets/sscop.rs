//! Fuzz target: the input scripts one end of SSCOP.

#![no_main]

#[path = "../../crates/thalweg-proto/tests/it/sscop_octets/mod.rs"]
mod sscop_octets;

libfuzzer_sys::fuzz_target!(|script: &[u8]| sscop_octets::run(script));
