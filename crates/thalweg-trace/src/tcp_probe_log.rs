//! Logs of the kernel's congestion window at each acknowledgement: the tracepoint `tcp:tcp_probe`, and the fields of `struct tcp_sock`.
//!
//! Lines have a time and fields, in one of three forms:
//!
//! | form | written by |
//! | --- | --- |
//! | `NANOSECONDS name=value name=value` | bpftrace with `printf` |
//! | `task-1 [000] ..s. SECONDS: tcp_probe: name=value` | the kernel: `trace_pipe`, `perf script`, `trace-cmd report` |
//! | a line of names, then lines of values | bpftrace's tables |
//!
//! | field | meaning |
//! | --- | --- |
//! | `snd_cwnd` or `cwnd`, `ssthresh` | segments; 2^31 - 1 is not a threshold |
//! | `srtt`, `srtt_us`, `rtt_us` | smoothed round-trip time, in microseconds: `srtt_us` of the kernel's structure shifted by 3 |
//! | `snd_una`, `snd_nxt`, `snd_wnd` | sequence numbers and receive window, in bytes |
//! | `src`, `dest` with ports; or `saddr`, `sport`, `daddr`, `dport`; or `sock_cookie` | the connection |
//! | `mss`, `pacing_rate` (B/s), `total_retrans`, `ca` | as in the kernel |
//!
//! The window is converted to bytes by `mss`, or 1448 B without it.

use crate::buffered_input::Input;
use crate::date_parsing::time_of_day;
use crate::format_and_limits::{Format, Limits, ReadError};
use crate::trace_model::{Ack, Connection, Metric, Point, Protocol, Trace, View};
use std::collections::HashMap;
use thalweg_units::{Duration, Time};

/// A field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Field {
    Time,
    Source,
    Sink,
    SourcePort,
    SinkPort,
    Cookie,
    Next,
    Unacked,
    Window,
    Ssthresh,
    ReceiveWindow,
    Rtt,
    Segment,
    PacingRate,
    Retransmissions,
    Scheme,
}

impl Field {
    /// Returns the field of a name, in the spellings of the kernel and of bpftrace's tools.
    fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "time" | "ts" | "nsecs" | "elapsed" => Self::Time,
            "src" | "saddr" | "laddr" | "local" => Self::Source,
            "dest" | "dst" | "daddr" | "raddr" | "peer" => Self::Sink,
            "sport" | "lport" => Self::SourcePort,
            "dport" | "rport" => Self::SinkPort,
            "sock_cookie" | "cookie" | "sk" => Self::Cookie,
            "snd_nxt" => Self::Next,
            "snd_una" => Self::Unacked,
            "snd_cwnd" | "cwnd" => Self::Window,
            "ssthresh" | "snd_ssthresh" => Self::Ssthresh,
            "snd_wnd" => Self::ReceiveWindow,
            "srtt" | "srtt_us" | "rtt_us" | "rtt" => Self::Rtt,
            "mss" | "mss_cache" => Self::Segment,
            "pacing_rate" | "sk_pacing_rate" => Self::PacingRate,
            "total_retrans" => Self::Retransmissions,
            "ca" | "cc" | "ca_name" => Self::Scheme,
            _ => return None,
        })
    }
}

/// Returns true if a file with this beginning may be such a log.
pub(crate) fn is_probe(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.contains("snd_cwnd")
        || text.contains("tcp_probe:")
        || text.lines().any(|line| parse_columns(line).is_some())
}

/// Returns the fields of a line of names; `None` if it is none.
fn parse_columns(line: &str) -> Option<Vec<Option<Field>>> {
    let fields: Vec<Option<Field>> = line.split_whitespace().take(MAX_FIELDS).map(Field::from_name).collect();
    let known = fields.iter().flatten().count();
    (known >= 2 && fields.contains(&Some(Field::Window))).then_some(fields)
}

/// Reads a log.
pub(crate) fn read(input: &mut Input<'_>, limits: &Limits) -> Result<Trace, ReadError> {
    let mut log = Log::new(limits);
    while let Some(line) = input.line() {
        log.line(&line);
    }
    let unusable = |problem: &str| ReadError::Unusable { format: Format::Probe, problem: problem.to_owned() };
    if log.open_connections.is_empty() {
        return Err(unusable(if log.timeless > 0 {
            "the lines have no times; print `nsecs` first: `printf(\"%lld snd_cwnd=%u ...\", nsecs, ...)`"
        } else {
            "no line has a congestion window (`snd_cwnd=`)"
        }));
    }
    let mut notes = Vec::new();
    if log.timeless > 0 {
        notes.push(format!("{} lines without a time were skipped.", log.timeless));
    }
    if log.lost > 0 {
        notes.push(format!("bpftrace lost {} events.", log.lost));
    }
    if log.beyond > 0 {
        notes.push(format!("{} lines beyond the limit were skipped.", log.beyond));
    }
    let connections = log.open_connections.into_iter().map(LoggedConnection::finish).collect();
    Ok(Trace { format: Format::Probe, connections, epoch: log.epoch, notes, is_cut: false })
}

/// Log being read.
struct Log {
    max: usize,
    max_points: usize,
    points: usize,
    open_connections: Vec<LoggedConnection>,
    by_name: HashMap<String, usize>,
    /// Fields of a table, if lines have no names.
    columns: Option<Vec<Option<Field>>>,
    /// Time of the first line, in seconds.
    first: Option<f64>,
    /// The same since 1970, if known.
    epoch: Option<f64>,
    now: Time,
    timeless: u64,
    lost: u64,
    beyond: u64,
}

/// Connection in a log.
struct LoggedConnection {
    connection: Connection,
    /// Last acknowledged sequence number and its position.
    acked: Option<(u32, u64)>,
    segment: Option<u32>,
    /// Retransmissions of the first and the last line.
    retransmissions: Option<[u64; 2]>,
}

/// Values of a line.
type Values<'a> = HashMap<Field, &'a str>;

/// Parses an integer, decimal or hexadecimal.
fn parse_integer(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses a time, in seconds: nanoseconds as an integer, seconds with a fraction, or a time of day. The second value is true if
/// it counts since 1970.
fn parse_time(text: &str) -> Option<(f64, bool)> {
    let text = text.trim_end_matches([':', ',']);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':')) {
        return None;
    }
    if let Ok(nanos) = text.parse::<u64>() {
        return Some((nanos as f64 / 1e9, nanos > SINCE_1970 * 1_000_000_000));
    }
    if text.contains(':') {
        return time_of_day(text).map(|seconds| (seconds, false));
    }
    let seconds: f64 = text.parse().ok()?;
    Some((seconds, seconds > SINCE_1970 as f64))
}

impl Log {
    fn new(limits: &Limits) -> Self {
        Self {
            max: limits.connections,
            max_points: limits.packets,
            points: 0,
            open_connections: Vec::new(),
            by_name: HashMap::new(),
            columns: None,
            first: None,
            epoch: None,
            now: Time::ZERO,
            timeless: 0,
            lost: 0,
            beyond: 0,
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(columns) = parse_columns(line) {
            self.columns = Some(columns);
            return;
        }
        let words: Vec<&str> = line.split_whitespace().take(MAX_FIELDS).collect();
        if let ["Lost", count, "events", ..] = words[..] {
            self.lost += parse_integer(count).unwrap_or(0);
            return;
        }
        let mut values = Values::new();
        for word in &words {
            let word = word.trim_end_matches(',');
            // The first sign ends the name: values may be addresses with ports.
            let pair = word.split_once('=').or_else(|| word.split_once(':'));
            if let Some((field, value)) =
                pair.and_then(|(name, value)| Some((Field::from_name(name)?, value)))
            {
                values.insert(field, value);
            }
        }
        if values.is_empty()
            && let Some(columns) = self.columns.as_ref().filter(|columns| columns.len() <= words.len())
        {
            let pairs = columns.iter().zip(&words);
            values.extend(pairs.filter_map(|(field, word)| Some(((*field)?, *word))));
        }
        if !values.contains_key(&Field::Window) {
            return;
        }
        let named = values.get(&Field::Time).and_then(|text| parse_time(text));
        // Seconds may come after a task and a processor; an integer only at the beginning.
        let leading = || {
            let words = words.iter().take_while(|word| !word.contains('='));
            let mut times = words.enumerate().filter(|(at, word)| *at == 0 || word.contains('.'));
            times.find_map(|(_, word)| parse_time(word))
        };
        let Some((seconds, is_since_1970)) = named.or_else(leading) else {
            self.timeless += 1;
            return;
        };
        let first = *self.first.get_or_insert(seconds);
        if is_since_1970 {
            self.epoch.get_or_insert(seconds);
        }
        let since = Duration::from_secs_f64((seconds - first).clamp(0.0, MAX_SECONDS));
        // Processors write their lines in batches.
        self.now = self.now.max(Time::ZERO + since);
        self.sample(&values);
    }

    fn sample(&mut self, values: &Values<'_>) {
        let end = |address: Field, port: Field| {
            let address = values.get(&address).copied().unwrap_or_default();
            match values.get(&port) {
                Some(port) => format!("{address}:{port}"),
                None => address.to_owned(),
            }
        };
        let (from, to) = (end(Field::Source, Field::SourcePort), end(Field::Sink, Field::SinkPort));
        let cookie = values.get(&Field::Cookie).copied().unwrap_or_default();
        let name = match (from.is_empty() || to.is_empty(), cookie) {
            (false, _) => format!("{from} > {to}"),
            (true, "") => "connection".to_owned(),
            (true, cookie) => format!("socket {cookie}"),
        };
        let at = match self.by_name.get(&name) {
            Some(at) => *at,
            None if self.open_connections.len() >= self.max => {
                self.beyond += 1;
                return;
            }
            None => {
                self.open_connections.push(LoggedConnection::new(&name, &from, &to, self.now));
                self.by_name.insert(name, self.open_connections.len() - 1);
                self.open_connections.len() - 1
            }
        };
        if self.points >= self.max_points {
            self.beyond += 1;
        } else if let Some(open) = self.open_connections.get_mut(at) {
            self.points += open.sample(self.now, values);
        }
    }
}

impl LoggedConnection {
    fn new(name: &str, from: &str, to: &str, now: Time) -> Self {
        let mut connection = Connection {
            name: name.to_owned(),
            id: if to.is_empty() { name.to_owned() } else { format!("{} {}", from.min(to), from.max(to)) },
            protocol: Protocol::Tcp,
            point: Point::Client,
            writer: Some("tcp_probe".to_owned()),
            start: now,
            end: now,
            ..Connection::default()
        };
        let names =
            [if from.is_empty() { "sender" } else { from }, if to.is_empty() { "receiver" } else { to }];
        for ((direction, name), view) in
            connection.directions.iter_mut().zip(names).zip([View::Sender, View::Receiver])
        {
            name.clone_into(&mut direction.from);
            direction.view = view;
        }
        Self { connection, acked: None, segment: None, retransmissions: None }
    }

    /// Adds the values of a line; returns the number of records kept.
    fn sample(&mut self, now: Time, values: &Values<'_>) -> usize {
        let number = |field: Field| values.get(&field).and_then(|text| parse_integer(text));
        let sequence = |field: Field| number(field).map(|value| value as u32);
        let segment = number(Field::Segment).filter(|segment| (1..=MAX_SEGMENT).contains(segment));
        self.segment = segment.map(|segment| segment as u32).or(self.segment);
        let bytes = f64::from(self.segment.unwrap_or(SEGMENT));
        let segments = |count: u64| count as f64 * bytes;
        let direction = &mut self.connection.directions[0];
        let unacked = sequence(Field::Unacked);
        let position = unacked.map(|unacked| match self.acked {
            // A line of another processor may be older.
            Some((last, position)) if unacked.wrapping_sub(last) >= 1 << 31 => position,
            Some((last, position)) => position + u64::from(unacked.wrapping_sub(last)),
            None => 0,
        });
        let flight = unacked.zip(sequence(Field::Next)).map(|(unacked, next)| next.wrapping_sub(unacked));
        let metrics = [
            (Metric::Window, number(Field::Window).map(segments)),
            (Metric::Ssthresh, number(Field::Ssthresh).filter(|count| *count < UNLIMITED).map(segments)),
            (Metric::InFlight, flight.filter(|flight| *flight < 1 << 30).map(f64::from)),
            (
                Metric::SmoothedRtt,
                number(Field::Rtt).filter(|rtt| (1..MAX_RTT).contains(rtt)).map(|micros| micros as f64 / 1e6),
            ),
            // Without pacing it is the largest number of its type.
            (
                Metric::PacingRate,
                number(Field::PacingRate).filter(|rate| *rate < 1 << 48).map(|rate| rate as f64 * 8.0),
            ),
        ];
        let mut kept = 0;
        for (metric, value) in metrics {
            if let Some(value) = value {
                direction.metrics.entry(metric).or_default().push((now, value));
                kept += 1;
            }
        }
        if let (Some(position), Some(unacked)) = (position, unacked) {
            let is_new = self.acked.is_none_or(|(_, last)| position > last);
            if is_new {
                self.acked = Some((unacked, position));
                let window = number(Field::ReceiveWindow);
                direction.has_window |= window.is_some();
                let edge = window.map_or(u64::MAX, |window| position.saturating_add(window));
                direction.acks.push(Ack { time: now, position, edge });
                kept += 1;
            }
        }
        if let Some(count) = number(Field::Retransmissions) {
            let [first, _] = self.retransmissions.unwrap_or([count; 2]);
            self.retransmissions = Some([first, count]);
        }
        if let Some(scheme) = values.get(&Field::Scheme) {
            self.connection.scheme.get_or_insert_with(|| (*scheme).to_owned());
        }
        self.connection.end = now;
        kept
    }

    fn finish(self) -> Connection {
        let Self { mut connection, acked, segment, retransmissions } = self;
        let direction = &mut connection.directions[0];
        let delivered = acked.map_or(0, |(_, position)| position);
        direction.segment = segment;
        direction.counts.delivered = delivered;
        // Without the number of retransmissions, what was sent is not known.
        if let Some([first, last]) = retransmissions {
            let again = last.saturating_sub(first);
            direction.counts.retransmitted = again;
            direction.counts.lost = again;
            let bytes = again.saturating_mul(segment.unwrap_or(SEGMENT).into());
            direction.counts.retransmitted_bytes = bytes;
            direction.counts.payload = delivered.saturating_add(bytes);
            direction.counts.bytes = direction.counts.payload;
            direction.counts.packets =
                direction.counts.payload.div_ceil(u64::from(segment.unwrap_or(SEGMENT)));
        }
        if segment.is_none() {
            connection.notes.push(format!(
                "The log has no segment size (`mss=`): windows are converted with {SEGMENT} B a segment."
            ));
        }
        connection
    }
}

/// Maximum number of words of a line that are read.
const MAX_FIELDS: usize = 100;
/// Segment size without `mss`: that of an Ethernet path with timestamps, in bytes.
const SEGMENT: u32 = 1448;
/// Maximum segment size, in bytes.
const MAX_SEGMENT: u64 = 1 << 16;
/// Bound of round-trip times, in microseconds: the range of the kernel's field.
const MAX_RTT: u64 = 1 << 32;
/// Slow-start threshold of a connection that has none (`TCP_INFINITE_SSTHRESH`), in segments.
const UNLIMITED: u64 = 0x7fff_ffff;
/// Times after are since 1970, in seconds; a host that has run for longer has not been seen.
const SINCE_1970: u64 = 1_000_000_000;
/// Maximum length of a log, in seconds: the range of times.
const MAX_SECONDS: f64 = 200.0 * 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Trace, ReadError> {
        crate::read(&mut text.as_bytes(), &Limits::default())
    }

    /// Lines as bpftrace prints them: the sequence number wraps between the second and the third.
    const LINES: &str = "Attaching 1 probe...\n\
        5000000000 src=10.0.0.1:38040 dest=10.0.0.2:5001 snd_nxt=4294967295 snd_una=4294965295 snd_cwnd=10 ssthresh=2147483647 snd_wnd=65536 srtt=40500 mss=1000 total_retrans=4 ca=cubic\n\
        5100000000 src=10.0.0.1:38040 dest=10.0.0.2:5001 snd_nxt=704 snd_una=4294967295 snd_cwnd=20 ssthresh=2147483647 snd_wnd=65536 srtt=41000 mss=1000 total_retrans=4 ca=cubic\n\
        Lost 17 events\n\
        5200000000 src=10.0.0.1:38040 dest=10.0.0.2:5001 snd_nxt=9704 snd_una=2704 snd_cwnd=14 ssthresh=14 snd_wnd=65536 srtt=52000 mss=1000 total_retrans=6 ca=cubic\n";

    #[test]
    fn lines_of_bpftrace_have_the_kernel_s_figures() {
        let trace = read_text(LINES).unwrap();
        assert_eq!((trace.format, trace.connections.len(), trace.epoch), (Format::Probe, 1, None));
        assert_eq!(trace.notes, ["bpftrace lost 17 events."]);
        let connection = &trace.connections[0];
        assert_eq!(connection.name, "10.0.0.1:38040 > 10.0.0.2:5001");
        assert_eq!(connection.scheme.as_deref(), Some("cubic"));
        assert_eq!(connection.duration(), Duration::from_millis(200));
        let direction = &connection.directions[0];
        let values = |metric: Metric| -> Vec<f64> {
            direction.metrics.get(&metric).into_iter().flatten().map(|point| point.1).collect()
        };
        assert_eq!(values(Metric::Window), [10_000.0, 20_000.0, 14_000.0]);
        assert_eq!(values(Metric::Ssthresh), [14_000.0], "2^31 - 1 is none");
        // 4294967295 - 4294965295; 704 + 2^32 - 4294967295; 9704 - 2704.
        assert_eq!(values(Metric::InFlight), [2000.0, 705.0, 7000.0]);
        assert_eq!(values(Metric::SmoothedRtt), [0.0405, 0.041, 0.052]);
        let acks: Vec<(u64, u64)> = direction.acks.iter().map(|ack| (ack.position, ack.edge)).collect();
        assert_eq!(acks, [(0, 65_536), (2000, 67_536), (4705, 70_241)]);
        assert_eq!((direction.counts.delivered, direction.counts.retransmitted), (4705, 2));
        assert!(connection.notes.is_empty());
    }

    #[test]
    fn lines_of_the_kernel_and_tables_are_the_same() {
        let kernel = "  <idle>-0     [003] ..s2.  5123.000100: tcp_probe: family=AF_INET src=10.0.0.1:38040 dest=10.0.0.2:5001 mark=0x0 data_len=0 snd_nxt=0x2000 snd_una=0x1000 snd_cwnd=10 ssthresh=7 snd_wnd=65536 srtt=40500 rcv_wnd=64 sock_cookie=1f\n\
            nginx-77      [001] ..s1.  5123.250100: tcp_probe: family=AF_INET src=10.0.0.1:38040 dest=10.0.0.2:5001 mark=0x0 data_len=0 snd_nxt=0x3000 snd_una=0x2000 snd_cwnd=12 ssthresh=7 snd_wnd=65536 srtt=41000 rcv_wnd=64 sock_cookie=1f\n";
        let table = "TIME SADDR SPORT DADDR DPORT SND_NXT SND_UNA CWND SSTHRESH SND_WND SRTT_US\n\
            12:00:01.0001 10.0.0.1 38040 10.0.0.2 5001 8192 4096 10 7 65536 40500\n\
            12:00:01.2501 10.0.0.1 38040 10.0.0.2 5001 12288 8192 12 7 65536 41000\n";
        let [kernel, table] = [kernel, table].map(|text| read_text(text).unwrap().connections.remove(0));
        assert_eq!(kernel.notes.len(), 1, "{:?}", kernel.notes);
        assert_eq!(kernel.directions[0].metrics[&Metric::Window][1].1, 12.0 * 1448.0);
        assert_eq!(kernel.duration(), Duration::from_millis(250));
        assert_eq!((&kernel.name, &kernel.directions), (&table.name, &table.directions));
    }

    #[test]
    fn a_log_without_times_or_windows_is_refused() {
        let timeless = read_text("snd_cwnd=10 ssthresh=7\nsnd_cwnd=11 ssthresh=7\n").unwrap_err();
        assert!(timeless.to_string().contains("nsecs"), "{timeless}");
        let nothing = read_text("5 tcp_probe: nothing\n").unwrap_err();
        assert!(nothing.to_string().contains("snd_cwnd="), "{nothing}");
        // Sockets without addresses are distinguished by their cookie.
        let two =
            read_text("1 sk=0xf1 snd_cwnd=10\n2 sk=0xf2 snd_cwnd=11\n3 sk=0xf1 snd_cwnd=nan\n").unwrap();
        let names: Vec<&str> = two.connections.iter().map(|connection| &*connection.name).collect();
        assert_eq!(names, ["socket 0xf1", "socket 0xf2"]);
        assert_eq!(two.connections[0].directions[0].metrics[&Metric::Window].len(), 1);
    }
}
