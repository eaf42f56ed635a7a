//! Gates at the source, by priority: Yang and Fu, "A comparison of congestion control and time slot algorithms in
//! Internet transmission performance" (2001).

mod claims;
mod metrics;

use super::{Cell, Claim, Paper, Results, Runs};

/// The paper.
#[derive(Debug)]
pub struct Yang01;

impl Paper for Yang01 {
    fn name(&self) -> &'static str {
        "yang01"
    }

    fn title(&self) -> &'static str {
        "Yang and Fu 2001: A comparison of congestion control and time slot algorithms in Internet transmission performance"
    }

    fn published(&self) -> &'static str {
        include_str!("../../../papers/yang01.json")
    }

    fn plan(&self) -> &'static str {
        include_str!("../../../../../scenarios/papers/yang01/experiments.toml")
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        scenario_files!("yang01": "two-sources.toml", "newcomers.toml")
    }

    fn values(&self, cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
        metrics::value(cell, runs.of(cell)?)
    }

    fn further(&self, runs: &Runs<'_>) -> Vec<(Cell, Vec<f64>)> {
        metrics::further(runs)
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        claims::claims(results)
    }
}
