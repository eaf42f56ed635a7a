//! What a router or a wire does to packets: queue disciplines, loss and impairment processes, capacity traces.
//!
//! Nothing here knows what a packet is: a queue holds [`Entry`]s, small values that name a packet which its owner
//! keeps. The simulator and live emulation use the same code.

mod any;
mod capacity;
mod clock;
mod discipline;
mod fcfs;
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
pub use loss::LossProcess;
pub use mahimahi::{TraceError, TraceWriteError};
pub use random_drop::RandomDrop;
pub use spec::{DisciplineSpec, ImpairmentSpec, LossSpec, ReorderSpec, SpecError};
pub use synthesise::SynthesisError;
