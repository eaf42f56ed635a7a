//! Congestion controllers written in Python: their base class, and the adapter that senders use.

use crate::python_thread_state::KeptThreadState;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyNotImplementedError, PyOverflowError, PyPermissionError, PyTypeError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::delivery_rate::Stamp;
use thalweg_proto::congestion::event_accumulator::{Observation, Observer};
use thalweg_proto::congestion::interpreted_controller::Script;
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConnectionState, Controller as Contract, Decision, LossKind, LossSample,
    LostSample, SentSample,
};
use thalweg_proto::transport::ViolationKind;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_sim::external_agent::MAX_WINDOW;

/// Base class of congestion controllers. A subclass implements `on_ack` and `on_loss`, which set `window` and
/// `pacing_rate`.
#[pyclass(subclass, module = "thalweg")]
pub struct Controller {
    window: f64,
    pacing_rate: Option<f64>,
    /// Seed of the random numbers; `None` for a different sequence in each call.
    seed: Option<u64>,
    rng: Option<Py<PyAny>>,
    /// A factory has returned this instance for a flow.
    is_given: bool,
}

#[pymethods]
impl Controller {
    #[classattr]
    fn per_packet() -> bool {
        false
    }

    #[classattr]
    const fn ecn() -> Option<&'static str> {
        None
    }

    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn new(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        // The subclass handles the arguments.
        let _ = (args, kwargs);
        Self { window: 10.0, pacing_rate: None, seed: SEED.get(), rng: None, is_given: false }
    }

    /// The flow's own random number generator (`random.Random`), seeded from the run's seed.
    #[getter]
    fn rng<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(rng) = &self.rng {
            return Ok(rng.bind(py).clone());
        }
        let rng = py.import("random")?.getattr("Random")?.call1((self.seed,))?;
        self.rng = Some(rng.clone().unbind());
        Ok(rng)
    }

    /// Congestion window in segments, from 1 to 2^30; initially 10.
    #[getter]
    const fn window(&self) -> f64 {
        self.window
    }

    #[setter]
    fn set_window(&mut self, window: &Bound<'_, PyAny>) -> PyResult<()> {
        let found = extract_number(window, "window is a number of segments")?;
        if !(1.0..=MAX_WINDOW).contains(&found) {
            let shown = shown_number(window, found)?;
            let message = format!("window must lie from 1 to {MAX_WINDOW} segments, and {shown} does not");
            return Err(PyValueError::new_err(message));
        }
        self.window = found;
        Ok(())
    }

    /// Pacing rate of the payload in bit/s; None sends as soon as the window allows.
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
        let found = extract_number(rate, "pacing_rate is a number of bit/s, or None")?;
        if !(1.0..=MAX_RATE).contains(&found) {
            let shown = shown_number(rate, found)?;
            let message = format!(
                "pacing_rate must lie from 1 to {MAX_RATE:e} bit/s, and {shown} does not; None does not pace"
            );
            return Err(PyValueError::new_err(message));
        }
        self.pacing_rate = Some(found);
        Ok(())
    }

    /// Handles newly acknowledged data.
    fn on_ack(&mut self, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = sample;
        Err(PyNotImplementedError::new_err("a controller needs a method on_ack(self, sample)"))
    }

    /// Handles the first loss in a window of data, or the first congestion mark, by `sample.kind`.
    fn on_loss(&mut self, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = sample;
        Err(PyNotImplementedError::new_err("a controller needs a method on_loss(self, sample)"))
    }

    /// Handles a spurious loss; `window` is the value before it, and is restored unless this is overridden.
    fn on_undo(&mut self, window: f64) {
        self.window = self.window.max(window);
    }
}

/// Upper limit of pacing rates, beyond any link rate.
const MAX_RATE: f64 = 1e15;

/// Returns a number; an integer beyond the range of floating-point numbers is infinite.
fn extract_number(of: &Bound<'_, PyAny>, expected: &str) -> PyResult<f64> {
    let wrong_type = || {
        let kind = of.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{expected}, and not of type {kind}"))
    };
    if is_truth_or_time(of) {
        return Err(wrong_type());
    }
    of.extract().or_else(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(of.py()) {
            return Ok(if of.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        Err(wrong_type())
    })
}

/// Returns true for truth values, and for truth values and times of numpy: they convert to numbers.
fn is_truth_or_time(of: &Bound<'_, PyAny>) -> bool {
    // Controllers set most values as numbers of Python, at each packet.
    if of.is_instance_of::<PyFloat>() || of.is_exact_instance_of::<PyInt>() {
        return false;
    }
    let is_kind = |kind: Bound<'_, PyAny>| kind.extract::<String>().is_ok_and(|kind| "bmM".contains(&kind));
    of.is_instance_of::<PyBool>()
        || of
            .getattr(intern!(of.py(), "dtype"))
            .and_then(|dtype| dtype.getattr(intern!(of.py(), "kind")))
            .is_ok_and(is_kind)
}

/// Returns a number as shown in messages: an integer may have thousands of digits.
fn shown_number(of: &Bound<'_, PyAny>, number: f64) -> PyResult<String> {
    match number.is_infinite() && of.is_instance_of::<PyInt>() {
        true => Ok(format!("an integer of {} bits", of.call_method0("bit_length")?)),
        false => Ok(number.to_string()),
    }
}

/// Events at a sender since the last call of `on_ack`.
#[pyclass(frozen, get_all, module = "thalweg")]
pub struct Sample {
    /// "ack" in `on_ack`; in `on_loss` "detected", "timeout" or "mark".
    kind: &'static str,
    /// True if the timer had already expired for the same segment.
    repeated: bool,
    /// Current time in seconds.
    now: f64,
    /// Time since the last call of `on_ack` in seconds.
    interval: f64,
    /// Packets sent, including retransmissions.
    sent: u64,
    /// Packets newly acknowledged.
    acked: u64,
    /// Payload newly acknowledged, in bytes.
    acked_bytes: u64,
    /// Packets declared lost.
    lost: u64,
    /// Payload declared lost, in bytes.
    lost_bytes: u64,
    /// Packets that arrived with a congestion mark (CE).
    marks: u64,
    /// Mean of the measured round-trip times, in seconds.
    rtt: Option<f64>,
    /// Smoothed round-trip time in seconds.
    smoothed_rtt: Option<f64>,
    /// Minimum round-trip time so far in seconds.
    min_rtt: Option<f64>,
    /// Latest sample of the payload delivery rate in bit/s.
    delivery_rate: Option<f64>,
    /// Payload in flight, in segments.
    in_flight: f64,
    /// Payload of a full packet in bytes.
    segment: u32,
    /// True if the window was not the limit: the sample does not show the path's capacity.
    app_limited: bool,
    /// True during loss recovery, when the window should not grow.
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
    /// Seed of the instance under construction on this thread.
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

thread_local! {
    /// True while a candidate under evaluation is called on this thread.
    static IN_CANDIDATE: Cell<bool> = const { Cell::new(false) };
}

/// Threads on which controllers are being called, by Python's thread ids.
static CALLING_THREADS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

thread_local! {
    /// Python's id of this thread; zero until requested.
    static NAME: Cell<u64> = const { Cell::new(0) };
}

/// Guard for a controller call on this thread.
struct CallGuard(u64);

impl CallGuard {
    fn begin(py: Python<'_>) -> Self {
        if NAME.get() == 0 {
            let name = py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract());
            NAME.set(name.unwrap_or(0));
        }
        CALLING_THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(NAME.get());
        Self(NAME.get())
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut called = CALLING_THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = called.iter().rposition(|name| *name == self.0) {
            called.swap_remove(place);
        }
    }
}

/// Raises `KeyboardInterrupt` in all controllers that are being called.
pub fn interrupt_called(py: Python<'_>) -> PyResult<()> {
    let threads = CALLING_THREADS.lock().unwrap_or_else(PoisonError::into_inner).clone();
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

/// Returns true on a thread that is calling a candidate under evaluation.
#[pyfunction]
pub fn in_candidate() -> bool {
    IN_CANDIDATE.get()
}

/// Refuses simulations from a candidate under evaluation, which could otherwise simulate its own test.
pub fn refuse_candidates() -> PyResult<()> {
    if IN_CANDIDATE.get() {
        return Err(PyPermissionError::new_err("a candidate must not run simulations"));
    }
    Ok(())
}

/// Factory of a controller's instances, with the exceptions that they raised.
pub struct ControllerFactory {
    /// A class, or another callable that returns an instance.
    make: Py<PyAny>,
    /// The instances are under evaluation, and may only make decisions.
    is_candidate: bool,
    raised: Mutex<Vec<(Time, PyErr)>>,
    /// Instances that were used only for their first decision; the next flows reuse them.
    spare: Mutex<Vec<NewInstance>>,
    response: OnceLock<CeResponse>,
}

/// A new instance in its initial state.
struct NewInstance {
    object: Py<PyAny>,
    per_packet: bool,
    decision: Decision,
}

impl fmt::Debug for ControllerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maker").finish_non_exhaustive()
    }
}

impl ControllerFactory {
    pub const fn new(make: Py<PyAny>, is_candidate: bool) -> Self {
        Self {
            make,
            is_candidate,
            raised: Mutex::new(Vec::new()),
            spare: Mutex::new(Vec::new()),
            response: OnceLock::new(),
        }
    }

    /// Calls Python on this thread, flagged as a candidate under evaluation if it is one.
    fn attach<R>(&self, act: impl FnOnce(Python<'_>) -> R) -> R {
        let before = IN_CANDIDATE.replace(self.is_candidate);
        let done = Python::attach(|py| {
            let _called = CallGuard::begin(py);
            act(py)
        });
        IN_CANDIDATE.set(before);
        done
    }

    fn raise(&self, at: Time, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).push((at, error));
    }

    /// Returns the exceptions with their simulated times.
    pub fn take_raised(&self) -> Vec<(Time, PyErr)> {
        core::mem::take(&mut *self.raised.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a spare or new instance with this random seed.
    fn instance(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<NewInstance> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let made = match spare {
            // Its random numbers were drawn from another seed.
            Some(spare) if spare.object.bind(py).cast::<Controller>()?.borrow().rng.is_none() => spare,
            _ => self.made(py, seed)?,
        };
        made.object.bind(py).cast::<Controller>()?.borrow_mut().seed = seed;
        Ok(made)
    }

    fn made(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<NewInstance> {
        let before = SEED.replace(seed);
        let made = self.make.bind(py).call0();
        SEED.set(before);
        let made = made?;
        if !made.is_instance_of::<Controller>() {
            let kind = made.get_type().name()?;
            let message =
                format!("a controller must derive from thalweg.Controller, and this is of type {kind}");
            return Err(PyTypeError::new_err(message));
        }
        let per_packet = made.getattr("per_packet")?.is_truthy()?;
        let response = ce_response(&made)?;
        if *self.response.get_or_init(|| response) != response {
            let message = "all instances of a controller have the same `ecn`, and this one has another";
            return Err(PyValueError::new_err(message));
        }
        let decision = read_decision(&made)?;
        // With one instance for several flows, each flow would set the windows of the others.
        if core::mem::replace(&mut made.cast::<Controller>()?.borrow_mut().is_given, true) {
            let message = "a factory returns a new instance at each call, one for each flow, and this one returned an \
                           instance that it had returned before";
            return Err(PyValueError::new_err(message));
        }
        Ok(NewInstance { object: made.unbind(), per_packet, decision })
    }

    fn keep(&self, made: NewInstance) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(made);
    }
}

/// Returns an instance's response to CE, from its attribute `ecn`.
fn ce_response(instance: &Bound<'_, PyAny>) -> PyResult<CeResponse> {
    let ecn = instance.getattr("ecn")?;
    if ecn.is_none() {
        return Ok(CeResponse::None);
    }
    parse_codepoint(&ecn).map(|codepoint| match codepoint {
        Ecn::Ect1 => CeResponse::ControllerSpecific(codepoint),
        _ => CeResponse::AsToLoss,
    })
}

/// Returns the codepoint for "classic" or "l4s".
pub fn parse_codepoint(ecn: &Bound<'_, PyAny>) -> PyResult<Ecn> {
    match ecn.extract::<&str>() {
        Ok("classic") => Ok(Ecn::Ect0),
        Ok("l4s") => Ok(Ecn::Ect1),
        _ => {
            let message = format!(
                "ecn is None, \"classic\" (ECT(0), RFC 3168) or \"l4s\" (ECT(1), RFC 9331), and not {}",
                ecn.repr()?
            );
            Err(PyValueError::new_err(message))
        }
    }
}

impl Script for ControllerFactory {
    type Controller = ScriptedController;
    const LANGUAGE: &'static str = "python";

    fn response(&self) -> CeResponse {
        if let Some(response) = self.response.get() {
            return *response;
        }
        // A failing constructor reports its error when an instance is needed.
        if let Ok(made) = self.attach(|py| self.made(py, None)) {
            self.keep(made);
        }
        self.response.get().copied().unwrap_or_default()
    }

    fn controller(self: &Arc<Self>, seed: Option<u64>) -> ScriptedController {
        let mut scripted = ScriptedController {
            maker: Arc::clone(self),
            instance: None,
            per_packet: false,
            observer: Observer::default(),
            decision: Decision::window(1.0),
            attached: None,
        };
        match self.attach(|py| self.instance(py, seed)) {
            Ok(made) => {
                scripted.per_packet = made.per_packet;
                scripted.decision = made.decision;
                scripted.instance = Some(Arc::new(Instance {
                    instance: Some(made),
                    maker: Arc::clone(self),
                    is_used: AtomicBool::new(false),
                }));
            }
            Err(error) => self.raise(Time::ZERO, error),
        }
        scripted
    }
}

/// The instance of a flow. It returns to its factory if it never received an event.
struct Instance {
    /// `None` only while it is dropped.
    instance: Option<NewInstance>,
    maker: Arc<ControllerFactory>,
    is_used: AtomicBool,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(made) = self.instance.take().filter(|_| !self.is_used.load(Ordering::Relaxed)) {
            self.maker.keep(made);
        }
    }
}

/// Returns the window and the pacing rate of an instance.
fn read_decision(instance: &Bound<'_, PyAny>) -> PyResult<Decision> {
    let base = instance.cast::<Controller>()?.borrow();
    let pacing_rate = base.pacing_rate.map(|rate| Rate::from_bits_per_sec(rate as u64));
    Ok(Decision { pacing_rate, ..Decision::window(base.window) })
}

/// A controller whose rules are in Python. Copies share the instance.
#[derive(Clone, Debug)]
pub struct ScriptedController {
    maker: Arc<ControllerFactory>,
    /// `None` after it has raised an exception.
    instance: Option<Arc<Instance>>,
    per_packet: bool,
    observer: Observer,
    decision: Decision,
    /// Keeps Python's state of the last calling thread.
    attached: Option<Arc<KeptThreadState>>,
}

impl ScriptedController {
    /// Calls a method of the instance, and adopts its decision.
    fn call(&mut self, now: Time, act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(instance) = &self.instance else { return };
        let Some(made) = &instance.instance else { return };
        instance.is_used.store(true, Ordering::Relaxed);
        if !self.attached.as_ref().is_some_and(|attached| attached.is_here()) {
            self.attached = Some(Arc::new(KeptThreadState::here()));
        }
        let outcome = self.maker.attach(|py| {
            let instance = made.object.bind(py);
            act(instance)?;
            read_decision(instance)
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

impl Contract for ScriptedController {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.observer.on_sent(sample)
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        let round_ends = self.observer.on_ack(sample, stamp);
        if round_ends || self.per_packet {
            let now = sample.connection.now;
            let python_sample = Sample::new("ack", false, &self.observer.observe(now));
            self.observer.begin(now);
            self.call(now, |instance| {
                instance.call_method1(intern!(instance.py(), "on_ack"), (python_sample,)).map(drop)
            });
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
        self.observer.on_packet_lost(sample);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        let now = sample.connection.now;
        let kind = match sample.kind {
            LossKind::Detected => "detected",
            LossKind::Timeout => "timeout",
            LossKind::Mark => "mark",
        };
        self.observer.follow(&sample.connection);
        let python_sample = Sample::new(kind, sample.repeated, &self.observer.observe(now));
        self.call(now, |instance| {
            instance.call_method1(intern!(instance.py(), "on_loss"), (python_sample,)).map(drop)
        });
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        self.observer.on_app_limited(connection, self.decision.window);
    }

    fn on_undo(&mut self, saved: Self, connection: &ConnectionState) {
        let window = saved.decision.window;
        self.call(connection.now, |instance| instance.call_method1("on_undo", (window,)).map(drop));
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn fault(&self) -> Option<ViolationKind> {
        self.instance.is_none().then_some(ViolationKind::Raised)
    }
}
