//! A PDU of any family.

use crate::families::families;
use crate::family::Family;
use crate::own::ExternalPdu;
use core::ops::Range;
use thalweg_proto::handshake;
use thalweg_proto::payload::{Length, Payload, Slice};
use thalweg_proto::pdu::{COMPACT, Captured, Compact, DataUnit, SegmentStep, Wire};
use thalweg_proto::transport::Feedback;
use thalweg_proto::window;

/// A PDU that fits into a simulated packet.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    family: Number,
    bytes: [u8; COMPACT],
}

macro_rules! pdus {
    ($($Family:ident: $Config:ty, $Sender:ident, $Receiver:ident;)+) => {
        /// A PDU of any family: with bytes on real paths, with their number in simulations.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyPdu<P: Payload> {
            /// The window transport's.
            Window(window::Pdu<P>),
            $(
                #[doc = concat!("Of the family `", stringify!($Family), "`.")]
                $Family(<$Config as Family>::Pdu<P>),
            )+
            /// It opens or closes a simulated connection.
            Handshake(handshake::Control),
            /// A router's message to the source of a flow. There are none on real paths.
            Feedback(Feedback),
            /// Of a family of another crate.
            Own(ExternalPdu<P>),
        }

        /// The families of [`Packed`] PDUs.
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        enum Number {
            $($Family,)+
            Handshake,
        }

        /// Asks whichever PDU it is; the last two expressions are for feedback.
        macro_rules! each {
            ($pdu:expr, $unit:ident => $body:expr, feedback => $other:expr) => {
                match $pdu {
                    AnyPdu::Window($unit) => $body,
                    $(AnyPdu::$Family($unit) => $body,)+
                    AnyPdu::Handshake($unit) => $body,
                    AnyPdu::Own($unit) => $body,
                    AnyPdu::Feedback(_) => $other,
                }
            };
        }

        impl AnyPdu<Length> {
            /// The PDU in few bytes, where it fits. Of those of the window transport none is asked for.
            #[inline(never)]
            pub fn pack(&self) -> Option<Packed> {
                match self {
                    $(Self::$Family(pdu) => {
                        Some(Packed { family: Number::$Family, bytes: pdu.pack()? })
                    })+
                    Self::Handshake(pdu) => Some(Packed { family: Number::Handshake, bytes: pdu.pack()? }),
                    Self::Window(_) | Self::Feedback(_) | Self::Own(_) => None,
                }
            }

            /// The PDU that was packed.
            #[inline(never)]
            pub fn unpack(packed: Packed) -> Self {
                match packed.family {
                    $(Number::$Family => Self::$Family(Compact::unpack(packed.bytes)),)+
                    Number::Handshake => Self::Handshake(Compact::unpack(packed.bytes)),
                }
            }
        }
    };
}
families!(pdus);

impl<P: Payload> AnyPdu<P> {
    /// The bytes of application data that it carries; `None` for control PDUs.
    #[inline]
    pub fn payload_len(&self) -> Option<u32> {
        match self {
            Self::Window(window::Pdu::Segment(segment)) => Some(segment.payload.len()),
            Self::Window(window::Pdu::Ack(_)) => None,
            other => other.payload().map(Payload::len),
        }
    }

    /// Bytes on the wire, where data has so many beside its payload and the other PDUs have so many at all, framing not
    /// counted.
    #[inline]
    pub fn wire_size(&self, header: u32, control: u32) -> u32 {
        match self {
            Self::Window(window::Pdu::Segment(segment)) => segment.payload.len() + header,
            Self::Window(window::Pdu::Ack(_)) => control,
            other => other.other_size(header, control),
        }
    }

    // Inlined, the others would crowd out the window transport, which most packets are of.
    #[inline(never)]
    fn other_size(&self, header: u32, control: u32) -> u32 {
        let around = if self.payload().is_some() { header } else { control };
        let payload = self.payload().map_or(0, Payload::len);
        payload.saturating_add(self.framing()).saturating_add(around)
    }
}

impl AnyPdu<Slice> {
    /// Appends all of it to `to`; nothing for feedback, which has no bytes.
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

    fn words(&self) -> String {
        match self {
            Self::Feedback(_) => self.label(),
            pdu => each!(pdu, pdu => DataUnit::<P>::words(pdu), feedback => String::new()),
        }
    }

    fn is_repeated(&self) -> Option<bool> {
        each!(self, pdu => DataUnit::<P>::is_repeated(pdu), feedback => None)
    }

    /// Of feedback the type of the ICMP message that routers' messages are closest to, Source Quench (RFC 792).
    fn code(&self) -> u8 {
        each!(self, pdu => DataUnit::<P>::code(pdu), feedback => 4)
    }

    fn segment_step(&self) -> Option<SegmentStep> {
        each!(self, pdu => DataUnit::<P>::segment_step(pdu), feedback => None)
    }

    fn captured(&self, connection: u32) -> Captured {
        each!(self, pdu => DataUnit::<P>::captured(pdu, connection), feedback => Captured::default())
    }
}
