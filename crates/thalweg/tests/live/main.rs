//! Integration tests of `thalweg` that need real time, in one program.

mod bench;
#[path = "../it/child_processes/mod.rs"]
mod child_processes;
mod infer;
