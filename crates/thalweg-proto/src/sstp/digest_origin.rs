//! Origin of the numbers in state digests: states that differ by a shift of all numbers are equal.

use super::{Data, Pdu, Position, Receiver, Report, Request, Sender};
use crate::payload::Payload;

/// Origin from which numbers are counted in digests. Two connections with the same state relative to their next numbers
/// behave the same, since the protocol compares shipment, report and segment numbers only by difference. Digests
/// therefore use numbers relative to the next ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Next shipment number of the sender.
    pub shipment: u32,
    /// Next report number of the receiver.
    pub control: u32,
    /// Segment number.
    pub segment: u64,
}

impl Origin {
    /// Creates an origin at the next shipment and report, and at the first segment of the stream.
    pub fn new<P: Payload>(sender: &Sender<P>, receiver: &Receiver<P>) -> Self {
        Self { shipment: sender.next_shipment(), control: receiver.next_control(), segment: 0 }
    }

    /// Returns the PDU with numbers relative to this origin.
    #[must_use]
    pub fn pdu<P: Payload>(self, pdu: Pdu<P>) -> Pdu<P> {
        match pdu {
            Pdu::Data(data) => Pdu::Data(self.data(data)),
            Pdu::KeepAlive(position) => Pdu::KeepAlive(self.position(position)),
            Pdu::EndOfStream(position) => Pdu::EndOfStream(self.position(position)),
            Pdu::Pack(report) => Pdu::Pack(self.report(report)),
            Pdu::Snak(report, Request { segment, bitmap }) => {
                Pdu::Snak(self.report(report), Request { segment: self.on_wire(segment), bitmap })
            }
        }
    }

    pub(super) fn shipment(self, number: u32) -> u32 {
        number.wrapping_sub(self.shipment)
    }

    pub(super) fn control(self, number: u32) -> u32 {
        number.wrapping_sub(self.control)
    }

    pub(super) fn segment(self, number: u64) -> u64 {
        number.wrapping_sub(self.segment)
    }

    fn on_wire(self, segment: u16) -> u16 {
        segment.wrapping_sub(self.segment as u16)
    }

    pub(super) fn data<P>(self, data: Data<P>) -> Data<P> {
        Data { shipment: self.shipment(data.shipment), segment: self.on_wire(data.segment), ..data }
    }

    pub(super) fn position(self, position: Position) -> Position {
        let Position { shipment, segment, packet } = position;
        Position { shipment: self.shipment(shipment), segment: self.on_wire(segment), packet }
    }

    fn report(self, report: Report) -> Report {
        let Report { control, accepted, cumulative, limit } = report;
        Report {
            control: self.control(control),
            accepted: self.on_wire(accepted),
            cumulative: self.on_wire(cumulative),
            limit: self.on_wire(limit),
        }
    }
}
