//! Datagrams that a stack of another project sends, as PDUs of the simulator.

use crate::scheme::IP_AND_UDP;
use core::ops::Range;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::pdu::{CapturedBytes, DataUnit, Wire};

/// A datagram of a stack. Its content is opaque: datagrams of clients count as data, those of servers as control.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram<P> {
    bytes: Arc<[u8]>,
    ecn: Ecn,
    /// Size in bytes without the headers of IP and UDP, which the simulator adds.
    size: u32,
    /// As long as `size`; `None` for one of a server.
    payload: Option<P>,
    /// UDP port of the server in captures.
    port: u16,
}

impl<P: Payload> Datagram<P> {
    pub(crate) fn new(bytes: &[u8], ecn: Ecn, is_data: bool, is_ip: bool, port: u16) -> Self {
        // Datagrams have at most 64 KiB, and IP packets of transports no less than an IP and a UDP header.
        let size = (bytes.len() as u32).saturating_sub(if is_ip { IP_AND_UDP } else { 0 });
        Self { bytes: bytes.into(), ecn, size, payload: is_data.then(|| P::blank(size)), port }
    }

    /// Returns the content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<P> Datagram<P> {
    /// Returns the size in bytes without the headers of IP and UDP.
    pub(crate) const fn size(&self) -> u32 {
        self.size
    }
}

impl<P: Payload> DataUnit<P> for Datagram<P> {
    fn payload(&self) -> Option<&P> {
        self.payload.as_ref()
    }

    fn framing(&self) -> u32 {
        if self.payload.is_some() { 0 } else { self.size }
    }

    fn data(&self, _near: u64) -> Option<Range<u64>> {
        None
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        None
    }

    fn label(&self) -> String {
        format!("datagram of {} B", self.bytes.len())
    }

    fn ecn(&self) -> Option<Ecn> {
        Some(self.ecn)
    }

    fn captured(&self, _connection: u32) -> CapturedBytes {
        CapturedBytes { bytes: self.bytes.to_vec(), includes_payload: true, checksum: None, port: self.port }
    }
}

/// The content alone. Schemes of stacks run in simulations only, and do not use it.
impl Wire for Datagram<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.bytes);
    }

    fn decode(bytes: Slice) -> Option<Self> {
        Some(Self::new(bytes.as_bytes(), Ecn::NotEct, true, false, 0))
    }
}
