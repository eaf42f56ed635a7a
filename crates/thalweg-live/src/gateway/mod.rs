//! Gateway from a live network to the real one, without privileges: forwards traffic to addresses outside the plan
//! through sockets of this host.
//!
//! The gateway is a node with its own namespace, where every address is local: the system's TCP and UDP there terminate
//! all traffic of its device. A thread copies between those sockets and others, [lent](serve_sockets()) by a process in the real
//! network. TCP is thus split into two connections, both with all features of the system's TCP; datagrams are forwarded
//! one by one; ICMP echo is repeated through an echo socket.
//!
//! The address of the gateway stands for this host: its services at 127.0.0.1 and ::1, and at port 53 its name server.

mod icmp_echo;
mod socket_passing;
mod tcp_forwarding;
mod udp_forwarding;

pub use socket_passing::{SocketClient, control_socket_pair, receive_fd, send_fd, serve_sockets};

use crate::host::{Host, HostError, Sockets};
use crate::ip_header::{Header, ICMP, ICMP6, TCP, UDP};
use crate::network_plan::Plan;
use crate::router_icmp::{IcmpError, icmp_error_message};
use crate::tcp_headers::Segment;
use crate::tun_queue::Port;
use icmp_echo::EchoClient;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use socket_passing::SocketKind;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tcp_forwarding::{Connecting, Listener, Pair};
use thalweg_proto::transport::Signal;
use udp_forwarding::DatagramRelay;

/// A program's address and its target's address.
pub(crate) type ConnectionAddresses = (SocketAddr, SocketAddr);

/// Capacity of the packet queue.
const PACKET_QUEUE_CAPACITY: usize = 1024;
/// Interval between checks for expired state.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);
/// Interval between queries for TCP retransmissions.
const LOSS_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum events per poll.
const EVENTS: usize = 64;
/// DNS port.
const DNS: u16 = 53;

/// Packet interface of the gateway: inspects the packets that pass through it.
#[derive(Debug)]
pub struct GatewayTap {
    addresses: [IpAddr; 2],
    /// Endpoint pairs that already have UDP sockets.
    known_connections: KnownConnections,
    packets: SyncSender<Vec<u8>>,
    wake: UnixDatagram,
    signals: Signals,
}

type KnownConnections = Arc<Mutex<HashSet<ConnectionAddresses>>>;
type Signals = Arc<Mutex<Vec<(ConnectionAddresses, Signal)>>>;

impl GatewayTap {
    /// Takes a packet that the gateway handles itself, and returns true; other packets go to the device of the
    /// namespace.
    pub(crate) fn keeps(&self, bytes: &[u8]) -> bool {
        let Some(header) = Header::parse(bytes).filter(|header| !header.is_later_fragment) else {
            return false;
        };
        let keeps = match header.protocol {
            TCP => Segment::parse(bytes, &header).is_some_and(|segment| segment.is_first()),
            UDP => !self
                .known_connections
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&connection_addresses(&header)),
            ICMP => {
                bytes.get(header.transport_offset) == Some(&8) && !self.addresses.contains(&header.target)
            }
            ICMP6 => {
                bytes.get(header.transport_offset) == Some(&128) && !self.addresses.contains(&header.target)
            }
            _ => false,
        };
        // A full queue drops, as in any router.
        if keeps && self.packets.try_send(bytes.to_vec()).is_ok() {
            // If the wake socket is full, a wake-up is already pending.
            let _ = self.wake.send(&[0]);
        }
        keeps
    }

    /// Returns the congestion signals of connections in the real network since the last call.
    pub(crate) fn signals(&self) -> Vec<(ConnectionAddresses, Signal)> {
        core::mem::take(&mut *self.signals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn connection_addresses(header: &Header) -> ConnectionAddresses {
    (SocketAddr::new(header.source, header.ports[0]), SocketAddr::new(header.target, header.ports[1]))
}

fn address_family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// Returns a socket of the namespace that can bind to any address.
fn open_transparent_socket(kind: SocketType, place: SocketAddr) -> Result<OwnedFd, Errno> {
    let socket =
        socket_with(address_family(place), kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    match place {
        SocketAddr::V4(_) => sockopt::set_ip_freebind(&socket, true)?,
        SocketAddr::V6(_) => {
            sockopt::set_ipv6_v6only(&socket, true)?;
            sockopt::set_ipv6_freebind(&socket, true)?;
        }
    }
    Ok(socket)
}

/// Key of a watched socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketKey {
    Wake,
    Connecting,
    Listener,
    Inner,
    Outer,
    InnerTalk,
    OuterTalk,
    EchoClient,
}

const SOCKET_KEYS: [SocketKey; 8] = [
    SocketKey::Wake,
    SocketKey::Connecting,
    SocketKey::Listener,
    SocketKey::Inner,
    SocketKey::Outer,
    SocketKey::InnerTalk,
    SocketKey::OuterTalk,
    SocketKey::EchoClient,
];

/// Gateway thread.
#[derive(Debug)]
struct Forwarder {
    socket_client: SocketClient,
    /// Device of the namespace; written packets arrive there.
    device: Port,
    /// Socket for injecting packets into the network, as if from the device.
    injection_socket: UnixDatagram,
    addresses: [IpAddr; 2],
    name_server: Option<SocketAddr>,
    packets: Receiver<Vec<u8>>,
    wake: UnixDatagram,
    waits: OwnedFd,
    next: u64,
    known_connections: KnownConnections,
    signals: Signals,
    diagnostics: Option<Sockets>,
    connecting: HashMap<u64, Connecting>,
    listeners: HashMap<u64, Listener>,
    pairs: HashMap<u64, Pair>,
    relays: HashMap<u64, DatagramRelay>,
    echo_clients: HashMap<u64, EchoClient>,
    buffer: Vec<u8>,
}

/// Opens the gateway at `host`, whose device is `device`. Packets from the gateway thread are read from the returned
/// file.
///
/// # Errors
///
/// The system refuses.
pub fn open_gateway(
    plan: &Plan,
    host: &Host,
    device: &Port,
    socket_client: SocketClient,
) -> Result<(GatewayTap, Port), HostError> {
    let refused = |why: std::io::Error| {
        HostError::new("cannot open the gateway", Errno::from_io_error(&why).unwrap_or(Errno::IO))
    };
    let (packets, queue) = sync_channel(PACKET_QUEUE_CAPACITY);
    let pair = || {
        let (one, other) = UnixDatagram::pair()?;
        one.set_nonblocking(true)?;
        other.set_nonblocking(true)?;
        Ok((one, other))
    };
    let ((wake, woken), (back, entrance)) = (pair().map_err(refused)?, pair().map_err(refused)?);
    let (addresses, host) = (plan.nodes[host.node].addresses, host.another().map_err(refused)?);
    let (known, signals) = (KnownConnections::default(), Signals::default());
    let has_gates = plan.spec.nodes.iter().any(|node| node.gate.is_some());
    // Without it, gates get no loss signals from outside.
    let diagnostics = has_gates
        .then(|| socket_client.socket(SocketKind::TcpDiagnostics).ok().map(Sockets::from_socket))
        .flatten();
    let gateway_tap = GatewayTap {
        addresses,
        known_connections: Arc::clone(&known),
        packets,
        wake,
        signals: Arc::clone(&signals),
    };
    let mut forwarder = Forwarder {
        socket_client,
        device: device.another().map_err(refused)?,
        injection_socket: back,
        addresses,
        name_server: name_server(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
        packets: queue,
        wake: woken,
        waits: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| refused(error.into()))?,
        next: 0,
        known_connections: known,
        signals,
        diagnostics,
        connecting: HashMap::new(),
        listeners: HashMap::new(),
        pairs: HashMap::new(),
        relays: HashMap::new(),
        echo_clients: HashMap::new(),
        buffer: vec![0; 1 << 16],
    };
    let thread = std::thread::Builder::new().name("gateway".to_owned());
    // It ends when the packet interface is dropped.
    thread.spawn(move || host.enter().map(|()| forwarder.run())).map_err(refused)?;
    Ok((gateway_tap, Port::plain(entrance.into())))
}

/// Returns the first name server in the text of `/etc/resolv.conf`.
pub(crate) fn name_server(text: &str) -> Option<SocketAddr> {
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let address = named.filter_map(|rest| rest.trim().parse::<IpAddr>().ok()).next()?;
    Some(SocketAddr::new(address, DNS))
}

impl Forwarder {
    fn run(&mut self) {
        let wake = epoll::EventData::new_u64(0);
        if epoll::add(&self.waits, self.wake.as_fd(), wake, epoll::EventFlags::IN).is_err() {
            return;
        }
        let mut events = Vec::with_capacity(EVENTS);
        let (mut tidied, mut checked) = (Instant::now(), Instant::now());
        loop {
            events.clear();
            let pause = if self.diagnostics.is_some() { LOSS_POLL_INTERVAL } else { EXPIRY_INTERVAL };
            let wait = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
            match epoll::wait(&self.waits, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                let data = event.data.u64();
                let place = SOCKET_KEYS.get((data >> 56) as usize).copied().unwrap_or(SocketKey::Wake);
                let number = data & (u64::MAX >> 8);
                match place {
                    SocketKey::Wake => {
                        while self.wake.recv(&mut [0; 8]).is_ok_and(|length| length > 0) {}
                        if !self.handle_packets() {
                            return;
                        }
                    }
                    SocketKey::Connecting => self.answered(number),
                    SocketKey::Listener => self.accept(number),
                    SocketKey::Inner | SocketKey::Outer => self.step(number),
                    SocketKey::InnerTalk => self.relay(number, 0),
                    SocketKey::OuterTalk => self.relay(number, 1),
                    SocketKey::EchoClient => self.echo(number),
                }
            }
            let now = Instant::now();
            if now - checked >= LOSS_POLL_INTERVAL {
                checked = now;
                self.poll_retransmissions();
            }
            if now - tidied >= EXPIRY_INTERVAL {
                tidied = now;
                self.expire_streams(now);
                self.expire_relays(now);
                self.expire_echoes(now);
            }
        }
    }

    /// Handles queued packets; returns false once the packet interface is dropped.
    fn handle_packets(&mut self) -> bool {
        loop {
            match self.packets.try_recv() {
                Ok(packet) => {
                    let Some(header) = Header::parse(&packet) else { continue };
                    match header.protocol {
                        TCP => self.open(packet, connection_addresses(&header)),
                        UDP => self.begin(&packet, connection_addresses(&header)),
                        _ => self.forward_echo(&packet, &header),
                    }
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn data(place: SocketKey, number: u64) -> epoll::EventData {
        let place = SOCKET_KEYS.iter().position(|other| *other == place).unwrap_or(0) as u64;
        epoll::EventData::new_u64(place << 56 | number)
    }

    fn watch(&self, socket: &OwnedFd, place: SocketKey, number: u64, flags: epoll::EventFlags) {
        // On failure, this connection is lost.
        let _ = epoll::add(&self.waits, socket, Self::data(place, number), flags);
    }

    fn rewatch(&self, socket: &OwnedFd, place: SocketKey, number: u64, flags: epoll::EventFlags) {
        let _ = epoll::modify(&self.waits, socket, Self::data(place, number), flags);
    }

    fn unwatch(&self, socket: &OwnedFd) {
        // It may not be registered.
        let _ = epoll::delete(&self.waits, socket);
    }

    /// Returns the real address of a target.
    fn real(&self, target: SocketAddr) -> SocketAddr {
        if !self.addresses.contains(&target.ip()) {
            return target;
        }
        if target.port() == DNS
            && let Some(server) = self.name_server
        {
            return server;
        }
        let here: IpAddr =
            if target.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        SocketAddr::new(here, target.port())
    }

    /// Delivers a packet to the system in the namespace.
    fn enter(&self, packet: &[u8]) {
        // If the device is full, the packet is lost and will be retransmitted.
        let _ = self.device.write(packet);
    }

    /// Injects a packet into the network.
    fn send_back(&self, packet: &[u8]) {
        let _ = self.injection_socket.send(packet);
    }

    /// Sends an ICMP error to the sender of a packet.
    fn send_icmp(&self, error: IcmpError, packet: &[u8]) {
        let message = Header::parse(packet).and_then(|header| {
            icmp_error_message(self.addresses[usize::from(header.source.is_ipv6())], error, packet, &header)
        });
        if let Some(message) = message {
            self.send_back(&message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_server_counts() {
        let text = "# a comment\nsearch example.org\nnameserver fe80::1%eth0\nnameserver 127.0.0.53\nnameserver 9.9.9.9\n";
        assert_eq!(name_server(text), Some("127.0.0.53:53".parse().unwrap()));
        assert_eq!(name_server("options edns0\n"), None);
    }
}
