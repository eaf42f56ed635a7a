//! SEIF and the schemes that it is compared with: Liang, "A Window-based Synchronous Scheme For Network Congestion
//! Control/Avoidance" (1991).

mod claims;
mod metrics;

use super::{Cell, Claim, Paper, Results, Runs};

/// The thesis.
#[derive(Debug)]
pub struct Liang91;

impl Paper for Liang91 {
    fn name(&self) -> &'static str {
        "liang91"
    }

    fn title(&self) -> &'static str {
        "Liang 1991: A Window-based Synchronous Scheme For Network Congestion Control/Avoidance"
    }

    fn published(&self) -> &'static str {
        include_str!("../../../papers/liang91.json")
    }

    fn plan(&self) -> &'static str {
        include_str!("../../../../../scenarios/papers/liang91/experiments.toml")
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        scenario_files!(
            "liang91":
            "chain.toml", "one-way.toml", "two-way.toml", "crossing.toml", "crossing-edges.toml",
            "tri-s-network.toml", "tri-s.toml", "tri-s-partly.toml", "two-bottlenecks.toml",
        )
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
