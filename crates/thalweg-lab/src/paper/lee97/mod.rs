//! Adaptive acknowledgement, alone and against SSCOP: Lee, Kim, Chung and Kim, "Adaptive Acknowledgment Scheme for
//! Efficient Error Control in ATM Clustering System" (1997).

mod claims;
mod metrics;

use super::{Cell, Claim, Paper, Results, Runs};

/// The paper.
#[derive(Debug)]
pub struct Lee97;

impl Paper for Lee97 {
    fn name(&self) -> &'static str {
        "lee97"
    }

    fn title(&self) -> &'static str {
        "Lee et al. 1997: Adaptive Acknowledgment Scheme for Efficient Error Control in ATM Clustering System"
    }

    fn published(&self) -> &'static str {
        include_str!("../../../papers/lee97.json")
    }

    fn plan(&self) -> &'static str {
        include_str!("../../../../../scenarios/papers/lee97/experiments.toml")
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        scenario_files!("lee97": "cluster.toml")
    }

    fn values(&self, cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
        metrics::optimum(cell, runs).map(|value| vec![value])
    }

    fn further(&self, runs: &Runs<'_>) -> Vec<(Cell, Vec<f64>)> {
        metrics::efficiencies(runs)
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        claims::claims(results)
    }
}
