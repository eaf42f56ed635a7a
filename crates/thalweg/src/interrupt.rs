//! Ctrl-C: what is running ends at the next good moment, and keeps what it has.

use crate::console::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that the first Ctrl-C sets. The second one ends the process at once.
pub fn interruptible() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag;
    let stop = Arc::new(AtomicBool::new(false));
    let register = |signal| {
        flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))
    };
    for signal in [SIGINT, SIGTERM] {
        register(signal).map_err(|error| Error::Failed(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}

/// The exit code of a process that a signal ended, as shells have it.
const KILLED: i32 = 130;
