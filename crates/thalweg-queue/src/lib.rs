//! Packet treatment by routers and wires: queue disciplines, loss and impairment processes, capacity traces.
//!
//! This crate does not know packet contents. A queue holds [`Entry`]s: small values that identify a packet kept by its
//! owner. The simulator and live emulation share this code.
//!
//! - [`Discipline`] is the interface of a queue, and [`Configure`] that of its configuration. [`Any`] is any discipline
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
//! Every random draw comes from a caller-supplied [`Stream`](thalweg_proto::random::Stream). Every description has a
//! `check` that reports its first error. Unchecked descriptions may behave oddly, but never cause a panic.

#[macro_use]
mod discipline_list;
mod ack_filter;
mod aggregation;
mod any_discipline;
mod bernoulli_trials;
mod bit_round_robin;
mod cake;
mod capacity_clock;
mod capacity_trace;
mod cobalt;
mod codel;
mod configure;
mod discipline;
mod discipline_spec;
mod drr;
mod dualpi2;
mod ecn_treatment;
mod external;
mod fair_queueing;
mod fcfs;
pub mod feedback;
mod flow_hash;
mod flow_queues;
mod fq_codel;
mod hrr;
mod impairment;
mod impairment_spec;
mod link_idle;
mod loss;
mod mahimahi;
mod occupancy;
mod overflow;
mod periodic_variation;
mod pie;
mod policer;
mod priority;
pub mod random_delay;
mod random_drop;
mod red;
mod sfq;
mod start_delay;
mod step;
mod synthetic_trace;
#[cfg(test)]
mod testing;
mod timestamped_fifo;
mod token_bucket;
mod virtual_clock;
mod weights;

pub use cake::*;
pub use codel::*;
pub use drr::*;
pub use dualpi2::*;
pub use fair_queueing::*;
pub use fcfs::*;
pub use fq_codel::*;
pub use hrr::*;
pub use pie::*;
pub use policer::*;
pub use priority::*;
pub use random_drop::*;
pub use red::*;
pub use sfq::*;
pub use step::*;
pub use virtual_clock::*;

pub use ack_filter::AckFilter;
pub use aggregation::{Aggregation, AggregationSpec};
pub use any_discipline::Any;
pub use capacity_clock::CapacityClock;
pub use capacity_trace::{CapacityError, CapacityTrace};
pub use configure::{Configure, Streams, Traits};
pub use discipline::{Discipline, DropReason, Dropped, Entry, Limit};
pub use discipline_spec::DisciplineSpec;
pub use ecn_treatment::EcnTreatment;
pub use external::{ContractViolation, ViolationKind};
pub use impairment::{Impairment, ImpairmentOutcome};
pub use impairment_spec::{ImpairmentSpec, LossSpec, ReorderSpec, SpecError};
pub use link_idle::LinkIdle;
pub use loss::LossProcess;
pub use mahimahi::{TraceError, TraceWriteError};
pub use overflow::Overflow;
pub use periodic_variation::{PeriodicVariationSpec, VariationPeriod};
pub use start_delay::{SleepSpec, StartDelay, StartDelaySpec};
pub use synthetic_trace::SynthesisError;
pub use timestamped_fifo::TimestampedQueue;
pub use token_bucket::TokenBucketSpec;
pub use weights::Weights;
