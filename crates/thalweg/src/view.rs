//! `thalweg view`: summarises and draws traces of any program.

use crate::console_output::{CommandResult, Console, Error};
use crate::report::{ReportTarget, stored_series, stored_spec};
use crate::value_parsers::integer_parser;
use crate::version::version;
use clap::Args;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_report::output::{Align, Stored, Table, format_count, format_rate, is_trace};
use thalweg_report::report::{NamedTrace, trace_of_results, trace_page};
use thalweg_scenario::Reader;
use thalweg_trace::{
    Connection, EXPECTED_FORMATS, Finding, KeyLog, Limits, RttSummary, Summary, Trace, find_all,
    read_with_keys,
};

/// `thalweg view`.
#[derive(Debug, Args)]
pub struct ViewArguments {
    /// Traces: qlog, pcap, pcapng, the output of `ss -tin` or of bpftrace, also compressed by gzip; or results
    /// folders
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print figures and findings; the default without --json and --report
    #[arg(long)]
    pub summary: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Write a page with plots; default: named after the first trace
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Decrypt QUIC in captures by this key log (`SSLKEYLOGFILE` of the client or the server)
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Only this connection, by its number in the summary
    #[arg(long, value_name = "N", value_parser = integer_parser::<usize>(0, usize::MAX))]
    pub connection: Option<usize>,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Reads a trace.
///
/// # Errors
///
/// If the file cannot be opened, or is not a trace.
pub fn read_trace(path: &Path, keys: &KeyLog) -> Result<Trace, Error> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if path.is_dir() {
        return Err(Error::Usage(named(&format!(
            "this is a folder (`thalweg view` takes those of results); expected {EXPECTED_FORMATS}"
        ))));
    }
    let mut file = File::open(path).map_err(|error| Error::Usage(named(&error)))?;
    read_with_keys(&mut file, &Limits::default(), keys).map_err(|error| Error::Failed(named(&error)))
}

/// Reads a key log; without a file there are no secrets.
pub fn read_key_log(path: Option<&Path>) -> Result<KeyLog, Error> {
    let mut keys = KeyLog::default();
    let Some(path) = path else { return Ok(keys) };
    let text = Reader::new(MAX_KEY_LOG).read_text(path);
    let text = text.map_err(|error| Error::argument("keys", format!("{}: {error}", path.display())))?;
    if keys.add(&text) == 0 {
        return Err(Error::argument(
            "keys",
            format!(
                "{}: it has no secrets of TLS 1.3; expected lines of SSLKEYLOGFILE, such as `CLIENT_TRAFFIC_SECRET_0`",
                path.display()
            ),
        ));
    }
    Ok(keys)
}

/// Maximum size of a key log, in bytes.
const MAX_KEY_LOG: u64 = 64 << 20;

/// Reads a results folder: its captures and logs if it has any, or else its series.
fn read_result_traces(
    folder: &Path,
    keys: &KeyLog,
    console: &Console,
) -> Result<Vec<(String, Trace)>, Error> {
    let stored = Stored::open(folder)?;
    let cannot = |error: &dyn std::fmt::Display| Error::Failed(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let names = entries.map_err(|error| cannot(&error))?.into_iter().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| is_trace(name));
    names.sort();
    if !names.is_empty() {
        let paths = names.iter().map(|name| folder.join(name));
        return paths.map(|path| Ok((path.display().to_string(), read_trace(&path, keys)?))).collect();
    }
    let series = stored_series(folder, console)?;
    let spec = stored_spec(&stored, console);
    let groups: HashMap<&str, &str> = stored
        .document
        .runs()
        .flat_map(|(_, run)| &run.flows)
        .map(|flow| (flow.name.as_str(), flow.group.as_str()))
        .collect();
    let segment = |flow: &str| {
        let group = groups.get(flow)?;
        let group = spec.as_ref()?.groups.iter().find(|of| of.name == *group)?;
        Some(group.transport.properties().segment()).filter(|segment| *segment > 0)
    };
    let trace = trace_of_results(&series, segment).ok_or_else(|| {
        Error::Usage(format!(
            "{}: no flow has series, and there is no capture; `measure.interval` of the scenario records series, --pcap and --qlog packets",
            folder.display()
        ))
    })?;
    Ok(vec![(folder.display().to_string(), trace)])
}

/// Prints or writes the traces.
pub fn view(arguments: &ViewArguments, console: &Console) -> CommandResult {
    let first = arguments.files.first().map_or(Path::new("trace"), PathBuf::as_path);
    let name = first.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = ReportTarget::of(arguments.report.as_ref(), "view.html", false, &name)?;
    let keys = read_key_log(arguments.keys.as_deref())?;
    let mut traces = Vec::new();
    for path in &arguments.files {
        if path.is_dir() {
            traces.extend(read_result_traces(path, &keys, console)?);
        } else {
            traces.push((path.display().to_string(), read_trace(path, &keys)?));
        }
    }
    if let Some(number) = arguments.connection {
        choose_connection(&mut traces, number)?;
    }
    if let Some(target) = &target {
        let names = short_names(&traces);
        let pairs = names.iter().zip(&traces);
        let shown: Vec<NamedTrace<'_>> = pairs.map(|(name, (_, trace))| NamedTrace { name, trace }).collect();
        target.write(trace_page(&shown, version()), None, console)?;
    }
    if arguments.json {
        return console.print(&format!("{}\n", traces_document(&traces)));
    }
    if target.is_some() && !arguments.summary {
        return Ok(());
    }
    console.print(&format_traces(&traces, console))
}

/// Returns the names of files without their folders, unless two are the same.
fn short_names(traces: &[(String, Trace)]) -> Vec<String> {
    let short = |path: &str| {
        Path::new(path).file_name().map_or(path.to_owned(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = traces.iter().map(|(path, _)| short(path)).collect();
    let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let pairs = names.iter().zip(traces);
    pairs.map(|(name, (path, _))| if is_unique(name) { name.clone() } else { path.clone() }).collect()
}

/// Keeps one connection, by its number over all files.
fn choose_connection(traces: &mut Vec<(String, Trace)>, number: usize) -> CommandResult {
    let count: usize = traces.iter().map(|(_, trace)| trace.connections.len()).sum();
    let Some(mut index) = number.checked_sub(1).filter(|index| *index < count) else {
        return Err(Error::Usage(format!(
            "--connection {number}: there are {}, numbered from 1",
            format_count(count as u64, "connection")
        )));
    };
    for (_, trace) in &mut *traces {
        let length = trace.connections.len();
        if index < length {
            trace.connections = vec![trace.connections.swap_remove(index)];
            index = usize::MAX;
        } else {
            trace.connections.clear();
            index = index.saturating_sub(length);
        }
    }
    traces.retain(|(_, trace)| !trace.connections.is_empty());
    Ok(())
}

/// Formats a duration.
fn format_ms(duration: Duration) -> String {
    let millis = duration.as_millis_f64();
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.1} ms") }
}

/// Returns the directions to show of a connection: those with data, or the one with more.
fn shown_directions(connection: &Connection) -> impl Iterator<Item = (usize, Summary)> {
    let main = connection.main_direction();
    let all = [0, 1].map(|direction| (direction, Summary::from_connection(connection, direction)));
    let largest = all[main].1.delivered.unwrap_or(0).max(all[main].1.sent_bytes.unwrap_or(0));
    // Requests and pure acknowledgements beside a transfer are not shown.
    let is_large = move |summary: &Summary| summary.delivered.is_some_and(|bytes| bytes * 50 > largest);
    all.into_iter().filter(move |(direction, summary)| *direction == main || is_large(summary))
}

/// Maximum number of connections in the text.
const MAX_SHOWN: usize = 40;

fn format_traces(traces: &[(String, Trace)], console: &Console) -> String {
    let mut text = String::new();
    let style = console.style;
    let mut number = 0;
    for (name, trace) in traces {
        let end = trace.connections.iter().map(|connection| connection.end).max().unwrap_or(Time::ZERO);
        text.push_str(&format!(
            "{}\n{}, {} in {:.3} s\n",
            style.bold(&style.clean(name)),
            trace.format.name(),
            format_count(trace.connections.len() as u64, "connection"),
            end.as_secs_f64()
        ));
        for note in &trace.notes {
            text.push_str(&format!("{}\n", style.folded(&format!("Note: {}", style.clean(note)))));
        }
        let right = |name| (name, Align::Right);
        let mut table = Table::new([
            right("No."),
            ("Data of", Align::Left),
            ("Protocol", Align::Left),
            ("Seen at", Align::Left),
            right("Duration"),
            right("Delivered"),
            right("Goodput"),
            right("Retransmitted"),
            right("RTT min"),
            right("Median"),
            right("99 %"),
        ]);
        let mut lines = String::new();
        let (mut count, mut shown_count) = (0, 0);
        for (at, connection) in trace.connections.iter().enumerate() {
            number += 1;
            let findings = [0, 1].map(|direction| find_all(connection, direction));
            count += findings.iter().map(Vec::len).sum::<usize>();
            if at >= MAX_SHOWN {
                continue;
            }
            for (direction, summary) in shown_directions(connection) {
                table.row(connection_row(number, connection, direction, &summary, style));
                for finding in &findings[direction] {
                    shown_count += 1;
                    lines.push_str(&format!("{}\n", style.folded(&finding_line(number, finding))));
                }
            }
            for note in &connection.notes {
                lines.push_str(&format!(
                    "{}\n",
                    style.folded(&format!("{number}. Note: {}", style.clean(note)))
                ));
            }
        }
        text.push_str(&format!("\n{}\n", table.render(style)));
        if trace.connections.len() > MAX_SHOWN {
            text.push_str(&format!(
                "{}; --json has all.\n",
                format_count((trace.connections.len() - MAX_SHOWN) as u64, "more connection")
            ));
        }
        text.push_str(&lines);
        if count == 0 {
            text.push_str("No findings.\n");
        } else if count > shown_count {
            let hidden = format_count((count - shown_count) as u64, "finding");
            text.push_str(&format!("{hidden} not shown; --json has all.\n"));
        }
    }
    text
}

fn finding_line(number: usize, finding: &Finding) -> String {
    format!(
        "{number}. {}: {} ({:.3} s to {:.3} s). {}.",
        finding.kind.title(),
        finding.evidence,
        finding.start.as_secs_f64(),
        finding.end.as_secs_f64(),
        finding.kind.reference()
    )
}

fn connection_row(
    number: usize,
    connection: &Connection,
    direction: usize,
    summary: &Summary,
    style: thalweg_report::output::Style,
) -> [String; 11] {
    let trip = |of: fn(&RttSummary) -> Duration| {
        summary.rtt.as_ref().map_or("-".to_owned(), |rtt| format_ms(of(rtt)))
    };
    [
        number.to_string(),
        style.clean(&connection.directions[direction].from),
        connection.protocol.name().to_owned(),
        connection.point.name().to_owned(),
        format!("{:.2} s", summary.duration.as_secs_f64()),
        summary.delivered.map_or("-".to_owned(), |bytes| format!("{:.3} MB", bytes as f64 / 1e6)),
        summary.goodput.map_or("-".to_owned(), |rate| format_rate(rate.as_f64())),
        summary.retransmitted_share.map_or("-".to_owned(), |share| format!("{:.2} %", share * 100.0)),
        trip(|rtt| rtt.min),
        trip(|rtt| rtt.median),
        trip(|rtt| rtt.p99),
    ]
}

fn traces_document(traces: &[(String, Trace)]) -> Value {
    let files = traces.iter().map(|(name, trace)| {
        json!({
            "file": name,
            "format": trace.format.name(),
            "epoch_s": trace.epoch,
            "is_cut": trace.is_cut,
            "notes": trace.notes,
            "connections": trace.connections.iter().map(connection_value).collect::<Vec<_>>(),
        })
    });
    json!({ "files": files.collect::<Vec<_>>() })
}

fn connection_value(connection: &Connection) -> Value {
    let directions = [0, 1].map(|direction| direction_value(connection, direction));
    json!({
        "name": connection.name,
        "id": connection.id,
        "protocol": connection.protocol.name(),
        "recorded_at": connection.point.name(),
        "writer": connection.writer,
        "scheme": connection.scheme,
        "start_s": connection.start.as_secs_f64(),
        "end_s": connection.end.as_secs_f64(),
        "notes": connection.notes,
        "directions": directions,
    })
}

fn direction_value(connection: &Connection, direction: usize) -> Value {
    let summary = Summary::from_connection(connection, direction);
    let data = &connection.directions[direction];
    let counts = data.counts;
    let rtt = summary.rtt.map(|rtt| {
        json!({
            "min_s": rtt.min.as_secs_f64(),
            "median_s": rtt.median.as_secs_f64(),
            "p99_s": rtt.p99.as_secs_f64(),
            "samples": rtt.samples,
            "is_smoothed": rtt.is_smoothed,
        })
    });
    let found = find_all(connection, direction).into_iter().map(|finding| {
        json!({
            "kind": finding.kind.name(),
            "from_s": finding.start.as_secs_f64(),
            "until_s": finding.end.as_secs_f64(),
            "count": finding.occurrences,
            "figures": finding.evidence,
            "rule": finding.kind.reference(),
        })
    });
    json!({
        "from": data.from,
        "duration_s": summary.duration.as_secs_f64(),
        "delivered_bytes": summary.delivered,
        "sent_bytes": summary.sent_bytes,
        "packets": summary.packets,
        "goodput_bps": summary.goodput.map(Rate::as_bits_per_sec),
        "retransmitted_share": summary.retransmitted_share,
        "retransmitted_packets": counts.retransmitted,
        "lost_packets": summary.lost,
        "spurious_retransmissions": summary.spurious,
        "timeouts": summary.timeouts,
        "late_packets": counts.late,
        "duplicate_acks": counts.duplicate_acks,
        "zero_windows": counts.zero_windows,
        "ce_packets": counts.ce,
        "segment_bytes": data.segment,
        "rtt": rtt,
        "findings": found.collect::<Vec<_>>(),
    })
}
