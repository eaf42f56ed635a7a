//! Traffic matrices: a table of `[[flow]]` with `matrix` becomes one group of flows for each demand of the file.
//!
//! The tables are replaced before they are decoded, and after `--set`. All later steps see ordinary groups.

use super::diagnostic::Report;
use super::included_files::Loader;
use super::list_columns::{self, FROM, RATE, TO};
use super::matrix_demand::{Demand, MAX_BITS};
use super::network::sndlib_demands;
use super::parsed_tree::{Key, Table, Value, ValueKind};
use super::source_text::{Source, Span};
use super::value_types::{decode_quantity, parse_rounded};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_proto::units::Rate;

/// Maximum number of demands of a scenario: that of groups.
const MAX_DEMANDS: usize = 1 << 13;
/// Maximum number of nodes of a matrix with a row for each.
const MAX_NODES: usize = 1 << 12;

/// Columns of a list of demands.
const COLUMNS: [&[&str]; 3] = [FROM, TO, RATE];

const FORMATS: &str = "a traffic matrix is SNDlib's XML, a list of demands (`from, to, rate`), or a table with a row for \
                       each source and a column for each sink";

/// Replaces each flow with a `matrix` by a group for each demand. Reports errors, and omits the flow then.
pub fn expand_matrices(table: &mut Table, loader: &mut Loader, report: &mut Report) {
    let shared = match table.get("defaults").map(|defaults| &defaults.kind) {
        Some(ValueKind::Table(defaults)) => match defaults.get("flow").map(|flow| &flow.kind) {
            Some(ValueKind::Table(flow)) => flow.get("workload").cloned(),
            _ => None,
        },
        _ => None,
    };
    let flows = table.entries.iter_mut().find(|(key, _)| key.name == "flow");
    let Some((_, Value { kind: ValueKind::Array(flows), .. })) = flows else { return };
    let has_matrix = |flow: &Value| match &flow.kind {
        ValueKind::Table(flow) => flow.get("matrix").is_some() || flow.get("matrix-unit").is_some(),
        _ => false,
    };
    if !flows.iter().any(has_matrix) {
        return;
    }
    let mut expanded = Vec::new();
    for (number, value) in core::mem::take(flows).into_iter().enumerate() {
        match (&value.kind, has_matrix(&value)) {
            (ValueKind::Table(flow), true) => {
                let groups = groups_of_matrix(flow, value.span, number, shared.as_ref(), loader, report);
                expanded.extend(groups.unwrap_or_default());
            }
            _ => expanded.push(value),
        }
        if expanded.len() > MAX_DEMANDS {
            let span = expanded[MAX_DEMANDS].span;
            report.error("scenario.range", span, format!("there are more than {MAX_DEMANDS} demands"));
            expanded.truncate(MAX_DEMANDS);
            break;
        }
    }
    *flows = expanded;
}

/// Returns the groups of one matrix; `None` after an error.
fn groups_of_matrix(
    flow: &Table,
    span: Span,
    number: usize,
    shared: Option<&Value>,
    loader: &mut Loader,
    report: &mut Report,
) -> Option<Vec<Value>> {
    let Some(file) = flow.get("matrix") else {
        let span = flow.get("matrix-unit").map_or(span, |unit| unit.span);
        report.error("scenario.missing", span, "`matrix-unit` is the unit of a `matrix`, and there is none");
        return None;
    };
    let ValueKind::String(name) = &file.kind else {
        report.error("scenario.type", file.span, "expected the name of a file with a traffic matrix");
        return None;
    };
    for key in ["count", "pattern", "degree", "match"] {
        if let Some(value) = flow.get(key) {
            let message = format!("`{key}`, and a traffic matrix that gives the pairs of nodes");
            report.error("scenario.conflict", value.span, message).help("leave one of them out");
            return None;
        }
    }
    let unit = default_unit(flow, report)?;
    let ends = [resolve_endpoints(flow, "from", span, report)?, resolve_endpoints(flow, "to", span, report)?];
    let source = read_matrix_file(name, file.span, loader, report)?;
    let demands = parse_matrix(source, file.span, unit, &ends[0].0, report)?;
    let demands = sum_demands(demands, &ends, report);
    if demands.is_empty() {
        let message = "this matrix has no demand between the nodes of `from` and `to`";
        report.error("scenario.file", file.span, message).help(FORMATS);
        return None;
    }
    let workload = flow.get("workload").or(shared);
    let base = flow.text("name").map_or_else(|| format!("flow-{}", number + 1), str::to_owned);
    let mut groups = Vec::with_capacity(demands.len().min(MAX_DEMANDS + 1));
    for demand in demands.into_iter().take(MAX_DEMANDS + 1) {
        let workload = with_rate(workload, demand.bits, span, report)?;
        let replaced = ["matrix", "matrix-unit", "name", "from", "to", "workload"];
        let kept = flow.entries.iter().filter(|(key, _)| !replaced.contains(&key.name.as_str()));
        let mut entries: Vec<(Key, Value)> = kept.cloned().collect();
        let text = |text: String| Value { kind: ValueKind::String(text), span: demand.span };
        let [from, to] = demand.ends;
        for (key, value) in [
            ("name", text(format!("{base} {from}-{to}"))),
            ("from", text(from)),
            ("to", text(to)),
            ("workload", workload),
        ] {
            entries.push((Key { name: key.to_owned(), span: value.span }, value));
        }
        groups.push(Value { kind: ValueKind::Table(Table { entries }), span });
    }
    Some(groups)
}

/// Returns the unit of plain numbers, in bit/s, if set; `None` after an error.
fn default_unit(flow: &Table, report: &mut Report) -> Option<Option<f64>> {
    let Some(value) = flow.get("matrix-unit") else { return Some(None) };
    let rate = decode_quantity::<Rate>(value, report)?;
    if rate.is_zero() {
        report
            .error("scenario.range", value.span, "the rate of a demand of 1 cannot be 0")
            .help("such as matrix-unit = \"1 Mbit/s\"; \"10 kbit/s\" scales demands in Mbit/s down to 1 %");
        return None;
    }
    Some(Some(rate.as_f64()))
}

/// The nodes of `from` or `to`: names, or patterns with `*`.
type EndNodes = (Vec<String>, Span);

fn resolve_endpoints(flow: &Table, key: &str, span: Span, report: &mut Report) -> Option<EndNodes> {
    let Some(value) = flow.get(key) else {
        report
            .error("scenario.missing", span, format!("flow needs `{key}`"))
            .help("\"*\" selects all nodes of the matrix");
        return None;
    };
    let text = |value: &Value| match &value.kind {
        ValueKind::String(text) => Some(text.clone()),
        _ => None,
    };
    let names = match &value.kind {
        ValueKind::Array(items) => items.iter().map(text).collect::<Option<Vec<_>>>(),
        _ => text(value).map(|name| vec![name]),
    };
    if names.is_none() {
        report.error(
            "scenario.type",
            value.span,
            format!("`{key}` names nodes: expected text, or a list of texts"),
        );
    }
    Some((names?, value.span))
}

fn matches_names(names: &[String], node: &str) -> bool {
    names.iter().any(|name| match name.split_once('*') {
        None => name == node,
        Some((before, behind)) => {
            node.len() >= before.len() + behind.len() && node.starts_with(before) && node.ends_with(behind)
        }
    })
}

/// Reads the file and registers it for messages.
fn read_matrix_file(name: &str, span: Span, loader: &mut Loader, report: &mut Report) -> Option<u32> {
    let directory = loader.directories.get(span.source as usize).cloned().unwrap_or_default();
    let path = directory.join(name);
    match loader.text(&path) {
        Ok(text) => Some(loader.add(Source::new(path.display().to_string(), text), &directory, report)),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", path.display());
            report.error("scenario.file", span, message).help(error.help());
            None
        }
    }
}

/// Returns the demands of a file; `None` after an error. `nodes` names those of a matrix without names.
fn parse_matrix(
    source: u32,
    file: Span,
    unit: Option<f64>,
    nodes: &[String],
    report: &mut Report,
) -> Option<Vec<Demand>> {
    let text = Arc::clone(report.source(source));
    let text = text.text();
    let errors = report.errors();
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        let demands = sndlib_demands(source, file, unit, report)?;
        return (report.errors() == errors).then_some(demands);
    }
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            let lead = start + line.len() - line.trim_start().len();
            lines.push((split_row(trimmed), Span::new(source, lead..lead + trimmed.len())));
        }
        start += line.len();
    }
    let Some((first, _)) = lines.first() else {
        report.error("scenario.file", file, "this file has no demands").help(FORMATS);
        return None;
    };
    let heads: Vec<String> = first.iter().map(|cell| cell.to_ascii_lowercase()).collect();
    let place = |names: &[&str]| heads.iter().position(|head| names.contains(&head.as_str()));
    let columns = COLUMNS.map(place);
    let at = |cell: &str| {
        let start = cell.as_ptr() as usize - text.as_ptr() as usize;
        Span::new(source, start..start + cell.len())
    };
    if let ([Some(_), Some(_), _], Some((again, name))) = (columns, repeated_column(first, COLUMNS)) {
        report
            .error("scenario.duplicate", at(again), format!("there is another column `{name}`"))
            .help(FORMATS);
        return None;
    }
    let found = match columns {
        [Some(from), Some(to), rate] => match rate {
            Some(rate) => parse_demand_list(&lines[1..], [from, to, rate], heads.len(), unit),
            None => Err((lines[0].1, "the first line names no column `rate`".to_owned())),
        },
        _ => match parse_square_matrix(&lines, nodes, unit, at) {
            Some(found) => found,
            None => parse_demand_list(&lines, [0, 1, 2], 3, unit),
        },
    };
    match found {
        Ok(demands) => Some(demands),
        Err((span, fault)) => {
            report.error("scenario.file", span, fault).help(FORMATS);
            None
        }
    }
}

/// Returns the first cell that names a column again, with the column's name.
fn repeated_column<'a, 'n>(heads: &[&'a str], columns: [&[&'n str]; 3]) -> Option<(&'a str, &'n str)> {
    columns.iter().find_map(|names| {
        let is_named = |head: &&&str| names.contains(&head.to_ascii_lowercase().as_str());
        Some((*heads.iter().filter(is_named).nth(1)?, names[0]))
    })
}

/// Splits a line at commas, semicolons or tabs, else at spaces, and removes quotation marks.
fn split_row(line: &str) -> Vec<&str> {
    match [',', ';', '\t'].into_iter().find(|separator| line.contains(*separator)) {
        Some(separator) => list_columns::split_cells(line, |c| c == separator).collect(),
        None => {
            list_columns::split_cells(line, char::is_whitespace).filter(|cell| !cell.is_empty()).collect()
        }
    }
}

type Line<'a> = (Vec<&'a str>, Span);
type DemandResult = Result<Vec<Demand>, (Span, String)>;

/// Parses demands, one per line of at most `columns` cells.
fn parse_demand_list(
    lines: &[Line<'_>],
    [from, to, rate]: [usize; 3],
    columns: usize,
    unit: Option<f64>,
) -> DemandResult {
    let one = |(cells, span): &Line<'_>| {
        if let Some(fault) =
            list_columns::surplus_cells_reason(cells, columns, &COLUMNS.map(|names| names[0]))
        {
            return Err((*span, fault));
        }
        let cell = |place: usize, name: &str| {
            cells.get(place).copied().ok_or_else(|| (*span, format!("the column `{name}` is missing")))
        };
        let ends = [cell(from, "from")?.to_owned(), cell(to, "to")?.to_owned()];
        let bits = parse_demand_bits(cell(rate, "rate")?, unit).map_err(|fault| (*span, fault))?;
        Ok(Demand { ends, bits, span: *span })
    };
    lines.iter().map(one).collect()
}

/// Parses a table with a row for each source: with the names of the sinks in the first line and that of the source at
/// the start of each, or without names. Returns `None` for a file of another form.
fn parse_square_matrix(
    lines: &[Line<'_>],
    nodes: &[String],
    unit: Option<f64>,
    at: impl Fn(&str) -> Span,
) -> Option<DemandResult> {
    let (first, _) = &lines[0];
    let is_number = |cell: &&str| cell.parse::<f64>().is_ok();
    let rows = lines.len();
    let is_named = !first.iter().skip(1).all(&is_number) && rows > 1;
    let (sinks, body, lead): (Vec<String>, &[Line<'_>], usize) = if is_named {
        let width = lines[1].0.len();
        let names = match first.len() {
            // The corner may be empty or have a text.
            length if length == width => &first[1..],
            length if length + 1 == width => &first[..],
            _ => return None,
        };
        // A list of demands has a text in its second column.
        if lines[1].0.get(1).is_none_or(|cell| parse_demand_bits(cell, Some(1.0)).is_err()) {
            return None;
        }
        let rows: Vec<&str> = lines[1..].iter().filter_map(|(cells, _)| cells.first().copied()).collect();
        for (names, what) in [(names, "column"), (&rows[..], "row")] {
            let mut seen = BTreeSet::new();
            if let Some(again) = names.iter().find(|name| !seen.insert(**name)) {
                return Some(Err((at(again), format!("there is another {what} `{again}`"))));
            }
        }
        (names.iter().map(|name| (*name).to_owned()).collect(), &lines[1..], 1)
    } else if first.len() == rows && first.iter().all(is_number) {
        if nodes.len() != rows || nodes.iter().any(|name| name.contains('*')) {
            let fault =
                format!("this matrix of {rows} nodes has no names: `from` must list its nodes in order");
            return Some(Err((lines[0].1, fault)));
        }
        (nodes.to_vec(), lines, 0)
    } else {
        return None;
    };
    if sinks.len() > MAX_NODES {
        return Some(Err((lines[0].1, format!("a matrix has at most {MAX_NODES} nodes"))));
    }
    let mut demands = Vec::new();
    for (number, (cells, span)) in body.iter().enumerate() {
        if cells.len() != sinks.len() + lead {
            let fault = format!("expected {} columns, found {}", sinks.len() + lead, cells.len());
            return Some(Err((*span, fault)));
        }
        let from = if lead == 1 { cells[0] } else { &nodes[number] };
        for (to, cell) in sinks.iter().zip(&cells[lead..]) {
            match parse_demand_bits(cell, unit) {
                Ok(bits) if bits > 0.0 => {
                    demands.push(Demand { ends: [from.to_owned(), to.clone()], bits, span: *span });
                }
                Ok(_) => {}
                Err(fault) => return Some(Err((*span, fault))),
            }
        }
    }
    Some(Ok(demands))
}

/// Parses a demand: a rate with its unit, or a number of `unit`.
fn parse_demand_bits(text: &str, unit: Option<f64>) -> Result<f64, String> {
    match (text.parse::<f64>(), unit) {
        (Ok(number), Some(unit)) if number >= 0.0 && number * unit <= MAX_BITS => Ok(number * unit),
        (Ok(0.0), None) => Ok(0.0),
        (Ok(number), None) if number > 0.0 => {
            Err(format!("`{text}` has no unit: give the flow a `matrix-unit`, such as \"1 Mbit/s\""))
        }
        (Ok(_), _) => Err(format!("a demand is at least 0 and at most 1e15 bit/s, not `{text}`")),
        (Err(_), _) => parse_rounded::<Rate>(text).map(Rate::as_f64).map_err(|error| error.to_string()),
    }
}

/// Adds up the demands of each pair of nodes in `from` and `to`, in file order. Omits demands of zero; warns of demands
/// from a node to itself.
fn sum_demands(demands: Vec<Demand>, [from, to]: &[EndNodes; 2], report: &mut Report) -> Vec<Demand> {
    let mut places: BTreeMap<[String; 2], usize> = BTreeMap::new();
    let mut joined: Vec<Demand> = Vec::new();
    let mut own: Option<Span> = None;
    for demand in demands {
        if demand.bits < 1.0
            || !matches_names(&from.0, &demand.ends[0])
            || !matches_names(&to.0, &demand.ends[1])
        {
            continue;
        }
        if demand.ends[0] == demand.ends[1] {
            own.get_or_insert(demand.span);
            continue;
        }
        match places.get(&demand.ends) {
            Some(&place) => joined[place].bits += demand.bits,
            None => {
                places.insert(demand.ends.clone(), joined.len());
                joined.push(demand);
            }
        }
    }
    if let Some(span) = own {
        report
            .warn("scenario.matrix", span, "demands from a node to itself cross no link")
            .help("they are left out");
    }
    joined
}

/// Returns the workload with the rate of a demand; `None` after an error.
fn with_rate(workload: Option<&Value>, bits: f64, span: Span, report: &mut Report) -> Option<Value> {
    let at = workload.map_or(span, |workload| workload.span);
    let table = match workload.map(|workload| &workload.kind) {
        Some(ValueKind::Table(table)) => Some(table),
        _ => None,
    };
    let Some((table, key, others)) = table.and_then(|table| match table.text("kind") {
        Some("poisson") => Some((table, "load", &["gap", "load"][..])),
        Some("cbr") => Some((table, "rate", &["rate"][..])),
        _ => None,
    }) else {
        report
            .error("scenario.workload", at, "a traffic matrix gives the rate of a workload \"poisson\" or \"cbr\"")
            .help("workload = { kind = \"poisson\", size = \"100 kB\" }, or { kind = \"cbr\" } over scheme = \"udp\"");
        return None;
    };
    if let Some(value) = others.iter().find_map(|key| table.get(key)) {
        let message = "this, and a traffic matrix that gives the rate";
        report.error("scenario.conflict", value.span, message).help("leave one of them out");
        return None;
    }
    let mut table = table.clone();
    let rate = Rate::from_bits_per_sec(bits.min(MAX_BITS).round() as u64);
    let value = Value { kind: ValueKind::String(rate.to_string()), span: at };
    table.entries.push((Key { name: key.to_owned(), span: at }, value));
    Some(Value { kind: ValueKind::Table(table), span: at })
}
