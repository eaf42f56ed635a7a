//! What a router or a wire does to packets: queue disciplines, loss and impairment processes, capacity traces.
//!
//! Nothing here knows what a packet is: a queue holds [`Entry`]s, small values that name a packet which its owner
//! keeps. The simulator and live emulation use the same code.
//!
//! - [`Discipline`]: the contract of a queue; [`Fcfs`] and [`RandomDrop`] keep it, and [`Any`] is one of them as a
//!   [`DisciplineSpec`] chooses.
//! - [`feedback`]: what routers tell sources of the congestion of a queue.
//! - [`Impairment`]: loss (by a [`LossProcess`]), duplication, damage and reordering on a wire, as an
//!   [`ImpairmentSpec`] says.
//! - [`CapacityTrace`]: a link whose rate varies, in mahimahi's format; a [`CapacityClock`] plays it.
//!
//! Every random draw comes from a [`Stream`](thalweg_proto::random::Stream) that is handed in, and every description
//! has a `check` that tells what is wrong with it. What no check has seen may act oddly, but never panics.

mod any;
mod capacity;
mod clock;
mod discipline;
mod fcfs;
pub mod feedback;
mod impairment;
mod loss;
mod mahimahi;
mod random_drop;
mod spec;
mod synthesise;
mod trials;

pub use any::Any;
pub use capacity::{CapacityError, CapacityTrace};
pub use clock::CapacityClock;
pub use discipline::{Discipline, DropReason, Dropped, Entry, Limit};
pub use fcfs::Fcfs;
pub use impairment::{Fate, Impairment};
pub use loss::LossProcess;
pub use mahimahi::{TraceError, TraceWriteError};
pub use random_drop::RandomDrop;
pub use spec::{DisciplineSpec, ImpairmentSpec, LossSpec, ReorderSpec, SpecError};
pub use synthesise::SynthesisError;
