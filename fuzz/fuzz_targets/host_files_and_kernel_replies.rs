//! Fuzz target: the input is configuration, a table or a reply of the host, or an attribute of a file.

#![no_main]

#[path = "../../crates/thalweg/tests/parser_fuzz_targets/mod.rs"]
mod parser_fuzz_targets;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| parser_fuzz_targets::fuzz_host_files_and_kernel_replies(octets));
