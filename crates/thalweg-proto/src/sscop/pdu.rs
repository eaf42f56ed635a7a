//! PDUs of SSCOP (Q.2110, clause 7).

use super::SequenceNumber;
use super::rate::RateField;
use crate::payload::Payload;

/// Maximum number of list elements in a STAT.
pub const MAX_ELEMENTS: usize = 16_380;

/// Originator of a release, user or SSCOP: the source bit of END.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Release requested by the user.
    User,
    /// Release by SSCOP itself.
    Sscop,
}

/// PDU of SSCOP. Fields have the names of Q.2110 without their "N": `sq` is N(SQ), `mr` N(MR), `s` N(S), `ps` N(PS),
/// `r` N(R). `uu` is SSCOP-UU: a few octets of user data without guaranteed delivery; an absent and an empty one are
/// the same on the wire.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Pdu<P> {
    /// BGN, begin: requests a connection.
    Bgn {
        /// Connection sequence number; distinguishes a repetition from a new request.
        sq: u8,
        /// First SD that the sender of this PDU will not accept.
        mr: SequenceNumber,
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// BGAK: accepts the connection.
    Bgak {
        /// First SD that the sender of this PDU will not accept.
        mr: SequenceNumber,
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// BGREJ: refuses the connection.
    Bgrej {
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// END: releases the connection.
    End {
        /// Originator of the release.
        source: Source,
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// ENDAK: confirms the release.
    Endak,
    /// RS: requests resynchronisation.
    Rs {
        /// Connection sequence number.
        sq: u8,
        /// First SD that the sender of this PDU will not accept.
        mr: SequenceNumber,
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// RSAK: confirms resynchronisation.
    Rsak {
        /// First SD that the sender of this PDU will not accept.
        mr: SequenceNumber,
    },
    /// ER: requests recovery from a protocol error.
    Er {
        /// Connection sequence number.
        sq: u8,
        /// First SD that the sender of this PDU will not accept.
        mr: SequenceNumber,
    },
    /// ERAK: confirms recovery.
    Erak {
        /// First SD that the sender of this PDU will not accept.
        mr: SequenceNumber,
    },
    /// SD: a message, delivered in order and exactly once.
    Sd {
        /// Sequence number.
        s: SequenceNumber,
        /// Message unit.
        mu: P,
    },
    /// POLL: requests the receiver's state.
    Poll {
        /// Number of this POLL.
        ps: SequenceNumber,
        /// Number of the next new SD.
        s: SequenceNumber,
    },
    /// STAT: the receiver's complete state, in answer to a POLL.
    Stat(Stat),
    /// USTAT: a gap, reported on detection.
    Ustat(Ustat),
    /// UD: a message without guaranteed delivery.
    Ud {
        /// Message unit.
        mu: P,
    },
    /// MD: the same as UD, between layer management entities.
    Md {
        /// Message unit.
        mu: P,
    },
}

/// Receiver state at the arrival of a POLL, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Stat {
    /// Number of the answered POLL.
    pub ps: SequenceNumber,
    /// First SD that the receiver will not accept.
    pub mr: SequenceNumber,
    /// Cumulative acknowledgement: all SDs before this number have been received.
    pub r: SequenceNumber,
    /// Start numbers of runs, alternating between missing and received SDs. The last element of an even-length list
    /// ends a run of missing SDs; the last element of an odd-length list ends a run of received SDs. A single element
    /// carries no information.
    pub list: Vec<SequenceNumber>,
    /// Rate granted by the network, as estimated by the receiver; used with rate control.
    pub rate: Option<RateField>,
}

/// Gap in the received SDs.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub struct Ustat {
    /// First SD that the receiver will not accept.
    pub mr: SequenceNumber,
    /// Cumulative acknowledgement: all SDs before this number have been received.
    pub r: SequenceNumber,
    /// First missing SD.
    pub first: SequenceNumber,
    /// First SD after the gap.
    pub end: SequenceNumber,
    /// Rate granted by the network, as estimated by the receiver; used with rate control.
    pub rate: Option<RateField>,
}

/// Kind of a PDU; its value is the type code (Q.2110, table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PduKind {
    /// Begin.
    Bgn = 0x1,
    /// Begin acknowledge.
    Bgak = 0x2,
    /// End.
    End = 0x3,
    /// End acknowledge.
    Endak = 0x4,
    /// Resynchronisation.
    Rs = 0x5,
    /// Resynchronisation acknowledge.
    Rsak = 0x6,
    /// Begin reject.
    Bgrej = 0x7,
    /// Sequenced data.
    Sd = 0x8,
    /// Error recovery.
    Er = 0x9,
    /// Poll.
    Poll = 0xa,
    /// Solicited status.
    Stat = 0xb,
    /// Unsolicited status.
    Ustat = 0xc,
    /// Unnumbered data.
    Ud = 0xd,
    /// Management data.
    Md = 0xe,
    /// Error recovery acknowledge.
    Erak = 0xf,
}

impl<P: Payload> Pdu<P> {
    /// Returns the kind of the PDU.
    pub const fn kind(&self) -> PduKind {
        match self {
            Self::Bgn { .. } => PduKind::Bgn,
            Self::Bgak { .. } => PduKind::Bgak,
            Self::Bgrej { .. } => PduKind::Bgrej,
            Self::End { .. } => PduKind::End,
            Self::Endak => PduKind::Endak,
            Self::Rs { .. } => PduKind::Rs,
            Self::Rsak { .. } => PduKind::Rsak,
            Self::Er { .. } => PduKind::Er,
            Self::Erak { .. } => PduKind::Erak,
            Self::Sd { .. } => PduKind::Sd,
            Self::Poll { .. } => PduKind::Poll,
            Self::Stat(_) => PduKind::Stat,
            Self::Ustat(_) => PduKind::Ustat,
            Self::Ud { .. } => PduKind::Ud,
            Self::Md { .. } => PduKind::Md,
        }
    }

    /// Returns the user field: SSCOP-UU or message unit; `None` for a PDU without one.
    pub const fn user_field(&self) -> Option<&P> {
        match self {
            Self::Bgn { uu, .. }
            | Self::Bgak { uu, .. }
            | Self::Bgrej { uu }
            | Self::End { uu, .. }
            | Self::Rs { uu, .. } => uu.as_ref(),
            Self::Sd { mu, .. } | Self::Ud { mu } | Self::Md { mu } => Some(mu),
            _ => None,
        }
    }

    /// Converts the payload of the PDU.
    pub fn map<Q>(&self, payload: impl Fn(&P) -> Q) -> Pdu<Q> {
        let field = |uu: &Option<P>| uu.as_ref().map(&payload);
        match self {
            Self::Bgn { sq, mr, uu } => Pdu::Bgn { sq: *sq, mr: *mr, uu: field(uu) },
            Self::Bgak { mr, uu } => Pdu::Bgak { mr: *mr, uu: field(uu) },
            Self::Bgrej { uu } => Pdu::Bgrej { uu: field(uu) },
            Self::End { source, uu } => Pdu::End { source: *source, uu: field(uu) },
            Self::Endak => Pdu::Endak,
            Self::Rs { sq, mr, uu } => Pdu::Rs { sq: *sq, mr: *mr, uu: field(uu) },
            Self::Rsak { mr } => Pdu::Rsak { mr: *mr },
            Self::Er { sq, mr } => Pdu::Er { sq: *sq, mr: *mr },
            Self::Erak { mr } => Pdu::Erak { mr: *mr },
            Self::Sd { s, mu } => Pdu::Sd { s: *s, mu: payload(mu) },
            Self::Poll { ps, s } => Pdu::Poll { ps: *ps, s: *s },
            Self::Stat(stat) => Pdu::Stat(stat.clone()),
            Self::Ustat(ustat) => Pdu::Ustat(*ustat),
            Self::Ud { mu } => Pdu::Ud { mu: payload(mu) },
            Self::Md { mu } => Pdu::Md { mu: payload(mu) },
        }
    }

    /// Returns the length on the wire in octets, including padding: always a multiple of 4.
    pub fn wire_len(&self) -> u32 {
        let field = self.user_field().map_or(0, Payload::len).next_multiple_of(4);
        let control = match self {
            Self::Sd { .. } | Self::Ud { .. } | Self::Md { .. } => 4,
            Self::Stat(stat) => 12 + 4 * stat.list.len() as u32,
            Self::Ustat(_) => 16,
            _ => 8,
        };
        field + control
    }

    /// Returns true if the lengths are within the negotiated maxima: message units up to `k` octets, SSCOP-UU up to
    /// `j`, both without padding, and lists that fit into a PDU.
    pub(super) fn is_within(&self, k: u32, j: u32) -> bool {
        let length = self.user_field().map_or(0, Payload::len);
        match self {
            Self::Sd { .. } | Self::Ud { .. } | Self::Md { .. } => length <= k,
            Self::Stat(stat) => stat.list.len() <= MAX_ELEMENTS,
            _ => length <= j,
        }
    }
}
