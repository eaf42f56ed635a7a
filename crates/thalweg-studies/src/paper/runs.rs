//! The runs of an experiment, with their measurements.

use super::prepare::Case;
use super::published::Cell;
use serde_json::{Map, Value};
use thalweg_sim::RunResult;

/// The runs of an experiment.
#[derive(Debug)]
pub struct Runs<'a> {
    /// The experiment.
    pub id: &'a str,
    /// Its cases, each with its replications.
    pub cases: Vec<CaseRuns<'a>>,
}

/// The replications of a case.
#[derive(Debug)]
pub struct CaseRuns<'a> {
    /// The case that was run.
    pub case: &'a Case,
    /// One for each seed, in order; a single one where all are alike to the last packet. Never empty.
    pub results: &'a [RunResult],
}

impl<'a> Runs<'a> {
    /// The case that a cell is of: the one all of whose keys the cell has.
    pub fn of(&self, cell: &Cell) -> Option<&CaseRuns<'a>> {
        self.cases.iter().find(|runs| cell.has(&runs.case.keys))
    }

    /// The first case of a scheme.
    pub fn scheme(&self, scheme: &str) -> Option<&CaseRuns<'a>> {
        self.cases.iter().find(|runs| runs.case.keys.get("scheme").and_then(Value::as_str) == Some(scheme))
    }

    /// The case of a cell as it would be under another scheme.
    pub fn other(&self, cell: &Cell, scheme: &str) -> Option<&CaseRuns<'a>> {
        self.of(&Cell { scheme: scheme.to_owned(), ..cell.clone() })
    }
}

impl CaseRuns<'_> {
    /// The keys of the case.
    pub fn keys(&self) -> &Map<String, Value> {
        &self.case.keys
    }

    /// A number of each replication; `None` if any lacks it.
    pub fn each(&self, value: impl Fn(&RunResult) -> Option<f64>) -> Option<Vec<f64>> {
        self.results.iter().map(value).collect()
    }

    /// A number of each replication of this case and the same replication of another: where only one of them has
    /// random parts, the other's single run stands beside each.
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
