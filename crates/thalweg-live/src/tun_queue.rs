//! File descriptor of a TUN device: reads return packets that the system sends through the device; written packets
//! arrive at the system.
//!
//! With offload, a header precedes each packet (`struct virtio_net_hdr` of `linux/virtio_net.h`), in host byte order.
//! The system then leaves segmentation and checksums of TCP and UDP to the reader, as with network cards, and accepts
//! merged packets as one.

use rustix::io::Errno;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Header length, in bytes.
pub const HEADER: usize = 10;
/// Flag: the checksum is not set yet.
const NEEDS_CHECKSUM: u8 = 1;
/// GSO types, and the flag for packets with CWR.
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const DATAGRAMS: u8 = 5;
const WITH_CWR: u8 = 0x80;

/// Packet type of a GSO buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GsoKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP.
    Datagrams,
}

/// Work left to the reader for a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offload {
    /// Start of the checksummed range, and offset of the checksum field from there. The field holds the pseudo-header
    /// sum.
    pub checksum: Option<[u16; 2]>,
    /// GSO type and payload bytes per packet, for a GSO buffer.
    pub run: Option<(GsoKind, u16)>,
}

impl Offload {
    pub(crate) fn parse(header: [u8; HEADER]) -> Self {
        let [flags, kind, _, _, rest @ ..] = header;
        let [size, start, offset] = [0, 2, 4].map(|at| u16::from_ne_bytes([rest[at], rest[at + 1]]));
        let kind = match kind & !WITH_CWR {
            TCP4 => Some(GsoKind::Tcp4),
            TCP6 => Some(GsoKind::Tcp6),
            DATAGRAMS => Some(GsoKind::Datagrams),
            _ => None,
        };
        Self {
            checksum: (flags & NEEDS_CHECKSUM != 0).then_some([start, offset]),
            run: kind.map(|kind| (kind, size)),
        }
    }

    /// Returns the header for a packet whose own headers have `head` bytes.
    fn header(self, head: u16) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let mut put = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        if let Some((_, size)) = self.run {
            put(2, head);
            put(4, size);
        }
        if let Some([start, offset]) = self.checksum {
            put(6, start);
            put(8, offset);
            header[0] = NEEDS_CHECKSUM;
        }
        header[1] = match self.run {
            None => 0,
            Some((GsoKind::Tcp4, _)) => TCP4,
            Some((GsoKind::Tcp6, _)) => TCP6,
            Some((GsoKind::Datagrams, _)) => DATAGRAMS,
        };
        header
    }
}

/// File descriptor of a device.
#[derive(Debug)]
pub struct Port {
    file: OwnedFd,
    has_headers: bool,
}

impl Port {
    /// Creates a port without packet headers: one packet per call.
    pub fn plain(file: OwnedFd) -> Self {
        Self { file, has_headers: false }
    }

    /// Creates a port with a header before each packet.
    pub(crate) fn with_headers(file: OwnedFd) -> Self {
        Self { file, has_headers: true }
    }

    /// Duplicates the descriptor.
    ///
    /// # Errors
    ///
    /// The system is out of file descriptors.
    pub(crate) fn another(&self) -> std::io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, has_headers: self.has_headers })
    }

    /// Returns true if GSO buffers can be written.
    pub(crate) fn takes_runs(&self) -> bool {
        self.has_headers
    }

    /// Reads a packet or a GSO buffer.
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> Result<(Offload, &'a [u8]), Errno> {
        let length = rustix::io::read(&self.file, &mut *buffer)?;
        let bytes = buffer.get(..length).unwrap_or_default();
        if !self.has_headers {
            return Ok((Offload::default(), bytes));
        }
        Ok(bytes
            .split_first_chunk::<HEADER>()
            .map_or((Offload::default(), &[]), |(header, packet)| (Offload::parse(*header), packet)))
    }

    /// Writes a packet.
    pub(crate) fn write(&self, packet: &[u8]) -> Result<(), Errno> {
        if self.has_headers {
            let header = Offload::default().header(0);
            rustix::io::writev(&self.file, &[IoSlice::new(&header), IoSlice::new(packet)]).map(drop)
        } else {
            rustix::io::write(&self.file, packet).map(drop)
        }
    }

    /// Writes a GSO buffer from `parts`; its headers have `head` bytes.
    pub(crate) fn write_run<'a>(
        &self,
        offload: Offload,
        head: u16,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Errno> {
        let header = offload.header(head);
        let mut slices = vec![IoSlice::new(&header)];
        for part in parts {
            slices.push(IoSlice::new(part));
        }
        rustix::io::writev(&self.file, &slices).map(drop)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    /// Tests the layout against `linux/virtio_net.h`, in both directions.
    #[test]
    fn headers_stand_before_packets() {
        let (one, other) = UnixDatagram::pair().unwrap();
        let port = Port::with_headers(one.into());
        let offload = Offload { checksum: Some([20, 16]), run: Some((GsoKind::Tcp4, 1448)) };
        port.write_run(offload, 52, [b"head".as_slice(), b"data"].into_iter()).unwrap();
        let mut bytes = [0; 64];
        let length = other.recv(&mut bytes).unwrap();
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!((bytes[0], bytes[1], [2, 4, 6, 8].map(half)), (1, 1, [52, 1448, 20, 16]));
        assert_eq!(&bytes[HEADER..length], b"headdata");
        // With the CWR flag.
        bytes[1] |= 0x80;
        other.send(&bytes[..length]).unwrap();
        assert_eq!(port.read(&mut [0; 64]).unwrap(), (offload, b"headdata".as_slice()));
        port.write(b"one").unwrap();
        let length = other.recv(&mut bytes).unwrap();
        assert_eq!((&bytes[..HEADER], &bytes[HEADER..length]), ([0; HEADER].as_slice(), b"one".as_slice()));
        // Shorter than a header.
        other.send(b"shorter").unwrap();
        assert_eq!(port.read(&mut [0; 64]).unwrap(), (Offload::default(), [].as_slice()));
    }
}
