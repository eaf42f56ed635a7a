//! TCP state of a host's connections: `struct tcp_info`, over sock_diag.

use super::setup_error::HostError;
use super::setup_error::of_reply;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::os::fd::OwnedFd;

/// `SOCK_DIAG_BY_FAMILY`, for requests and answers.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Request flags for a full dump.
const REQUEST_ALL: u16 = 1 | 0x300;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const TCP: u8 = 6;
/// Attribute with `struct tcp_info`, and the bit that requests it.
const INFO: u16 = 2;
const WANT_INFO: u8 = 1 << (INFO - 1);
const HEADER: usize = 16;
/// `struct inet_diag_msg`.
const DIAG_MESSAGE: usize = 72;

/// State of a TCP sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Local port.
    pub from: u16,
    /// Remote port.
    pub to: u16,
    /// Congestion window, in segments.
    pub window: u32,
    /// Smoothed round-trip time, in microseconds.
    pub rtt_micros: u32,
    /// Total number of retransmitted segments.
    pub retransmissions: u32,
}

/// Diagnostics socket for the TCP connections of the network namespace of its creation.
#[derive(Debug)]
pub struct Sockets(OwnedFd);

impl Sockets {
    /// Opens a socket for the namespace of this thread.
    ///
    /// # Errors
    ///
    /// The system does not support it.
    pub fn new() -> Result<Self, HostError> {
        let made = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        );
        made.map(Self).map_err(|why| {
            HostError::new("cannot query TCP diagnostics", why)
                .help("it needs the kernel's tcp_diag: `sudo modprobe tcp_diag`")
        })
    }

    /// Returns all current senders over IPv4.
    ///
    /// # Errors
    ///
    /// The system refuses, or lacks this information.
    pub fn senders(&self) -> Result<Vec<TcpInfo>, HostError> {
        self.query(IPV4).map_err(|why| {
            HostError::new("cannot query TCP diagnostics", why)
                .help("it needs the kernel's tcp_diag: `sudo modprobe tcp_diag`")
        })
    }

    /// Wraps a socket created elsewhere.
    pub(crate) fn from_socket(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Returns all current senders over IPv4 and IPv6.
    pub(crate) fn all(&self) -> Result<Vec<TcpInfo>, Errno> {
        Ok([self.query(IPV4)?, self.query(IPV6)?].concat())
    }

    fn query(&self, family: u8) -> Result<Vec<TcpInfo>, Errno> {
        let mut request = 72u32.to_ne_bytes().to_vec();
        for word in [BY_FAMILY, REQUEST_ALL] {
            request.extend(word.to_ne_bytes());
        }
        request.extend([0; 8]);
        // State mask: ESTABLISHED is state 1, hence bit 1.
        request.extend([family, TCP, WANT_INFO, 0]);
        request.extend((1u32 << 1).to_ne_bytes());
        request.resize(72, 0);
        send(&self.0, &request, SendFlags::empty())?;
        let mut found = Vec::new();
        let mut answer = vec![0; 1 << 16];
        loop {
            let (length, _) = recv(&self.0, &mut *answer, RecvFlags::empty())?;
            if length == 0 || read(&answer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// Parses an answer; returns true at the end of the dump.
pub(crate) fn read(mut answer: &[u8], found: &mut Vec<TcpInfo>) -> Result<bool, Errno> {
    while let (Some(length), Some(kind)) = (read_u32(answer, 0), read_u16(answer, 4)) {
        let length = length as usize;
        let Some(message) = answer.get(..length).filter(|message| message.len() >= HEADER) else {
            return Ok(true);
        };
        match kind {
            NLMSG_DONE => return Ok(true),
            ERROR => {
                return Err(of_reply(read_u32(message, HEADER).map_or(0, u32::cast_signed)));
            }
            BY_FAMILY => found.extend(parse_sender_info(&message[HEADER..])),
            _ => {}
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn parse_sender_info(message: &[u8]) -> Option<TcpInfo> {
    // Ports are in network byte order.
    let [from, to] = [4, 6].map(|at| message.get(at..).and_then(<[u8]>::first_chunk).copied());
    let [from, to] = [u16::from_be_bytes(from?), u16::from_be_bytes(to?)];
    let mut attributes = message.get(DIAG_MESSAGE..)?;
    while let (Some(length), Some(kind)) = (read_u16(attributes, 0), read_u16(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(4..length)?;
        if kind == INFO {
            // Stable offsets in `struct tcp_info` of `linux/tcp.h`.
            return Some(TcpInfo {
                from,
                to,
                window: read_u32(value, 80)?,
                rtt_micros: read_u32(value, 68)?,
                retransmissions: read_u32(value, 100)?,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    /// Tests that a loopback connection with sent data is listed.
    #[test]
    fn the_system_reports_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"hello").unwrap();
        let (mut other, _) = listener.accept().unwrap();
        other.read_exact(&mut [0; 5]).unwrap();
        let Ok(senders) = Sockets::new().and_then(|sockets| sockets.senders()) else {
            eprintln!("skipped: this kernel tells nothing of sockets");
            return;
        };
        let found = senders.iter().find(|sender| sender.to == port).unwrap();
        assert!(found.window >= 1 && found.window < 1_000_000 && found.rtt_micros < 10_000_000, "{found:?}");
        assert_eq!(found.retransmissions, 0);
    }

    #[test]
    fn malformed_replies_yield_no_sender() {
        let mut found = Vec::new();
        assert_eq!(read(&[], &mut found), Ok(false));
        // A message shorter than its header, and a message without its attributes.
        assert_eq!(read(&8u32.to_ne_bytes(), &mut found), Ok(false));
        let mut short = [24u32.to_ne_bytes(), [20, 0, 0, 0], [0; 4], [0; 4]].concat();
        short.extend([0; 8]);
        assert_eq!(read(&short, &mut found), Ok(false));
        let mut zero = vec![0; 16];
        zero[4] = 20;
        assert_eq!(read(&zero, &mut found), Ok(true));
        assert!(found.is_empty());
    }
}
