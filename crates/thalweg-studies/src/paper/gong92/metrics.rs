//! Metrics of Gong and Parulkar (1992).
//!
//! Throughput efficiency is the transmission time of a segment over the mean time to deliver one: the share of the
//! connection's rate used by delivered packets. Delays are from the start of a segment's first transmission to its
//! acceptance at the receiver.

use super::super::{CaseRuns, Cell, MeasuredCell, Runs};
use crate::model::gong92::{Form, Path};
use serde_json::Value;
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::sstp::EndsConfig;
use thalweg_proto::units::Bytes;
use thalweg_report::statistics::mean;
use thalweg_sim::RunResult;

/// Name of the throughput efficiency.
pub const EFFICIENCY: &str = "efficiency";
/// Name of the maximum delay.
pub const MAXIMUM: &str = "maximum_delay_ms";
/// Name of the mean delay.
pub const MEAN: &str = "mean_delay_ms";
/// Share of a link's rate used by delivered packets of all sources.
pub const SHARE: &str = "link_share";
/// Packets dropped by a link's queue, in percent of those that arrived there.
pub const LOSS: &str = "loss_percent";
/// Retransmissions in percent of the packets sent.
pub const RESENT: &str = "resent_percent";
/// Share of 1 - p that counts as close to the maximum efficiency and as nearly ideal.
pub const CLOSE: f64 = 0.95;

/// Returns the value of a published cell.
pub fn cell_values(cell: &Cell, runs: &Runs<'_>) -> Option<Vec<f64>> {
    match runs.id {
        "figure-14" => Some(vec![sufficient_window(cell, runs)?]),
        "figure-17" => {
            let (hard, equal) = (runs.case_of(cell)?, runs.other(cell, "window-equal-to-buffer")?);
            let percent = |with: &RunResult, without: &RunResult| {
                Some(100.0 * (efficiency_of(hard, with)? / efficiency_of(equal, without)? - 1.0))
            };
            hard.each_with(equal, percent)
        }
        "section-4.3/example" => {
            // 1 Gbit/s times 100 ms; the window is 2.5 times as much.
            let product = 1e9 * 0.1 / 8.0;
            match cell.metric.as_str() {
                "bandwidth_delay_product_bytes" => Some(vec![product]),
                "window_2.5_bytes" => Some(vec![2.5 * product]),
                _ => None,
            }
        }
        // One report per segment of sixteen packets, in place of the usual report per packet.
        "section-2.5/overhead" => Some(vec![16.0]),
        // Packets of 1024 bytes at the published processing times.
        "table-1" if cell.metric == "theoretical_throughput_mbps" => match cell.scheme.as_str() {
            "sstp-sending" => Some(vec![1024.0 * 8.0 / 273.0]),
            "sstp-receiving" => Some(vec![1024.0 * 8.0 / 310.0]),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the smallest window of the figure with an efficiency close to the maximum, in w_a.
fn sufficient_window(cell: &Cell, runs: &Runs<'_>) -> Option<f64> {
    let p = cell.keys.get("p")?.as_f64()?;
    let windows = runs.cases.iter().filter_map(|case| {
        let (loss, window) = loss_and_window(case)?;
        let reached = mean(&case.each(|run| efficiency_of(case, run))?)?;
        (loss == p && reached > CLOSE * (1.0 - p))
            .then_some(window / connection_parameters(case)?.round_trip_window())
    });
    windows.min_by(f64::total_cmp)
}

/// Returns the values of the runs beyond the published cells: all points of the figures, and the analysis.
pub fn unpublished_values(runs: &Runs<'_>) -> Vec<MeasuredCell> {
    let mut rows = Vec::new();
    for case in &runs.cases {
        let scheme = case.keys().get("scheme").and_then(Value::as_str).unwrap_or("two-level");
        let cell =
            |scheme: &str, metric: &str| Cell { keys: case_keys(case), ..Cell::unpublished(scheme, metric) };
        let mut put = |scheme: &str, metric: &str, values: Option<Vec<f64>>| {
            rows.extend(values.map(|values| (cell(scheme, metric), values)));
        };
        if runs.id.starts_with("ours/section-2.4/") {
            put(scheme, SHARE, case.each(link_share));
            put(scheme, LOSS, case.each(loss_percent));
            put(scheme, RESENT, case.each(retransmitted_percent));
            continue;
        }
        let is_of_delays = matches!(runs.id, "figure-19" | "ours/figure-19-long");
        if !is_of_delays {
            put(scheme, EFFICIENCY, case.each(|run| efficiency_of(case, run)));
        }
        if is_of_delays || runs.id == "figure-14" {
            put(scheme, MEAN, case.each(|run| Some(run.flows.first()?.segment_delay.mean.as_millis_f64())));
        }
        if is_of_delays || runs.id == "figure-18" {
            // The maximum over all runs of the point: together they are as long as the paper's run.
            let longest = case.each(|run| Some(run.flows.first()?.segment_delay.max.as_millis_f64()));
            put(scheme, MAXIMUM, longest.map(|values| vec![values.into_iter().fold(0.0, f64::max)]));
        }
        if let Some((p, window)) = loss_and_window(case)
            && let Some(path) = connection_parameters(case)
        {
            for (name, form) in [("analysis", Form::Corrected), ("analysis-printed", Form::Printed)] {
                let analysis = path.analyse(p, window, form).ok();
                put(name, EFFICIENCY, analysis.map(|of| vec![of.efficiency]));
                if form == Form::Corrected && runs.id == "figure-14" {
                    put(name, MEAN, analysis.map(|of| vec![1e3 * of.receiver_delay]));
                }
            }
        }
    }
    rows
}

/// Returns the share of the shared link's rate, the first of the scenario, that delivered packets of all sources use.
fn link_share(run: &RunResult) -> Option<f64> {
    let delivered: f64 = run.flows.iter().map(|flow| flow.throughput.as_f64()).sum();
    Some(delivered / run.links.first()?.rate.as_f64())
}

fn loss_percent(run: &RunResult) -> Option<f64> {
    let link = run.links.first()?;
    percent_of(link.drops_full, link.packets + link.drops_full)
}

fn retransmitted_percent(run: &RunResult) -> Option<f64> {
    let sum = |of: fn(&thalweg_sim::FlowResult) -> u64| run.flows.iter().map(of).sum();
    percent_of(sum(|flow| flow.retransmissions), sum(|flow| flow.sent_packets))
}

fn percent_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// Returns all keys of a case except the scheme.
fn case_keys(case: &CaseRuns<'_>) -> serde_json::Map<String, Value> {
    case.keys()
        .iter()
        .filter(|(name, _)| *name != "scheme")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the loss and the window of a case covered by the formulas.
fn loss_and_window(case: &CaseRuns<'_>) -> Option<(f64, f64)> {
    let number = |name| case.keys().get(name).and_then(Value::as_f64);
    Some((number("p")?, number("window_segments")?))
}

/// Returns the connection parameters of a case for the formulas.
fn connection_parameters(case: &CaseRuns<'_>) -> Option<Path> {
    let EndpointConfigs::Sstp(EndsConfig { sender, .. }) =
        &case.case.spec.groups.first()?.transport.endpoint_configs
    else {
        return None;
    };
    let link = &case.case.spec.links.first()?.forward;
    let size = sender.rate.packet();
    Some(Path {
        rate: link.rate,
        round_trip: link.delay + link.delay,
        packet: Bytes::new(size.get()),
        segment: u32::from(sender.segment_packets),
    })
}

fn efficiency_of(case: &CaseRuns<'_>, run: &RunResult) -> Option<f64> {
    Some(run.flows.first()?.throughput.as_f64() / connection_parameters(case)?.rate.as_f64())
}
