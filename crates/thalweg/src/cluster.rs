//! Runs that the workers of a cluster make.
//!
//! Dask's scheduler is spoken to by the Python package, in a process of its own: `python3 -m thalweg._cluster ADDRESS` is an engine at
//! the other end of a pair of pipes. A program that is an engine itself hands out a socket instead, as `thalweg.sweep` does in Python.

use crate::console::{Console, Error};
use crate::progress::GOES_ON;
use crate::run::available_memory;
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

/// The variable that names the Python which has the package.
const PYTHON: &str = "THALWEG_PYTHON";
/// The way to have the package.
const PACKAGE: &str = "--cluster needs the Python package of the same build: `pip install '.[cluster]'` in its repository, and \
                       THALWEG_PYTHON names a Python that has it, if `python3` does not";
/// The time that a process has to end once nothing more is wanted of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster that makes runs.
#[derive(Debug)]
pub struct Cluster<'a> {
    /// The streams to it.
    pub engine: Engine<'a>,
    process: Option<Child>,
}

/// The build that workers must be of: the sources that this program is built from; none where it does not know them.
pub fn build() -> Option<&'static str> {
    SOURCES
}

impl<'a> Cluster<'a> {
    /// The cluster behind an address: that of a scheduler, or `unix:` and the path of a socket at which an engine waits.
    pub fn connect(address: &str, console: &'a Console) -> Result<Self, Error> {
        let build = build().filter(|_| !console.registry.is_unstamped());
        let build = build.ok_or_else(|| {
            let why = "this program simulates with what is not in the Python package, which makes the runs of clusters";
            Error::Usage(format!("{why}: `--shard` shares a sweep among hosts that all have this program"))
        })?;
        let program = Program { version: version().to_owned(), build: build.to_owned() };
        let say = |note: &str| console.say(&format!("note: {note}"));
        if let Some(path) = address.strip_prefix("unix:") {
            let engine = UnixStream::connect(path).and_then(|stream| Engine::at(stream, &program, say));
            let engine = engine.map_err(|error| Error::Usage(format!("--cluster `{address}`: {error}")))?;
            return Ok(Self { engine, process: None });
        }
        let python = std::env::var_os(PYTHON).filter(|path| !path.is_empty());
        let python = python.unwrap_or_else(|| "python3".into());
        let process = Command::new(&python)
            // Nothing of the working folder is taken for a module.
            .args(["-P", "-m", "thalweg._cluster", address])
            // Ctrl-C is for this process, which tells the other one.
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
        let engine = Engine::new(BufReader::new(input), output, &program, say);
        Ok(Self { engine, process: Some(process) })
    }

    /// Ends it; gives more words where it could not begin at all.
    pub fn end(self) -> Option<String> {
        // It ends when nothing more can come.
        drop(self.engine);
        let mut process = self.process?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match process.try_wait() {
                Ok(Some(status)) => return (status.code() == Some(1)).then(|| format!(": {PACKAGE}")),
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                Err(_) => break,
            }
        }
        // It hangs on a cluster that does.
        let _ = process.kill();
        let _ = process.wait();
        None
    }
}

/// The message of runs that were not all made; where the cluster is the reason, with what it said last.
pub fn unfinished(error: &Unfinished, cluster: Option<Cluster<'_>>) -> Error {
    let end = cluster.and_then(Cluster::end);
    let why = end.filter(|_| matches!(error, Unfinished::Engine(_)));
    Error::Failed(format!("{error}{}; {GOES_ON}", why.unwrap_or_default()))
}

/// Makes the runs of a batch, as a worker of a cluster that makes so many batches at a time: the bytes that go back.
///
/// # Errors
///
/// It is no batch, or `stop` was set.
pub fn work(
    batch: &[u8],
    registry: &Arc<Registry>,
    at_a_time: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<u8>, String> {
    let load = |text: &str| thalweg_scenario::load_text_with("scenario", text, Path::new(""), &[], registry);
    let memory = available_memory().map(|memory| memory / at_a_time.max(1));
    thalweg_sweep::work(batch, load, memory, stop)
}
