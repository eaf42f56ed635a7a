//! PDUs of stop-and-wait and their encoding: a kind, a packet number (8 bytes, big-endian), and the payload of data.

use core::ops::Range;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::pdu::{CapturedBytes, DataUnit, Wire};

/// PDU of stop-and-wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Pdu<P> {
    /// Data packet with its number, from 0.
    Data(u64, P),
    /// Acknowledgement of the packet with this number.
    Ack(u64),
}

/// Header size, in bytes.
pub const HEADER: u32 = 9;

const DATA: u8 = 1;
const ACK: u8 = 2;

impl<P> Pdu<P> {
    fn header(&self) -> Vec<u8> {
        let (Self::Data(number, _) | Self::Ack(number)) = self;
        let kind = if matches!(self, Self::Data(..)) { DATA } else { ACK };
        [&[kind][..], &number.to_be_bytes()].concat()
    }
}

impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        if let Self::Data(_, payload) = self { Some(payload) } else { None }
    }

    fn data(&self, _near: u64) -> Option<Range<u64>> {
        if let Self::Data(number, _) = self { Some(*number..number + 1) } else { None }
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        if let Self::Ack(number) = self { Some(std::iter::once(*number..number + 1).collect()) } else { None }
    }

    fn label(&self) -> String {
        match self {
            Self::Data(number, _) => format!("packet {number}"),
            Self::Ack(number) => format!("got {number}"),
        }
    }

    fn captured(&self, _connection: u32) -> CapturedBytes {
        CapturedBytes { bytes: self.header(), ..CapturedBytes::default() }
    }
}

impl Wire for Pdu<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend(self.header());
        to.extend_from_slice(self.payload().map_or(&[], Slice::as_bytes));
    }

    fn decode(bytes: Slice) -> Option<Self> {
        let (header, payload) = bytes.as_bytes().split_first_chunk::<{ HEADER as usize }>()?;
        let (kind, number) = header.split_first()?;
        let number = u64::from_be_bytes(number.try_into().ok()?);
        match (*kind, payload) {
            (DATA, [_, ..]) => Some(Self::Data(number, bytes.slice(HEADER, bytes.len()))),
            (ACK, []) => Some(Self::Ack(number)),
            _ => None,
        }
    }
}
