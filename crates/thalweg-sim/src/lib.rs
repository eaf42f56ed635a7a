//! A deterministic packet-level simulator for the engines of `thalweg-proto`.
//!
//! A [`simulation_spec::Spec`] describes a network and its traffic. A [`Simulation`] is built from it, advanced, and finished with
//! a [`RunResult`]. The same specification gives byte-identical results on every machine, in debug and release builds,
//! and independently of how the run is advanced.

mod buffered_trace_record;
mod change_schedule_check;
pub mod closed_formulas;
mod components;
mod event_kinds;
mod event_loop;
mod event_queue;
pub mod external_agent;
pub mod fairness_measures;
mod feedback_paths;
mod host_model;
mod link_failures;
pub mod live_network;
mod long_term_rate;
mod measure;
mod middlebox;
mod packet_matching;
pub mod packet_trace;
mod packet_tracing;
mod parallel_run;
pub mod partition;
mod partition_record_merge;
mod partition_split;
mod prefetch_hints;
mod processing_cost;
mod route_table;
mod routing_spec;
mod run_builder;
mod run_interface;
mod run_result;
mod scheduled_change;
pub mod shortest_paths;
pub mod simulation_spec;
mod size_distribution;
mod spec_error;
mod spec_validation;
pub mod verify;

pub use components::sstp_segment_delays::SegmentTimes;
pub use event_loop::Status;
pub use run_interface::Simulation;
pub use run_result::{
    Conservation, Curves, FlowCounts, FlowResult, GroupResult, LinkResult, MediaResult, Quantity,
    QueueResult, Ratios, Round, RunResult, SHARES, SegmentDelay, Series, SizeClass, StateVariable,
    StateVisit, Summary, Transfer, Transfers, TwoLevelCounts,
};
pub use spec_error::SpecError;

/// A PDU of any protocol, with lengths in place of bytes.
pub type Pdu = thalweg_catalog::AnyPdu<thalweg_proto::payload::Length>;
