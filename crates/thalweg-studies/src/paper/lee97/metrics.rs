//! Throughput efficiency, and the parameters that maximise it.
//!
//! Efficiency is the in-order goodput over the maximum of two nodes without losses and without reports: one packet per
//! processing time (121.2 us), as transmission takes less and overlaps. (The paper's term is "throughput with no
//! error"; that this is the limit follows from its optimum of 40 ms, see `docs/papers/lee97.md`.)

use super::super::{CaseRuns, Cell, MeasuredCell, Runs};
use serde_json::Value;
use thalweg_proto::units::Duration;
use thalweg_report::statistics::mean;
use thalweg_scenario::packet_sizes;
use thalweg_sim::RunResult;

pub const EFFICIENCY: &str = "efficiency";

/// Maximum efficiency that a sufficient window loses against the best window, at every loss rate.
const MAX_SHORTFALL: f64 = 0.001;

/// Loss rates of the runs for the paper's "low" and "high" error rates.
const LOW_LOSS: f64 = 1e-4;
const HIGH_LOSS: f64 = 0.1;

/// Returns the efficiency of every case.
pub fn case_efficiencies(runs: &Runs<'_>) -> Vec<MeasuredCell> {
    let of = |case: &CaseRuns<'_>| {
        let scheme = text_key(case, "scheme").unwrap_or_default();
        // The duration of a run does not identify its result.
        let keys = case.keys().iter().filter(|(key, _)| !["scheme", "seconds"].contains(&key.as_str()));
        let cell = keys.fold(Cell::unpublished(scheme, EFFICIENCY), |cell, (key, value)| {
            cell.with(result_key(key), value.clone())
        });
        (cell, case_efficiency(case))
    };
    let mut cells: Vec<MeasuredCell> = runs.cases.iter().map(of).collect();
    if let Some(best) = key_value_of_max_efficiency(
        runs,
        "T_normal_ms",
        |case| numeric_key(case, "T_error_ms") == Some(5.0),
        |_| true,
    ) && runs.cases.iter().any(|case| numeric_key(case, "T_normal_ms") == Some(48.0))
    {
        cells.push((Cell::unpublished("adaptive", "optimal_T_normal_ms").with("grid", "finer"), vec![best]));
    }
    cells
}

/// Returns the key in results: random and bursty losses share one, as each has its own figure.
fn result_key(key: &str) -> &str {
    if key == "bursty_loss" { "loss" } else { key }
}

fn case_efficiency(case: &CaseRuns<'_>) -> Vec<f64> {
    let spec = &case.case.spec;
    let Some((group, node)) = spec.groups.first().zip(spec.nodes.first()) else { return Vec::new() };
    let (packet, _) = packet_sizes(&group.transport);
    let each: Duration = node.processing.per_packet + node.processing.per_byte * u64::from(packet);
    let ideal = f64::from(group.transport.properties().segment()) * 8.0 / each.as_secs_f64();
    let of = |run: &RunResult| run.flows.first().map(|flow| flow.goodput.as_f64() / ideal);
    case.results.iter().filter_map(of).collect()
}

/// Returns the measured counterpart of a published optimum.
pub fn measured_optimum(cell: &Cell, runs: &Runs<'_>) -> Option<f64> {
    match cell.metric.as_str() {
        // The paper's curves have points every 10 ms.
        "optimal_T_normal_ms" => key_value_of_max_efficiency(
            runs,
            "T_normal_ms",
            |case| numeric_key(case, "T_error_ms") == Some(5.0),
            |value| value % 10.0 == 0.0,
        ),
        "optimal_T_error_ms" => key_value_of_max_efficiency(
            runs,
            "T_error_ms",
            |case| numeric_key(case, "T_normal_ms") == Some(40.0),
            |_| true,
        ),
        "optimal_timer_poll_ms" => {
            let loss = if cell.text("error_rate") == Some("low") { LOW_LOSS } else { HIGH_LOSS };
            let is_selected = |case: &CaseRuns<'_>| {
                text_key(case, "scheme") == Some("sscop")
                    && (numeric_key(case, "loss").or_else(|| numeric_key(case, "bursty_loss"))) == Some(loss)
            };
            key_value_of_max_efficiency(runs, "timer_poll_ms", is_selected, |_| true)
        }
        "window_for_maximum_efficiency_packets" => sufficient_window(runs),
        _ => None,
    }
}

/// Returns the value of `key` with the largest efficiency, among the selected cases and the values on the grid.
fn key_value_of_max_efficiency(
    runs: &Runs<'_>,
    key: &str,
    is_selected: impl Fn(&CaseRuns<'_>) -> bool,
    is_on_grid: impl Fn(f64) -> bool,
) -> Option<f64> {
    let points = runs.cases.iter().filter(|case| is_selected(case));
    let points = points.filter_map(|case| Some((numeric_key(case, key)?, mean(&case_efficiency(case))?)));
    let best = points.filter(|(value, _)| is_on_grid(*value)).max_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(value, _)| value)
}

/// Returns the smallest window within [`MAX_SHORTFALL`] of the best window, at every loss rate.
fn sufficient_window(runs: &Runs<'_>) -> Option<f64> {
    let points: Vec<(f64, f64, f64)> = runs
        .cases
        .iter()
        .filter_map(|case| {
            Some((numeric_key(case, "window")?, numeric_key(case, "loss")?, mean(&case_efficiency(case))?))
        })
        .collect();
    let max_efficiency =
        |loss: f64| points.iter().filter(|point| point.1 == loss).map(|point| point.2).fold(0.0, f64::max);
    let suffices = |window: f64| {
        points
            .iter()
            .filter(|point| point.0 == window)
            .all(|point| point.2 >= max_efficiency(point.1) - MAX_SHORTFALL)
    };
    let mut windows: Vec<f64> = points.iter().map(|point| point.0).collect();
    windows.sort_by(f64::total_cmp);
    windows.into_iter().find(|&window| suffices(window))
}

fn numeric_key(case: &CaseRuns<'_>, key: &str) -> Option<f64> {
    case.keys().get(key)?.as_f64()
}

fn text_key<'a>(case: &'a CaseRuns<'_>, key: &str) -> Option<&'a str> {
    case.keys().get(key).and_then(Value::as_str)
}
