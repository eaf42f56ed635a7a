//! The process that a user starts: it makes namespaces, starts the one within, and waits for it.

use super::{INSIDE, Network, ShellArguments};
use crate::console::{Console, Done, Error};
use crate::shell::children::{Signals, exit_code};
use std::process::Command;
use thalweg_live::host::{Names, enter};

/// Starts this command again in namespaces of its own, and ends as that ends.
pub fn outside(arguments: &ShellArguments, network: &Network, console: &Console) -> Done {
    for note in &network.plan.notes {
        console.say(&format!("note: {note}"));
    }
    if cfg!(debug_assertions) {
        console.say("warning: this program was built without full optimisation: fast links will be late");
    }
    // Programs that end with the call are refused here, where nothing has been made yet.
    if let Some(command) = arguments.command.first()
        && !exists(command)
    {
        return Err(Error::Usage(format!("there is no command `{}`", command.to_string_lossy())));
    }
    let program = std::env::current_exe();
    let program = program.map_err(|error| Error::Failed(format!("cannot find this program: {error}")))?;
    let names = enter().map_err(|error| Error::Failed(error.to_string()))?;
    let signals = Signals::new()?;
    let kind = if names == Names::OfUser { "user" } else { "root" };
    let child = Command::new(program).args(std::env::args_os().skip(1)).env(INSIDE, kind).spawn();
    let child =
        child.map_err(|error| Error::Failed(format!("cannot start the first process within: {error}")))?;
    let status = signals.wait_for(child, console)?;
    match exit_code(status) {
        0 => Ok(()),
        // It has said why.
        code => std::process::exit(code),
    }
}

/// A file of that name is where commands are.
fn exists(command: &std::ffi::OsStr) -> bool {
    let path = std::path::Path::new(command);
    if path.components().count() > 1 {
        return path.exists();
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(path).is_file())
}
