//! Connection establishment, with early detection of unreachable hosts, and detection of ended peers.

use super::{Connection, NetError, Socket};
use crate::endpoint::{Connect, ConnectError};
use crate::session::SessionStats;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Polling interval for cancellation and refusals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time after which a silent host is probed, and interval of the probes. Most hosts answer sooner.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Number of refusals before giving up. Refusals can be forged: this limits the effect, and a live receiver has
/// answered by then.
const MAX_REFUSALS: u32 = 2;
/// Number of consecutive sends refused by this host before giving up: an interface may be about to come up.
const SEND_ERRORS: u32 = 3;
const MIN_CONNECT_TIME: Duration = Duration::from_secs(3);

/// Time without a packet of a connected peer after which its host is probed, and minimum number of packets sent in it:
/// retransmissions or pings. Peers answer sooner, unless the path is broken.
const MIN_SILENCE: Duration = Duration::from_secs(3);
const MIN_UNANSWERED: u64 = 3;
/// Interval of these probes. Linux sends one "port unreachable" a second to a host (`icmp_ratelimit`).
const CONNECTED_PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Number of refusals without a packet of the peer in between, after which the peer has ended. A forger has to prevent
/// the peer's packets for seconds, and does the same harm by that alone.
const CONNECTED_REFUSALS: u32 = 3;

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
pub fn connect_reachable(
    socket: &Socket,
    connect: Connect,
    stop: &AtomicBool,
) -> Result<Connection, ConnectFailure> {
    let (begun, remote) = (Instant::now(), connect.remote);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut connecting = pin!(socket.connect_async(connect));
    let mut probe = Probe::new(remote, RETRY_INTERVAL);
    loop {
        if let Poll::Ready(connected) = connecting.as_mut().poll(&mut Context::from_waker(&waker)) {
            return connected.map_err(ConnectFailure::Net);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(ConnectFailure::Stopped);
        }
        if begun.elapsed() >= PROBE_INTERVAL {
            let refusals = probe.refusals(Instant::now());
            if begun.elapsed() >= MIN_CONNECT_TIME {
                if refusals >= MAX_REFUSALS {
                    return Err(ConnectFailure::Refused);
                }
                if let Some(number) = probe.persistent_send_error() {
                    return Err(ConnectFailure::Net(NetError::Connect(ConnectError::Unsendable(number))));
                }
            }
        }
        thread::park_timeout(POLL_INTERVAL);
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
#[derive(Debug)]
struct Probe {
    remote: SocketAddr,
    /// The connected socket, once there is a route.
    socket: Option<UdpSocket>,
    interval: Duration,
    sent: Option<Instant>,
    refusals: u32,
    /// Error number and count of the last consecutive sends that this host refused.
    send_errors: Option<(i32, u32)>,
}

impl Probe {
    const fn new(remote: SocketAddr, interval: Duration) -> Self {
        Self { remote, socket: None, interval, sent: None, refusals: 0, send_errors: None }
    }

    fn connected_socket(remote: SocketAddr) -> io::Result<UdpSocket> {
        let any = if remote.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(remote)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Returns the number of refusals so far.
    fn refusals(&mut self, now: Instant) -> u32 {
        let is_refusal = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        let received = self.socket.as_ref().map(|socket| socket.recv(&mut []));
        self.refusals +=
            u32::from(received.is_some_and(|received| received.is_err_and(|error| is_refusal(&error))));
        if self.sent.is_none_or(|sent| now.saturating_duration_since(sent) >= self.interval) {
            self.sent = Some(now);
            match self.send() {
                Err(error) if is_refusal(&error) => self.refusals += 1,
                Err(error) => {
                    let count = self.send_errors.map_or(0, |(_, count)| count);
                    self.send_errors = error.raw_os_error().map(|number| (number, count + 1));
                }
                Ok(_) => self.send_errors = None,
            }
        }
        self.refusals
    }

    fn send(&mut self) -> io::Result<usize> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            // Fails without a route.
            None => Self::connected_socket(self.remote)?,
        };
        self.socket.insert(socket).send(&[])
    }

    /// Returns the error number if this host has refused the last sends.
    fn persistent_send_error(&self) -> Option<i32> {
        self.send_errors.filter(|(_, count)| *count >= SEND_ERRORS).map(|(number, _)| number)
    }
}

/// Detects that a connected peer has ended: it is silent, and its host reports a closed port.
#[derive(Debug)]
pub struct ClosedPortDetector {
    remote: SocketAddr,
    /// Packets received so far.
    received: u64,
    /// Time and number of sent packets when the last of them was noticed.
    since: Option<(Instant, u64)>,
    probe: Option<Probe>,
}

impl ClosedPortDetector {
    /// Creates a detector for a connection to `remote`.
    pub const fn new(remote: SocketAddr) -> Self {
        Self { remote, received: 0, since: None, probe: None }
    }

    /// Returns true if the peer has ended. Expects current counters of the connection several times a second.
    pub fn has_ended(&mut self, now: Instant, stats: &SessionStats) -> bool {
        let (since, sent) = match self.since {
            Some(since) if self.received == stats.packets_received => since,
            _ => {
                self.received = stats.packets_received;
                self.since = Some((now, stats.packets_sent));
                self.probe = None;
                return false;
            }
        };
        let is_silent = now.saturating_duration_since(since) >= MIN_SILENCE;
        if !is_silent || stats.packets_sent.saturating_sub(sent) < MIN_UNANSWERED {
            return false;
        }
        let probe = self.probe.get_or_insert_with(|| Probe::new(self.remote, CONNECTED_PROBE_INTERVAL));
        probe.refusals(now) >= CONNECTED_REFUSALS
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
            let mut probe = Probe::new(remote, Duration::ZERO);
            for _ in 0..3 {
                probe.refusals(Instant::now());
                thread::sleep(POLL_INTERVAL);
            }
            assert_eq!(probe.refusals(Instant::now()) >= MAX_REFUSALS, is_refused);
            assert_eq!(probe.persistent_send_error(), None);
        }
    }

    /// Without `SO_BROADCAST`, the kernel refuses this destination, as it does those without a route.
    #[test]
    fn a_host_that_cannot_send_says_why() {
        let mut probe = Probe::new("255.255.255.255:9".parse().unwrap(), Duration::ZERO);
        for _ in 1..SEND_ERRORS {
            assert_eq!((probe.refusals(Instant::now()), probe.persistent_send_error()), (0, None));
        }
        probe.refusals(Instant::now());
        let number = probe.persistent_send_error().unwrap();
        let text = NetError::Connect(ConnectError::Unsendable(number)).to_string();
        assert_eq!(text, format!("this host cannot send to it: {}", io::Error::from_raw_os_error(number)));
        // The route has come back.
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        probe.remote = there.local_addr().unwrap();
        probe.refusals(Instant::now());
        assert_eq!(probe.persistent_send_error(), None);
    }

    /// Returns the time in milliseconds after which a peer at `remote` has ended, if it has within 20 s. `received` and
    /// `sent` give the counters at a time.
    fn end_time(remote: SocketAddr, received: fn(u64) -> u64, sent: fn(u64) -> u64) -> Option<u64> {
        let begun = Instant::now();
        let mut detector = ClosedPortDetector::new(remote);
        (0..100).map(|update| 200 * update).find(|&millis| {
            let (packets_received, packets_sent) = (received(millis), sent(millis));
            let stats = SessionStats { packets_received, packets_sent, ..SessionStats::default() };
            let has_ended = detector.has_ended(begun + Duration::from_millis(millis), &stats);
            // The host reports within this time.
            if detector.probe.is_some() {
                thread::sleep(Duration::from_millis(2));
            }
            has_ended
        })
    }

    #[test]
    fn a_silent_peer_with_a_closed_port_has_ended() {
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        let open = there.local_addr().unwrap();
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let seconds = |millis| millis / 1000;
        let took = end_time(closed, |_| 9, seconds).unwrap();
        assert!((5000..=6000).contains(&took), "{took}");
        // An outage of the path, as far as can be known.
        assert_eq!(end_time(open, |_| 9, seconds), None);
        // Refusals are forged, and the peer answers every fourth second, or nothing is sent that it could answer.
        assert_eq!(end_time(closed, |millis| millis / 4000, seconds), None);
        assert_eq!(end_time(closed, |_| 9, |_| 2), None);
    }
}
