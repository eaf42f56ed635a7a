//! Metrics of the paper: mean completion times of each class of the first source's flows.

use super::super::{CaseRuns, Cell, MeasuredCell, Runs};
use serde_json::Value;
use thalweg_proto::units::Time;
use thalweg_report::statistics::mean;
use thalweg_sim::{FlowResult, RunResult};

/// Mean time of a class from the beginning of the run, when all flows have started or are about to, to the last byte of
/// a flow.
pub const MEAN_FINISH_TIME: &str = "mean_transfer_time_s";
/// Retransmitted share of the data packets of all flows of the first source, in percent.
pub const RETRANSMITTED_PERCENT: &str = "resent_percent";
/// Spearman's rank correlation of the order of flow ends with the order of flow starts, from -1 to 1.
pub const START_FINISH_RANK_CORRELATION: &str = "start_order_correlation";
/// Share of the 1 MB of each flow of a class delivered by the end of the run, in percent.
pub const DELIVERED_PERCENT: &str = "delivered_percent";
/// Gain in that share over the run with the same seed and without ageing: seeds differ far more than ageing changes.
pub const AGEING_GAIN_POINTS: &str = "gained_percent";
/// Share of runs with less than a hundredth of that 1 MB of each flow of a class delivered, in percent.
pub const STARVED_PERCENT: &str = "starved_percent";

/// One percent of the 1 MB of a flow, in bytes.
const BYTES_PER_PERCENT: f64 = 1e4;

/// Classes of the paper.
pub const SOURCE_CLASSES: [&str; 6] = ["TCP1", "TCP2", "TCP3", "TCP4", "UDP3", "UDP4"];

/// Returns the value of a cell for each replication of its case.
pub fn cell_value(cell: &Cell, case: &CaseRuns<'_>) -> Option<Vec<f64>> {
    let class = || Some(cell.text("source")?.to_lowercase());
    match cell.metric.as_str() {
        MEAN_FINISH_TIME => {
            let class = class()?;
            case.each(|run| mean_finish_time(run, &class))
        }
        DELIVERED_PERCENT => {
            let class = class()?;
            case.each(|run| delivered_percent(run, &class))
        }
        STARVED_PERCENT => {
            let class = class()?;
            case.each(|run| Some(if delivered_percent(run, &class)? < 1.0 { 100.0 } else { 0.0 }))
        }
        RETRANSMITTED_PERCENT => case.each(retransmitted_percent),
        START_FINISH_RANK_CORRELATION => case.each(start_finish_rank_correlation),
        _ => None,
    }
}

/// Returns the measurements of unpublished runs.
pub fn unpublished_values(runs: &Runs<'_>) -> Vec<MeasuredCell> {
    let is_paper_table = runs.id.starts_with("table-II/");
    let mut cells = Vec::new();
    for case in &runs.cases {
        let cell = |metric: &str| {
            let scheme = case.keys().get("scheme").and_then(Value::as_str).unwrap_or_default();
            let keys = case.keys().iter().filter(|(key, _)| *key != "scheme");
            keys.fold(Cell::unpublished(scheme, metric), |cell, (key, value)| cell.with(key, value.clone()))
        };
        let mut cells_to_measure = Vec::new();
        if runs.id == "ours/new-flows" {
            cells_to_measure.extend(
                [DELIVERED_PERCENT, STARVED_PERCENT].map(|metric| cell(metric).with("source", "PATIENT")),
            );
            let gain = cell(AGEING_GAIN_POINTS).with("source", "PATIENT");
            cells.extend(ageing_gain_points(runs, case).map(|values| (gain, values)));
        } else if !is_paper_table {
            cells_to_measure.extend(SOURCE_CLASSES.map(|class| cell(MEAN_FINISH_TIME).with("source", class)));
        }
        cells_to_measure.push(cell(RETRANSMITTED_PERCENT));
        if runs.id.contains("10-kB") {
            cells_to_measure.push(cell(START_FINISH_RANK_CORRELATION));
        }
        cells.extend(
            cells_to_measure
                .into_iter()
                .filter_map(|cell| cell_value(&cell, case).map(|values| (cell, values))),
        );
    }
    cells
}

/// Returns the mean delivered share of the 1 MB of a class's flows, in percent.
fn delivered_percent(run: &RunResult, class: &str) -> Option<f64> {
    let percents =
        flows_of_class(run, class).map(|flow| flow.delivered_total.get() as f64 / BYTES_PER_PERCENT);
    mean(&percents.collect::<Vec<f64>>())
}

/// Returns the gain of the `patient` flows by ageing, in each replication.
fn ageing_gain_points(runs: &Runs<'_>, case: &CaseRuns<'_>) -> Option<Vec<f64>> {
    let has_no_ageing =
        |case: &CaseRuns<'_>| case.keys().get("ageing_s1").and_then(Value::as_str) == Some("off");
    let without_ageing =
        runs.cases.iter().find(|case| has_no_ageing(case)).filter(|_| !has_no_ageing(case))?;
    case.each_with(without_ageing, |with_ageing, without_ageing| {
        Some(delivered_percent(with_ageing, "patient")? - delivered_percent(without_ageing, "patient")?)
    })
}

/// Returns the flows of a class.
fn flows_of_class<'a>(run: &'a RunResult, class: &'a str) -> impl Iterator<Item = &'a FlowResult> {
    let group_index = run.groups.iter().position(|group| group.name == class);
    run.flows.iter().filter(move |flow| Some(flow.group as usize) == group_index)
}

/// Returns the mean completion time; `None` while a flow of the class has not ended.
fn mean_finish_time(run: &RunResult, class: &str) -> Option<f64> {
    let times: Option<Vec<f64>> =
        flows_of_class(run, class).map(|flow| flow.finished.map(Time::as_secs_f64)).collect();
    mean(&times?)
}

/// Returns the flows of the first source.
fn measured_flows(run: &RunResult) -> impl Iterator<Item = &FlowResult> {
    let is_measured = |flow: &&FlowResult| !run.groups[flow.group as usize].name.starts_with("other");
    run.flows.iter().filter(is_measured)
}

fn retransmitted_percent(run: &RunResult) -> Option<f64> {
    let (retransmitted, sent) = measured_flows(run).fold((0, 0), |(retransmitted, sent), flow| {
        (retransmitted + flow.retransmissions, sent + flow.sent_packets)
    });
    (sent > 0).then(|| 100.0 * retransmitted as f64 / sent as f64)
}

fn start_finish_rank_correlation(run: &RunResult) -> Option<f64> {
    let times: Option<Vec<(Time, Time)>> =
        measured_flows(run).map(|flow| flow.finished.map(|end| (flow.start, end))).collect();
    let times = times?;
    let ranks = |key: fn(&(Time, Time)) -> Time| {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&flow| key(&times[flow]));
        let mut ranks = vec![0.0; times.len()];
        order.into_iter().enumerate().for_each(|(rank, flow)| ranks[flow] = rank as f64);
        ranks
    };
    let (starts, ends) = (ranks(|flow| flow.0), ranks(|flow| flow.1));
    let count = times.len() as f64;
    let squared_rank_differences: f64 =
        starts.iter().zip(&ends).map(|(start, end)| (start - end).powi(2)).sum();
    (times.len() > 1).then(|| 1.0 - 6.0 * squared_rank_differences / (count * (count * count - 1.0)))
}
