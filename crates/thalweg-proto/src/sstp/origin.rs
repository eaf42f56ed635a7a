//! The origin from which numbers are counted when states are compared.

use super::{Data, Pdu, Position, Receiver, Report, Request, Sender};
use crate::payload::Payload;

/// Two pairs of ends, with what is on its way between them, do the same if they differ only in how many shipments, reports
/// or segments there have been: all these numbers are compared by their differences. So states are fed with numbers counted
/// from those that come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The sender's next shipment.
    pub shipment: u32,
    /// The receiver's next report.
    pub control: u32,
    /// A segment.
    pub segment: u64,
}

impl Origin {
    /// Counts shipments and reports from those that come next, and segments from the first of the stream.
    pub fn of<P: Payload>(sender: &Sender<P>, receiver: &Receiver<P>) -> Self {
        Self { shipment: sender.next_shipment(), control: receiver.next_control(), segment: 0 }
    }

    /// The PDU with numbers counted from here.
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
