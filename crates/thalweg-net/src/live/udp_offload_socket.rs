//! UDP socket with the system's offloads (GSO, GRO): many datagrams per call in both directions.

use super::buffer_pool::{Buffer, Pool};
use super::host_clock::to_timespec;
use super::packet_steering::attach_steering;
use super::wakeup_coalescing::Sleep;
use crate::datagram_batch::{Batch, Purpose, Run};
use crate::endpoint::{Arrival, ReceivedDatagrams};
use crate::normalised_address::unmap_ipv4;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::addr::SocketAddrArg as _;
use rustix::net::sockopt::{
    set_ip_tos, set_ipv6_tclass, set_socket_recv_buffer_size_force, set_socket_reuseport,
};
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;

/// Choice of offloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// All offloads that the host supports.
    Auto,
    /// No offloads: each datagram passes the host separately, but one call still carries several.
    None,
}

/// Counters of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpStats {
    /// Successful send calls.
    pub sends: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Successful receive calls.
    pub receives: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Sends refused because of their size.
    pub too_large: u64,
    /// Sends that failed for another reason, such as a missing route.
    pub failed: u64,
    /// Sends delayed by a full socket buffer.
    pub full: u64,
}

impl std::ops::AddAssign for UdpStats {
    fn add_assign(&mut self, other: Self) {
        let Self { sends, datagrams_sent, receives, datagrams_received, too_large, failed, full } = other;
        self.sends += sends;
        self.datagrams_sent += datagrams_sent;
        self.receives += receives;
        self.datagrams_received += datagrams_received;
        self.too_large += too_large;
        self.failed += failed;
        self.full += full;
    }
}

/// Size of a receive buffer in bytes: the maximum that GRO coalesces.
const MAX_BUFFER_BYTES: usize = 1 << 16;

/// Smallest buffer size; each next size is twice as large. Data that fills at most half of a buffer is copied to a
/// smaller one, so it does not pin a large buffer.
const MIN_BUFFER_BYTES: usize = 1 << 11;

/// Number of buffer sizes, from [`MIN_BUFFER_BYTES`] to [`MAX_BUFFER_BYTES`].
const BUFFER_SIZES: usize = 6;

/// Receive buffers per call with GRO; their contents fit the processor's cache.
const GRO_BUFFERS: usize = 4;

/// Receive buffers per call without GRO; each holds one datagram.
const MAX_BUFFERS: usize = quinn_udp::BATCH_SIZE;

/// Maximum datagrams per send call without GSO.
const MAX_MESSAGES: usize = 64;

/// Maximum retained buffers of the smallest and of the largest size, 16 and 32 MiB: enough for typical unread data. Of
/// the sizes between, fewer are needed.
const MAX_SMALL: usize = 8192;
const MAX_LARGE: usize = 512;
const MAX_BETWEEN: usize = 64;

/// Maximum bytes of lent buffers of each size that holds several datagrams. A peer may send many useless datagrams beside
/// one that is retained.
const MAX_LENT: usize = 16 << 20;
/// Factor of this maximum for the largest size.
const LARGE_SHARE: usize = 4;

/// UDP socket with its buffers and counters.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    offload: Offload,
    buffers: Vec<Buffer>,
    /// Number of buffers for the next call.
    in_use: usize,
    metas: [RecvMeta; MAX_BUFFERS],
    pools: [Pool; BUFFER_SIZES],
    pub stats: UdpStats,
    is_v6: bool,
    /// ECN codepoint that the socket sets if a call specifies none.
    single_ecn: Option<EcnCodepoint>,
}

/// Counts of one receive call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveResult {
    /// Number of delivered datagrams.
    pub datagrams: usize,
    /// Number of their bytes.
    pub bytes: usize,
    /// True if all buffers were filled: more data may be available.
    pub may_have_more: bool,
}

/// Outcome of sending a run.
#[derive(Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The whole run was sent.
    All,
    /// The host refused the last datagrams of the run: the error number.
    Failed(i32),
    /// The socket buffer is full; the run remains unsent from this byte on.
    Full(usize),
    /// Datagrams of this size exceed the interface MTU.
    TooLarge,
}

impl Udp {
    /// Binds a socket with buffers of `buffer` bytes, as far as the host allows.
    pub fn bind(address: SocketAddr, buffer: usize, offload: Offload) -> io::Result<Self> {
        Self::bind_one(address, buffer, offload, 1)
    }

    /// Binds several sockets to one address. Also returns true if each receives the packets of its own connections.
    pub fn bind_all(
        address: SocketAddr,
        buffer: usize,
        offload: Offload,
        count: usize,
    ) -> io::Result<(Vec<Self>, bool)> {
        if count <= 1 {
            return Ok((vec![Self::bind(address, buffer, offload)?], true));
        }
        // Sockets that share a port also share it with those of other programs of this user. An exclusive socket first
        // checks that the port is free, or finds a free one.
        let address = Self::bind(address, buffer, offload)?.local()?;
        let bind = |_| Self::bind_one(address, buffer, offload, count);
        let sockets = (0..count).map(bind).collect::<io::Result<Vec<_>>>()?;
        let is_steered = sockets.first().is_some_and(|first| attach_steering(&first.socket, count).is_ok());
        Ok((sockets, is_steered))
    }

    /// Binds one of several sockets that share a port and buffer memory.
    fn bind_one(address: SocketAddr, buffer: usize, offload: Offload, sharers: usize) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if sharers > 1 {
            set_socket_reuseport(&socket, true)?;
        }
        if address.is_ipv6() && address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            // An unspecified IPv6 address covers IPv4 too.
            socket.set_only_v6(false)?;
        }
        // The host silently reduces sizes above its limit, except with CAP_NET_ADMIN. It doubles the size for its own
        // overhead and reports the doubled value.
        socket.set_send_buffer_size(buffer)?;
        socket.set_recv_buffer_size(buffer)?;
        if socket.recv_buffer_size()? < buffer {
            let _ = set_socket_recv_buffer_size_force(&socket, buffer);
        }
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        let mut pools = std::array::from_fn(|index| {
            let max = match MIN_BUFFER_BYTES << index {
                MIN_BUFFER_BYTES => MAX_SMALL,
                MAX_BUFFER_BYTES => MAX_LARGE,
                _ => MAX_BETWEEN,
            };
            let max = max.div_ceil(sharers);
            let size = MIN_BUFFER_BYTES << index;
            let pool = Pool::new(size, max);
            match size {
                // Buffers of this size hold one datagram.
                MIN_BUFFER_BYTES => pool,
                MAX_BUFFER_BYTES => pool.with_max_lent(LARGE_SHARE * MAX_LENT / size / sharers),
                _ => pool.with_max_lent(MAX_LENT / size / sharers),
            }
        });
        let buffers = (0..MAX_BUFFERS).map(|_| pools[BUFFER_SIZES - 1].take()).collect();
        Ok(Self {
            is_v6: address.is_ipv6(),
            single_ecn: None,
            socket,
            state,
            offload,
            buffers,
            in_use: GRO_BUFFERS,
            metas: [RecvMeta::default(); MAX_BUFFERS],
            pools,
            stats: UdpStats::default(),
        })
    }

    /// Returns the bound address.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives available datagrams, up to a few buffers, and passes them on.
    pub fn receive(
        &mut self,
        mut take: impl FnMut(Arrival, usize, ReceivedBytes<'_>),
    ) -> io::Result<ReceiveResult> {
        let count = {
            let mut slices: [IoSliceMut<'_>; MAX_BUFFERS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
            for (slice, buffer) in slices.iter_mut().zip(&mut self.buffers[..self.in_use]) {
                *slice = IoSliceMut::new(buffer.bytes());
            }
            match self.state.recv((&self.socket).into(), &mut slices[..self.in_use], &mut self.metas) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(ReceiveResult::default()),
                // An ICMP error for an earlier datagram.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    return Ok(ReceiveResult { may_have_more: true, ..ReceiveResult::default() });
                }
                Err(error) => return Err(error),
            }
        };
        self.stats.receives += 1;
        let is_full = count == self.in_use;
        let are_single = self.metas[..count].iter().all(|meta| meta.len <= meta.stride.max(MIN_BUFFER_BYTES));
        self.in_use = if are_single && (is_full || count > GRO_BUFFERS) { MAX_BUFFERS } else { GRO_BUFFERS };
        let (mut datagrams, mut bytes) = (0, 0);
        for index in 0..count {
            let meta = self.metas[index];
            if meta.len == 0 {
                continue;
            }
            let stride = meta.stride.max(1);
            datagrams += meta.len.div_ceil(stride);
            bytes += meta.len;
            let arrival = Arrival {
                from: unmap_ipv4(meta.addr),
                ecn: Ecn::from_bits(meta.ecn.map_or(0, |codepoint| codepoint as u8)),
            };
            let buffer = &mut self.buffers[index];
            let received = ReceivedBytes { buffer, length: meta.len, pools: &mut self.pools };
            take(arrival, stride, received);
        }
        self.stats.datagrams_received += datagrams as u64;
        Ok(ReceiveResult { datagrams, bytes, may_have_more: is_full })
    }

    /// Sends a run, starting at its byte `from`.
    pub fn send(&mut self, batch: &Batch, run: &Run, from: usize) -> io::Result<SendOutcome> {
        let bytes = batch.bytes(run);
        let segments = match self.offload {
            Offload::Auto => self.state.max_gso_segments().max(1),
            Offload::None => 1,
        };
        let (mut start, mut error_number) = (from, None);
        while start < bytes.len() {
            let end = bytes.len().min(start + run.segment_bytes * segments);
            let are_single =
                segments == 1 && bytes.len() - start > run.segment_bytes && self.set_ecn(run.purpose);
            let sent = if are_single {
                self.send_singly(run, &bytes[start..])
            } else {
                self.send_together(run, &bytes[start..end]).map(|()| end - start)
            };
            match sent {
                Ok(length) => {
                    self.stats.sends += 1;
                    self.stats.datagrams_sent += length.div_ceil(run.segment_bytes) as u64;
                    start += length;
                    error_number = None;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stats.full += 1;
                    return Ok(SendOutcome::Full(start));
                }
                Err(error) if is_too_large(&error) => {
                    self.stats.too_large += 1;
                    return Ok(SendOutcome::TooLarge);
                }
                // The host does not support GSO, which is now known: send the datagrams one by one.
                Err(_) if end - start > run.segment_bytes && self.state.max_gso_segments() <= 1 => {
                    self.offload = Offload::None;
                    return self.send(batch, run, start);
                }
                // A failed send counts as a loss in the network: a route may return.
                Err(error) => {
                    self.stats.failed += 1;
                    error_number = error.raw_os_error();
                    start = if are_single { start + run.segment_bytes } else { end };
                }
            }
        }
        Ok(error_number.map_or(SendOutcome::All, SendOutcome::Failed))
    }

    /// Sends the datagrams of a run with one GSO call.
    fn send_together(&self, run: &Run, contents: &[u8]) -> io::Result<()> {
        let transmit = Transmit {
            destination: self.to_mapped_address(run.destination),
            ecn: ecn_of_purpose(run.purpose),
            contents,
            segment_size: (contents.len() > run.segment_bytes).then_some(run.segment_bytes),
            src_ip: None,
        };
        self.state.try_send((&self.socket).into(), &transmit)
    }

    /// Sets the ECN codepoint of datagrams sent singly from now on; calls with many datagrams cannot carry one each.
    /// Returns false if the socket cannot set it.
    fn set_ecn(&mut self, purpose: Purpose) -> bool {
        let wanted = ecn_of_purpose(purpose);
        if self.single_ecn != wanted {
            let bits = wanted.map_or(0, |codepoint| codepoint as u8);
            // A dual-stack socket has one option per family.
            let is_set = set_ip_tos(&self.socket, bits).is_ok()
                & (!self.is_v6 || set_ipv6_tclass(&self.socket, bits.into()).is_ok());
            if !is_set {
                return false;
            }
            self.single_ecn = wanted;
        }
        true
    }

    /// Sends datagrams of one run in one call without GSO. Returns the number of accepted bytes: at least one datagram.
    fn send_singly(&self, run: &Run, contents: &[u8]) -> io::Result<usize> {
        let destination = self.to_mapped_address(run.destination).as_any();
        let mut datagrams = contents.chunks(run.segment_bytes);
        let slices: [_; MAX_MESSAGES] =
            std::array::from_fn(|_| [IoSlice::new(datagrams.next().unwrap_or_default())]);
        let mut controls: [_; MAX_MESSAGES] = std::array::from_fn(|_| SendAncillaryBuffer::default());
        let mut parts = slices.iter().zip(&mut controls);
        let mut messages: [_; MAX_MESSAGES] = std::array::from_fn(|_| {
            let (slice, control) = parts.next().unwrap_or_else(|| unreachable!("there are as many"));
            MMsgHdr::new_with_addr(&destination, slice, control)
        });
        let count = contents.len().div_ceil(run.segment_bytes).min(MAX_MESSAGES);
        let sent = sendmmsg(&self.socket, &mut messages[..count], SendFlags::empty())?;
        Ok(contents.len().min(sent * run.segment_bytes))
    }

    /// Waits until the socket is readable, writable with `to_send`, or `wake_fd` is signalled, for at most the span in
    /// `sleep`. Clears the signal of `wake_fd`. Returns true if data may be available.
    pub fn wait(&self, wake_fd: &OwnedFd, to_send: bool, sleep: Sleep) -> io::Result<bool> {
        let (mut flags, span) = match sleep {
            Sleep::Until(span) => (PollFlags::IN, span),
            Sleep::For(span) => (PollFlags::empty(), Some(span)),
        };
        flags.set(PollFlags::OUT, to_send);
        let mut fds = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), flags),
            PollFd::from_borrowed_fd(wake_fd.as_fd(), PollFlags::IN),
        ];
        let span = span.map(to_timespec);
        let answer = poll(&mut fds, span.as_ref());
        // Clear the signal only here. Cleared anywhere else, it could be set after the read and stay set, and every
        // later wait would return at once.
        if answer.is_ok() && !fds[1].revents().is_empty() {
            let _ = rustix::io::read(wake_fd, &mut [0; 8]);
        }
        match answer {
            Ok(_) => Ok(matches!(sleep, Sleep::For(_)) || !fds[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Converts an IPv4 address to its mapped form for an IPv6 socket.
    fn to_mapped_address(&self, address: SocketAddr) -> SocketAddr {
        match address {
            SocketAddr::V4(v4) if self.is_v6 => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
            address => address,
        }
    }
}

/// Returns the ECN codepoint of a datagram with this purpose.
fn ecn_of_purpose(purpose: Purpose) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(purpose.ecn().bits())
}

fn is_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error())
}

/// Bytes of one receive buffer.
#[derive(Debug)]
pub struct ReceivedBytes<'a> {
    buffer: &'a mut Buffer,
    length: usize,
    pools: &'a mut [Pool; BUFFER_SIZES],
}

impl AsMut<[u8]> for ReceivedBytes<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes()[..self.length]
    }
}

impl ReceivedBytes<'_> {
    /// Returns the bytes in a sliceable buffer.
    pub fn share(self) -> ReceivedDatagrams {
        let size = self.length.next_power_of_two().clamp(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES);
        // Both sizes are powers of two.
        let pool = &mut self.pools[(size / MIN_BUFFER_BYTES).ilog2() as usize];
        if pool.is_exhausted() {
            let bytes = Slice::new(&self.buffer.bytes()[..self.length]);
            return ReceivedDatagrams { bytes, must_copy: true };
        }
        let mut buffer = pool.take();
        if size == MAX_BUFFER_BYTES {
            std::mem::swap(self.buffer, &mut buffer);
        } else {
            buffer.bytes()[..self.length].copy_from_slice(&self.buffer.bytes()[..self.length]);
        }
        pool.lend(buffer).into()
    }
}

#[cfg(test)]
mod tests {
    //! Tests that datagrams leave with their ECN codepoints on every send path.
    use super::*;
    use thalweg_proto::units::Duration;

    /// Returns the ECN codepoints of received datagrams.
    fn arrival_codepoints(
        receiver: &UdpSocket,
        state: &UdpSocketState,
        count: usize,
    ) -> Vec<Option<EcnCodepoint>> {
        let mut seen = Vec::new();
        let mut buffer = vec![0; MAX_BUFFER_BYTES];
        while seen.len() < count {
            let mut metas = [RecvMeta::default()];
            match state.recv(receiver.into(), &mut [IoSliceMut::new(&mut buffer)], &mut metas) {
                Ok(_) => {
                    let datagrams = metas[0].len.div_ceil(metas[0].stride.max(1));
                    seen.extend(std::iter::repeat_n(metas[0].ecn, datagrams));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut fds = [PollFd::from_borrowed_fd(receiver.as_fd(), PollFlags::IN)];
                    let span = to_timespec(Duration::from_secs(10));
                    assert!(poll(&mut fds, Some(&span)).unwrap() > 0, "{count} were sent, {seen:?} came");
                }
                Err(error) => panic!("{error}"),
            }
        }
        seen
    }

    /// A wake-up may arrive after the thread has already found its work. If it stayed pending, every later wait would
    /// return at once.
    #[test]
    fn a_wait_consumes_the_wakeup() {
        use rustix::event::{EventfdFlags, eventfd};
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), 1 << 16, Offload::None).unwrap();
        rustix::io::write(&wake_fd, &1u64.to_ne_bytes()).unwrap();
        let wait = || udp.wait(&wake_fd, false, Sleep::Until(Some(Duration::from_millis(1))));
        assert!(!wait().unwrap());
        assert_eq!(rustix::io::read(&wake_fd, &mut [0; 8]), Err(rustix::io::Errno::AGAIN));
    }

    #[test]
    fn datagrams_leave_with_their_codepoints() {
        for (from, to) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::]:0", "127.0.0.1:0"), ("[::]:0", "[::1]:0")] {
            for offload in [Offload::Auto, Offload::None] {
                let receiver = UdpSocket::bind(to).unwrap();
                let state = UdpSocketState::new((&receiver).into()).unwrap();
                let mut sender = Udp::bind(from.parse().unwrap(), 1 << 16, offload).unwrap();
                let mut expected = Vec::new();
                let mut batch = Batch::new();
                for (ecn, count) in [(Ecn::NotEct, 3), (Ecn::Ect0, 4), (Ecn::Ect1, 1), (Ecn::NotEct, 2)] {
                    batch.clear();
                    for _ in 0..count {
                        let start = batch.start();
                        batch.buffer().resize(start + 100, 1);
                        batch.finish(start, receiver.local_addr().unwrap(), Purpose::Ordinary(ecn));
                        expected.push(EcnCodepoint::from_bits(ecn.bits()));
                    }
                    assert_eq!(sender.send(&batch, &batch.runs()[0], 0).unwrap(), SendOutcome::All);
                }
                assert_eq!(
                    arrival_codepoints(&receiver, &state, expected.len()),
                    expected,
                    "{from} {offload:?}"
                );
                if offload == Offload::None {
                    assert_eq!(sender.stats.sends, 4, "{from}: one call a run");
                }
            }
        }
    }
}
