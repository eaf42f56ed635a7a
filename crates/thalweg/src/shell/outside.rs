//! The process that a user starts: it makes namespaces, starts the one within, and waits for it.

use super::{INSIDE, LENDER, Network, ShellArguments, view};
use crate::console::{Console, Done, Error};
use crate::shell::children::{Signals, exit_code};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use thalweg_live::forward::{self, hand, loan};
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
    let loan = network.plan.outside.map(|_| lent(&program)).transpose()?;
    let names = enter().map_err(|error| Error::Failed(error.to_string()))?;
    if arguments.all {
        // Nobody else reads the results.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
    let signals = Signals::new()?;
    let kind = if names == Names::OfUser { "user" } else { "root" };
    let mut inside = Command::new(program);
    inside.args(std::env::args_os().skip(1)).env(INSIDE, kind);
    if let Some(end) = loan {
        inside.stdin(end);
    }
    let child = inside.spawn();
    // With the last copy of the loan's end the lender ends.
    drop(inside);
    let child =
        child.map_err(|error| Error::Failed(format!("cannot start the first process within: {error}")))?;
    let status = signals.wait_for(child, console)?;
    if status.signal().is_some() && view::is_wanted(console) {
        eprint!("{}", view::AWAY);
    }
    match exit_code(status) {
        0 => Ok(()),
        // It has said why.
        code => std::process::exit(code),
    }
}

/// Starts the process that lends sockets of the real network. Through the end of the loan that this gives the process within gets
/// standard input, too, as it has the loan in its place.
fn lent(program: &Path) -> Result<OwnedFd, Error> {
    let failed = |error: std::io::Error| Error::Failed(format!("cannot lend sockets: {error}"));
    let [one, other] = loan().map_err(|error| failed(error.into()))?;
    hand(one.as_fd(), Some(std::io::stdin().as_fd()), &[0]).map_err(|error| failed(error.into()))?;
    let mut lender = Command::new(program);
    lender.args(std::env::args_os().skip(1)).env(INSIDE, LENDER).stdin(one);
    // Whoever reads what commands print waits for nobody else.
    lender.stdout(Stdio::null()).stderr(Stdio::null());
    lender.spawn().map_err(failed)?;
    Ok(other)
}

/// Lends sockets until the process within is gone.
pub fn lend() -> Done {
    // Ctrl-C is for commands.
    let _signals = Signals::new()?;
    forward::lend(std::io::stdin().as_fd())
        .map_err(|_| Error::Usage(format!("the variable {INSIDE} is not for users: unset it")))
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
