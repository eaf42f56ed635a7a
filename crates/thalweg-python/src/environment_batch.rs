//! Batches of simulations that pause at their agents' decisions and advance together.

use crate::command_messages::{Message, convert_messages};
use crate::python_controller::{parse_codepoint, refuse_candidates};
use crate::thread_pool::Pool;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use thalweg::{CommandOutcome, PreparedRun, Registry, agent_groups, prepare};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::Decision;
use thalweg_proto::congestion::event_accumulator::Observation;
use thalweg_proto::units::{Duration, Rate};
use thalweg_sim::external_agent::{AGENT, Episode, Step, Stop, set_codepoint};
use thalweg_sim::simulation_spec::Spec;

/// Columns of the observations: the numbers of [`Observation`], then those of the decision, the path and the end. An unknown value is
/// NaN.
const COLUMNS: [&str; Observation::COLUMNS.len() + 5] = {
    let mut columns = [""; Observation::COLUMNS.len() + 5];
    let mut at = 0;
    while at < Observation::COLUMNS.len() {
        columns[at] = Observation::COLUMNS[at];
        at += 1;
    }
    [columns[at], columns[at + 1]] = ["window", "pacing_rate"];
    [columns[at + 2], columns[at + 3]] = ["path_rate", "path_rtt"];
    columns[at + 4] = "over";
    columns
};

/// Values of the last column: the episode continues, its time is over, or the agent's flow has ended.
const RUNNING: f64 = 0.0;
const TRUNCATED: f64 = 1.0;
const TERMINATED: f64 = 2.0;

/// Scenario of the episodes.
#[derive(Debug)]
struct Template {
    registry: Arc<Registry>,
    scenario: PathBuf,
    text: Option<String>,
    sets: Vec<String>,
    /// The scenario without further changes.
    plain: Arc<PreparedRun>,
    step: Step,
    /// ECN codepoint of agents' packets; `None` for the scenario's.
    codepoint: Option<Ecn>,
    interrupt: Interrupt,
}

/// Interrupt of a step by a signal, such as Ctrl-C.
#[derive(Debug, Default)]
struct Interrupt {
    is_set: AtomicBool,
    /// Exception of the signal's handler.
    raised: Mutex<Option<PyErr>>,
}

impl Interrupt {
    /// Handles pending signals; returns true if a handler has raised an exception. Python handles signals on its main thread only.
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone has a single lifetime")]
    fn poll(&self) -> bool {
        if !self.is_set.load(Ordering::Relaxed)
            && let Err(error) = Python::attach(|py| py.check_signals())
        {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.is_set.store(true, Ordering::Relaxed);
        }
        self.is_set.load(Ordering::Relaxed)
    }

    /// Returns the exception, and clears it.
    fn take(&self) -> Option<PyErr> {
        self.is_set.store(false, Ordering::Relaxed);
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Template {
    fn prepared(&self, further: &[String]) -> Result<Arc<PreparedRun>, CommandOutcome> {
        if further.is_empty() {
            return Ok(Arc::clone(&self.plain));
        }
        let sets = [self.sets.as_slice(), further].concat();
        prepare(&self.registry, &self.scenario, self.text.as_deref(), &sets).map(Arc::new)
    }

    fn begin(&self, further: &[String], seed: u64) -> Result<SimulationSlot, CommandOutcome> {
        let prepared = self.prepared(further)?;
        let mut spec = Spec { seed, ..prepared.spec.clone() };
        // Series are not read here.
        spec.measure.interval = None;
        if let Some(codepoint) = self.codepoint {
            set_codepoint(&mut spec, codepoint);
        }
        let groups = agent_groups(&spec);
        let episode = Episode::new(&spec, self.step).map_err(|error| error_result(&error))?;
        let paths = groups.into_iter().map(|group| prepared.paths.get(group).copied().flatten()).collect();
        Ok(SimulationSlot { episode, paths, is_over: false })
    }
}

fn error_result(error: &impl ToString) -> CommandOutcome {
    CommandOutcome::failed(2, &error.to_string())
}

/// One simulation.
#[derive(Debug)]
struct SimulationSlot {
    episode: Episode,
    /// For each agent: the bottleneck's rate and the round-trip time of the empty path.
    paths: Vec<Option<(Rate, Duration)>>,
    is_over: bool,
}

impl SimulationSlot {
    fn decide(&mut self, windows: &[f64], rates: &[f64], delay: Duration) -> Result<(), CommandOutcome> {
        // The flow of an agent without a window has not started.
        let decided = windows.iter().zip(rates).enumerate().filter(|(_, (window, _))| !window.is_nan());
        for (agent, (&window, &rate)) in decided {
            // A rate beyond the range saturates; a negative rate is ignored.
            let pacing_rate = (!rate.is_nan()).then(|| Rate::from_bits_per_sec(rate as u64));
            let decision = Decision { pacing_rate, ..Decision::window(window) };
            if !self.episode.decide(agent, decision, delay) {
                return Err(error_result(&format!(
                    "a window of {window} segments at {rate} bit/s is out of range: windows lie from 1 to 2^30"
                )));
            }
        }
        Ok(())
    }

    /// Advances to the next decision, unless a signal interrupts it: the episode is then incomplete.
    fn advance(&mut self, rows: &mut [f64], interrupt: &Interrupt) -> Result<(), CommandOutcome> {
        match self.episode.advance_unless(&|| interrupt.poll()) {
            Stop::DecisionDue => {}
            Stop::Interrupted => return Ok(()),
            Stop::Finished => self.is_over = true,
            Stop::Broken => {
                let error = self.episode.error().map(ToString::to_string).unwrap_or_default();
                return Err(CommandOutcome::failed(1, &error));
            }
        }
        for (agent, row) in rows.chunks_exact_mut(COLUMNS.len()).enumerate() {
            self.fill_row(agent, row);
        }
        Ok(())
    }

    fn fill_row(&mut self, agent: usize, row: &mut [f64]) {
        let (Some(seen), Some(decision)) = (self.episode.observe(agent), self.episode.decision(agent)) else {
            return;
        };
        let path = self.paths.get(agent).copied().flatten();
        let over = if self.is_over {
            TRUNCATED
        } else if self.episode.is_over(agent) {
            TERMINATED
        } else {
            RUNNING
        };
        let (of_observation, rest) = row.split_at_mut(Observation::COLUMNS.len());
        of_observation.copy_from_slice(&seen.numbers());
        rest.copy_from_slice(&[
            decision.window,
            decision.pacing_rate.map_or(f64::NAN, Rate::as_f64),
            path.map_or(f64::NAN, |path| path.0.as_f64()),
            path.map_or(f64::NAN, |path| path.1.as_secs_f64()),
            over,
        ]);
    }
}

/// Simulations that pause at their agents' decisions.
#[pyclass(frozen, module = "thalweg._thalweg")]
pub struct Environments {
    template: Arc<Template>,
    agents: usize,
    delay: Duration,
    state: Mutex<State>,
}

struct State {
    slots: Vec<Slot>,
    /// Latest observations, by simulation, agent and column.
    cells: Vec<f64>,
    pool: Pool<Task, (Task, Result<(), CommandOutcome>)>,
    template: Arc<Template>,
}

/// Slot of a simulation, with the latest observations of its agents.
#[derive(Debug, Default)]
struct Slot {
    place: Option<SimulationSlot>,
    rows: Vec<f64>,
}

/// Operation on a simulation.
struct Task {
    number: usize,
    slot: Slot,
    what: What,
}

enum What {
    Begin { seed: u64, changes: Vec<String> },
    GoOn { windows: Vec<f64>, rates: Vec<f64>, delay: Duration },
}

impl Task {
    fn perform(&mut self, template: &Template) -> Result<(), CommandOutcome> {
        let Self { slot: Slot { place, rows }, what, .. } = self;
        match what {
            What::Begin { seed, changes } => {
                *place = None;
                let mut begun = template.begin(changes, *seed)?;
                if begun.episode.agents() * COLUMNS.len() != rows.len() {
                    return Err(error_result(&"the changes add or remove agents"));
                }
                begun.advance(rows, &template.interrupt)?;
                *place = Some(begun);
                Ok(())
            }
            What::GoOn { windows, rates, delay } => match place {
                Some(place) if place.is_over => Ok(()),
                Some(place) => {
                    place.decide(windows, rates, *delay)?;
                    place.advance(rows, &template.interrupt)
                }
                None => Err(error_result(&"there is no episode to continue: begin a new one")),
            },
        }
    }
}

impl State {
    /// Raises the exception of a signal that interrupted the operation. Some simulations are within a step then, and others behind it: all
    /// have to begin again.
    fn raise_interrupt(&mut self) -> PyResult<()> {
        let Some(error) = self.template.interrupt.take() else { return Ok(()) };
        self.slots.iter_mut().for_each(|slot| slot.place = None);
        Err(error)
    }

    /// Performs the operations; returns the error of the first simulation that failed.
    fn perform(&mut self, tasks: Vec<(usize, What)>) -> Result<(), CommandOutcome> {
        let tasks = tasks.into_iter().map(|(number, what)| {
            let slot = core::mem::take(&mut self.slots[number]);
            Task { number, slot, what }
        });
        let tasks = tasks.collect();
        let mut first: Option<(usize, CommandOutcome)> = None;
        let template = &self.template;
        let poll = || {
            template.interrupt.poll();
        };
        for (Task { number, slot, .. }, outcome) in self.pool.all(tasks, poll) {
            let width = slot.rows.len();
            self.cells[number * width..(number + 1) * width].copy_from_slice(&slot.rows);
            self.slots[number] = slot;
            if let Err(called) = outcome
                && first.as_ref().is_none_or(|(other, _)| number < *other)
            {
                first = Some((number, called));
            }
        }
        first.map_or(Ok(()), |(_, called)| Err(called))
    }
}

/// Exit code and messages of a command; 0 and none on success.
type ExitStatus = (u8, Vec<Message>);

fn exit_status(done: Result<(), CommandOutcome>) -> ExitStatus {
    done.map_or_else(|called| (called.code, convert_messages(called.messages)), |()| (0, Vec::new()))
}

#[pymethods]
impl Environments {
    /// Reads a scenario; its warnings are among the messages. On failure returns the command's exit code and messages instead of the
    /// simulations.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    #[pyo3(signature = (scenario, text, sets, count, interval, longest, delay, jobs, ecn))]
    fn new(
        scenario: PathBuf,
        text: Option<String>,
        sets: Vec<String>,
        count: usize,
        interval: Option<f64>,
        longest: f64,
        delay: f64,
        jobs: Option<NonZeroUsize>,
        ecn: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Option<Self>, u8, Vec<Message>)> {
        refuse_candidates()?;
        let codepoint = ecn.map(parse_codepoint).transpose()?;
        let length = Duration::from_secs_f64;
        let step =
            interval.map_or_else(|| Step::RoundTrip(length(longest)), |span| Step::Interval(length(span)));
        let mut registry = Registry::default();
        registry.add_scheme(&AGENT);
        registry.accept_unitless_numbers();
        let registry = Arc::new(registry);
        let made = prepare(&registry, &scenario, text.as_deref(), &sets).and_then(|prepared| {
            let episode = Episode::new(&prepared.spec, step).map_err(|error| error_result(&error))?;
            let plain = Arc::new(prepared);
            let interrupt = Interrupt::default();
            Ok((
                episode.agents(),
                Template { registry, scenario, text, sets, plain, step, codepoint, interrupt },
            ))
        });
        let (agents, template) = match made {
            Ok(made) => made,
            Err(called) => return Ok((None, called.code, convert_messages(called.messages))),
        };
        let cells = count.checked_mul(agents * COLUMNS.len()).filter(|cells| *cells <= MAX_CELLS);
        let Some(cells) = cells else {
            let most = MAX_CELLS / (agents * COLUMNS.len()).max(1);
            let called = error_result(&format!(
                "num_envs={count}: at most {most} simulations of this scenario are possible"
            ));
            return Ok((None, called.code, convert_messages(called.messages)));
        };
        let warnings = convert_messages(template.plain.messages.clone());
        let jobs = jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let template = Arc::new(template);
        let shared = Arc::clone(&template);
        let pool = Pool::new(jobs.min(count).saturating_sub(1), move |mut task: Task| {
            let outcome = task.perform(&shared);
            (task, outcome)
        });
        let slot = || Slot { place: None, rows: vec![0.0; agents * COLUMNS.len()] };
        let slots = core::iter::repeat_with(slot).take(count).collect();
        let state =
            Mutex::new(State { slots, cells: vec![0.0; cells], pool, template: Arc::clone(&template) });
        let made = Self { template, agents, delay: length(delay), state };
        Ok((Some(made), 0, warnings))
    }

    /// Column names of the observations.
    #[classattr]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    /// Names of the agents in each simulation.
    #[getter]
    fn names(&self) -> Vec<&str> {
        let groups = &self.template.plain.spec.groups;
        agent_groups(&self.template.plain.spec).into_iter().map(|group| groups[group].name.as_str()).collect()
    }

    /// Begins new episodes of some simulations, each with its seed and scenario changes, and advances to the first
    /// decision.
    fn reset(
        &self,
        py: Python<'_>,
        which: Vec<usize>,
        seeds: Vec<u64>,
        changes: Vec<Vec<String>>,
        seen: &Bound<'_, PyAny>,
    ) -> PyResult<ExitStatus> {
        if which.len() != seeds.len() || which.len() != changes.len() {
            return Err(PyValueError::new_err("each simulation has one seed and one list of changes"));
        }
        let mut state = self.state()?;
        let state = &mut *state;
        let mut tasks: BTreeMap<usize, What> = BTreeMap::new();
        for ((number, seed), changes) in which.into_iter().zip(seeds).zip(changes) {
            if number >= state.slots.len() {
                return Err(PyIndexError::new_err(format!("there is no simulation {number}")));
            }
            tasks.insert(number, What::Begin { seed, changes });
        }
        let done = py.detach(|| state.perform(tasks.into_iter().collect()));
        state.raise_interrupt()?;
        PyBuffer::<f64>::get(seen)?.copy_from_slice(py, &state.cells)?;
        Ok(exit_status(done))
    }

    /// Begins a new episode of the only simulation, with one agent, and returns its observation in the order of the
    /// columns.
    fn reset_one(
        &self,
        py: Python<'_>,
        seed: u64,
        changes: Vec<String>,
    ) -> PyResult<(Vec<f64>, u8, Vec<Message>)> {
        self.one(py, What::Begin { seed, changes })
    }

    /// Returns the duration of an episode with these changes, its warm-up and the round-trip time of the first agent's
    /// empty path, in seconds; on failure, the command's exit code and messages.
    #[expect(clippy::type_complexity, reason = "Python takes it apart")]
    #[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
    fn length(
        &self,
        py: Python<'_>,
        changes: Vec<String>,
    ) -> PyResult<(Option<(f64, f64, Option<f64>)>, u8, Vec<Message>)> {
        let prepared = match py.detach(|| self.template.prepared(&changes)) {
            Ok(prepared) => prepared,
            Err(called) => return Ok((None, called.code, convert_messages(called.messages))),
        };
        let spec = &prepared.spec;
        let path = agent_groups(spec).first().and_then(|&group| prepared.paths.get(group).copied().flatten());
        let rtt = path.map(|(_, rtt)| rtt.as_secs_f64());
        Ok((Some((spec.duration.as_secs_f64(), spec.warmup.as_secs_f64(), rtt)), 0, Vec::new()))
    }

    /// Applies the decision of the only agent, and advances to the next one.
    fn step_one(&self, py: Python<'_>, window: f64, rate: f64) -> PyResult<(Vec<f64>, u8, Vec<Message>)> {
        self.one(py, What::GoOn { windows: vec![window], rates: vec![rate], delay: self.delay })
    }

    /// Applies each agent's window, in segments, and pacing rate, in bit/s or NaN, and advances to the next decision.
    /// Ended simulations stay unchanged, as do those in `begun`, whose episodes have just begun.
    #[expect(clippy::needless_pass_by_value, reason = "Python gives its values away")]
    fn step(
        &self,
        py: Python<'_>,
        windows: &Bound<'_, PyAny>,
        rates: &Bound<'_, PyAny>,
        begun: Vec<usize>,
        seen: &Bound<'_, PyAny>,
    ) -> PyResult<ExitStatus> {
        let numbers = |of| PyBuffer::<f64>::get(of)?.to_vec(py);
        let (windows, rates) = (numbers(windows)?, numbers(rates)?);
        let mut state = self.state()?;
        let state = &mut *state;
        let (agents, delay) = (self.agents, self.delay);
        let wanted = state.slots.len() * agents;
        if windows.len() != wanted || rates.len() != wanted {
            return Err(PyValueError::new_err(format!(
                "{wanted} windows and rates are expected, one per agent"
            )));
        }
        let decisions = windows.chunks_exact(agents).zip(rates.chunks_exact(agents));
        let continued = decisions.enumerate().filter(|(number, _)| begun.binary_search(number).is_err());
        let tasks = continued.map(|(number, (windows, rates))| {
            (number, What::GoOn { windows: windows.to_vec(), rates: rates.to_vec(), delay })
        });
        let tasks = tasks.collect();
        let done = py.detach(|| state.perform(tasks));
        state.raise_interrupt()?;
        PyBuffer::<f64>::get(seen)?.copy_from_slice(py, &state.cells)?;
        Ok(exit_status(done))
    }
}

/// Maximum number of cells: one gigabyte.
const MAX_CELLS: usize = 1 << 27;

impl Environments {
    fn one(&self, py: Python<'_>, what: What) -> PyResult<(Vec<f64>, u8, Vec<Message>)> {
        let mut state = self.state()?;
        if state.slots.len() != 1 || self.agents != 1 {
            return Err(PyValueError::new_err("there are several agents"));
        }
        let template = &self.template;
        let mut task = Task { number: 0, slot: core::mem::take(&mut state.slots[0]), what };
        let done = py.detach(|| task.perform(template));
        state.cells.copy_from_slice(&task.slot.rows);
        let seen = task.slot.rows.clone();
        state.slots[0] = task.slot;
        state.raise_interrupt()?;
        let (code, messages) = exit_status(done);
        Ok((seen, code, messages))
    }

    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        // Blocking here while holding Python's lock could deadlock with a thread that waits for that lock.
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(after)) => Ok(after.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("another thread is advancing these simulations"))
            }
        }
    }
}
