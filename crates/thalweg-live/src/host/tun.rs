//! TUN devices: reads from the file return packets that the system sends through the device; written packets arrive at
//! the system.

use super::setup_error::HostError;
use crate::tun_queue::Port;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Setter, ioctl, opcode};
use std::os::fd::OwnedFd;

/// Request of `linux/if_tun.h`: 16 bytes of name, two of flags, the rest zero.
type Request = [u8; 40];

/// TUNSETIFF. Its number encodes the size of an integer, not of the actual argument.
const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<i32>(b'T', 202);
/// Device for plain IP packets, without a packet information header.
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
/// With an offload header before each packet.
const IFF_VNET_HDR: u16 = 0x4000;

/// TUNSETOFFLOAD: takes a bit mask.
const TUNSETOFFLOAD: rustix::ioctl::Opcode = opcode::write::<u32>(b'T', 208);
/// Offload bits: checksums, TCP segmentation over IPv4 and IPv6 (also with CWR), and (as of Linux 6.2) UDP
/// segmentation.
const STREAMS: usize = 0x01 | 0x02 | 0x04 | 0x08;
const DATAGRAMS: usize = 0x20 | 0x40;

const DEVICE: &str = "/dev/net/tun";

/// Creates a device in the network namespace of this thread, with offload if supported. It is removed when the file is
/// closed.
pub(super) fn create_device(name: &str) -> Result<Port, HostError> {
    let file = open(DEVICE, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).map_err(|why| {
        let help = match why {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "this host has no TUN devices: `sudo modprobe tun`, or for a container `--device /dev/net/tun`"
            }
            _ => "users need to read and write it: `sudo chmod 666 /dev/net/tun`",
        };
        HostError::new(format!("cannot open {DEVICE}"), why).help(help)
    })?;
    match configure_device(&file, name, IFF_VNET_HDR) {
        Ok(()) => {
            // If refused, packets arrive complete, still with an offload header.
            let _ = set_offload(&file, STREAMS | DATAGRAMS).or_else(|_| set_offload(&file, STREAMS));
            Ok(Port::with_headers(file))
        }
        Err(Errno::INVAL) => {
            configure_device(&file, name, 0).map(|()| Port::plain(file)).map_err(device_error)
        }
        Err(why) => Err(device_error(why)),
    }
}

fn device_error(why: Errno) -> HostError {
    HostError::new("cannot make a TUN device", why)
}

fn configure_device(file: &OwnedFd, name: &str, more: u16) -> Result<(), Errno> {
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

/// Sets the offload work that the system leaves to the reader of a device.
fn set_offload(file: &OwnedFd, work: usize) -> Result<(), Errno> {
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
    unsafe {
        ioctl(file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(work))
    }
}
