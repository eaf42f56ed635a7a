//! Fuzz target: the input is a PDU of adaptive acknowledgement.

#![no_main]

#[path = "../../crates/thalweg-proto/tests/it/codec_octets/mod.rs"]
mod codec_octets;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| codec_octets::adaptive_ack(octets));
