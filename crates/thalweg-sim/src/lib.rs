//! A deterministic packet-level simulator for the engines of `thalweg-proto`.
//!
//! A [`spec::Spec`] describes a network and its traffic; a [`Simulation`] is built from it, advanced, and finished
//! with a [`RunResult`]. The same specification gives the same bytes of results on every machine, in a debug or a
//! release build, however it is advanced.

mod build;
pub mod delay;
mod endpoint;
mod error;
mod event_loop;
pub mod fairness;
mod feedback;
mod finish;
mod flow;
mod gate;
mod host;
mod measure;
mod names;
mod network;
mod packet;
mod prefetch;
mod reader;
mod result;
pub mod route;
mod sampling;
mod segments;
mod simulation;
pub mod spec;
pub mod theory;
pub mod trace;
mod tracing;
mod transfer;
mod transmitter;
pub mod verify;

mod wheel;
mod workload;

pub use error::SpecError;
pub use flow::FlowCounts;
pub use result::{
    Conservation, FlowResult, GroupResult, LinkResult, Quantity, QueueResult, Ratios, RunResult,
    SegmentDelay, Series, SizeClass, Summary, Transfer, Transfers, TwoLevelCounts,
};
pub use segments::SegmentTimes;
pub use simulation::{Simulation, Status};

/// A PDU of any protocol, with lengths in place of bytes.
pub type Pdu = thalweg_catalog::AnyPdu<thalweg_proto::payload::Length>;
