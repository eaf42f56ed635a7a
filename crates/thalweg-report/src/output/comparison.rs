//! What several schemes did side by side, and who won.

use super::summary::{direction, queue_cells, section, traffic_cells};
use super::table::{Align, Table, shorten};
use super::text::Style;
use super::verdict::verdicts;
use crate::results::{Difference, LinkMetrics, SchemeResults};

/// The tables and the verdict of a comparison.
pub(super) fn comparison(
    schemes: &[SchemeResults],
    differences: &[Difference],
    margin: f64,
    style: Style,
) -> String {
    let mut text = section(&schemes_table(schemes, style), style);
    text.push_str(&section(&groups_table(schemes, style), style));
    text.extend(links_tables(schemes, style).iter().map(|table| section(table, style)));
    let paired = section(&differences_table(differences, style), style);
    if let (Some(first), false) = (differences.first(), paired.is_empty()) {
        // A line of its own: as a heading it would widen the table.
        let against = shorten(&style.clean(&first.against), COLUMNS - 20, style);
        text.push_str(&format!("\nDifference to {against}\n"));
        text.push_str(&paired);
    }
    let summaries = || schemes.iter().filter_map(|of| of.summary.as_ref());
    let runs = summaries().map(|summary| summary.runs).min();
    match runs {
        None => text.push_str("\nNo run is complete: there is nothing to compare.\n"),
        Some(1) => {}
        Some(runs) if summaries().all(|summary| summary.different == 1) => text.push_str(&format!(
            "\nThe {runs} runs of each scheme are the same: they count as one, which tells nothing of chance.\n"
        )),
        Some(runs) => text.push_str(&format!(
            "\nMeans over {runs} runs {} 95 % intervals; every scheme met the same random numbers.\n",
            style.plus_minus()
        )),
    }
    let verdicts = verdicts(schemes, margin);
    let verdicts: Vec<String> =
        verdicts.iter().map(|verdict| wrapped(&style.clean(&verdict.sentence))).collect();
    if !verdicts.is_empty() {
        text.push('\n');
        text.extend(verdicts);
    }
    if runs == Some(1) {
        text.push_str(
            "These are single runs: --reps 5 tells whether the differences are more than chance.\n",
        );
    }
    text
}

fn schemes_table(schemes: &[SchemeResults], style: Style) -> Table {
    let mut table = Table::new(traffic_heads("Scheme")).first_column(NAME_COLUMNS);
    for of in schemes {
        if let Some(summary) = &of.summary {
            table.row(traffic_cells(of.scheme.clone(), &summary.totals, style));
        }
    }
    table
}

/// Group by group, where there are several; not more than fit on a screen.
fn groups_table(schemes: &[SchemeResults], style: Style) -> Table {
    let mut table = Table::new(traffic_heads("Group, scheme")).first_column(NAME_COLUMNS);
    let groups = schemes.iter().find_map(|of| of.summary.as_ref()).map_or(0, |summary| summary.groups.len());
    if groups < 2 {
        return table;
    }
    for group in 0..groups.min(MOST_ROWS / schemes.len().max(1)) {
        for of in schemes {
            if let Some(group) = of.summary.as_ref().and_then(|summary| summary.groups.get(group)) {
                table.row(traffic_cells(format!("{}, {}", group.name, of.scheme), &group.metrics, style));
            }
        }
    }
    table
}

/// A table for each bottleneck; not more than fit on a screen.
fn links_tables(schemes: &[SchemeResults], style: Style) -> Vec<Table> {
    let summaries = || schemes.iter().filter_map(|of| Some((of, of.summary.as_ref()?)));
    let links = summaries().next().map_or(&[][..], |(_, summary)| &summary.links);
    let most = (MOST_ROWS / schemes.len().max(1)).max(1);
    let table = |(position, link): (usize, &LinkMetrics)| {
        let ends = direction(&link.name, &link.from, &link.to, style);
        let ends = shorten(&style.clean(&ends), LINK_COLUMNS, style);
        let heads = [ends.as_str(), "Used", "Queue mean", "p99", "max", "Drops"];
        let mut table = Table::new(heads.map(|head| (head, Align::Right)).with_left_first());
        for (of, summary) in summaries() {
            if let Some(link) = summary.links.get(position) {
                let name = shorten(&of.scheme, NAME_COLUMNS, style);
                table.row(queue_cells(name, &link.metrics, style));
            }
        }
        table
    };
    links.iter().take(most).enumerate().map(table).collect()
}

/// Paired differences against the first scheme, where there are intervals.
fn differences_table(differences: &[Difference], style: Style) -> Table {
    let mut table = Table::new(traffic_heads("Scheme")).first_column(NAME_COLUMNS);
    for difference in differences {
        let paired =
            difference.totals.iter().map(|(name, metric)| (name.clone(), metric.difference)).collect();
        if difference.totals.values().any(|metric| metric.difference.ci95.is_some()) {
            table.row(traffic_cells(difference.scheme.clone(), &paired, style));
        }
    }
    table
}

fn traffic_heads(first: &str) -> [(&str, Align); 6] {
    [first, "Goodput", "Delay mean", "Delay p99", "Jain's index", "Resent"]
        .map(|head| (head, Align::Right))
        .with_left_first()
}

/// Headings of which the first is of a column of names.
trait WithLeftFirst {
    fn with_left_first(self) -> Self;
}

impl<const N: usize> WithLeftFirst for [(&str, Align); N] {
    fn with_left_first(mut self) -> Self {
        if let Some(first) = self.first_mut() {
            first.1 = Align::Left;
        }
        self
    }
}

/// `sentence` in lines of at most 100 columns.
fn wrapped(sentence: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > COLUMNS {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    text
}

const COLUMNS: usize = 100;
/// Room for names of schemes within 100 columns.
const NAME_COLUMNS: usize = 20;
/// Room for a link's ends in a heading.
const LINK_COLUMNS: usize = 30;
/// Rows of the tables that have one for each group or link and scheme.
const MOST_ROWS: usize = 24;
