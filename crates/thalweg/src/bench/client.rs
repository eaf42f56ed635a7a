//! Benchmark client: requests a measurement and reports its results.

use super::bench_arguments::BenchOptions;
use super::bench_socket::{
    SERVICE, bench_error, open_socket, process_cpu_time, smoothed_rtt_seconds, transfer_counts,
};
use super::bench_streams::{MAX_DURATION, Request, parse_results_trailer, read_within, write_for};
use super::result_text::ClientResults;
use crate::console_output::{CommandResult, Console, Error};
use crate::performance_advice_text::{self, Findings};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::transfer_recording::Record;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, ConnectError, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Clock, ConnectFailure, Connection, NetError, connect_reachable};
use thalweg_net::performance_advice::Advisor;
use thalweg_net::session::{CloseReason, code};
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::Limit;

/// A client's server: the name given by the user, and the key if known.
pub struct Peer<'a> {
    pub name: &'a str,
    pub address: SocketAddr,
    pub key: Option<PublicKey>,
    /// True if the server runs in this process: CPU time then covers both endpoints.
    pub is_here: bool,
}

pub fn run_client(peer: &Peer, arguments: &BenchOptions, console: &Console) -> CommandResult {
    let remote = peer.address;
    let scheme = Scheme::read(&arguments.scheme, &console.registry).and_then(|scheme| scheme.at_rate(None));
    let scheme = scheme.map_err(|error| Error::of_scheme(&error))?;
    let trust = peer.key.map_or(Trust::Anyone, Trust::only);
    let bind: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let record = Record::new(arguments.record.as_deref())?;
    let (socket, _) = open_socket(SocketAddr::new(bind, 0), &arguments.socket, None)?;
    let recorder = record.as_ref().map(Record::recorder);
    let connect = Connect { remote, trust, service: SERVICE.to_owned(), scheme, recorder };
    let stop = stop_flag_of_caller_or_signals(console)?;
    let mut connections = Vec::new();
    for _ in 0..arguments.parallel.get() {
        let connection = connect_reachable(&socket, connect.clone(), &stop);
        connections.push(connection.map_err(|error| connect_error(peer.name, &error))?);
    }
    if peer.key.is_none()
        && let Some(connection) = connections.first()
    {
        console.inform(&format!("the server has the key {}, which was not checked", connection.peer()));
    }
    let millis = arguments.time.as_picos() / 1_000_000_000;
    let request =
        Request { reverse: arguments.reverse, time: Duration::from_millis(millis).min(MAX_DURATION) };
    let (started, cpu_before) = (Instant::now(), process_cpu_time());
    let progress: Vec<_> = connections.iter().map(|_| Arc::new(AtomicU64::new(0))).collect();
    let watches: Vec<_> = connections.iter().map(Connection::another_handle).collect();
    let threads: Vec<_> = connections
        .into_iter()
        .zip(&progress)
        .map(|(connection, progress)| {
            let (progress, stop) = (Arc::clone(progress), Arc::clone(&stop));
            std::thread::spawn(move || measure_connection(connection, request, &progress, &stop))
        })
        .collect();
    let printed = arguments.json_lines.then_some(console);
    let sends = !arguments.reverse;
    let advisor = monitor_connections((printed, sends), started, &progress, &watches, || {
        threads.iter().all(std::thread::JoinHandle::is_finished)
    })?;
    let mut each = Vec::new();
    for thread in threads {
        let result = thread.join().map_err(|_| Error::Failed("a thread panicked".into()))?;
        each.push(result.map_err(bench_error)?);
    }
    let bytes = each.iter().map(|result| result.bytes).sum();
    let time = each.iter().map(|result| result.time).max().unwrap_or_default();
    let total =
        watches.iter().map(Connection::stats).reduce(|sum, other| sum.and(&other)).unwrap_or_default();
    let here = transfer_counts(bytes, time, process_cpu_time() - cpu_before, &total, !arguments.reverse);
    if let Some(record) = record {
        record.finish(console)?;
    }
    let mut here = here;
    here["cpu_of_both_ends"] = peer.is_here.into();
    let missing = each.iter().map(|result| result.missing_bytes).sum::<Option<u64>>();
    let is_unknown = !arguments.reverse && missing.is_none();
    if is_unknown {
        // Written bytes do not show how many arrived.
        here["bits_per_second"] = Value::Null;
    }
    here["not_arrived_bytes"] = json!(missing);
    let there: Vec<_> = each.iter().map(|result| result.server.clone()).collect();
    // Only a sender observes the path.
    let findings = match (arguments.reverse, there.first()) {
        (false, _) => Some(Findings::from_advisor(&advisor)),
        (true, server) => server.and_then(|server| Findings::from_json(&server["findings"])),
    };
    let advice =
        findings.and_then(|findings| performance_advice_text::findings_text(&findings, &connect.scheme));
    let is_interrupted = stop.load(Ordering::Relaxed);
    let run_end = if is_interrupted {
        Err(Error::Lost("interrupted: the results cover the time until then".to_owned()))
    } else if is_unknown {
        Err(Error::Lost(format!("{}: no results: how much of the data arrived is unknown", peer.name)))
    } else {
        Ok(())
    };
    let (_, udp) = socket.stats();
    let received: Option<f64> = if arguments.reverse {
        here["bits_per_second"].as_f64()
    } else {
        there.iter().map(|server| server["bits_per_second"].as_f64()).sum()
    };
    let document = json!({
        "scheme": connect.scheme.to_string(),
        "server": remote.to_string(),
        "direction": if arguments.reverse { "from the server" } else { "to the server" },
        "parallel": arguments.parallel,
        "received_bits_per_second": received,
        "interrupted": is_interrupted,
        "client": here,
        "advice": advice,
        "servers": there,
        "calls": {
            "sends": udp.sends, "datagrams_sent": udp.datagrams_sent,
            "receives": udp.receives, "datagrams_received": udp.datagrams_received,
        },
    });
    if arguments.json_lines {
        console.print(&format!("{document}\n"))?;
        return run_end;
    }
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Error::Failed(error.to_string()))?;
        console.print(&format!("{text}\n"))?;
        return run_end;
    }
    let client_results = ClientResults {
        client_results: &here,
        server_results: &there,
        excess_time: time.saturating_sub(request.time),
        advice: advice.as_deref(),
    };
    console.print(&console.style.folded(&client_results.text()))?;
    run_end
}

/// Measurements of one connection.
struct ConnectionMeasurements {
    bytes: u64,
    time: Duration,
    /// Bytes written but not received at the end of the measurement; `None` if unknown.
    missing_bytes: Option<u64>,
    /// The server's results; null if it did not answer in time.
    server: Value,
}

fn measure_connection(
    connection: Connection,
    request: Request,
    progress: &Arc<AtomicU64>,
    stop: &Arc<AtomicBool>,
) -> Result<ConnectionMeasurements, NetError> {
    let watch = connection.another_handle();
    let (mut send, receive) = connection.split();
    let started = Instant::now();
    send.write_slice(Slice::new(request.encode()))?;
    let no_answer = NetError::Stopped;
    if request.reverse {
        // On a bad path the server may have the request long before this endpoint gets the acknowledgement. If it does
        // not get it, the reader fails.
        std::thread::spawn(move || send.finish());
        // Data in flight still has to arrive, followed by the server's results.
        let max = request.time + 3 * request.grace();
        let read = read_within(receive, max, progress, (stop, Duration::ZERO));
        let time = started.elapsed();
        let Some(read) = read else {
            watch.close(code::DONE, "");
            let bytes = progress.load(Ordering::Relaxed);
            return Ok(ConnectionMeasurements { bytes, time, missing_bytes: None, server: Value::Null });
        };
        let (bytes, tail) = read?;
        let (server, length) = parse_results_trailer(&tail).ok_or(no_answer)?;
        return Ok(ConnectionMeasurements { bytes: bytes - length, time, missing_bytes: Some(0), server });
    }
    let (done, written) = mpsc::channel();
    let (counter, stopped) = (Arc::clone(progress), Arc::clone(stop));
    std::thread::spawn(move || {
        let result = write_for(&mut send, request.time, &counter, &stopped).and_then(|_| send.finish());
        // The receiver is gone if the time is already over.
        let _ = done.send(result.map(|()| started.elapsed()));
    });
    // The server answers after its time and grace period; its answer may need retransmission.
    let timeout = request.time + 3 * request.grace();
    let answer = read_within(receive, timeout, &Arc::new(AtomicU64::new(0)), (stop, 3 * request.grace()));
    let time = written.try_recv().ok().and_then(Result::ok).unwrap_or_else(|| started.elapsed());
    watch.close(code::DONE, "");
    let bytes = progress.load(Ordering::Relaxed);
    let server = match answer {
        Some(answer) => parse_results_trailer(&answer?.1).ok_or(no_answer)?.0,
        None => Value::Null,
    };
    let missing = server["bytes"].as_u64().map(|arrived| bytes.saturating_sub(arrived));
    Ok(ConnectionMeasurements { bytes, time, missing_bytes: missing, server })
}

/// Monitors the first connection until the end, and prints one record per second if requested.
fn monitor_connections(
    (console, sends): (Option<&Console>, bool),
    started: Instant,
    progress: &[Arc<AtomicU64>],
    watches: &[Connection],
    is_over: impl Fn() -> bool,
) -> Result<Advisor, Error> {
    let (clock, mut advisor) = (Clock::new(), Advisor::default());
    let mut last = 0;
    let mut seconds = 1;
    while !is_over() {
        if let Some(first) = watches.first() {
            advisor.observe(clock.now(), &first.stats());
        }
        let next = started + Duration::from_secs(seconds);
        if Instant::now() < next {
            std::thread::sleep((next - Instant::now()).min(Duration::from_millis(50)));
            continue;
        }
        let Some(console) = console else {
            seconds += 1;
            continue;
        };
        let bytes: u64 = progress.iter().map(|progress| progress.load(Ordering::Relaxed)).sum();
        let stats =
            watches.iter().map(Connection::stats).reduce(|sum, other| sum.and(&other)).unwrap_or_default();
        let record = json!({
            "second": seconds,
            "bytes": bytes - last,
            "retransmissions": stats.sending.sender.retransmissions,
            "window_packets": stats.sending.sender.window,
            "smoothed_rtt_seconds": smoothed_rtt_seconds(&stats, sends),
            "limited_by": stats.limit.map(Limit::name),
        });
        console.print(&format!("{record}\n"))?;
        last = bytes;
        seconds += 1;
    }
    Ok(advisor)
}

/// Returns the error for a failed connection: temporary if no server answered, permanent if an unsuitable one did.
fn connect_error(server: &str, why: &ConnectFailure) -> Error {
    match why {
        ConnectFailure::Stopped => Error::Lost(format!("{server}: interrupted before a response")),
        ConnectFailure::Refused => Error::Lost(format!("{server}: no response; nothing listens there")),
        ConnectFailure::Net(error) => {
            let what = format!("{server}: {error}");
            let is_busy = matches!(error, NetError::Closed(CloseReason::Peer { code: code::BUSY, .. }));
            let is_lost = matches!(
                error,
                NetError::Connect(
                    ConnectError::NoAnswer | ConnectError::Unsendable(_) | ConnectError::PathMtuTooSmall
                )
            ) || is_busy;
            if is_lost { Error::Lost(what) } else { Error::Failed(what) }
        }
    }
}
