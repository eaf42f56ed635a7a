//! External files of a scenario: lists of losses, capacity traces, recorded writes.

use super::super::keys::{Trace, TraceTable};
use super::super::list_columns;
use super::super::source_text::{Source, Span};
use super::super::table_declarations::{Fields, Spanned};
use super::super::value_types::{MAX_LIST_LENGTH, Share, parse_rounded};
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Time};
use thalweg_queue::{CapacityTrace, TraceError};

impl Resolver<'_> {
    /// Reads a file named in the scenario, and registers it for messages.
    pub(super) fn text(&mut self, file: &Spanned<String>) -> Option<u32> {
        let directory = self.directories.get(file.span.source as usize)?;
        let path = directory.join(&file.value);
        if let Some(&id) = self.files.get(&path) {
            return id;
        }
        let id = match self.reader.read_text(&path) {
            Ok(text) => Some(self.report.add_source(Source::new(path.display().to_string(), text))),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                self.report.error("scenario.file", file.span, message).help(error.help());
                None
            }
        };
        self.files.insert(path, id);
        id
    }

    /// Returns the lines of a file, trimmed, each with its position. Skips empty lines and comments with `#`. `None` after
    /// an error, which is reported; in a file without `entries`, at its name and with `help`.
    pub(super) fn lines(
        &mut self,
        file: &Spanned<String>,
        entries: &str,
        help: Option<&'static str>,
    ) -> Option<Vec<(String, Span)>> {
        let id = self.text(file)?;
        let source = Arc::clone(self.report.source(id));
        let mut lines = Vec::new();
        let mut start = 0;
        for line in source.text().split_inclusive('\n') {
            // Spreadsheets write a byte order mark.
            let trimmed = line.trim_start_matches('\u{feff}').trim();
            if !trimmed.is_empty() && !trimmed.starts_with('#') {
                let lead = trimmed.as_ptr() as usize - line.as_ptr() as usize;
                let span = Span::new(id, start + lead..start + lead + trimmed.len());
                if lines.len() == MAX_LIST_LENGTH {
                    let message = format!("the file has more than {MAX_LIST_LENGTH} lines");
                    self.report.error("scenario.range", span, message);
                    return None;
                }
                lines.push((trimmed.to_owned(), span));
            }
            start += line.len();
        }
        if lines.is_empty() {
            self.report_fault(file.span, LineFault::of_format(format!("this file has no {entries}"), help));
            return None;
        }
        Some(lines)
    }

    /// Parses the lines of a file; `None` after an error, which is reported at its line.
    pub(super) fn parse_lines<'a, T>(
        &mut self,
        lines: &'a [(String, Span)],
        parse: impl Fn(&'a str) -> Result<T, LineFault>,
    ) -> Option<Vec<(T, Span)>> {
        let mut parsed = Vec::with_capacity(lines.len());
        for (line, span) in lines {
            match parse(line) {
                Ok(entry) => parsed.push((entry, *span)),
                Err(fault) => {
                    self.report_fault(*span, fault);
                    return None;
                }
            }
        }
        Some(parsed)
    }

    /// Reads a file line by line with `parse`; `None` after an error, which is reported.
    fn entries<T>(
        &mut self,
        file: &Spanned<String>,
        entries: &str,
        parse: impl Fn(&str) -> Result<T, LineFault>,
    ) -> Option<Vec<(T, Span)>> {
        let lines = self.lines(file, entries, None)?;
        self.parse_lines(&lines, parse)
    }

    fn report_fault(&mut self, span: Span, LineFault { code, message, help }: LineFault) {
        let draft = self.report.error(code, span, message);
        if let Some(help) = help {
            draft.help(help);
        }
    }

    /// Reads packet numbers, one per line.
    pub(super) fn loss_file(&mut self, file: &Spanned<String>) -> Option<Vec<(u64, Span)>> {
        self.entries(file, "packet numbers", |line| {
            line.parse().map_err(|_| LineFault::of_format("expected a packet number", None))
        })
    }

    /// Reads times, one per line.
    pub(super) fn times_file(&mut self, file: &Spanned<String>) -> Option<Vec<Duration>> {
        let times = self.entries(file, "times", |line| parse_rounded(line).map_err(LineFault::of_unit))?;
        Some(times.into_iter().map(|(time, _)| time).collect())
    }

    /// Reads writes, one per line: a time and a size, with units, separated by a comma.
    pub(super) fn writes_file(&mut self, file: &Spanned<String>) -> Option<Vec<((Duration, Bytes), Span)>> {
        self.entries(file, "writes", |line| {
            let (at, size) = line.split_once(',').ok_or_else(|| {
                LineFault::of_format("expected a time and a size", Some("such as: 0.5 s, 10 kB"))
            })?;
            Ok((parse_rounded(at).map_err(LineFault::of_unit)?, size.parse().map_err(LineFault::of_unit)?))
        })
    }

    /// Reads a cumulative distribution of sizes, one point per line: a size and a share, separated by a comma, or the
    /// bare numbers of published distributions.
    pub(super) fn sizes_file(&mut self, file: &Spanned<String>) -> Option<Vec<((Bytes, f64), Span)>> {
        let lines = self.lines(file, "sizes", None)?;
        // The lines of a file decide its format together.
        if let Some(points) = plain_sizes(&lines) {
            return Some(points);
        }
        self.parse_lines(&lines, |line| {
            let cells: Vec<&str> = list_columns::split_cells(line, |c| c == ',').collect();
            if let Some(fault) = list_columns::surplus_cells_reason(&cells, 2, &["size", "share"]) {
                return Err(LineFault::of_format(fault, Some(SIZES)));
            }
            let (size, share) = line
                .split_once(',')
                .ok_or_else(|| LineFault::of_format("expected a size and a share", Some(SIZES)))?;
            let size = size.trim().parse().map_err(LineFault::of_unit)?;
            let share: Share = share.trim().parse().map_err(LineFault::of_unit)?;
            Ok((size, share.0))
        })
    }

    /// Returns a capacity trace from a file or a table.
    pub(super) fn capacity_trace(&mut self, trace: &Spanned<Trace>) -> Option<Arc<CapacityTrace>> {
        let table = match &trace.value {
            Trace::File(file) => TraceTable {
                file: Some(Spanned { value: file.clone(), span: trace.span }),
                ..TraceTable::default()
            },
            Trace::Table(table) => table.as_ref().clone(),
        };
        if table.broken {
            return None;
        }
        let span = trace.span;
        let bytes = table.bytes.clone().or_else(|| TraceTable::defaults().bytes.clone())?;
        let Some(bytes) = super::packet_sized(bytes.value).filter(|&bytes| bytes > 0) else {
            self.report.error("scenario.range", bytes.span, "an opportunity lets 1 B to 1 MiB go");
            return None;
        };
        let trace = match (&table.file, &table.tick, &table.times, &table.period) {
            (Some(file), None, None, None) => {
                CapacityTrace { bytes_per_opportunity: bytes, ..self.mahimahi(file)? }
            }
            (None, Some(tick), Some(times), Some(period)) => {
                let opportunities = times.value.iter().map(|at| Time::ZERO + tick.value * at.value).collect();
                CapacityTrace { opportunities, period: period.value, bytes_per_opportunity: bytes }
            }
            _ => {
                let help = "either `file`, or all of `tick`, `times` and `period`";
                self.report.error("scenario.missing", trace.span, "this trace is not complete").help(help);
                return None;
            }
        };
        if let Err(error) = trace.check() {
            self.report.error("scenario.range", table.times.map_or(span, |at| at.span), error.to_string());
            return None;
        }
        Some(Arc::new(trace))
    }

    /// Reads a mahimahi trace file.
    fn mahimahi(&mut self, file: &Spanned<String>) -> Option<CapacityTrace> {
        let id = self.text(file)?;
        let source = Arc::clone(self.report.source(id));
        match CapacityTrace::parse(source.text()) {
            Ok(trace) => Some(trace),
            Err(error) => {
                let line = match &error {
                    TraceError::NotAnInteger { line, .. }
                    | TraceError::TooLarge { line }
                    | TraceError::Descending { line, .. }
                    | TraceError::Io { line, .. } => *line,
                    TraceError::Empty | TraceError::NoPeriod | TraceError::TooMany { .. } => 1,
                };
                let span = Span::new(id, source.line_range(usize::try_from(line).unwrap_or(1)));
                self.report.error("scenario.file", span, error.to_string());
                None
            }
        }
    }
}

/// Error in a line of a file.
pub(super) struct LineFault {
    code: &'static str,
    message: String,
    help: Option<&'static str>,
}

impl LineFault {
    /// Returns the error of a line that does not have the expected form.
    pub(super) fn of_format(message: impl Into<String>, help: Option<&'static str>) -> Self {
        Self { code: "scenario.file", message: message.into(), help }
    }

    /// Returns the error of a quantity.
    fn of_unit(error: impl std::fmt::Display) -> Self {
        Self { code: "scenario.unit", message: error.to_string(), help: None }
    }
}

/// The forms of a distribution of sizes.
const SIZES: &str = "such as: 10 kB, 15 %; or numbers alone, as published distributions have them: 10000 0.15, or with the \
                     three columns of ns-2 separated by spaces";

/// The packet size in bytes used by the distributions of ns-2.
const NS2_PACKET: f64 = 1460.0;

/// Parses a published distribution of bare numbers: a size in bytes and a share of 1, or of 100 if the last one exceeds
/// 1; in three columns separated by spaces, the size in packets and the share in the first and last. Commas do not
/// separate three columns, because `2,000 0.5` is a size and a share. A size of 0 at share 0 becomes 1 B. `None` for other
/// lines, and for negative sizes.
fn plain_sizes(lines: &[(String, Span)]) -> Option<Vec<((Bytes, f64), Span)>> {
    let rows = lines.iter().map(|(line, span)| {
        let words = line.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        let numbers = numbers?;
        let size_and_share = match *numbers {
            [size, share] => (size, share),
            [packets, _, share] if !line.contains(',') => (packets * NS2_PACKET, share),
            _ => return None,
        };
        (size_and_share.0 >= 0.0).then_some((numbers.len(), size_and_share, *span))
    });
    let rows: Vec<(usize, (f64, f64), Span)> = rows.collect::<Option<_>>()?;
    if rows.iter().any(|row| row.0 != rows[0].0) {
        return None;
    }
    let rows: Vec<((f64, f64), Span)> = rows.into_iter().map(|(_, point, span)| (point, span)).collect();
    let whole = if rows.last()?.0.1 > 1.0 { 100.0 } else { 1.0 };
    let point = |((size, share), span): ((f64, f64), Span)| {
        let bytes = if share == 0.0 { size.max(1.0) } else { size };
        ((Bytes::new(bytes as u64), share / whole), span)
    };
    Some(rows.into_iter().map(point).collect())
}
