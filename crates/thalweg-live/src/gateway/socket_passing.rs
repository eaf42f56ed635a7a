//! Socket passing between network namespaces: a process in one requests sockets from a process in another over a Unix
//! socket.
//!
//! An unprivileged process that entered its own network namespace cannot return to the host's. A process that stayed
//! there creates the sockets and passes them (SCM_RIGHTS, unix(7)); it does nothing else.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, ipproto, netlink, recvmsg, sendmsg,
    socket_with, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Kinds of sockets that can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketKind {
    /// TCP, over IPv4 or IPv6.
    Stream(AddressFamily),
    /// UDP.
    Datagrams(AddressFamily),
    /// ICMP echo, with identifiers chosen by the system: for users whose group is in `net.ipv4.ping_group_range`.
    IcmpEcho(AddressFamily),
    /// Raw ICMP: for root.
    Raw(AddressFamily),
    /// TCP diagnostics (sock_diag).
    TcpDiagnostics,
}

/// All kinds, indexed by their number in requests.
const KINDS: [SocketKind; 9] = [
    SocketKind::Stream(AddressFamily::INET),
    SocketKind::Stream(AddressFamily::INET6),
    SocketKind::Datagrams(AddressFamily::INET),
    SocketKind::Datagrams(AddressFamily::INET6),
    SocketKind::IcmpEcho(AddressFamily::INET),
    SocketKind::IcmpEcho(AddressFamily::INET6),
    SocketKind::Raw(AddressFamily::INET),
    SocketKind::Raw(AddressFamily::INET6),
    SocketKind::TcpDiagnostics,
];

impl SocketKind {
    fn open(self) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let icmp = |family| if family == AddressFamily::INET { ipproto::ICMP } else { ipproto::ICMPV6 };
        match self {
            Self::Stream(family) => socket_with(family, SocketType::STREAM, flags, None),
            Self::Datagrams(family) => socket_with(family, SocketType::DGRAM, flags, None),
            Self::IcmpEcho(family) => socket_with(family, SocketType::DGRAM, flags, Some(icmp(family))),
            Self::Raw(family) => socket_with(family, SocketType::RAW, flags, Some(icmp(family))),
            Self::TcpDiagnostics => {
                let flags = SocketFlags::CLOEXEC;
                socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))
            }
        }
    }
}

/// Returns the two ends of a socket pair: for [`serve_sockets`] and for [`SocketClient`].
///
/// # Errors
///
/// The system cannot create a socket pair.
pub fn control_socket_pair() -> Result<[OwnedFd; 2], Errno> {
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok([one, other])
}

/// Passes a file descriptor to the process at the other end, with a message.
///
/// # Errors
///
/// The other end is closed.
pub fn send_fd(to: BorrowedFd<'_>, file: Option<BorrowedFd<'_>>, message: &[u8]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
    if !files.is_empty() {
        rights.push(SendAncillaryMessage::ScmRights(&files));
    }
    sendmsg(to, &[IoSlice::new(message)], &mut rights, SendFlags::NOSIGNAL).map(drop)
}

/// A received file descriptor and its message.
pub type ReceivedFd<const N: usize> = (Option<OwnedFd>, [u8; N]);

/// Receives a file descriptor and its message of at most `N` bytes; `None` once the other end is closed.
///
/// # Errors
///
/// `from` is not such a socket.
pub fn receive_fd<const N: usize>(from: BorrowedFd<'_>) -> Result<Option<ReceivedFd<N>>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut message = [0; N];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(from, &mut [IoSliceMut::new(&mut message)], &mut rights, flags) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let file = rights.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    Ok(Some((file, message)))
}

/// Serves requests for sockets of this process's network until the other end closes.
///
/// # Errors
///
/// `to` is not such a socket.
pub fn serve_sockets(to: BorrowedFd<'_>) -> Result<(), Errno> {
    while let Some((_, [number])) = receive_fd::<1>(to)? {
        let made = KINDS.get(usize::from(number)).map_or(Err(Errno::INVAL), |kind| kind.open());
        let (file, error) = match &made {
            Ok(socket) => (Some(socket.as_fd()), 0),
            Err(error) => (None, error.raw_os_error()),
        };
        send_fd(to, file, &error.to_ne_bytes())?;
    }
    Ok(())
}

/// Client of a process that creates sockets in its own network.
#[derive(Debug)]
pub struct SocketClient(OwnedFd);

impl SocketClient {
    /// Creates the client for the socket server at the other end.
    pub fn new(end: OwnedFd) -> Self {
        Self(end)
    }

    /// Requests a socket of the server's network.
    pub(super) fn socket(&self, kind: SocketKind) -> Result<OwnedFd, Errno> {
        let number = KINDS.iter().position(|other| *other == kind).unwrap_or(KINDS.len());
        send_fd(self.0.as_fd(), None, &[number as u8])?;
        let (file, error) = receive_fd::<4>(self.0.as_fd())?.ok_or(Errno::PIPE)?;
        match (file, i32::from_ne_bytes(error)) {
            (Some(file), 0) => Ok(file),
            (_, 0) => Err(Errno::MFILE),
            (_, error) => Err(Errno::from_raw_os_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{getsockname, sockopt};

    /// Tests that a server passes sockets and ends once the client closes.
    #[test]
    fn sockets_are_passed_until_the_client_closes() {
        let [one, other] = control_socket_pair().unwrap();
        let server = std::thread::spawn(move || serve_sockets(one.as_fd()));
        let socket_client = SocketClient::new(other);
        let stream = socket_client.socket(SocketKind::Stream(AddressFamily::INET)).unwrap();
        assert_eq!(sockopt::socket_type(&stream), Ok(SocketType::STREAM));
        let datagrams = socket_client.socket(SocketKind::Datagrams(AddressFamily::INET)).unwrap();
        assert_eq!(sockopt::socket_type(&datagrams), Ok(SocketType::DGRAM));
        assert!(getsockname(&datagrams).is_ok());
        // An invalid number.
        send_fd(socket_client.0.as_fd(), None, &[200]).unwrap();
        let (file, error) = receive_fd::<4>(socket_client.0.as_fd()).unwrap().unwrap();
        assert!(file.is_none() && error == Errno::INVAL.raw_os_error().to_ne_bytes());
        drop(socket_client);
        assert_eq!(server.join().unwrap(), Ok(()));
    }
}
