//! `--json-lines`: the events of a run, while it runs, one JSON record per line.

use crate::console_output::escape_terminal_control;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_report::output::Style;
use thalweg_report::results::{Document, FORMAT, Header, VERSION};
use thalweg_sim::packet_trace::{Record, Step, Tracer};
use thalweg_sim::simulation_spec::Spec;

/// Standard output for the records of several concurrent runs: records of the first unfinished run are written
/// immediately, records of later runs are buffered, to keep the order independent of threads.
#[derive(Debug)]
pub struct Lines {
    state: Mutex<State>,
    /// Set when standard output is closed, to end the batch.
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
struct State {
    turn: usize,
    waiting_lines: Vec<Vec<u8>>,
    failed: Option<io::Error>,
}

impl Lines {
    /// Creates the output for this number of runs; `stop` is set when standard output is closed.
    pub fn new(runs: usize, stop: Arc<AtomicBool>) -> Self {
        let state = State { turn: 0, waiting_lines: vec![Vec::new(); runs], failed: None };
        Self { state: Mutex::new(state), stop }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a record of the current run, or of all runs.
    pub fn write(&self, record: &impl Serialize) {
        let line = json_line(record);
        self.emit(&mut self.lock(), &line);
    }

    /// Writes the last record.
    pub fn write_results(&self, document: &Document) {
        self.write(&Results { record: "results", document });
    }

    /// Adds a record of run number `run`.
    fn add(&self, run: usize, record: &impl Serialize) {
        let line = json_line(record);
        let mut state = self.lock();
        if state.turn == run {
            self.emit(&mut state, &line);
        } else if let Some(waiting) = state.waiting_lines.get_mut(run) {
            waiting.extend(line);
        }
    }

    /// Ends the current run; the next one may write.
    pub fn next(&self) {
        let mut state = self.lock();
        state.turn += 1;
        let turn = state.turn;
        let waiting = state.waiting_lines.get_mut(turn).map(core::mem::take).unwrap_or_default();
        self.emit(&mut state, &waiting);
    }

    fn emit(&self, state: &mut State, bytes: &[u8]) {
        if state.failed.is_none() && !bytes.is_empty() {
            let mut out = io::stdout().lock();
            state.failed = out.write_all(bytes).and_then(|()| out.flush()).err();
            if state.failed.is_some() {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Returns the first write error.
    pub fn error(&self) -> Option<io::Error> {
        self.lock().failed.take()
    }
}

fn json_line(record: &impl Serialize) -> Vec<u8> {
    let line = serde_json::to_string(record).expect("records are plain data with text keys");
    // JSON permits bidirectional format characters and the control characters above U+007F.
    let mut line = escape_terminal_control(&line, Style::PLAIN).into_owned().into_bytes();
    line.push(b'\n');
    line
}

/// The first record: the parameters of the batch.
#[derive(Debug, Serialize)]
pub struct Parameters<'a> {
    record: &'static str,
    format: &'static str,
    version: u32,
    tool_version: &'a str,
    title: &'a str,
    file: &'a str,
    duration_s: f64,
    warmup_s: f64,
    interval_s: f64,
    seeds: &'a [u64],
    schemes: Vec<&'a str>,
}

impl<'a> Parameters<'a> {
    /// Creates the record for a batch of `schemes` (empty unless several are compared).
    pub fn new(header: &'a Header, schemes: Vec<&'a str>, interval: Duration) -> Self {
        Self {
            record: "parameters",
            format: FORMAT,
            version: VERSION,
            tool_version: &header.tool_version,
            title: &header.scenario.title,
            file: &header.scenario.file,
            duration_s: header.duration.as_secs_f64(),
            warmup_s: header.warmup.as_secs_f64(),
            interval_s: interval.as_secs_f64(),
            seeds: &header.seeds,
            schemes,
        }
    }
}

/// The last record: the results document.
#[derive(Debug, Serialize)]
struct Results<'a> {
    record: &'static str,
    #[serde(flatten)]
    document: &'a Document,
}

/// The records in between: the counts of one interval of one run.
#[derive(Debug, Serialize)]
struct Interval<'a> {
    record: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'a str>,
    seed: u64,
    time_s: f64,
    interval_s: f64,
    groups: &'a [GroupCount],
    links: &'a [LinkCount],
}

/// Counts of a group in an interval.
#[derive(Clone, Debug, Default, Serialize)]
struct GroupCount {
    name: String,
    sent_packets: u64,
    arrived_packets: u64,
    arrived_bytes: u64,
    arrived_bps: u64,
    lost_packets: u64,
}

/// Counts of a link direction in an interval.
#[derive(Clone, Debug, Default, Serialize)]
struct LinkCount {
    name: String,
    from: String,
    to: String,
    packets: u64,
    bytes: u64,
    rate_bps: u64,
    drops: u64,
    losses: u64,
}

/// Tracer that counts the events of a run, and writes a record per interval of simulated time.
#[derive(Debug)]
pub struct Meter {
    lines: Arc<Lines>,
    run: usize,
    scheme: Option<String>,
    seed: u64,
    interval: Duration,
    start_time: Time,
    groups: Vec<GroupCount>,
    /// Index of each group's first flow.
    first_flows: Vec<u32>,
    links: Vec<LinkCount>,
}

impl Meter {
    /// Creates the tracer for run number `run` of `spec`.
    pub fn new(lines: Arc<Lines>, run: usize, scheme: Option<&str>, seed: u64, spec: &Spec) -> Self {
        let node = |id: thalweg_sim::simulation_spec::NodeId| {
            spec.nodes.get(id.0 as usize).map(|node| node.name.clone())
        };
        let link = |name: &str, from, to| LinkCount {
            name: name.to_owned(),
            from: node(from).unwrap_or_default(),
            to: node(to).unwrap_or_default(),
            ..LinkCount::default()
        };
        let directions = |of: &thalweg_sim::simulation_spec::LinkSpec| {
            [link(&of.name, of.a, of.b), link(&of.name, of.b, of.a)]
        };
        let first = |first: &mut u32, count: u32| {
            let start = *first;
            *first += count;
            Some(start)
        };
        Self {
            lines,
            run,
            scheme: scheme.map(str::to_owned),
            seed,
            interval: record_interval(spec),
            start_time: Time::ZERO,
            groups: spec
                .groups
                .iter()
                .map(|group| GroupCount { name: group.name.clone(), ..GroupCount::default() })
                .collect(),
            first_flows: spec.groups.iter().map(|group| group.count).scan(0, first).collect(),
            links: spec.links.iter().flat_map(directions).collect(),
        }
    }

    /// Ends the run at `now`.
    pub fn finish(mut self, now: Time) {
        self.close_until(now);
        if now > self.start_time {
            self.close(now.since(self.start_time));
        }
    }

    /// Closes every interval that ends at or before `now`. Empty intervals are merged into the one before.
    fn close_until(&mut self, now: Time) {
        let intervals = now.since(self.start_time).as_picos() / self.interval.as_picos();
        if intervals > 0 {
            self.close(self.interval * intervals);
        }
    }

    fn close(&mut self, length: Duration) {
        for group in &mut self.groups {
            group.arrived_bps =
                Rate::from_transfer(Bytes::new(group.arrived_bytes), length).as_bits_per_sec();
        }
        for link in &mut self.links {
            link.rate_bps = Rate::from_transfer(Bytes::new(link.bytes), length).as_bits_per_sec();
        }
        self.start_time += length;
        let record = Interval {
            record: "interval",
            scheme: self.scheme.as_deref(),
            seed: self.seed,
            time_s: self.start_time.as_secs_f64(),
            interval_s: length.as_secs_f64(),
            groups: &self.groups,
            links: &self.links,
        };
        self.lines.add(self.run, &record);
        for group in &mut self.groups {
            *group = GroupCount { name: core::mem::take(&mut group.name), ..GroupCount::default() };
        }
        for link in &mut self.links {
            let LinkCount { name, from, to, .. } = core::mem::take(link);
            *link = LinkCount { name, from, to, ..LinkCount::default() };
        }
    }
}

/// Returns the record interval of `spec`: that of its series, or a hundredth of its duration.
pub fn record_interval(spec: &Spec) -> Duration {
    let interval = spec.measure.interval.unwrap_or(spec.duration / 100);
    interval.max(Duration::from_picos(1))
}

impl Tracer for Meter {
    fn record(&mut self, record: &Record<'_>) {
        if record.time.since(self.start_time) >= self.interval {
            self.close_until(record.time);
        }
        if let Some(link) = self.links.get_mut(record.link_direction as usize) {
            match record.step {
                Step::Transmitted => {
                    link.packets += 1;
                    link.bytes += u64::from(record.size);
                }
                Step::Dropped => link.drops += 1,
                Step::Lost | Step::Corrupted => link.losses += 1,
                _ => {}
            }
        }
        let group = self.first_flows.partition_point(|first| *first <= record.flow);
        let Some(group) = group.checked_sub(1).and_then(|group| self.groups.get_mut(group)) else { return };
        match (record.step, record.pdu.payload_len()) {
            (Step::Sent, Some(_)) => group.sent_packets += 1,
            (Step::Delivered, Some(bytes)) => {
                group.arrived_packets += 1;
                group.arrived_bytes += u64::from(bytes);
            }
            (Step::Dropped | Step::Lost | Step::Corrupted, Some(_)) => group.lost_packets += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in a scenario cannot control a terminal, and parse to the same value.
    #[test]
    fn records_drive_no_terminal() {
        let record = serde_json::json!({ "name": "a\u{1b}[2J\u{9b}2J\u{202e}\u{e0041}\n" });
        let line = String::from_utf8(json_line(&record)).unwrap();
        assert_eq!(line, "{\"name\":\"a\\u001b[2J\\u009b2J\\u202e\\udb40\\udc41\\n\"}\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), record);
    }
}
