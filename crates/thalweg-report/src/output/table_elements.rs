//! Elements of the tables of runs, means and comparisons.

use super::metric_columns::{Datum, Row};
use super::number_format::{Scale, Style};
use super::text_table::Table;
use crate::results::{Metric, Metrics, SizeMetrics, SubjectKind};

/// Formats a table with an empty line before it; returns nothing for an empty table.
pub(super) fn table_section(table: &Table, style: Style) -> String {
    if table.is_empty() { String::new() } else { format!("\n{}", table.render(style)) }
}

/// Formats a link direction: its endpoints, and its name where that adds information.
pub(crate) fn format_direction(name: &str, from: &str, to: &str, style: Style) -> String {
    let arrow = if style.unicode { "→" } else { "->" };
    let ends = format!("{from} {arrow} {to}");
    let is_redundant = name == format!("{from}-{to}") || name == format!("{to}-{from}") || name.is_empty();
    if is_redundant { ends } else { format!("{name}: {ends}") }
}

/// Returns the row of a scheme, a group or a link: its means with intervals.
pub(super) fn mean_row(name: String, metrics: &Metrics, of: SubjectKind) -> Row<'_> {
    Row::new(name, move |metric| metrics.get(metric.name(of)).copied().map(Datum::Mean))
}

/// Formats a size class by its bounds.
pub(super) fn size_words((from, below): (u64, Option<u64>)) -> String {
    let plain = |bytes: u64| Scale::for_bytes(bytes as f64).fixed(bytes as f64, 0);
    match (from, below) {
        (0, Some(below)) => format!("below {}", plain(below)),
        (from, Some(below)) => format!("{} to {}", plain(from), plain(below)),
        (from, None) => format!("{} and more", plain(from)),
    }
}

/// Formats a size class, with the number of runs behind its times where some runs have none.
pub(super) fn mean_size_words(class: &SizeMetrics) -> String {
    let size = size_words((class.from_bytes, class.below_bytes));
    let runs =
        |metric: Metric| class.metrics.get(metric.name(SubjectKind::SizeClass)).map(|estimate| estimate.n);
    match (runs(Metric::CompletionMean), runs(Metric::Completions)) {
        (Some(some), Some(all)) if some < all => format!("{size} ({some} of {all} runs)"),
        _ => size,
    }
}
