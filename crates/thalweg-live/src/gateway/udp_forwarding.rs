//! UDP forwarding to the real network and back: one socket on each side per pair of endpoints.

use super::socket_passing::SocketKind;
use super::{ConnectionAddresses, Forwarder, SocketKey, address_family, open_transparent_socket};
use crate::router_icmp::IcmpError;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, bind, connect, recv, send};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Idle timeouts of an endpoint pair: general (RFC 4787, section 4.3) and, shorter, for DNS queries.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
const DNS_IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of endpoint pairs. The one idle for longest is evicted.
const MAX_ENDPOINT_PAIRS: usize = 4096;
/// Maximum datagrams moved per turn.
const MAX_DATAGRAMS: usize = 64;
/// Maximum bytes of a packet quoted in an ICMP message.
const MAX_QUOTED_BYTES: usize = 128;

/// Datagrams between two endpoints.
#[derive(Debug)]
pub(super) struct DatagramRelay {
    /// Sockets of the namespace and of the real network.
    sockets: [OwnedFd; 2],
    /// Start of the first packet.
    head: Vec<u8>,
    last: Instant,
    ends: ConnectionAddresses,
}

impl Forwarder {
    /// Handles the first datagram between two endpoints.
    pub(super) fn begin(&mut self, packet: &[u8], ends: ConnectionAddresses) {
        if self.relays.values().any(|relay| relay.ends == ends) {
            return self.enter(packet);
        }
        if self.relays.len() >= MAX_ENDPOINT_PAIRS
            && let Some(number) =
                self.relays.iter().min_by_key(|(_, relay)| relay.last).map(|(number, _)| *number)
        {
            self.forget(number);
        }
        match self.sockets(ends) {
            Ok(sockets) => {
                let number = self.number();
                self.watch(&sockets[0], SocketKey::InnerTalk, number, EventFlags::IN);
                self.watch(&sockets[1], SocketKey::OuterTalk, number, EventFlags::IN);
                let head = packet[..packet.len().min(MAX_QUOTED_BYTES)].to_vec();
                self.relays.insert(number, DatagramRelay { sockets, head, last: Instant::now(), ends });
                self.known_connections.lock().unwrap_or_else(PoisonError::into_inner).insert(ends);
                self.enter(packet);
            }
            Err(Errno::CONNREFUSED) => self.send_icmp(IcmpError::NoPort, packet),
            Err(_) => self.send_icmp(IcmpError::NoRoute, packet),
        }
    }

    fn sockets(&self, (program, target): ConnectionAddresses) -> Result<[OwnedFd; 2], Errno> {
        let real: SocketAddr = self.real(target);
        let outer = self.socket_client.socket(SocketKind::Datagrams(address_family(real)))?;
        connect(&outer, &real)?;
        let inside = open_transparent_socket(SocketType::DGRAM, target)?;
        bind(&inside, &target)?;
        connect(&inside, &program)?;
        Ok([inside, outer])
    }

    /// Handles datagrams that arrived at one of the sockets.
    pub(super) fn relay(&mut self, number: u64, side: usize) {
        let Some(relay) = self.relays.get_mut(&number) else { return };
        let (from, to) = (&relay.sockets[side], &relay.sockets[1 - side]);
        let mut refused = false;
        for _ in 0..MAX_DATAGRAMS {
            let length = match recv(from, &mut *self.buffer, RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::AGAIN | Errno::INTR) => break,
                // The program has ended, or the target port is closed.
                Err(_) => {
                    refused |= side == 1;
                    break;
                }
            };
            relay.last = Instant::now();
            // Datagrams may be lost.
            let sent = send(to, &self.buffer[..length], SendFlags::NOSIGNAL);
            refused |= side == 0 && sent == Err(Errno::CONNREFUSED);
        }
        if refused {
            let head = relay.head.clone();
            self.send_icmp(IcmpError::NoPort, &head);
        }
    }

    fn forget(&mut self, number: u64) {
        if let Some(relay) = self.relays.remove(&number) {
            self.known_connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&relay.ends);
            relay.sockets.iter().for_each(|socket| self.unwatch(socket));
        }
    }

    /// Removes idle pairs.
    pub(super) fn expire_relays(&mut self, now: Instant) {
        let is_over = |relay: &DatagramRelay| {
            let timeout = if relay.ends.1.port() == super::DNS { DNS_IDLE_TIMEOUT } else { IDLE_TIMEOUT };
            now.saturating_duration_since(relay.last) >= timeout
        };
        let over: Vec<u64> =
            self.relays.iter().filter(|(_, relay)| is_over(relay)).map(|(number, _)| *number).collect();
        over.into_iter().for_each(|number| self.forget(number));
    }
}
