//! The messages of routers to sources: policies that watch an output queue.
//!
//! A [`Policy`] sees every packet that comes to the line and every packet that leaves for it, after the queue's
//! discipline has done its work, and says which messages the router sends and which packets it marks. It has no
//! timers of its own; one that acts at intervals says so, and is called then.
//!
//! - [`Seif`]: messages to all sources at once before the queue overflows, and to the owners of dropped packets (Liang
//!   1991).
//! - [`SourceQuench`]: a message to the source of each packet that finds the queue half full (RFC 792, RFC 896).
//! - [`DecBit`]: a mark on packets that find a queue (Ramakrishnan and Jain 1988).
//! - [`Rations`]: a rate for every source, at intervals (Robinson, Friedman and Steenstrup 1990).
//! - [`Watch`] is one of the policies as a [`FeedbackSpec`] chooses.

mod arrivals;
mod dec_bit;
mod rations;
mod seif;
#[cfg(test)]
mod seif_tests;
mod source_quench;
mod sources;
mod spec;
#[cfg(test)]
mod testing;

pub use dec_bit::DecBit;
pub use rations::Rations;
pub use seif::Seif;
pub use source_quench::SourceQuench;
pub use spec::{
    Audience, DecBitSpec, FeedbackSpec, PolicySpec, QuenchSpec, RationsSpec, SeifPolicy, SeifSpec,
};

use crate::Limit;
use thalweg_proto::units::{Rate, Time};

/// A flow, by a number that means nothing but tells flows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// The source of a data packet whose flow is to hear of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its flow.
    pub flow: FlowId,
    /// The number of links that a message to it crosses.
    pub hops: u32,
    /// The packet carries the mark of a router that has sent its source a message.
    pub told: bool,
}

/// A packet that comes to a line, leaves for it or is dropped before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Its source; `None` for what nobody is told about: acknowledgements, routers' messages, flows that do not listen.
    pub source: Option<Source>,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// The sequence number of its data, where its protocol has one.
    pub sequence: Option<u64>,
    /// It is a router's message itself, which no router speaks for.
    pub message: bool,
}

/// The fate of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The line was free: it is in service.
    InService,
    /// It waits.
    Waits,
    /// It was dropped.
    Dropped,
}

/// A queue, after what happened, and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The time at which it happened.
    pub now: Time,
    /// Packets that wait, without the one in service.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The line's rate now.
    pub rate: Rate,
    /// The time at which the packet that was in service before will have left, or has left: not after `now` if the
    /// line was idle or has just become free.
    pub busy_until: Time,
}

/// A router's message to the source of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The flow that the message is for.
    pub flow: FlowId,
    /// The sequence number of a packet of the flow that was dropped; `None` is a warning (-1 in Liang 1991).
    pub dropped: Option<u64>,
    /// The rate that the flow is granted, by policies that ration.
    pub rate: Option<Rate>,
}

impl Message {
    /// A message without a rate.
    const fn new(flow: FlowId, dropped: Option<u64>) -> Self {
        Self { flow, dropped, rate: None }
    }
}

/// A feedback policy at one output queue.
pub trait Policy {
    /// A packet came to the line. `dropped` are the packets that were dropped on this occasion, the arrival among them
    /// if that is its `outcome`. Messages to send are appended to `messages`. True if the packet is to be marked.
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &Passing,
        outcome: Outcome,
        dropped: &[Passing],
        messages: &mut Vec<Message>,
    ) -> bool;

    /// A packet that had waited is in service now; `None` if the queue dropped all that it could have sent. True if the
    /// packet is to be marked.
    fn on_departure(
        &mut self,
        view: &View,
        departure: Option<&Passing>,
        dropped: &[Passing],
        messages: &mut Vec<Message>,
    ) -> bool;

    /// An interval has passed, where the policy has one ([`PolicySpec::interval`]).
    fn on_interval(&mut self, view: &View, messages: &mut Vec<Message>) {
        let _ = (view, messages);
    }
}

/// Defines the type of any policy, and passes calls on to the one that it is.
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
    /// The policy that `spec` describes, for an empty queue that holds no more than `limit`.
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
        arrival: &Passing,
        outcome: Outcome,
        dropped: &[Passing],
        messages: &mut Vec<Message>,
    ) -> bool {
        each!(self, policy => policy.on_arrival(view, arrival, outcome, dropped, messages))
    }

    fn on_departure(
        &mut self,
        view: &View,
        departure: Option<&Passing>,
        dropped: &[Passing],
        messages: &mut Vec<Message>,
    ) -> bool {
        each!(self, policy => policy.on_departure(view, departure, dropped, messages))
    }

    fn on_interval(&mut self, view: &View, messages: &mut Vec<Message>) {
        each!(self, policy => policy.on_interval(view, messages));
    }
}
