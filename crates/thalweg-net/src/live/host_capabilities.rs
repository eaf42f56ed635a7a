//! UDP capabilities of this host: buffers, offloads, timers.

use super::host_clock::{Clock, to_timespec};
use super::host_lateness::{Lateness, SEGMENT, SEGMENTS, measure_lateness, wait_until_readable};
use super::wakeup_coalescing::COALESCING_INTERVAL;
use crate::packet_protection::{Encryptor, Secret};
use crate::wire::{ConnectionId, HEADER, write_header};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::poll;
use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use thalweg_proto::units::{Bytes, Duration, Rate};

/// Results of the examination.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Source address of the examined path.
    pub local: IpAddr,
    /// Requested size of each socket buffer.
    pub requested: Bytes,
    /// Granted send buffer size. Linux doubles the request for its own overhead.
    pub send_buffer: Bytes,
    /// Granted receive buffer size.
    pub receive_buffer: Bytes,
    /// MTU of the interface towards the target, headers included; `None` without a target.
    pub interface_mtu: Option<Bytes>,
    /// Maximum datagrams per GSO send call.
    pub segments: usize,
    /// GSO works: ten datagrams sent with one call arrived.
    pub segmentation: bool,
    /// GRO works: they arrived with fewer calls than datagrams.
    pub coalescing: bool,
    /// Their ECT codepoint arrived.
    pub ecn: bool,
    /// Lateness of threads, and cost of calls.
    pub lateness: Lateness,
    /// Wake-up coalescing interval; deadlines closer than this are merged.
    pub coalescing_interval: Duration,
    /// Median timer overshoot of a 100 us sleep.
    pub timer_overshoot: Duration,
    /// Cost of reading the clock.
    pub clock: Duration,
    /// Encryption rate of one processor for packets of 1400 bytes.
    pub encryption: Rate,
    /// Number of usable processors.
    pub processors: usize,
}

const REQUESTED_BUFFER_BYTES: usize = 4 << 20;

/// Examines the host, and the interface towards `target` if given. Sends nothing to the target: test datagrams go from
/// this host to itself.
///
/// # Errors
/// No socket can be created, or there is no route to the target.
pub fn examine_host(target: Option<SocketAddr>) -> io::Result<Findings> {
    let (local, interface_mtu) = source_address_and_mtu(target)?;
    let (sender, receiver) = (UdpSocket::bind(local)?, UdpSocket::bind(local)?);
    for socket in [&sender, &receiver] {
        let socket = SockRef::from(socket);
        socket.set_send_buffer_size(REQUESTED_BUFFER_BYTES)?;
        socket.set_recv_buffer_size(REQUESTED_BUFFER_BYTES)?;
    }
    let buffer = |size: io::Result<usize>| size.map(|size| Bytes::new(size as u64));
    let (sending, receiving) =
        (UdpSocketState::new((&sender).into())?, UdpSocketState::new((&receiver).into())?);
    let arrived = send_together(&sender, &sending, &receiver, &receiving)?;
    Ok(Findings {
        local: local.ip(),
        requested: Bytes::new(REQUESTED_BUFFER_BYTES as u64),
        send_buffer: buffer(SockRef::from(&sender).send_buffer_size())?,
        receive_buffer: buffer(SockRef::from(&receiver).recv_buffer_size())?,
        interface_mtu,
        segments: sending.max_gso_segments(),
        segmentation: arrived.datagrams == SEGMENTS,
        coalescing: arrived.datagrams > arrived.messages,
        ecn: arrived.marked == arrived.messages && arrived.messages > 0,
        lateness: measure_lateness(local, arrived.datagrams == SEGMENTS)?,
        coalescing_interval: COALESCING_INTERVAL,
        timer_overshoot: timer_overshoot(),
        clock: clock_cost(),
        encryption: measure_encryption_rate(),
        processors: std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
    })
}

/// Returns the source address towards the target, with port 0, and the MTU of its interface.
fn source_address_and_mtu(target: Option<SocketAddr>) -> io::Result<(SocketAddr, Option<Bytes>)> {
    let Some(target) = target else { return Ok((SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0), None)) };
    let any: IpAddr =
        if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    // Connecting a UDP socket looks up the route and sends nothing.
    socket.connect(target)?;
    let mtu = if target.is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    // It has the interface of a link-local address, without which no socket can be bound to one.
    let mut local = socket.local_addr()?;
    local.set_port(0);
    Ok((local, mtu.ok().map(|mtu| Bytes::new(u64::from(mtu)))))
}

#[derive(Default)]
struct ArrivedDatagrams {
    messages: usize,
    datagrams: usize,
    marked: usize,
}

fn send_together(
    sender: &UdpSocket,
    sending: &UdpSocketState,
    receiver: &UdpSocket,
    receiving: &UdpSocketState,
) -> io::Result<ArrivedDatagrams> {
    let contents = vec![7; SEGMENT * SEGMENTS];
    let transmit = Transmit {
        destination: receiver.local_addr()?,
        ecn: Some(EcnCodepoint::Ect0),
        contents: &contents,
        segment_size: Some(SEGMENT),
        src_ip: None,
    };
    let mut arrived = ArrivedDatagrams::default();
    // A host that refuses is a finding, not an error.
    if sending.max_gso_segments() < SEGMENTS || sending.try_send(sender.into(), &transmit).is_err() {
        return Ok(arrived);
    }
    let mut buffer = vec![0; 1 << 16];
    while arrived.datagrams < SEGMENTS && wait_until_readable(receiver, Duration::from_millis(200))? {
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

fn timer_overshoot() -> Duration {
    const SLEEP_TIME: Duration = Duration::from_micros(100);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
    let clock = Clock::new();
    let mut late: Vec<_> = (0..51)
        .map(|_| {
            let start = clock.now();
            let _ = poll(&mut [], Some(&to_timespec(SLEEP_TIME)));
            clock.now().since(start).saturating_sub(SLEEP_TIME)
        })
        .collect();
    late.sort_unstable();
    late[late.len() / 2]
}

fn clock_cost() -> Duration {
    const CLOCK_READS: u64 = 10_000;
    let clock = Clock::new();
    for _ in 0..CLOCK_READS {
        let _ = std::hint::black_box(clock.now());
    }
    clock.now().since(thalweg_proto::units::Time::ZERO) / CLOCK_READS
}

fn measure_encryption_rate() -> Rate {
    const SENT_PACKETS: u64 = 2000;
    const PACKET_SIZE: usize = 1400;
    let mut encryptor = Encryptor::new(Secret([1; 32]));
    let mut buffer = Vec::with_capacity(2 * PACKET_SIZE);
    let clock = Clock::new();
    for _ in 0..SENT_PACKETS {
        buffer.clear();
        write_header(&mut buffer, ConnectionId([0; 8]), encryptor.next_number());
        buffer.resize(HEADER + PACKET_SIZE, 0);
        // Sealing fails only after 2^62 packets.
        let _ = encryptor.seal(&mut buffer, 0);
    }
    Rate::from_transfer(
        Bytes::new(SENT_PACKETS * PACKET_SIZE as u64),
        clock.now().since(thalweg_proto::units::Time::ZERO),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_examined_without_and_with_a_target() {
        for target in [None, Some("127.0.0.1:9".parse().unwrap()), Some("[::1]:9".parse().unwrap())] {
            let findings = examine_host(target).unwrap();
            assert!(
                findings.receive_buffer > Bytes::ZERO && findings.encryption > Rate::from_mbits_per_sec(10)
            );
            assert_eq!(findings.interface_mtu.is_some(), target.is_some());
            let Lateness { wake_up_latency: p50, wake_up_latency_p99: p99, call, packet, .. } =
                findings.lateness;
            assert!(p50 > Duration::ZERO && p99 >= p50 && call + packet > Duration::ZERO, "{findings:?}");
            // Coalescing is detected only if all datagrams arrived.
            assert!(findings.segmentation || !findings.coalescing);
        }
    }

    /// A socket cannot be bound to a link-local address without its interface. Lines of `/proc/net/if_inet6` are the
    /// address in hexadecimal, the interface number, and fields that begin with the prefix length.
    #[test]
    fn an_interface_is_examined_by_its_link_local_address() {
        let interfaces = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
        let found = interfaces.lines().find(|line| line.starts_with("fe80"));
        let Some(words) = found.map(|line| line.split_whitespace().collect::<Vec<_>>()) else {
            return eprintln!("skipped: no interface has a link-local address");
        };
        let address = std::net::Ipv6Addr::from(u128::from_str_radix(words[0], 16).unwrap());
        let scope = u32::from_str_radix(words[1], 16).unwrap();
        let findings = examine_host(Some(std::net::SocketAddrV6::new(address, 9, 0, scope).into())).unwrap();
        assert_eq!(findings.local, address);
        assert!(findings.interface_mtu.is_some(), "{findings:?}");
    }
}
