//! The requests, indications and confirmations between SSCOP, its user and layer management (Q.2110, clause 6.1).

use super::{Number, Pdu, Source};

/// An input of one end.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<P> {
    /// A PDU arrived.
    Pdu(Pdu<P>),
    /// A frame arrived that is no PDU.
    Invalid,
    /// The user or layer management wants something. What the state does not allow is counted and dropped;
    /// [`Sscop::request`](super::Sscop::request) tells.
    Request(Request<P>),
    /// The user has taken so many messages: the window that is granted to the peer widens by them (with
    /// [`Credit::User`](super::Credit::User)).
    Credit(u32),
    /// The layer below takes no SD, UD and MD (true), or takes them again.
    Busy(bool),
}

/// A request or response. SSCOP-UU (`uu`) is carried along to the peer's user, with no promise that it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<P> {
    /// AA-ESTABLISH.request: open a connection.
    Establish {
        /// The user's octets.
        uu: Option<P>,
        /// Forget unacknowledged messages when the connection ends or recovers, and what is acknowledged out of order at
        /// once. Without, they are kept for [`Request::Retrieve`].
        clear_buffers: bool,
    },
    /// AA-ESTABLISH.response: accept the peer's connection.
    AcceptEstablish {
        /// The user's octets.
        uu: Option<P>,
        /// As in [`Request::Establish`].
        clear_buffers: bool,
    },
    /// AA-RELEASE.request: close the connection, or refuse the peer's.
    Release {
        /// The user's octets.
        uu: Option<P>,
    },
    /// AA-DATA.request: send a message.
    Data(P),
    /// AA-RESYNC.request: forget all data in both directions.
    Resync {
        /// The user's octets.
        uu: Option<P>,
    },
    /// AA-RESYNC.response.
    AcceptResync,
    /// AA-RECOVER.response: go on after an error of the protocol.
    AcceptRecover,
    /// AA-UNITDATA.request: send a message without any promise.
    UnitData(P),
    /// AA-RETRIEVE.request: hand unacknowledged messages back.
    Retrieve(Retrieve),
    /// MAA-UNITDATA.request: the same as [`Request::UnitData`] for layer management.
    ManagementData(P),
}

/// The messages that are to be handed back: RN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retrieve {
    /// Those that were never sent.
    Unknown,
    /// Those sent after this number, and those never sent.
    After(Number),
    /// All that are not acknowledged.
    Total,
}

/// An indication or confirmation of an end to its user and layer management.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Signal<P> {
    /// AA-ESTABLISH.indication: the peer asks for a connection.
    Establish {
        /// The peer's octets.
        uu: Option<P>,
    },
    /// AA-ESTABLISH.confirm: the connection is open.
    Established {
        /// The peer's octets.
        uu: Option<P>,
    },
    /// AA-RELEASE.indication: the connection is closed.
    Release {
        /// The peer's octets.
        uu: Option<P>,
        /// By whom.
        source: Source,
    },
    /// AA-RELEASE.confirm: the user's own release is complete.
    Released,
    /// AA-DATA.indication.
    Data {
        /// The message.
        mu: P,
        /// Its number.
        s: Number,
    },
    /// AA-RESYNC.indication: the peer wants all data forgotten.
    Resync {
        /// The peer's octets.
        uu: Option<P>,
    },
    /// AA-RESYNC.confirm: the user's own resynchronisation is complete.
    Resynced,
    /// AA-RECOVER.indication: after an error of the protocol the connection begins anew.
    Recover,
    /// AA-UNITDATA.indication.
    UnitData(P),
    /// AA-RETRIEVE.indication: a message handed back.
    Retrieved(P),
    /// AA-RETRIEVE-COMPLETE.indication: there are no more.
    RetrieveComplete,
    /// MAA-UNITDATA.indication.
    ManagementData(P),
    /// MAA-ERROR.indication, for layer management.
    Error(ErrorCode),
}

/// The codes of MAA-ERROR (Q.2110, annex A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// A: an SD that nobody waits for.
    Sd,
    /// B: such a BGN.
    Bgn,
    /// C: such a BGAK.
    Bgak,
    /// D: such a BGREJ.
    Bgrej,
    /// F: such an ENDAK.
    Endak,
    /// G: such a POLL.
    Poll,
    /// H: such a STAT.
    Stat,
    /// I: such a USTAT.
    Ustat,
    /// J: such an RS.
    Rs,
    /// K: such an RSAK.
    Rsak,
    /// L: such an ER.
    Er,
    /// M: such an ERAK.
    Erak,
    /// O: no answer to `MaxCC` BGNs, ENDs, RSs or ERs.
    NoAnswer,
    /// P: `Timer_NO-RESPONSE` expired.
    NoResponse,
    /// Q: N(S) of an SD or POLL is wrong. Leads to recovery, as the next three.
    SendNumber,
    /// R: N(PS) of a STAT is wrong.
    PollNumber,
    /// S: N(R) or the list of a STAT is wrong.
    StatNumbers,
    /// T: N(R) or the list of a USTAT is wrong.
    UstatNumbers,
    /// U: a frame is no PDU, or too long.
    Length,
    /// V: so many SDs have to be sent again. (None are not reported: the sources differ, nothing else depends on it.)
    Retransmission(u32),
    /// W: the credit is used up.
    NoCredit,
    /// X: there is credit again.
    Credit,
}

impl ErrorCode {
    /// The letter.
    pub const fn letter(self) -> char {
        match self {
            Self::Sd => 'A',
            Self::Bgn => 'B',
            Self::Bgak => 'C',
            Self::Bgrej => 'D',
            Self::Endak => 'F',
            Self::Poll => 'G',
            Self::Stat => 'H',
            Self::Ustat => 'I',
            Self::Rs => 'J',
            Self::Rsak => 'K',
            Self::Er => 'L',
            Self::Erak => 'M',
            Self::NoAnswer => 'O',
            Self::NoResponse => 'P',
            Self::SendNumber => 'Q',
            Self::PollNumber => 'R',
            Self::StatNumbers => 'S',
            Self::UstatNumbers => 'T',
            Self::Length => 'U',
            Self::Retransmission(_) => 'V',
            Self::NoCredit => 'W',
            Self::Credit => 'X',
        }
    }
}

/// A frame that is no PDU: its length is wrong, or wrong for its type, or there is no such type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(
            "not a PDU of SSCOP: its length is wrong, or wrong for its type, or there is no such type",
        )
    }
}

impl core::error::Error for Invalid {}

/// The reason for which a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The state does not allow it.
    State,
    /// The message or SSCOP-UU is longer than k or j.
    Length,
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::State => "the connection's state does not allow this request",
            Self::Length => "the message or SSCOP-UU is longer than agreed",
        })
    }
}

impl core::error::Error for Refusal {}
