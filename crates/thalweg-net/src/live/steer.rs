//! Packets to a port that several sockets share, brought to the socket whose connection they belong to.
//!
//! Linux picks one of the sockets that share a port (`SO_REUSEPORT`) by the addresses of a packet, unless a program says which. The
//! one here is in the old language of packet filters, which any user may have the kernel run (`SO_ATTACH_REUSEPORT_CBPF`, since
//! Linux 4.5). It looks at a byte of the connection id, so that a peer may change its address and reach the same socket.

use crate::wire::SHARD_BYTE_OFFSET;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The instructions (linux/bpf_common.h): load the byte at a place of the datagram, which is 0 where there is none; take the remainder of
/// a division; answer with that.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
const REMAINDER: u16 = (libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K) as u16;
const ANSWER: u16 = (libc::BPF_RET | libc::BPF_A) as u16;

/// Has packets brought to one of `sockets` sockets that share a port, of which this is one, in the order in which they were bound.
///
/// # Errors
/// What the system says: it knows no such programs, or lets nobody have one.
pub fn steer(socket: impl AsFd, sockets: usize) -> io::Result<()> {
    let [place, sockets] =
        [SHARD_BYTE_OFFSET, sockets].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let mut program = [(LOAD, place), (REMAINDER, sockets), (ANSWER, 0)].map(|(code, k)| libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    });
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: the kernel reads the structure, whose size it is told, and the instructions that it points to, whose number is in it.
    // Both live until the call is over, and the kernel keeps a copy.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::super::udp::{Offload, Udp};
    use super::*;
    use std::net::UdpSocket;

    /// Whatever address it comes from.
    #[test]
    fn a_byte_of_a_datagram_says_which_socket_gets_it() {
        let (mut sockets, is_steered) =
            Udp::bind_all("127.0.0.1:0".parse().unwrap(), 1 << 16, Offload::Auto, 3).unwrap();
        // Where the system has no such programs, members pass on what is not theirs.
        if !is_steered {
            return;
        }
        let port = sockets[0].local().unwrap();
        assert!(sockets.iter().all(|socket| socket.local().unwrap() == port));
        for byte in 0..60u8 {
            let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut datagram = [0; 20];
            datagram[SHARD_BYTE_OFFSET] = byte;
            peer.send_to(&datagram, port).unwrap();
            let got: Vec<usize> =
                sockets.iter_mut().map(|socket| socket.receive(|_, _, _| {}).unwrap().datagrams).collect();
            let expected: Vec<usize> =
                (0..3).map(|socket| usize::from(usize::from(byte) % 3 == socket)).collect();
            assert_eq!(got, expected, "{byte}");
        }
    }
}
