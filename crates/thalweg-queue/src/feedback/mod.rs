//! Congestion feedback from routers to sources: policies that observe an output queue.
//!
//! A [`Policy`] sees every packet that arrives at the line and every packet that leaves for it, after the queue's
//! discipline. It decides which messages the router sends and which packets it marks. It has no timers; a policy with
//! an interval is called periodically.
//!
//! - [`Seif`]: messages to all sources at once before the queue overflows, and to the owners of dropped packets (Liang
//!   1991).
//! - [`SourceQuench`]: a message to the source of each packet that finds the queue half full (RFC 792, RFC 896).
//! - [`DecBit`]: a mark on packets that find a queue (Ramakrishnan and Jain 1988).
//! - [`Rations`]: a rate for every source, at intervals (Robinson, Friedman and Steenstrup 1990).
//! - [`Watch`] is any of these policies, selected by a [`FeedbackSpec`].

mod arrival_rate;
mod bbn_rations;
mod dec_bit;
mod feedback_spec;
mod seif;
mod seif_message_limit;
#[cfg(test)]
mod seif_tests;
mod source_quench;
mod source_table;
#[cfg(test)]
mod test_helpers;

pub use bbn_rations::Rations;
pub use dec_bit::DecBit;
pub use feedback_spec::{
    DecBitSpec, FeedbackSpec, OverheadControl, OverheadSpec, PolicySpec, QuenchSpec, RationsSpec, Recipients,
    SeifPolicy, SeifSpec,
};
pub use seif::Seif;
pub use source_quench::SourceQuench;

use crate::Limit;
use thalweg_proto::units::{Rate, Time};

/// Opaque flow identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// Source of a data packet whose flow supports feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Flow of the packet.
    pub flow: FlowId,
    /// Distance of a message to the source, in links.
    pub hops: u32,
    /// True if the packet carries the mark of a router that has notified its source.
    pub is_notified: bool,
}

/// Packet that arrives at a line, leaves for it or is dropped before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassingPacket {
    /// Source of the packet; `None` for packets without feedback: acknowledgements, routers' messages, flows without
    /// support.
    pub source: Option<Source>,
    /// Size on the wire, in bytes.
    pub size: u32,
    /// Sequence number of its data, if its protocol has one.
    pub sequence: Option<u64>,
    /// True for a router's message, which causes no feedback.
    pub message: bool,
}

/// Outcome of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalOutcome {
    /// In service: the line was free.
    InService,
    /// Queued.
    Waits,
    /// Dropped.
    Dropped,
}

/// Queue state after an event, and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Time of the event.
    pub now: Time,
    /// Queued packets, without the one in service.
    pub packets: u64,
    /// Queued bytes.
    pub bytes: u64,
    /// Current rate of the line.
    pub rate: Rate,
    /// Departure time of the packet previously in service; not after `now` if the line was idle or has just become
    /// free.
    pub busy_until: Time,
}

/// Message of a router to the source of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Flow of the message.
    pub flow: FlowId,
    /// Sequence number of a dropped packet of the flow; `None` is a warning (-1 in Liang 1991).
    pub dropped: Option<u64>,
    /// Rate granted to the flow, with policies that ration.
    pub rate: Option<Rate>,
    /// Windows of acknowledgements per packet of growth that the router asks for.
    pub growth: Option<u8>,
}

impl Message {
    /// Creates a message without a rate.
    const fn new(flow: FlowId, dropped: Option<u64>) -> Self {
        Self { flow, dropped, rate: None, growth: None }
    }
}

/// Feedback policy at one output queue.
pub trait Policy {
    /// Handles an arrival. `dropped` are the packets dropped at this event, including the arrival if that is its
    /// `outcome`. Appends messages to `messages`. Returns true if the packet is to be marked.
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &PassingPacket,
        outcome: ArrivalOutcome,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool;

    /// Handles a queued packet that enters service; `None` if the queue dropped all candidates. Returns true if the
    /// packet is to be marked.
    fn on_departure(
        &mut self,
        view: &View,
        departure: Option<&PassingPacket>,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool;

    /// Handles the end of an interval, if the policy has one ([`PolicySpec::interval`]).
    fn on_interval(&mut self, view: &View, messages: &mut Vec<Message>) {
        let _ = (view, messages);
    }
}

/// Defines the type of any policy, and dispatches calls.
macro_rules! policies {
    ($($Name:ident),*) => {
        /// Any policy.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant holds the policy of its name")]
        pub enum Watch { $($Name($Name)),* }

        macro_rules! each {
            ($any:expr, $policy:ident => $body:expr) => {
                match $any { $(Watch::$Name($policy) => $body),* }
            };
        }
    };
}
policies!(Seif, SourceQuench, DecBit, Rations);

impl Watch {
    /// Creates the policy of `spec` for an empty queue with this limit.
    pub fn new(spec: &PolicySpec, limit: Limit) -> Self {
        match spec {
            PolicySpec::Seif(spec) => Self::Seif(Seif::new(spec, limit)),
            PolicySpec::SourceQuench(spec) => Self::SourceQuench(SourceQuench::new(spec, limit)),
            PolicySpec::DecBit(spec) => Self::DecBit(DecBit::new(spec)),
            PolicySpec::Rations(spec) => Self::Rations(Rations::new(spec)),
        }
    }
}

impl Policy for Watch {
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &PassingPacket,
        outcome: ArrivalOutcome,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool {
        each!(self, policy => policy.on_arrival(view, arrival, outcome, dropped, messages))
    }

    fn on_departure(
        &mut self,
        view: &View,
        departure: Option<&PassingPacket>,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool {
        each!(self, policy => policy.on_departure(view, departure, dropped, messages))
    }

    fn on_interval(&mut self, view: &View, messages: &mut Vec<Message>) {
        each!(self, policy => policy.on_interval(view, messages));
    }
}
