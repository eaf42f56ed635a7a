//! A socket with its threads.

use super::clock::Clock;
use super::connection::{Connection, NetError};
use super::driver::Driver;
use super::pipe::{Opening, Pipe};
use super::udp::{Offload, Udp, UdpStats};
use crate::endpoint::{
    Connect, Endpoint, EndpointConfig, EndpointStats, ListenerState, MAX_MEMBERS, Refusal, ShardMessage,
    Trust,
};
use crate::identity::SystemEntropy;
use crate::session::{Closed, code};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use thalweg_proto::units::Bytes;

/// A socket's settings.
#[derive(Clone, Debug)]
pub struct SocketConfig {
    /// The address to listen at, or to connect from. Port 0 takes any that is free.
    pub bind: SocketAddr,
    /// The settings of the endpoint: its identity, and the clients that it answers.
    pub endpoint: EndpointConfig,
    /// The size that is asked of the system for each of the socket's buffers.
    pub buffer: Bytes,
    /// The offloads that are used.
    pub offload: Offload,
    /// The clock that its connections take the time from.
    pub clock: Clock,
    /// The threads that serve it, 1 to 64: each has a system socket of its own (`SO_REUSEPORT`), and its share of the
    /// connections. The bounds of the endpoint hold over all of them together.
    pub threads: usize,
}

impl SocketConfig {
    /// With usual buffers, all offloads and one thread.
    pub fn new(bind: SocketAddr, endpoint: EndpointConfig) -> Self {
        let (buffer, offload, clock) = (Bytes::new(4 << 20), Offload::Auto, Clock::new());
        Self { bind, endpoint, buffer, offload, clock, threads: 1 }
    }
}

/// The work that handles and other threads of the socket ask of a thread.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Pipes in which something was done.
    pub rung: Vec<Arc<Pipe>>,
    pub connects: Vec<(Connect, Arc<Pipe>)>,
    /// The clients that may connect from now on, where that has changed.
    pub trust: Option<Trust>,
    /// Datagrams that came to other threads and are for this one, and the bytes of them.
    pub passed: Vec<ShardMessage>,
    pub passed_bytes: usize,
    /// Everything is to be closed.
    pub shut: bool,
}

/// The most of that that waits: as much as a socket's usual buffer. What is beyond is lost, as it would be there.
const MAX_PASSED: usize = 4 << 20;

impl Work {
    /// There is nothing to do but to end, perhaps.
    pub fn is_none(&self) -> bool {
        self.rung.is_empty() && self.connects.is_empty() && self.trust.is_none() && self.passed.is_empty()
    }

    /// Takes what another thread passes on, if there is room.
    fn pass(&mut self, passed: ShardMessage) {
        if self.passed_bytes + passed.size() <= MAX_PASSED {
            self.passed_bytes += passed.size();
            self.passed.push(passed);
        }
    }
}

/// A connection that a client has made and nobody has taken.
#[derive(Debug)]
pub(super) struct Arrived {
    pub pipe: Arc<Pipe>,
    /// Its key is trusted.
    pub known: bool,
}

/// Connections that wait to be accepted. Of more, strangers that have gone are forgotten, and then others closed.
const MAX_ARRIVALS: usize = 1024;

/// Clients that were turned away of which is kept until somebody asks.
const MAX_REFUSED: usize = 64;

impl Arrivals {
    /// A client was turned away.
    pub fn refuse(&mut self, refusal: Refusal) {
        if self.refused.len() < MAX_REFUSED {
            self.refused.push(refusal);
        } else {
            self.forgotten += 1;
        }
    }

    /// Makes room for one more. False where there is none.
    pub fn make_room(&mut self) -> bool {
        if self.queue.len() < MAX_ARRIVALS {
            return true;
        }
        let has_gone = |arrived: &Arrived| !arrived.known && arrived.pipe.lock().closed.is_some();
        let Some(place) = self.queue.iter().position(has_gone) else { return false };
        self.queue.remove(place);
        true
    }
}

/// Connections that clients have made and nobody has taken.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    pub queue: VecDeque<Arrived>,
    /// Clients that were turned away, and the number of others of which nothing is kept.
    pub refused: Vec<Refusal>,
    pub forgotten: u64,
    pub waker: Option<Waker>,
    /// A thread is gone.
    pub over: bool,
}

/// The place where all threads of a socket bring those that have come.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    arrivals: Mutex<Arrivals>,
    pub arrived: Condvar,
}

impl Lobby {
    pub fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The state that handles and a thread share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Wakes the thread.
    pub bell: OwnedFd,
    /// The thread sleeps, or is about to.
    pub asleep: AtomicBool,
    pub work: Mutex<Work>,
    pub lobby: Arc<Lobby>,
    pub stats: Mutex<(EndpointStats, UdpStats)>,
    pub local: SocketAddr,
}

impl Shared {
    pub fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Hands something over to the thread, which another has got.
    pub fn pass(&self, passed: ShardMessage) {
        self.work().pass(passed);
        self.ring();
    }

    /// Wakes the thread if it sleeps.
    pub fn ring(&self) {
        if self.asleep.swap(false, Ordering::SeqCst) {
            // It fails only when the bell has been rung 2^64 times and not been heard.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// The socket's threads, which end with the last handle.
#[derive(Debug)]
pub(super) struct Running {
    /// The state that is shared with each of them, at least one.
    members: Vec<Arc<Shared>>,
    lobby: Arc<Lobby>,
    threads: Vec<JoinHandle<()>>,
    /// Connections that were asked for: threads take turns.
    asked: AtomicUsize,
}

impl Running {
    /// Tells the thread of a pipe that there is something to do in it.
    pub fn ring(&self, pipe: &Arc<Pipe>) {
        let shared = &self.members[pipe.member];
        shared.work().rung.push(Arc::clone(pipe));
        shared.ring();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for shared in &self.members {
            shared.work().shut = true;
            shared.ring();
        }
        for thread in self.threads.drain(..) {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// A connection that somebody waits for. Given up when nobody does any more.
struct Asked<'a> {
    pipe: Arc<Pipe>,
    running: &'a Running,
    is_settled: bool,
}

impl Asked<'_> {
    /// It is there, or will not come.
    fn settled(mut self) -> Arc<Pipe> {
        self.is_settled = true;
        Arc::clone(&self.pipe)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.pipe.lock().close = Some((code::DONE, String::new()));
            self.running.ring(&self.pipe);
        }
    }
}

/// A UDP socket that makes and accepts connections.
///
/// It lives as long as it or any of its connections is held. The last to be dropped closes what is open and waits, for half
/// a second at most, until the peers have heard of it. It waits for none that has closed its connection itself.
#[derive(Clone, Debug)]
pub struct Socket {
    running: Arc<Running>,
}

impl Socket {
    /// Binds a socket and starts its threads.
    ///
    /// # Errors
    /// What the system says: the address is taken, or not of this host.
    pub fn bind(config: SocketConfig) -> io::Result<Self> {
        let (mut running, drivers) = Self::prepare(config)?;
        for driver in drivers {
            let name = std::thread::Builder::new().name("thalweg-udp".into());
            running.threads.push(name.spawn(move || driver.run())?);
        }
        Ok(Self { running: Arc::new(running) })
    }

    /// A bound socket, and what its threads will run.
    fn prepare(config: SocketConfig) -> io::Result<(Running, Vec<Driver>)> {
        let SocketConfig { bind, endpoint, buffer, offload, clock, threads } = config;
        let buffer = usize::try_from(buffer.get()).unwrap_or(usize::MAX);
        let (sockets, is_steered) = Udp::bind_all(bind, buffer, offload, threads.clamp(1, MAX_MEMBERS))?;
        let lobby = Arc::new(Lobby::default());
        let share = |udp: &Udp| {
            Ok(Arc::new(Shared {
                bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
                asleep: AtomicBool::new(false),
                work: Mutex::default(),
                lobby: Arc::clone(&lobby),
                stats: Mutex::default(),
                local: udp.local()?,
            }))
        };
        let members = sockets.iter().map(share).collect::<io::Result<Vec<_>>>()?;
        let place = endpoint.listen.is_some().then(|| place(members[0].local));
        let endpoint = EndpointConfig { place, ..endpoint };
        let mut entropy = SystemEntropy::new();
        let desk = ListenerState::new(clock.now(), endpoint.limits, members.len(), is_steered, &mut entropy);
        let desk = Arc::new(desk);
        let drivers = sockets.into_iter().enumerate().map(|(member, udp)| {
            let entropy = Box::new(SystemEntropy::new());
            let endpoint = Endpoint::member(endpoint.clone(), entropy, Arc::clone(&desk), member);
            Driver::new(members.clone(), member, udp, endpoint, clock.clone())
        });
        let drivers = drivers.collect();
        Ok((Running { members, lobby, threads: Vec::new(), asked: AtomicUsize::new(0) }, drivers))
    }

    /// The address that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.running.members[0].local
    }

    /// Counters of the endpoint and of the socket, of all threads together.
    pub fn stats(&self) -> (EndpointStats, UdpStats) {
        self.stats_of_threads().into_iter().fold(Default::default(), |mut sum, (endpoint, udp)| {
            sum.0 += endpoint;
            sum.1 += udp;
            sum
        })
    }

    /// The same for each thread.
    pub fn stats_of_threads(&self) -> Vec<(EndpointStats, UdpStats)> {
        let stats =
            |shared: &Arc<Shared>| *shared.stats.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.running.members.iter().map(stats).collect()
    }

    /// The clients that may connect from now on. Connections that there are stay.
    pub fn set_trust(&self, trust: &Trust) {
        for shared in &self.running.members {
            shared.work().trust = Some(trust.clone());
            shared.ring();
        }
    }

    /// The clients that were turned away since the last call: at most 64 of them, and the number of the others.
    pub fn refused(&self) -> (Vec<Refusal>, u64) {
        let mut arrivals = self.running.lobby.arrivals();
        (std::mem::take(&mut arrivals.refused), std::mem::take(&mut arrivals.forgotten))
    }

    /// Connects, and waits until the handshake is over.
    ///
    /// # Errors
    /// [`NetError::Connect`] with the reason if there is no connection: nobody answers, or somebody else than expected;
    /// [`NetError::Closed`] if the socket's thread has ended.
    pub fn connect(&self, connect: Connect) -> Result<Connection, NetError> {
        let asked = self.begin(connect);
        let pipe = &asked.pipe;
        let mut state = pipe.lock();
        while state.opening == Opening::Waiting && state.closed.is_none() {
            state = pipe.wait_readable(state);
        }
        drop(state);
        Connection::opened(&self.running, asked.settled())
    }

    /// [`Socket::connect`], without blocking. Dropped before it is ready, it gives up.
    ///
    /// # Errors
    /// [`NetError::Connect`] with the reason if there is no connection: nobody answers, or somebody else than expected;
    /// [`NetError::Closed`] if the socket's thread has ended.
    pub async fn connect_async(&self, connect: Connect) -> Result<Connection, NetError> {
        let asked = self.begin(connect);
        poll_fn(|context| {
            let mut state = asked.pipe.lock();
            if state.opening == Opening::Waiting && state.closed.is_none() {
                state.open_waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        Connection::opened(&self.running, asked.settled())
    }

    fn begin(&self, connect: Connect) -> Asked<'_> {
        let running = &*self.running;
        let member = running.asked.fetch_add(1, Ordering::Relaxed) % running.members.len();
        let pipe = Pipe::new(member, None, Opening::Waiting);
        let shared = &running.members[member];
        shared.work().connects.push((connect, Arc::clone(&pipe)));
        if running.lobby.arrivals().over {
            // Nobody looks at it any more.
            pipe.lock().closed.get_or_insert(Closed::Here);
        }
        shared.ring();
        Asked { pipe, running, is_settled: false }
    }

    /// The next connection that a client makes.
    ///
    /// # Errors
    /// [`NetError::Over`] once a thread of the socket has ended.
    pub fn accept(&self) -> Result<Connection, NetError> {
        let lobby = &self.running.lobby;
        let mut arrivals = lobby.arrivals();
        loop {
            if let Some(Arrived { pipe, .. }) = arrivals.queue.pop_front() {
                drop(arrivals);
                return Connection::opened(&self.running, pipe);
            }
            if arrivals.over {
                return Err(NetError::Over);
            }
            arrivals = lobby.arrived.wait(arrivals).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// [`Socket::accept`], for so long at most; `None` when nobody came.
    ///
    /// # Errors
    /// [`NetError::Over`] once a thread of the socket has ended.
    pub fn accept_within(&self, span: std::time::Duration) -> Result<Option<Connection>, NetError> {
        let lobby = &self.running.lobby;
        let arrivals = lobby.arrivals();
        let waiting = |arrivals: &mut Arrivals| arrivals.queue.is_empty() && !arrivals.over;
        let (mut arrivals, _) = lobby
            .arrived
            .wait_timeout_while(arrivals, span, waiting)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(Arrived { pipe, .. }) = arrivals.queue.pop_front() else {
            return if arrivals.over { Err(NetError::Over) } else { Ok(None) };
        };
        drop(arrivals);
        Connection::opened(&self.running, pipe).map(Some)
    }

    /// [`Socket::accept`], without blocking.
    ///
    /// # Errors
    /// [`NetError::Over`] once a thread of the socket has ended.
    pub async fn accept_async(&self) -> Result<Connection, NetError> {
        let lobby = &self.running.lobby;
        let pipe = poll_fn(|context| {
            let mut arrivals = lobby.arrivals();
            if let Some(Arrived { pipe, .. }) = arrivals.queue.pop_front() {
                return Poll::Ready(Ok(pipe));
            }
            if arrivals.over {
                return Poll::Ready(Err(NetError::Over));
            }
            arrivals.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await?;
        Connection::opened(&self.running, pipe)
    }
}

/// The bytes that tell a socket from all others of its identity: the host, as systemd names it (`machine-id(5)`; hosts
/// without are told apart by their addresses only), and its address.
fn place(local: SocketAddr) -> Vec<u8> {
    let mut place = std::fs::read("/etc/machine-id").unwrap_or_default();
    place.extend_from_slice(local.to_string().as_bytes());
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Arrival, Listen};
    use crate::identity::Identity;
    use thalweg_proto::units::{Duration, Time};

    fn listening(clock: Clock) -> SocketConfig {
        let listen = Some(Listen::new(Trust::Anyone, ["test"]));
        let endpoint = EndpointConfig { listen, ..EndpointConfig::client(Identity::from_secret([1; 32])) };
        SocketConfig { clock, ..SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint) }
    }

    #[test]
    fn what_threads_pass_on_waits_in_4_mib() {
        let mut work = Work::default();
        let arrival = Arrival { from: "192.0.2.1:9".parse().unwrap(), ecn: thalweg_proto::Ecn::NotEct };
        let pass = |work: &mut Work, size| {
            work.pass(ShardMessage::Datagrams { arrival, stride: 1000, bytes: vec![7; size] });
        };
        (0..5000).for_each(|_| pass(&mut work, 1000));
        assert_eq!((work.passed.len(), work.passed_bytes), ((4 << 20) / 1000, (4 << 20) / 1000 * 1000));
        // What is large is lost, and what fits still comes.
        pass(&mut work, 100_000);
        pass(&mut work, 100);
        assert_eq!(work.passed.len(), (4 << 20) / 1000 + 1);
    }

    /// A thread that is stopped once it has read the clock: what comes meanwhile came later than that.
    #[test]
    fn what_comes_while_the_thread_is_stopped_came_then() {
        let (clock, jumps) = Clock::that_jumps();
        let (running, mut drivers) = Socket::prepare(listening(clock.clone())).unwrap();
        let mut driver = drivers.pop().unwrap();
        let mut now = clock.now();
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"anything", running.members[0].local).unwrap();
        jumps.ahead(Duration::from_secs(1));
        while !driver.receive(&mut now) {
            std::thread::yield_now();
        }
        assert!(now >= Time::ZERO + Duration::from_secs(1), "{now:?}");
    }

    /// The effect of a panic of the thread: its state is dropped.
    #[test]
    fn nobody_waits_for_a_thread_that_is_gone() {
        let (running, mut drivers) = Socket::prepare(listening(Clock::new())).unwrap();
        let driver = drivers.pop().unwrap();
        let socket = Socket { running: Arc::new(running) };
        let asked = Connect {
            remote: socket.local(),
            trust: Trust::Anyone,
            service: "test".into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        };
        let waiting = [socket.clone(), socket.clone()];
        std::thread::scope(|scope| {
            let [accepts, connects] = waiting;
            let again = asked.clone();
            let accepting = scope.spawn(move || accepts.accept().map(drop));
            let connecting = scope.spawn(move || connects.connect(again).map(drop));
            while socket.running.members[0].work().connects.is_empty() {
                std::thread::yield_now();
            }
            let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _driver = driver;
                panic!("as a thread may");
            }));
            assert!(panics.is_err());
            assert_eq!(accepting.join().unwrap(), Err(NetError::Over));
            assert_eq!(connecting.join().unwrap(), Err(NetError::Closed(Closed::Here)));
        });
        assert_eq!(socket.accept().map(drop), Err(NetError::Over));
        assert_eq!(socket.connect(asked).map(drop), Err(NetError::Closed(Closed::Here)));
    }
}
