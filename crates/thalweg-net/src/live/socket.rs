//! UDP socket with its threads, and the state that they share with handles.

use super::connection_handles::{Connection, NetError};
use super::connection_shared_state::{Pipe, SetupStage};
use super::host_clock::Clock;
use super::socket_shared_state::{
    AcceptQueue, Arrivals, IncomingConnection, SocketThreadState, SocketThreads,
};
use super::socket_thread::Driver;
use super::udp_offload_socket::{Offload, Udp, UdpStats};
use crate::endpoint::{
    Connect, Endpoint, EndpointConfig, EndpointStats, ListenerState, MAX_SHARDS, Refusal, Trust,
};
use crate::identity::SystemEntropy;
use crate::session::{CloseReason, code};
use rustix::event::{EventfdFlags, eventfd};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use thalweg_proto::units::Bytes;

/// Configuration of a socket.
#[derive(Clone, Debug)]
pub struct SocketConfig {
    /// Address to bind; port 0 selects a free port.
    pub bind: SocketAddr,
    /// Configuration of the endpoint: its identity and accepted clients.
    pub endpoint: EndpointConfig,
    /// Requested size of each socket buffer.
    pub buffer: Bytes,
    /// Enabled offloads.
    pub offload: Offload,
    /// Clock of the connections.
    pub clock: Clock,
    /// Number of threads, 1 to 64. Each has its own system socket (`SO_REUSEPORT`) and a share of the connections. The
    /// limits of the endpoint apply to all threads together.
    pub threads: usize,
}

impl SocketConfig {
    /// Creates a configuration with default buffers, all offloads and one thread.
    pub fn new(bind: SocketAddr, endpoint: EndpointConfig) -> Self {
        let (buffer, offload, clock) = (Bytes::new(4 << 20), Offload::Auto, Clock::new());
        Self { bind, endpoint, buffer, offload, clock, threads: 1 }
    }
}

/// Connection attempt of a caller. Dropping it abandons the attempt.
struct PendingConnect<'a> {
    pipe: Arc<Pipe>,
    running: &'a SocketThreads,
    is_resolved: bool,
}

impl PendingConnect<'_> {
    /// Returns the pipe once the attempt has succeeded or failed.
    fn into_pipe(mut self) -> Arc<Pipe> {
        self.is_resolved = true;
        Arc::clone(&self.pipe)
    }
}

impl Drop for PendingConnect<'_> {
    fn drop(&mut self) {
        if !self.is_resolved {
            self.pipe.lock().close_requested = Some((code::DONE, String::new()));
            self.running.wake(&self.pipe);
        }
    }
}

/// UDP socket that opens and accepts connections.
///
/// It lives until it and all its connections are dropped. The last drop closes open connections and waits up to 500 ms
/// for the peers to acknowledge it. It does not wait for connections that the application has closed.
#[derive(Clone, Debug)]
pub struct Socket {
    running: Arc<SocketThreads>,
}

impl Socket {
    /// Binds a socket and starts its threads.
    ///
    /// # Errors
    /// Returns the system's error, for example if the address is in use or not an address of this host.
    pub fn bind(config: SocketConfig) -> io::Result<Self> {
        let (mut running, drivers) = Self::prepare(config)?;
        for driver in drivers {
            let name = std::thread::Builder::new().name("thalweg-udp".into());
            running.threads.push(name.spawn(move || driver.run())?);
        }
        Ok(Self { running: Arc::new(running) })
    }

    /// Returns a bound socket and the drivers of its threads.
    fn prepare(config: SocketConfig) -> io::Result<(SocketThreads, Vec<Driver>)> {
        let SocketConfig { bind, endpoint, buffer, offload, clock, threads } = config;
        let buffer = usize::try_from(buffer.get()).unwrap_or(usize::MAX);
        let (sockets, is_steered) = Udp::bind_all(bind, buffer, offload, threads.clamp(1, MAX_SHARDS))?;
        let accept_queue = Arc::new(AcceptQueue::default());
        let share = |udp: &Udp| {
            Ok(Arc::new(SocketThreadState {
                wake_fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
                asleep: AtomicBool::new(false),
                work: Mutex::default(),
                accept_queue: Arc::clone(&accept_queue),
                stats: Mutex::default(),
                local: udp.local()?,
            }))
        };
        let shards = sockets.iter().map(share).collect::<io::Result<Vec<_>>>()?;
        let place = endpoint.listen.is_some().then(|| socket_identity(shards[0].local));
        let endpoint = EndpointConfig { place, ..endpoint };
        let mut entropy = SystemEntropy::new();
        let listener =
            ListenerState::new(clock.now(), endpoint.limits, shards.len(), is_steered, &mut entropy);
        let listener = Arc::new(listener);
        let drivers = sockets.into_iter().enumerate().map(|(shard, udp)| {
            let entropy = Box::new(SystemEntropy::new());
            let endpoint = Endpoint::shard(endpoint.clone(), entropy, Arc::clone(&listener), shard);
            Driver::new(shards.clone(), shard, udp, endpoint, clock.clone())
        });
        let drivers = drivers.collect();
        Ok((
            SocketThreads { shards, accept_queue, threads: Vec::new(), next_shard: AtomicUsize::new(0) },
            drivers,
        ))
    }

    /// Returns the bound address.
    pub fn local(&self) -> SocketAddr {
        self.running.shards[0].local
    }

    /// Returns the counters of the endpoint and of the socket, summed over all threads.
    pub fn stats(&self) -> (EndpointStats, UdpStats) {
        self.stats_of_threads().into_iter().fold(Default::default(), |mut sum, (endpoint, udp)| {
            sum.0 += endpoint;
            sum.1 += udp;
            sum
        })
    }

    /// Returns these counters per thread.
    pub fn stats_of_threads(&self) -> Vec<(EndpointStats, UdpStats)> {
        let stats = |shared: &Arc<SocketThreadState>| {
            *shared.stats.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        self.running.shards.iter().map(stats).collect()
    }

    /// Replaces the set of accepted clients. Existing connections are unaffected.
    pub fn set_trust(&self, trust: &Trust) {
        for shared in &self.running.shards {
            shared.work().trust = Some(trust.clone());
            shared.wake();
        }
    }

    /// Returns the clients refused since the last call, 64 at most, and the number of further ones.
    pub fn refused(&self) -> (Vec<Refusal>, u64) {
        let mut arrivals = self.running.accept_queue.arrivals();
        (std::mem::take(&mut arrivals.refused_clients), std::mem::take(&mut arrivals.unrecorded))
    }

    /// Connects, and blocks until the handshake completes.
    ///
    /// # Errors
    /// [`NetError::Connect`] with the reason if the connection fails: no answer, or an unexpected key;
    /// [`NetError::Closed`] if the socket's thread has ended.
    pub fn connect(&self, connect: Connect) -> Result<Connection, NetError> {
        let pending = self.begin(connect);
        let pipe = &pending.pipe;
        let mut state = pipe.lock();
        while state.opening == SetupStage::Waiting && state.closed.is_none() {
            state = pipe.wait_readable(state);
        }
        drop(state);
        Connection::opened(&self.running, pending.into_pipe())
    }

    /// Connects as [`Socket::connect`] does, without blocking. Dropping the future abandons the attempt.
    ///
    /// # Errors
    /// [`NetError::Connect`] with the reason if the connection fails: no answer, or an unexpected key;
    /// [`NetError::Closed`] if the socket's thread has ended.
    pub async fn connect_async(&self, connect: Connect) -> Result<Connection, NetError> {
        let pending = self.begin(connect);
        poll_fn(|context| {
            let mut state = pending.pipe.lock();
            if state.opening == SetupStage::Waiting && state.closed.is_none() {
                state.open_waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        Connection::opened(&self.running, pending.into_pipe())
    }

    fn begin(&self, connect: Connect) -> PendingConnect<'_> {
        let running = &*self.running;
        let shard = running.next_shard.fetch_add(1, Ordering::Relaxed) % running.shards.len();
        let pipe = Pipe::new(shard, None, SetupStage::Waiting);
        let shared = &running.shards[shard];
        shared.work().connects.push((connect, Arc::clone(&pipe)));
        if running.accept_queue.arrivals().has_ended {
            // No thread serves this pipe any more.
            pipe.lock().closed.get_or_insert(CloseReason::Here);
        }
        shared.wake();
        PendingConnect { pipe, running, is_resolved: false }
    }

    /// Returns the next incoming connection.
    ///
    /// # Errors
    /// [`NetError::Over`] once a thread of the socket has ended.
    pub fn accept(&self) -> Result<Connection, NetError> {
        let accept_queue = &self.running.accept_queue;
        let mut arrivals = accept_queue.arrivals();
        loop {
            if let Some(IncomingConnection { pipe, .. }) = arrivals.queue.pop_front() {
                drop(arrivals);
                return Connection::opened(&self.running, pipe);
            }
            if arrivals.has_ended {
                return Err(NetError::Over);
            }
            arrivals = accept_queue.arrived.wait(arrivals).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Accepts as [`Socket::accept`] does, but waits at most `span`; `None` on timeout.
    ///
    /// # Errors
    /// [`NetError::Over`] once a thread of the socket has ended.
    pub fn accept_within(&self, span: std::time::Duration) -> Result<Option<Connection>, NetError> {
        let accept_queue = &self.running.accept_queue;
        let arrivals = accept_queue.arrivals();
        let waiting = |arrivals: &mut Arrivals| arrivals.queue.is_empty() && !arrivals.has_ended;
        let (mut arrivals, _) = accept_queue
            .arrived
            .wait_timeout_while(arrivals, span, waiting)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(IncomingConnection { pipe, .. }) = arrivals.queue.pop_front() else {
            return if arrivals.has_ended { Err(NetError::Over) } else { Ok(None) };
        };
        drop(arrivals);
        Connection::opened(&self.running, pipe).map(Some)
    }

    /// Accepts as [`Socket::accept`] does, without blocking.
    ///
    /// # Errors
    /// [`NetError::Over`] once a thread of the socket has ended.
    pub async fn accept_async(&self) -> Result<Connection, NetError> {
        let accept_queue = &self.running.accept_queue;
        let pipe = poll_fn(|context| {
            let mut arrivals = accept_queue.arrivals();
            if let Some(IncomingConnection { pipe, .. }) = arrivals.queue.pop_front() {
                return Poll::Ready(Ok(pipe));
            }
            if arrivals.has_ended {
                return Poll::Ready(Err(NetError::Over));
            }
            arrivals.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await?;
        Connection::opened(&self.running, pipe)
    }
}

/// Returns bytes that distinguish a socket from all others with its identity: the host's id (`machine-id(5)`; hosts
/// without one are distinguished by address only) and the bound address.
fn socket_identity(local: SocketAddr) -> Vec<u8> {
    let mut place = std::fs::read("/etc/machine-id").unwrap_or_default();
    place.extend_from_slice(local.to_string().as_bytes());
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{ConnectError, Listen};
    use crate::identity::Identity;
    use thalweg_proto::units::{Duration, Time};

    fn listening(clock: Clock) -> SocketConfig {
        let listen = Some(Listen::new(Trust::Anyone, ["test"]));
        let endpoint = EndpointConfig { listen, ..EndpointConfig::new(Identity::from_secret([1; 32])) };
        SocketConfig { clock, ..SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint) }
    }

    /// The thread pauses after it has read the clock; datagrams received meanwhile get a later arrival time.
    #[test]
    fn datagrams_received_during_a_pause_get_later_arrival_times() {
        let (clock, jumps) = Clock::with_jumps();
        let (running, mut drivers) = Socket::prepare(listening(clock.clone())).unwrap();
        let mut driver = drivers.pop().unwrap();
        let mut now = clock.now();
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"anything", running.shards[0].local).unwrap();
        jumps.advance(Duration::from_secs(1));
        while !driver.receive(&mut now) {
            std::thread::yield_now();
        }
        assert!(now >= Time::ZERO + Duration::from_secs(1), "{now:?}");
    }

    /// A socket bound to the loopback interface cannot send to other hosts.
    #[test]
    fn a_timeout_names_the_error_of_the_sends() {
        let (clock, jumps) = Clock::with_jumps();
        let (running, mut drivers) = Socket::prepare(listening(clock)).unwrap();
        let driver = drivers.pop().unwrap();
        let thread = std::thread::spawn(move || driver.run());
        let socket = Socket { running: Arc::new(running) };
        let request = Connect {
            remote: "192.0.2.1:9".parse().unwrap(),
            trust: Trust::Anyone,
            service: "test".into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        };
        let connecting = socket.clone();
        let failed = std::thread::spawn(move || connecting.connect(request).map(drop));
        while socket.stats().1.failed == 0 {
            std::thread::yield_now();
        }
        jumps.advance(Duration::from_secs(60));
        let error = failed.join().unwrap().unwrap_err();
        assert!(matches!(error, NetError::Connect(ConnectError::Unsendable(_))), "{error:?}");
        drop(socket);
        thread.join().unwrap();
    }

    /// A panic of the thread has this effect: its state is dropped.
    #[test]
    fn calls_do_not_block_after_a_thread_has_ended() {
        let (running, mut drivers) = Socket::prepare(listening(Clock::new())).unwrap();
        let driver = drivers.pop().unwrap();
        let socket = Socket { running: Arc::new(running) };
        let request = Connect {
            remote: socket.local(),
            trust: Trust::Anyone,
            service: "test".into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        };
        let waiting = [socket.clone(), socket.clone()];
        std::thread::scope(|scope| {
            let [accepts, connects] = waiting;
            let again = request.clone();
            let accepting = scope.spawn(move || accepts.accept().map(drop));
            let connecting = scope.spawn(move || connects.connect(again).map(drop));
            while socket.running.shards[0].work().connects.is_empty() {
                std::thread::yield_now();
            }
            let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _driver = driver;
                panic!("as a thread may");
            }));
            assert!(panics.is_err());
            assert_eq!(accepting.join().unwrap(), Err(NetError::Over));
            assert_eq!(connecting.join().unwrap(), Err(NetError::Closed(CloseReason::Here)));
        });
        assert_eq!(socket.accept().map(drop), Err(NetError::Over));
        assert_eq!(socket.connect(request).map(drop), Err(NetError::Closed(CloseReason::Here)));
    }
}
