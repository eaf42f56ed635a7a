//! Replay of a schedule on two ends over real sockets, with a relay between them.

use crate::random_schedule::{Action, End, Schedule};
use crate::relay::{RunningRelay, bytes, config};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, ConnectError, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::impair::{RelayConfig, RelayStats};
use thalweg_net::live::{Clock, Connection, Jumps, NetError, Socket, SocketConfig};
use thalweg_net::session::{CloseReason, SessionStats};
use thalweg_proto::payload::Slice;

/// Number of writes per stream.
const PIECES: usize = 25;

/// Outcome of a schedule.
#[derive(Debug)]
pub struct ScheduleOutcome {
    pub relay: RelayStats,
    /// Number of connections that ended early.
    pub resets: usize,
    /// Number of migrations seen by the server.
    pub migrations: u64,
    pub jumps: usize,
    pub took: Duration,
}

/// Plays a schedule. Panics on a wrong byte, an unexpected end of a connection, or a lack of progress.
pub fn replay_schedule(schedule: &Schedule, limit: Duration) -> ScheduleOutcome {
    let begun = Instant::now();
    let data = Arc::new(schedule.lengths.map(|length| bytes(schedule.seed ^ length as u64, length)));
    let pause = Duration::from_secs_f64(schedule.scale.span().as_secs_f64() / PIECES as f64);
    let (clock, server_jumps) = Clock::with_jumps();
    let mut server = Server::start(address(schedule.seed), clock, Arc::clone(&data), pause);
    let relay = RunningRelay::start(RelayConfig {
        seed: schedule.seed,
        rebinds: schedule.rebinds.clone(),
        ..config(server.address, schedule.up.clone(), schedule.down.clone())
    });
    let is_back = Arc::new(AtomicBool::new(!schedule.restarts()));
    let client = Client::start(schedule, relay.address, Arc::clone(&data), pause, Arc::clone(&is_back));
    let mut restarted = false;
    let mut jumps = 0;
    let mut actions = schedule.actions.iter();
    let mut next = actions.next();
    let resets = loop {
        let due = next.map(|(at, _)| Duration::from_secs_f64(at.as_secs_f64()));
        let wait = due.unwrap_or(limit).saturating_sub(begun.elapsed());
        match client.done.recv_timeout(wait) {
            Ok(resets) => break resets,
            // It has already reported the reason.
            Err(RecvTimeoutError::Disconnected) => panic!("the client failed"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match next {
            Some((_, Action::Restart)) => {
                restarted = true;
                server.restart();
                is_back.store(true, Ordering::Relaxed);
            }
            Some((_, Action::Jump(end, by))) => {
                jumps += 1;
                let of = if *end == End::Client { &client.jumps } else { &server_jumps };
                of.advance(*by);
            }
            None => panic!(
                "the client hangs: {schedule:?}, {:?}, the server: {:?}",
                stats(client.watched()),
                stats(server.watched())
            ),
        }
        next = actions.next();
    };
    while !restarted && server.complete.load(Ordering::Relaxed) == 0 {
        assert!(begun.elapsed() < limit, "the server hangs: {schedule:?}, {:?}", stats(server.watched()));
        std::thread::sleep(Duration::from_millis(5));
    }
    let migrations = server.watched().iter().map(|watched| watched.stats().migrations).sum();
    client.leave();
    server.stop();
    ScheduleOutcome { relay: relay.stop(), resets, migrations, jumps, took: begun.elapsed() }
}

/// Returns the counters of connections, to diagnose a hang.
fn stats(connections: impl IntoIterator<Item = Connection>) -> Vec<SessionStats> {
    let connections: Vec<_> = connections.into_iter().collect();
    // The first call requests an update, the second returns it.
    let _: Vec<_> = connections.iter().map(Connection::stats).collect();
    std::thread::sleep(Duration::from_millis(500));
    connections.iter().map(Connection::stats).collect()
}

/// Returns an address of this host unique to the schedule, and a port outside the ephemeral range.
fn address(seed: u64) -> SocketAddr {
    let host = 64 + std::process::id() % 128;
    let (net, number) = (seed / 250 % 250, seed % 250);
    // Each value is below 256.
    SocketAddr::new(Ipv4Addr::new(127, host as u8, net as u8, 1 + number as u8).into(), 24_747)
}

fn identity(number: u8) -> Identity {
    Identity::from_secret([number; 32])
}

/// Writes `ours` in pieces, with pauses, and reads `theirs`.
fn exchange(connection: Connection, ours: &[u8], theirs: &[u8], pause: Duration) -> Result<(), NetError> {
    let (mut send, mut receive) = connection.split();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for piece in ours.chunks(ours.len().div_ceil(PIECES).max(1)) {
                send.write_slice(Slice::new(piece))?;
                std::thread::sleep(pause);
            }
            send.finish()
        });
        let mut at = 0;
        while let Some(piece) = receive.read_slice()? {
            let until = at + piece.as_bytes().len();
            assert!(theirs.get(at..until) == Some(piece.as_bytes()), "wrong bytes at {at}");
            at = until;
        }
        assert_eq!(at, theirs.len(), "the stream ended early");
        writer.join().unwrap()
    })
}

struct Server {
    address: SocketAddr,
    clock: Clock,
    data: Arc<[Vec<u8>; 2]>,
    pause: Duration,
    /// Number of completed exchanges.
    complete: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<Connection>>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(address: SocketAddr, clock: Clock, data: Arc<[Vec<u8>; 2]>, pause: Duration) -> Self {
        let mut server = Self {
            address,
            clock,
            data,
            pause,
            complete: Arc::default(),
            stop: Arc::default(),
            connections: Arc::default(),
            thread: None,
        };
        server.run();
        server
    }

    fn run(&mut self) {
        let listen = Some(Listen::new(Trust::only(identity(1).public()), ["test"]));
        let config =
            SocketConfig::new(self.address, EndpointConfig { listen, ..EndpointConfig::new(identity(2)) });
        let socket = Socket::bind(SocketConfig { clock: self.clock.clone(), ..config }).unwrap();
        let (stop, complete) = (Arc::clone(&self.stop), Arc::clone(&self.complete));
        let (connections, data, pause) = (Arc::clone(&self.connections), Arc::clone(&self.data), self.pause);
        self.thread = Some(std::thread::spawn(move || {
            std::thread::scope(|scope| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(connection) = socket.accept_within(Duration::from_millis(20)).unwrap() else {
                        continue;
                    };
                    connections.lock().unwrap().push(connection.another_handle());
                    scope.spawn(|| {
                        let result = exchange(connection, &data[1], &data[0], pause);
                        complete.fetch_add(usize::from(result.is_ok()), Ordering::Relaxed);
                    });
                }
                for connection in connections.lock().unwrap().drain(..) {
                    connection.close(400, "killed");
                }
            });
        }));
    }

    fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }

    fn restart(&mut self) {
        self.stop();
        self.stop = Arc::default();
        self.run();
    }

    fn watched(&self) -> Vec<Connection> {
        self.connections.lock().unwrap().iter().map(Connection::another_handle).collect()
    }
}

struct Client {
    jumps: Jumps,
    /// Number of connections that ended before the one that completed the exchange.
    done: Receiver<usize>,
    connection: Arc<Mutex<Option<Connection>>>,
    leave: Sender<()>,
    thread: JoinHandle<()>,
}

impl Client {
    /// Connections begun before the server `is_back` may end: on a busy host the path is no longer dark when it stops,
    /// and it accepts a client that it cannot serve.
    fn start(
        schedule: &Schedule,
        remote: SocketAddr,
        data: Arc<[Vec<u8>; 2]>,
        pause: Duration,
        is_back: Arc<AtomicBool>,
    ) -> Self {
        let (clock, jumps) = Clock::with_jumps();
        let config = SocketConfig::new("127.0.0.1:0".parse().unwrap(), EndpointConfig::new(identity(1)));
        let socket = Socket::bind(SocketConfig { clock, ..config }).unwrap();
        let connection = Arc::new(Mutex::new(None));
        let (report, done) = channel();
        let (leave, left) = channel();
        let (schedule, watched) = (schedule.clone(), Arc::clone(&connection));
        let thread = std::thread::spawn(move || {
            let mut resets = 0;
            loop {
                let may_end = !is_back.load(Ordering::Relaxed);
                let request = Connect {
                    remote,
                    trust: Trust::only(identity(2).public()),
                    service: "test".into(),
                    scheme: schedule.scheme.clone(),
                    recorder: None,
                };
                let result = socket.connect(request).and_then(|connection| {
                    *watched.lock().unwrap() = Some(connection.another_handle());
                    exchange(connection, &data[0], &data[1], pause)
                });
                let Err(why) = result else { break };
                if let NetError::Connect(ConnectError::NoAnswer | ConnectError::PathMtuTooSmall) = why {
                    // All attempts of twenty seconds were lost; small packets may have got through more often than
                    // large ones.
                    continue;
                }
                assert!(may_end && was_restarted(&why), "{why}: {schedule:?}");
                resets += 1;
            }
            report.send(resets).unwrap();
            // The server may not know yet that all data arrived.
            let _ = left.recv();
            *watched.lock().unwrap() = None;
        });
        Self { jumps, done, connection, leave, thread }
    }

    fn watched(&self) -> Option<Connection> {
        self.connection.lock().unwrap().as_ref().map(Connection::another_handle)
    }

    fn leave(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

/// The server's last packets may have arrived after all.
fn was_restarted(why: &NetError) -> bool {
    matches!(why, NetError::Closed(CloseReason::Reset | CloseReason::Peer { .. }))
}
