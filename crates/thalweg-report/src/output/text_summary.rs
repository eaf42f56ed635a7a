//! Text summary of a run or of several replications.

use super::comparison_text;
use super::metric_columns::{self, Datum, Row, has_transfers};
use super::number_format::{Scale, Style, format_seconds, plain_seconds};
use super::remarks_below_tables::all_remarks;
use super::table_elements::{format_direction, mean_row, mean_size_words, size_words, table_section};
use super::text_table::{Align, Table};
use crate::results::{
    Body, Document, Flow, GoalOutcome, Group, GroupMetrics, Link, Metric, Run, SubjectKind, Summary, Tables,
};

/// Formats the document as text.
pub fn format_summary(document: &Document, style: Style) -> String {
    let mut text = format_heading(document, style);
    match &document.body {
        Body::Run { runs } => {
            for run in runs {
                text.push_str(&run_text(run, style));
            }
        }
        Body::Replications { runs, summary } => {
            text.push_str(&replications_text(runs, summary.as_ref(), style));
        }
        Body::Comparison { margin, schemes, differences } => {
            text.push_str(&comparison_text::format_comparison(
                document,
                schemes,
                differences,
                *margin,
                style,
            ));
        }
    }
    if let Some(until) = &document.until {
        text.push_str(&style.folded(&until_text(until, document, style)));
        text.push('\n');
    }
    text.extend(all_remarks(document, style).map(|sentence| style.folded(&sentence) + "\n"));
    text
}

fn format_heading(document: &Document, style: Style) -> String {
    let (title, subtitle) = title_lines(document, style);
    let mut text = style.bold(&title);
    text.push_str(&style.folded(&format!("\n{subtitle}\n")));
    if !document.complete {
        text.push_str(&missing_part_line(document));
    }
    text
}

/// Returns the title of the scenario and a line about the simulation.
pub(crate) fn title_lines(document: &Document, style: Style) -> (String, String) {
    let scenario = &document.scenario;
    let title = if scenario.title.is_empty() { &scenario.file } else { &scenario.title };
    let seeds = match document.seeds.as_slice() {
        [seed] => format!("seed {seed}"),
        [first, .., last] => format!("{} runs, seeds {first} to {last}", document.seeds.len()),
        [] => String::new(),
    };
    let warmup = match document.warmup_s {
        0.0 => String::new(),
        warmup => format!(", the first {} not counted", plain_seconds(warmup)),
    };
    let is_done = |live| document.runs().any(|(_, run)| run.is_live() == live);
    let done = match (is_done(true), is_done(false)) {
        (true, true) => "simulated and live",
        (true, false) => "live",
        (false, _) => "simulated",
    };
    // Live runs end at any nanosecond.
    let duration = match is_done(true) {
        true => (document.duration_s * 1e3).round() / 1e3,
        false => document.duration_s,
    };
    (style.clean(title), format!("{} {done}{warmup}; {seeds}", plain_seconds(duration)))
}

/// Returns the sentence on runs repeated until an interval was narrow enough or the maximum was reached.
fn until_text(until: &GoalOutcome, document: &Document, style: Style) -> String {
    let (runs, word, target) = (document.seeds.len(), until.word(), Scale::PERCENT.value(until.share));
    let of = if until.of.is_empty() { String::new() } else { format!(" ({})", style.clean(&until.of)) };
    match until.widest.map(|widest| Scale::PERCENT.value(widest)) {
        Some(widest) if until.is_reached() => {
            format!(
                "After {runs} runs every 95 % interval of {word} is within {target}; the widest is {widest}{of}."
            )
        }
        Some(widest) => format!(
            "NOT REACHED: after {runs} runs the 95 % interval of {word} is {widest}{of}, where {target} was requested; raise \
             --max-reps."
        ),
        None if until.is_always_zero(document) => format!(
            "NOT REACHED: {word} is 0 in each of {runs} runs, and an interval is a share of the mean: choose another metric."
        ),
        None => format!("NOT REACHED: nothing in {runs} runs has {word}: choose another metric."),
    }
}

/// Returns the line on the missing part of an interrupted document.
fn missing_part_line(document: &Document) -> String {
    let (complete, begun) = document
        .runs()
        .fold((0, 0), |(complete, begun), (_, run)| (complete + u32::from(run.complete), begun + 1));
    let reached = document.runs().filter(|(_, run)| !run.complete).map(|(_, run)| run.ended_s);
    let reached: Vec<String> = reached.map(format_seconds).collect();
    match &document.body {
        Body::Run { .. } => format!("PARTIAL: interrupted at {}\n", reached.concat()),
        _ => format!("PARTIAL: interrupted; {complete} of {begun} runs begun are complete\n"),
    }
}

fn run_text(run: &Run, style: Style) -> String {
    let mut text = table_section(&completions_table(&run.groups, style), style);
    let sizes = run.sizes.iter().map(|class| {
        let value = |metric| class.values.get(metric).map(Datum::One);
        Row::new(size_words((class.from_bytes, class.below_bytes)), value)
    });
    text.push_str(&table_section(&sizes_table(&sizes.collect::<Vec<_>>(), style), style));
    text.push_str(&table_section(&flows_table(run, style), style));
    text.push_str(&table_section(&groups_table(&run.groups, style), style));
    text.push_str(&table_section(&sinks_table(&run.flows, style), style));
    text.push_str(&table_section(&segments_table(&run.flows, style), style));
    text.push_str(&table_section(&media_table(&run.flows, style), style));
    text.push_str(&table_section(&links_table(&run.links, style), style));
    if !run.is_live() {
        text.push_str(&format!("\nFingerprint {}\n", run.fingerprint));
    }
    text
}

fn flows_table(run: &Run, style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let all: Vec<&Flow> = run.flows.iter().collect();
    if all.len() <= MAX_FLOWS {
        rows.extend(all.iter().map(|flow| flow_row(flow, flow.name.clone(), style)));
    } else if run.groups.len() <= MAX_GROUPS {
        for group in &run.groups {
            rows.extend(extreme_flows(
                all.iter().copied().filter(|flow| flow.group == group.name).collect(),
                style,
            ));
        }
    } else {
        rows.extend(extreme_flows(all, style));
    }
    let lead = [("Flow", Align::Left)];
    metric_columns::metric_table(Tables::FLOWS, &lead, &rows, &[("Limited by", Align::Left)], style)
        .shortened(0, NAME_COLUMNS)
}

/// Returns the flows with the lowest, median and highest goodput of many.
fn extreme_flows(mut sorted: Vec<&Flow>, style: Style) -> Vec<Row<'_>> {
    sorted.sort_by(|a, b| a.or_zero(Metric::Goodput).total_cmp(&b.or_zero(Metric::Goodput)));
    let last = sorted.len().max(1) - 1;
    let picks = [("lowest", 0), ("median", last / 2), ("highest", last)];
    let row = |(what, position): (&str, usize)| {
        let flow = *sorted.get(position)?;
        Some(flow_row(flow, format!("{} ({what})", flow.name), style))
    };
    picks.into_iter().filter_map(row).collect()
}

fn flow_row(flow: &Flow, name: String, style: Style) -> Row<'_> {
    let limit = flow.top_limit().map_or(style.nothing().to_owned(), |(limit, share)| {
        format!("{} {}", limit.limit_words(), Scale::PERCENT.fixed(share, 0))
    });
    Row { trail: vec![limit], ..Row::new(name, |metric| flow.get(metric).map(Datum::One)) }
}

fn groups_table(groups: &[Group], style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for group in groups.iter().take(MAX_ROWS) {
        let lead = vec![group.name.clone(), group.scheme.clone(), group.flows.to_string()];
        rows.push(Row { lead, ..Row::new(String::new(), |metric| group.get(metric).map(Datum::One)) });
    }
    let lead = [("Group", Align::Left), ("Scheme", Align::Left), ("Flows", Align::Right)];
    let mut table = metric_columns::metric_table(Tables::GROUPS, &lead, &rows, &[], style)
        .shortened(0, GROUP_COLUMNS)
        .shortened(1, SCHEME_COLUMNS);
    add_omitted_row(&mut table, groups.len(), "groups");
    table
}

/// Builds the table of completion times of the groups that have transfers.
fn completions_table(groups: &[Group], style: Style) -> Table {
    let has = |group: &&Group| group.or_zero(Metric::Completions) + group.or_zero(Metric::Unfinished) > 0.0;
    let some: Vec<&Group> = groups.iter().filter(has).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for group in some.iter().take(MAX_ROWS) {
        rows.push(Row::new(group.name.clone(), |metric| group.get(metric).map(Datum::One)));
    }
    let lead = [("Transfers", Align::Left)];
    let mut table =
        metric_columns::metric_table(Tables::TRANSFERS, &lead, &rows, &[], style).shortened(0, NAME_COLUMNS);
    add_omitted_row(&mut table, some.len(), "groups");
    table
}

/// Builds the table of completion times by size where there are several classes.
fn sizes_table(rows: &[Row<'_>], style: Style) -> Table {
    let rows = if rows.len() < 2 { &[][..] } else { rows };
    metric_columns::metric_table(Tables::SIZES, &[("Size", Align::Left)], rows, &[], style)
}

/// Builds the table of segment delays to the sink and of data waiting to be read there, for flows that have either.
fn sinks_table(flows: &[Flow], style: Style) -> Table {
    let has = |flow: &&Flow| flow.get(Metric::Segments).is_some() || flow.get(Metric::UnreadMax).is_some();
    of_flows(Tables::SINKS, "Sink", &flows.iter().filter(has).collect::<Vec<_>>(), style)
}

/// Builds the table of holes in segments and of data that exceeded the buffer, for flows with either.
fn segments_table(flows: &[Flow], style: Style) -> Table {
    let reassembly_losses = [Metric::IncompleteSegments, Metric::RefusedPackets, Metric::EvictedSegments];
    let has = |flow: &&Flow| reassembly_losses.iter().any(|&metric| flow.or_zero(metric) > 0.0);
    of_flows(Tables::TWO_LEVEL, "Two-level", &flows.iter().filter(has).collect::<Vec<_>>(), style)
}

/// Builds the table of live-media frames.
fn media_table(flows: &[Flow], style: Style) -> Table {
    let has = |flow: &&Flow| flow.get(Metric::FramesEncoded).is_some();
    of_flows(Tables::MEDIA, "Media", &flows.iter().filter(has).collect::<Vec<_>>(), style)
}

fn of_flows(place: Tables, head: &str, some: &[&Flow], style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for flow in some.iter().take(MAX_ROWS) {
        rows.push(Row::new(flow.name.clone(), |metric| flow.get(metric).map(Datum::One)));
    }
    let mut table = metric_columns::metric_table(place, &[(head, Align::Left)], &rows, &[], style)
        .shortened(0, NAME_COLUMNS);
    add_omitted_row(&mut table, some.len(), "flows");
    table
}

fn links_table(links: &[Link], style: Style) -> Table {
    let bottlenecks: Vec<&Link> = links.iter().filter(|link| link.bottleneck).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for link in bottlenecks.iter().take(MAX_ROWS) {
        let name = format_direction(&link.name, &link.from, &link.to, style);
        rows.push(Row::new(name, |metric| link.get(metric).map(Datum::One)));
    }
    let lead = [("Bottleneck", Align::Left)];
    let mut table =
        metric_columns::metric_table(Tables::LINKS, &lead, &rows, &[], style).shortened(0, NAME_COLUMNS + 8);
    add_omitted_row(&mut table, bottlenecks.len(), "bottlenecks");
    table
}

/// Adds a last row with the number of rows left out.
fn add_omitted_row(table: &mut Table, all: usize, what: &str) {
    if all > MAX_ROWS {
        table.row([format!("+ {} {what}", all - MAX_ROWS)]);
    }
}

fn replications_text(runs: &[Run], summary: Option<&Summary>, style: Style) -> String {
    let Some(summary) = summary else {
        return "\nNo run is complete: there is nothing to average.\n".to_owned();
    };
    let mut text = String::new();
    text.push_str(&table_section(&mean_groups_table(Tables::TRANSFERS, "Transfers", summary, style), style));
    let sizes = summary
        .sizes
        .iter()
        .map(|class| mean_row(mean_size_words(class), &class.metrics, SubjectKind::SizeClass));
    text.push_str(&table_section(&sizes_table(&sizes.collect::<Vec<_>>(), style), style));
    text.push_str(&table_section(&mean_groups_table(Tables::MEANS, "Group", summary, style), style));
    text.push_str(&table_section(&mean_sinks_table(summary, style), style));
    let frames = [Metric::FramesEncoded];
    text.push_str(&table_section(&mean_table(summary, Tables::MEDIA_MEANS, "Media", &frames, style), style));
    let mut rows: Vec<Row<'_>> = Vec::new();
    for link in summary.links.iter().take(MAX_ROWS) {
        let name = format_direction(&link.name, &link.from, &link.to, style);
        rows.push(mean_row(name, &link.metrics, SubjectKind::Link));
    }
    let lead = [("Bottleneck", Align::Left)];
    let mut links = metric_columns::metric_table(Tables::LINK_MEANS, &lead, &rows, &[], style)
        .shortened(0, NAME_COLUMNS + 8);
    add_omitted_row(&mut links, summary.links.len(), "bottlenecks");
    let first = runs.iter().find(|run| run.complete).map_or("", |run| &run.fingerprint);
    let runs = match (summary.runs, summary.different) {
        (1, _) => "One run".to_owned(),
        (runs, 1) => {
            format!("The {runs} runs are the same: they count as one, and show no random variation")
        }
        (runs, _) => format!("Means over {runs} runs {} 95 % intervals", style.plus_minus()),
    };
    let footer = style.folded(&format!("\n{runs}; fingerprint of the first {first}\n"));
    format!("{text}{}{footer}", table_section(&links, style))
}

/// Builds the table of groups, with a total where there are several.
fn mean_groups_table(place: Tables, head: &str, summary: &Summary, style: Style) -> Table {
    let has = |group: &&GroupMetrics| place == Tables::MEANS || has_transfers(&group.metrics);
    let some: Vec<&GroupMetrics> = summary.groups.iter().filter(has).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    rows.extend(
        some.iter()
            .take(MAX_ROWS)
            .map(|group| mean_row(group.name.clone(), &group.metrics, SubjectKind::Group)),
    );
    let hidden = some.len().saturating_sub(MAX_ROWS);
    if hidden > 0 {
        rows.push(Row::new(format!("+ {hidden} groups"), |_| None));
    }
    if some.len() > 1 {
        rows.push(mean_row("all".to_owned(), &summary.totals, SubjectKind::Network));
    }
    metric_columns::metric_table(place, &[(head, Align::Left)], &rows, &[], style).shortened(0, NAME_COLUMNS)
}

/// Builds the table of two-level flow-control segments and of data waiting to be read, for groups that have either.
fn mean_sinks_table(summary: &Summary, style: Style) -> Table {
    mean_table(summary, Tables::SINK_MEANS, "Sink", &[Metric::Segments, Metric::UnreadMax], style)
}

/// Builds a table of the groups that have any of these metrics.
fn mean_table(summary: &Summary, place: Tables, head: &str, of: &[Metric], style: Style) -> Table {
    let has = |group: &&GroupMetrics| {
        of.iter().any(|metric| group.metrics.contains_key(metric.name(SubjectKind::Group)))
    };
    let some: Vec<&GroupMetrics> = summary.groups.iter().filter(has).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    rows.extend(
        some.iter()
            .take(MAX_ROWS)
            .map(|group| mean_row(group.name.clone(), &group.metrics, SubjectKind::Group)),
    );
    let lead = [(head, Align::Left)];
    let mut table = metric_columns::metric_table(place, &lead, &rows, &[], style).shortened(0, NAME_COLUMNS);
    add_omitted_row(&mut table, some.len(), "groups");
    table
}

/// Maximum number of flows with a row each.
const MAX_FLOWS: usize = 20;
/// Number of groups above which the extremes of all flows are shown together.
const MAX_GROUPS: usize = 6;
/// Maximum number of rows for groups and bottlenecks, chosen for a result that fits on a screen.
const MAX_ROWS: usize = 16;
/// Width to which flow and group names may be shortened.
const NAME_COLUMNS: usize = 22;
/// Width to which group names may be shortened beside those of schemes.
const GROUP_COLUMNS: usize = 16;
/// Width to which scheme names may be shortened beside those of groups.
const SCHEME_COLUMNS: usize = 10;

#[cfg(test)]
#[path = "text_summary_tests.rs"]
mod tests;
