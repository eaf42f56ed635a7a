//! One run, whatever becomes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_report::batch::{self, Job};
use thalweg_report::results::Run;
use thalweg_sim::spec::Spec;

/// The outcome of a simulation.
#[derive(Clone, Debug)]
pub enum Simulated {
    /// It ran to its end.
    Made(Box<Run>),
    /// It was stopped.
    Stopped,
    /// It has no results, for this reason.
    Failed(String),
}

/// Simulates on this thread, until the end or until `stop` is set. A panic is a failure like any other.
pub fn simulate(spec: &Arc<Spec>, seed: u64, stop: &Arc<AtomicBool>) -> Simulated {
    let job = Job { spec: Arc::clone(spec), seed, events: None, threads: 1 };
    match catch_unwind(AssertUnwindSafe(|| batch::one(&job, stop))) {
        Ok(Ok((result, run))) if result.complete => Simulated::Made(Box::new(run)),
        Ok(Ok(_)) => Simulated::Stopped,
        Ok(Err(error)) => Simulated::Failed(format!("it cannot be simulated: {error}")),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
            Simulated::Failed(format!("it panicked, which is a fault of the simulator: {text}"))
        }
    }
}
