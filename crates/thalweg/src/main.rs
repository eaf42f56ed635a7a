//! The command `thalweg` with the schemes and disciplines of this project.

use std::process::ExitCode;
use thalweg::Registry;

fn main() -> ExitCode {
    thalweg::run_with(Registry::default())
}
