//! Integration tests of `thalweg` that need real time, in one program.

mod bench_and_doctor;
#[path = "../it/child_processes/mod.rs"]
mod child_processes;
mod infer;
