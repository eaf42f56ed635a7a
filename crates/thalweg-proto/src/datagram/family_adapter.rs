//! The datagram family's implementation of the family-independent interfaces of PDUs and endpoints.

use super::{Pdu, Sink, Source};
use crate::endpoint::End;
use crate::payload::{Length, Payload, Slice};
use crate::pdu::{COMPACT, CompactPdu, DataUnit, Packing, Wire, unpack_bytes};
use crate::transport::{Limit, ReceiverCounts, SenderStats};
use crate::units::Time;
use core::ops::Range;

/// Datagrams are not numbered.
impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        Some(&self.0)
    }

    fn data(&self, _near: u64) -> Option<Range<u64>> {
        None
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        None
    }

    fn label(&self) -> String {
        format!("datagram {} B", self.0.len())
    }

    fn is_repeated(&self) -> Option<bool> {
        Some(false)
    }
}

impl Wire for Pdu<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.0.as_bytes());
    }

    fn decode(bytes: Slice) -> Option<Self> {
        (!bytes.is_empty()).then_some(Self(bytes))
    }
}

impl CompactPdu for Pdu<Length> {
    fn pack(&self) -> Option<[u8; COMPACT]> {
        Packing::default().put(self.0.0.to_le_bytes()).done()
    }

    fn unpack(bytes: [u8; COMPACT]) -> Self {
        Self(Length(u32::from_le_bytes(unpack_bytes(&bytes, 0))))
    }
}

impl<P: Payload> End for Source<P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        Some(self.stats(now))
    }

    fn backlog(&self) -> u64 {
        self.backlog()
    }

    fn limit(&self) -> Option<Limit> {
        self.limit()
    }

    /// A source receives no PDUs.
    fn wants_pdus(&self) -> bool {
        false
    }
}

impl<P: Payload> End for Sink<P> {
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts()
    }
}
