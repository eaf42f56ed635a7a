//! Executes runs of a sweep on the workers of a cluster.
//!
//! The Python package connects to Dask's scheduler, in a separate process: `python3 -m thalweg._cluster ADDRESS` is an
//! engine at the other end of two pipes. A program that is an engine itself provides a socket instead, as
//! `thalweg.sweep` does in Python.

use crate::batch_progress::RESUME_HINT;
use crate::console_output::{Console, Error};
use crate::run_and_compare::available_memory;
use crate::version::version;
use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use thalweg_catalog::Registry;
use thalweg_sweep::{Engine, Program, SOURCES, Unfinished};

/// Environment variable for the Python interpreter that has the package.
const PYTHON: &str = "THALWEG_PYTHON";
/// Installation hint.
const PACKAGE: &str = "--cluster needs the Python package of the same build: `pip install '.[cluster]'` in its repository, and \
                       THALWEG_PYTHON names a Python that has it, if `python3` does not";
/// Timeout for the engine's process to exit after its input was closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connection to a cluster.
#[derive(Debug)]
pub struct Cluster<'a> {
    /// Streams to the engine.
    pub engine: Engine<'a>,
    process: Option<Child>,
}

/// Returns the build required of workers: a hash of this program's sources, if known.
pub fn required_build() -> Option<&'static str> {
    SOURCES
}

impl<'a> Cluster<'a> {
    /// Connects to a cluster: `address` is a scheduler's, or `unix:` and the path of an engine's socket.
    pub fn connect(address: &str, console: &'a Console) -> Result<Self, Error> {
        let build = required_build().filter(|_| !console.registry.is_unstamped());
        let build = build.ok_or_else(|| {
            let why = "this program has components that the Python package, which runs on clusters, lacks";
            Error::Usage(format!("{why}: --shard shares a sweep among hosts that all have this program"))
        })?;
        let program = Program { version: version().to_owned(), build: build.to_owned() };
        let inform = |note: &str| console.inform(&format!("note: {note}"));
        if let Some(path) = address.strip_prefix("unix:") {
            let engine = UnixStream::connect(path).and_then(|stream| Engine::at(stream, &program, inform));
            let engine =
                engine.map_err(|error| Error::argument("cluster", format!("`{address}`: {error}")))?;
            return Ok(Self { engine, process: None });
        }
        let python = std::env::var_os(PYTHON).filter(|path| !path.is_empty());
        let python = python.unwrap_or_else(|| "python3".into());
        let process = Command::new(&python)
            // Do not import modules from the working folder.
            .args(["-P", "-m", "thalweg._cluster", address])
            // Only this process handles Ctrl-C, and notifies the other one.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut process = process.map_err(|error| {
            Error::Usage(format!("cannot start `{}`: {error}; {PACKAGE}", Path::new(&python).display()))
        })?;
        let (Some(output), Some(input)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::Failed("a process was started without its pipes".to_owned()));
        };
        let engine = Engine::new(BufReader::new(input), output, &program, inform);
        Ok(Self { engine, process: Some(process) })
    }

    /// Closes the connection; returns additional error text if it could not start.
    pub fn end(self) -> Option<String> {
        // The engine exits at the end of its input.
        drop(self.engine);
        let mut process = self.process?;
        let begun = Instant::now();
        while begun.elapsed() < EXIT_TIMEOUT {
            match process.try_wait() {
                Ok(Some(status)) => return (status.code() == Some(1)).then(|| format!(": {PACKAGE}")),
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                Err(_) => break,
            }
        }
        // The engine hangs if the cluster does.
        let _ = process.kill();
        let _ = process.wait();
        None
    }
}

/// Returns the error for unfinished runs, with the engine's last message if the cluster is the cause.
pub fn unfinished_runs_error(error: &Unfinished, cluster: Option<Cluster<'_>>) -> Error {
    let end = cluster.and_then(Cluster::end);
    let why = end.filter(|_| matches!(error, Unfinished::Engine(_)));
    Error::Failed(format!("{error}{}; {RESUME_HINT}", why.unwrap_or_default()))
}

/// Runs a batch as a worker of a cluster, with `at_a_time` concurrent batches; returns the encoded results.
///
/// # Errors
///
/// If the batch is invalid, or `stop` was set.
pub fn run_worker_batch(
    batch: &[u8],
    registry: &Arc<Registry>,
    at_a_time: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<u8>, String> {
    let load = |text: &str| thalweg_scenario::load_text_with("scenario", text, Path::new(""), &[], registry);
    let memory = available_memory().map(|memory| memory / at_a_time.max(1));
    thalweg_sweep::run_batch(batch, load, memory, stop)
}
