//! Two-level flow control: Gong and Parulkar, "A Two-Level Flow Control Scheme for High Speed Networks" (1992).

mod claims;
mod metrics;

use super::{Cell, Claim, Paper, Results, Runs};

/// The report.
#[derive(Debug)]
pub struct Gong92;

impl Paper for Gong92 {
    fn name(&self) -> &'static str {
        "gong92"
    }

    fn title(&self) -> &'static str {
        "Gong and Parulkar 1992: A Two-Level Flow Control Scheme for High Speed Networks"
    }

    fn published(&self) -> &'static str {
        include_str!("../../../papers/gong92.json")
    }

    fn plan(&self) -> &'static str {
        include_str!("../../../../../scenarios/papers/gong92/experiments.toml")
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        scenario_files!("gong92": "black-box.toml", "spell.toml")
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
