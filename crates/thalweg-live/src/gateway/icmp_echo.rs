//! Forwarding of ICMP echo (ping) to the real network.
//!
//! Unprivileged users may send echo requests if `net.ipv4.ping_group_range` includes their group; root always may.
//! Without permission there is no reply, as from many hosts.

use super::socket_passing::SocketKind;
use super::{Forwarder, SocketKey};
use crate::ip_header::Header;
use crate::router_originated_packets::compose_ip_packet;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, connect, recv, send};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Idle timeout after which a program counts as ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of pairs of program and target.
const MAX_CLIENTS: usize = 256;

/// A program that sends echo requests to a target.
#[derive(Debug)]
pub(super) struct EchoClient {
    socket: OwnedFd,
    /// True for a raw ICMP socket, which also receives others' messages, with IPv4 headers.
    is_raw: bool,
    program: IpAddr,
    target: IpAddr,
    /// Echo identifier of the program, and the local one for raw sockets.
    number: [u8; 2],
    local_id: [u8; 2],
    last: Instant,
}

impl Forwarder {
    /// Handles an echo request of a program.
    pub(super) fn forward_echo(&mut self, packet: &[u8], header: &Header) {
        let Some(request) = packet.get(header.transport_offset..).filter(|request| request.len() >= 8) else {
            return;
        };
        let number = [request[4], request[5]];
        let fits = |client: &EchoClient| {
            client.program == header.source && client.target == header.target && client.number == number
        };
        let known = self.echo_clients.iter().find(|(_, client)| fits(client)).map(|(key, _)| *key);
        let Some(key) = known.or_else(|| self.begin_echoes(header, number)) else { return };
        let Some(client) = self.echo_clients.get_mut(&key) else { return };
        client.last = Instant::now();
        let mut request = request.to_vec();
        request[4..6].copy_from_slice(&client.local_id);
        if client.is_raw && client.target.is_ipv4() {
            request[2..4].fill(0);
            let sum = crate::ip_header::checksum(&[&request]);
            request[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        // Echo requests may be lost.
        let _ = send(&client.socket, &request, SendFlags::NOSIGNAL);
    }

    fn begin_echoes(&mut self, header: &Header, number: [u8; 2]) -> Option<u64> {
        if self.echo_clients.len() >= MAX_CLIENTS {
            return None;
        }
        let family = if header.target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let users = self.socket_client.socket(SocketKind::IcmpEcho(family)).map(|socket| (socket, false));
        let made = users
            .or_else(|_| self.socket_client.socket(SocketKind::Raw(family)).map(|socket| (socket, true)));
        let (socket, is_raw) = made.ok()?;
        connect(&socket, &SocketAddr::new(header.target, 0)).ok()?;
        let key = self.number();
        self.watch(&socket, SocketKey::EchoClient, key, EventFlags::IN);
        let (program, target) = (header.source, header.target);
        // Other programs on this host draw identifiers from the same 65,536; replies to them have other sequence
        // numbers.
        let local_id = (key as u16).wrapping_add(std::process::id() as u16).to_be_bytes();
        self.echo_clients.insert(
            key,
            EchoClient { socket, is_raw, program, target, number, local_id, last: Instant::now() },
        );
        Some(key)
    }

    /// Handles echo replies.
    pub(super) fn echo(&mut self, key: u64) {
        let Some(client) = self.echo_clients.get(&key) else { return };
        let mut answers = Vec::new();
        loop {
            let length = match recv(&client.socket, &mut *self.buffer, RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::INTR) => continue,
                Err(_) => break,
            };
            let message = self.buffer.get(..length).unwrap_or_default();
            answers.extend(echo_reply_packet(client, message));
        }
        answers.iter().for_each(|answer| self.send_back(answer));
    }

    /// Removes idle programs.
    pub(super) fn expire_echoes(&mut self, now: Instant) {
        let is_over = |client: &EchoClient| now.saturating_duration_since(client.last) >= IDLE_TIMEOUT;
        let over: Vec<u64> =
            self.echo_clients.iter().filter(|(_, client)| is_over(client)).map(|(key, _)| *key).collect();
        for key in over {
            if let Some(client) = self.echo_clients.remove(&key) {
                self.unwatch(&client.socket);
            }
        }
    }
}

/// Returns the reply packet for a program, from a received message.
fn echo_reply_packet(client: &EchoClient, message: &[u8]) -> Option<Vec<u8>> {
    let message = match client.is_raw && client.target.is_ipv4() {
        true => message.get(usize::from(message.first()? & 15) * 4..)?,
        false => message,
    };
    let (kind, protocol) = match client.target {
        IpAddr::V4(_) => (0, crate::ip_header::ICMP),
        IpAddr::V6(_) => (129, crate::ip_header::ICMP6),
    };
    let is_ours = !client.is_raw || message.get(4..6)? == client.local_id;
    if *message.first()? != kind || message.len() < 8 || !is_ours {
        return None;
    }
    let mut body = message.to_vec();
    body[2..4].fill(0);
    body[4..6].copy_from_slice(&client.number);
    compose_ip_packet(client.target, client.program, protocol, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::os::unix::net::UnixDatagram;

    /// Tests that the reply goes to the requesting program with its own identifier; on raw sockets the message has an
    /// IPv4 header.
    #[test]
    fn replies_go_to_the_requesting_program() {
        let [program, target] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let socket = UnixDatagram::unbound().unwrap().into();
        let (number, local_id) = ([7, 8], [1, 2]);
        let mut client =
            EchoClient { socket, is_raw: false, program, target, number, local_id, last: Instant::now() };
        let echo = [0, 0, 9, 9, 1, 2, 0, 5, b'x'];
        let packet = echo_reply_packet(&client, &echo).unwrap();
        let header = Header::parse(&packet).unwrap();
        assert_eq!((header.source, header.target, header.ports), (target, program, [0x0708; 2]));
        assert_eq!(packet[26..], [0, 5, b'x']);
        assert_eq!(crate::ip_header::checksum(&[&packet[20..]]), 0);
        client.is_raw = true;
        let raw = [[0x45, 0, 0, 29].as_slice(), &[0; 16], &echo].concat();
        assert_eq!(echo_reply_packet(&client, &raw), Some(packet));
        client.local_id = [3, 3];
        assert_eq!(echo_reply_packet(&client, &raw), None);
        assert_eq!(echo_reply_packet(&client, &[8, 0]), None);
    }
}
