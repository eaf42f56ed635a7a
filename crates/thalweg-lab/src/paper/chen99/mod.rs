//! SSCOP with rate-based flow control against TCP Vegas: Chen and Chen, "Improving data transport performance through SSCOP
//! with rate-based flow control" (1999).

mod claims;
mod metrics;

use super::{Cell, Claim, Paper, Results, Runs};

/// The paper.
#[derive(Debug)]
pub struct Chen99;

impl Paper for Chen99 {
    fn name(&self) -> &'static str {
        "chen99"
    }

    fn title(&self) -> &'static str {
        "Chen and Chen 1999: Improving data transport performance through SSCOP with rate-based flow control"
    }

    fn published(&self) -> &'static str {
        include_str!("../../../papers/chen99.json")
    }

    fn plan(&self) -> &'static str {
        include_str!("../../../../../scenarios/papers/chen99/experiments.toml")
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        scenario_files!("chen99": "parking-lot.toml")
    }

    fn values(&self, cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
        metrics::values(cell, runs)
    }

    fn further(&self, runs: &Runs<'_>) -> Vec<(Cell, Vec<f64>)> {
        metrics::further(runs)
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        claims::claims(results)
    }
}
