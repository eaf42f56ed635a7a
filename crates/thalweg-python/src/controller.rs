//! Congestion controllers that are written in Python: the class that they derive from, and what makes senders follow them.

use crate::attached::Attached;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyNotImplementedError, PyPermissionError, PyTypeError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_proto::congestion::delivery::Stamp;
use thalweg_proto::congestion::observe::{Observation, Observer};
use thalweg_proto::congestion::{
    AckSample, ConfigureController, Controller as Contract, Decision, LossKind, LossSample, LostSample, Path,
    SentSample,
};
use thalweg_proto::transport::BreachKind;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_sim::agent::MOST_WINDOW;

/// A controller, as Python sees it.
#[pyclass(subclass, module = "thalweg")]
pub struct Controller {
    window: f64,
    pacing_rate: Option<f64>,
}

#[pymethods]
impl Controller {
    #[classattr]
    fn per_packet() -> bool {
        false
    }

    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn new(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        // They are those of a class that derives from it.
        let _ = (args, kwargs);
        Self { window: 10.0, pacing_rate: None }
    }

    #[getter]
    const fn window(&self) -> f64 {
        self.window
    }

    #[setter]
    fn set_window(&mut self, window: &Bound<'_, PyAny>) -> PyResult<()> {
        let found = number(window, "window is a number of segments")?;
        if !(1.0..=MOST_WINDOW).contains(&found) {
            let message = format!("window must lie from 1 to {MOST_WINDOW} segments, and {found} does not");
            return Err(PyValueError::new_err(message));
        }
        self.window = found;
        Ok(())
    }

    #[getter]
    const fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    #[setter]
    fn set_pacing_rate(&mut self, rate: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(rate) = rate else {
            self.pacing_rate = None;
            return Ok(());
        };
        let found = number(rate, "pacing_rate is a number of bit/s, or None")?;
        if !(1.0..=MOST_RATE).contains(&found) {
            let message = format!(
                "pacing_rate must lie from 1 to {MOST_RATE:e} bit/s, and {found} does not; None does not pace"
            );
            return Err(PyValueError::new_err(message));
        }
        self.pacing_rate = Some(found);
        Ok(())
    }

    /// Data was acknowledged.
    fn on_ack(&mut self, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = sample;
        Err(PyNotImplementedError::new_err("a controller needs a method on_ack(self, sample)"))
    }

    /// A window of data met a loss.
    fn on_loss(&mut self, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = sample;
        Err(PyNotImplementedError::new_err("a controller needs a method on_loss(self, sample)"))
    }

    /// A loss was none, and only late; `window` is what it was before.
    fn on_undo(&mut self, window: f64) {
        self.window = self.window.max(window);
    }
}

/// Faster than any line.
const MOST_RATE: f64 = 1e15;

fn number(of: &Bound<'_, PyAny>, expected: &str) -> PyResult<f64> {
    of.extract().map_err(|_| {
        let kind = of.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{expected}, and not of type {kind}"))
    })
}

/// The events since a controller was told last.
#[pyclass(frozen, get_all, module = "thalweg")]
pub struct Sample {
    kind: &'static str,
    repeated: bool,
    now: f64,
    interval: f64,
    sent: u64,
    acked: u64,
    acked_bytes: u64,
    lost: u64,
    lost_bytes: u64,
    marks: u64,
    rtt: Option<f64>,
    smoothed_rtt: Option<f64>,
    min_rtt: Option<f64>,
    delivery_rate: Option<f64>,
    in_flight: f64,
    segment: u32,
    app_limited: bool,
    recovering: bool,
}

impl Sample {
    fn new(kind: &'static str, repeated: bool, seen: &Observation) -> Self {
        let seconds = |span: Option<Duration>| span.map(Duration::as_secs_f64);
        Self {
            kind,
            repeated,
            now: seen.now.as_secs_f64(),
            interval: seen.span.as_secs_f64(),
            sent: seen.sent,
            acked: seen.acked,
            acked_bytes: seen.acked_bytes,
            lost: seen.lost,
            lost_bytes: seen.lost_bytes,
            marks: seen.ce,
            rtt: seconds(seen.rtt),
            smoothed_rtt: seconds(seen.smoothed_rtt),
            min_rtt: seconds(seen.min_rtt),
            delivery_rate: seen.delivery_rate.map(|rate| rate * 8.0),
            in_flight: seen.in_flight_bytes as f64 / f64::from(seen.segment.max(1)),
            segment: seen.segment,
            app_limited: seen.app_limited,
            recovering: seen.recovering,
        }
    }
}

#[pymethods]
impl Sample {
    fn __repr__(&self) -> String {
        format!(
            "<thalweg.Sample: {} at {:.6} s, {} acked, {} lost in {:.6} s>",
            self.kind, self.now, self.acked, self.lost, self.interval
        )
    }
}

thread_local! {
    /// A candidate that is judged is being called on this thread.
    static JUDGED: Cell<bool> = const { Cell::new(false) };
}

/// The threads on which controllers are being called, by Python's names for them.
static CALLED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

thread_local! {
    /// Python's name for this thread; zero before anybody asked.
    static NAME: Cell<u64> = const { Cell::new(0) };
}

/// A controller is being called on this thread.
struct Called(u64);

impl Called {
    fn begin(py: Python<'_>) -> Self {
        if NAME.get() == 0 {
            let name = py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract());
            NAME.set(name.unwrap_or(0));
        }
        CALLED.lock().unwrap_or_else(PoisonError::into_inner).push(NAME.get());
        Self(NAME.get())
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        let mut called = CALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = called.iter().rposition(|name| *name == self.0) {
            called.swap_remove(place);
        }
    }
}

/// Raises `KeyboardInterrupt` in the controllers that are being called.
pub fn interrupt_called(py: Python<'_>) -> PyResult<()> {
    let threads = CALLED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if threads.is_empty() {
        return Ok(());
    }
    let ctypes = py.import("ctypes")?;
    let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
    let exception = ctypes.call_method1("py_object", (py.get_type::<PyKeyboardInterrupt>(),))?;
    for thread in threads {
        raise.call1((ctypes.call_method1("c_ulong", (thread,))?, &exception))?;
    }
    Ok(())
}

/// True on a thread on which a candidate that is judged is being called.
#[pyfunction]
pub fn is_judged() -> bool {
    JUDGED.get()
}

/// Refuses what a candidate that is judged must not do: to simulate what it will meet.
pub fn refuse_candidates() -> PyResult<()> {
    if JUDGED.get() {
        return Err(PyPermissionError::new_err(
            "a candidate sees samples and nothing else: it may not simulate",
        ));
    }
    Ok(())
}

/// The maker of the instances of a controller, with the exceptions that they raised.
pub struct Maker {
    /// A class, or what else gives an instance when it is called.
    make: Py<PyAny>,
    /// Its instances may do nothing but to decide.
    judged: bool,
    raised: Mutex<Vec<(Time, PyErr)>>,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maker").finish_non_exhaustive()
    }
}

impl Maker {
    pub const fn new(make: Py<PyAny>, judged: bool) -> Self {
        Self { make, judged, raised: Mutex::new(Vec::new()) }
    }

    /// Calls Python, on this thread, as a candidate that is judged where it is one.
    fn attach<R>(&self, act: impl FnOnce(Python<'_>) -> R) -> R {
        let before = JUDGED.replace(self.judged);
        let done = Python::attach(|py| {
            let _called = Called::begin(py);
            act(py)
        });
        JUDGED.set(before);
        done
    }

    fn raise(&self, at: Time, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).push((at, error));
    }

    /// The exceptions, with the simulated times.
    pub fn take_raised(&self) -> Vec<(Time, PyErr)> {
        core::mem::take(&mut *self.raised.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn instance(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, bool)> {
        let made = self.make.bind(py).call0()?;
        if !made.is_instance_of::<Controller>() {
            let kind = made.get_type().name()?;
            let message = format!("a controller derives from thalweg.Controller, and this is of type {kind}");
            return Err(PyTypeError::new_err(message));
        }
        let per_packet = made.getattr("per_packet")?.is_truthy()?;
        Ok((made.unbind(), per_packet))
    }
}

/// The configuration of a controller that is written in Python.
#[derive(Clone, Debug)]
pub struct ScriptedConfig {
    pub name: &'static str,
    pub maker: Arc<Maker>,
}

impl PartialEq for ScriptedConfig {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.maker, &other.maker)
    }
}

impl ConfigureController for ScriptedConfig {
    type Controller = Scripted;
    const NAME: &'static str = "python";

    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self) -> Scripted {
        let mut made = Scripted {
            maker: Arc::clone(&self.maker),
            instance: None,
            per_packet: false,
            observer: Observer::default(),
            decision: Decision::window(1.0),
            attached: None,
        };
        let outcome = self.maker.attach(|py| {
            let (instance, per_packet) = self.maker.instance(py)?;
            made.decision = decision(instance.bind(py))?;
            Ok((instance, per_packet))
        });
        match outcome {
            Ok((instance, per_packet)) => {
                made.instance = Some(Arc::new(instance));
                made.per_packet = per_packet;
            }
            Err(error) => self.maker.raise(Time::ZERO, error),
        }
        made
    }
}

/// The window and the pacing rate of an instance.
fn decision(instance: &Bound<'_, PyAny>) -> PyResult<Decision> {
    let own = instance.cast::<Controller>()?.borrow();
    let pacing_rate = own.pacing_rate.map(|rate| Rate::from_bits_per_sec(rate as u64));
    Ok(Decision { pacing_rate, ..Decision::window(own.window) })
}

/// A controller whose rules are in Python. Copies share the instance.
#[derive(Clone, Debug)]
pub struct Scripted {
    maker: Arc<Maker>,
    /// `None` once it has raised an exception.
    instance: Option<Arc<Py<PyAny>>>,
    per_packet: bool,
    observer: Observer,
    decision: Decision,
    /// Keeps Python's state of the thread that called last.
    attached: Option<Arc<Attached>>,
}

impl Scripted {
    /// Calls a method of the instance, and takes what it decides.
    fn call(&mut self, now: Time, act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(instance) = &self.instance else { return };
        if !self.attached.as_ref().is_some_and(|attached| attached.is_here()) {
            self.attached = Some(Arc::new(Attached::here()));
        }
        let outcome = self.maker.attach(|py| {
            let instance = instance.bind(py);
            act(instance)?;
            decision(instance)
        });
        match outcome {
            Ok(decision) => self.decision = decision,
            Err(error) => {
                self.maker.raise(now, error);
                self.instance = None;
            }
        }
    }
}

impl Contract for Scripted {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.observer.on_sent(sample)
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        let round_ends = self.observer.on_ack(sample, stamp);
        if round_ends || self.per_packet {
            let now = sample.path.now;
            let told = Sample::new("ack", false, &self.observer.observe(now));
            self.observer.begin(now);
            self.call(now, |instance| {
                instance.call_method1(intern!(instance.py(), "on_ack"), (told,)).map(drop)
            });
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
        self.observer.on_packet_lost(sample);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        let now = sample.path.now;
        let kind = match sample.kind {
            LossKind::Duplicates => "duplicates",
            LossKind::Timeout => "timeout",
            LossKind::Mark => "mark",
        };
        self.observer.follow(&sample.path);
        let told = Sample::new(kind, sample.repeated, &self.observer.observe(now));
        self.call(now, |instance| {
            instance.call_method1(intern!(instance.py(), "on_loss"), (told,)).map(drop)
        });
    }

    fn on_app_limited(&mut self, path: &Path) {
        self.observer.on_app_limited(path, self.decision.window);
    }

    fn on_undo(&mut self, before: Self, path: &Path) {
        let window = before.decision.window;
        self.call(path.now, |instance| instance.call_method1("on_undo", (window,)).map(drop));
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn fault(&self) -> Option<BreachKind> {
        self.instance.is_none().then_some(BreachKind::Raised)
    }
}
