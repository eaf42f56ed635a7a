//! Logs of the kernel's estimates: the output of `ss -tin`, repeated, each time after a line with the time.
//!
//! ```text
//! while :; do date +%s.%N; ss -tin; sleep 0.1; done > ss.log
//! ```
//!
//! Times are seconds or nanoseconds since 1970, dates of RFC 3339, or times of day; `ts` may write them in front of each line. Each
//! connection has the sender's window, round-trip time and rates, and the bytes acknowledged.

use crate::buffered_input::Input;
use crate::date_parsing::{rfc3339, time_of_day};
use crate::format_and_limits::{Format, Limits, ReadError};
use crate::trace_model::{Ack, Connection, Direction, Limit, Metric, Point, Protocol, Timeout, Trace, View};
use std::collections::HashMap;
use thalweg_units::{Duration, Time};

/// Returns true if a file with this beginning may be such a log.
pub(crate) fn is_ss(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.contains("cwnd:") || text.contains("Recv-Q") && text.contains("Send-Q")
}

/// Reads a log.
pub(crate) fn read(input: &mut Input<'_>, limits: &Limits) -> Result<Trace, ReadError> {
    let mut log = Log { max: limits.connections, max_points: limits.packets, ..Log::default() };
    while let Some(line) = input.line() {
        log.line(&line);
    }
    let unusable = |problem: &str| ReadError::Unusable { format: Format::Ss, problem: problem.to_owned() };
    if log.open_connections.is_empty() {
        return Err(unusable(
            "no line has an estimate of a connection (`cwnd:`); expected the output of `ss -tin`",
        ));
    }
    if log.epoch.is_none() {
        return Err(unusable(
            "there are no times; write one before each output: `while :; do date +%s.%N; ss -tin; sleep 0.1; done`",
        ));
    }
    let mut notes = Vec::new();
    if log.beyond > 0 {
        notes.push(format!("{} lines beyond the limit were skipped.", log.beyond));
    }
    let epoch = log.epoch.filter(|epoch| *epoch > MAX_MILLISECONDS);
    let connections = log.open_connections.into_iter().map(LoggedConnection::finish).collect();
    Ok(Trace { format: Format::Ss, connections, epoch, notes, is_cut: false })
}

/// Times before are times of day or of an unset clock, in seconds.
const MAX_MILLISECONDS: f64 = 1e9;

#[derive(Default)]
struct Log {
    max: usize,
    max_points: usize,
    points: usize,
    open_connections: Vec<LoggedConnection>,
    by_name: HashMap<String, usize>,
    /// Time of the first output, in seconds.
    epoch: Option<f64>,
    now: Time,
    /// Connection of the line before.
    current: Option<usize>,
    beyond: u64,
}

/// Connection in a log.
#[derive(Default)]
struct LoggedConnection {
    connection: Connection,
    /// First and last values of counters.
    first: Counters,
    last: Counters,
    before: Option<Time>,
}

#[derive(Clone, Copy, Default)]
struct Counters {
    acked: u64,
    received: u64,
    sent: u64,
    again: u64,
    retransmissions: u64,
    segments: u64,
    duplicates: u64,
    lost: u64,
    /// Milliseconds limited by the receive window, and by the send buffer.
    receiver: f64,
    buffer: f64,
}

impl Log {
    fn line(&mut self, line: &str) {
        let is_indented = line.starts_with(char::is_whitespace);
        let text = line.trim();
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if !is_indented
            && let Some(seconds) =
                parse_seconds(text).or_else(|| parse_seconds(first).filter(|_| is_time(first)))
        {
            let epoch = *self.epoch.get_or_insert(seconds);
            // A time of day begins again at midnight.
            let since =
                if seconds < epoch && epoch < MAX_MILLISECONDS { seconds + 86_400.0 } else { seconds }
                    - epoch;
            let now = Time::ZERO + Duration::from_secs_f64(since.clamp(0.0, 200.0 * 86_400.0));
            self.now = self.now.max(now);
            if seconds_of_line(text) {
                self.current = None;
                return;
            }
            return self.content(rest);
        }
        self.content(text);
    }

    fn content(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().take(100).collect();
        if words.iter().any(|word| word.starts_with("cwnd:") || word.starts_with("rtt:")) {
            let is_full = self.points >= self.max_points;
            if let Some(open) = self.current.and_then(|at| self.open_connections.get_mut(at)) {
                if is_full {
                    self.beyond += 1;
                } else {
                    self.points += open.sample(self.now, &words);
                }
            }
            return;
        }
        // Sockets have a state, unless one was asked for, then two queue lengths and two addresses.
        let queues = words.iter().position(|word| word.parse::<u64>().is_ok());
        let addresses = queues.and_then(|at| words.get(at + 2..at + 4));
        let Some([local, peer]) = addresses.filter(|_| queues.is_some_and(|at| at <= 1)) else { return };
        if !local.contains(':') || !peer.contains(':') {
            return;
        }
        let name = format!("{local} > {peer}");
        self.current = match self.by_name.get(&name) {
            Some(at) => Some(*at),
            None if self.open_connections.len() >= self.max => {
                self.beyond += 1;
                None
            }
            None => {
                let mut open = LoggedConnection::default();
                open.connection.id = format!("{} {}", local.min(peer), local.max(peer));
                open.connection.name.clone_from(&name);
                open.connection.protocol = Protocol::Tcp;
                open.connection.point = Point::Client;
                open.connection.writer = Some("ss".to_owned());
                open.connection.directions[0].from = (*local).to_owned();
                open.connection.directions[1].from = (*peer).to_owned();
                open.connection.directions[0].view = View::Sender;
                open.connection.directions[1].view = View::Receiver;
                self.open_connections.push(open);
                self.by_name.insert(name, self.open_connections.len() - 1);
                Some(self.open_connections.len() - 1)
            }
        };
    }
}

impl LoggedConnection {
    /// Adds the estimates of a line; returns the number of records kept.
    fn sample(&mut self, now: Time, words: &[&str]) -> usize {
        let mut values: HashMap<&str, &str> = HashMap::new();
        let mut pairs = words.iter().peekable();
        while let Some(word) = pairs.next() {
            match word.split_once(':') {
                Some((key, value)) => drop(values.insert(key, value)),
                None if matches!(*word, "send" | "pacing_rate" | "delivery_rate") => {
                    if let Some(value) = pairs.peek() {
                        values.insert(word, value);
                    }
                }
                None => drop(values.insert(word, "")),
            }
        }
        let leading = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            text[..end].parse::<f64>().ok()
        };
        let number = |key: &str| values.get(key).and_then(|value| leading(value));
        let count = |key: &str| number(key).map_or(0, |value| value as u64);
        let mss = number("mss");
        let bytes = |key: &str| number(key).zip(mss).map(|(segments, mss)| segments * mss);
        let direction = &mut self.connection.directions[0];
        let metrics = [
            (Metric::Window, bytes("cwnd")),
            (Metric::Ssthresh, bytes("ssthresh")),
            (Metric::InFlight, Some(bytes("unacked").unwrap_or(0.0))),
            (Metric::SmoothedRtt, number("rtt").map(|millis| millis / 1e3)),
            (Metric::MinRtt, number("minrtt").map(|millis| millis / 1e3)),
            (Metric::PacingRate, values.get("pacing_rate").and_then(|value| parse_rate(value))),
            (Metric::DeliveryRate, values.get("delivery_rate").and_then(|value| parse_rate(value))),
            (Metric::Unsent, Some(number("notsent").unwrap_or(0.0))),
        ];
        let mut kept = 1;
        for (metric, value) in metrics {
            if let Some(value) = value {
                direction.metrics.entry(metric).or_default().push((now, value));
                kept += 1;
            }
        }
        let total =
            values.get("retrans").and_then(|value| value.split_once('/')).and_then(|pair| leading(pair.1));
        let counters = Counters {
            acked: count("bytes_acked"),
            received: count("bytes_received"),
            sent: count("bytes_sent"),
            again: count("bytes_retrans"),
            retransmissions: total.map_or(0, |total| total as u64),
            segments: count("data_segs_out"),
            duplicates: count("dsack_dups"),
            lost: count("lost"),
            receiver: number("rwnd_limited").unwrap_or(0.0),
            buffer: number("sndbuf_limited").unwrap_or(0.0),
        };
        if direction.acks.last().is_none_or(|last| last.position < counters.acked) {
            let edge =
                number("snd_wnd").map_or(u64::MAX, |window| counters.acked.saturating_add(window as u64));
            direction.has_window |= edge != u64::MAX;
            direction.acks.push(Ack { time: now, position: counters.acked, edge });
        }
        let scheme = words.iter().find(|word| !word.contains(':') && !FLAGS.contains(word));
        if self.connection.scheme.is_none() {
            self.connection.scheme = scheme.map(|word| (*word).to_owned());
        }
        if let Some(before) = self.before {
            let span = now.since(before).as_millis_f64();
            let limit = match () {
                () if counters.receiver - self.last.receiver > span / 2.0 => Some(Limit::Receiver),
                () if counters.buffer - self.last.buffer > span / 2.0 => Some(Limit::SendBuffer),
                () if values.contains_key("app_limited") => Some(Limit::Application),
                () => None,
            };
            if let Some(limit) = limit.filter(|_| before < now) {
                match direction.limits.last_mut().filter(|last| last.1 == before && last.2 == limit) {
                    Some(last) => last.1 = now,
                    None => direction.limits.push((before, now, limit)),
                }
            }
            let backoff = count("backoff");
            if backoff > 0
                && direction.timeouts.last().is_none_or(|last| now.since(last.time) > Duration::from_secs(1))
            {
                let silence = Duration::from_millis(count("lastrcv"));
                direction.timeouts.push(Timeout { time: now, silence });
            }
        } else {
            self.first = counters;
            self.connection.start = now;
        }
        direction.segment = mss.map(|mss| mss as u32);
        self.before = Some(now);
        self.connection.end = now;
        self.last = counters;
        kept
    }

    fn finish(self) -> Connection {
        let Self { mut connection, first, last, .. } = self;
        let [own, peer]: &mut [Direction; 2] = &mut connection.directions;
        own.counts.delivered = last.acked.saturating_sub(first.acked);
        own.counts.payload = last.sent.saturating_sub(first.sent);
        own.counts.bytes = own.counts.payload;
        own.counts.packets = last.segments.saturating_sub(first.segments);
        own.counts.retransmitted = last.retransmissions.saturating_sub(first.retransmissions);
        own.counts.lost = own.counts.retransmitted.max(last.lost);
        own.counts.retransmitted_bytes = last.again.saturating_sub(first.again);
        own.counts.duplicate_reports = last.duplicates.saturating_sub(first.duplicates);
        own.counts.spurious = own.counts.duplicate_reports;
        peer.counts.delivered = last.received.saturating_sub(first.received);
        peer.counts.payload = peer.counts.delivered;
        connection
    }
}

/// Words of `ss` that are not a congestion control.
const FLAGS: [&str; 9] =
    ["ts", "sack", "ecn", "ecnseen", "fastopen", "send", "pacing_rate", "delivery_rate", "app_limited"];

/// Parses a rate as `ss` prints it, in bit/s.
fn parse_rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix("bps")?;
    let (number, factor) = match number.as_bytes().last()? {
        b'K' => (&number[..number.len() - 1], 1e3),
        b'M' => (&number[..number.len() - 1], 1e6),
        b'G' => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    let number: f64 = number.parse().ok()?;
    // `nan` and `inf` are numbers to the parser.
    number.is_finite().then_some(number * factor)
}

/// Returns true if a word at the beginning of a line is a time rather than a number.
fn is_time(word: &str) -> bool {
    word.contains('.') || word.contains(':')
}

/// Returns true if a whole line is a time.
fn seconds_of_line(text: &str) -> bool {
    parse_seconds(text).is_some()
}

/// Parses a time, in seconds: since 1970, or since midnight.
fn parse_seconds(text: &str) -> Option<f64> {
    if text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        let number: f64 = text.parse().ok()?;
        return match number {
            MAX_MILLISECONDS..1e11 => Some(number),
            1e11..1e14 => Some(number / 1e3),
            1e14..1e17 => Some(number / 1e6),
            1e17..1e20 => Some(number / 1e9),
            _ => None,
        };
    }
    rfc3339(text).or_else(|| {
        // A time of day, alone or within a date; addresses with ports are none.
        let mut words = text.split_whitespace();
        let is_date = words.clone().count() <= 7
            && words.clone().all(|word| !word.contains(':') || time_of_day(word).is_some());
        is_date.then(|| words.find_map(time_of_day)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Trace, ReadError> {
        crate::read(&mut text.as_bytes(), &Limits::default())
    }

    const FIRST_OUTPUT: &str = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n\
        ESTAB 0 95105 10.0.0.1:38040 10.0.0.2:5001\n\
        \t cubic wscale:10,10 rto:280 rtt:40.5/0.5 mss:1000 pmtu:1500 cwnd:10 ssthresh:93 bytes_sent:1000 bytes_retrans:0 bytes_acked:1000 data_segs_out:1 send 2Mbps pacing_rate 4.5Mbps delivery_rate 900000bps busy:8ms unacked:3 retrans:0/0 minrtt:40.1 snd_wnd:65536\n";
    const SECOND: &str = "ESTAB 0 95105 10.0.0.1:38040 10.0.0.2:5001\n\
        \t cubic wscale:10,10 rto:560 backoff:1 rtt:44.5/0.5 mss:1000 cwnd:20 bytes_sent:9000 bytes_retrans:2000 bytes_acked:6000 data_segs_out:9 pacing_rate 1Gbps app_limited busy:8ms rwnd_limited:80ms(80.0%) retrans:1/2 lost:1 dsack_dups:1 minrtt:40.1 snd_wnd:65536\n";

    #[test]
    fn estimates_follow_the_time_in_front() {
        let trace = read_text(&format!("1795854894.5\n{FIRST_OUTPUT}1795854894.6\n{SECOND}")).unwrap();
        let connection = &trace.connections[0];
        assert_eq!((connection.scheme.as_deref(), trace.epoch), (Some("cubic"), Some(1_795_854_894.5)));
        let direction = &connection.directions[0];
        let points =
            |metric: Metric| direction.metrics[&metric].iter().map(|point| point.1).collect::<Vec<_>>();
        assert_eq!(points(Metric::Window), [10_000.0, 20_000.0]);
        assert_eq!(points(Metric::Ssthresh), [93_000.0]);
        assert_eq!(points(Metric::SmoothedRtt), [0.0405, 0.0445]);
        assert_eq!(points(Metric::PacingRate), [4.5e6, 1e9]);
        assert_eq!(points(Metric::DeliveryRate), [9e5]);
        let counts = direction.counts;
        assert_eq!(
            (counts.delivered, counts.retransmitted, counts.retransmitted_bytes, counts.spurious),
            (5000, 2, 2000, 1)
        );
        assert_eq!(direction.limits.len(), 1);
        assert_eq!((direction.limits[0].2, direction.timeouts.len()), (Limit::Receiver, 1));
        assert!((connection.duration().as_secs_f64() - 0.1).abs() < 1e-6);
    }

    #[test]
    fn times_have_several_forms() {
        assert_eq!(parse_seconds("1795854894.5"), Some(1_795_854_894.5));
        assert_eq!(parse_seconds("1795854894500000000"), Some(1_795_854_894.5));
        assert_eq!(parse_seconds("2026-11-28T08:34:54.5Z"), Some(1_795_854_894.5));
        assert_eq!(parse_seconds("2026-11-28 10:34:54.5+02:00"), Some(1_795_854_894.5));
        assert_eq!(parse_seconds("08:34:54.5"), Some(30_894.5));
        assert_eq!(parse_seconds("Sat Nov 28 08:34:54 UTC 2026"), Some(30_894.0));
        assert_eq!(parse_seconds("ESTAB 0 0 10.0.0.1:1 10.0.0.2:2"), None);
        // The leap day and the turn of the century.
        assert_eq!(rfc3339("2000-02-29T00:00:00Z"), Some(951_782_400.0));
        assert_eq!(rfc3339("2000-03-01T00:00:00Z"), Some(951_868_800.0));
        let prefixed =
            FIRST_OUTPUT.replace("ESTAB", "12:00:00.25 ESTAB").replace("\t cubic", "12:00:00.25 \t cubic");
        assert_eq!(read_text(&prefixed).unwrap().connections.len(), 1);
    }

    #[test]
    fn a_log_without_times_is_refused_with_the_remedy() {
        let error = read_text(FIRST_OUTPUT).unwrap_err().to_string();
        assert!(error.contains("no times") && error.contains("date +%s.%N"), "{error}");
        let error = read_text("State Recv-Q Send-Q Local\n").unwrap_err().to_string();
        assert!(error.contains("cwnd:"), "{error}");
    }
}
