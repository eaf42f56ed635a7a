//! Packet treatment by routers and wires: queue disciplines, loss and impairment processes, capacity traces.
//!
//! This crate does not know packet contents. A queue holds [`Entry`]s: small values that identify a packet kept by its
//! owner. The simulator and live emulation share this code.
//!
//! - [`Discipline`] is the interface of a queue, and [`DisciplineConfig`] that of its configuration. [`Any`] is any discipline
//!   of this or another crate, selected by a [`DisciplineSpec`]: [`Fcfs`], [`RandomDrop`]; per flow [`FairQueueing`],
//!   [`Sfq`], [`Drr`], [`VirtualClock`], [`Hrr`]; by priority [`Priority`]; with active queue management [`Red`], [`CoDel`], [`Pie`]; with both
//!   [`FqCoDel`] and [`Cake`]; for L4S [`DualPi2`]; rate-limited by a [`Policer`].
//! - [`feedback`]: congestion feedback from routers to sources.
//! - [`Impairment`]: loss (by a [`LossProcess`]), duplication, corruption and reordering on a wire, configured by an
//!   [`ImpairmentSpec`].
//! - [`CapacityTrace`]: a variable-rate link in mahimahi's format, replayed by a [`CapacityClock`]. [`StartDelay`]:
//!   service-start delays of shapers and sleeping radios. [`PeriodicVariationSpec`]: periodic variation of rate and delay.
//! - [`random_delay`]: random delays of a wire. [`Aggregation`]: delivery in batches. [`EcnTreatment`]: treatment of the ECN
//!   field.
//!
//! Every random draw comes from a caller-supplied [`RandomStream`](thalweg_proto::random::RandomStream). Every description has a
//! `check` that reports its first error. Unchecked descriptions may behave oddly, but never cause a panic.

#[macro_use]
mod discipline_list;
mod ack_filter;
mod any_discipline;
mod bernoulli_trials;
mod bit_round_robin;
mod cake;
mod capacity_trace;
mod cobalt;
mod codel;
mod discipline_config;
mod discipline_interface;
mod discipline_spec;
mod drr;
mod dualpi2;
mod external_discipline_guard;
mod fair_queueing;
mod fcfs;
pub mod feedback;
mod flow_hash_buckets;
mod flow_queues;
mod flow_weights;
mod fq_codel;
mod frame_aggregation;
mod hrr;
mod impairment_spec;
mod link_ecn_treatment;
mod link_idle_time;
mod loss_process;
mod mahimahi_trace;
mod periodic_variation;
mod pie;
mod queue_occupancy;
pub mod random_delay;
mod random_drop;
mod red;
mod service_start_delay;
mod sfq;
mod shared_buffer_drop;
mod step_marking;
mod strict_priority;
mod synthetic_capacity_trace;
#[cfg(test)]
mod test_helpers;
mod timestamped_fifo;
mod token_bucket;
mod token_bucket_policer;
mod trace_transmitter;
mod virtual_clock;
mod wire_impairment;

pub use cake::*;
pub use codel::*;
pub use drr::*;
pub use dualpi2::*;
pub use fair_queueing::*;
pub use fcfs::*;
pub use fq_codel::*;
pub use hrr::*;
pub use pie::*;
pub use random_drop::*;
pub use red::*;
pub use sfq::*;
pub use step_marking::*;
pub use strict_priority::*;
pub use token_bucket_policer::*;
pub use virtual_clock::*;

pub use ack_filter::AckFilter;
pub use any_discipline::Any;
pub use capacity_trace::{CapacityError, CapacityTrace};
pub use discipline_config::{DisciplineConfig, RandomStreams, Traits};
pub use discipline_interface::{Discipline, DropReason, DroppedPacket, Entry, Limit};
pub use discipline_spec::DisciplineSpec;
pub use external_discipline_guard::{ContractViolation, ViolationKind};
pub use flow_weights::Weights;
pub use frame_aggregation::{Aggregation, AggregationSpec};
pub use impairment_spec::{ImpairmentSpec, LossSpec, ReorderSpec, SpecError};
pub use link_ecn_treatment::EcnTreatment;
pub use link_idle_time::LinkIdle;
pub use loss_process::LossProcess;
pub use mahimahi_trace::{TraceError, TraceWriteError};
pub use periodic_variation::{PeriodicVariationSpec, VariationPeriod};
pub use service_start_delay::{SleepSpec, StartDelay, StartDelaySpec};
pub use shared_buffer_drop::SharedBufferDrop;
pub use synthetic_capacity_trace::SynthesisError;
pub use timestamped_fifo::TimestampedQueue;
pub use token_bucket::TokenBucketSpec;
pub use trace_transmitter::CapacityClock;
pub use wire_impairment::{Impairment, ImpairmentOutcome};
