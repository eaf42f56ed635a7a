//! State that a socket's handles share with the threads that serve it.

use super::connection_shared_state::Pipe;
use super::udp_offload_socket::UdpStats;
use crate::endpoint::{Connect, EndpointStats, Refusal, ShardMessage, Trust};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;
use std::thread::JoinHandle;

/// Work queued for a thread by handles and by other threads of the socket.
#[derive(Debug, Default)]
pub struct Work {
    /// Pipes with pending work.
    pub notified: Vec<Arc<Pipe>>,
    /// Requested connections.
    pub connects: Vec<(Connect, Arc<Pipe>)>,
    /// New set of accepted clients, if it has changed.
    pub trust: Option<Trust>,
    /// Datagrams forwarded by other threads, and their bytes.
    pub forwarded: Vec<ShardMessage>,
    pub forwarded_bytes: usize,
    /// True if all connections must close.
    pub close_all: bool,
}

/// Maximum bytes of queued forwarded datagrams: the default socket buffer. As there, excess datagrams are dropped.
const MAX_FORWARDED: usize = 4 << 20;

impl Work {
    /// Returns true if there is no pending work, except possibly the shutdown.
    pub fn is_empty(&self) -> bool {
        self.notified.is_empty()
            && self.connects.is_empty()
            && self.trust.is_none()
            && self.forwarded.is_empty()
    }

    /// Queues a message of another thread if there is room.
    fn pass(&mut self, message: ShardMessage) {
        if self.forwarded_bytes + message.size() <= MAX_FORWARDED {
            self.forwarded_bytes += message.size();
            self.forwarded.push(message);
        }
    }
}

/// Incoming connection in the accept queue.
#[derive(Debug)]
pub struct IncomingConnection {
    pub pipe: Arc<Pipe>,
    /// True if its key is trusted.
    pub is_trusted: bool,
}

/// Maximum length of the accept queue. Beyond it, closed unauthenticated connections are removed; otherwise new ones
/// are closed.
const MAX_ARRIVALS: usize = 1024;

/// Maximum number of stored refusals until the application reads them.
const MAX_REFUSED: usize = 64;

/// Incoming connections that are not accepted yet.
#[derive(Debug, Default)]
pub struct Arrivals {
    pub queue: VecDeque<IncomingConnection>,
    /// Refused clients, and the number of further ones without a record.
    pub refused_clients: Vec<Refusal>,
    pub unrecorded: u64,
    pub waker: Option<Waker>,
    /// True if a thread has ended.
    pub has_ended: bool,
}

impl Arrivals {
    /// Records a refused client.
    pub fn refuse(&mut self, refusal: Refusal) {
        if self.refused_clients.len() < MAX_REFUSED {
            self.refused_clients.push(refusal);
        } else {
            self.unrecorded += 1;
        }
    }

    /// Makes room for one more connection. Returns false if that is impossible.
    pub fn make_room(&mut self) -> bool {
        if self.queue.len() < MAX_ARRIVALS {
            return true;
        }
        let is_removable =
            |arrived: &IncomingConnection| !arrived.is_trusted && arrived.pipe.lock().closed.is_some();
        let Some(place) = self.queue.iter().position(is_removable) else { return false };
        self.queue.remove(place);
        true
    }
}

/// Accept queue, filled by all threads of a socket.
#[derive(Debug, Default)]
pub struct AcceptQueue {
    arrivals: Mutex<Arrivals>,
    pub arrived: Condvar,
}

impl AcceptQueue {
    pub fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// State shared by the handles of the socket and one of its threads.
#[derive(Debug)]
pub struct SocketThreadState {
    /// Event file descriptor that wakes the thread.
    pub wake_fd: OwnedFd,
    /// True while the thread sleeps or is about to.
    pub asleep: AtomicBool,
    pub work: Mutex<Work>,
    pub accept_queue: Arc<AcceptQueue>,
    pub stats: Mutex<(EndpointStats, UdpStats)>,
    pub local: SocketAddr,
}

impl SocketThreadState {
    pub fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Forwards a message from another thread to this one.
    pub fn pass(&self, message: ShardMessage) {
        self.work().pass(message);
        self.wake();
    }

    /// Wakes the thread if it sleeps.
    pub fn wake(&self) {
        if self.asleep.swap(false, Ordering::SeqCst) {
            // The write fails only after 2^64 unread wake-ups.
            let _ = rustix::io::write(&self.wake_fd, &1u64.to_ne_bytes());
        }
    }
}

/// Threads of a socket, shared by its handles; dropping the last handle ends them.
#[derive(Debug)]
pub struct SocketThreads {
    /// State shared with each thread, at least one.
    pub shards: Vec<Arc<SocketThreadState>>,
    pub accept_queue: Arc<AcceptQueue>,
    pub threads: Vec<JoinHandle<()>>,
    /// Number of started connection attempts; they are assigned to threads in turn.
    pub next_shard: AtomicUsize,
}

impl SocketThreads {
    /// Notifies the thread of a pipe of pending work.
    pub fn wake(&self, pipe: &Arc<Pipe>) {
        let shared = &self.shards[pipe.shard];
        shared.work().notified.push(Arc::clone(pipe));
        shared.wake();
    }
}

impl Drop for SocketThreads {
    fn drop(&mut self) {
        for shared in &self.shards {
            shared.work().close_all = true;
            shared.wake();
        }
        for thread in self.threads.drain(..) {
            // The message of a panic is already printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Arrival;

    #[test]
    fn forwarded_datagrams_are_bounded_to_4_mib() {
        let mut work = Work::default();
        let arrival = Arrival { from: "192.0.2.1:9".parse().unwrap(), ecn: thalweg_proto::Ecn::NotEct };
        let pass = |work: &mut Work, size| {
            work.pass(ShardMessage::Datagrams { arrival, stride: 1000, bytes: vec![7; size] });
        };
        (0..5000).for_each(|_| pass(&mut work, 1000));
        assert_eq!((work.forwarded.len(), work.forwarded_bytes), ((4 << 20) / 1000, (4 << 20) / 1000 * 1000));
        // A large message is dropped; a small one still fits.
        pass(&mut work, 100_000);
        pass(&mut work, 100);
        assert_eq!(work.forwarded.len(), (4 << 20) / 1000 + 1);
    }
}
