//! A deterministic packet-level simulator for the engines of `thalweg-proto`.
//!
//! A [`spec::Spec`] describes a network and its traffic. A [`Simulation`] is built from it, advanced, and finished with
//! a [`RunResult`]. The same specification gives byte-identical results on every machine, in debug and release builds,
//! and independently of how the run is advanced.

pub mod agent;
mod buffered_record;
mod change_schedule;
mod components;
mod error;
mod event;
mod event_loop;
mod event_queue;
mod failures;
pub mod fairness;
mod feedback_paths;
mod host_thread;
pub mod live_network;
mod measure;
mod middlebox;
mod packet_matching;
mod parallel_run;
pub mod partition;
mod partition_split;
mod prefetch;
mod processing_cost;
mod recording;
mod result;
mod route_table;
mod routing;
mod run_builder;
mod scheduled_change;
pub mod shortest_paths;
mod simulation;
mod size_distribution;
pub mod spec;
mod spec_validation;
pub mod theory;
pub mod trace;
mod tracing;
pub mod verify;

pub use components::segment_delays::SegmentTimes;
pub use error::SpecError;
pub use event_loop::Status;
pub use result::{
    Conservation, Curves, FlowCounts, FlowResult, GroupResult, LinkResult, MediaResult, Quantity,
    QueueResult, Ratios, Round, RunResult, SHARES, SegmentDelay, Series, SizeClass, StateVariable,
    StateVisit, Summary, Transfer, Transfers, TwoLevelCounts,
};
pub use simulation::Simulation;

/// A PDU of any protocol, with lengths in place of bytes.
pub type Pdu = thalweg_catalog::AnyPdu<thalweg_proto::payload::Length>;
