//! A PDU of any protocol family, as one type.

use crate::external_family::ExternalPdu;
use crate::family_list::families;
use crate::protocol_family::Family;
use core::ops::Range;
use thalweg_proto::Ecn;
use thalweg_proto::handshake;
use thalweg_proto::payload::{Length, Payload, Slice};
use thalweg_proto::pdu::{COMPACT, CapturedBytes, CompactPdu, DataUnit, SegmentStep, Wire};
use thalweg_proto::transport::Feedback;
use thalweg_proto::window;

/// A compact PDU that fits into a simulated packet.
#[derive(Clone, Copy, Debug)]
pub struct PackedBytes {
    family: Number,
    bytes: [u8; COMPACT],
}

macro_rules! pdus {
    ($($Family:ident: $Config:ty, $Sender:ident, $Receiver:ident;)+) => {
        /// A PDU of any family: with payload bytes on real paths, with only their count in simulations.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyPdu<P: Payload> {
            /// A PDU of the window transport.
            Window(window::Pdu<P>),
            $(
                #[doc = concat!("Of the family `", stringify!($Family), "`.")]
                $Family(<$Config as Family>::Pdu<P>),
            )+
            /// A PDU that opens or closes a simulated connection.
            Handshake(handshake::Control),
            /// A router's message to the source of a flow; not on real paths.
            Feedback(Feedback),
            /// A PDU of a family of another crate.
            External(ExternalPdu<P>),
        }

        /// The families of [`PackedBytes`] PDUs.
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        enum Number {
            $($Family,)+
            Handshake,
        }

        /// Dispatches to the concrete PDU; the last two expressions apply to feedback.
        macro_rules! each {
            ($pdu:expr, $unit:ident => $body:expr, feedback => $other:expr) => {
                match $pdu {
                    AnyPdu::Window($unit) => $body,
                    $(AnyPdu::$Family($unit) => $body,)+
                    AnyPdu::Handshake($unit) => $body,
                    AnyPdu::External($unit) => $body,
                    AnyPdu::Feedback(_) => $other,
                }
            };
        }

        impl AnyPdu<Length> {
            /// Packs the PDU, if it fits. Not used for the window transport.
            #[inline(never)]
            pub fn pack(&self) -> Option<PackedBytes> {
                match self {
                    $(Self::$Family(pdu) => {
                        Some(PackedBytes { family: Number::$Family, bytes: pdu.pack()? })
                    })+
                    Self::Handshake(pdu) => Some(PackedBytes { family: Number::Handshake, bytes: pdu.pack()? }),
                    Self::Window(_) | Self::Feedback(_) | Self::External(_) => None,
                }
            }

            /// Returns the packed PDU.
            #[inline(never)]
            pub fn unpack(packed: PackedBytes) -> Self {
                match packed.family {
                    $(Number::$Family => Self::$Family(CompactPdu::unpack(packed.bytes)),)+
                    Number::Handshake => Self::Handshake(CompactPdu::unpack(packed.bytes)),
                }
            }
        }
    };
}
families!(pdus);

impl<P: Payload> AnyPdu<P> {
    /// Returns the bytes of application data in the PDU; `None` for control PDUs.
    #[inline]
    pub fn payload_len(&self) -> Option<u32> {
        match self {
            Self::Window(window::Pdu::Segment(segment)) => Some(segment.payload.len()),
            Self::Window(window::Pdu::Ack(_)) => None,
            other => other.payload().map(Payload::len),
        }
    }

    /// Returns the size in bytes on the wire, excluding framing, from the overhead of a data PDU and the size of a
    /// control PDU.
    #[inline]
    pub fn wire_size(&self, header: u32, control: u32) -> u32 {
        match self {
            Self::Window(window::Pdu::Segment(segment)) => segment.payload.len() + header,
            Self::Window(window::Pdu::Ack(_)) => control,
            other => other.other_size(header, control),
        }
    }

    // Not inlined, to keep the window transport's path small: most packets belong to it.
    #[inline(never)]
    fn other_size(&self, header: u32, control: u32) -> u32 {
        let around = if self.payload().is_some() { header } else { control };
        let payload = self.payload().map_or(0, Payload::len);
        payload.saturating_add(self.framing()).saturating_add(around)
    }
}

impl AnyPdu<Slice> {
    /// Appends the encoded PDU to `to`; nothing for feedback, which has no encoding.
    #[inline]
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Window(pdu) => pdu.encode(to),
            other => other.encode_other(to),
        }
    }

    #[inline(never)]
    fn encode_other(&self, to: &mut Vec<u8>) {
        each!(self, pdu => Wire::encode(pdu, to), feedback => ());
    }
}

impl<P: Payload> DataUnit<P> for AnyPdu<P> {
    fn payload(&self) -> Option<&P> {
        each!(self, pdu => DataUnit::<P>::payload(pdu), feedback => None)
    }

    fn framing(&self) -> u32 {
        each!(self, pdu => DataUnit::<P>::framing(pdu), feedback => 0)
    }

    fn data(&self, near: u64) -> Option<Range<u64>> {
        each!(self, pdu => DataUnit::<P>::data(pdu, near), feedback => None)
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        each!(self, pdu => DataUnit::<P>::acknowledged(pdu, near), feedback => None)
    }

    fn sequence(&self) -> Option<u64> {
        each!(self, pdu => DataUnit::<P>::sequence(pdu), feedback => None)
    }

    fn label(&self) -> String {
        if let Self::Feedback(feedback) = self {
            return match (feedback.dropped, feedback.rate) {
                (Some(dropped), _) => format!("feedback: {dropped} dropped"),
                (None, Some(rate)) => format!("feedback: {rate}"),
                (None, None) => "feedback".to_owned(),
            };
        }
        each!(self, pdu => DataUnit::<P>::label(pdu), feedback => String::new())
    }

    fn description(&self) -> String {
        match self {
            Self::Feedback(_) => self.label(),
            pdu => each!(pdu, pdu => DataUnit::<P>::description(pdu), feedback => String::new()),
        }
    }

    fn is_repeated(&self) -> Option<bool> {
        each!(self, pdu => DataUnit::<P>::is_repeated(pdu), feedback => None)
    }

    fn ecn(&self) -> Option<Ecn> {
        match self {
            Self::Window(pdu) => DataUnit::<P>::ecn(pdu),
            Self::External(pdu) => pdu.ecn(),
            _ => None,
        }
    }

    /// Feedback returns the type of the closest ICMP message, Source Quench (RFC 792).
    fn code(&self) -> u8 {
        each!(self, pdu => DataUnit::<P>::code(pdu), feedback => 4)
    }

    fn segment_step(&self) -> Option<SegmentStep> {
        each!(self, pdu => DataUnit::<P>::segment_step(pdu), feedback => None)
    }

    fn captured(&self, connection: u32) -> CapturedBytes {
        each!(self, pdu => DataUnit::<P>::captured(pdu, connection), feedback => CapturedBytes::default())
    }
}
