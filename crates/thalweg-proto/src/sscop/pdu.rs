//! PDUs of SSCOP (Q.2110, clause 7).

use super::Number;
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

/// A PDU. Fields have the names of Q.2110 without their "N": `sq` is N(SQ), `mr` N(MR), `s` N(S), `ps` N(PS), `r` N(R).
/// `uu` is SSCOP-UU, a user's few octets with no promise to arrive; none and an empty one are the same on the wire.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Pdu<P> {
    /// BGN, begin: requests a connection.
    Bgn {
        /// Connection sequence number; distinguishes a repetition from a new request.
        sq: u8,
        /// The first SD that the sender of this will not accept.
        mr: Number,
        /// The user's octets.
        uu: Option<P>,
    },
    /// BGAK: accepts the connection.
    Bgak {
        /// The first SD that the sender of this will not accept.
        mr: Number,
        /// The user's octets.
        uu: Option<P>,
    },
    /// BGREJ: refuses the connection.
    Bgrej {
        /// The user's octets.
        uu: Option<P>,
    },
    /// END: releases the connection.
    End {
        /// The side that wants the release.
        source: Source,
        /// The user's octets.
        uu: Option<P>,
    },
    /// ENDAK: confirms the release.
    Endak,
    /// RS: asks for resynchronisation.
    Rs {
        /// The connection sequence number.
        sq: u8,
        /// The first SD that the sender of this will not accept.
        mr: Number,
        /// The user's octets.
        uu: Option<P>,
    },
    /// RSAK: confirms resynchronisation.
    Rsak {
        /// The first SD that the sender of this will not accept.
        mr: Number,
    },
    /// ER: asks for recovery from a protocol error.
    Er {
        /// The connection sequence number.
        sq: u8,
        /// The first SD that the sender of this will not accept.
        mr: Number,
    },
    /// ERAK: confirms recovery.
    Erak {
        /// The first SD that the sender of this will not accept.
        mr: Number,
    },
    /// SD: a message, delivered in order and once.
    Sd {
        /// Its number.
        s: Number,
        /// The message unit.
        mu: P,
    },
    /// POLL: asks for the receiver's state.
    Poll {
        /// The number of this POLL.
        ps: Number,
        /// The number of the next new SD.
        s: Number,
    },
    /// STAT: the receiver's whole state, as answer to a POLL.
    Stat(Stat),
    /// USTAT: a gap, as soon as it is seen.
    Ustat(Ustat),
    /// UD: a message without any promise.
    Ud {
        /// The message unit.
        mu: P,
    },
    /// MD: the same between layer managements.
    Md {
        /// The message unit.
        mu: P,
    },
}

/// The receiver's state at the arrival of a POLL, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Stat {
    /// The number of the POLL that is answered.
    pub ps: Number,
    /// The first SD that the receiver will not accept.
    pub mr: Number,
    /// Everything before has been received.
    pub r: Number,
    /// The numbers at which runs begin, in turn of missing and of received SDs. An even count ends with the end of a
    /// run of missing ones; of an odd one the last is the end of a run of received ones. A single element says nothing.
    pub list: Vec<Number>,
    /// The rate that the receiver found the network to grant, where rate control is in use.
    pub rate: Option<RateField>,
}

/// A gap between SDs.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub struct Ustat {
    /// The first SD that the receiver will not accept.
    pub mr: Number,
    /// Everything before has been received.
    pub r: Number,
    /// The first missing SD.
    pub first: Number,
    /// The first SD after it that is not missing.
    pub end: Number,
    /// The rate that the receiver found the network to grant, where rate control is in use.
    pub rate: Option<RateField>,
}

/// The kind of a PDU; its value is the type code (Q.2110, table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
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
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Bgn { .. } => Kind::Bgn,
            Self::Bgak { .. } => Kind::Bgak,
            Self::Bgrej { .. } => Kind::Bgrej,
            Self::End { .. } => Kind::End,
            Self::Endak => Kind::Endak,
            Self::Rs { .. } => Kind::Rs,
            Self::Rsak { .. } => Kind::Rsak,
            Self::Er { .. } => Kind::Er,
            Self::Erak { .. } => Kind::Erak,
            Self::Sd { .. } => Kind::Sd,
            Self::Poll { .. } => Kind::Poll,
            Self::Stat(_) => Kind::Stat,
            Self::Ustat(_) => Kind::Ustat,
            Self::Ud { .. } => Kind::Ud,
            Self::Md { .. } => Kind::Md,
        }
    }

    /// The user's octets: SSCOP-UU or message unit; `None` for a PDU without any.
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

    /// The same PDU with another kind of payload.
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

    /// The size on the wire in octets, padding included: always a multiple of 4.
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

    /// True when the lengths are within what the two ends agreed on: message units up to `k` octets, SSCOP-UU up to
    /// `j`, both without padding, and lists that fit a PDU.
    pub(super) fn is_within(&self, k: u32, j: u32) -> bool {
        let length = self.user_field().map_or(0, Payload::len);
        match self {
            Self::Sd { .. } | Self::Ud { .. } | Self::Md { .. } => length <= k,
            Self::Stat(stat) => stat.list.len() <= MAX_ELEMENTS,
            _ => length <= j,
        }
    }
}
