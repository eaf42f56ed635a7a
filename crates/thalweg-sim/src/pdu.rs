//! The protocol data units (PDUs) that simulated packets carry.

use core::ops::Range;
use thalweg_proto::numbers::Numbered;
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Feedback;
use thalweg_proto::{aack, sscop, sstp, window};

/// A PDU of any protocol, with lengths in place of bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Pdu {
    /// The window transport's.
    Window(window::Pdu<Length>),
    /// A datagram of this many payload bytes.
    Datagram(Length),
    /// Of adaptive acknowledgement.
    AdaptiveAck(aack::Pdu<Length>),
    /// SSCOP's.
    Sscop(sscop::Pdu<Length>),
    /// Of two-level flow control.
    Sstp(sstp::Pdu<Length>),
    /// A router's message to the source of a flow.
    Feedback(Feedback),
}

impl Pdu {
    /// The bytes of application data that it carries; `None` for control PDUs.
    #[inline]
    pub const fn payload(&self) -> Option<u32> {
        match self {
            Self::Window(window::Pdu::Segment(segment)) => Some(segment.payload.0),
            Self::Datagram(payload) => Some(payload.0),
            Self::AdaptiveAck(aack::Pdu::Data(data)) => Some(data.payload.0),
            Self::Sscop(sscop::Pdu::Sd { mu, .. }) => Some(mu.0),
            Self::Sstp(sstp::Pdu::Data(data)) => Some(data.payload.0),
            Self::Window(window::Pdu::Ack(_))
            | Self::AdaptiveAck(aack::Pdu::Ack(_))
            | Self::Sscop(_)
            | Self::Sstp(_)
            | Self::Feedback(_) => None,
        }
    }
}

impl Numbered for Pdu {
    fn data(&self, near: u64) -> Option<Range<u64>> {
        match self {
            Self::Window(pdu) => pdu.data(near),
            Self::AdaptiveAck(pdu) => pdu.data(near),
            Self::Sscop(pdu) => pdu.data(near),
            Self::Sstp(pdu) => pdu.data(near),
            Self::Datagram(_) | Self::Feedback(_) => None,
        }
    }

    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Window(pdu) => pdu.acknowledged(near),
            Self::AdaptiveAck(pdu) => pdu.acknowledged(near),
            Self::Sscop(pdu) => pdu.acknowledged(near),
            Self::Sstp(pdu) => pdu.acknowledged(near),
            Self::Datagram(_) | Self::Feedback(_) => None,
        }
    }

    fn length(&self) -> u32 {
        self.payload().unwrap_or(0)
    }
}
