//! Reference of metrics, generated from their table.

use super::metric_definition::{Aggregation, Unit};
use super::metric_list::{Metric, MetricDefinition};

/// Returns the table of all metrics, for `docs/reference/results.md`.
pub fn metrics_table() -> String {
    let mut text = String::from(
        "| name | unit | of a flow | of a group | of the network | of a link | meaning |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for metric in Metric::ALL {
        let line = metric.line();
        let name = line
            .parent_object
            .map_or(format!("`{}`", line.name), |object| format!("`{object}.{}`", line.name));
        let named = line.network_name.map(|name| format!(" (of the network: `{name}`)")).unwrap_or_default();
        let cells = [
            format!("{name}{named}"),
            metric_unit(line).to_owned(),
            check_mark(line.flow.is_some()).to_owned(),
            describe_aggregation(&line.group, line),
            describe_aggregation(&line.network, line),
            check_mark(line.link.is_some()).to_owned(),
            line.description.trim().to_owned(),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn metric_unit(line: &MetricDefinition) -> &'static str {
    if line.unit == Unit::Segments { "segments" } else { line.unit.name() }
}

fn check_mark(has: bool) -> &'static str {
    if has { "yes" } else { "" }
}

/// Describes the aggregation of a metric.
fn describe_aggregation<T>(aggregation: &Aggregation<T, Metric>, line: &MetricDefinition) -> String {
    match aggregation {
        Aggregation::None if line.transfers.is_some() => "yes".to_owned(),
        Aggregation::None => String::new(),
        Aggregation::Sum => "sum".to_owned(),
        Aggregation::Max => "largest".to_owned(),
        Aggregation::WeightedMean(weight) => format!("mean weighted by `{}`", weight.line().name),
        Aggregation::Computed(_) => "yes".to_owned(),
    }
}
