//! Runs of an experiment, with their measurements.

use super::published_values::Cell;
use core::ops::Range;
use serde_json::{Map, Value};
use std::sync::Arc;
use thalweg_scenario::Scenario;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::Spec;

/// One scenario of an experiment, run with one or more seeds.
#[derive(Clone, Debug)]
pub struct Case {
    /// Index of its experiment in [`PreparedPaper::experiments`](super::PreparedPaper::experiments).
    pub experiment: usize,
    /// Unique name, suitable for a folder.
    pub name: String,
    /// Identifying keys: the scheme and the other varied keys.
    pub keys: Map<String, Value>,
    /// Scenario.
    pub scenario: Scenario,
    /// Network and traffic to simulate.
    pub spec: Arc<Spec>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Indices of its simulations in [`PreparedPaper::jobs`](super::PreparedPaper::jobs), one per seed. Cases of different experiments with the same
    /// simulation share them.
    pub jobs: Range<usize>,
    /// True if the output folder keeps its series.
    pub series: bool,
}

/// The runs of an experiment.
#[derive(Debug)]
pub struct Runs<'a> {
    /// Id of the experiment.
    pub id: &'a str,
    /// Cases, each with its replications.
    pub cases: Vec<CaseRuns<'a>>,
}

/// The replications of a case.
#[derive(Debug)]
pub struct CaseRuns<'a> {
    /// Case.
    pub case: &'a Case,
    /// One result per seed, in order; a single one if all are identical. Never empty.
    pub results: &'a [RunResult],
}

impl<'a> Runs<'a> {
    /// Returns the case of a cell: all keys of the case are keys of the cell.
    pub fn case_of(&self, cell: &Cell) -> Option<&CaseRuns<'a>> {
        self.cases.iter().find(|runs| cell.has(&runs.case.keys))
    }

    /// Returns the first case of a scheme.
    pub fn scheme(&self, scheme: &str) -> Option<&CaseRuns<'a>> {
        self.cases.iter().find(|runs| runs.case.keys.get("scheme").and_then(Value::as_str) == Some(scheme))
    }

    /// Returns the case of a cell under another scheme.
    pub fn other(&self, cell: &Cell, scheme: &str) -> Option<&CaseRuns<'a>> {
        self.case_of(&Cell { scheme: scheme.to_owned(), ..cell.clone() })
    }
}

impl CaseRuns<'_> {
    /// Returns the keys of the case.
    pub fn keys(&self) -> &Map<String, Value> {
        &self.case.keys
    }

    /// Returns a number of each replication; `None` if any lacks it.
    pub fn each(&self, value: impl Fn(&RunResult) -> Option<f64>) -> Option<Vec<f64>> {
        self.results.iter().map(value).collect()
    }

    /// Returns a number of each pair of replications of this case and another. If only one of them has random parts,
    /// the other's single run is paired with each.
    pub fn each_with(
        &self,
        other: &Self,
        value: impl Fn(&RunResult, &RunResult) -> Option<f64>,
    ) -> Option<Vec<f64>> {
        let replications = self.results.len().max(other.results.len());
        let of = |runs: &Self, at: usize| if runs.results.len() == 1 { 0 } else { at };
        let pair = |at| value(self.results.get(of(self, at))?, other.results.get(of(other, at))?);
        (0..replications).map(pair).collect()
    }
}
