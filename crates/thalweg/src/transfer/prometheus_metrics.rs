//! `--metrics`: counters for Prometheus, in its text format (version 0.0.4), over HTTP.
//!
//! The format is lines of names and numbers, which needs no library.

use super::metrics_http;
use crate::console_output::{Console, Error};
use crate::value_parsers::socket_address;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_net::endpoint::EndpointStats;
use thalweg_net::session::{COUNTERS, EcnState, SessionStats};
use thalweg_net::transfer::{FaultKind, Progress, TransferOutcome};

/// Parses the listening address: a port of the loopback address, or an address with a port.
pub fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    socket_address(text)
}

/// Counters of all transfers of a process.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    begun_transfers: u64,
    open_transfers: BTreeMap<u64, Sample>,
    /// Totals of ended transfers.
    ended_totals: Sample,
    endpoint: EndpointStats,
    /// Number of ended transfers, by result.
    results: BTreeMap<&'static str, u64>,
    /// Number of failed files, by kind of failure.
    failures: BTreeMap<&'static str, u64>,
    denied: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    stats: SessionStats,
    bytes_moved: u64,
}

/// A counted transfer; dropping it counts it as ended.
#[derive(Debug)]
pub struct CountedTransfer {
    metrics: Arc<Metrics>,
    number: u64,
}

impl Metrics {
    /// Starts serving metrics at this address; does nothing without one.
    pub fn begin(address: Option<SocketAddr>, console: &Console) -> Result<Option<Arc<Self>>, Error> {
        let Some(address) = address else { return Ok(None) };
        let cannot = |error| Error::Failed(format!("cannot use {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let local = listener.local_addr().map_err(cannot)?;
        let metrics = Arc::new(Self::default());
        let answers = Arc::clone(&metrics);
        let serve = move || metrics_http::serve_metrics(&listener, "/metrics", || answers.lock().text());
        std::thread::Builder::new().name("metrics".to_owned()).spawn(serve).map_err(cannot)?;
        console.inform(&format!("Metrics at http://{local}/metrics"));
        Ok(Some(metrics))
    }

    /// Counts one more transfer.
    pub fn count(self: &Arc<Self>) -> CountedTransfer {
        let mut state = self.lock();
        state.begun_transfers += 1;
        let number = state.begun_transfers;
        state.open_transfers.insert(number, Sample::default());
        CountedTransfer { metrics: Arc::clone(self), number }
    }

    /// Updates the socket's counters.
    pub fn endpoint(&self, stats: EndpointStats) {
        self.lock().endpoint = stats;
    }

    /// Counts an ended transfer.
    pub fn end(&self, outcome: &TransferOutcome) {
        let mut state = self.lock();
        *state.results.entry(super::transfer_summary::result_name(outcome)).or_default() += 1;
        for failure in &outcome.report.failures {
            *state.failures.entry(failure.fault.kind.name()).or_default() += 1;
        }
        // Beyond the first thousand failures only the number is known.
        let others = outcome.report.failed - outcome.report.failures.len() as u64;
        if others > 0 {
            *state.failures.entry("other").or_default() += others;
        }
    }

    /// Updates the number of rejected senders.
    pub fn denied(&self, count: u64) {
        self.lock().denied = count;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each number is consistent on its own, even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CountedTransfer {
    /// Updates the counters of the transfer.
    pub fn update(&self, stats: SessionStats, progress: &Progress) {
        let sample = Sample { stats, bytes_moved: progress.moved().get() };
        self.metrics.lock().open_transfers.insert(self.number, sample);
    }
}

impl Drop for CountedTransfer {
    fn drop(&mut self) {
        let mut state = self.metrics.lock();
        if let Some(sample) = state.open_transfers.remove(&self.number) {
            state.ended_totals = state.ended_totals.and(&sample);
        }
    }
}

impl Sample {
    /// Returns the sum of all counters of two samples.
    fn and(mut self, other: &Self) -> Self {
        self.stats = self.stats.and(&other.stats);
        self.bytes_moved += other.bytes_moved;
        self
    }
}

impl State {
    fn text(&self) -> String {
        let all = self.open_transfers.values().fold(self.ended_totals, Sample::and);
        let of_server = [
            ("transfers_total", "counter", "Transfers begun.", self.begun_transfers),
            ("transfers_open", "gauge", "Open transfers.", self.open_transfers.len() as u64),
            ("transferred_bytes_total", "counter", "Bytes of files moved.", all.bytes_moved),
            ("handshakes_total", "counter", "Handshakes begun by clients.", self.endpoint.handshakes),
            (
                "handshakes_dropped_total",
                "counter",
                "Handshakes dropped for lack of capacity.",
                self.endpoint.dropped,
            ),
            (
                "handshakes_forged_total",
                "counter",
                "Handshake messages that were not authentic.",
                self.endpoint.forged,
            ),
            ("senders_denied_total", "counter", "Senders that were denied admission.", self.denied),
            (
                "unrecognised_datagrams_total",
                "counter",
                "Datagrams that belong to no connection.",
                self.endpoint.unrecognised,
            ),
        ];
        let of_sessions =
            COUNTERS.iter().map(|one| (one.metric, "counter", one.about, one.value_in(&all.stats)));
        let metrics = of_server.into_iter().chain(of_sessions);
        let mut text = String::new();
        for (name, kind, help, value) in metrics {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP thalweg_{name} {help}\n# TYPE thalweg_{name} {kind}\nthalweg_{name} {value}"
            );
        }
        text.push_str("# HELP thalweg_transfers_ended_total Ended transfers, by result.\n");
        text.push_str("# TYPE thalweg_transfers_ended_total counter\n");
        for result in super::transfer_summary::RESULTS {
            let count = self.results.get(result).copied().unwrap_or(0);
            let _ = writeln!(text, "thalweg_transfers_ended_total{{result=\"{result}\"}} {count}");
        }
        text.push_str("# HELP thalweg_failed_files_total Failed files and folders, by cause.\n");
        text.push_str("# TYPE thalweg_failed_files_total counter\n");
        for cause in FaultKind::names().chain(["other"]) {
            let count = self.failures.get(cause).copied().unwrap_or(0);
            let _ = writeln!(text, "thalweg_failed_files_total{{cause=\"{cause}\"}} {count}");
        }
        text.push_str("# HELP thalweg_ecn Open transfers, by ECN state.\n");
        text.push_str("# TYPE thalweg_ecn gauge\n");
        for ecn in EcnState::ALL {
            let count = self.open_transfers.values().filter(|sample| sample.stats.ecn == ecn).count();
            let _ = writeln!(text, "thalweg_ecn{{state=\"{}\"}} {count}", ecn.name());
        }
        text.push_str("# HELP thalweg_rtt_seconds Round-trip time of an open transfer.\n");
        text.push_str("# TYPE thalweg_rtt_seconds gauge\n");
        for (number, sample) in &self.open_transfers {
            if let Some(rtt) = sample.stats.rtt() {
                let _ = writeln!(text, "thalweg_rtt_seconds{{transfer=\"{number}\"}} {}", rtt.as_secs_f64());
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_net::flow::FlowStats;

    #[test]
    fn a_port_alone_is_one_of_this_host() {
        assert_eq!(parse_listen_address("9100"), Ok("127.0.0.1:9100".parse().unwrap()));
        assert_eq!(parse_listen_address("0.0.0.0:9100"), Ok("0.0.0.0:9100".parse().unwrap()));
        assert!(parse_listen_address("everywhere").is_err());
    }

    #[test]
    fn counters_stay_when_transfers_end() {
        let metrics = Arc::new(Metrics::default());
        let value = |name: &str| {
            let text = metrics.lock().text();
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("thalweg_{name} ")).map(str::to_owned));
            line.unwrap().parse::<u64>().unwrap()
        };
        let sending = FlowStats { mark_cuts: 2, ..FlowStats::default() };
        let stats = SessionStats {
            packets_sent: 5,
            bytes_sent: 70,
            ecn: EcnState::Capable,
            marked: 3,
            sending,
            ..SessionStats::default()
        };
        for open in 1..=3 {
            let counted = metrics.count();
            counted.update(stats, &Progress::new());
            counted.update(stats, &Progress::new());
            assert_eq!((value("transfers_open"), value("transfers_total")), (1, open));
            assert_eq!(value("ecn{state=\"capable\"}"), 1);
            assert_eq!((value("marked_packets_total"), value("mark_cuts_total")), (3 * open, 2 * open));
            assert_eq!((value("sent_packets_total"), value("sent_bytes_total")), (5 * open, 70 * open));
        }
        assert_eq!((value("transfers_open"), value("sent_packets_total")), (0, 15));
    }
}
