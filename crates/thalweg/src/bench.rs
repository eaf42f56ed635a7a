//! `thalweg bench`: how fast a path is, from memory to memory.
//!
//! A client's stream begins with a [`Request`]. The stream of data, whichever end sends it, is finished when the time is
//! over; the server's stream ends with what the server has counted, as JSON, and its length in 4 bytes.

use crate::advice;
use crate::console::{Console, Done, Error};
use crate::interrupt::interruptible;
use crate::record::Record;
use crate::transfer::close;
use crate::transfer::reach::{Unreached, reach};
use crate::values::{bytes, place, resolve, seconds};
use clap::{Args, Subcommand};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use thalweg_catalog::Registry;
use thalweg_net::advice::Advisor;
use thalweg_net::endpoint::{Connect, ConnectError, EndpointConfig, Listen, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::identity::{Identity, SystemEntropy};
use thalweg_net::live::{Clock, Connection, NetError, Offload, RecvStream, SendStream, Socket, SocketConfig};
use thalweg_net::session::{COUNTERS, Closed, SessionConfig, SessionStats, code};
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{self, Bytes};
use thalweg_report::output;

/// `thalweg bench`.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Wait for clients
    Server(BenchServerArguments),
    /// Send to a server, or receive from it
    Client(BenchClientArguments),
}

/// `thalweg bench server`.
#[derive(Debug, Args)]
pub struct BenchServerArguments {
    /// Where to listen
    #[arg(value_name = "[ADDRESS:]PORT", default_value = "[::]:4747", value_parser = place)]
    pub bind: SocketAddr,
    /// Stop after one client
    #[arg(long)]
    pub once: bool,
    /// Send to a client for no longer than this, whatever it asks for
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = seconds)]
    pub longest: units::Duration,
    /// Serve so many connections at a time; more are refused
    #[arg(long, value_name = "N", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub connections: u32,
    /// The options of the socket.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document a client in place of text
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg bench client`.
#[derive(Debug, Args)]
pub struct BenchClientArguments {
    /// The server
    #[arg(value_name = "HOST[:PORT]")]
    pub server: String,
    /// How bytes are moved: a scheme, and options of it ("cubic:initial-window=20pkt")
    #[arg(long, value_name = "SCHEME", default_value = "cubic")]
    pub scheme: String,
    /// For how long
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = seconds)]
    pub time: units::Duration,
    /// Receive from the server in place of sending to it
    #[arg(long)]
    pub reverse: bool,
    /// So many connections at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub parallel: u32,
    /// The server's key, which it prints; without, any server is believed
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Record what the sender sees of the path, as qlog, for `thalweg infer`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reverse", "parallel"])]
    pub record: Option<PathBuf>,
    /// The options of the socket.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document in place of text
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print one JSON record a line: one a second, and the results
    #[arg(long)]
    pub json_lines: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The options of a benchmark's socket.
#[derive(Debug, Args)]
pub struct BenchSocket {
    /// Send and receive datagrams one by one, as on a host without offloads
    #[arg(long)]
    pub no_offload: bool,
    /// The largest datagram in bytes; the path is searched for it
    #[arg(long, value_name = "SIZE", default_value = "65507 B", value_parser = bytes)]
    pub datagram: Bytes,
    /// What is asked of the system for each of the socket's buffers
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = bytes)]
    pub buffer: Bytes,
    /// What may wait to be read, which bounds what is on the way; without, 16 MiB at first, and up to 64 MiB where the path
    /// takes it
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<Bytes>,
}

/// The name under which servers are asked for.
const SERVICE: &str = "bench";

/// The bytes that are written at once. The same ones are sent again and again, as a file in the page cache would be.
const PIECE: usize = 1 << 18;

/// A client that takes longer than asked for by more than this says so.
const LATE: Duration = Duration::from_millis(500);

/// No client may ask for more.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Measures, or helps somebody to.
pub fn bench(what: &Bench, console: &Console) -> Done {
    match what {
        Bench::Server(arguments) => server(arguments, console),
        Bench::Client(arguments) => client(arguments, console),
    }
}

/// A client's request: 1 byte, 1 for data from the server; 8 bytes, the time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    reverse: bool,
    time: Duration,
}

impl Request {
    const LENGTH: usize = 9;

    /// The time in which what is on its way at the end may still arrive: a second, or a tenth of the time if that is
    /// longer.
    fn grace(self) -> Duration {
        (self.time / 10).max(Duration::from_secs(1))
    }

    fn encode(self) -> [u8; Self::LENGTH] {
        let mut bytes = [u8::from(self.reverse); Self::LENGTH];
        let millis = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        bytes[1..].copy_from_slice(&millis.to_be_bytes());
        bytes
    }

    fn decode(bytes: [u8; Self::LENGTH]) -> Self {
        let mut millis = [0; 8];
        millis.copy_from_slice(&bytes[1..]);
        let time = Duration::from_millis(u64::from_be_bytes(millis)).min(LONGEST);
        Self { reverse: bytes[0] == 1, time }
    }
}

/// The processor time that this process has used.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither is negative.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A socket that listens if there is a registry of what clients may choose.
fn socket(
    bind: SocketAddr,
    arguments: &BenchSocket,
    registry: Option<&Arc<Registry>>,
) -> Result<(Socket, Identity), Error> {
    let identity = Identity::generate(&mut SystemEntropy::new());
    let largest = u16::try_from(arguments.datagram.get()).ok().filter(|size| (1200..=65_507).contains(size));
    let largest =
        largest.ok_or_else(|| Error::Usage("--datagram must be between 1200 B and 65507 B".into()))?;
    let listen =
        registry.map(|registry| Listen::new(Trust::Anyone, [SERVICE]).of_registry(Arc::clone(registry)));
    let endpoint = EndpointConfig {
        listen,
        largest,
        session: match arguments.memory.map(|memory| memory.get().max(1 << 16)) {
            Some(memory) => SessionConfig { memory, most_memory: memory, ..SessionConfig::default() },
            None => SessionConfig::default(),
        },
        ..EndpointConfig::client(identity.clone())
    };
    let offload = if arguments.no_offload { Offload::None } else { Offload::Auto };
    let config = SocketConfig { buffer: arguments.buffer, offload, ..SocketConfig::new(bind, endpoint) };
    let socket =
        Socket::bind(config).map_err(|error| Error::Failed(format!("cannot listen on {bind}: {error}")))?;
    Ok((socket, identity))
}

// The server.

fn server(arguments: &BenchServerArguments, console: &Console) -> Done {
    let (socket, identity) = socket(arguments.bind, &arguments.socket, Some(&console.registry))?;
    console.say(&format!("listening on {}, key {}", socket.local(), identity.public()));
    let stop = interruptible()?;
    let mut open: Vec<Connection> = Vec::new();
    let (results, finished) = mpsc::channel();
    let (mut active, mut served) = (0u32, 0u32);
    let longest = Duration::from_nanos(arguments.longest.as_picos() / 1000);
    // One client may make many connections.
    while !(arguments.once && served > 0 && active == 0) {
        if stop.load(Ordering::Relaxed) {
            let stopped = "the server was stopped";
            open.iter().for_each(|connection| connection.close(code::BUSY, stopped));
            open.iter().for_each(|connection| close(connection, code::BUSY, stopped));
            return Ok(());
        }
        open.retain(|connection| connection.closed().is_none());
        if let Some(connection) = socket.accept_within(Duration::from_millis(100)).map_err(failed)? {
            // Those that are refused must not keep those that have ended from being counted out.
            if active >= arguments.connections {
                connection.close(code::BUSY, "there are too many connections; try again later");
            } else {
                let (remote, results) = (connection.remote(), results.clone());
                let watch = connection.another();
                let serving = move || {
                    // Whoever waits for results may have stopped.
                    let _ = results.send((remote, serve(connection, longest)));
                };
                match std::thread::Builder::new().name("bench".into()).spawn(serving) {
                    Ok(_) => {
                        active += 1;
                        open.push(watch);
                    }
                    Err(error) => {
                        console.complain(&format!("{remote}: cannot be served: {error}"));
                        watch.close(code::BUSY, "the server cannot serve more connections");
                    }
                }
            }
        }
        for (remote, result) in finished.try_iter() {
            (active, served) = (active - 1, served + 1);
            match result {
                Ok(result) if arguments.json => console.print(&format!("{result}\n"))?,
                Ok(result) => console.print(&format!("{remote}: {}\n", line(&result)))?,
                Err(error) => console.say(&format!("{remote}: {error}")),
            }
        }
    }
    Ok(())
}

/// Serves one connection; sends for `longest` at most.
fn serve(connection: Connection, longest: Duration) -> Result<Value, NetError> {
    let watch = connection.another();
    let (mut send, mut receive) = connection.split();
    let mut request = [0; Request::LENGTH];
    std::io::Read::read_exact(&mut receive, &mut request).map_err(|_| NetError::Stopped)?;
    let request = Request::decode(request);
    let (started, cpu_before) = (Instant::now(), cpu());
    let request = Request { time: request.time.min(longest), ..request };
    let (bytes, complete) = if request.reverse {
        (write_for(&mut send, request.time, &AtomicU64::new(0))?, true)
    } else {
        let progress = Arc::new(AtomicU64::new(0));
        match read_within(receive, request.time + request.grace(), &progress) {
            Some(read) => (read?.0, true),
            None => (progress.load(Ordering::Relaxed), false),
        }
    };
    let mut result = counted(bytes, started.elapsed(), cpu() - cpu_before, &watch.stats());
    result["complete"] = complete.into();
    let text = result.to_string();
    send.write_slice(Slice::new(text.as_bytes()))?;
    // Shorter than 4 GiB.
    send.write_slice(Slice::new((text.len() as u32).to_be_bytes()))?;
    match send.finish() {
        // The client does not wait for ever, and says itself what had come by then.
        Err(NetError::Closed(Closed::Peer { code: code::DONE, .. })) => {}
        finished => finished?,
    }
    watch.close(code::DONE, "");
    Ok(result)
}

/// Writes for so long; how many bytes.
fn write_for(send: &mut SendStream, time: Duration, progress: &AtomicU64) -> Result<u64, NetError> {
    let piece = Slice::new((0..PIECE).map(|at| at as u8).collect::<Vec<_>>());
    let started = Instant::now();
    let mut bytes = 0;
    while started.elapsed() < time {
        send.write_slice(piece.clone())?;
        bytes += PIECE as u64;
        progress.store(bytes, Ordering::Relaxed);
    }
    Ok(bytes)
}

/// Reads to the end, but no longer than `time`; `None` where that was not enough. Whoever reads on ends with the connection.
fn read_within(
    mut receive: RecvStream,
    time: Duration,
    progress: &Arc<AtomicU64>,
) -> Option<Result<(u64, Vec<u8>), NetError>> {
    let (done, finished) = mpsc::channel();
    let progress = Arc::clone(progress);
    std::thread::spawn(move || {
        // Nobody may wait any more.
        let _ = done.send(receive.read_tail(TAIL, &progress));
    });
    finished.recv_timeout(time).ok()
}

/// The bytes that are kept of the end of a stream; what a server counts takes less.
const TAIL: usize = 2048;

/// The server's counts, and the number of the bytes that say them.
fn trailer(tail: &[u8]) -> Option<(Value, u64)> {
    let (text, length) = tail.split_last_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let text = text.get(text.len().checked_sub(length)?..)?;
    Some((serde_json::from_slice(text).ok()?, length as u64 + 4))
}

fn counted(bytes: u64, time: Duration, cpu: Duration, stats: &SessionStats) -> Value {
    let seconds = time.as_secs_f64();
    let gigabytes = bytes as f64 / 1e9;
    let mut limits = serde_json::Map::new();
    for limit in Limit::ALL {
        let share = stats.sending.sender.limits[limit.index()].as_secs_f64();
        if share > 0.0 {
            limits.insert(limit.name().to_owned(), json!(share));
        }
    }
    let mut result = json!({
        "bytes": bytes,
        "seconds": seconds,
        "bits_per_second": if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
        "cpu_seconds": cpu.as_secs_f64(),
        "cpu_seconds_per_gigabyte": if bytes > 0 { cpu.as_secs_f64() / gigabytes } else { 0.0 },
        "datagram_bytes": stats.datagram,
        "ecn": stats.ecn.name(),
        "smoothed_rtt_seconds": stats.sending.sender.smoothed_rtt.map(thalweg_proto::units::Duration::as_secs_f64),
        "limited_by_seconds": limits,
    });
    for counter in COUNTERS {
        debug_assert!(result.get(counter.name).is_none(), "{} is there already", counter.name);
        result[counter.name] = json!(counter.of(stats));
    }
    result
}

// The client.

fn client(arguments: &BenchClientArguments, console: &Console) -> Done {
    let remote = resolve(&arguments.server)?;
    let scheme = Scheme::read(&arguments.scheme, &console.registry).and_then(|scheme| scheme.at_rate(None));
    let scheme = scheme.map_err(|error| Error::Usage(error.to_string()))?;
    let trust = match &arguments.key {
        Some(key) => Trust::only(key.parse().map_err(|error| Error::Usage(format!("--key: {error}")))?),
        None => Trust::Anyone,
    };
    let bind: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let record = Record::new(arguments.record.as_deref())?;
    let (socket, _) = socket(SocketAddr::new(bind, 0), &arguments.socket, None)?;
    let recorder = record.as_ref().map(Record::recorder);
    let connect = Connect { remote, trust, service: SERVICE.to_owned(), scheme, recorder };
    let mut connections = Vec::new();
    for _ in 0..arguments.parallel {
        let connection = reach(&socket, connect.clone(), &AtomicBool::new(false));
        connections.push(connection.map_err(|error| unreached(&arguments.server, &error))?);
    }
    if arguments.key.is_none()
        && let Some(connection) = connections.first()
    {
        console.say(&format!("the server has the key {}, which was not checked", connection.peer()));
    }
    let millis = arguments.time.as_picos() / 1_000_000_000;
    let request = Request { reverse: arguments.reverse, time: Duration::from_millis(millis).min(LONGEST) };
    let (started, cpu_before) = (Instant::now(), cpu());
    let progress: Vec<_> = connections.iter().map(|_| Arc::new(AtomicU64::new(0))).collect();
    let watches: Vec<_> = connections.iter().map(Connection::another).collect();
    let threads: Vec<_> = connections
        .into_iter()
        .zip(&progress)
        .map(|(connection, progress)| {
            let progress = Arc::clone(progress);
            std::thread::spawn(move || measure(connection, request, &progress))
        })
        .collect();
    let printed = arguments.json_lines.then_some(console);
    let advisor = watch(printed, started, &progress, &watches, || {
        threads.iter().all(std::thread::JoinHandle::is_finished)
    })?;
    let advice = advice::words(&advisor, &connect.scheme);
    let mut each = Vec::new();
    for thread in threads {
        let result = thread.join().map_err(|_| Error::Failed("a thread panicked".into()))?;
        each.push(result.map_err(failed)?);
    }
    let bytes = each.iter().map(|result| result.bytes).sum();
    let time = each.iter().map(|result| result.time).max().unwrap_or_default();
    let total =
        watches.iter().map(Connection::stats).reduce(|sum, other| sum.and(&other)).unwrap_or_default();
    let here = counted(bytes, time, cpu() - cpu_before, &total);
    if let Some(record) = record {
        record.finish(console)?;
    }
    let mut here = here;
    here["not_arrived_bytes"] = json!(each.iter().map(|result| result.missing).sum::<Option<u64>>());
    let there: Vec<_> = each.iter().map(|result| result.server.clone()).collect();
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
        "client": here,
        "advice": advice,
        "servers": there,
        "calls": {
            "sends": udp.sends, "datagrams_sent": udp.datagrams_sent,
            "receives": udp.receives, "datagrams_received": udp.datagrams_received,
        },
    });
    if arguments.json_lines {
        return console.print(&format!("{document}\n"));
    }
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Error::Failed(error.to_string()))?;
        return console.print(&format!("{text}\n"));
    }
    let missing = here["not_arrived_bytes"].as_u64().filter(|missing| *missing > 0);
    let client = match missing {
        // What was written is no measure of what arrived.
        Some(_) => format!("client: {} written{}\n", Bytes::new(bytes), effort(&here)),
        None => format!("client: {}\n", line(&here)),
    };
    let mut text = if missing.is_none() { client.clone() } else { String::new() };
    for server in &there {
        if server.is_null() {
            text.push_str("server: did not answer in time\n");
        } else {
            let _ = writeln!(text, "server: {}", line(server));
        }
    }
    if let Some(missing) = missing {
        text.push_str(&client);
        let _ = writeln!(
            text,
            "{} of what was written had not arrived when the time was over.",
            Bytes::new(missing)
        );
    }
    let more = time.saturating_sub(request.time);
    if more > LATE {
        let _ = writeln!(
            text,
            "It took {:.1} s more than asked for, until what was on its way had arrived or was given up.",
            more.as_secs_f64()
        );
    }
    if let Some(advice) = advice {
        let _ = writeln!(text, "Note: {advice}.");
    }
    console.print(&text)
}

/// The measurements of one connection.
struct Measured {
    bytes: u64,
    time: Duration,
    /// The bytes that had been written and had not arrived when the time was over; `None` where that is not known.
    missing: Option<u64>,
    /// Null where it did not answer in time.
    server: Value,
}

fn measure(
    connection: Connection,
    request: Request,
    progress: &Arc<AtomicU64>,
) -> Result<Measured, NetError> {
    let watch = connection.another();
    let (mut send, receive) = connection.split();
    let started = Instant::now();
    send.write_slice(Slice::new(request.encode()))?;
    let no_answer = NetError::Stopped;
    if request.reverse {
        send.finish()?;
        let read = read_within(receive, request.time + request.grace(), progress);
        let time = started.elapsed();
        let Some(read) = read else {
            watch.close(code::DONE, "");
            let bytes = progress.load(Ordering::Relaxed);
            return Ok(Measured { bytes, time, missing: None, server: Value::Null });
        };
        let (bytes, tail) = read?;
        let (server, length) = trailer(&tail).ok_or(no_answer)?;
        return Ok(Measured { bytes: bytes - length, time, missing: Some(0), server });
    }
    let (done, written) = mpsc::channel();
    let counter = Arc::clone(progress);
    std::thread::spawn(move || {
        let result = write_for(&mut send, request.time, &counter).and_then(|_| send.finish());
        // Nobody waits where the time was over before.
        let _ = done.send(result.map(|()| started.elapsed()));
    });
    // The server answers when its time and grace are over, and its answer may have to be repeated.
    let patience = request.time + 3 * request.grace();
    let answer = read_within(receive, patience, &Arc::new(AtomicU64::new(0)));
    let time = written.try_recv().ok().and_then(Result::ok).unwrap_or_else(|| started.elapsed());
    watch.close(code::DONE, "");
    let bytes = progress.load(Ordering::Relaxed);
    let server = match answer {
        Some(answer) => trailer(&answer?.1).ok_or(no_answer)?.0,
        None => Value::Null,
    };
    let missing = server["bytes"].as_u64().map(|arrived| bytes.saturating_sub(arrived));
    Ok(Measured { bytes, time, missing, server })
}

/// Watches what the first of the connections learns of the path until all is over, and prints a record a second if wanted.
fn watch(
    console: Option<&Console>,
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
            "smoothed_rtt_seconds": stats.sending.sender.smoothed_rtt.map(thalweg_proto::units::Duration::as_secs_f64),
            "limited_by": stats.limit.map(Limit::name),
        });
        console.print(&format!("{record}\n"))?;
        last = bytes;
        seconds += 1;
    }
    Ok(advisor)
}

/// A result in a line.
fn line(result: &Value) -> String {
    let number = |key: &str| result[key].as_f64().unwrap_or(0.0);
    let rate = output::rate(number("bits_per_second"));
    let bytes = Bytes::new(number("bytes") as u64);
    format!("{rate} ({bytes} in {:.2} s){}", number("seconds"), effort(result))
}

/// The cost of a result.
fn effort(result: &Value) -> String {
    let number = |key: &str| result[key].as_f64().unwrap_or(0.0);
    let mut text = format!(
        ", {:.3} CPU s/GB, datagrams of {} B",
        number("cpu_seconds_per_gigabyte"),
        number("datagram_bytes"),
    );
    if number("segments_sent") > 0.0 {
        let _ = write!(
            text,
            ", {} of {} segments sent again ({:.2} %)",
            number("retransmissions"),
            number("segments_sent"),
            100.0 * number("retransmissions") / number("segments_sent"),
        );
    }
    let marks = number("mark_cuts") + number("packets_marked");
    if marks > 0.0 {
        let _ = write!(text, ", marked {marks} times");
    } else if result["ecn"] == "failed" {
        text.push_str(", ECN off: the path loses it");
    }
    text
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed over by what fails")]
fn failed(error: NetError) -> Error {
    Error::Failed(error.to_string())
}

/// Nobody was reached, which may be otherwise later; or somebody was, and it is no use.
fn unreached(server: &str, why: &Unreached) -> Error {
    match why {
        Unreached::Refused | Unreached::Stopped => {
            Error::Lost(format!("{server}: nobody answered; nothing listens there"))
        }
        Unreached::Net(error) => {
            let what = format!("{server}: {error}");
            let is_busy = matches!(error, NetError::Closed(Closed::Peer { code: code::BUSY, .. }));
            let is_lost =
                matches!(error, NetError::Connect(ConnectError::NoAnswer | ConnectError::Narrow)) || is_busy;
            if is_lost { Error::Lost(what) } else { Error::Failed(what) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_trailers_are_read_as_written() {
        let request = Request { reverse: true, time: Duration::from_millis(1500) };
        assert_eq!(Request::decode(request.encode()), request);
        assert_eq!(Request::decode([0xff; 9]).time, LONGEST);
        let mut tail = b"data{\"bytes\":1}".to_vec();
        tail.extend_from_slice(&11u32.to_be_bytes());
        assert_eq!(trailer(&tail), Some((json!({"bytes": 1}), 15)));
        for bad in [&b""[..], b"abc", &[0xff; 4], &[0xff; 20]] {
            assert_eq!(trailer(bad), None);
        }
    }
}
