//! Transfers listed in a file: source, sink, time and size.

use super::super::keys::{Flow, ListWorkload};
use super::super::list_columns::{self, FROM, SIZE, START, TO};
use super::super::source_text::Span;
use super::super::table_declarations::Spanned;
use super::super::value_types::{Name, parse_rounded};
use super::Resolver;
use super::external_files::LineFault;
use super::traffic_pattern::MAX_PAIRS;
use std::collections::BTreeMap;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_sim::simulation_spec::{ArrivalList, NodeId};

/// The format of a list file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// CSV with columns in any order: the indices of start, source, sink and size, and the number of all columns.
    Csv([usize; 4], usize),
    /// A connection matrix of htsim, with the number of its connections where its head has one.
    Matrix(Option<usize>),
    /// A flow file of ns-3, with the number of its flows.
    Flows(usize),
}

/// The default columns of CSV without a header line.
const COLUMNS: [&[&str]; 4] = [START, FROM, TO, SIZE];

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    start: Duration,
    ends: [&'a str; 2],
    size: Bytes,
}

impl Resolver<'_> {
    /// Returns the node pairs in the file of a flow's `list`, and the transfers between them; `None` after an error,
    /// which is reported at its line.
    pub(super) fn listed(
        &mut self,
        flow: &Spanned<Flow>,
        table: &ListWorkload,
        file: &Spanned<String>,
    ) -> Option<(Vec<[NodeId; 2]>, ArrivalList)> {
        let others = [
            table.transfers.as_ref().map(|at| ("transfers", at.span)),
            flow.count.as_ref().map(|at| ("count", at.span)),
            flow.pattern.as_ref().map(|at| ("pattern", at.span)),
            flow.degree.as_ref().map(|at| ("degree", at.span)),
        ];
        if let Some((key, span)) = others.into_iter().flatten().next() {
            let message = format!("`{key}`, and a file that lists the transfers");
            self.report.error("scenario.conflict", span, message).help("leave one of them out");
            return None;
        }
        let (from, to) = (flow.from.as_ref()?, flow.to.as_ref()?);
        let nodes = [self.nodes_of(from)?, self.nodes_of(to)?];
        let lines = self.lines(file, "transfers", Some(FORMATS))?;
        let (format, head) = match detect_format(&lines) {
            Ok(found) => found,
            Err((number, fault)) => {
                self.report.error("scenario.file", lines[number].1, fault).help(FORMATS);
                return None;
            }
        };
        let rows = self.parse_lines(&lines[head..], |line| {
            parse_row(format, line).map_err(|fault| LineFault::of_format(fault, Some(FORMATS)))
        })?;
        let mut places: BTreeMap<[NodeId; 2], u32> = BTreeMap::new();
        let mut pairs = Vec::new();
        let mut transfers = Vec::with_capacity(rows.len());
        for (row, span) in rows {
            let Some(row) = row else { continue };
            let mut ends = [NodeId(0); 2];
            for (end, (name, nodes)) in ends.iter_mut().zip(row.ends.iter().zip(&nodes)) {
                *end = self.listed_node(name, nodes, span)?;
            }
            if ends[0] == ends[1] {
                let message = format!("this transfer ends where it begins, at `{}`", row.ends[0]);
                self.report.error("scenario.route", span, message);
                return None;
            }
            let next = pairs.len() as u32;
            let place = *places.entry(ends).or_insert(next);
            if place == next {
                if pairs.len() == MAX_PAIRS {
                    let message = format!("the transfers are between more than {MAX_PAIRS} pairs of nodes");
                    self.report.error("scenario.range", span, message);
                    return None;
                }
                pairs.push(ends);
            }
            transfers.push((place, row.start, row.size));
        }
        let fault = match format {
            Format::Flows(count) if count != transfers.len() => {
                Some(format!("the first line says {count} flows, but there are {}", transfers.len()))
            }
            Format::Matrix(Some(count)) if count != transfers.len() => {
                Some(format!("the head says {count} connections, but there are {}", transfers.len()))
            }
            _ if transfers.is_empty() => Some("this file has no transfers".to_owned()),
            _ => None,
        };
        if let Some(fault) = fault {
            let counting = lines[..head].iter().find(|(line, _)| line.starts_with("Connections"));
            self.report.error("scenario.file", counting.unwrap_or(&lines[0]).1, fault);
            return None;
        }
        Some((pairs, ArrivalList::new(transfers)))
    }

    /// Finds a node by name, or by its position among `nodes`.
    fn listed_node(&mut self, name: &str, nodes: &[NodeId], span: Span) -> Option<NodeId> {
        if let Some(node) = self.nodes.get(name).filter(|node| nodes.contains(node)) {
            return Some(*node);
        }
        if let Some(node) = name.parse::<usize>().ok().and_then(|number| nodes.get(number)) {
            return Some(*node);
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            let message =
                format!("there is no node {name}: the flow has {}, and the first is 0", nodes.len());
            self.report.error("scenario.unknown-name", span, message);
        } else if self.node(&Spanned { value: Name(name.to_owned()), span }).is_some() {
            let message = format!("`{name}` is none of the nodes of this flow");
            self.report.error("scenario.unknown-name", span, message).help("`from` and `to` name the nodes");
        }
        None
    }
}

const FORMATS: &str = "a transfer is `0.5 s, h1, h2, 10 kB` (CSV), `0->1 start 0 size 10000` (htsim, start in ps) or \
                       `0 1 3 100 10000 0.5` (ns-3: source, sink, priority, port, bytes, start in s)";

/// Detects the format of a file with lines and the number of its header lines; returns the faulty line otherwise.
fn detect_format(lines: &[(String, Span)]) -> Result<(Format, usize), (usize, String)> {
    let (first, _) = &lines[0];
    if first.starts_with("Nodes") || first.contains("->") {
        let is_head = |(line, _): &&(String, Span)| !line.contains("->");
        let head = lines.iter().take_while(is_head).count();
        for (number, (line, _)) in lines[..head].iter().enumerate() {
            if let Some(count) = line.strip_prefix("Connections") {
                let fault = || (number, format!("`{line}` has no number of connections"));
                return Ok((Format::Matrix(Some(count.trim().parse().map_err(|_| fault())?)), head));
            }
        }
        return Ok((Format::Matrix(None), head));
    }
    if let Ok(count) = first.parse::<usize>() {
        return Ok((Format::Flows(count), 1));
    }
    let words: Vec<String> = split_cells(first).map(str::to_ascii_lowercase).collect();
    let places = |names: &[&str]| {
        let is_named = |(place, word): (usize, &String)| names.contains(&word.as_str()).then_some(place);
        words.iter().enumerate().filter_map(is_named).collect::<Vec<_>>()
    };
    if let Some(two) = COLUMNS.iter().map(|names| places(names)).find(|places| places.len() > 1) {
        let names = [two[0], two[1]].map(|place| &words[place]);
        return Err((
            0,
            format!("the columns `{}` and `{}` mean the same: leave one of them out", names[0], names[1]),
        ));
    }
    let found = COLUMNS.map(|names| places(names).first().copied());
    if found.iter().all(Option::is_none) {
        return Ok((Format::Csv([0, 1, 2, 3], 4), 0));
    }
    let missing = COLUMNS.iter().zip(found).find(|(_, found)| found.is_none());
    match missing {
        Some((names, _)) => Err((0, format!("the first line names no column `{}`", names[0]))),
        None => Ok((Format::Csv(found.map(Option::unwrap_or_default), words.len()), 1)),
    }
}

/// Returns the cells of a line of CSV, separated by commas, semicolons or tabs, without their quotes.
fn split_cells(line: &str) -> impl Iterator<Item = &str> {
    list_columns::split_cells(line, |c| matches!(c, ',' | ';' | '\t'))
}

/// Parses a line; returns `None` if it has no transfer.
fn parse_row(format: Format, line: &str) -> Result<Option<Row<'_>>, String> {
    let row = match format {
        Format::Csv(places, columns) => {
            let words: Vec<&str> = split_cells(line).collect();
            if words.len() == 1 && line.split_whitespace().nth(2).is_some() {
                let are_numbers = line.split_whitespace().all(|word| word.parse::<f64>().is_ok());
                return Err(if are_numbers {
                    "the columns have spaces between them: in CSV these are commas, semicolons or tabs; a list of \
                     ns-3 begins with a line with the number of flows"
                } else {
                    "the columns have spaces between them: they need commas, semicolons or tabs"
                }
                .to_owned());
            }
            if let Some(fault) =
                list_columns::surplus_cells_reason(&words, columns, &COLUMNS.map(|names| names[0]))
            {
                return Err(fault);
            }
            let of = |place: usize, name: &str| {
                words.get(place).copied().ok_or_else(|| format!("the column `{name}` is missing"))
            };
            let [start, from, to, size] = places;
            Row {
                start: parse_time(of(start, "start")?, "s")?,
                ends: [of(from, "from")?, of(to, "to")?],
                size: {
                    let size = of(size, "size")?;
                    parse_size(list_columns::remove_digit_grouping(size).as_deref().unwrap_or(size))?
                },
            }
        }
        Format::Flows(_) => {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ([from, to, .., size, start], 4..=6) = (&*words, words.len()) else {
                return Err(format!("expected 4 to 6 columns, found {}", words.len()));
            };
            Row { start: parse_time(start, "s")?, ends: [from, to], size: parse_size(size)? }
        }
        Format::Matrix(_) => return matrix_row(line),
    };
    Ok(Some(row))
}

/// Parses a line of a connection matrix: `0->15 id 1 start 0 size 2000000`, with times in picoseconds.
fn matrix_row(line: &str) -> Result<Option<Row<'_>>, String> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let Some((from, to)) = first.split_once("->") else {
        return match first {
            "Nodes" | "Connections" | "Triggers" | "Failures" => Ok(None),
            _ => Err(format!("`{first}` has no counterpart here: transfers start at given times")),
        };
    };
    let (mut start, mut size) = (None, None);
    while let Some(key) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{key}` has no value"))?;
        match key {
            "start" if start.is_some() => return Err("`start` is there twice".to_owned()),
            "size" if size.is_some() => return Err("`size` is there twice".to_owned()),
            "start" => start = Some(parse_time(value, "ps")?),
            "size" => size = Some(parse_size(value)?),
            "id" | "prio" => {}
            _ => return Err(format!("`{key}` has no counterpart here: transfers start at given times")),
        }
    }
    let start = start.ok_or("`start` is missing")?;
    let size = size.ok_or("`size` is missing")?;
    Ok(Some(Row { start, ends: [from, to], size }))
}

/// Parses a time with a unit, or else in `unit`, rounded to picoseconds.
fn parse_time(text: &str, unit: &str) -> Result<Duration, String> {
    let is_number = text.ends_with(|c: char| c.is_ascii_digit());
    let found =
        if is_number { parse_rounded(&format!("{text} {unit}")) } else { parse_rounded::<Duration>(text) };
    found.map_err(|error| error.to_string())
}

/// Parses a size with a unit, or else in bytes.
fn parse_size(text: &str) -> Result<Bytes, String> {
    let is_number = text.ends_with(|c: char| c.is_ascii_digit());
    let found = if is_number { format!("{text} B").parse() } else { text.parse::<Bytes>() };
    match found {
        Ok(Bytes::ZERO) => Err("a transfer must have at least 1 B".to_owned()),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}
