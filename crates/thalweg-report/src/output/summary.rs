//! What a run or several replications did, at a glance.

use super::comparison;
use super::table::{Align, Table, shorten};
use super::text::{Scale, Style, plain_seconds, rate, seconds};
use crate::results::{Body, Document, Flow, Group, Link, Metrics, Run, Summary, TwoLevel};
use crate::statistics::Estimate;

/// The document as text of at most 100 columns.
pub fn summary(document: &Document, style: Style) -> String {
    let mut text = heading(document, style);
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
            text.push_str(&comparison::comparison(schemes, differences, *margin, style));
        }
    }
    text
}

fn heading(document: &Document, style: Style) -> String {
    let (title, subtitle) = title_lines(document, style);
    let mut text = style.bold(&title);
    text.push_str(&format!("\n{subtitle}\n"));
    if !document.complete {
        text.push_str(&partial(document));
    }
    text
}

/// The title of the scenario, and what was simulated.
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
    (style.clean(title), format!("{} simulated{warmup}; {seeds}", plain_seconds(document.duration_s)))
}

/// How much is missing.
fn partial(document: &Document) -> String {
    let (complete, begun) = document
        .runs()
        .fold((0, 0), |(complete, begun), (_, run)| (complete + u32::from(run.complete), begun + 1));
    let reached = document.runs().filter(|(_, run)| !run.complete).map(|(_, run)| run.ended_s);
    let reached: Vec<String> = reached.map(seconds).collect();
    match &document.body {
        Body::Run { .. } => format!("PARTIAL: interrupted at {}\n", reached.concat()),
        _ => format!("PARTIAL: interrupted; {complete} of {begun} runs begun are complete\n"),
    }
}

fn run_text(run: &Run, style: Style) -> String {
    let mut text = section(&flows_table(run, style), style);
    text.push_str(&section(&groups_table(&run.groups, style), style));
    text.push_str(&section(&completions_table(&run.groups, style), style));
    text.push_str(&section(&sinks_table(&run.flows, style), style));
    text.push_str(&section(&segments_table(&run.flows), style));
    text.push_str(&section(&links_table(&run.links, style), style));
    text.push_str(&format!("\nFingerprint {}\n", run.fingerprint));
    text
}

/// A table with an empty line before it; nothing for an empty table.
pub(super) fn section(table: &Table, style: Style) -> String {
    if table.is_empty() { String::new() } else { format!("\n{}", table.render(style)) }
}

fn flows_table(run: &Run, style: Style) -> Table {
    let mut table = Table::new([
        ("Flow", Align::Left),
        ("Goodput", Align::Right),
        ("Share", Align::Right),
        ("Delay p50", Align::Right),
        ("p99", Align::Right),
        ("Resent", Align::Right),
        ("Limited by", Align::Left),
    ])
    .first_column(NAME_COLUMNS);
    let all: Vec<&Flow> = run.flows.iter().collect();
    if all.len() <= MOST_FLOWS {
        all.iter().for_each(|flow| table.row(flow_cells(flow, flow.name.clone(), style)));
        return table;
    }
    let mut extremes = |flows: &[&Flow]| {
        let mut sorted = flows.to_vec();
        sorted.sort_by_key(|flow| flow.goodput_bps);
        let picks =
            [("lowest", 0), ("median", (sorted.len().max(1) - 1) / 2), ("highest", sorted.len().max(1) - 1)];
        for (what, position) in picks {
            if let Some(flow) = sorted.get(position) {
                table.row(flow_cells(flow, format!("{} ({what})", flow.name), style));
            }
        }
    };
    if run.groups.len() <= MOST_GROUPS {
        for group in &run.groups {
            let members: Vec<&Flow> = all.iter().copied().filter(|flow| flow.group == group.name).collect();
            extremes(&members);
        }
    } else {
        extremes(&all);
    }
    table
}

fn flow_cells(flow: &Flow, name: String, style: Style) -> [String; 7] {
    let limit = flow.limits.map_or(style.nothing().to_owned(), |limits| {
        let (limit, share) = limits.top();
        format!("{} {}", limit.name().replace('-', " "), Scale::PERCENT.fixed(share, 0))
    });
    [
        name,
        rate(flow.goodput_bps as f64),
        flow.share.map_or(style.nothing().to_owned(), |share| Scale::PERCENT.fixed(share, 1)),
        time(flow.delay_p50_s, style),
        time(flow.delay_p99_s, style),
        flow.retransmissions.to_string(),
        limit,
    ]
}

fn groups_table(groups: &[Group], style: Style) -> Table {
    let mut table = Table::new([
        ("Group", Align::Left),
        ("Scheme", Align::Left),
        ("Flows", Align::Right),
        ("Goodput", Align::Right),
        ("Delay p50", Align::Right),
        ("p99", Align::Right),
        ("Jain", Align::Right),
        ("Variance (kbit/s)^2", Align::Right),
    ])
    .first_column(16);
    for group in groups.iter().take(MOST_ROWS) {
        table.row([
            group.name.clone(),
            shorten(&group.scheme, 10, style),
            group.flows.to_string(),
            rate(group.goodput_bps as f64),
            time(group.delay_p50_s, style),
            time(group.delay_p99_s, style),
            group.jain.map_or(style.nothing().to_owned(), |jain| format!("{jain:.4}")),
            Scale::COUNT.value(group.fairness_variance_kbps2),
        ]);
    }
    more(&mut table, groups.len(), "groups");
    table
}

/// How long transfers took, where any ended.
fn completions_table(groups: &[Group], style: Style) -> Table {
    let mut table = Table::new([
        ("Transfers", Align::Left),
        ("Completed", Align::Right),
        ("Unfinished", Align::Right),
        ("Time mean", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
    ])
    .first_column(NAME_COLUMNS);
    let some: Vec<&Group> = groups.iter().filter(|group| group.completions + group.unfinished > 0).collect();
    for group in some.iter().take(MOST_ROWS) {
        table.row([
            group.name.clone(),
            group.completions.to_string(),
            group.unfinished.to_string(),
            time(group.completion_mean_s, style),
            time(group.completion_p50_s, style),
            time(group.completion_p99_s, style),
            time(group.completion_max_s, style),
        ]);
    }
    more(&mut table, some.len(), "groups");
    table
}

/// How long segments took to the sink, and what waited there to be read, of flows that have either.
fn sinks_table(flows: &[Flow], style: Style) -> Table {
    let mut table = Table::new([
        ("Sink", Align::Left),
        ("Segments", Align::Right),
        ("Time mean", Align::Right),
        ("max", Align::Right),
        ("Unread max", Align::Right),
    ])
    .first_column(NAME_COLUMNS);
    let some: Vec<&Flow> =
        flows.iter().filter(|flow| flow.segments.is_some() || flow.unread_max_bytes.is_some()).collect();
    let nothing = || style.nothing().to_owned();
    for flow in some.iter().take(MOST_ROWS) {
        table.row([
            flow.name.clone(),
            flow.segments.map_or_else(nothing, |count| count.to_string()),
            time(flow.segment_delay_mean_s, style),
            time(flow.segment_delay_max_s, style),
            flow.unread_max_bytes.map_or_else(nothing, |bytes| bytes_text(bytes as f64)),
        ]);
    }
    more(&mut table, some.len(), "flows");
    table
}

/// Holes in segments and what there was no room for, of flows that met either.
fn segments_table(flows: &[Flow]) -> Table {
    let mut table = Table::new([
        ("Two-level", Align::Left),
        ("Incomplete", Align::Right),
        ("Holes", Align::Right),
        ("Refused", Align::Right),
        ("Evicted", Align::Right),
        ("Source kept", Align::Right),
        ("Sink kept", Align::Right),
    ])
    .first_column(NAME_COLUMNS);
    let some: Vec<(&Flow, TwoLevel)> = flows
        .iter()
        .filter_map(|flow| Some((flow, flow.two_level?)))
        .filter(|(_, counts)| {
            counts.incomplete_segments + counts.refused_packets + counts.evicted_segments > 0
        })
        .collect();
    for (flow, counts) in some.iter().take(MOST_ROWS) {
        table.row([
            flow.name.clone(),
            format!("{} seg", counts.incomplete_segments),
            format!("{} pkt", counts.hole_packets),
            format!("{} pkt", counts.refused_packets),
            format!("{} seg", counts.evicted_segments),
            format!("{} seg", counts.sender_buffer_max_segments),
            format!("{} seg", counts.receiver_buffer_max_segments),
        ]);
    }
    more(&mut table, some.len(), "flows");
    table
}

fn bytes_text(bytes: f64) -> String {
    Scale::of_bytes(bytes).value(bytes)
}

fn time(time: Option<f64>, style: Style) -> String {
    time.map_or(style.nothing().to_owned(), seconds)
}

fn links_table(links: &[Link], style: Style) -> Table {
    // Few scenarios have routers that speak.
    let speaks = links.iter().any(|link| link.feedback > 0);
    let mut table = Table::new([
        ("Bottleneck", Align::Left),
        ("Rate", Align::Right),
        ("Used", Align::Right),
        ("Queue mean", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("Drops", Align::Right),
        ("Marks", Align::Right),
        ("Lost", Align::Right),
    ])
    .first_column(NAME_COLUMNS + 8)
    .column_if(speaks, "Messages", Align::Right);
    let bottlenecks: Vec<&Link> = links.iter().filter(|link| link.bottleneck).collect();
    for link in bottlenecks.iter().take(MOST_ROWS) {
        let messages = speaks.then(|| link.feedback.to_string());
        let cells = [
            direction(&link.name, &link.from, &link.to, style),
            link.rate_bps.map_or("trace".to_owned(), |bps| rate(bps as f64)),
            Scale::PERCENT.fixed(link.utilisation, 1),
            Scale::PACKETS.fixed(link.queue_mean_packets, 1),
            link.queue_p99_packets.to_string(),
            link.queue_max_packets.to_string(),
            link.drops.to_string(),
            link.marks.to_string(),
            link.losses.to_string(),
        ];
        table.row(cells.into_iter().chain(messages));
    }
    more(&mut table, bottlenecks.len(), "bottlenecks");
    table
}

/// A direction of a link: its ends, and its name where that says more.
pub(crate) fn direction(name: &str, from: &str, to: &str, style: Style) -> String {
    let arrow = if style.unicode { "→" } else { "->" };
    let ends = format!("{from} {arrow} {to}");
    let says_nothing_new =
        name == format!("{from}-{to}") || name == format!("{to}-{from}") || name.is_empty();
    if says_nothing_new { ends } else { format!("{name}: {ends}") }
}

/// A last row that tells how many were left out.
fn more(table: &mut Table, all: usize, what: &str) {
    if all > MOST_ROWS {
        table.row([format!("+ {} {what}", all - MOST_ROWS)]);
    }
}

fn replications_text(runs: &[Run], summary: Option<&Summary>, style: Style) -> String {
    let Some(summary) = summary else {
        return "\nNo run is complete: there is nothing to average.\n".to_owned();
    };
    let mut groups = Table::new([
        ("Group", Align::Left),
        ("Goodput", Align::Right),
        ("Delay mean", Align::Right),
        ("Delay p99", Align::Right),
        ("Jain's index", Align::Right),
        ("Resent", Align::Right),
    ])
    .first_column(NAME_COLUMNS);
    for group in summary.groups.iter().take(MOST_ROWS) {
        groups.row(traffic_cells(group.name.clone(), &group.metrics, style));
    }
    more(&mut groups, summary.groups.len(), "groups");
    if summary.groups.len() > 1 {
        groups.row(traffic_cells("all".to_owned(), &summary.totals, style));
    }
    let sinks = mean_sinks_table(summary, style);
    let mut links = Table::new([
        ("Bottleneck", Align::Left),
        ("Used", Align::Right),
        ("Queue mean", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("Drops", Align::Right),
    ])
    .first_column(NAME_COLUMNS + 8);
    for link in summary.links.iter().take(MOST_ROWS) {
        links.row(queue_cells(direction(&link.name, &link.from, &link.to, style), &link.metrics, style));
    }
    more(&mut links, summary.links.len(), "bottlenecks");
    let first = runs.iter().find(|run| run.complete).map_or("", |run| &run.fingerprint);
    let runs = match (summary.runs, summary.different) {
        (1, _) => "One run".to_owned(),
        (runs, 1) => {
            format!("The {runs} runs are the same: they count as one, which tells nothing of chance")
        }
        (runs, _) => format!("Means over {runs} runs {} 95 % intervals", style.plus_minus()),
    };
    format!(
        "{}{}{}\n{runs}; fingerprint of the first {first}\n",
        section(&groups, style),
        section(&sinks, style),
        section(&links, style),
    )
}

/// What two-level flow control did with segments, and what waited to be read, of groups that have either.
fn mean_sinks_table(summary: &Summary, style: Style) -> Table {
    let mut table = Table::new([
        ("Sink", Align::Left),
        ("Time mean", Align::Right),
        ("max", Align::Right),
        ("Unread max", Align::Right),
        ("Holes", Align::Right),
        ("Refused", Align::Right),
        ("Evicted", Align::Right),
    ])
    .first_column(NAME_COLUMNS);
    let has =
        |metrics: &Metrics| ["segments", "unread_max_bytes"].iter().any(|&name| metrics.contains_key(name));
    let some: Vec<_> = summary.groups.iter().filter(|group| has(&group.metrics)).collect();
    for group in some.iter().take(MOST_ROWS) {
        let count = |name| cell(&group.metrics, name, |_| Scale::COUNT, style);
        table.row([
            group.name.clone(),
            cell(&group.metrics, "segment_delay_mean_s", Scale::of_time, style),
            cell(&group.metrics, "segment_delay_max_s", Scale::of_time, style),
            cell(&group.metrics, "unread_max_bytes", Scale::of_bytes, style),
            count("hole_packets"),
            count("refused_packets"),
            count("evicted_segments"),
        ]);
    }
    more(&mut table, some.len(), "groups");
    table
}

/// What a scheme or a group did, with intervals. Of several groups the largest 99th percentile is shown.
pub(super) fn traffic_cells(name: String, metrics: &Metrics, style: Style) -> [String; 6] {
    let p99 = if metrics.contains_key("delay_p99_s") { "delay_p99_s" } else { "delay_p99_worst_s" };
    [
        name,
        cell(metrics, "goodput_bps", Scale::of_rate, style),
        cell(metrics, "delay_mean_s", Scale::of_time, style),
        cell(metrics, p99, Scale::of_time, style),
        cell(metrics, "jain", |_| Scale::COUNT, style),
        cell(metrics, "retransmissions", |_| Scale::COUNT, style),
    ]
}

/// What a link did, with intervals.
pub(super) fn queue_cells(name: String, metrics: &Metrics, style: Style) -> [String; 6] {
    [
        name,
        cell(metrics, "utilisation", |_| Scale::PERCENT, style),
        cell(metrics, "queue_mean_packets", |_| Scale::PACKETS, style),
        cell(metrics, "queue_p99_packets", |_| Scale::COUNT, style),
        cell(metrics, "queue_max_packets", |_| Scale::COUNT, style),
        cell(metrics, "drops", |_| Scale::COUNT, style),
    ]
}

fn cell(metrics: &Metrics, name: &str, scale: impl Fn(f64) -> Scale, style: Style) -> String {
    let text = |estimate: &Estimate| scale(estimate.mean).estimate(estimate, style);
    metrics.get(name).map_or(style.nothing().to_owned(), text)
}

/// Up to so many flows each have a row.
const MOST_FLOWS: usize = 20;
/// Beyond so many groups the extremes of all flows are shown together.
const MOST_GROUPS: usize = 6;
/// Rows of groups and bottlenecks, so that a result fits on a screen.
const MOST_ROWS: usize = 16;
/// Room for a flow's or group's name within 100 columns.
const NAME_COLUMNS: usize = 22;

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
