//! The metrics of the thesis.

use super::super::{CaseRuns, Cell, Runs};
use crate::statistics::fairness_variance;
use thalweg_sim::{FlowResult, RunResult};

/// The values of a cell.
pub fn values(cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
    let case = runs.of(cell)?;
    match cell.metric.as_str() {
        "throughput_kbps" => throughput(cell, case, KILOBIT),
        "network_throughput_kbps" => case.each(|run| Some(network_throughput(run, KILOBIT))),
        "fairness_variance" => case.each(|run| Some(variance(cell, run))),
        _ => None,
    }
}

/// Whole data packets that reached the sink of a source, each once, per second. Sources are numbered from 1.
fn throughput(cell: &Cell, case: &CaseRuns<'_>, unit: f64) -> Option<Vec<f64>> {
    let source = cell.number("source").and_then(|source| usize::try_from(source.checked_sub(1)?).ok())?;
    case.each(|run| run.flows.get(source).map(|flow| flow.throughput.as_f64() / unit))
}

/// The sum over the sources.
fn network_throughput(run: &RunResult, unit: f64) -> f64 {
    run.flows.iter().map(|flow| flow.throughput.as_f64()).sum::<f64>() / unit
}

/// The fairness variance of the sources in a direction (`sources`: `forward` or `reverse`, the names of groups), or of
/// all.
fn variance(cell: &Cell, run: &RunResult) -> f64 {
    let direction = cell.text("sources");
    let counts = |flow: &&FlowResult| {
        let group = run.groups.get(flow.group as usize).map(|group| group.name.as_str());
        direction.is_none() || group == direction
    };
    let throughputs: Vec<f64> =
        run.flows.iter().filter(counts).map(|flow| flow.throughput.as_f64() / KILOBIT).collect();
    fairness_variance(&throughputs)
}

const KILOBIT: f64 = 1e3;
