//! Files beside the scenario file: lists of losses, capacity traces, recorded writes.

use super::super::keys::{Trace, TraceTable};
use super::super::quantity::LONGEST_LIST;
use super::super::source::{Source, Span, read_text};
use super::super::table::{At, Fields};
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Time};
use thalweg_queue::CapacityTrace;

/// The largest file that is read beside a scenario.
const LARGEST: u64 = 64 << 20;

impl Resolver<'_> {
    /// The text of a file named in the scenario, registered so that messages can point into it.
    fn text(&mut self, file: &At<String>) -> Option<u32> {
        let directory = self.directories.get(file.span.source as usize)?;
        let path = directory.join(&file.value);
        match read_text(&path, LARGEST) {
            Ok(text) => Some(self.report.add_source(Source::new(path.display().to_string(), text))),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                self.report
                    .error("scenario.file", file.span, message)
                    .help("file names are relative to the file that names them");
                None
            }
        }
    }

    /// The lines of a file that say something, trimmed, each with its place. Empty lines and those that begin with
    /// `#` are left out.
    fn lines(&mut self, file: &At<String>) -> Vec<(String, Span)> {
        let Some(id) = self.text(file) else { return Vec::new() };
        let source = Arc::clone(self.report.source(id));
        let mut lines = Vec::new();
        let mut start = 0;
        for line in source.text().split_inclusive('\n') {
            let trimmed = line.trim();
            if !trimmed.is_empty() && !trimmed.starts_with('#') {
                let lead = line.len() - line.trim_start().len();
                let span = Span::new(id, start + lead..start + lead + trimmed.len());
                if lines.len() == LONGEST_LIST {
                    let message = format!("the file has more than {LONGEST_LIST} lines");
                    self.report.error("scenario.range", span, message);
                    break;
                }
                lines.push((trimmed.to_owned(), span));
            }
            start += line.len();
        }
        lines
    }

    /// Packet numbers, one a line.
    pub(super) fn loss_file(&mut self, file: &At<String>) -> Vec<(u64, Span)> {
        let mut packets = Vec::new();
        for (line, span) in self.lines(file) {
            match line.parse() {
                Ok(packet) => packets.push((packet, span)),
                Err(_) => {
                    self.report.error("scenario.file", span, "expected a packet number");
                    break;
                }
            }
        }
        packets
    }

    /// Writes, one a line: a time and a size, with units, separated by a comma.
    pub(super) fn writes_file(&mut self, file: &At<String>) -> Vec<((Duration, Bytes), Span)> {
        let mut writes = Vec::new();
        for (line, span) in self.lines(file) {
            let pair = line.split_once(',');
            let pair = pair.map(|(at, size)| (at.parse::<Duration>(), size.parse::<Bytes>()));
            match pair {
                Some((Ok(at), Ok(size))) => writes.push(((at, size), span)),
                Some((Err(error), _) | (_, Err(error))) => {
                    self.report.error("scenario.unit", span, error.to_string());
                    break;
                }
                None => {
                    let help = "such as: 0.5 s, 10 kB";
                    self.report.error("scenario.file", span, "expected a time and a size").help(help);
                    break;
                }
            }
        }
        writes
    }

    /// A capacity trace from a file or a table.
    pub(super) fn capacity_trace(&mut self, trace: &At<Trace>) -> Option<Arc<CapacityTrace>> {
        let table = match &trace.value {
            Trace::File(file) => TraceTable {
                file: Some(At { value: file.clone(), span: trace.span }),
                ..TraceTable::default()
            },
            Trace::Table(table) => table.as_ref().clone(),
        };
        if table.broken {
            return None;
        }
        let bytes = table.bytes.clone().or_else(|| TraceTable::defaults().bytes.clone())?;
        let Some(bytes) = super::line::small(bytes.value).filter(|&bytes| bytes > 0) else {
            self.report.error("scenario.range", bytes.span, "an opportunity lets 1 B to 1 MiB go");
            return None;
        };
        let (times, period) = match (&table.file, &table.tick, &table.times, &table.period) {
            (Some(file), None, None, None) => self.mahimahi(file)?,
            (None, Some(tick), Some(times), Some(period)) => {
                let times = times.value.iter().map(|at| (at.value, at.span));
                (times.map(|(at, span)| (tick.value * at, span)).collect(), period.value)
            }
            _ => {
                let help = "either `file`, or all of `tick`, `times` and `period`";
                self.report.error("scenario.missing", trace.span, "this trace is not complete").help(help);
                return None;
            }
        };
        self.check_trace(&times, period, trace.span)?;
        let opportunities = times.into_iter().map(|(at, _)| Time::ZERO + at).collect();
        Some(Arc::new(CapacityTrace { opportunities, period, bytes }))
    }

    /// A mahimahi trace: on each line the millisecond of an opportunity; the last one is also the period.
    fn mahimahi(&mut self, file: &At<String>) -> Option<(Vec<(Duration, Span)>, Duration)> {
        let mut times = Vec::new();
        for (line, span) in self.lines(file) {
            let Ok(millis) = line.parse::<u64>() else {
                let help = "each line of a mahimahi trace is a time in whole milliseconds";
                self.report.error("scenario.file", span, "expected a whole number").help(help);
                return None;
            };
            times.push((Duration::from_millis(millis), span));
        }
        let Some(&(period, _)) = times.last() else {
            if self.report.errors() == 0 {
                self.report.error("scenario.file", file.span, "the trace is empty");
            }
            return None;
        };
        Some((times, period))
    }

    fn check_trace(&mut self, times: &[(Duration, Span)], period: Duration, span: Span) -> Option<()> {
        if let Some(pair) = times.windows(2).find(|pair| pair[0].0 > pair[1].0) {
            let message = format!("times ascend, but {} follows {}", pair[1].0, pair[0].0);
            self.report.error("scenario.range", pair[1].1, message);
            return None;
        }
        if times.is_empty() || period.is_zero() || times.last().is_some_and(|&(last, _)| last > period) {
            let message = "a trace has an opportunity and a period that is not shorter than its last time";
            self.report.error("scenario.range", span, message);
            return None;
        }
        Some(())
    }
}
