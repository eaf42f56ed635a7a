//! Integration tests of `thalweg` that need real time, in one program.

mod bench;
#[path = "../it/children/mod.rs"]
mod children;
mod infer;
