//! Connection establishment, with early detection of unreachable hosts.

use super::{Connection, NetError, Socket};
use crate::endpoint::Connect;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Polling interval for cancellation and refusals.
const TICK: Duration = Duration::from_millis(50);

/// Time after which a silent host is probed, and interval of the probes. Most hosts answer sooner.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(500);

/// Number of refusals before giving up. Refusals can be forged: this limits the effect, and a live receiver has
/// answered by then.
const REFUSALS: u32 = 2;
const MIN_CONNECT_TIME: Duration = Duration::from_secs(3);

/// Reason for a failed connection attempt.
#[derive(Debug)]
pub enum ConnectFailure {
    /// The error of the handshake.
    Net(NetError),
    /// The host reports a closed port, and there was no answer.
    Refused,
    /// The caller cancelled.
    Stopped,
}

/// Connects, and waits until the handshake is over, the host has refused or `stop` is set.
///
/// # Errors
/// Returns the reason for the failure.
pub fn reach(socket: &Socket, connect: Connect, stop: &AtomicBool) -> Result<Connection, ConnectFailure> {
    let (begun, remote) = (Instant::now(), connect.remote);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut connecting = pin!(socket.connect_async(connect));
    let mut probe = None;
    loop {
        if let Poll::Ready(connected) = connecting.as_mut().poll(&mut Context::from_waker(&waker)) {
            return connected.map_err(ConnectFailure::Net);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(ConnectFailure::Stopped);
        }
        if begun.elapsed() >= PROBE_INTERVAL {
            // Without a probe there are no refusals.
            let probe = probe.get_or_insert_with(|| Probe::new(remote).ok());
            let refusals = probe.as_mut().map_or(0, Probe::refusals);
            if refusals >= REFUSALS && begun.elapsed() >= MIN_CONNECT_TIME {
                return Err(ConnectFailure::Refused);
            }
        }
        thread::park_timeout(TICK);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Probe with empty datagrams from a connected socket, which receives ICMP's "port unreachable" (RFC 1122, section
/// 4.1.3.3). Receivers ignore them.
struct Probe {
    socket: UdpSocket,
    sent: Option<Instant>,
    refusals: u32,
}

impl Probe {
    fn new(remote: SocketAddr) -> io::Result<Self> {
        let any = if remote.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(remote)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, sent: None, refusals: 0 })
    }

    /// Returns the number of refusals so far.
    fn refusals(&mut self) -> u32 {
        let mut count = |result: io::Result<usize>| {
            self.refusals +=
                u32::from(result.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused));
        };
        count(self.socket.recv(&mut []));
        if self.sent.is_none_or(|sent| sent.elapsed() >= AGAIN) {
            self.sent = Some(Instant::now());
            count(self.socket.send(&[]));
        }
        self.refusals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_where_nothing_listens_refuses_and_another_does_not() {
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        for (remote, is_refused) in [(there.local_addr().unwrap(), false), (gone, true)] {
            let mut probe = Probe::new(remote).unwrap();
            for _ in 0..3 {
                probe.refusals();
                probe.sent = None;
                thread::sleep(TICK);
            }
            assert_eq!(probe.refusals() >= REFUSALS, is_refused);
        }
    }
}
