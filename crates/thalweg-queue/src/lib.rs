//! The treatment of packets by a router or a wire: queue disciplines, loss and impairment processes, capacity traces.
//!
//! Nothing here knows what a packet is: a queue holds [`Entry`]s, small values that name a packet which its owner
//! keeps. The simulator and live emulation use the same code.
//!
//! - [`Discipline`]: the contract of a queue, and [`Configure`] that of its configuration. [`Any`] is one of those that
//!   keep it, of this crate or another, as a [`DisciplineSpec`] chooses:
//!   [`Fcfs`], [`RandomDrop`]; per flow [`FairQueueing`], [`Sfq`], [`Drr`]; by priority [`Priority`]; with active queue
//!   management [`Red`], [`CoDel`], [`Pie`]; and with both [`FqCoDel`]; for L4S [`DualPi2`]; held to a rate by a
//!   [`Policer`].
//! - [`feedback`]: what routers tell sources of the congestion of a queue.
//! - [`Impairment`]: loss (by a [`LossProcess`]), duplication, damage and reordering on a wire, as an
//!   [`ImpairmentSpec`] says.
//! - [`CapacityTrace`]: a link whose rate varies, in mahimahi's format; a [`CapacityClock`] plays it. [`Onset`]: shapers, and radios
//!   that sleep. [`RhythmSpec`]: rates and delays that change every so often.
//! - [`delay`]: random delays of a wire; [`Aggregation`]: one that carries packets in batches; [`EcnTreatment`]: what becomes of ECN.
//!
//! Every random draw comes from a [`Stream`](thalweg_proto::random::Stream) that is handed in, and every description
//! has a `check` that tells what is wrong with it. What no check has seen may act oddly, but never panics.

#[macro_use]
mod list;
mod ack_filter;
mod aggregation;
mod any;
mod bucket;
mod capacity;
mod clock;
mod codel;
mod configure;
pub mod delay;
mod discipline;
mod drr;
mod dualpi2;
mod ecn_treatment;
mod fair_queueing;
mod fcfs;
pub mod feedback;
mod fq_codel;
mod guarded;
mod impairment;
mod lanes;
mod loss;
mod mahimahi;
mod onset;
mod overflow;
mod pie;
mod policer;
mod priority;
mod random_drop;
mod red;
mod rhythm;
mod room;
mod rounds;
mod sfq;
mod spec;
mod stamped;
mod step;
mod synthesise;
#[cfg(test)]
mod testing;
mod tokens;
mod trials;
mod weights;

pub use codel::*;
pub use drr::*;
pub use dualpi2::*;
pub use fair_queueing::*;
pub use fcfs::*;
pub use fq_codel::*;
pub use pie::*;
pub use policer::*;
pub use priority::*;
pub use random_drop::*;
pub use red::*;
pub use sfq::*;
pub use step::*;

pub use ack_filter::AckFilter;
pub use aggregation::{Aggregation, AggregationSpec};
pub use any::Any;
pub use capacity::{CapacityError, CapacityTrace};
pub use clock::CapacityClock;
pub use configure::{Configure, DisciplineSpec, Streams, Traits};
pub use discipline::{Discipline, DropReason, Dropped, Entry, Limit};
pub use ecn_treatment::EcnTreatment;
pub use guarded::{Breach, BreachKind};
pub use impairment::{Fate, Impairment};
pub use loss::LossProcess;
pub use mahimahi::{TraceError, TraceWriteError};
pub use onset::{Onset, OnsetSpec, SleepSpec};
pub use overflow::Overflow;
pub use rhythm::{Beat, RhythmSpec};
pub use spec::{ImpairmentSpec, LossSpec, ReorderSpec, SpecError};
pub use synthesise::SynthesisError;
pub use tokens::TokenBucketSpec;
pub use weights::Weights;
