//! In-order delivery of packets to flows, for schemes that need it.

use super::{MAX_PDUS, Session};
use crate::wire::frame::{Frame, Frames};
use core::ops::Range;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::resequencer::Release;
use thalweg_proto::units::Time;

/// Packet whose PDUs wait for earlier packets.
#[derive(Debug)]
pub(super) struct WaitingPacket {
    pub packet: Slice,
    pub range: Range<usize>,
    pub ecn: Ecn,
}

impl Session {
    /// Passes in-order packets' PDUs to their flows.
    pub(super) fn hand_in_order(&mut self, now: Time) {
        while let Some(release) = self.order.as_mut().and_then(|order| order.poll(now)) {
            // The engine's own sequence numbers reveal losses, too.
            let Release::Item(WaitingPacket { packet, range, ecn }) = release else { continue };
            // Malformed frames have already closed the connection.
            let pdus =
                Frames::new(&packet.as_bytes()[range.clone()]).flatten().filter_map(|frame| match frame {
                    Frame::Pdu { flow, range: pdu } => Some((flow, pdu)),
                    _ => None,
                });
            for (flow, pdu) in pdus.take(MAX_PDUS) {
                self.deliver_pdu(now, flow, (&packet, range.start, pdu), ecn);
            }
        }
    }
}
