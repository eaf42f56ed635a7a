//! Preparation of a paper's runs from its plan, and collection of results.

use super::Paper;
use super::experiment_plan::{Plan, ShortRuns};
use super::experiment_runs::{Case, CaseRuns, Runs};
use super::paper_results::{ExperimentResults, Results, Row};
use super::published_values::{Experiment, PublishedValues};
use core::fmt;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_report::parallel_batch::Job;
use thalweg_scenario::{Diagnostic, is_random, nearest_name};
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::Spec;

/// Selection of a paper's experiments, and run options.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Experiments to run: ids, the `ours/` ids of their unpublished results, id prefixes before a `/`, tables with
    /// their values, or figures drawn from them. If empty, all except the ones marked `only_named` in the plan.
    pub experiments: Vec<String>,
    /// Make the shortest runs, for a first look, as the plan defines them.
    pub quick: bool,
    /// Make all runs in full length, also the experiments marked `only_named`. Otherwise the plan may shorten runs, so
    /// that claims are decided in less time.
    pub full: bool,
    /// First seed; `None` for each scenario's own.
    pub seed: Option<u64>,
    /// Number of seeds for scenarios with random parts; `None` for the plan's number.
    pub replications: Option<u32>,
}

/// An error that prevents running a paper.
#[derive(Debug)]
pub enum PaperError {
    /// No experiment of this name.
    NoExperiment {
        /// Requested name.
        name: String,
        /// Most similar name.
        nearest: Option<String>,
    },
    /// Seeds beyond the largest number.
    Seeds,
    /// Too many replications.
    Replications(u32),
    /// Invalid plan or published values.
    Plan(String),
    /// Invalid scenario.
    Scenario {
        /// Name of the case.
        case: String,
        /// Errors in the scenario.
        diagnostics: Vec<Diagnostic>,
    },
}

impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoExperiment { name, nearest } => {
                write!(f, "there is no experiment `{name}`")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
                    None => Ok(()),
                }
            }
            Self::Seeds => write!(f, "the last seeds are too large"),
            Self::Replications(wanted) => {
                write!(f, "{wanted} runs of everything are too many; at most {MAX_REPLICATIONS}")
            }
            Self::Plan(message) => write!(f, "{message}"),
            Self::Scenario { case, diagnostics } => {
                write!(f, "{case}:")?;
                diagnostics.iter().try_for_each(|of| write!(f, "\n{}", of.render().trim_end()))
            }
        }
    }
}

impl core::error::Error for PaperError {}

/// A paper that is ready to run.
pub struct PreparedPaper {
    paper: &'static Paper,
    /// Selected experiments: the published ones, in the order of their file, then our own.
    pub experiments: Vec<Experiment>,
    /// Ids of long experiments, which run only when named or with all in full length, and were not.
    pub skipped_long: Vec<String>,
    /// Processor time of a full run in minutes, about, if these runs are shortened.
    pub full_minutes: Option<u32>,
    /// All cases, in the order of the experiments.
    pub cases: Vec<Case>,
    /// Titles of the experiments.
    titles: Vec<String>,
}

impl fmt::Debug for PreparedPaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("paper", &self.paper.name).field("cases", &self.cases.len()).finish()
    }
}

/// Prepares the runs of the selected experiments of a paper.
///
/// # Errors
/// Returns an error for an unknown experiment, or for an error in the paper's own files.
pub fn prepare_paper(paper: &'static Paper, choice: &Choice) -> Result<PreparedPaper, PaperError> {
    if let Some(wanted) = choice.replications.filter(|wanted| *wanted > MAX_REPLICATIONS) {
        return Err(PaperError::Replications(wanted));
    }
    let published = PublishedValues::read(paper.files.published).map_err(PaperError::Plan)?;
    let plan = Plan::read(paper.files.plan).map_err(PaperError::Plan)?;
    let mut experiments = published.experiments;
    for planned in &plan.experiment {
        if !experiments.iter().any(|of| of.id == planned.id) {
            if !planned.id.starts_with(OURS) {
                let message = format!("`{}` was not published; our own begin with `{OURS}`", planned.id);
                return Err(PaperError::Plan(message));
            }
            let id = planned.id.clone();
            experiments.push(Experiment { id, place: String::new(), cells: Vec::new() });
        }
    }
    let mut experiments = select_experiments(experiments, &plan.figure, &choice.experiments)?;
    let mut skipped_long = Vec::new();
    experiments.retain(|of| {
        let is_long = plan.experiment.iter().any(|planned| planned.id == of.id && planned.only_named);
        let is_named = |name: &String| *name == of.id || name.strip_prefix(OURS) == Some(of.id.as_str());
        let is_kept = !is_long || choice.full || choice.experiments.iter().any(is_named);
        if !is_kept {
            skipped_long.push(of.id.clone());
        }
        is_kept
    });
    let full_minutes = plan.short.full_minutes.filter(|_| !choice.full);
    let mut prepared = PreparedPaper {
        paper,
        titles: Vec::new(),
        cases: Vec::new(),
        experiments,
        skipped_long,
        full_minutes,
    };
    for (number, experiment) in prepared.experiments.iter().enumerate() {
        let planned = plan.experiment.iter().filter(|planned| planned.id == experiment.id);
        let mut title = String::new();
        for planned in planned {
            title = planned.title.clone();
            let Some(file) = &planned.scenario else { continue };
            let short =
                if choice.full || choice.quick { ShortRuns::default() } else { plan.shortening(planned) };
            let replications = choice.replications.unwrap_or_else(|| {
                let full = planned.replications.unwrap_or(plan.replications);
                let quick = plan.quick.replications.filter(|_| choice.quick);
                quick.unwrap_or_else(|| short.replications.map_or(full, |short| short.min(full)))
            });
            for (keys, changes) in plan.runs(planned, choice.quick).map_err(PaperError::Plan)? {
                let name = case_name(&experiment.id, &keys);
                let load = |changes: &[String]| {
                    let loaded = thalweg_scenario::load_built_in(file, paper.files.scenarios, changes);
                    loaded.map_err(|diagnostics| PaperError::Scenario { case: name.clone(), diagnostics })
                };
                let mut loaded = load(&changes)?;
                if let Some(part) = short.duration {
                    loaded = load(&[changes, vec![shorten_run(loaded.spec(), part)]].concat())?;
                }
                let spec = Arc::new(loaded.spec().clone());
                let first = choice.seed.unwrap_or(spec.seed);
                let count = if is_random(&spec) { replications.max(1) } else { 1 };
                let last = first.checked_add(u64::from(count) - 1).ok_or(PaperError::Seeds)?;
                let seeds: Vec<u64> = (first..=last).collect();
                let same = |case: &&Case| case.seeds == seeds && case.spec == spec;
                let (spec, jobs) = match prepared.cases.iter().find(same) {
                    Some(same) => (Arc::clone(&same.spec), same.jobs.clone()),
                    None => {
                        let end = prepared.cases.iter().map(|case| case.jobs.end).max().unwrap_or(0);
                        (spec, end..end + seeds.len())
                    }
                };
                prepared.cases.push(Case {
                    experiment: number,
                    name,
                    keys,
                    scenario: loaded.scenario,
                    spec,
                    seeds,
                    jobs,
                    series: planned.series,
                });
            }
        }
        prepared.titles.push(title);
    }
    Ok(prepared)
}

/// Returns the selected experiments: by id, by id prefix, by a table with some of their values, or by a figure.
fn select_experiments(
    all: Vec<Experiment>,
    figures: &BTreeMap<String, Vec<String>>,
    requested: &[String],
) -> Result<Vec<Experiment>, PaperError> {
    let begins =
        |id: &str, name: &str| id == name || id.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let tables = |of: &Experiment| -> Vec<String> {
        of.cells.iter().filter_map(|cell| cell.text("table")).map(|table| format!("table-{table}")).collect()
    };
    let is_requested = |of: &Experiment, name: &str| {
        // Unpublished results of an experiment are printed as `ours/ID`.
        let name = name.strip_prefix(OURS).filter(|_| !of.id.starts_with(OURS)).unwrap_or(name);
        let of_figure = figures.get(name).is_some_and(|ids| ids.iter().any(|id| begins(&of.id, id)));
        of_figure || begins(&of.id, name) || tables(of).iter().any(|table| table == name)
    };
    for name in requested {
        if !all.iter().any(|of| is_requested(of, name)) {
            let ids = all.iter().map(|of| of.id.as_str());
            let stems = all.iter().filter_map(|of| Some(of.id.split_once('/')?.0));
            let names = ids.chain(stems).chain(figures.keys().map(String::as_str));
            let names: Vec<String> = names.map(str::to_owned).collect();
            let ours = names.iter().filter(|id| !id.starts_with(OURS)).map(|id| format!("{OURS}{id}"));
            let ours: Vec<String> = ours.filter(|_| name.starts_with(OURS)).collect();
            let all = names.iter().chain(&ours).map(String::as_str);
            let nearest = nearest_name(name, all).map(str::to_owned);
            return Err(PaperError::NoExperiment { name: name.clone(), nearest });
        }
    }
    let wanted =
        |of: &Experiment| requested.is_empty() || requested.iter().any(|name| is_requested(of, name));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Returns the runs of a case, or a single one if all are identical, for lack of randomness.
pub fn collapse_identical_runs(runs: &[RunResult]) -> &[RunResult] {
    let alike = runs.windows(2).all(|two| two[0].fingerprint == two[1].fingerprint);
    if alike { &runs[..runs.len().min(1)] } else { runs }
}

/// Returns the change that leaves this part of a scenario's counted time.
fn shorten_run(spec: &Spec, part: f64) -> String {
    let counted = (spec.duration - spec.warmup).mul_f64(part);
    format!("duration={} ns", (spec.warmup + counted).as_picos().div_ceil(1000))
}

/// Returns the title of published values, with their place in the paper if it is known.
fn with_place(title: String, place: &str) -> String {
    if place.is_empty() { title } else { format!("{title} ({place})") }
}

fn case_name(id: &str, keys: &Map<String, Value>) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut name = id.to_owned();
    for (key, value) in keys {
        let value = word(value);
        name.push_str(&if key == "scheme" { format!("-{value}") } else { format!("-{key}-{value}") });
    }
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(safe).collect()
}

impl PreparedPaper {
    /// Returns the paper.
    pub fn paper(&self) -> &'static Paper {
        self.paper
    }

    /// Returns the id and the title of each experiment.
    pub fn listing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.experiments.iter().zip(&self.titles).map(|(of, title)| (of.id.as_str(), title.as_str()))
    }

    /// Returns all simulations: the seeds of each case in turn, each simulation once.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = Vec::new();
        for case in &self.cases {
            // A case shares either all of its jobs with an earlier one, or none.
            if case.jobs.start == jobs.len() {
                let of = |&seed| Job { spec: Arc::clone(&case.spec), seed, events: None, threads: 1 };
                jobs.extend(case.seeds.iter().map(of));
            }
        }
        jobs
    }

    /// Returns the first case of a job.
    pub fn case_of_job(&self, job: usize) -> Option<&Case> {
        self.cases.iter().find(|case| case.jobs.contains(&job))
    }

    /// Returns the results of the paper. `runs` are the results of the jobs in order. After an interruption there may
    /// be fewer, or an incomplete one; cases without their runs then have no value.
    pub fn results(&self, mut runs: Vec<RunResult>) -> Results {
        runs.truncate(runs.iter().position(|run| !run.is_complete).unwrap_or(runs.len()));
        let measured = self.cases.iter().map(|case| runs.get(case.jobs.clone()).map(collapse_identical_runs));
        let measured: Vec<Option<&[RunResult]>> = measured.collect();
        let mut results = Results {
            paper: self.paper.name,
            complete: measured.iter().all(Option::is_some),
            experiments: Vec::new(),
            claims: Vec::new(),
        };
        let mut further = Vec::new();
        for (number, experiment) in self.experiments.iter().enumerate() {
            let cases = self.cases.iter().zip(&measured).filter(|(case, _)| case.experiment == number);
            let cases = cases.filter_map(|(case, results)| results.map(|results| CaseRuns { case, results }));
            let runs = Runs { id: &experiment.id, cases: cases.collect() };
            let row =
                |cell: &super::Cell| Row::new(cell.clone(), (self.paper.values)(cell, &runs).as_deref());
            let rows: Vec<Row> = experiment.cells.iter().map(row).collect();
            let more = (self.paper.further)(&runs).into_iter();
            let more: Vec<Row> = more.map(|(cell, values)| Row::new(cell, Some(&values))).collect();
            let title = self.titles[number].clone();
            let of = |id: String, title: String, rows| ExperimentResults { id, title, rows };
            let id = experiment.id.clone();
            if id.starts_with(OURS) {
                results.experiments.push(of(id, title, rows.into_iter().chain(more).collect()));
            } else {
                if !more.is_empty() {
                    further.push(of(format!("{OURS}{id}"), title.clone(), more));
                }
                results.experiments.push(of(id, with_place(title, &experiment.place), rows));
            }
        }
        results.experiments.extend(further);
        results.claims = (self.paper.claims)(&results);
        results
    }
}

const MAX_REPLICATIONS: u32 = 10_000;
/// Prefix of the ids of unpublished results.
pub(super) const OURS: &str = "ours/";
