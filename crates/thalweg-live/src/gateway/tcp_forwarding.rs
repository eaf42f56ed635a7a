//! TCP forwarding: connections that terminate here and continue in the real network, byte for byte.
//!
//! A program's SYN waits until the real target has answered; a refusal there is repeated here. The SYN then passes to
//! the system's TCP in the gateway's namespace, where a socket listens at the target's address for this connection.

use super::socket_passing::SocketKind;
use super::{ConnectionAddresses, Forwarder, SocketKey, address_family, open_transparent_socket};
use crate::router_icmp::IcmpError;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect, getsockname,
    listen, recv, send, shutdown, sockopt,
};
use socket2::SockRef;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use thalweg_proto::transport::Signal;

/// Timeout for programs that do not continue their handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 8192;
/// Limit of unsent data in sockets to the real network, in bytes: small, for gates here to take effect quickly.
const LOW_WATER_MARK: u32 = 64 << 10;
/// Maximum read and write steps per connection and turn.
const MAX_STEPS: usize = 8;

/// Pending connection to a real target.
#[derive(Debug)]
pub(super) struct Connecting {
    outer: OwnedFd,
    /// The program's SYN.
    packet: Vec<u8>,
    ends: ConnectionAddresses,
}

/// Listening socket for programs' connections.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    place: SocketAddr,
    /// Connected outer sockets by the program's address.
    connected_sockets: HashMap<SocketAddr, (OwnedFd, Instant)>,
}

/// A split connection: inner socket to the program, outer socket to the real network.
#[derive(Debug)]
pub(super) struct Pair {
    sockets: [OwnedFd; 2],
    /// Outgoing and incoming direction.
    directions: [RelayDirection; 2],
    watched: [EventFlags; 2],
    ends: ConnectionAddresses,
    /// Port of the outer socket, and its retransmission count at the last check.
    port: u16,
    again: u32,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct RelayDirection {
    /// Bytes not sent yet.
    unsent_bytes: Vec<u8>,
    /// True if the other socket has enough unsent data.
    is_full: bool,
    /// End of stream received, and passed on to the other socket.
    has_ended: bool,
    is_closed: bool,
}

/// Returns true if a socket accepts more data.
fn is_writable(socket: &OwnedFd) -> Result<bool, Errno> {
    let mut polled = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default()))?;
    Ok(!polled[0].revents().is_empty())
}

impl Pair {
    /// Moves available data; returns true once both directions have ended.
    fn step(&mut self, buffer: &mut [u8]) -> Result<bool, Errno> {
        for (number, direction) in self.directions.iter_mut().enumerate() {
            let (from, to) = (&self.sockets[number], &self.sockets[1 - number]);
            for _ in 0..MAX_STEPS {
                // A send would accept far more than the low-water mark.
                direction.is_full = !is_writable(to)?;
                if direction.is_full {
                    break;
                }
                if direction.unsent_bytes.is_empty() && !direction.has_ended {
                    match recv(from, &mut *buffer, RecvFlags::empty()) {
                        Ok((0, _)) => direction.has_ended = true,
                        Ok((length, _)) => direction.unsent_bytes.extend(&buffer[..length]),
                        Err(Errno::AGAIN | Errno::INTR) => break,
                        Err(error) => return Err(error),
                    }
                }
                if direction.unsent_bytes.is_empty() {
                    break;
                }
                match send(to, &direction.unsent_bytes, SendFlags::NOSIGNAL) {
                    Ok(sent) if sent == direction.unsent_bytes.len() => direction.unsent_bytes.clear(),
                    Ok(sent) => drop(direction.unsent_bytes.drain(..sent)),
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Err(error) => return Err(error),
                }
            }
            if direction.has_ended && direction.unsent_bytes.is_empty() && !direction.is_closed {
                direction.is_closed = true;
                // The socket may already be closed.
                let _ = shutdown(to, Shutdown::Write);
            }
            if direction.unsent_bytes.is_empty() {
                direction.unsent_bytes.shrink_to(0);
            }
        }
        Ok(self.directions.iter().all(|direction| direction.is_closed))
    }

    /// Returns the events of interest for one of its sockets.
    fn wants(&self, side: usize) -> EventFlags {
        let mut flags = EventFlags::empty();
        let (here, back) = (&self.directions[side], &self.directions[1 - side]);
        flags.set(EventFlags::IN, here.unsent_bytes.is_empty() && !here.is_full && !here.has_ended);
        flags.set(EventFlags::OUT, !back.unsent_bytes.is_empty() || back.is_full && !back.is_closed);
        flags
    }

    /// Resets the connection at both ends.
    fn reset(&self) {
        for socket in &self.sockets {
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
    }
}

impl Forwarder {
    /// Handles a program's SYN.
    pub(super) fn open(&mut self, packet: Vec<u8>, ends: ConnectionAddresses) {
        let is_connecting = self.connecting.values().any(|other| other.ends == ends);
        if is_connecting {
            return;
        }
        let is_coming = self
            .listeners
            .values()
            .any(|other| other.place == ends.1 && other.connected_sockets.contains_key(&ends.0));
        if is_coming || self.pairs.values().any(|pair| pair.ends == ends) {
            return self.enter(&packet);
        }
        if self.connecting.len() + self.pairs.len() >= MAX_CONNECTIONS {
            return;
        }
        let target = self.real(ends.1);
        let made = self.socket_client.socket(SocketKind::Stream(address_family(target))).and_then(|outer| {
            sockopt::set_tcp_nodelay(&outer, true)?;
            sockopt::set_socket_keepalive(&outer, true)?;
            // Kernels without this option predate user namespaces.
            let _ = SockRef::from(&outer).set_tcp_notsent_lowat(LOW_WATER_MARK);
            match connect(&outer, &target) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(outer),
                Err(error) => Err(error),
            }
        });
        match made {
            Ok(outer) => {
                let number = self.number();
                self.watch(&outer, SocketKey::Connecting, number, EventFlags::OUT);
                self.connecting.insert(number, Connecting { outer, packet, ends });
            }
            Err(error) => self.refuse(&packet, error),
        }
    }

    /// Handles the outcome of a connection attempt to a real target.
    pub(super) fn answered(&mut self, number: u64) {
        let Some(Connecting { outer, packet, ends }) = self.connecting.remove(&number) else { return };
        self.unwatch(&outer);
        let error = sockopt::socket_error(&outer).unwrap_or_else(Err);
        let ready = error.and_then(|()| self.listen(ends.1));
        match ready {
            Ok(listener) => {
                if let Some(listener) = self.listeners.get_mut(&listener) {
                    listener.connected_sockets.insert(ends.0, (outer, Instant::now()));
                }
                self.enter(&packet);
            }
            Err(error) => self.refuse(&packet, error),
        }
    }

    /// Reports to a program why there is no connection.
    fn refuse(&mut self, packet: &[u8], error: Errno) {
        match error {
            // The address has no listener in the namespace either: the system sends the RST.
            Errno::CONNREFUSED | Errno::CONNRESET => self.enter(packet),
            // Silence has the same effect.
            Errno::TIMEDOUT => {}
            _ => self.send_icmp(IcmpError::NoRoute, packet),
        }
    }

    /// Returns the listener at an address, created if missing.
    fn listen(&mut self, place: SocketAddr) -> Result<u64, Errno> {
        if let Some((number, _)) = self.listeners.iter().find(|(_, listener)| listener.place == place) {
            return Ok(*number);
        }
        let socket = open_transparent_socket(SocketType::STREAM, place)?;
        bind(&socket, &place)?;
        listen(&socket, 256)?;
        let number = self.number();
        self.watch(&socket, SocketKey::Listener, number, EventFlags::IN);
        self.listeners.insert(number, Listener { socket, place, connected_sockets: HashMap::new() });
        Ok(number)
    }

    /// Accepts programs' connections.
    pub(super) fn accept(&mut self, number: u64) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Some(listener) = self.listeners.get_mut(&number) {
            let Ok((socket, from)) = acceptfrom_with(&listener.socket, flags) else { break };
            let from = from.and_then(|from| SocketAddr::try_from(from).ok());
            let waiting = from.and_then(|from| Some((from, listener.connected_sockets.remove(&from)?)));
            let place = listener.place;
            match waiting {
                Some((from, (outer, _))) => self.pair([socket, outer], (from, place)),
                None => {
                    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
                }
            }
        }
        self.end_listener(number);
    }

    /// Closes an unused listener.
    fn end_listener(&mut self, number: u64) {
        if self.listeners.get(&number).is_some_and(|listener| listener.connected_sockets.is_empty())
            && let Some(listener) = self.listeners.remove(&number)
        {
            self.unwatch(&listener.socket);
        }
    }

    fn pair(&mut self, sockets: [OwnedFd; 2], ends: ConnectionAddresses) {
        let _ = sockopt::set_tcp_nodelay(&sockets[0], true);
        let port = getsockname(&sockets[1]).ok().and_then(|name| SocketAddr::try_from(name).ok());
        let port = port.map_or(0, |name| name.port());
        let watched = [EventFlags::empty(); 2];
        let number = self.number();
        self.pairs
            .insert(number, Pair { sockets, directions: Default::default(), watched, ends, port, again: 0 });
        self.step(number);
    }

    /// Moves the data of a connection.
    pub(super) fn step(&mut self, number: u64) {
        let Some(pair) = self.pairs.get_mut(&number) else { return };
        let step = pair.step(&mut self.buffer);
        if step.is_err() {
            pair.reset();
        }
        if step.unwrap_or(true) {
            if let Some(pair) = self.pairs.remove(&number) {
                pair.sockets.iter().for_each(|socket| self.unwatch(socket));
            }
            return;
        }
        let Some(pair) = self.pairs.get(&number) else { return };
        let wanted = [pair.wants(0), pair.wants(1)];
        for (side, place) in [SocketKey::Inner, SocketKey::Outer].into_iter().enumerate() {
            if wanted[side] == pair.watched[side] {
                continue;
            }
            match (pair.watched[side].is_empty(), wanted[side].is_empty()) {
                (true, _) => self.watch(&pair.sockets[side], place, number, wanted[side]),
                // A socket without further interest would report its hang-up on every poll.
                (_, true) => self.unwatch(&pair.sockets[side]),
                _ => self.rewatch(&pair.sockets[side], place, number, wanted[side]),
            }
        }
        if let Some(pair) = self.pairs.get_mut(&number) {
            pair.watched = wanted;
        }
    }

    /// Removes programs that have given up.
    pub(super) fn expire_streams(&mut self, now: Instant) {
        let numbers: Vec<u64> = self.listeners.keys().copied().collect();
        for number in numbers {
            if let Some(listener) = self.listeners.get_mut(&number) {
                listener.connected_sockets.retain(|_, (_, since)| now - *since < HANDSHAKE_TIMEOUT);
            }
            self.end_listener(number);
        }
    }

    /// Reports retransmissions of outer sockets since the last check to gates.
    pub(super) fn poll_retransmissions(&mut self) {
        let Some(diagnostics) = &self.diagnostics else { return };
        if self.pairs.is_empty() {
            return;
        }
        let Ok(senders) = diagnostics.all() else { return };
        let again: HashMap<u16, u32> =
            senders.iter().map(|sender| (sender.from, sender.retransmissions)).collect();
        for pair in self.pairs.values_mut() {
            let Some(&count) = again.get(&pair.port) else { continue };
            if count > pair.again {
                self.signals
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .push((pair.ends, Signal::Loss));
            }
            pair.again = count;
        }
    }
}
