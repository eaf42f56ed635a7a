//! Benchmark server: serves clients and counts.

use super::bench_arguments::{BenchOptions, BenchServerArguments};
use super::bench_socket::{bench_error, open_socket, process_cpu_time, transfer_counts};
use super::bench_streams::{MAX_DURATION, POLL_INTERVAL, Request, read_within, write_for};
use super::result_text::server_line;
use crate::console_output::{CommandResult, Console, Error};
use crate::performance_advice_text::Findings;
use crate::signal_flags::stop_flag_of_caller_or_signals;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thalweg_net::admission::close_after_finish;
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Clock, Connection, NetError, Socket};
use thalweg_net::performance_advice::Advisor;
use thalweg_net::session::{CloseReason, code};
use thalweg_proto::payload::Slice;

pub fn run_server(arguments: &BenchServerArguments, console: &Console) -> CommandResult {
    let (socket, identity) = open_socket(arguments.bind, &arguments.socket, Some(&console.registry))?;
    console.inform(&format!("listening on {}, key {}", socket.local(), identity.public()));
    let stop = stop_flag_of_caller_or_signals(console)?;
    let mut open: Vec<Connection> = Vec::new();
    let (results, finished) = mpsc::channel();
    let (mut active, mut served) = (0u32, 0u32);
    let work = Arc::new(CpuAccount::default());
    let longest = Duration::from_nanos(arguments.longest.as_picos() / 1000);
    // One client may make many connections.
    while !(arguments.once && served > 0 && active == 0) {
        if stop.load(Ordering::Relaxed) {
            let stopped = "the server was stopped";
            open.iter().for_each(|connection| connection.close(code::BUSY, stopped));
            open.iter().for_each(|connection| close_after_finish(connection, code::BUSY, stopped));
            return Ok(());
        }
        open.retain(|connection| connection.closed().is_none());
        if let Some(connection) = socket.accept_within(Duration::from_millis(100)).map_err(bench_error)? {
            // Refused connections must not delay the accounting of ended ones.
            if active >= arguments.connections {
                connection.close(code::BUSY, "there are too many connections; try again later");
            } else {
                let (remote, results, work) = (connection.remote(), results.clone(), Arc::clone(&work));
                let watch = connection.another_handle();
                let serving = move || {
                    // The receiver of results may be gone.
                    let _ = results.send((remote, serve_connection(connection, longest, &work)));
                };
                match std::thread::Builder::new().name("bench".into()).spawn(serving) {
                    Ok(_) => {
                        active += 1;
                        open.push(watch);
                    }
                    Err(error) => {
                        console.report_problem(&format!("{remote}: cannot be served: {error}"));
                        watch.close(code::BUSY, "the server cannot serve more connections");
                    }
                }
            }
        }
        for (remote, result) in finished.try_iter() {
            (active, served) = (active - 1, served + 1);
            match result {
                Ok(result) if arguments.json => console.print(&format!("{result}\n"))?,
                Ok(result) => {
                    console.print(&console.style.folded(&format!("{remote}: {}\n", server_line(&result))))?;
                }
                Err(error) => console.inform(&format!("{remote}: {error}")),
            }
        }
    }
    Ok(())
}

/// Byte count of the ended connections, and byte counters of the active ones. CPU time is measured per process and
/// divided among connections in proportion to their bytes.
#[derive(Default)]
struct CpuAccount(Mutex<(u64, Vec<Arc<AtomicU64>>)>);

impl CpuAccount {
    fn lock_connections(&self) -> MutexGuard<'_, (u64, Vec<Arc<AtomicU64>>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of all connections so far.
    fn carried_bytes(&self) -> u64 {
        let work = self.lock_connections();
        work.0 + work.1.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum::<u64>()
    }

    /// Registers a new connection.
    fn begin(&self) -> ConnectionAccount<'_> {
        let (bytes, carried) = (Arc::new(AtomicU64::new(0)), self.carried_bytes());
        self.lock_connections().1.push(Arc::clone(&bytes));
        ConnectionAccount {
            work: self,
            bytes,
            start_instant: Instant::now(),
            cpu: process_cpu_time(),
            carried,
        }
    }
}

/// Accounting of one connection until it ends.
struct ConnectionAccount<'a> {
    work: &'a CpuAccount,
    bytes: Arc<AtomicU64>,
    start_instant: Instant,
    /// CPU time of the process, and bytes of all connections, at its start.
    cpu: Duration,
    carried: u64,
}

impl ConnectionAccount<'_> {
    /// Returns its share of the CPU time since its start.
    fn cpu(&self) -> Duration {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let all = self.work.carried_bytes().saturating_sub(self.carried).max(bytes).max(1);
        (process_cpu_time() - self.cpu).mul_f64(bytes as f64 / all as f64)
    }
}

impl Drop for ConnectionAccount<'_> {
    fn drop(&mut self) {
        let mut work = self.work.lock_connections();
        work.0 += self.bytes.load(Ordering::Relaxed);
        work.1.retain(|one| !Arc::ptr_eq(one, &self.bytes));
    }
}

/// Serves one connection; sends for at most `longest`.
fn serve_connection(connection: Connection, longest: Duration, work: &CpuAccount) -> Result<Value, NetError> {
    let watch = connection.another_handle();
    let (mut send, mut receive) = connection.split();
    let mut request = [0; Request::LENGTH];
    std::io::Read::read_exact(&mut receive, &mut request).map_err(|_| NetError::Stopped)?;
    let request = Request::decode(request);
    let going = work.begin();
    let request = Request { time: request.time.min(longest), ..request };
    let mut findings = None;
    let never = AtomicBool::new(false);
    let (bytes, complete) = if request.reverse {
        let (written, advisor) =
            run_observed(&watch, || write_for(&mut send, request.time, &going.bytes, &never));
        findings = advisor.map(|advisor| Findings::from_advisor(&advisor));
        (written?, true)
    } else {
        match read_within(receive, request.time + request.grace(), &going.bytes, (&never, request.grace())) {
            Some(read) => (read?.0, true),
            None => (going.bytes.load(Ordering::Relaxed), false),
        }
    };
    going.bytes.store(bytes, Ordering::Relaxed);
    let mut result =
        transfer_counts(bytes, going.start_instant.elapsed(), going.cpu(), &watch.stats(), request.reverse);
    if let Some(findings) = findings {
        result["findings"] = findings.to_json();
    }
    result["complete"] = complete.into();
    let text = result.to_string();
    send.write_slice(Slice::new(text.as_bytes()))?;
    // Shorter than 4 GiB.
    send.write_slice(Slice::new((text.len() as u32).to_be_bytes()))?;
    match send.finish() {
        // The client stops waiting at a timeout, and reports its own count.
        Err(NetError::Closed(CloseReason::Peer { code: code::DONE, .. })) => {}
        finished => finished?,
    }
    watch.close(code::DONE, "");
    Ok(result)
}

/// Runs `work`, and returns observations of the path made meanwhile.
fn run_observed<T>(watch: &Connection, work: impl FnOnce() -> T) -> (T, Option<Advisor>) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let (clock, mut advisor) = (Clock::new(), Advisor::default());
            while !over.load(Ordering::Relaxed) {
                advisor.observe(clock.now(), &watch.stats());
                std::thread::sleep(POLL_INTERVAL);
            }
            advisor
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (done, observer.join().ok())
    })
}

/// Server of a benchmark without a remote endpoint: on loopback, in this process. It ends when this is dropped.
pub struct LoopbackServer {
    pub address: SocketAddr,
    pub key: PublicKey,
    has_ended: Arc<AtomicBool>,
}

impl LoopbackServer {
    /// Listens on a port chosen by the kernel.
    pub fn start(options: &BenchOptions, console: &Console) -> Result<Self, Error> {
        let bind = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (socket, identity) = open_socket(bind, &options.socket, Some(&console.registry))?;
        let (address, key) = (socket.local(), identity.public());
        let over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&over);
        let name = std::thread::Builder::new().name("bench here".into());
        name.spawn(move || accept_connection(&socket, &watched))
            .map_err(|error| Error::Failed(format!("no thread for the server: {error}")))?;
        Ok(Self { address, key, has_ended: over })
    }
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

/// Serves each connection on a thread of its own. Only the client of this process knows the port, and it reports
/// failures.
fn accept_connection(socket: &Socket, over: &AtomicBool) {
    let work = Arc::new(CpuAccount::default());
    while !over.load(Ordering::Relaxed) {
        match socket.accept_within(POLL_INTERVAL) {
            Ok(Some(connection)) => {
                let work = Arc::clone(&work);
                std::thread::spawn(move || serve_connection(connection, MAX_DURATION, &work));
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_time_of_the_processor_by_their_bytes() {
        let work = CpuAccount::default();
        let (first, second) = (work.begin(), work.begin());
        first.bytes.store(3_000, Ordering::Relaxed);
        second.bytes.store(1_000, Ordering::Relaxed);
        while process_cpu_time() - second.cpu < Duration::from_millis(2) {
            core::hint::spin_loop();
        }
        let (low, high) = (first.cpu(), (process_cpu_time() - first.cpu).mul_f64(0.75));
        assert!(low > Duration::from_millis(1) && low <= high, "{low:?} of {high:?}");
        // Bytes of other connections count even after those have ended.
        drop(second);
        let third = work.begin();
        third.bytes.store(500, Ordering::Relaxed);
        first.bytes.store(3_500, Ordering::Relaxed);
        assert_eq!((work.carried_bytes(), third.carried, work.lock_connections().1.len()), (5_000, 4_000, 2));
        assert!(third.cpu() <= (process_cpu_time() - third.cpu) / 2);
    }
}
