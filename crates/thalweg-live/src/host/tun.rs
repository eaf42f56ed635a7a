//! A TUN device: what the system sends through it is read from a file, what is written to the file arrives.

use super::error::HostError;
use crate::port::Port;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Setter, ioctl, opcode};
use std::os::fd::OwnedFd;

/// A request of `linux/if_tun.h`: the name in 16 bytes, flags in two, nothing in the rest.
type Request = [u8; 40];

/// TUNSETIFF. It is declared with the size of a number, not of what it takes.
const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<i32>(b'T', 202);
/// A device for packets of IP, without a header of its own before them.
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
/// With a header before each packet that says what of the system's work is left.
const IFF_VNET_HDR: u16 = 0x4000;

/// TUNSETOFFLOAD: a number of bits.
const TUNSETOFFLOAD: rustix::ioctl::Opcode = opcode::write::<u32>(b'T', 208);
/// Checksums, runs of TCP over IPv4 and IPv6 (with CWR, too), and (as of Linux 6.2) of UDP.
const STREAMS: usize = 0x01 | 0x02 | 0x04 | 0x08;
const DATAGRAMS: usize = 0x20 | 0x40;

const DEVICE: &str = "/dev/net/tun";

/// Makes a device in the network namespace of this thread, with offload where the system has it. It is gone when the file is closed.
pub(super) fn make(name: &str) -> Result<Port, HostError> {
    let file = open(DEVICE, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).map_err(|why| {
        let help = match why {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "this host has no TUN devices: `sudo modprobe tun`, or for a container `--device /dev/net/tun`"
            }
            _ => "users need to read and write it: `sudo chmod 666 /dev/net/tun`",
        };
        HostError::new(format!("cannot open {DEVICE}"), why).help(help)
    })?;
    match configure(&file, name, IFF_VNET_HDR) {
        Ok(()) => {
            // A system that refuses sends packets as they are, behind their headers.
            let _ = offload(&file, STREAMS | DATAGRAMS).or_else(|_| offload(&file, STREAMS));
            Ok(Port::with_headers(file))
        }
        Err(Errno::INVAL) => configure(&file, name, 0).map(|()| Port::plain(file)).map_err(refused),
        Err(why) => Err(refused(why)),
    }
}

fn refused(why: Errno) -> HostError {
    HostError::new("cannot make a TUN device", why)
}

fn configure(file: &OwnedFd, name: &str, more: u16) -> Result<(), Errno> {
    let mut request: Request = [0; 40];
    let length = name.len().min(15);
    request[..length].copy_from_slice(&name.as_bytes()[..length]);
    request[16..18].copy_from_slice(&(IFF_TUN | IFF_NO_PI | more).to_ne_bytes());
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: TUNSETIFF takes a pointer to a `struct ifreq` of 40 bytes (24 on systems of 32 bits), which this array is: the name with
    // its end, the flags, and zeros. It reads and writes no more than that, and keeps no pointer.
    unsafe {
        ioctl(file, Setter::<TUNSETIFF, Request>::new(request))
    }
}

/// Has the system leave this work to the reader of a device.
fn offload(file: &OwnedFd, work: usize) -> Result<(), Errno> {
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
    unsafe {
        ioctl(file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(work))
    }
}
