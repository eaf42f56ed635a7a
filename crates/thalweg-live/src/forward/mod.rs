//! The way out of a live network to the real one, for users: what programs send to addresses that no node has goes on from sockets of
//! this host.
//!
//! The way out is a node of the network with a namespace of its own, in which every address is a local one: what comes through its
//! device is answered by the system's own TCP and UDP there. A thread copies between those sockets and others, which a process that
//! has stayed in the real network [lends](lend()). So TCP ends here twice, with everything that the system's has; datagrams go on one by
//! one; and an echo is asked for again by a socket for echoes.
//!
//! The address of the node itself stands for this host: its services at 127.0.0.1 and ::1, and at port 53 its name server.

mod datagrams;
mod echoes;
mod lend;
mod streams;

pub use lend::{Lender, hand, lend, loan, take};

use crate::host::{Host, HostError, Sockets};
use crate::icmp::{Trouble, message};
use crate::packet::{Header, ICMP, ICMP6, TCP, UDP};
use crate::plan::Plan;
use crate::port::Port;
use crate::tcp::Segment;
use datagrams::Talk;
use echoes::Asked;
use lend::Kind;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use streams::{Connecting, Listener, Pair};
use thalweg_proto::transport::Signal;

/// A program's address and its target's.
pub(crate) type Ends = (SocketAddr, SocketAddr);

/// Packets that may wait to be looked at.
const WAITING: usize = 1024;
/// The time between two looks at what has ended.
const TIDY: Duration = Duration::from_secs(1);
/// The time between two questions about the losses of TCP.
const HEAR: Duration = Duration::from_millis(100);
/// Events that one call tells of.
const EVENTS: usize = 64;
/// Names are asked for here.
const DNS: u16 = 53;

/// The door of a way out: it looks at what goes through.
#[derive(Debug)]
pub struct Door {
    own: [IpAddr; 2],
    /// Datagrams between these ends have their sockets.
    known: Known,
    packets: SyncSender<Vec<u8>>,
    wake: UnixDatagram,
    signals: Signals,
}

type Known = Arc<Mutex<HashSet<Ends>>>;
type Signals = Arc<Mutex<Vec<(Ends, Signal)>>>;

impl Door {
    /// True for a packet that waits here, or that this makes an answer to; others are for the device of the namespace.
    pub(crate) fn keeps(&self, bytes: &[u8]) -> bool {
        let Some(header) = Header::parse(bytes).filter(|header| !header.is_later_fragment) else {
            return false;
        };
        let keeps = match header.protocol {
            TCP => Segment::parse(bytes, &header).is_some_and(|segment| segment.is_first()),
            UDP => !self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&ends(&header)),
            ICMP => bytes.get(header.at) == Some(&8) && !self.own.contains(&header.target),
            ICMP6 => bytes.get(header.at) == Some(&128) && !self.own.contains(&header.target),
            _ => false,
        };
        // What is too much is lost, as in any router.
        if keeps && self.packets.try_send(bytes.to_vec()).is_ok() {
            // Where it is full, it will be read.
            let _ = self.wake.send(&[0]);
        }
        keeps
    }

    /// The signs of congestion that connections met in the real network since the last call.
    pub(crate) fn signals(&self) -> Vec<(Ends, Signal)> {
        core::mem::take(&mut *self.signals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn ends(header: &Header) -> Ends {
    (SocketAddr::new(header.source, header.ports[0]), SocketAddr::new(header.target, header.ports[1]))
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// A socket of the namespace that may have any address.
fn inner(kind: SocketType, place: SocketAddr) -> Result<OwnedFd, Errno> {
    let socket = socket_with(family(place), kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
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

/// The place of a socket among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Wake,
    Connecting,
    Listener,
    Inner,
    Outer,
    InnerTalk,
    OuterTalk,
    Asked,
}

const PLACES: [Place; 8] = [
    Place::Wake,
    Place::Connecting,
    Place::Listener,
    Place::Inner,
    Place::Outer,
    Place::InnerTalk,
    Place::OuterTalk,
    Place::Asked,
];

/// The thread behind a door.
#[derive(Debug)]
struct Forwarder {
    lender: Lender,
    /// The device of the namespace: what is written to it arrives there.
    device: Port,
    /// Into the network, as if from the device.
    back: UnixDatagram,
    own: [IpAddr; 2],
    name_server: Option<SocketAddr>,
    packets: Receiver<Vec<u8>>,
    wake: UnixDatagram,
    waits: OwnedFd,
    next: u64,
    known: Known,
    signals: Signals,
    told: Option<Sockets>,
    connecting: HashMap<u64, Connecting>,
    listeners: HashMap<u64, Listener>,
    pairs: HashMap<u64, Pair>,
    talks: HashMap<u64, Talk>,
    asked: HashMap<u64, Asked>,
    buffer: Vec<u8>,
}

/// Opens the way out at `host`, whose device is `device`. The packets of the thread behind the door come from the file that is given
/// beside it.
///
/// # Errors
///
/// The system refuses.
pub fn open(plan: &Plan, host: &Host, device: &Port, lender: Lender) -> Result<(Door, Port), HostError> {
    let refused = |why: std::io::Error| {
        HostError::new("cannot open the way out", Errno::from_io_error(&why).unwrap_or(Errno::IO))
    };
    let (packets, queue) = sync_channel(WAITING);
    let pair = || {
        let (one, other) = UnixDatagram::pair()?;
        one.set_nonblocking(true)?;
        other.set_nonblocking(true)?;
        Ok((one, other))
    };
    let ((wake, woken), (back, entrance)) = (pair().map_err(refused)?, pair().map_err(refused)?);
    let (own, host) = (plan.nodes[host.node].addresses, host.another().map_err(refused)?);
    let (known, signals) = (Known::default(), Signals::default());
    let has_gates = plan.spec.nodes.iter().any(|node| node.gate.is_some());
    // Without it gates hear of no losses out there.
    let told = has_gates.then(|| lender.socket(Kind::Told).ok().map(Sockets::of)).flatten();
    let door = Door { own, known: Arc::clone(&known), packets, wake, signals: Arc::clone(&signals) };
    let mut forwarder = Forwarder {
        lender,
        device: device.another().map_err(refused)?,
        back,
        own,
        name_server: name_server(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
        packets: queue,
        wake: woken,
        waits: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| refused(error.into()))?,
        next: 0,
        known,
        signals,
        told,
        connecting: HashMap::new(),
        listeners: HashMap::new(),
        pairs: HashMap::new(),
        talks: HashMap::new(),
        asked: HashMap::new(),
        buffer: vec![0; 1 << 16],
    };
    let thread = std::thread::Builder::new().name("way out".to_owned());
    // It ends when the door is gone.
    thread.spawn(move || host.enter().map(|()| forwarder.run())).map_err(refused)?;
    Ok((door, Port::plain(entrance.into())))
}

/// The first name server that the text of `/etc/resolv.conf` names.
fn name_server(text: &str) -> Option<SocketAddr> {
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
        let (mut tidied, mut heard) = (Instant::now(), Instant::now());
        loop {
            events.clear();
            let pause = if self.told.is_some() { HEAR } else { TIDY };
            let wait = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
            match epoll::wait(&self.waits, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                let data = event.data.u64();
                let place = PLACES.get((data >> 56) as usize).copied().unwrap_or(Place::Wake);
                let number = data & (u64::MAX >> 8);
                match place {
                    Place::Wake => {
                        while self.wake.recv(&mut [0; 8]).is_ok_and(|length| length > 0) {}
                        if !self.look() {
                            return;
                        }
                    }
                    Place::Connecting => self.answered(number),
                    Place::Listener => self.accept(number),
                    Place::Inner | Place::Outer => self.step(number),
                    Place::InnerTalk => self.talk(number, 0),
                    Place::OuterTalk => self.talk(number, 1),
                    Place::Asked => self.echo(number),
                }
            }
            let now = Instant::now();
            if now - heard >= HEAR {
                heard = now;
                self.hear();
            }
            if now - tidied >= TIDY {
                tidied = now;
                self.tidy_streams(now);
                self.tidy_talks(now);
                self.tidy_echoes(now);
            }
        }
    }

    /// Looks at packets that wait; false when the door is gone.
    fn look(&mut self) -> bool {
        loop {
            match self.packets.try_recv() {
                Ok(packet) => {
                    let Some(header) = Header::parse(&packet) else { continue };
                    match header.protocol {
                        TCP => self.open(packet, ends(&header)),
                        UDP => self.begin(&packet, ends(&header)),
                        _ => self.ask(&packet, &header),
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

    fn data(place: Place, number: u64) -> epoll::EventData {
        let place = PLACES.iter().position(|other| *other == place).unwrap_or(0) as u64;
        epoll::EventData::new_u64(place << 56 | number)
    }

    fn watch(&self, socket: &OwnedFd, place: Place, number: u64, flags: epoll::EventFlags) {
        // A system without room for it loses this connection.
        let _ = epoll::add(&self.waits, socket, Self::data(place, number), flags);
    }

    fn rewatch(&self, socket: &OwnedFd, place: Place, number: u64, flags: epoll::EventFlags) {
        let _ = epoll::modify(&self.waits, socket, Self::data(place, number), flags);
    }

    fn unwatch(&self, socket: &OwnedFd) {
        // It may not be there.
        let _ = epoll::delete(&self.waits, socket);
    }

    /// The real address of a target.
    fn real(&self, target: SocketAddr) -> SocketAddr {
        if !self.own.contains(&target.ip()) {
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

    /// A packet goes to the system in the namespace.
    fn enter(&self, packet: &[u8]) {
        // Where it is full the packet is lost, and comes again.
        let _ = self.device.write(packet);
    }

    /// A packet goes into the network.
    fn send_back(&self, packet: &[u8]) {
        let _ = self.back.send(packet);
    }

    /// Tells the sender of a packet what became of it.
    fn say(&self, trouble: Trouble, packet: &[u8]) {
        let message = Header::parse(packet).and_then(|header| {
            message(self.own[usize::from(header.source.is_ipv6())], trouble, packet, &header)
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
