//! Echoes of ICMP in the real network.
//!
//! Users may ask for echoes where the system lets their group (`net.ipv4.ping_group_range`), and root may in any case; where nobody may
//! there is no answer, as from many hosts.

use super::lend::Kind;
use super::{Forwarder, Place};
use crate::compose::compose;
use crate::packet::Header;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, connect, recv, send};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A program that asks for no echo for so long has ended.
const SILENCE: Duration = Duration::from_secs(60);
/// Programs and targets at a time.
const MOST: usize = 256;

/// A program that asks a target for echoes.
#[derive(Debug)]
pub(super) struct Asked {
    socket: OwnedFd,
    /// The socket has all of ICMP: what is for others, and headers of IPv4.
    is_raw: bool,
    program: IpAddr,
    target: IpAddr,
    /// The number of the program, and ours where the system does not choose it.
    number: [u8; 2],
    own: [u8; 2],
    last: Instant,
}

impl Forwarder {
    /// A program asks for an echo.
    pub(super) fn ask(&mut self, packet: &[u8], header: &Header) {
        let Some(request) = packet.get(header.at..).filter(|request| request.len() >= 8) else { return };
        let number = [request[4], request[5]];
        let fits = |asked: &Asked| {
            asked.program == header.source && asked.target == header.target && asked.number == number
        };
        let known = self.asked.iter().find(|(_, asked)| fits(asked)).map(|(key, _)| *key);
        let Some(key) = known.or_else(|| self.begin_echoes(header, number)) else { return };
        let Some(asked) = self.asked.get_mut(&key) else { return };
        asked.last = Instant::now();
        let mut request = request.to_vec();
        request[4..6].copy_from_slice(&asked.own);
        if asked.is_raw && asked.target.is_ipv4() {
            request[2..4].fill(0);
            let sum = crate::packet::checksum(&[&request]);
            request[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        // An echo may be lost.
        let _ = send(&asked.socket, &request, SendFlags::NOSIGNAL);
    }

    fn begin_echoes(&mut self, header: &Header, number: [u8; 2]) -> Option<u64> {
        if self.asked.len() >= MOST {
            return None;
        }
        let family = if header.target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let users = self.lender.socket(Kind::Echoes(family)).map(|socket| (socket, false));
        let made = users.or_else(|_| self.lender.socket(Kind::Raw(family)).map(|socket| (socket, true)));
        let (socket, is_raw) = made.ok()?;
        connect(&socket, &SocketAddr::new(header.target, 0)).ok()?;
        let key = self.number();
        self.watch(&socket, Place::Asked, key, EventFlags::IN);
        let (program, target) = (header.source, header.target);
        // Numbers of other programs on this host are drawn from the same 65,536; a stranger's answer has another sequence.
        let own = (key as u16).wrapping_add(std::process::id() as u16).to_be_bytes();
        self.asked.insert(key, Asked { socket, is_raw, program, target, number, own, last: Instant::now() });
        Some(key)
    }

    /// Echoes have come back.
    pub(super) fn echo(&mut self, key: u64) {
        let Some(asked) = self.asked.get(&key) else { return };
        let mut answers = Vec::new();
        loop {
            let length = match recv(&asked.socket, &mut *self.buffer, RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::INTR) => continue,
                Err(_) => break,
            };
            let message = self.buffer.get(..length).unwrap_or_default();
            answers.extend(answer(asked, message));
        }
        answers.iter().for_each(|answer| self.send_back(answer));
    }

    /// Forgets who asks no more.
    pub(super) fn tidy_echoes(&mut self, now: Instant) {
        let is_over = |asked: &Asked| now.saturating_duration_since(asked.last) >= SILENCE;
        let over: Vec<u64> =
            self.asked.iter().filter(|(_, asked)| is_over(asked)).map(|(key, _)| *key).collect();
        for key in over {
            if let Some(asked) = self.asked.remove(&key) {
                self.unwatch(&asked.socket);
            }
        }
    }
}

/// The packet for a program, of a message that came for it.
fn answer(asked: &Asked, message: &[u8]) -> Option<Vec<u8>> {
    let message = match asked.is_raw && asked.target.is_ipv4() {
        true => message.get(usize::from(message.first()? & 15) * 4..)?,
        false => message,
    };
    let (kind, protocol) = match asked.target {
        IpAddr::V4(_) => (0, crate::packet::ICMP),
        IpAddr::V6(_) => (129, crate::packet::ICMP6),
    };
    let is_ours = !asked.is_raw || message.get(4..6)? == asked.own;
    if *message.first()? != kind || message.len() < 8 || !is_ours {
        return None;
    }
    let mut body = message.to_vec();
    body[2..4].fill(0);
    body[4..6].copy_from_slice(&asked.number);
    compose(asked.target, asked.program, protocol, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::os::unix::net::UnixDatagram;

    /// With the header of IPv4 where the socket is a raw one, to the program that asked, with its own number.
    #[test]
    fn answers_go_to_who_asked() {
        let [program, target] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let socket = UnixDatagram::unbound().unwrap().into();
        let (number, own) = ([7, 8], [1, 2]);
        let mut asked = Asked { socket, is_raw: false, program, target, number, own, last: Instant::now() };
        let echo = [0, 0, 9, 9, 1, 2, 0, 5, b'x'];
        let packet = answer(&asked, &echo).unwrap();
        let header = Header::parse(&packet).unwrap();
        assert_eq!((header.source, header.target, header.ports), (target, program, [0x0708; 2]));
        assert_eq!(packet[26..], [0, 5, b'x']);
        assert_eq!(crate::packet::checksum(&[&packet[20..]]), 0);
        asked.is_raw = true;
        let raw = [[0x45, 0, 0, 29].as_slice(), &[0; 16], &echo].concat();
        assert_eq!(answer(&asked, &raw), Some(packet));
        asked.own = [3, 3];
        assert_eq!(answer(&asked, &raw), None);
        assert_eq!(answer(&asked, &[8, 0]), None);
    }
}
