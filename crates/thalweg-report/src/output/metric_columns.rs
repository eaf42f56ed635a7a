//! Tables whose columns are metrics. The metrics table defines the columns, headings and units.

use super::number_format::{Scale, Style, format_rate, format_seconds};
use super::text_table::{Align, Table};
use crate::results::{Metric, Metrics, SubjectKind, Tables, Unit};
use crate::statistics::Estimate;

/// Returns true if transfers were started.
pub fn has_transfers(metrics: &Metrics) -> bool {
    let begun = |metric: Metric| metrics.get(metric.line().name).is_some_and(|of| of.max > 0.0);
    begun(Metric::Completions) || begun(Metric::Unfinished)
}

/// Value of a table cell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Datum {
    /// Value of a single run.
    One(f64),
    /// Mean over runs.
    Mean(Estimate),
    /// Difference, and true if it is significant among all differences shown.
    Difference(Estimate, bool),
}

impl Datum {
    fn is_more_than_zero(self) -> bool {
        match self {
            Self::One(value) => value != 0.0,
            Self::Mean(estimate) | Self::Difference(estimate, ..) => {
                estimate.min != 0.0 || estimate.max != 0.0
            }
        }
    }
}

/// Table row: leading cells, metric values and trailing cells.
pub(super) struct Row<'a> {
    pub lead: Vec<String>,
    pub value: Box<dyn Fn(Metric) -> Option<Datum> + 'a>,
    pub trail: Vec<String>,
}

impl<'a> Row<'a> {
    /// Creates a row that begins with a name.
    pub fn new(name: String, value: impl Fn(Metric) -> Option<Datum> + 'a) -> Self {
        Self { lead: vec![name], value: Box::new(value), trail: Vec::new() }
    }
}

/// Returns the columns for these rows: metrics with a value in any row, and rare metrics only where a value is above
/// zero.
pub(super) fn shown_columns(place: Tables, rows: &[Row<'_>]) -> Vec<Metric> {
    let has = |metric: Metric| {
        let mut values = rows.iter().filter_map(|row| (row.value)(metric));
        if metric.line().omitted_when_zero {
            values.any(Datum::is_more_than_zero)
        } else {
            values.next().is_some()
        }
    };
    Metric::in_table(place).filter(|&metric| has(metric)).collect()
}

/// Returns the headings of adjacent metrics; a shared part is written once.
pub fn heads_of(metrics: &[Metric]) -> Vec<String> {
    let mut last = "";
    let head = |metric: &Metric| {
        let (family, rest) = metric.line().header;
        let repeats = !rest.is_empty() && family == core::mem::replace(&mut last, family);
        match (repeats, rest) {
            (true, _) => rest.to_owned(),
            (false, "") => family.to_owned(),
            (false, _) => format!("{family} {rest}"),
        }
    };
    metrics.iter().map(head).collect()
}

/// Builds a table of `rows`; `lead` and `trail` are the headings before and after the metrics.
pub(super) fn metric_table(
    place: Tables,
    lead: &[(&str, Align)],
    rows: &[Row<'_>],
    trail: &[(&str, Align)],
    style: Style,
) -> Table {
    let metrics = shown_columns(place, rows);
    let heads = heads_of(&metrics);
    let middle = heads.iter().map(|head| (head.as_str(), Align::Right));
    let mut table = Table::with_columns(lead.iter().copied().chain(middle).chain(trail.iter().copied()));
    for (position, metric) in metrics.iter().enumerate() {
        table = table.alone(lead.len() + position, heads_of(&[*metric]).concat());
    }
    for row in rows {
        let cell = |metric: &Metric| cell_text(*metric, (row.value)(*metric), style);
        let cells = row.lead.iter().cloned().chain(metrics.iter().map(cell)).chain(row.trail.iter().cloned());
        table.row(cells);
    }
    table
}

/// Row of a table of network means, with leading and trailing cells.
#[derive(Clone, Debug)]
pub struct MeansRow<'a> {
    /// Cells before the metrics.
    pub lead: Vec<String>,
    /// Metrics.
    pub metrics: &'a Metrics,
    /// Cells after the metrics.
    pub trail: Vec<String>,
}

/// Formats a table of network means, with cells before and after them under the headings `lead` and `trail`. Adds a
/// second table for transfers where there are any.
pub fn format_means_table(lead: &[&str], rows: &[MeansRow<'_>], trail: &[&str], style: Style) -> String {
    let lead: Vec<(&str, Align)> = lead.iter().map(|head| (*head, Align::Left)).collect();
    let trail: Vec<(&str, Align)> = trail.iter().map(|head| (*head, Align::Right)).collect();
    let can_complete = rows.iter().any(|row| has_transfers(row.metrics));
    let row = |row: &MeansRow<'_>| {
        let metrics: Metrics = row.metrics.clone();
        let value =
            move |metric: Metric| metrics.get(metric.name(SubjectKind::Network)).copied().map(Datum::Mean);
        Row { lead: row.lead.clone(), value: Box::new(value), trail: row.trail.clone() }
    };
    let rows: Vec<Row<'_>> = rows.iter().map(row).collect();
    let mut text = metric_table(Tables::MEANS, &lead, &rows, &trail, style).render(style);
    // Where nothing can complete, a row of zeros would say that nothing did.
    if can_complete && !shown_columns(Tables::TRANSFERS, &rows).is_empty() {
        text.push('\n');
        text.push_str(&metric_table(Tables::TRANSFERS, &lead, &rows, &[], style).render(style));
    }
    text
}

/// Formats a mean with its interval and unit.
pub fn mean_in_words(metric: Metric, mean: Estimate, style: Style) -> String {
    cell_text(metric, Some(Datum::Mean(mean)), style)
}

/// Formats a share with its interval, in percent.
pub fn share_in_words(share: &Estimate, style: Style) -> String {
    Scale::PERCENT.estimate(share, style)
}

/// Formats a value with its unit.
pub fn format_value(metric: Metric, value: f64) -> String {
    format_single_value(metric, value)
}

/// Formats a cell value.
pub(crate) fn cell_text(metric: Metric, value: Option<Datum>, style: Style) -> String {
    match value {
        None => style.nothing().to_owned(),
        Some(Datum::One(value)) => format_single_value(metric, value),
        Some(Datum::Mean(estimate)) => {
            let scale = unit_for_size(metric, estimate.mean);
            scale.estimate(&estimate, style)
        }
        Some(Datum::Difference(estimate, is_significant)) => {
            // A difference close to zero is shown in the unit of its interval.
            let scale = unit_for_size(metric, estimate.mean.abs().max(estimate.ci95.unwrap_or(0.0)));
            let text = scale.estimate(&estimate, style);
            if is_significant { format!("{text} {SIGNIFICANCE_MARK}") } else { text }
        }
    }
}

fn format_single_value(metric: Metric, value: f64) -> String {
    match metric.line().unit {
        Unit::Rate => format_rate(value),
        Unit::Time => format_seconds(value),
        Unit::Bytes => Scale::for_bytes(value).value(value),
        Unit::Packets if !metric.line().is_integer => Scale::PACKETS.fixed(value, 1),
        Unit::Packets | Unit::Count => format!("{value:.0}"),
        Unit::Segments => format!("{value:.0} {}", Unit::Segments.name()),
        // Small loss shares need as many digits as large ones.
        Unit::Fraction => Scale::PERCENT.fixed(value, if value > 0.0 && value < 0.0095 { 2 } else { 1 }),
        // Indices need four decimals; ratios well above 1 do not.
        Unit::Dimensionless => format!("{value:.0$}", if value > 1.5 { 2 } else { 4 }),
        Unit::RateSquared => Scale::COUNT.value(value),
    }
}

/// Returns the unit for a value of about `size`.
pub(super) fn unit_for_size(metric: Metric, size: f64) -> Scale {
    match metric.line().unit {
        Unit::Rate => Scale::for_rate(size),
        Unit::Time => Scale::for_time(size),
        Unit::Bytes => Scale::for_bytes(size),
        Unit::Packets if !metric.line().is_integer => Scale::PACKETS,
        Unit::Fraction => Scale::PERCENT,
        Unit::Packets | Unit::Count | Unit::Segments | Unit::Dimensionless | Unit::RateSquared => {
            Scale::COUNT
        }
    }
}

/// Mark after differences that are significant among all differences shown.
pub(super) const SIGNIFICANCE_MARK: char = '*';

#[cfg(test)]
mod tests {
    //! Tests that uncertain values are shown in readable units.
    use super::*;

    #[test]
    fn a_difference_of_nearly_nothing_is_shown_in_the_unit_of_its_interval() {
        let metric = Metric::DelayMean;
        let estimate =
            Estimate { mean: 434e-9, ci95: Some(1.28e-3), std_dev: None, min: 0.0, max: 0.0, n: 10 };
        let shown = cell_text(metric, Some(Datum::Difference(estimate, false)), Style::PLAIN);
        assert_eq!(shown, "0.0 +/- 1.3 ms");
    }
}
