//! Interface of engines: inputs, events, failures, statistics, and the limits of senders.
//!
//! All protocol families share these types. One driver runs them all, and gates and router feedback work with each.

mod failures_and_violations;
mod sender_limits;
mod statistics;

pub use failures_and_violations::{ComponentKind, ContractViolation, Failure, ViolationKind};
pub use sender_limits::{Limit, LimitClock};
pub use statistics::{CongestionState, ReceiverCounts, SegmentCounts, SenderStats};

use crate::Ecn;
use crate::units::Rate;
use core::convert::Infallible;

/// An input of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<Pdu, Data> {
    /// A PDU arrived from the peer.
    Pdu {
        /// The PDU.
        pdu: Pdu,
        /// ECN codepoint of the packet on arrival; a set DEC bit counts as CE.
        ecn: Ecn,
    },
    /// The application hands over data to send.
    Write(Data),
    /// The application will write no more; queued data is still sent.
    Finish,
    /// The application will write no more and withdraws unsent data.
    Stop,
    /// The application consumed this many bytes of delivered data, which reopens the receive window (only where the
    /// receiver does not count delivery as consumption).
    Consumed(u64),
    /// Feedback of a router about this flow.
    Feedback(Feedback),
    /// A gate pauses the flow: no data leaves until [`Input::Resume`]. Acknowledgements, timers and all other state
    /// continue.
    Pause,
    /// The gate resumes the flow.
    Resume,
}

impl<Pdu, Data> Input<Pdu, Data> {
    /// Splits the input into a PDU with its ECN codepoint, or a command.
    ///
    /// # Errors
    ///
    /// Returns the command where the input is not a PDU.
    #[inline]
    pub fn into_pdu(self) -> Result<(Pdu, Ecn), Command<Data>> {
        Err(match self {
            Self::Pdu { pdu, ecn } => return Ok((pdu, ecn)),
            Self::Write(data) => Input::Write(data),
            Self::Finish => Input::Finish,
            Self::Stop => Input::Stop,
            Self::Consumed(bytes) => Input::Consumed(bytes),
            Self::Feedback(feedback) => Input::Feedback(feedback),
            Self::Pause => Input::Pause,
            Self::Resume => Input::Resume,
        })
    }
}

/// Input from the application or a gate, without PDUs.
pub type Command<Data> = Input<Infallible, Data>;

impl<Data> Command<Data> {
    /// Converts the command into an input of an endpoint with PDUs.
    #[inline]
    pub fn into_input<Pdu>(self) -> Input<Pdu, Data> {
        match self {
            Self::Write(data) => Input::Write(data),
            Self::Finish => Input::Finish,
            Self::Stop => Input::Stop,
            Self::Consumed(bytes) => Input::Consumed(bytes),
            Self::Feedback(feedback) => Input::Feedback(feedback),
            Self::Pause => Input::Pause,
            Self::Resume => Input::Resume,
            Self::Pdu { pdu, .. } => match pdu {},
        }
    }
}

/// Explicit feedback of a router to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Sequence number of the dropped data, in the numbering of the flow's protocol; `None` for a warning without a
    /// loss (the SEIF thesis writes -1).
    pub dropped: Option<u64>,
    /// Rate granted to the flow, for schemes that ration.
    pub rate: Option<Rate>,
    /// Windows of acknowledgements per packet of growth that the router asks for, with routers that limit the overhead of
    /// their messages.
    pub growth: Option<u8>,
    /// Opaque identifier of the queue that sent the feedback.
    pub queue: u32,
}

/// An event that an endpoint reports to its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Data> {
    /// Data for the application: in order and exactly once for a reliable transport, as received for datagrams.
    Delivered(Data),
    /// This many packets are missing here and will not come; the application tolerates such holes.
    Hole {
        /// Number of missing packets.
        packets: u32,
    },
    /// All written data has been sent at least once; the application may write more.
    Writable,
    /// The peer has received everything, after [`Input::Finish`].
    Finished,
    /// A congestion signal at the sender, for a gate at the source node.
    Congestion(Signal),
    /// The transport gave up and sends nothing more.
    Failed(Failure),
}

/// The kind of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// The retransmission timer expired.
    Timeout,
    /// A loss detected while acknowledgements arrive: by duplicate or selective acknowledgements, or by time.
    Loss,
    /// An acknowledgement reported a congestion mark.
    Mark,
    /// Feedback of a router.
    Feedback,
}
