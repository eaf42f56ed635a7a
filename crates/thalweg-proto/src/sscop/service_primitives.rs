//! Requests, indications and confirmations between SSCOP, its user and layer management (Q.2110, clause 6.1).

use super::{Pdu, SequenceNumber, Source};

/// Input of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<P> {
    /// PDU received.
    Pdu(Pdu<P>),
    /// Invalid frame received.
    Invalid,
    /// Request of the user or layer management. A request that the state does not allow is counted and dropped;
    /// [`Sscop::request`](super::Sscop::request) returns the refusal.
    Request(Request<P>),
    /// Number of messages taken by the user. The window granted to the peer advances by this number (with
    /// [`Credit::User`](super::Credit::User)).
    Credit(u32),
    /// True if the lower layer accepts no SD, UD and MD; false if it accepts them again.
    Busy(bool),
}

/// Request or response. SSCOP-UU (`uu`) is sent to the peer's user without guaranteed delivery.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<P> {
    /// AA-ESTABLISH.request: open a connection.
    Establish {
        /// SSCOP-UU.
        uu: Option<P>,
        /// Discard unacknowledged messages when the connection ends or recovers, and selectively acknowledged messages
        /// at once. If false, they are kept for [`Request::Retrieve`].
        clear_buffers: bool,
    },
    /// AA-ESTABLISH.response: accept the peer's connection.
    AcceptEstablish {
        /// SSCOP-UU.
        uu: Option<P>,
        /// As in [`Request::Establish`].
        clear_buffers: bool,
    },
    /// AA-RELEASE.request: close the connection, or refuse the peer's.
    Release {
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// AA-DATA.request: send a message.
    Data(P),
    /// AA-RESYNC.request: discard all data in both directions.
    Resync {
        /// SSCOP-UU.
        uu: Option<P>,
    },
    /// AA-RESYNC.response.
    AcceptResync,
    /// AA-RECOVER.response: continue after a protocol error.
    AcceptRecover,
    /// AA-UNITDATA.request: send a message without guaranteed delivery.
    UnitData(P),
    /// AA-RETRIEVE.request: return unacknowledged messages.
    Retrieve(Retrieve),
    /// MAA-UNITDATA.request: the same as [`Request::UnitData`] for layer management.
    ManagementData(P),
}

/// Messages to retrieve: RN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retrieve {
    /// Messages never sent.
    Unknown,
    /// Messages sent after this number, and messages never sent.
    After(SequenceNumber),
    /// All unacknowledged messages.
    Total,
}

/// Indication or confirmation to the user and layer management.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Signal<P> {
    /// AA-ESTABLISH.indication: the peer requests a connection.
    Establish {
        /// SSCOP-UU of the peer.
        uu: Option<P>,
    },
    /// AA-ESTABLISH.confirm: the connection is open.
    Established {
        /// SSCOP-UU of the peer.
        uu: Option<P>,
    },
    /// AA-RELEASE.indication: the connection is closed.
    Release {
        /// SSCOP-UU of the peer.
        uu: Option<P>,
        /// Originator of the release.
        source: Source,
    },
    /// AA-RELEASE.confirm: the user's own release is complete.
    Released,
    /// AA-DATA.indication.
    Data {
        /// The message.
        mu: P,
        /// Sequence number.
        s: SequenceNumber,
    },
    /// AA-RESYNC.indication: the peer requests that all data be discarded.
    Resync {
        /// SSCOP-UU of the peer.
        uu: Option<P>,
    },
    /// AA-RESYNC.confirm: the user's own resynchronisation is complete.
    Resynced,
    /// AA-RECOVER.indication: the connection restarts after a protocol error.
    Recover,
    /// AA-UNITDATA.indication.
    UnitData(P),
    /// AA-RETRIEVE.indication: a retrieved message.
    Retrieved(P),
    /// AA-RETRIEVE-COMPLETE.indication: no more messages.
    RetrieveComplete,
    /// MAA-UNITDATA.indication.
    ManagementData(P),
    /// MAA-ERROR.indication, for layer management.
    Error(ErrorCode),
}

/// Codes of MAA-ERROR (Q.2110, annex A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// A: unsolicited SD.
    Sd,
    /// B: unsolicited BGN.
    Bgn,
    /// C: unsolicited BGAK.
    Bgak,
    /// D: unsolicited BGREJ.
    Bgrej,
    /// F: unsolicited ENDAK.
    Endak,
    /// G: unsolicited POLL.
    Poll,
    /// H: unsolicited STAT.
    Stat,
    /// I: unsolicited USTAT.
    Ustat,
    /// J: unsolicited RS.
    Rs,
    /// K: unsolicited RSAK.
    Rsak,
    /// L: unsolicited ER.
    Er,
    /// M: unsolicited ERAK.
    Erak,
    /// O: no answer to `MaxCC` BGNs, ENDs, RSs or ERs.
    NoAnswer,
    /// P: `Timer_NO-RESPONSE` expired.
    NoResponse,
    /// Q: invalid N(S) of an SD or POLL. Leads to recovery, as do the next three.
    SendNumber,
    /// R: invalid N(PS) of a STAT.
    PollNumber,
    /// S: invalid N(R) or list of a STAT.
    StatNumbers,
    /// T: invalid N(R) or list of a USTAT.
    UstatNumbers,
    /// U: invalid or oversized frame.
    Length,
    /// V: number of SDs to retransmit. (0 is not reported: the sources differ, and nothing else depends on it.)
    Retransmission(u32),
    /// W: credit exhausted.
    NoCredit,
    /// X: credit available again.
    Credit,
}

impl ErrorCode {
    /// Returns the code letter.
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

/// Invalid frame: wrong length, wrong length for its type, or unknown type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidFrame;

impl core::fmt::Display for InvalidFrame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(
            "not a PDU of SSCOP: its length is wrong, or wrong for its type, or there is no such type",
        )
    }
}

impl core::error::Error for InvalidFrame {}

/// Refusal of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The state does not allow the request.
    State,
    /// The message or SSCOP-UU is longer than k or j.
    Length,
}

impl core::fmt::Display for RequestError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::State => "the connection's state does not allow this request",
            Self::Length => "the message or SSCOP-UU is longer than agreed",
        })
    }
}

impl core::error::Error for RequestError {}
