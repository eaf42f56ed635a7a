//! The means that this host gives to UDP: buffers, offloads, timers.

use super::clock::{Clock, timespec};
use super::coalescing::INTERVAL;
use super::lateness::{Lateness, SEGMENT, SEGMENTS, measure, readable};
use crate::keys::{Sealer, Secret};
use crate::wire::{ConnectionId, HEADER, write_header};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::poll;
use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use thalweg_proto::units::{Bytes, Duration, Rate};

/// The findings of an examination.
#[derive(Clone, Debug)]
pub struct Findings {
    /// From where the examined path starts.
    pub local: IpAddr,
    /// The size that was asked of the system for each of a socket's buffers.
    pub asked: Bytes,
    /// The size that the system gave for sending. Linux doubles what was asked, for its own use.
    pub send_buffer: Bytes,
    /// The size that the system gave for receiving.
    pub receive_buffer: Bytes,
    /// The largest packet of the interface towards the target, headers included, where a target was given.
    pub interface_mtu: Option<Bytes>,
    /// Datagrams that one call may send.
    pub segments: usize,
    /// Ten datagrams that were sent with one call arrived.
    pub segmentation: bool,
    /// They arrived with fewer calls than datagrams.
    pub coalescing: bool,
    /// The mark that says "capable of ECN" arrived with them.
    pub ecn: bool,
    /// The lateness of threads, and the cost of calls.
    pub lateness: Lateness,
    /// The time for which wake-ups are coalesced, and below which deadlines are put together.
    pub coalescing_interval: Duration,
    /// By how much a sleep of 100 us is too long, in the middle of many.
    pub oversleep: Duration,
    /// The time that it takes to read the clock.
    pub clock: Duration,
    /// The rate at which one processor seals packets of 1400 bytes.
    pub sealing: Rate,
    /// Processors that may be used.
    pub processors: usize,
}

const ASKED: usize = 4 << 20;

/// Examines the host, and the interface towards `target` where there is one. Nothing is sent to the target: datagrams go
/// from this host to itself.
///
/// # Errors
/// No socket can be made, or there is no route to the target.
pub fn examine(target: Option<SocketAddr>) -> io::Result<Findings> {
    let (local, interface_mtu) = route(target)?;
    let (sender, receiver) = (UdpSocket::bind((local, 0))?, UdpSocket::bind((local, 0))?);
    for socket in [&sender, &receiver] {
        let socket = SockRef::from(socket);
        socket.set_send_buffer_size(ASKED)?;
        socket.set_recv_buffer_size(ASKED)?;
    }
    let buffer = |size: io::Result<usize>| size.map(|size| Bytes::new(size as u64));
    let (sending, receiving) =
        (UdpSocketState::new((&sender).into())?, UdpSocketState::new((&receiver).into())?);
    let arrived = send_together(&sender, &sending, &receiver, &receiving)?;
    Ok(Findings {
        local,
        asked: Bytes::new(ASKED as u64),
        send_buffer: buffer(SockRef::from(&sender).send_buffer_size())?,
        receive_buffer: buffer(SockRef::from(&receiver).recv_buffer_size())?,
        interface_mtu,
        segments: sending.max_gso_segments(),
        segmentation: arrived.datagrams == SEGMENTS,
        coalescing: arrived.datagrams > arrived.messages,
        ecn: arrived.marked == arrived.messages && arrived.messages > 0,
        lateness: measure(local, arrived.datagrams == SEGMENTS)?,
        coalescing_interval: INTERVAL,
        oversleep: oversleep(),
        clock: clock_cost(),
        sealing: sealing(),
        processors: std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
    })
}

/// The address from which the target is reached, and what the interface there carries.
fn route(target: Option<SocketAddr>) -> io::Result<(IpAddr, Option<Bytes>)> {
    let Some(target) = target else { return Ok((Ipv4Addr::LOCALHOST.into(), None)) };
    let any: IpAddr =
        if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    // This looks the route up and sends nothing.
    socket.connect(target)?;
    let mtu = if target.is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    Ok((socket.local_addr()?.ip(), mtu.ok().map(|mtu| Bytes::new(u64::from(mtu)))))
}

#[derive(Default)]
struct Arrived {
    messages: usize,
    datagrams: usize,
    marked: usize,
}

fn send_together(
    sender: &UdpSocket,
    sending: &UdpSocketState,
    receiver: &UdpSocket,
    receiving: &UdpSocketState,
) -> io::Result<Arrived> {
    let contents = vec![7; SEGMENT * SEGMENTS];
    let transmit = Transmit {
        destination: receiver.local_addr()?,
        ecn: Some(EcnCodepoint::Ect0),
        contents: &contents,
        segment_size: Some(SEGMENT),
        src_ip: None,
    };
    let mut arrived = Arrived::default();
    // A host that refuses is a finding, not an error.
    if sending.max_gso_segments() < SEGMENTS || sending.try_send(sender.into(), &transmit).is_err() {
        return Ok(arrived);
    }
    let mut buffer = vec![0; 1 << 16];
    while arrived.datagrams < SEGMENTS && readable(receiver, Duration::from_millis(200))? {
        let mut metas = [RecvMeta::default()];
        let count = receiving.recv(receiver.into(), &mut [IoSliceMut::new(&mut buffer)], &mut metas)?;
        let meta = metas[0];
        if count == 1 && meta.stride > 0 {
            arrived.messages += 1;
            arrived.datagrams += meta.len.div_ceil(meta.stride);
            arrived.marked += usize::from(meta.ecn == Some(EcnCodepoint::Ect0));
        }
    }
    Ok(arrived)
}

fn oversleep() -> Duration {
    const SLEEP: Duration = Duration::from_micros(100);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
    let clock = Clock::new();
    let mut late: Vec<_> = (0..51)
        .map(|_| {
            let start = clock.now();
            let _ = poll(&mut [], Some(&timespec(SLEEP)));
            clock.now().since(start).saturating_sub(SLEEP)
        })
        .collect();
    late.sort_unstable();
    late[late.len() / 2]
}

fn clock_cost() -> Duration {
    const READS: u64 = 10_000;
    let clock = Clock::new();
    for _ in 0..READS {
        let _ = std::hint::black_box(clock.now());
    }
    clock.now().since(thalweg_proto::units::Time::ZERO) / READS
}

fn sealing() -> Rate {
    const PACKETS: u64 = 2000;
    const SIZE: usize = 1400;
    let mut sealer = Sealer::new(Secret([1; 32]));
    let mut buffer = Vec::with_capacity(2 * SIZE);
    let clock = Clock::new();
    for _ in 0..PACKETS {
        buffer.clear();
        write_header(&mut buffer, ConnectionId([0; 8]), sealer.next_number());
        buffer.resize(HEADER + SIZE, 0);
        // It fails after 2^62 packets.
        let _ = sealer.seal(&mut buffer, 0);
    }
    Rate::from_transfer(
        Bytes::new(PACKETS * SIZE as u64),
        clock.now().since(thalweg_proto::units::Time::ZERO),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_examined_without_and_with_a_target() {
        for target in [None, Some("127.0.0.1:9".parse().unwrap()), Some("[::1]:9".parse().unwrap())] {
            let findings = examine(target).unwrap();
            assert!(findings.receive_buffer > Bytes::ZERO && findings.sealing > Rate::from_mbits_per_sec(10));
            assert_eq!(findings.interface_mtu.is_some(), target.is_some());
            let Lateness { late, late_p99, call, packet, .. } = findings.lateness;
            assert!(
                late > Duration::ZERO && late_p99 >= late && call + packet > Duration::ZERO,
                "{findings:?}"
            );
            // Where datagrams are put together, all of them came.
            assert!(findings.segmentation || !findings.coalescing);
        }
    }
}
