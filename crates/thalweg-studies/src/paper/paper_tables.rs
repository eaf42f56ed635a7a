//! Formats results as tables in the layout of the paper.

use super::claim::Verdict;
use super::paper_results::{ExperimentResults, Results, Row};
use super::run_preparation::OURS;
use serde_json::Value;
use thalweg_report::output::{Align, Style, Table};

/// Returns all results as text: a table for each experiment, then the claims.
///
/// With several schemes each has a column; otherwise each metric has one. A cell shows our value, its interval, and in
/// brackets the published value with the relative difference.
pub fn format_tables(results: &Results, style: Style) -> String {
    let mut text = String::new();
    // For a published figure without values, ours take its place.
    let moved: Vec<&str> =
        results.experiments.iter().filter_map(|of| Some(of_ours(results, of)?.id.as_str())).collect();
    for experiment in results.experiments.iter().filter(|of| !moved.contains(&of.id.as_str())) {
        let experiment = of_ours(results, experiment).unwrap_or(experiment);
        if !text.is_empty() {
            text.push('\n');
        }
        let title =
            if experiment.title.is_empty() { String::new() } else { format!(": {}", experiment.title) };
        text.push_str(&style.bold(&style.clean(&format!("{}{title}", experiment.id))));
        text.push('\n');
        text.push_str(&experiment_table(experiment, style));
    }
    if !results.claims.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Claims")));
    }
    let width = results.claims.iter().map(|claim| claim.id.len()).fold(3, usize::max);
    for claim in &results.claims {
        let verdict = match claim.verdict {
            Verdict::Holds => claim.verdict.label().to_owned(),
            // Capitals are seen among many claims that hold.
            Verdict::SignOnly | Verdict::Fails => claim.verdict.label().to_uppercase(),
        };
        let section = match (claim.ours, claim.section.is_empty()) {
            (true, _) => " (ours)".to_owned(),
            (false, true) => String::new(),
            (false, false) => format!(" ({})", claim.section),
        };
        let line =
            format!("{:>width$}  {verdict}: {}{section}\n     {}", claim.id, claim.text, claim.evidence);
        for line in line.lines() {
            text.push_str(&style.clean(line));
            text.push('\n');
        }
    }
    let summary = results.summary();
    if !summary.is_empty() {
        text.push_str(&format!("\n{summary}\n"));
    }
    text
}

/// Returns the results under `ours/` of an experiment without published values.
fn of_ours<'a>(results: &'a Results, of: &ExperimentResults) -> Option<&'a ExperimentResults> {
    let id = format!("{OURS}{}", of.id);
    results.experiment(&id).filter(|_| of.rows.is_empty())
}

fn experiment_table(of: &ExperimentResults, style: Style) -> String {
    if of.rows.is_empty() {
        return "no values were published, and none are computed\n".to_owned();
    }
    let schemes = distinct_names(of.rows.iter().map(|row| row.cell.scheme.clone()));
    let by_scheme = schemes.len() > 1;
    let column = |row: &Row| if by_scheme { row.cell.scheme.clone() } else { metric_heading(row) };
    let line = |row: &Row| if by_scheme { metric_and_keys(row) } else { row_keys(row) };
    let columns = distinct_names(of.rows.iter().map(column));
    let lines = distinct_names(of.rows.iter().map(line));
    let head = if by_scheme { "" } else { schemes.first().map_or("", String::as_str) };
    let heads = core::iter::once(head).chain(columns.iter().map(String::as_str));
    let aligns = core::iter::once(Align::Left).chain(core::iter::repeat(Align::Right));
    let mut table = Table::with_columns(heads.zip(aligns));
    for name in &lines {
        let mut cells = vec![name.clone()];
        for wanted in &columns {
            let row = of.rows.iter().find(|row| line(row) == *name && column(row) == *wanted);
            cells.push(row.map(|row| format_row(row, style)).unwrap_or_default());
        }
        table.row(cells);
    }
    table.render(style)
}

fn distinct_names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn metric_heading(row: &Row) -> String {
    metric_words(&row.cell.metric)
}

/// Returns the words and the unit of a metric's name; the unit is its suffix.
pub(crate) fn metric_words(name: &str) -> String {
    let unit = UNITS.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, unit)));
    let (name, unit) = unit.map_or((name, ""), |(name, unit)| (name, unit));
    format!("{}{unit}", name.replace('_', " "))
}

fn row_keys(row: &Row) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let keys = row.cell.keys.iter().filter(|(key, _)| !HIDDEN_KEYS.contains(&key.as_str()));
    keys.map(|(key, value)| format!("{} {}", key.replace('_', " "), word(value)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn metric_and_keys(row: &Row) -> String {
    let (metric, keys) = (metric_heading(row), row_keys(row));
    if keys.is_empty() { metric } else { format!("{metric}, {keys}") }
}

fn format_row(row: &Row, style: Style) -> String {
    let value = row.value.map_or_else(|| style.nothing().to_owned(), format_number);
    let interval =
        row.ci95.map(|half| format!(" {}{}", style.plus_minus(), format_number(half))).unwrap_or_default();
    let difference =
        row.relative_difference().map(|of| format!(", {:+.1} %", 100.0 * of)).unwrap_or_default();
    let published = row.cell.published.as_ref().map(|value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    });
    let published = published.map(|text| format!(" ({text}{difference})")).unwrap_or_default();
    format!("{value}{interval}{published}")
}

/// Returns four significant digits, and at least two decimals for a fraction.
pub(crate) fn format_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let magnitude = libm::floor(libm::log10(value.abs()));
    if !(-3.0..6.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = if magnitude < 1.0 { 3.0 - magnitude } else { 2.0 };
    format!("{value:.*}", decimals as usize)
}

/// Suffixes of metrics, with their units.
const UNITS: &[(&str, &str)] = &[
    ("_kbytes_per_s", ", kB/s"),
    ("_kbps", ", kbit/s"),
    ("_mbps", ", Mbit/s"),
    ("_bps", ", bit/s"),
    ("_percent", ", %"),
    ("_packets", ", packets"),
    ("_bytes", ", bytes"),
    ("_rtts", ", round trips"),
    ("_ms", ", ms"),
    ("_us", ", us"),
    ("_s", ", s"),
];

/// Keys that name the place of a published value.
pub(crate) const HIDDEN_KEYS: &[&str] = &["table", "unit"];

#[cfg(test)]
mod tests {
    use super::super::published_values::Cell;
    use super::*;

    #[test]
    fn ours_stands_in_the_place_of_a_picture() {
        let of = |id: &str, rows| ExperimentResults { id: id.to_owned(), title: "Title".to_owned(), rows };
        let rows = || vec![Row::new(Cell::unpublished("hard", "delay_ms"), Some(&[1.5]))];
        let experiments =
            vec![of("a", Vec::new()), of("b", rows()), of("c", Vec::new()), of("ours/a", rows())];
        let results = Results { paper: "x", complete: true, experiments, claims: Vec::new() };
        let text = format_tables(&results, Style::PLAIN);
        let heads: Vec<&str> = text.lines().filter(|line| line.ends_with(": Title")).collect();
        assert_eq!(heads, ["ours/a: Title", "b: Title", "c: Title"], "{text}");
        assert!(text.ends_with("c: Title\nno values were published, and none are computed\n"), "{text}");
    }
}
