//! Ctrl-C: what is running ends at the next good moment, and keeps what it has.

use crate::console::{Console, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the first Ctrl-C sets. The second one ends the process at once.
pub fn interruptible() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    let stop = Arc::new(AtomicBool::new(false));
    let register = |signal| {
        flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))
    };
    for signal in [SIGINT, SIGTERM] {
        register(signal).map_err(|error| cannot(&error))?;
    }
    // A file that may grow no more (`ulimit -f`) is an error of whoever writes it, not the end of the process.
    flag::register(SIGXFSZ, Arc::default()).map_err(|error| cannot(&error))?;
    // The terminal was closed. `nohup` has it ignored, and once more is no hurry.
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(&stop)).map_err(|error| cannot(&error))?;
    }
    Ok(stop)
}

/// The same, or the flag that a program which called the command sets.
pub fn interruptible_by(console: &Console) -> Result<Arc<AtomicBool>, Error> {
    console.stop().map_or_else(interruptible, Ok)
}

/// A flag that SIGHUP sets, as daemons have it, in place of what it does else.
pub fn reloadable() -> Result<Arc<AtomicBool>, Error> {
    let reload = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reload))
        .map_err(|error| cannot(&error))?;
    IS_RELOADED.store(true, Ordering::Relaxed);
    Ok(reload)
}

/// SIGHUP has another meaning in this process.
static IS_RELOADED: AtomicBool = AtomicBool::new(false);

fn cannot(error: &std::io::Error) -> Error {
    Error::Failed(format!("cannot listen for signals: {error}"))
}

/// The process was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    IS_RELOADED.load(Ordering::Relaxed) || mask & (1 << (signal - 1)) != 0
}

/// The signal to a process that writes more to a file than it may, on Linux.
const SIGXFSZ: i32 = 25;

/// The exit code of a process that a signal ended, as shells have it.
const KILLED: i32 = 130;
