//! The family-independent interface of PDUs, for drivers, logs, diagrams and captures.

use crate::Ecn;
use crate::payload::{Payload, Slice};
use core::fmt;
use core::ops::Range;

/// A PDU of any protocol family.
///
/// Data has numbers that never repeat: positions in the stream for the window transport, message numbers for others.
/// Numbers that wrap on the wire are extended to the value next to `near`, a number that the connection has used
/// lately.
pub trait DataUnit<P: Payload>: Clone + fmt::Debug + PartialEq {
    /// Returns the application data; `None` for control PDUs.
    fn payload(&self) -> Option<&P>;

    /// Returns the variable overhead on the wire in bytes: padding, trailers, lists. Excludes payload and the header
    /// common to all data PDUs, or all control PDUs.
    fn framing(&self) -> u32 {
        0
    }

    /// Returns the numbers of the data in this packet; `None` if it has none, or if data is not numbered.
    fn data(&self, near: u64) -> Option<Range<u64>>;

    /// Returns the numbers of the data that it acknowledges; `None` if it is not an acknowledgement.
    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>>;

    /// Returns the sequence number of the data in this packet for router feedback, in the protocol's numbering; `None`
    /// if it has none.
    fn sequence(&self) -> Option<u64> {
        self.data(0).map(|data| data.start)
    }

    /// Returns a short label with the protocol's own numbers, for sequence diagrams and traces.
    fn label(&self) -> String;

    /// Returns a description with all fields, for step-by-step traces.
    fn description(&self) -> String {
        self.label()
    }

    /// Returns true for data marked as a retransmission, false for data without a mark; `None` where the label shows
    /// it.
    fn is_repeated(&self) -> Option<bool> {
        None
    }

    /// Returns the ECN codepoint of its packet, for protocols that choose one for each packet; `None` for that of the
    /// connection.
    fn ecn(&self) -> Option<Ecn> {
        None
    }

    /// Returns the PDU type in its own protocol, for logs.
    fn code(&self) -> u8 {
        0
    }

    /// Returns the segment progress that it reports, in protocols that send groups of packets.
    fn segment_step(&self) -> Option<SegmentStep> {
        None
    }

    /// Returns the bytes for a packet capture.
    fn captured(&self, connection: u32) -> CapturedBytes {
        let _ = connection;
        CapturedBytes::default()
    }
}

/// A step in the life of a segment, a group of packets that is accepted as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentStep {
    /// First transmission of the first packet of the next segment.
    Begun,
    /// Acceptance of a segment by the receiver. Numbers wrap at 2^16.
    Accepted {
        /// Number of the segment.
        segment: u16,
        /// Lowest segment that has not been accepted.
        cumulative: u16,
    },
}

/// The bytes of a PDU in a packet capture, after the UDP header. Simulated payload is all zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedBytes {
    /// Bytes before the payload; the whole PDU where `includes_payload`.
    pub bytes: Vec<u8>,
    /// True if `bytes` includes the payload.
    pub includes_payload: bool,
    /// Two-byte checksum after the payload.
    pub checksum: Option<[u8; 2]>,
    /// UDP port of sinks; dissectors identify the protocol by it. Answers use the next higher port.
    pub port: u16,
}

impl CapturedBytes {
    /// UDP port of protocols without one of their own.
    pub const PORT: u16 = 5001;
}

impl Default for CapturedBytes {
    /// Returns a capture with nothing beside the payload.
    fn default() -> Self {
        Self { bytes: Vec::new(), includes_payload: false, checksum: None, port: Self::PORT }
    }
}

/// The wire format of a PDU.
pub trait Wire: Sized {
    /// Appends the encoded PDU to `to`.
    fn encode(&self, to: &mut Vec<u8>);

    /// Decodes a PDU from all of `bytes`, whose memory its payload shares; `None` if invalid.
    fn decode(bytes: Slice) -> Option<Self>;
}

/// Size of a [`CompactPdu`] PDU, in bytes.
pub const COMPACT: usize = 14;

/// A PDU whose frequent forms fit into a few bytes, to keep simulated packets within one cache line.
pub trait CompactPdu: Sized {
    /// Returns the compact form; `None` if the PDU does not fit.
    fn pack(&self) -> Option<[u8; COMPACT]>;

    /// Restores the PDU from its compact form.
    fn unpack(bytes: [u8; COMPACT]) -> Self;
}

/// Fills [`COMPACT`] bytes.
#[derive(Default)]
pub(crate) struct Packing {
    bytes: [u8; COMPACT],
    length: usize,
}

impl Packing {
    /// Appends bytes; the caller ensures that they fit.
    #[must_use]
    pub fn put<const N: usize>(mut self, bytes: [u8; N]) -> Self {
        self.bytes[self.length..self.length + N].copy_from_slice(&bytes);
        self.length += N;
        self
    }

    /// Returns the bytes, padded with zeros.
    pub fn done(self) -> Option<[u8; COMPACT]> {
        Some(self.bytes)
    }
}

/// Returns the `N` packed bytes from `at` on.
pub(crate) fn unpack_bytes<const N: usize>(bytes: &[u8; COMPACT], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}
