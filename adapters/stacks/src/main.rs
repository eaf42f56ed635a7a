//! The command `thalweg` with third-party transport stacks as schemes: `thalweg-stacks compare dumbbell --schemes
//! cubic,quinn-cubic`.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(message) = thalweg_stack_contract::stack_qlog_files::create_qlog_folder() {
        eprintln!("error: {message}");
        return ExitCode::from(2);
    }
    thalweg::run_with(thalweg_stacks::registry_with_stacks())
}
