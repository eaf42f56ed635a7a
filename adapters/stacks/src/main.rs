//! The command `thalweg` with the transport stacks of others as schemes: `thalweg-stacks compare dumbbell --schemes
//! cubic,quinn-cubic`.

use std::process::ExitCode;
use thalweg::Registry;

fn main() -> ExitCode {
    let mut registry = Registry::default();
    thalweg_quinn::register(&mut registry);
    thalweg_smoltcp::register(&mut registry);
    thalweg::run_with(registry)
}
