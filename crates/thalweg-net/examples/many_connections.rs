//! Very many connections to one server, for `benches/many_connections.py`: `many_connections server OFFLOAD THREADS BUFFER` and `many_connections client
//! OFFLOAD ADDRESS SOCKETS IDLE ACTIVE SCHEME PERIOD`, where OFFLOAD is `auto` or `none`.
//!
//! Idle connections send only keep-alives. Active ones send 8 KiB per PERIOD milliseconds, or as much as possible if it
//! is 0. Each end prints a line when it is ready, answers each line of its input with one line, and ends with its
//! input.

use std::collections::VecDeque;
use std::error::Error;
use std::future::Future;
use std::io::BufRead;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, EndpointConfig, Limits, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Connection, NetError, Offload, RecvStream, SendStream, Socket, SocketConfig};
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::units::Bytes;

/// Bytes per write of an active connection.
const PIECE: usize = 8 << 10;

/// Number of connections that a client opens concurrently.
const OPENING: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let offload = |word| if word == "none" { Offload::None } else { Offload::Auto };
    match arguments[..] {
        ["server", word, threads, buffer] => {
            server(offload(word), threads.parse()?, Bytes::new(buffer.parse()?))
        }
        ["client", word, address, sockets, idle, active, scheme, period] => {
            let connect = Connect {
                remote: address.parse()?,
                trust: Trust::only(identity(2).public()),
                service: "many".into(),
                scheme: scheme.parse()?,
                recorder: None,
            };
            let period = Duration::from_millis(period.parse()?);
            client(&connect, offload(word), sockets.parse()?, [idle.parse()?, active.parse()?], period)
        }
        _ => {
            let usage = "`server OFFLOAD THREADS BUFFER` or `client OFFLOAD ADDRESS SOCKETS IDLE ACTIVE SCHEME PERIOD`";
            Err(format!("expected {usage}").into())
        }
    }
}

fn identity(number: u8) -> Identity {
    Identity::from_secret([number; 32])
}

fn server(offload: Offload, threads: usize, buffer: Bytes) -> Result<(), Box<dyn Error>> {
    let limits = Limits {
        connections: 200_000,
        handshakes: 10_000,
        handshakes_per_second: 100_000,
        memory: 32 << 30,
        ..Limits::default()
    };
    let listen = Some(Listen::new(Trust::only(identity(1).public()), ["many"]));
    let endpoint =
        EndpointConfig { listen, limits, max_datagram_bytes: 1472, ..EndpointConfig::new(identity(2)) };
    let config =
        SocketConfig { offload, threads, buffer, ..SocketConfig::new("127.0.0.1:0".parse()?, endpoint) };
    let socket = Socket::bind(config)?;
    println!("{}", socket.local());
    let counters: Arc<Mutex<Vec<Arc<AtomicU64>>>> = Arc::default();
    let (accepting, counted) = (socket.clone(), Arc::clone(&counters));
    let tasks = Tasks::new();
    std::thread::spawn(move || {
        while let Ok(connection) = accepting.accept() {
            let counter = Arc::new(AtomicU64::new(0));
            counted.lock().unwrap().push(Arc::clone(&counter));
            tasks.spawn(async move {
                let _ = count_received_bytes(connection, &counter).await;
            });
        }
    });
    let mut before = Vec::new();
    for line in std::io::stdin().lock().lines() {
        // Bytes that each connection has sent since the last input line.
        let now: Vec<u64> =
            counters.lock().unwrap().iter().map(|counter| counter.load(Ordering::Relaxed)).collect();
        before.resize(now.len(), 0);
        let mut sent: Vec<u64> =
            now.iter().zip(&before).filter(|(now, _)| **now > 0).map(|(now, before)| now - before).collect();
        sent.sort_unstable();
        let total: u64 = sent.iter().sum();
        let squares: f64 = sent.iter().map(|bytes| (*bytes as f64).powi(2)).sum();
        let jain = (total as f64).powi(2) / (squares * sent.len() as f64);
        let at = |share: f64| sent.get((share * sent.len() as f64) as usize).copied().unwrap_or(0);
        let threads: Vec<u64> =
            socket.stats_of_threads().iter().map(|(_, udp)| udp.datagrams_received).collect();
        let forwarded = socket.stats().0.forwarded;
        println!(
            "{{\"connections\": {}, \"active\": {}, \"bytes\": {total}, \"jain\": {}, \"min\": {}, \"p5\": {}, \"median\": {}, \"max\": {}, \"datagrams_of_threads\": {threads:?}, \"forwarded\": {forwarded}}}",
            now.len(),
            sent.len(),
            if jain.is_finite() { jain } else { 0.0 },
            at(0.0),
            at(0.05),
            at(0.5),
            sent.last().copied().unwrap_or(0),
        );
        before = now;
        let _ = line?;
    }
    std::process::exit(0);
}

/// Counts the bytes of a stream to its end.
async fn count_received_bytes(connection: Connection, counter: &AtomicU64) -> Result<(), NetError> {
    let (_send, mut receive) = connection.split();
    while let Some(piece) = receive.read_slice_async().await? {
        counter.fetch_add(u64::from(piece.len()), Ordering::Relaxed);
    }
    Ok(())
}

fn client(
    connect: &Connect,
    offload: Offload,
    sockets: usize,
    [idle, active]: [usize; 2],
    period: Duration,
) -> Result<(), Box<dyn Error>> {
    let bind = |_| {
        let endpoint = EndpointConfig { max_datagram_bytes: 1472, ..EndpointConfig::new(identity(1)) };
        Socket::bind(SocketConfig { offload, ..SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint) })
    };
    let sockets = (0..sockets).map(bind).collect::<Result<Vec<_>, _>>()?;
    let tasks = Tasks::new();
    let (next, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    for _ in 0..OPENING {
        let (sockets, connect) = (sockets.clone(), connect.clone());
        let (next, open) = (Arc::clone(&next), Arc::clone(&open));
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= idle + active {
                    return;
                }
                match sockets[number % sockets.len()].connect_async(connect.clone()).await {
                    Ok(connection) => open.lock().unwrap().push(connection),
                    Err(error) => eprintln!("{error}"),
                }
            }
        });
    }
    while next.load(Ordering::Relaxed) < idle + active + OPENING {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut connections = std::mem::take(&mut *open.lock().unwrap());
    println!("{} connections", connections.len());
    for line in std::io::stdin().lock().lines() {
        let _ = line?;
        let piece = Slice::new(vec![7; PIECE]);
        let sending = connections.drain(..active.min(connections.len()));
        if !period.is_zero() {
            let sends: Vec<_> = sending.map(Connection::split).collect();
            std::thread::spawn(move || pace(sends, &piece, period));
            println!("they send");
            continue;
        }
        for connection in sending {
            let piece = piece.clone();
            tasks.spawn(async move {
                let (mut send, _receive) = connection.split();
                while send.write_slice_async(piece.clone()).await.is_ok() {}
            });
        }
        println!("they send");
    }
    std::process::exit(0);
}

/// Writes a piece per period on each connection, spread evenly over the period.
fn pace(mut streams: Vec<(SendStream, RecvStream)>, piece: &Slice, period: Duration) {
    let begun = Instant::now();
    for turn in 0.. {
        let count = streams.len() as u32;
        for (number, (send, _)) in (0..).zip(&mut streams) {
            let due = begun + period * turn + period * number / count;
            // Sleep at least a hundredth of a period at a time.
            if let Some(early) =
                due.checked_duration_since(Instant::now()).filter(|early| *early > period / 100)
            {
                std::thread::sleep(early);
            }
            let _ = send.write_slice(piece.clone());
        }
    }
}

/// Executor of futures in one thread.
#[derive(Clone)]
struct Tasks(Arc<Ready>);

#[derive(Default)]
struct Ready {
    queue: Mutex<VecDeque<Arc<Task>>>,
    any: Condvar,
}

struct Task {
    ready: Arc<Ready>,
    is_queued: AtomicBool,
    /// `None` once it has completed.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            let ready = Arc::clone(&self.ready);
            ready.queue.lock().unwrap().push_back(self);
            ready.any.notify_one();
        }
    }
}

impl Tasks {
    fn new() -> Self {
        let ready: Arc<Ready> = Arc::default();
        let running = Arc::clone(&ready);
        std::thread::spawn(move || {
            loop {
                let mut queue = running.queue.lock().unwrap();
                while queue.is_empty() {
                    queue = running.any.wait(queue).unwrap();
                }
                let batch = std::mem::take(&mut *queue);
                drop(queue);
                for task in batch {
                    task.is_queued.store(false, Ordering::Release);
                    let waker = Waker::from(Arc::clone(&task));
                    let mut future = task.future.lock().unwrap();
                    if let Some(running) = future.as_mut()
                        && running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
                    {
                        *future = None;
                    }
                }
            }
        });
        Self(ready)
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let task = Task {
            ready: Arc::clone(&self.0),
            is_queued: AtomicBool::new(false),
            future: Mutex::new(Some(Box::pin(future))),
        };
        Arc::new(task).wake();
    }
}
