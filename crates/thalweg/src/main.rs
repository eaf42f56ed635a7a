//! The command `thalweg` with the schemes and disciplines of this project.

use std::process::ExitCode;
use thalweg::Registry;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    thalweg::run_with(Registry::default())
}
