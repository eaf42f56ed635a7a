//! PDUs of connection establishment and termination.

use crate::payload::{Payload, Slice};
use crate::pdu::{COMPACT, CompactPdu, DataUnit, Packing, Wire, unpack_bytes};
use core::ops::Range;

/// Protocols with a modelled handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// RFC 9293.
    Tcp,
    /// RFC 9000 and 9001.
    Quic,
}

/// Steps of establishment and termination. Steps of termination carry the length of the stream, as a FIN's sequence
/// number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeStep {
    /// SYN; the client's Initial, with its ClientHello.
    Syn,
    /// SYN-ACK; the server's flight from ServerHello to Finished.
    SynAck,
    /// ACK of the SYN-ACK; the client's Finished.
    Ack,
    /// HANDSHAKE_DONE. TCP has none.
    HandshakeDone,
    /// The opener's FIN, with the length of the stream in bytes.
    Fin(u64),
    /// The listener's FIN, with the acknowledgement of the opener's.
    FinAck(u64),
    /// ACK of the listener's FIN.
    AckOfFin(u64),
    /// CONNECTION_CLOSE. TCP has none.
    ConnectionClose,
}

/// A PDU that opens or closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// Protocol.
    pub protocol: Protocol,
    /// Step.
    pub step: HandshakeStep,
}

/// A PDU of a connection with a handshake.
#[derive(Clone, Debug, PartialEq)]
pub enum Pdu<U> {
    /// PDU that opens or closes the connection.
    Control(Control),
    /// PDU of the engines.
    Engine(U),
}

/// Options only in a SYN: maximum segment size, window scale, selective acknowledgements permitted (RFC 9293, RFC 7323,
/// RFC 2018), padded to words.
const SYN_OPTIONS: u32 = 8;

/// Minimum size of a datagram with a client's Initial, and of the answer to it (RFC 9000, section 14.1).
const INITIAL: u32 = 1200;

/// Finished message with SHA-256 (RFC 8446, section 4.4.4), with its frame, packet header and authentication tag.
const FINISHED_BYTES: u32 = 64;

impl Control {
    fn name(self) -> &'static str {
        match (self.protocol, self.step) {
            (Protocol::Tcp, HandshakeStep::Syn) => "SYN",
            (Protocol::Tcp, HandshakeStep::SynAck) => "SYN-ACK",
            (Protocol::Tcp, HandshakeStep::Ack) => "ACK of SYN",
            (Protocol::Tcp, HandshakeStep::AckOfFin(_)) => "ACK of FIN",
            (_, HandshakeStep::Fin(_)) => "FIN",
            (_, HandshakeStep::FinAck(_)) => "FIN-ACK",
            (Protocol::Quic, HandshakeStep::Syn) => "Initial",
            (Protocol::Quic, HandshakeStep::SynAck) => "Handshake",
            (Protocol::Quic, HandshakeStep::Ack) => "Finished",
            (_, HandshakeStep::HandshakeDone) => "HANDSHAKE_DONE",
            (_, HandshakeStep::ConnectionClose) => "CONNECTION_CLOSE",
            (Protocol::Quic, HandshakeStep::AckOfFin(_)) => "ACK",
        }
    }
}

impl<P: Payload> DataUnit<P> for Control {
    fn payload(&self) -> Option<&P> {
        None
    }

    fn framing(&self) -> u32 {
        match (self.protocol, self.step) {
            (Protocol::Tcp, HandshakeStep::Syn | HandshakeStep::SynAck) => SYN_OPTIONS,
            (Protocol::Quic, HandshakeStep::Syn | HandshakeStep::SynAck) => INITIAL,
            (Protocol::Quic, HandshakeStep::Ack) => FINISHED_BYTES,
            _ => 0,
        }
    }

    fn data(&self, _near: u64) -> Option<Range<u64>> {
        None
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        None
    }

    fn label(&self) -> String {
        match self.step {
            HandshakeStep::Fin(length) => format!("{} {length}", self.name()),
            _ => self.name().to_owned(),
        }
    }
}

impl CompactPdu for Control {
    fn pack(&self) -> Option<[u8; COMPACT]> {
        let (kind, length) = match self.step {
            HandshakeStep::Syn => (0, 0),
            HandshakeStep::SynAck => (1, 0),
            HandshakeStep::Ack => (2, 0),
            HandshakeStep::HandshakeDone => (3, 0),
            HandshakeStep::ConnectionClose => (4, 0),
            HandshakeStep::Fin(length) => (5, length),
            HandshakeStep::FinAck(length) => (6, length),
            HandshakeStep::AckOfFin(length) => (7, length),
        };
        let quic = u8::from(self.protocol == Protocol::Quic);
        Packing::default().put([quic, kind]).put(length.to_be_bytes()).done()
    }

    fn unpack(bytes: [u8; COMPACT]) -> Self {
        let length = u64::from_be_bytes(unpack_bytes(&bytes, 2));
        let step = match bytes[1] {
            0 => HandshakeStep::Syn,
            1 => HandshakeStep::SynAck,
            2 => HandshakeStep::Ack,
            3 => HandshakeStep::HandshakeDone,
            4 => HandshakeStep::ConnectionClose,
            5 => HandshakeStep::Fin(length),
            6 => HandshakeStep::FinAck(length),
            _ => HandshakeStep::AckOfFin(length),
        };
        Self { protocol: if bytes[0] == 0 { Protocol::Tcp } else { Protocol::Quic }, step }
    }
}

/// Encoding of the packed form. Live connections have a separate handshake.
impl Wire for Control {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend(self.pack().unwrap_or_default());
    }

    fn decode(bytes: Slice) -> Option<Self> {
        let bytes = <[u8; COMPACT]>::try_from(bytes.as_bytes()).ok()?;
        Some(Self::unpack(bytes)).filter(|control| control.pack() == Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Length;

    fn all_controls() -> impl Iterator<Item = Control> {
        let steps = [
            HandshakeStep::Syn,
            HandshakeStep::SynAck,
            HandshakeStep::Ack,
            HandshakeStep::HandshakeDone,
            HandshakeStep::Fin(u64::MAX),
            HandshakeStep::FinAck(7),
            HandshakeStep::AckOfFin(0),
            HandshakeStep::ConnectionClose,
        ];
        let protocols = [Protocol::Tcp, Protocol::Quic];
        steps.into_iter().flat_map(move |step| protocols.map(|protocol| Control { protocol, step }))
    }

    #[test]
    fn packets_round_trip_through_the_codec() {
        for control in all_controls() {
            let mut bytes = Vec::new();
            control.encode(&mut bytes);
            assert_eq!(Control::decode(Slice::new(bytes.clone())), Some(control));
            bytes[1] = 200;
            assert_eq!(Control::decode(Slice::new(bytes.clone())), None);
            bytes.pop();
            assert_eq!(Control::decode(Slice::new(bytes)), None);
        }
    }

    /// A SYN of 20 bytes of options beside 12 for timestamps; RFC 9000, section 14.1.
    #[test]
    fn packet_sizes_match_the_protocols() {
        let size = |protocol, step| DataUnit::<Length>::framing(&Control { protocol, step });
        assert_eq!(size(Protocol::Tcp, HandshakeStep::Syn), 8);
        assert_eq!(size(Protocol::Tcp, HandshakeStep::SynAck), 8);
        assert_eq!(size(Protocol::Tcp, HandshakeStep::Ack), 0);
        assert_eq!(size(Protocol::Tcp, HandshakeStep::Fin(9)), 0);
        assert_eq!(size(Protocol::Quic, HandshakeStep::Syn), 1200);
        assert_eq!(size(Protocol::Quic, HandshakeStep::SynAck), 1200);
    }
}
