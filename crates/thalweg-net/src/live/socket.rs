//! A socket with its thread.

use super::clock::Clock;
use super::connection::{Connection, NetError};
use super::driver::Driver;
use super::pipe::{Opening, Pipe};
use super::udp::{Offload, Udp, UdpStats};
use crate::endpoint::{Connect, Endpoint, EndpointConfig, EndpointStats, Refusal, Trust};
use crate::identity::SystemEntropy;
use crate::session::{Closed, code};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
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
}

impl SocketConfig {
    /// With usual buffers and all offloads.
    pub fn new(bind: SocketAddr, endpoint: EndpointConfig) -> Self {
        Self { bind, endpoint, buffer: Bytes::new(4 << 20), offload: Offload::Auto, clock: Clock::new() }
    }
}

/// The work that handles ask of the thread.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Pipes in which something was done.
    pub rung: Vec<Arc<Pipe>>,
    pub connects: Vec<(Connect, Arc<Pipe>)>,
    /// The clients that may connect from now on, where that has changed.
    pub trust: Option<Trust>,
    /// Everything is to be closed.
    pub shut: bool,
}

impl Work {
    /// There is nothing to do but to end, perhaps.
    pub fn is_none(&self) -> bool {
        self.rung.is_empty() && self.connects.is_empty() && self.trust.is_none()
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
const MOST_ARRIVALS: usize = 1024;

/// Clients that were turned away of which is kept until somebody asks.
const MOST_REFUSED: usize = 64;

impl Arrivals {
    /// A client was turned away.
    pub fn refuse(&mut self, refusal: Refusal) {
        if self.refused.len() < MOST_REFUSED {
            self.refused.push(refusal);
        } else {
            self.forgotten += 1;
        }
    }

    /// Makes room for one more. False where there is none.
    pub fn make_room(&mut self) -> bool {
        if self.queue.len() < MOST_ARRIVALS {
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
    /// The thread is gone.
    pub over: bool,
}

/// The state that handles and the thread share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Wakes the thread.
    pub bell: OwnedFd,
    /// The thread sleeps, or is about to.
    pub asleep: AtomicBool,
    pub work: Mutex<Work>,
    pub arrivals: Mutex<Arrivals>,
    pub arrived: Condvar,
    pub stats: Mutex<(EndpointStats, UdpStats)>,
    pub local: SocketAddr,
}

impl Shared {
    pub fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Wakes the thread if it sleeps.
    pub fn ring(&self) {
        if self.asleep.swap(false, Ordering::SeqCst) {
            // It fails only when the bell has been rung 2^64 times and not been heard.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// The socket's thread, which ends with the last handle.
#[derive(Debug)]
pub(super) struct Running {
    pub shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.work().shut = true;
        self.shared.ring();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// A connection that somebody waits for. Given up when nobody does any more.
struct Asked<'a> {
    pipe: Arc<Pipe>,
    shared: &'a Shared,
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
            self.shared.work().rung.push(Arc::clone(&self.pipe));
            self.shared.ring();
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
    /// Binds a socket and starts its thread.
    ///
    /// # Errors
    /// What the system says: the address is taken, or not of this host.
    pub fn bind(config: SocketConfig) -> io::Result<Self> {
        let (shared, driver) = Self::prepare(config)?;
        let thread = std::thread::Builder::new().name("thalweg-udp".into()).spawn(move || driver.run())?;
        Ok(Self { running: Arc::new(Running { shared, thread: Some(thread) }) })
    }

    /// A bound socket, and what its thread will run.
    fn prepare(config: SocketConfig) -> io::Result<(Arc<Shared>, Driver)> {
        let SocketConfig { bind, endpoint, buffer, offload, clock } = config;
        let buffer = usize::try_from(buffer.get()).unwrap_or(usize::MAX);
        let udp = Udp::bind(bind, buffer, offload)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared {
            bell,
            asleep: AtomicBool::new(false),
            work: Mutex::default(),
            arrivals: Mutex::default(),
            arrived: Condvar::new(),
            stats: Mutex::default(),
            local: udp.local()?,
        });
        let place = endpoint.listen.is_some().then(|| place(shared.local));
        let endpoint = EndpointConfig { place, ..endpoint };
        let endpoint = Endpoint::new(clock.now(), endpoint, Box::new(SystemEntropy::new()));
        let driver = Driver::new(Arc::clone(&shared), udp, endpoint, clock);
        Ok((shared, driver))
    }

    /// The address that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.running.shared.local
    }

    /// Counters of the endpoint and of the socket.
    pub fn stats(&self) -> (EndpointStats, UdpStats) {
        *self.running.shared.stats.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The clients that may connect from now on. Connections that there are stay.
    pub fn set_trust(&self, trust: Trust) {
        self.running.shared.work().trust = Some(trust);
        self.running.shared.ring();
    }

    /// The clients that were turned away since the last call: at most 64 of them, and the number of the others.
    pub fn refused(&self) -> (Vec<Refusal>, u64) {
        let mut arrivals = self.running.shared.arrivals();
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
        let pipe = Pipe::new(None, Opening::Waiting);
        let shared = &self.running.shared;
        shared.work().connects.push((connect, Arc::clone(&pipe)));
        if shared.arrivals().over {
            // Nobody looks at it any more.
            pipe.lock().closed.get_or_insert(Closed::Here);
        }
        shared.ring();
        Asked { pipe, shared: &self.running.shared, is_settled: false }
    }

    /// The next connection that a client makes.
    ///
    /// # Errors
    /// [`NetError::Over`] once the socket's thread has ended.
    pub fn accept(&self) -> Result<Connection, NetError> {
        let shared = &self.running.shared;
        let mut arrivals = shared.arrivals();
        loop {
            if let Some(Arrived { pipe, .. }) = arrivals.queue.pop_front() {
                drop(arrivals);
                return Connection::opened(&self.running, pipe);
            }
            if arrivals.over {
                return Err(NetError::Over);
            }
            arrivals = shared.arrived.wait(arrivals).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// [`Socket::accept`], for so long at most; `None` when nobody came.
    ///
    /// # Errors
    /// [`NetError::Over`] once the socket's thread has ended.
    pub fn accept_within(&self, span: std::time::Duration) -> Result<Option<Connection>, NetError> {
        let shared = &self.running.shared;
        let arrivals = shared.arrivals();
        let waiting = |arrivals: &mut Arrivals| arrivals.queue.is_empty() && !arrivals.over;
        let (mut arrivals, _) = shared
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
    /// [`NetError::Over`] once the socket's thread has ended.
    pub async fn accept_async(&self) -> Result<Connection, NetError> {
        let shared = &self.running.shared;
        let pipe = poll_fn(|context| {
            let mut arrivals = shared.arrivals();
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
    use crate::endpoint::Listen;
    use crate::identity::Identity;
    use thalweg_proto::units::{Duration, Time};

    fn listening(clock: Clock) -> SocketConfig {
        let listen = Some(Listen::new(Trust::Anyone, ["test"]));
        let endpoint = EndpointConfig { listen, ..EndpointConfig::client(Identity::from_secret([1; 32])) };
        SocketConfig { clock, ..SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint) }
    }

    /// A thread that is stopped once it has read the clock: what comes meanwhile came later than that.
    #[test]
    fn what_comes_while_the_thread_is_stopped_came_then() {
        let (clock, jumps) = Clock::that_jumps();
        let (shared, mut driver) = Socket::prepare(listening(clock.clone())).unwrap();
        let mut now = clock.now();
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"anything", shared.local).unwrap();
        jumps.ahead(Duration::from_secs(1));
        while !driver.receive(&mut now) {
            std::thread::yield_now();
        }
        assert!(now >= Time::ZERO + Duration::from_secs(1), "{now:?}");
    }

    /// The effect of a panic of the thread: its state is dropped.
    #[test]
    fn nobody_waits_for_a_thread_that_is_gone() {
        let (shared, driver) = Socket::prepare(listening(Clock::new())).unwrap();
        let socket = Socket { running: Arc::new(Running { shared, thread: None }) };
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
            while socket.running.shared.work().connects.is_empty() {
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
