//! The command `thalweg` with the transport stacks of others as schemes: `thalweg-stacks compare dumbbell --schemes
//! cubic,quinn-cubic`.

use std::process::ExitCode;

fn main() -> ExitCode {
    thalweg::run_with(thalweg_stacks::registry())
}
