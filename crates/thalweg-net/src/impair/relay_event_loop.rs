//! Event loop and sockets of the impairing relay.

use super::{DelayedDatagram, DirectionSpec, LinkDirection, LinkDirectionStats};
use crate::live::Clock;
use crate::normalised_address::unmap_ipv4;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Time};

/// Configuration of a relay.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// Listening address for clients.
    pub listen: SocketAddr,
    /// Address of the server.
    pub to: SocketAddr,
    /// Impairment towards the server.
    pub up: DirectionSpec,
    /// Impairment towards the clients.
    pub down: DirectionSpec,
    /// Seed of all random streams.
    pub seed: u64,
    /// Times of NAT rebinding, counted from the first datagram. The relay then uses new ports towards the server, like
    /// a NAT that lost its state.
    pub rebinds: Vec<Duration>,
    /// Duration of the relay, counted from its start; `None` means no limit.
    pub duration: Option<Duration>,
}

/// Counters of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayStats {
    /// Counters of the direction to the server.
    pub up: LinkDirectionStats,
    /// Counters of the direction to the clients.
    pub down: LinkDirectionStats,
    /// Number of clients seen.
    pub clients: u64,
    /// Number of address changes.
    pub rebinds: u64,
    /// Datagrams dropped by a full socket buffer, refused by a host, or sent by clients beyond the maximum.
    pub unsent: u64,
}

/// Relay with its sockets.
#[derive(Debug)]
pub struct Relay {
    config: RelayConfig,
    clock: Clock,
    socket: Port,
    up: LinkDirection,
    down: LinkDirection,
    clients: HashMap<u64, Client>,
    by_address: HashMap<SocketAddr, u64>,
    next_client: u64,
    first: Option<Time>,
    rebound: usize,
    stats: RelayStats,
    buffers: Vec<Vec<u8>>,
}

/// Client, with its socket towards the server.
#[derive(Debug)]
struct Client {
    address: SocketAddr,
    /// Local address to which the client sent.
    local: Option<IpAddr>,
    port: Port,
    last: Time,
}

#[derive(Debug)]
struct Port {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// Maximum number of clients at a time.
const MAX_CLIENTS: usize = 256;
/// Idle time after which a client may be evicted if there are too many.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Receive buffers per system call; each holds coalesced datagrams (GRO).
const BUFFERS_PER_CALL: usize = 8;
/// Size of a receive buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 16;
/// Requested socket buffer size, in bytes; absorbs bursts while the relay is busy.
const SOCKET_BUFFER: usize = 4 << 20;
/// Maximum delay before a stop is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Relay {
    /// Binds the socket for clients.
    ///
    /// # Errors
    ///
    /// Returns an error if the address cannot be bound.
    pub fn bind(config: RelayConfig) -> io::Result<Self> {
        let socket = Port::bind(config.listen)?;
        Ok(Self {
            up: LinkDirection::new(&config.up, config.seed, 0),
            down: LinkDirection::new(&config.down, config.seed, 1),
            clock: Clock::new(),
            socket,
            clients: HashMap::new(),
            by_address: HashMap::new(),
            next_client: 0,
            first: None,
            rebound: 0,
            stats: RelayStats::default(),
            buffers: vec![vec![0; BUFFER_BYTES]; BUFFERS_PER_CALL],
            config,
        })
    }

    /// Returns the listening address for clients.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.socket.local_addr()
    }

    /// Relays until `stop` is set or the duration is over. Returns the counters.
    ///
    /// # Errors
    ///
    /// Returns an error if a socket fails permanently. Errors of single datagrams are counted.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<RelayStats> {
        self.config.rebinds.sort_unstable();
        let end = self.config.duration.map_or(Time::MAX, |duration| self.clock.now() + duration);
        loop {
            let now = self.clock.now();
            if now >= end || stop.load(Ordering::Relaxed) {
                return Ok(RelayStats { up: self.up.stats(), down: self.down.stats(), ..self.stats });
            }
            self.rebind(now)?;
            self.forward(now);
            self.wait(end)?;
            self.receive()?;
            if let Some(violation) = [&self.up, &self.down].into_iter().find_map(LinkDirection::violation) {
                return Err(io::Error::other(violation.to_string()));
            }
        }
    }

    /// Sends the datagrams that have passed a line.
    fn forward(&mut self, now: Time) {
        while let Some(datagram) = self.up.poll(now) {
            let sent = self
                .clients
                .get(&datagram.flow)
                .map(|client| client.port.send(&datagram, self.config.to, None));
            self.stats.unsent += u64::from(sent != Some(true));
        }
        while let Some(datagram) = self.down.poll(now) {
            let client = self.clients.get(&datagram.flow);
            let sent = client.map(|client| self.socket.send(&datagram, client.address, client.local));
            self.stats.unsent += u64::from(sent != Some(true));
        }
    }

    /// Waits for a datagram, or until one has passed a line.
    fn wait(&self, end: Time) -> io::Result<()> {
        let now = self.clock.now();
        let rebind = self.first.and_then(|first| Some(first + *self.config.rebinds.get(self.rebound)?));
        let next = [self.up.next(), self.down.next(), rebind].into_iter().flatten().min();
        let span = next.unwrap_or(end).min(end).since(now).min(POLL_INTERVAL);
        let mut fds = vec![PollFd::from_borrowed_fd(self.socket.socket.as_fd(), PollFlags::IN)];
        let ports = self.clients.values().map(|client| client.port.socket.as_fd());
        fds.extend(ports.map(|port| PollFd::from_borrowed_fd(port, PollFlags::IN)));
        // At most 50 ms.
        let span = Timespec { tv_sec: 0, tv_nsec: span.as_picos().div_ceil(1000) as i64 };
        match poll(&mut fds, Some(&span)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Receives one batch from each socket.
    fn receive(&mut self) -> io::Result<()> {
        let mut arrivals = Vec::new();
        self.socket.receive(&mut self.buffers, |meta, bytes| arrivals.push((meta, bytes.to_vec())))?;
        let now = self.clock.now();
        if !arrivals.is_empty() && self.first.is_none() {
            self.first = Some(now);
            self.up.begin(now);
            self.down.begin(now);
        }
        for (meta, bytes) in arrivals.drain(..) {
            match self.client(now, &meta)? {
                Some(flow) => self.up.arrive(now, delayed_datagram(&meta, bytes, flow)),
                None => self.stats.unsent += 1,
            }
        }
        let to = self.config.to;
        for (&flow, client) in &self.clients {
            client.port.receive(&mut self.buffers, |meta, bytes| {
                // The port accepts datagrams from any source.
                if unmap_ipv4(meta.addr) == to {
                    arrivals.push((meta, bytes.to_vec()));
                }
            })?;
            let now = self.clock.now();
            for (meta, bytes) in arrivals.drain(..) {
                self.down.arrive(now, delayed_datagram(&meta, bytes, flow));
            }
        }
        Ok(())
    }

    /// Returns the client with that address, created if new; `None` if there are too many.
    fn client(&mut self, now: Time, meta: &RecvMeta) -> io::Result<Option<u64>> {
        let address = unmap_ipv4(meta.addr);
        if let Some(&flow) = self.by_address.get(&address) {
            if let Some(client) = self.clients.get_mut(&flow) {
                (client.last, client.local) = (now, meta.dst_ip);
            }
            return Ok(Some(flow));
        }
        if self.clients.len() >= MAX_CLIENTS {
            self.clients.retain(|_, client| now.since(client.last) < IDLE_TIMEOUT);
            self.by_address.retain(|_, flow| self.clients.contains_key(flow));
            if self.clients.len() >= MAX_CLIENTS {
                return Ok(None);
            }
        }
        let flow = self.next_client;
        let port = Port::bind(any_port(self.config.to))?;
        self.next_client += 1;
        self.stats.clients += 1;
        self.clients.insert(flow, Client { address, local: meta.dst_ip, port, last: now });
        self.by_address.insert(address, flow);
        Ok(Some(flow))
    }

    /// Rebinds clients to new ports when due.
    fn rebind(&mut self, now: Time) -> io::Result<()> {
        let Some(first) = self.first else { return Ok(()) };
        while let Some(&at) = self.config.rebinds.get(self.rebound)
            && now >= first + at
        {
            self.rebound += 1;
            self.stats.rebinds += 1;
            for client in self.clients.values_mut() {
                client.port = Port::bind(any_port(self.config.to))?;
            }
        }
        Ok(())
    }
}

fn delayed_datagram(meta: &RecvMeta, bytes: Vec<u8>, flow: u64) -> DelayedDatagram {
    DelayedDatagram {
        bytes,
        header: if unmap_ipv4(meta.addr).is_ipv4() { 28 } else { 48 },
        flow,
        ecn: Ecn::from_bits(meta.ecn.map_or(0, |codepoint| codepoint as u8)),
    }
}

/// Returns the unspecified address, with any port, of the family of `to`.
fn any_port(to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

impl Port {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        // The host clamps the size without an error.
        socket.set_send_buffer_size(SOCKET_BUFFER)?;
        socket.set_recv_buffer_size(SOCKET_BUFFER)?;
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket, state })
    }

    /// Sends a datagram. Returns true on success.
    fn send(&self, datagram: &DelayedDatagram, destination: SocketAddr, source: Option<IpAddr>) -> bool {
        let ecn = EcnCodepoint::from_bits(datagram.ecn.bits());
        let transmit =
            Transmit { destination, ecn, contents: &datagram.bytes, segment_size: None, src_ip: source };
        self.state.try_send((&self.socket).into(), &transmit).is_ok()
    }

    /// Receives one batch, and passes it on datagram by datagram.
    fn receive(&self, buffers: &mut [Vec<u8>], mut take: impl FnMut(RecvMeta, &[u8])) -> io::Result<()> {
        let mut metas = [RecvMeta::default(); BUFFERS_PER_CALL];
        let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let count = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
            Ok(count) => count,
            // Nothing to receive, or an ICMP error for a sent datagram.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionRefused | ErrorKind::Interrupted
                ) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for (meta, buffer) in metas.iter().take(count).zip(buffers.iter()) {
            if meta.len == 0 {
                take(*meta, &[]);
            }
            for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
                take(*meta, bytes);
            }
        }
        Ok(())
    }
}
