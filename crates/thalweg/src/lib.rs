//! The command `thalweg`: runs scenarios, compares schemes, and stores and checks results.
//!
//! Programs can extend the command: [`run_with`] takes a [`Registry`] with schemes and disciplines of other crates. See
//! `examples` in the repository.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use thalweg::Registry;
//!
//! fn main() -> ExitCode {
//!     let registry = Registry::default();
//!     // registry.add_scheme(&MINE);
//!     thalweg::run_with(registry)
//! }
//! ```

mod analytical_models;
mod animated_packet_selection;
mod assess;
mod assess_live;
mod batch_execution;
mod batch_progress;
mod bench;
mod closed_formulas;
mod cluster_workers;
mod commands;
mod commands_as_library;
mod compatibility_hints;
mod completions_and_man_pages;
mod console_output;
mod doctor;
mod explore;
mod explore_adversary;
#[doc(hidden)]
pub mod fuzz_entry_points;
mod help_groups;
mod hunt;
mod impair;
mod import;
mod infer;
mod json_lines;
mod kernel_schemes;
mod laboratory_page;
mod list_and_schema;
mod mahimahi;
mod message_records;
mod output_file_names;
mod packet_captures;
mod paper;
mod parser_error;
mod parser_error_texts;
mod performance_advice_text;
mod report;
mod rerun;
mod run_and_compare;
mod scenario_sources;
mod search_progress_and_outcome;
mod sender_qlogs;
mod sequence_diagrams;
mod shell;
mod signal_flags;
mod simulation_arguments;
mod sweep;
mod transfer;
mod transfer_recording;
mod value_parsers;
mod version;
mod view;
mod wall_clock;

use commands::Arguments;
use console_output::Console;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub use cluster_workers::{required_build, run_worker_batch};
pub use commands_as_library::{
    CommandOutcome, PreparedRun, Request, SimulatedRun, call, explain, list_names, option_needs_value,
    option_unit, prepare, simulate,
};
pub use console_output::{Caller, CommandProgress};
pub use message_records::{Message, MessageKind, Part};
pub use run_and_compare::agent_groups;
pub use thalweg_catalog::Registry;
pub use thalweg_scenario::MAX_REPS;

/// Runs the command `thalweg` with the arguments of this process and returns its exit code. The schemes and disciplines
/// of `registry` are available in scenarios, on the command line and to peers.
pub fn run_with(registry: Registry) -> ExitCode {
    ExitCode::from(run_arguments(registry, std::env::args_os()))
}

/// Runs the command with other arguments, including the program's name, and returns the exit code as a number.
pub fn run_arguments(registry: Registry, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = program_name(arguments.first());
    let arguments = match Arguments::read(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // There is no other channel to report a failed print on.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let console = Console::new(&program, arguments.quiet(), Arc::new(registry));
    let done = arguments.command.execute(&console);
    done.map_or_else(|error| console.report(&error), |()| 0)
}

/// Returns the name by which the program was called, without its folder, as usage messages have it.
fn program_name(first: Option<&OsString>) -> Arc<str> {
    let name = first.and_then(|path| Path::new(path).file_name()).map(|name| name.to_string_lossy());
    name.as_deref().unwrap_or("thalweg").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_as_it_was_called() {
        assert_eq!(&*program_name(Some(&OsString::from("/usr/bin/writer"))), "writer");
        assert_eq!(&*program_name(Some(&OsString::from("thalweg"))), "thalweg");
        assert_eq!(&*program_name(None), "thalweg");
    }
}
