//! The interface of PDUs of every family, for drivers, logs, diagrams and captures that treat all protocols alike.

use crate::payload::{Payload, Slice};
use core::fmt;
use core::ops::Range;

/// A PDU of any protocol family.
///
/// Data has numbers that never repeat: positions in the stream for the window transport, numbers of messages for others.
/// Numbers that wrap on the wire are those next to `near`, a number that the connection has used lately.
pub trait DataUnit<P: Payload>: Clone + fmt::Debug + PartialEq {
    /// The application data that it carries; `None` for control PDUs.
    fn payload(&self) -> Option<&P>;

    /// Bytes on the wire that depend on the PDU: padding, trailers, lists. Payload and the header that all data PDUs, or all
    /// control PDUs, have are not counted.
    fn framing(&self) -> u32 {
        0
    }

    /// The numbers of the data in this packet; `None` if it has none, or if data is not numbered.
    fn data(&self, near: u64) -> Option<Range<u64>>;

    /// The numbers of the data that it acknowledges; `None` if it is not an acknowledgement.
    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>>;

    /// The number by which a router's message names the data in this packet, in the numbering of the protocol; `None` if it
    /// has none.
    fn sequence(&self) -> Option<u64> {
        self.data(0).map(|data| data.start)
    }

    /// The PDU in a few words, with the numbers of its protocol: for sequence diagrams and traces.
    fn label(&self) -> String;

    /// The PDU with all that it says, for those who follow every step of two engines.
    fn words(&self) -> String {
        self.label()
    }

    /// True for data that says of itself that it was sent before, false for data that cannot be told from other data; `None`
    /// where its label tells.
    fn is_repeated(&self) -> Option<bool> {
        None
    }

    /// The type in its own protocol, for logs.
    fn code(&self) -> u8 {
        0
    }

    /// The progress that it reports of a segment, of protocols that send groups of packets.
    fn segment_step(&self) -> Option<SegmentStep> {
        None
    }

    /// The bytes for a packet capture.
    fn captured(&self, connection: u32) -> Captured {
        let _ = connection;
        Captured::default()
    }
}

/// A step in the life of a segment, which is a group of packets that is accepted as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentStep {
    /// The first packet of the next segment leaves for the first time.
    Begun,
    /// The receiver has accepted a segment. Numbers wrap at 2^16.
    Accepted {
        /// The segment.
        segment: u16,
        /// The lowest segment that has not been accepted.
        cumulative: u16,
    },
}

/// The bytes of a PDU in a packet capture, behind the UDP header. What a simulated packet carries is all zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The bytes before the payload; all of the PDU where `is_whole`.
    pub bytes: Vec<u8>,
    /// `bytes` has the payload in it.
    pub is_whole: bool,
    /// Two bytes behind the payload.
    pub checksum: Option<[u8; 2]>,
    /// The UDP port of sinks, by which dissectors tell protocols; that of answers is one higher.
    pub port: u16,
}

impl Captured {
    /// The port of protocols without one of their own.
    pub const PORT: u16 = 5001;
}

impl Default for Captured {
    /// Nothing beside the payload.
    fn default() -> Self {
        Self { bytes: Vec::new(), is_whole: false, checksum: None, port: Self::PORT }
    }
}

/// A PDU over bytes: its format on the wire.
pub trait Wire: Sized {
    /// Appends all of it to `to`.
    fn encode(&self, to: &mut Vec<u8>);

    /// Reads a PDU from all of `bytes`, whose memory its payload shares; `None` where it is none.
    fn decode(bytes: Slice) -> Option<Self>;
}

/// The room of a [`Compact`] PDU in bytes.
pub const COMPACT: usize = 14;

/// A PDU whose frequent forms fit into a few bytes, so that simulated packets stay one cache line.
pub trait Compact: Sized {
    /// The PDU in few bytes; `None` where they are too few.
    fn pack(&self) -> Option<[u8; COMPACT]>;

    /// The PDU that was packed.
    fn unpack(bytes: [u8; COMPACT]) -> Self;
}

/// Fills [`COMPACT`] bytes.
#[derive(Default)]
pub(crate) struct Packing {
    bytes: [u8; COMPACT],
    length: usize,
}

impl Packing {
    /// Appends bytes, of which there is room for all.
    #[must_use]
    pub fn put<const N: usize>(mut self, bytes: [u8; N]) -> Self {
        self.bytes[self.length..self.length + N].copy_from_slice(&bytes);
        self.length += N;
        self
    }

    /// The bytes, with zeros after them.
    pub fn done(self) -> Option<[u8; COMPACT]> {
        Some(self.bytes)
    }
}

/// The `N` packed bytes from `at` on.
pub(crate) fn packed<const N: usize>(bytes: &[u8; COMPACT], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}
