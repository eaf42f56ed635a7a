//! Completions for shells and man pages, made from the definition of the command line.

use crate::console_output::{CommandResult, Console, Error};
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

/// Implements `thalweg completions`.
pub fn print_completions(shell: Shell, mut command: Command, console: &Console) -> CommandResult {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "thalweg", &mut text);
    console.print(&String::from_utf8_lossy(&text))
}

/// Implements `thalweg man`: a page for the program and one for each command.
pub fn write_man_pages(folder: &Path, command: Command, console: &Console) -> CommandResult {
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.map_err(|error| {
        Error::Failed(format!("{}: cannot write man pages into this folder: {error}", folder.display()))
    })?;
    console.inform(&format!("Wrote the man pages into {}", folder.display()));
    Ok(())
}
