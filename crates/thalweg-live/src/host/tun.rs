//! A TUN device: what the system sends through it is read from a file, what is written to the file arrives.

use super::error::HostError;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Setter, ioctl, opcode};
use std::os::fd::OwnedFd;

/// A request of `linux/if_tun.h`: the name in 16 bytes, flags in two, nothing in the rest.
type Request = [u8; 40];

/// TUNSETIFF. It is declared with the size of a number, not of what it takes.
const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<i32>(b'T', 202);
/// A device for packets of IP, without a header of its own before them.
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;

const DEVICE: &str = "/dev/net/tun";

/// Makes a device in the network namespace of this thread. It is gone when the file is closed.
pub(super) fn make(name: &str) -> Result<OwnedFd, HostError> {
    let file = open(DEVICE, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).map_err(|why| {
        let help = match why {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "this host has no TUN devices: `sudo modprobe tun`, or for a container `--device /dev/net/tun`"
            }
            _ => "users need to read and write it: `sudo chmod 666 /dev/net/tun`",
        };
        HostError::new(format!("cannot open {DEVICE}"), why).help(help)
    })?;
    let mut request: Request = [0; 40];
    let length = name.len().min(15);
    request[..length].copy_from_slice(&name.as_bytes()[..length]);
    request[16..18].copy_from_slice(&(IFF_TUN | IFF_NO_PI).to_ne_bytes());
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: TUNSETIFF takes a pointer to a `struct ifreq` of 40 bytes (24 on systems of 32 bits), which this array is: the name with
    // its end, the flags, and zeros. It reads and writes no more than that, and keeps no pointer.
    let set = unsafe { ioctl(&file, Setter::<TUNSETIFF, Request>::new(request)) };
    set.map_err(|why| HostError::new("cannot make a TUN device", why))?;
    Ok(file)
}
