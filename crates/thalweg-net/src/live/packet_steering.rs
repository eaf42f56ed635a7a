//! Steering of packets among sockets that share a port, to the socket that owns the connection.
//!
//! Linux selects one of the sockets (`SO_REUSEPORT`) by a hash of the packet's addresses, unless a program selects it.
//! This module attaches a classic BPF program, without privileges (`SO_ATTACH_REUSEPORT_CBPF`, since Linux 4.5). The
//! program reads a byte of the connection id, so a peer reaches the same socket after a change of address.

use crate::wire::SHARD_BYTE_OFFSET;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Instructions (linux/bpf_common.h): load a byte at an offset of the datagram, 0 if it is shorter; compute a
/// remainder; return it.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
const REMAINDER: u16 = (libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_A) as u16;

/// Steers packets among the `sockets` sockets that share a port, including this one: the byte of the connection id,
/// modulo their number, is the index of the socket in the order of binding.
///
/// # Errors
/// Returns the system's error: such programs are unsupported or not permitted.
pub fn attach_steering(socket: impl AsFd, sockets: usize) -> io::Result<()> {
    let [offset, sockets] =
        [SHARD_BYTE_OFFSET, sockets].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let mut program = [(LOAD, offset), (REMAINDER, sockets), (RETURN, 0)]
        .map(|(code, k)| libc::sock_filter { code, jt: 0, jf: 0, k });
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: the kernel reads the structure, whose size is passed, and the instructions that it points to, whose
    // number it contains. Both live until the call returns, and the kernel keeps a copy.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::super::udp_offload_socket::{Offload, Udp};
    use super::*;
    use std::net::UdpSocket;

    /// The source address does not matter.
    #[test]
    fn a_datagram_byte_selects_the_socket() {
        let (mut sockets, is_steered) =
            Udp::bind_all("127.0.0.1:0".parse().unwrap(), 1 << 16, Offload::Auto, 3).unwrap();
        // Without such programs, shards forward packets of other shards.
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
