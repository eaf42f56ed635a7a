//! Child processes, and the signals that report them.

use crate::console_output::{Console, Error};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};
use std::io::{ErrorKind, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Signals received by this process.
#[derive(Debug)]
pub struct Signals {
    /// Becomes readable on each signal.
    wake: UnixStream,
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Installs the handlers. From now on Ctrl-C does not end this process: the command, which also receives it,
    /// handles it.
    pub fn new() -> Result<Self, Error> {
        use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
        use signal_hook::{flag, low_level::pipe};
        let (interrupted, terminated) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let made = UnixStream::pair().and_then(|(wake, write)| {
            wake.set_nonblocking(true)?;
            flag::register(SIGINT, Arc::clone(&interrupted))?;
            for signal in [SIGTERM, SIGHUP] {
                flag::register(signal, Arc::clone(&terminated))?;
            }
            for signal in [SIGCHLD, SIGINT, SIGTERM, SIGHUP] {
                pipe::register(signal, write.try_clone()?)?;
            }
            Ok(wake)
        });
        let wake = made.map_err(|error| Error::Failed(format!("cannot listen for signals: {error}")))?;
        Ok(Self { wake, interrupted, terminated })
    }

    /// Waits for a signal, or until `until`.
    pub fn wait(&self, until: Option<Instant>) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let span = left.map(|left| rustix::event::Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let wake = self.wake.as_fd();
        let mut fds = [rustix::event::PollFd::new(&wake, rustix::event::PollFlags::IN)];
        // The caller checks all conditions, whatever ended the wait.
        let _ = rustix::event::poll(&mut fds, span.as_ref());
        let mut bytes = [0; 64];
        while (&self.wake).read(&mut bytes).is_ok_and(|read| read > 0) {}
    }

    /// Returns true if Ctrl-C was pressed since the last call.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted.swap(false, Ordering::Relaxed)
    }

    /// Returns true if this process was asked to terminate.
    pub fn is_to_end(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }

    /// Waits for a child, and forwards requests to terminate to it.
    pub fn wait_for(&self, mut child: Child, console: &Console) -> Result<ExitStatus, Error> {
        let mut is_signalled = false;
        loop {
            let exit_status = child.try_wait();
            match exit_status.map_err(|error| Error::Failed(format!("cannot wait for a process: {error}")))? {
                Some(status) => {
                    if let Some(signal) = status.signal() {
                        console.report_problem(&format!("the live network was ended by signal {signal}"));
                    }
                    return Ok(status);
                }
                None if self.is_to_end() && !is_signalled => {
                    is_signalled = true;
                    send_signal(child.id(), Signal::TERM);
                }
                None => {}
            }
            self.wait(None);
        }
    }
}

/// Returns the exit code for a process status, by the convention of shells.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Sends a signal to a process, if it exists.
pub fn send_signal(id: u32, signal: Signal) {
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process(id, signal);
    }
}

/// A command that runs on a node.
#[derive(Debug)]
pub struct RunningCommand {
    /// The command, for display.
    pub what: String,
    /// Process ID.
    pub id: u32,
    /// Exit status, once the command has ended.
    pub exit_status: Option<ExitStatus>,
}

/// Reaps all ended processes, including orphans, which this process inherits as the first of its PID namespace.
pub fn reap_processes(running: &mut [RunningCommand]) {
    // An error means that there are no children.
    while let Ok(Some((id, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        let status: WaitStatus = status;
        let id = id.as_raw_nonzero().get().unsigned_abs();
        if let Some(command) = running.iter_mut().find(|command| command.id == id) {
            command.exit_status = Some(ExitStatus::from_raw(status.as_raw()));
        }
    }
}

/// Time between SIGTERM and SIGKILL.
const KILL_DELAY: Duration = Duration::from_secs(2);

/// Ends all running commands: with a request, and after [`KILL_DELAY`] by force.
pub fn end_processes(running: &mut [RunningCommand], signals: &Signals) {
    for signal in [Signal::TERM, Signal::KILL] {
        let until = Instant::now() + KILL_DELAY;
        running
            .iter()
            .filter(|command| command.exit_status.is_none())
            .for_each(|command| send_signal(command.id, signal));
        while running.iter().any(|command| command.exit_status.is_none()) && Instant::now() < until {
            signals.wait(Some(until));
            reap_processes(running);
        }
    }
}

/// Returns the error for a command that could not be started.
pub fn cannot_start(what: &str, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::Usage(format!("there is no command `{what}`")),
        _ => Error::Failed(format!("cannot start `{what}`: {error}")),
    }
}
