//! Executes the runs of a sweep.

use crate::batch_codec::{Response, Task};
use crate::differing_defaults::{add_missing_entries, differing_defaults};
use crate::program_identity::Program;
use crate::remote_client::{Engine, EngineError};
use crate::run_catching_failures::{SimulationOutcome, simulate_catching_panics};
use crate::run_store::{Store, StoreError};
use crate::sweep_points::{Factor, Plan, PlanError};
use core::fmt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as WallTime;
use thalweg_report::parallel_batch;
use thalweg_report::results::{DifferingDefault, Goal, MIN_RUNS, Run};
use thalweg_scenario::{Diagnostic, LoadedScenario, PlacedText, SchemeOverride, SweepFile, group_named};
use thalweg_sim::simulation_spec::Spec;

/// Reads the sweep's scenario with changes as in `--set`, optionally with another scheme for some flows.
pub type Load<'a> =
    dyn Fn(&[String], Option<SchemeOverride<'_>>) -> Result<LoadedScenario, LoadError> + Sync + 'a;

/// Error of loading a scenario.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// Invalid scenario.
    Scenario(Vec<Diagnostic>),
    /// Scenario not accessible.
    Other(String),
}

/// Error that prevents the whole sweep.
#[derive(Debug)]
pub enum SweepError {
    /// Invalid sweep file or scenario.
    Scenario(Vec<Diagnostic>),
    /// Error of the operating system.
    Other(String),
}

/// Error that ended a sweep early.
#[derive(Debug)]
pub enum Unfinished {
    /// A run could not be saved.
    Store(StoreError),
    /// The engine that executes the runs was lost.
    Engine(EngineError),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Unfinished {}

/// Number of runs per point.
#[derive(Clone, Debug)]
pub enum Budget {
    /// Fixed number of runs.
    Runs(u32),
    /// Runs until the confidence interval is narrow enough, up to this maximum.
    Until(Goal, u32),
}

impl Budget {
    /// Returns the maximum number of runs per point.
    pub const fn max(&self) -> u32 {
        match self {
            Self::Runs(max) | Self::Until(_, max) => *max,
        }
    }
}

/// Input of a sweep, known before the first run.
pub struct Sweep<'a> {
    /// Sweep file.
    pub file: &'a SweepFile,
    /// Points.
    pub plan: Plan,
    /// Number of runs per point.
    pub budget: Budget,
    /// First seed of every point.
    pub seed: u64,
    /// Index of this process, from 0, and the number of processes that share the points.
    pub shard: (u32, u32),
    /// Number of concurrent runs.
    pub threads: usize,
    /// Program that executes the runs.
    pub program: &'a Program,
    /// Memory available to all concurrent runs, if known.
    pub memory: Option<u64>,
    /// Stop flag.
    pub stop: Arc<AtomicBool>,
    /// Names of the groups that results cover; empty for all flows.
    pub compared: Vec<String>,
    load: &'a Load<'a>,
    flows: Vec<usize>,
    /// Cache of recently used points: consecutive runs often share a point.
    recent: Mutex<VecDeque<(usize, Result<PreparedPoint, Failure>)>>,
}

/// Point ready to run.
#[derive(Clone, Debug)]
struct PreparedPoint {
    spec: Arc<Spec>,
    expanded: Arc<str>,
}

/// Failure of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Seed of the failed run; none if no run could start.
    pub seed: Option<u64>,
    /// Description, as a sentence or a diagnostic.
    pub why: String,
}

/// Result of a point.
#[derive(Clone, Debug, Default)]
pub struct PointResult {
    /// Names of its runs in the store, by seed.
    pub runs: Vec<(u64, String)>,
    /// True if all of its runs are complete.
    pub is_finished: bool,
    /// Failure that prevents some of its runs.
    pub failure: Option<Failure>,
    /// True if the requested confidence interval was reached; none without a request.
    pub goal_reached: Option<bool>,
}

/// Progress so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Number of finished runs, failed ones included.
    pub finished_runs: usize,
    /// Number of all runs, as far as known.
    pub total: usize,
    /// Number of runs in `finished_runs` that the store already had.
    pub stored_runs: usize,
    /// Number of runs in `finished_runs` that failed.
    pub failed: usize,
}

/// Outcome of one run.
enum Outcome {
    Kept { name: String, was_there: bool },
    Failed(Failure),
    Stopped,
    CannotKeep(StoreError),
}

/// State of a run before execution.
enum RunState {
    /// Nothing left to execute.
    Done(Outcome),
    /// Run to execute, with its name in the store.
    Pending(String, PreparedPoint),
}

impl<'a> Sweep<'a> {
    /// Creates the sweep of `file`; `load` reads its scenario.
    ///
    /// # Errors
    ///
    /// The scenario itself is invalid, or there are too many points.
    pub fn new(
        file: &'a SweepFile,
        load: &'a Load<'a>,
        (budget, program): (Budget, &'a Program),
        stop: Arc<AtomicBool>,
    ) -> Result<Self, SweepError> {
        let plan = Plan::from_file(file).map_err(|error: PlanError| {
            SweepError::Scenario(vec![file.error(0..0, error.to_string(), None)])
        })?;
        let sets: Vec<String> = file.sets.iter().map(|set| set.text.clone()).collect();
        let loaded = load(&sets, None).map_err(|error| match error {
            LoadError::Scenario(found) => {
                SweepError::Scenario(found.iter().map(|one| placed_set(file, one)).collect())
            }
            LoadError::Other(why) => SweepError::Other(why),
        })?;
        let seed = file.seed.unwrap_or(loaded.spec().seed);
        if seed.checked_add(u64::from(budget.max())).is_none() {
            return Err(SweepError::Other(format!("seeds from {seed} on: the last ones are too large")));
        }
        let flows = replaced_flows(file, &loaded)?;
        let compared = compared_groups(file, &plan, &loaded);
        Ok(Self {
            file,
            plan,
            budget,
            seed,
            shard: (0, 1),
            threads: 1,
            program,
            memory: None,
            stop,
            compared,
            load,
            flows,
            recent: Mutex::default(),
        })
    }

    /// Returns the point's changes to the scenario.
    pub fn sets(&self, point: usize) -> Vec<String> {
        let of = |(number, factor): (usize, &Factor)| {
            format!("{}={}", factor.key.text, self.plan.level(point, number).toml)
        };
        let factors = self.plan.factors.iter().enumerate().filter(|(_, factor)| !factor.is_scheme());
        self.file.sets.iter().map(|set| set.text.clone()).chain(factors.map(of)).collect()
    }

    /// Returns the scheme that overrides that of the point's flows.
    pub fn scheme(&self, point: usize) -> Option<&str> {
        let number = self.plan.factors.iter().position(Factor::is_scheme)?;
        Some(&self.plan.level(point, number).toml)
    }

    /// Finds options whose defaults differ between varied schemes, at a sample of the points.
    pub fn differing_defaults(&self) -> Vec<DifferingDefault> {
        let mut all = Vec::new();
        let factors = self.plan.factors.iter().enumerate();
        for (number, _) in
            factors.filter(|(_, factor)| factor.is_scheme() || factor.key.text.ends_with(".scheme"))
        {
            let others = |point: usize| {
                let mut values = self.plan.points[point].clone();
                values[number] = 0;
                values
            };
            // Sample evenly over the plan, as settings may differ between points.
            let count = self.plan.points.len();
            let mut seen = BTreeSet::new();
            for first in (0..MAX_SAMPLED).map(|part| part * count / MAX_SAMPLED) {
                if !seen.insert(others(first)) {
                    continue;
                }
                let alike = (0..count).filter(|&point| others(point) == others(first)).take(MAX_SCHEMES);
                let loaded = alike.filter_map(|point| {
                    Some((self.plan.level(point, number).unquoted(), self.load(point).ok()?.schemes))
                });
                add_missing_entries(&mut all, differing_defaults(&loaded.collect::<Vec<_>>()));
            }
        }
        all
    }

    pub(crate) fn load(&self, point: usize) -> Result<LoadedScenario, LoadError> {
        let scheme_override = self.scheme(point).map(|scheme| SchemeOverride { scheme, flows: &self.flows });
        (self.load)(&self.sets(point), scheme_override)
    }

    /// Checks that the scenario accepts every value.
    ///
    /// # Errors
    ///
    /// Values that no point can run with, each with its position in the file; or an error of all points.
    pub fn check(&self) -> Result<(), SweepError> {
        let mut faults: Vec<Diagnostic> = Vec::new();
        let (mut can_run, mut other) = (self.plan.factors.is_empty(), None);
        for (number, factor) in self.plan.factors.iter().enumerate() {
            let levels = if factor.is_drawn_from_range() { 1 } else { factor.levels.len().min(MAX_CHECKED) };
            for level in 0..levels as u32 {
                let with = |point: &usize| self.plan.points[*point][number] == level;
                let points = (0..self.plan.points.len()).filter(with).take(MAX_TRIES);
                let mut first = None;
                for point in points {
                    let matching = match self.load(point) {
                        Ok(_) => {
                            can_run = true;
                            None
                        }
                        Err(LoadError::Other(why)) => return Err(SweepError::Other(why)),
                        Err(LoadError::Scenario(found)) => {
                            let matching =
                                found.iter().filter_map(|one| self.place_diagnostic(point, number, one));
                            let matching =
                                Some(matching.collect::<Vec<_>>()).filter(|matching| !matching.is_empty());
                            other.get_or_insert(found);
                            matching
                        }
                    };
                    // An error of only some points is reported with these points.
                    let Some(matching) = matching else {
                        first = None;
                        break;
                    };
                    first.get_or_insert(matching);
                }
                for one in first.into_iter().flatten() {
                    if !faults.contains(&one) && faults.len() < MAX_FAULTS {
                        faults.push(one);
                    }
                }
            }
        }
        match other.filter(|_| faults.is_empty() && !can_run) {
            Some(other) => Err(SweepError::Scenario(other)),
            None if faults.is_empty() => Ok(()),
            None => Err(SweepError::Scenario(faults)),
        }
    }

    /// Maps a point's diagnostic about its value of a factor to the position in the sweep file.
    fn place_diagnostic(&self, point: usize, number: usize, found: &Diagnostic) -> Option<Diagnostic> {
        let argument = found.file().strip_prefix("--set ")?.parse::<usize>().ok()?;
        let matching = argument.checked_sub(self.file.sets.len() + 1)?;
        let plain = self
            .plan
            .factors
            .iter()
            .enumerate()
            .filter(|(_, factor)| !factor.is_scheme())
            .map(|(number, _)| number);
        let plain: Vec<usize> = plain.collect();
        let (factor, level) = (&self.plan.factors[number], self.plan.level(point, number));
        let is_of_factor = match plain.get(matching) {
            Some(factor) => *factor == number,
            None => factor.is_scheme(),
        };
        let value = PlacedText { text: level.toml.clone(), place: level.place.clone() };
        let at_level = || Diagnostic {
            source: Arc::clone(&self.file.source),
            span: level.place.clone(),
            ..found.clone()
        };
        let in_key = found.span.start <= factor.key.text.len() && !factor.is_scheme();
        is_of_factor.then(|| {
            if level.is_literal || in_key { self.file.placed(found, &factor.key, &value) } else { at_level() }
        })
    }

    /// Executes the runs missing from `store`, locally or through an engine. `tick` is called several times a second.
    /// The outcome does not depend on threads or engines.
    ///
    /// # Errors
    ///
    /// A run could not be saved, or the engine was lost; no run starts after that.
    pub fn run(
        &self,
        store: &Store,
        mut engine: Option<&mut Engine<'_>>,
        mut tick: impl FnMut(Status),
    ) -> Result<Vec<PointResult>, Unfinished> {
        let mut made: Vec<PointResult> = vec![PointResult::default(); self.plan.points.len()];
        let (shard, shards) = (self.shard.0 as usize, self.shard.1.max(1) as usize);
        let mut open: Vec<usize> = (0..made.len()).filter(|point| point % shards == shard).collect();
        let first = match self.budget {
            Budget::Runs(runs) => runs,
            Budget::Until(_, max) => max.min(MIN_RUNS as u32),
        };
        let mut status = Status::default();
        let mut runs = first;
        while !open.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let jobs: Vec<(usize, u64)> = open
                .iter()
                .flat_map(|&point| {
                    let had = made[point].runs.len() as u64;
                    (had..u64::from(runs)).map(move |run| (point, self.seed + run))
                })
                .collect();
            status.total = status.finished_runs + jobs.len();
            tick(status);
            let mut failed = None;
            let now = Mutex::new(status);
            let each = |number: usize, outcome| {
                let (point, seed) = jobs[number];
                let mut status = now.lock().unwrap_or_else(PoisonError::into_inner);
                let made: &mut PointResult = &mut made[point];
                match outcome {
                    Outcome::Kept { name, was_there } => {
                        status.stored_runs += usize::from(was_there);
                        made.runs.push((seed, name));
                    }
                    Outcome::Failed(failure) => {
                        status.failed += 1;
                        made.failure.get_or_insert(failure);
                    }
                    Outcome::Stopped => return,
                    Outcome::CannotKeep(error) => {
                        failed.get_or_insert(error);
                        return;
                    }
                }
                status.finished_runs += 1;
            };
            let show = || tick(*now.lock().unwrap_or_else(PoisonError::into_inner));
            match engine.as_deref_mut() {
                Some(engine) => {
                    self.run_on_engine(&jobs, store, engine, each, show).map_err(Unfinished::Engine)?;
                }
                None => {
                    let work = |number: usize| self.make(jobs[number], store);
                    parallel_batch::run_parallel(jobs.len(), self.threads, &self.stop, work, each, show);
                }
            }
            status = now.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some(error) = failed {
                return Err(Unfinished::Store(error));
            }
            if self.stop.load(Ordering::Relaxed) {
                self.close(&mut made, &open, runs);
                break;
            }
            open = self.unfinished(&mut made, &open, runs, store);
            runs = (runs + (runs / 2).max(1)).min(self.budget.max());
        }
        tick(status);
        Ok(made)
    }

    /// Marks points that had all of their runs when the sweep was interrupted.
    fn close(&self, made: &mut [PointResult], open: &[usize], runs: u32) {
        for &point in open {
            let is_fixed = matches!(self.budget, Budget::Runs(_));
            made[point].is_finished = is_fixed && made[point].runs.len() == runs as usize;
        }
    }

    /// Checks points with `runs` runs and returns the unfinished ones. The number of runs per point is the same as in
    /// sequential execution.
    fn unfinished(&self, made: &mut [PointResult], open: &[usize], runs: u32, store: &Store) -> Vec<usize> {
        let mut more = Vec::new();
        for &point in open {
            let of = &mut made[point];
            if of.failure.is_some() {
                continue;
            }
            let Budget::Until(goal, max) = &self.budget else {
                of.is_finished = true;
                continue;
            };
            let max = *max;
            let all: Vec<Run> = of.runs.iter().filter_map(|(_, name)| store.get(name)).collect();
            let enough = (MIN_RUNS.min(max as usize)..=all.len()).find(|&count| {
                let widest = goal.widest(&[("", &all[..count])]);
                widest.is_none_or(|widest| widest.share <= goal.share)
            });
            if let Some(enough) = enough {
                let is_known = goal.widest(&[("", &all[..enough])]).is_some();
                of.runs.truncate(enough);
                (of.is_finished, of.goal_reached) = (true, Some(is_known));
            } else if runs < max {
                more.push(point);
            } else {
                (of.is_finished, of.goal_reached) = (true, Some(false));
            }
        }
        more
    }

    /// Returns the simulation of a point, with the scenario's seed.
    ///
    /// # Errors
    ///
    /// The failure of the point.
    pub fn spec(&self, point: usize) -> Result<Arc<Spec>, Failure> {
        self.prepare_point(point).map(|prepared| prepared.spec)
    }

    fn prepare_point(&self, point: usize) -> Result<PreparedPoint, Failure> {
        let lock = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = lock().iter().find(|(other, _)| *other == point) {
            return known.clone();
        }
        let prepared = self.prepare(point);
        let mut recent = lock();
        recent.push_front((point, prepared.clone()));
        recent.truncate(self.threads.max(1) + 1);
        prepared
    }

    fn prepare(&self, point: usize) -> Result<PreparedPoint, Failure> {
        let fail = |why: String| Failure { seed: None, why };
        let loaded = self.load(point).map_err(|error| match error {
            LoadError::Scenario(found) => {
                let placed = |one: &Diagnostic| {
                    let factors = 0..self.plan.factors.len();
                    let matching =
                        factors.filter_map(|number| self.place_diagnostic(point, number, one)).next();
                    matching.unwrap_or_else(|| placed_set(self.file, one)).render().trim_end().to_owned()
                };
                fail(found.iter().take(3).map(placed).collect::<Vec<_>>().join("\n"))
            }
            LoadError::Other(why) => fail(why),
        })?;
        let spec = loaded.spec();
        if spec.warmup >= spec.duration {
            let (warmup, duration) = (spec.warmup, spec.duration);
            return Err(fail(format!("the warm-up ({warmup}) is not shorter than the run ({duration})")));
        }
        let memory = self.memory.map(|memory| memory / self.threads.max(1) as u64);
        if let Some(error) = memory.and_then(|memory| loaded.check_memory(memory)) {
            return Err(fail(error.render().trim_end().to_owned()));
        }
        Ok(PreparedPoint { expanded: loaded.expanded().into(), spec: Arc::new(loaded.scenario.spec) })
    }

    /// Checks whether the store has a run.
    fn find_run(&self, (point, seed): (usize, u64), store: &Store) -> RunState {
        let prepared = match self.prepare_point(point) {
            Ok(prepared) => prepared,
            Err(failure) => return RunState::Done(Outcome::Failed(failure)),
        };
        let name = Store::name(&self.program.build, &prepared.expanded, seed);
        if store.is_complete_run(&name, seed) {
            return RunState::Done(Outcome::Kept { name, was_there: true });
        }
        RunState::Pending(name, prepared)
    }

    /// Saves a completed run.
    fn keep(&self, name: String, seed: u64, run: &Run, store: &Store) -> Outcome {
        match store.put(&name, run) {
            Ok(()) if run.conservation.holds => Outcome::Kept { name, was_there: false },
            Ok(()) => {
                failed_outcome(seed, "packets are not conserved, which is a bug in the simulator".to_owned())
            }
            Err(error) => {
                self.stop.store(true, Ordering::Relaxed);
                Outcome::CannotKeep(error)
            }
        }
    }

    fn make(&self, job: (usize, u64), store: &Store) -> Outcome {
        let (name, prepared) = match self.find_run(job, store) {
            RunState::Done(outcome) => return outcome,
            RunState::Pending(name, prepared) => (name, prepared),
        };
        match simulate_catching_panics(&prepared.spec, job.1, &self.stop) {
            SimulationOutcome::Made(run) => self.keep(name, job.1, &run, store),
            SimulationOutcome::Failed(why) => failed_outcome(job.1, why),
            SimulationOutcome::Stopped => Outcome::Stopped,
        }
    }

    /// Executes jobs through an engine. `each` receives the outcomes in job order, on this thread.
    fn run_on_engine(
        &self,
        jobs: &[(usize, u64)],
        store: &Store,
        engine: &mut Engine<'_>,
        mut each: impl FnMut(usize, Outcome),
        mut show: impl FnMut(),
    ) -> Result<(), EngineError> {
        let (mut next, mut due) = (0, 0);
        // Names of the runs in progress, and early outcomes of jobs after the next one due.
        let mut in_progress: BTreeMap<usize, String> = BTreeMap::new();
        let mut early: BTreeMap<usize, Outcome> = BTreeMap::new();
        while (next < jobs.len() || !engine.is_idle()) && !self.stop.load(Ordering::Relaxed) {
            if next < jobs.len() && engine.can_enqueue() {
                let count = JOBS_PER_POLL.min(jobs.len() - next);
                let unfinished = |number: usize| self.find_run(jobs[next + number], store);
                let found = |number: usize, found| match found {
                    RunState::Done(outcome) => drop(early.insert(next + number, outcome)),
                    RunState::Pending(name, prepared) => {
                        let number = next + number;
                        in_progress.insert(number, name);
                        engine.enqueue(Task { number, scenario: prepared.expanded, seed: jobs[number].1 });
                    }
                };
                parallel_batch::run_parallel(count, self.threads, &self.stop, unfinished, found, &mut show);
                next += count;
            }
            // Do not wait for runs in progress while jobs remain to be checked.
            let timeout =
                if next < jobs.len() && engine.can_enqueue() { WallTime::ZERO } else { POLL_TIMEOUT };
            let answers: Vec<(usize, String, Response)> = engine
                .poll(jobs.len() - next, timeout)?
                .into_iter()
                .filter_map(|(number, answer)| Some((number, in_progress.remove(&number)?, answer)))
                .collect();
            let take = |at: usize| {
                let (number, name, answer) = &answers[at];
                (*number, self.save_received_run(name, jobs[*number].1, answer, store))
            };
            // Save received runs even after a stop request.
            let go_on = AtomicBool::new(false);
            let taken = |_, (number, outcome)| drop(early.insert(number, outcome));
            parallel_batch::run_parallel(answers.len(), self.threads, &go_on, take, taken, || ());
            while let Some(outcome) = early.remove(&due) {
                each(due, outcome);
                due += 1;
            }
            show();
        }
        early.into_iter().for_each(|(number, outcome)| each(number, outcome));
        Ok(())
    }

    /// Saves a run received from an engine.
    fn save_received_run(&self, name: &str, seed: u64, answer: &Response, store: &Store) -> Outcome {
        let bytes = match answer {
            Response::Failed(why) => return failed_outcome(seed, why.clone()),
            Response::Completed(bytes) => bytes,
        };
        match serde_json::from_slice::<Run>(bytes) {
            Ok(run) if run.complete && run.seed == seed => self.keep(name.to_owned(), seed, &run, store),
            Ok(run) => failed_outcome(seed, format!("the worker returned another run, of seed {}", run.seed)),
            Err(error) => failed_outcome(seed, format!("the worker returned no valid run: {error}")),
        }
    }
}

fn failed_outcome(seed: u64, why: String) -> Outcome {
    Outcome::Failed(Failure { seed: Some(seed), why })
}

/// Number of jobs checked between two polls of the engine.
const JOBS_PER_POLL: usize = 256;
/// Timeout of a poll of the engine.
const POLL_TIMEOUT: WallTime = WallTime::from_millis(50);

/// Returns the indices, from 1, of the flows that the file's schemes apply to.
fn replaced_flows(file: &SweepFile, loaded: &LoadedScenario) -> Result<Vec<usize>, SweepError> {
    if file.flows.is_empty() {
        return Ok(loaded.compared_flows());
    }
    let place = |wanted: &PlacedText| {
        group_named(loaded.spec(), &wanted.text).map_err(|why| file.error(wanted.place.clone(), why, None))
    };
    let (found, faults): (Vec<_>, Vec<_>) = file.flows.iter().map(place).partition(Result::is_ok);
    let faults: Vec<Diagnostic> = faults.into_iter().filter_map(Result::err).collect();
    if faults.is_empty() {
        Ok(found.into_iter().flatten().collect())
    } else {
        Err(SweepError::Scenario(faults))
    }
}

/// Returns the groups covered by the results: the groups of `flows`, or the single group with varied keys. Empty if
/// that is all groups.
fn compared_groups(file: &SweepFile, plan: &Plan, loaded: &LoadedScenario) -> Vec<String> {
    let groups = &loaded.spec().groups;
    let varied = || {
        let keys = plan.factors.iter().filter(|factor| !factor.is_scheme()).map(|factor| &factor.key.text);
        let of_flows = keys.filter_map(|key| key.strip_prefix("flow."));
        let named = of_flows.map(|rest| {
            groups.iter().zip(1..).find(|(group, position): &(_, usize)| {
                let of = |name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
                of(&group.name) || of(&format!("\"{}\"", group.name)) || of(&position.to_string())
            })
        });
        let names: BTreeSet<Option<&str>> =
            named.map(|found| found.map(|(group, _)| group.name.as_str())).collect();
        match names.into_iter().collect::<Vec<_>>().as_slice() {
            // If schemes for all flows are varied too, results cover all flows.
            [Some(one)] if plan.factors.iter().all(|factor| !factor.is_scheme()) => vec![(*one).to_owned()],
            _ => Vec::new(),
        }
    };
    let matching = match file.flows.as_slice() {
        [] => varied(),
        flows => flows.iter().map(|flows| flows.text.clone()).collect(),
    };
    if groups.iter().all(|group| matching.contains(&group.name)) { Vec::new() } else { matching }
}

/// Maps a diagnostic about a change of all points to its position in the file.
fn placed_set(file: &SweepFile, found: &Diagnostic) -> Diagnostic {
    let number = found.file().strip_prefix("--set ").and_then(|number| number.parse::<usize>().ok());
    let Some(set) = number.and_then(|number| file.sets.get(number.checked_sub(1)?)) else {
        return found.clone();
    };
    Diagnostic { source: Arc::clone(&file.source), span: set.place.clone(), ..found.clone() }
}

/// Maximum number of points searched for options with different defaults.
const MAX_SAMPLED: usize = 4;
/// Maximum number of scheme values in that search.
const MAX_SCHEMES: usize = 64;
/// Maximum number of values of a factor checked in advance.
const MAX_CHECKED: usize = 1000;
/// Maximum number of points tried with one value before it is reported as invalid.
const MAX_TRIES: usize = 8;
/// Maximum number of errors reported at once.
const MAX_FAULTS: usize = 20;

impl fmt::Debug for Sweep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweep").field("plan", &self.plan).field("seed", &self.seed).finish_non_exhaustive()
    }
}
