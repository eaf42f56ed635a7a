//! Flags that signals set: Ctrl-C ends the running work at the next safe point, and keeps its results; SIGHUP reloads.

use crate::console_output::{Console, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns a flag that the first Ctrl-C sets. The second one ends the process at once.
pub fn stop_flag_on_signals() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    let stop = Arc::new(AtomicBool::new(false));
    let register = |signal| {
        flag::register_conditional_shutdown(signal, SIGINT_EXIT_CODE, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))
    };
    for signal in [SIGINT, SIGTERM] {
        register(signal).map_err(|error| registration_error(&error))?;
    }
    // Exceeding the file size limit (`ulimit -f`) must fail the write, not end the process.
    flag::register(SIGXFSZ, Arc::default()).map_err(|error| registration_error(&error))?;
    // The terminal was closed. Respect `nohup`, which ignores the signal. A second signal does not end the process at
    // once.
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(&stop)).map_err(|error| registration_error(&error))?;
    }
    Ok(stop)
}

/// Returns the flag of the calling program, or else that of [`stop_flag_on_signals`].
pub fn stop_flag_of_caller_or_signals(console: &Console) -> Result<Arc<AtomicBool>, Error> {
    console.stop().map_or_else(stop_flag_on_signals, Ok)
}

/// Returns a flag that SIGHUP sets, as is usual for daemons; it then does not end the process.
pub fn reload_flag_on_sighup() -> Result<Arc<AtomicBool>, Error> {
    let reload = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reload))
        .map_err(|error| registration_error(&error))?;
    IS_RELOADED.store(true, Ordering::Relaxed);
    Ok(reload)
}

/// True if SIGHUP requests a reload in this process.
static IS_RELOADED: AtomicBool = AtomicBool::new(false);

fn registration_error(error: &std::io::Error) -> Error {
    Error::Failed(format!("cannot listen for signals: {error}"))
}

/// Returns true if the process was started with this signal ignored, or uses it for reloads.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    IS_RELOADED.load(Ordering::Relaxed) || mask & (1 << (signal - 1)) != 0
}

/// Signal for exceeding the file size limit, on Linux.
const SIGXFSZ: i32 = 25;

/// Exit code of a process ended by SIGINT, by the convention of shells.
const SIGINT_EXIT_CODE: i32 = 130;
