//! The compiled half of the Python package `thalweg`; `python/thalweg` in the repository is the public half.
//!
//! Long operations run on a thread of their own without Python's lock. The calling thread polls for Ctrl-C meanwhile.

mod arrow_table;
mod command_messages;
mod controller_registry;
mod environment_batch;
mod python_controller;
mod python_thread_state;
mod thread_pool;

use arrow_table::Table;
use command_messages::{Message, MessageKind, convert_messages};
use controller_registry::RunControllers;
use environment_batch::Environments;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use python_controller::{Controller, Sample, in_candidate, interrupt_called, refuse_candidates};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg::{Caller, CommandOutcome, Registry, Request, SimulatedRun, simulate};
use thalweg_report::output::{
    Cells, Pixels, QuantityHistory, Rows, format_value as value_in_words, render_pixels,
};
use thalweg_report::results::{Metric, Run, SubjectKind};
use thalweg_sweep::svg_charts::HeatMap;

/// Polling interval for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time after which controllers that have not returned are interrupted, and interval of further interrupts.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(500);

/// Runs `work` on another thread, and sets its flag at Ctrl-C or after `limit`. Controllers that do not return by then
/// are interrupted. `show` receives the progress, an optional share and a text, and may raise an exception to end the
/// work.
fn run_interruptible<T: Send + 'static>(
    py: Python<'_>,
    limit: Option<Duration>,
    stop: Option<&Stop>,
    show: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Arc<Caller>) -> T + Send + 'static,
) -> PyResult<T> {
    let caller = stop.map_or_else(Arc::default, |stop| Arc::clone(&stop.caller));
    let (sender, receiver) = mpsc::channel();
    let worker_caller = Arc::clone(&caller);
    std::thread::spawn(move || {
        // The receiver is gone only after a panic.
        let _ = sender.send(work(worker_caller));
    });
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL_INTERVAL);
    let (begun, mut interrupted, mut interrupt_after) = (Instant::now(), None, INTERRUPT_INTERVAL);
    loop {
        match py.detach(wait) {
            Ok(done) => return interrupted.map_or(Ok(done), |(signal, _)| Err(signal)),
            Err(RecvTimeoutError::Timeout) if interrupted.is_none() => {
                let is_late = limit.is_some_and(|limit| begun.elapsed() > limit);
                let late = || Err(PyTimeoutError::new_err("it took longer than it may"));
                let signals = py.check_signals().and_then(|()| if is_late { late() } else { Ok(()) });
                if let Err(signal) = signals.and_then(|()| show_progress(&caller, show)) {
                    caller.stop.store(true, Ordering::Relaxed);
                    interrupted = Some((signal, Instant::now()));
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if interrupted.as_ref().is_some_and(|(_, since)| since.elapsed() > interrupt_after) {
                    interrupt_called(py)?;
                    interrupt_after += INTERRUPT_INTERVAL;
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "it panicked, which is a bug in thalweg; please report it",
                ));
            }
        }
    }
}

fn show_progress(caller: &Caller, show: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let (Some(show), Some(seen)) = (show, caller.progress()) else { return Ok(()) };
    show.call1((seen.share, seen.text)).map(drop)
}

/// Runs the command `thalweg` as this process; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    refuse_candidates()?;
    Ok(py.detach(|| thalweg::run_arguments(Registry::default(), arguments)))
}

/// Cancels a call from another thread.
#[pyclass(frozen, module = "thalweg._thalweg")]
#[derive(Default)]
struct Stop {
    caller: Arc<Caller>,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the call at the next safe point.
    fn set(&self) {
        self.caller.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs the command `thalweg` within this process, with these controllers available by name. Returns its exit code, its
/// output and messages, and the exception of a controller that caused the failure.
#[pyfunction]
#[pyo3(signature = (arguments, controllers, stamp, stop=None, show=None))]
fn call(
    py: Python<'_>,
    arguments: Vec<String>,
    controllers: Vec<(String, Bound<'_, PyAny>)>,
    stamp: &str,
    stop: Option<&Stop>,
    show: Option<&Bound<'_, PyAny>>,
) -> PyResult<(u8, String, Vec<Message>, Option<PyErr>)> {
    refuse_candidates()?;
    let controllers = RunControllers::new(controllers, false, stamp)?;
    let registry = Arc::clone(&controllers.registry);
    let called =
        run_interruptible(py, None, stop, show, move |caller| thalweg::call(registry, &arguments, caller))?;
    let cause = controllers.take_exception_for(&called.text());
    Ok((called.code, called.printed_results, convert_messages(called.messages), cause))
}

/// Returns the available schemes and built-in scenarios, each with its description, and the metrics of results: name,
/// unit, meaning and subject.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "Python takes it apart")]
fn listed()
-> (Vec<(String, String)>, Vec<(String, String)>, Vec<(String, &'static str, String, &'static str)>) {
    let [schemes, scenarios] = thalweg::list_names(&Arc::default());
    let subjects = [
        (SubjectKind::Flow, "flow"),
        (SubjectKind::Group, "group"),
        (SubjectKind::Network, "network"),
        (SubjectKind::Link, "link"),
        (SubjectKind::SizeClass, "size class"),
    ];
    let metrics = subjects.into_iter().flat_map(|(of, subject)| {
        let about = |metric: Metric| metric.line().description.trim().replace("\n ", " ");
        // Those of an object of their own are without its name elsewhere.
        let name = move |metric: Metric| match of {
            SubjectKind::Flow => metric.column_name(of),
            _ => metric.name(of).to_owned(),
        };
        Metric::all_of(of)
            .map(move |metric| (name(metric), metric.line().unit.name(), about(metric), subject))
    });
    (schemes, scenarios, metrics.collect())
}

/// Returns the most similar one of these names; None if none is similar.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    thalweg_catalog::spelling_suggestions::nearest_name(name, known.iter().map(String::as_str))
        .map(str::to_owned)
}

/// Returns the unit of plain numbers for an option of a command; None if its values have no unit.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
fn option_unit(words: Vec<String>, option: &str) -> Option<&'static str> {
    thalweg::option_unit(&words, option)
}

/// Returns true if an option of a command cannot be without a value; None if there is no such option.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
fn option_needs_value(words: Vec<String>, option: &str) -> Option<bool> {
    thalweg::option_needs_value(&words, option)
}

/// Checks a scenario: returns the command's exit code, its explanation as text, and its messages.
#[pyfunction]
fn validate(
    py: Python<'_>,
    scenario: PathBuf,
    text: Option<String>,
    sets: Vec<String>,
    controllers: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<(u8, String, Vec<Message>)> {
    refuse_candidates()?;
    let controllers = RunControllers::new(controllers, false, "")?;
    let registry = Arc::clone(&controllers.registry);
    let explained = run_interruptible(py, None, None, None, move |_| {
        thalweg::explain(&registry, &scenario, text.as_deref(), &sets)
    })?;
    let CommandOutcome { code, printed_results: printed, messages } =
        explained.unwrap_or_else(|called| called);
    Ok((code, printed, convert_messages(messages)))
}

/// Returns a heat map of a metric over two factors, as SVG; cells without a value stay empty.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
fn heat_map(
    metric: &str,
    title: &str,
    columns: (String, Vec<String>),
    rows: (String, Vec<String>),
    cells: Vec<Vec<Option<f64>>>,
    scale: (f64, f64),
) -> PyResult<String> {
    let found = Metric::all_of(SubjectKind::Network).find(|of| of.name(SubjectKind::Network) == metric);
    let metric =
        found.ok_or_else(|| PyKeyError::new_err(format!("there is no metric `{metric}` of networks")))?;
    if cells.len() != rows.1.len() || cells.iter().any(|row| row.len() != columns.1.len()) {
        return Err(PyValueError::new_err("there is a cell for each row and column"));
    }
    let words = |value: Option<f64>| value.map(|mean| (mean, value_in_words(metric, mean)));
    let mut svg = String::new();
    let map = HeatMap {
        title,
        columns: (&columns.0, columns.1.iter().map(String::as_str).collect()),
        rows: (&rows.0, rows.1.iter().map(String::as_str).collect()),
        cells: cells.into_iter().map(|row| row.into_iter().map(words).collect()).collect(),
        scale,
    };
    map.draw(&mut svg);
    Ok(svg)
}

/// Converts an SVG picture to PNG.
#[pyfunction]
fn png<'py>(py: Python<'py>, svg: &str) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| thalweg_report::output::render_png(svg));
    Ok(PyBytes::new(py, &bytes.map_err(|error| PyValueError::new_err(error.to_string()))?))
}

/// Renders the recent past of an environment: returns width, height, and red, green and blue of each pixel.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
fn history<'py>(
    py: Python<'py>,
    title: &str,
    times: Vec<f64>,
    past: Vec<(String, Vec<f64>)>,
) -> PyResult<(u32, u32, Bound<'py, PyBytes>)> {
    let drawn = py.detach(|| {
        let past = past.into_iter().map(|(title, values)| QuantityHistory { title, values }).collect();
        render_pixels(&thalweg_report::output::history_svg(title, &times, past))
    });
    let Pixels { width, height, rgb } = drawn.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((width, height, PyBytes::new(py, &rgb)))
}

/// Makes the runs of a batch on this thread, as a worker with this number of concurrent batches. Returns the encoded
/// results, and the first exception that a controller raised.
#[pyfunction]
fn work<'py>(
    py: Python<'py>,
    batch: &[u8],
    controllers: Vec<(String, Bound<'py, PyAny>)>,
    at_a_time: u64,
) -> PyResult<(Bound<'py, PyBytes>, Option<PyErr>)> {
    refuse_candidates()?;
    let controllers = RunControllers::new(controllers, false, "")?;
    let registry = &controllers.registry;
    let done = py.detach(|| thalweg::run_worker_batch(batch, registry, at_a_time, &Arc::default()));
    let bytes = done.map_err(PyValueError::new_err)?;
    Ok((PyBytes::new(py, &bytes), controllers.take_exception_for("")))
}

/// Measurements of a run or a comparison.
#[pyclass(frozen, module = "thalweg._thalweg")]
struct RunMeasurements {
    simulated: SimulatedRun,
}

/// Measurements if any, the command's exit code and messages, and the exception of a controller that caused the failure.
type Outcome = (Option<RunMeasurements>, u8, Vec<Message>, Option<PyErr>);

/// Runs a scenario, or compares schemes on it, including controllers by name. On failure returns the command's exit
/// code and messages instead of results.
#[expect(clippy::too_many_arguments, reason = "Python names them")]
#[pyfunction]
#[pyo3(signature = (scenario, text, sets, schemes, flows, seed, replications, jobs, controllers, is_candidate, limit, stop=None, show=None))]
fn run(
    py: Python<'_>,
    scenario: PathBuf,
    text: Option<String>,
    sets: Vec<String>,
    schemes: Vec<String>,
    flows: Vec<String>,
    seed: Option<u64>,
    replications: u32,
    jobs: Option<NonZeroUsize>,
    controllers: Vec<(String, Bound<'_, PyAny>)>,
    is_candidate: bool,
    limit: Option<f64>,
    stop: Option<&Stop>,
    show: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    refuse_candidates()?;
    // Larger limits mean no limit.
    let limit = limit.map(|limit| Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX));
    let request = Request { scenario, text, sets, schemes, flows, seed, replications, jobs };
    let controllers = RunControllers::new(controllers, is_candidate, "")?;
    let registry = Arc::clone(&controllers.registry);
    let done = run_interruptible(py, limit, stop, show, move |caller| simulate(&registry, request, caller))?;
    Ok(match done {
        Ok(simulated) => (Some(RunMeasurements { simulated }), 0, Vec::new(), None),
        Err(called) => {
            let cause = controllers.take_exception_for(&called.text());
            (None, called.code, convert_messages(called.messages), cause)
        }
    })
}

impl RunMeasurements {
    /// Returns the rows of all runs, with their schemes if several are compared.
    fn rows(&self, of: fn(&Run) -> Rows) -> Rows {
        let mut all = Rows::default();
        for (scheme, run) in self.simulated.document.runs() {
            let mut rows = of(run);
            if let Some(scheme) = scheme {
                rows.push_front("compared", Cells::Text(vec![scheme.to_owned(); rows.len()]));
            }
            all.append(rows);
        }
        all
    }
}

#[pymethods]
impl RunMeasurements {
    /// Returns the document that `--json` prints.
    fn document(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.simulated.document.write_json(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the results as text.
    fn summary(&self) -> String {
        self.simulated.summary()
    }

    /// Returns the picture as SVG: that of `--svg`, or one with these plots and time range in seconds.
    #[pyo3(signature = (plots = None, time = None))]
    #[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
    fn figure(&self, plots: Option<Vec<String>>, time: Option<(f64, f64)>) -> PyResult<String> {
        self.simulated.figure(plots.as_deref(), time).map_err(PyValueError::new_err)
    }

    /// Returns the scenario with all defaults written out.
    fn scenario(&self) -> String {
        self.simulated.expanded()
    }

    /// Returns the warnings and notes of the command.
    fn messages(&self) -> Vec<Message> {
        convert_messages(self.simulated.messages.clone())
    }

    /// Returns a row for each flow of each run.
    fn flows(&self) -> PyResult<Table> {
        Table::of_rows(self.rows(Rows::flows))
    }

    /// Returns a row for each link direction of each run.
    fn links(&self) -> PyResult<Table> {
        Table::of_rows(self.rows(Rows::links))
    }

    /// Returns the names of the recorded series.
    fn quantities(&self) -> Vec<&'static str> {
        let all = self.simulated.results.iter().flat_map(|result| &result.series);
        let mut names: Vec<&str> = all.map(|series| series.quantity.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the points of all series, or of one quantity.
    #[pyo3(signature = (quantity=None))]
    fn series(&self, py: Python<'_>, quantity: Option<&str>) -> PyResult<Table> {
        let schemes: Vec<&str> = self.simulated.document.schemes();
        py.detach(|| Table::of_series(&self.simulated.results, &schemes, quantity))
    }
}

/// The compiled half of thalweg.
#[pymodule]
fn _thalweg(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add("build", thalweg::required_build().unwrap_or_default())?;
    module.add("max_reps", thalweg::MAX_REPS)?;
    module.add_class::<Controller>()?;
    module.add_class::<Environments>()?;
    module.add_class::<RunMeasurements>()?;
    module.add_class::<Message>()?;
    module.add_class::<MessageKind>()?;
    module.add_class::<Sample>()?;
    module.add_class::<Stop>()?;
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    module.add_function(wrap_pyfunction!(heat_map, module)?)?;
    module.add_function(wrap_pyfunction!(in_candidate, module)?)?;
    module.add_function(wrap_pyfunction!(listed, module)?)?;
    module.add_function(wrap_pyfunction!(nearest, module)?)?;
    module.add_function(wrap_pyfunction!(option_unit, module)?)?;
    module.add_function(wrap_pyfunction!(option_needs_value, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(png, module)?)?;
    module.add_function(wrap_pyfunction!(history, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(work, module)?)?;
    Ok(())
}
