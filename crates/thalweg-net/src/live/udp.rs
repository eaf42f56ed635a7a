//! A UDP socket with the system's offloads: many datagrams a call, both ways.

use super::examine::timespec;
use super::pool::{Buffer, Pool};
use crate::batch::{Batch, Purpose, Run};
use crate::endpoint::Arrival;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Duration;

/// Which offloads are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Whatever the host gives.
    Auto,
    /// None: one datagram a call, as on a host that has none.
    None,
}

/// What a socket has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpStats {
    /// Calls that sent something.
    pub sends: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Calls that received something.
    pub receives: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Sends that were refused for their size.
    pub too_large: u64,
    /// Sends that failed otherwise, as when there is no route.
    pub failed: u64,
    /// Times that the socket had no room.
    pub full: u64,
}

/// The bytes of a receive buffer: as many as the kernel puts together.
const LARGE: usize = 1 << 16;

/// What holds a few datagrams is copied to a buffer of this size, so that they do not hold on to a large one.
const SMALL: usize = 1 << 11;

/// Receive buffers a call, while the kernel puts datagrams together: what they hold stays in the processor's cache.
const FEW: usize = 4;

/// Receive buffers a call, while each holds a single datagram.
const BUFFERS: usize = quinn_udp::BATCH_SIZE;

/// Large buffers that are kept: 32 MiB.
const MOST_LARGE: usize = 512;

/// Small ones: 1 MiB.
const MOST_SMALL: usize = 512;

/// A UDP socket.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    offload: Offload,
    buffers: Vec<Buffer>,
    /// How many of them the next call uses.
    in_use: usize,
    metas: [RecvMeta; BUFFERS],
    large: Pool,
    small: Pool,
    pub stats: UdpStats,
    is_v6: bool,
}

/// What became of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    All,
    /// The socket has no room: from this byte of the run on it waits.
    Full(usize),
    /// Datagrams of this run's size are larger than the interface takes.
    TooLarge,
}

impl Udp {
    /// Binds a socket whose buffers are of `buffer` bytes, as far as the host allows.
    pub fn bind(address: SocketAddr, buffer: usize, offload: Offload) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() && address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            // All addresses are all addresses.
            socket.set_only_v6(false)?;
        }
        // What the host does not allow it cuts down without an error.
        socket.set_send_buffer_size(buffer)?;
        socket.set_recv_buffer_size(buffer)?;
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        let mut large = Pool::new(LARGE, MOST_LARGE);
        let buffers = (0..BUFFERS).map(|_| large.take()).collect();
        Ok(Self {
            is_v6: address.is_ipv6(),
            socket,
            state,
            offload,
            buffers,
            in_use: FEW,
            metas: [RecvMeta::default(); BUFFERS],
            large,
            small: Pool::new(SMALL, MOST_SMALL),
            stats: UdpStats::default(),
        })
    }

    /// Where it is bound.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives what waits, up to a few buffers, and hands it out. False when nothing waits.
    pub fn receive(&mut self, mut take: impl FnMut(Arrival, usize, Received<'_>)) -> io::Result<bool> {
        let count = {
            let mut slices: [IoSliceMut<'_>; BUFFERS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
            for (slice, buffer) in slices.iter_mut().zip(&mut self.buffers[..self.in_use]) {
                *slice = IoSliceMut::new(buffer.bytes());
            }
            match self.state.recv((&self.socket).into(), &mut slices[..self.in_use], &mut self.metas) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // An answer of the network to something that was sent.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(true),
                Err(error) => return Err(error),
            }
        };
        self.stats.receives += 1;
        let is_full = count == self.in_use;
        let are_single = self.metas[..count].iter().all(|meta| meta.len <= meta.stride.max(SMALL));
        self.in_use = if are_single && is_full { BUFFERS } else { FEW };
        for index in 0..count {
            let meta = self.metas[index];
            if meta.len == 0 {
                continue;
            }
            let stride = meta.stride.max(1);
            self.stats.datagrams_received += meta.len.div_ceil(stride) as u64;
            let arrival = Arrival { from: unmapped(meta.addr), marked: meta.ecn == Some(EcnCodepoint::Ce) };
            let buffer = &mut self.buffers[index];
            let received =
                Received { buffer, length: meta.len, large: &mut self.large, small: &mut self.small };
            take(arrival, stride, received);
        }
        Ok(true)
    }

    /// Sends a run, from byte `from` of it on.
    pub fn send(&mut self, batch: &Batch, run: &Run, from: usize) -> io::Result<Sent> {
        let bytes = batch.bytes(run);
        let segments = match self.offload {
            Offload::Auto => self.state.max_gso_segments().max(1),
            Offload::None => 1,
        };
        let mut start = from;
        while start < bytes.len() {
            let end = bytes.len().min(start + run.segment * segments);
            let transmit = Transmit {
                destination: self.mapped(run.destination),
                ecn: (run.purpose == Purpose::Marked).then_some(EcnCodepoint::Ect0),
                contents: &bytes[start..end],
                segment_size: (end - start > run.segment).then_some(run.segment),
                src_ip: None,
            };
            match self.state.try_send((&self.socket).into(), &transmit) {
                Ok(()) => {
                    self.stats.sends += 1;
                    self.stats.datagrams_sent += (end - start).div_ceil(run.segment) as u64;
                    start = end;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stats.full += 1;
                    return Ok(Sent::Full(start));
                }
                Err(error) if is_too_large(&error) => {
                    self.stats.too_large += 1;
                    return Ok(Sent::TooLarge);
                }
                // The host refused segmentation, and has been found out: once more, one by one.
                Err(_) if transmit.segment_size.is_some() && self.state.max_gso_segments() <= 1 => {
                    self.offload = Offload::None;
                    return self.send(batch, run, start);
                }
                // What is lost here counts as lost in the network: a route may come back.
                Err(_) => {
                    self.stats.failed += 1;
                    start = end;
                }
            }
        }
        Ok(Sent::All)
    }

    /// Waits until something can be received, or sent where `to_send` is true, or `bell` rings, for at most `span`
    /// (`None` for ever).
    pub fn wait(&self, bell: &OwnedFd, to_send: bool, span: Option<Duration>) -> io::Result<()> {
        let flags = if to_send { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), flags),
            PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN),
        ];
        let span = span.map(timespec);
        match poll(&mut fds, span.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// An IPv6 socket speaks to IPv4 addresses in their mapped form.
    fn mapped(&self, address: SocketAddr) -> SocketAddr {
        match address {
            SocketAddr::V4(v4) if self.is_v6 => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
            address => address,
        }
    }
}

fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn is_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error())
}

/// What came in one piece.
#[derive(Debug)]
pub struct Received<'a> {
    buffer: &'a mut Buffer,
    length: usize,
    large: &'a mut Pool,
    small: &'a mut Pool,
}

impl AsMut<[u8]> for Received<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes()[..self.length]
    }
}

impl Received<'_> {
    /// The bytes, as something to take slices of.
    pub fn share(self) -> Slice {
        if self.length <= SMALL {
            let mut buffer = self.small.take();
            buffer.bytes()[..self.length].copy_from_slice(&self.buffer.bytes()[..self.length]);
            return self.small.lend(buffer);
        }
        if self.length < LARGE / 2 {
            return Slice::new(&self.buffer.bytes()[..self.length]);
        }
        let next = self.large.take();
        self.large.lend(std::mem::replace(self.buffer, next))
    }
}
