//! A deterministic packet-level simulator for the engines of `thalweg-proto`.
//!
//! A [`spec::Spec`] describes a network and its traffic. A [`Simulation`] is built from it, advanced, and finished with
//! a [`RunResult`]. The same specification gives byte-identical results on every machine, in debug and release builds,
//! and independently of how the run is advanced.

pub mod agent;
mod buffered_record;
mod build;
mod change;
mod check;
mod error;
mod event;
mod event_loop;
mod failures;
pub mod fairness;
pub mod live;
mod matching;
mod measure;
mod messages;
mod middlebox;
mod parallel;
pub mod partition;
mod parts;
mod prefetch;
mod processing;
mod recording;
mod result;
pub mod route;
mod routing;
mod schedule;
mod simulation;
mod sizes;
pub mod spec;
mod split;
mod table;
pub mod theory;
mod thread;
pub mod trace;
mod tracing;
pub mod verify;
mod wheel;

pub use error::SpecError;
pub use event_loop::Status;
pub use parts::segments::SegmentTimes;
pub use result::{
    Conservation, Curves, FlowCounts, FlowResult, GroupResult, LinkResult, MediaResult, Quantity,
    QueueResult, Ratios, Round, RunResult, SHARES, SegmentDelay, Series, SizeClass, StateVariable,
    StateVisit, Summary, Transfer, Transfers, TwoLevelCounts,
};
pub use simulation::Simulation;

/// A PDU of any protocol, with lengths in place of bytes.
pub type Pdu = thalweg_catalog::AnyPdu<thalweg_proto::payload::Length>;
