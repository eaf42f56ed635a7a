//! Sockets of one network in the hands of a process in another: it asks, and gets them through a socket of the system's.
//!
//! Who has a network of its own as a user cannot go back to the network of this host. A process that has stayed there makes what is
//! needed, and hands it over (SCM_RIGHTS, unix(7)); it does nothing else.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, ipproto, netlink, recvmsg, sendmsg,
    socket_with, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The kinds of sockets that are lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// TCP, over IPv4 or IPv6.
    Stream(AddressFamily),
    /// UDP.
    Datagrams(AddressFamily),
    /// Echoes of ICMP, whose numbers the system chooses: users may, where `net.ipv4.ping_group_range` has their group.
    Echoes(AddressFamily),
    /// All of ICMP: root may.
    Raw(AddressFamily),
    /// Answers about TCP (sock_diag).
    Told,
}

/// All kinds, by the number by which they are asked for.
const KINDS: [Kind; 9] = [
    Kind::Stream(AddressFamily::INET),
    Kind::Stream(AddressFamily::INET6),
    Kind::Datagrams(AddressFamily::INET),
    Kind::Datagrams(AddressFamily::INET6),
    Kind::Echoes(AddressFamily::INET),
    Kind::Echoes(AddressFamily::INET6),
    Kind::Raw(AddressFamily::INET),
    Kind::Raw(AddressFamily::INET6),
    Kind::Told,
];

impl Kind {
    fn make(self) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let icmp = |family| if family == AddressFamily::INET { ipproto::ICMP } else { ipproto::ICMPV6 };
        match self {
            Self::Stream(family) => socket_with(family, SocketType::STREAM, flags, None),
            Self::Datagrams(family) => socket_with(family, SocketType::DGRAM, flags, None),
            Self::Echoes(family) => socket_with(family, SocketType::DGRAM, flags, Some(icmp(family))),
            Self::Raw(family) => socket_with(family, SocketType::RAW, flags, Some(icmp(family))),
            Self::Told => {
                let flags = SocketFlags::CLOEXEC;
                socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))
            }
        }
    }
}

/// The two ends of a loan: for [`lend`], and for [`Lender`].
///
/// # Errors
///
/// The system has none.
pub fn loan() -> Result<[OwnedFd; 2], Errno> {
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok([one, other])
}

/// Hands a file to the process at the other end, with a message.
///
/// # Errors
///
/// The other end is gone.
pub fn hand(to: BorrowedFd<'_>, file: Option<BorrowedFd<'_>>, message: &[u8]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
    if !files.is_empty() {
        rights.push(SendAncillaryMessage::ScmRights(&files));
    }
    sendmsg(to, &[IoSlice::new(message)], &mut rights, SendFlags::NOSIGNAL).map(drop)
}

/// A file that was handed over, and the message with it.
pub type Handed<const N: usize> = (Option<OwnedFd>, [u8; N]);

/// Takes what the process at the other end hands over, and its message of at most so many bytes; `None` when that is gone.
///
/// # Errors
///
/// It is no such socket.
pub fn take<const N: usize>(from: BorrowedFd<'_>) -> Result<Option<Handed<N>>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut message = [0; N];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let came = loop {
        match recvmsg(from, &mut [IoSliceMut::new(&mut message)], &mut rights, flags) {
            Err(Errno::INTR) => {}
            came => break came?,
        }
    };
    if came.bytes == 0 {
        return Ok(None);
    }
    let file = rights.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    Ok(Some((file, message)))
}

/// Lends sockets of this process's network until the other end is gone.
///
/// # Errors
///
/// It is no such socket.
pub fn lend(to: BorrowedFd<'_>) -> Result<(), Errno> {
    while let Some((_, [number])) = take::<1>(to)? {
        let made = KINDS.get(usize::from(number)).map_or(Err(Errno::INVAL), |kind| kind.make());
        let (file, error) = match &made {
            Ok(socket) => (Some(socket.as_fd()), 0),
            Err(error) => (None, error.raw_os_error()),
        };
        hand(to, file, &error.to_ne_bytes())?;
    }
    Ok(())
}

/// The process that lends sockets, as its borrower sees it.
#[derive(Debug)]
pub struct Lender(OwnedFd);

impl Lender {
    /// The lender at the other end.
    pub fn new(end: OwnedFd) -> Self {
        Self(end)
    }

    /// A socket of the lender's network.
    pub(super) fn socket(&self, kind: Kind) -> Result<OwnedFd, Errno> {
        let number = KINDS.iter().position(|other| *other == kind).unwrap_or(KINDS.len());
        hand(self.0.as_fd(), None, &[number as u8])?;
        let (file, error) = take::<4>(self.0.as_fd())?.ok_or(Errno::PIPE)?;
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

    /// Sockets come from the thread that lends, and it ends with its borrower.
    #[test]
    fn sockets_are_lent_until_the_borrower_is_gone() {
        let [one, other] = loan().unwrap();
        let lending = std::thread::spawn(move || lend(one.as_fd()));
        let lender = Lender::new(other);
        let stream = lender.socket(Kind::Stream(AddressFamily::INET)).unwrap();
        assert_eq!(sockopt::socket_type(&stream), Ok(SocketType::STREAM));
        let datagrams = lender.socket(Kind::Datagrams(AddressFamily::INET)).unwrap();
        assert_eq!(sockopt::socket_type(&datagrams), Ok(SocketType::DGRAM));
        assert!(getsockname(&datagrams).is_ok());
        // A number that there is not.
        hand(lender.0.as_fd(), None, &[200]).unwrap();
        let (file, error) = take::<4>(lender.0.as_fd()).unwrap().unwrap();
        assert!(file.is_none() && error == Errno::INVAL.raw_os_error().to_ne_bytes());
        drop(lender);
        assert_eq!(lending.join().unwrap(), Ok(()));
    }
}
