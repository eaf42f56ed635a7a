//! Execution of one run, with all failures caught.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_report::parallel_batch::{self, Job};
use thalweg_report::results::Run;
use thalweg_sim::simulation_spec::Spec;

/// Outcome of a simulation.
#[derive(Clone, Debug)]
pub enum SimulationOutcome {
    /// Completed run.
    Made(Box<Run>),
    /// Stopped early.
    Stopped,
    /// Failure, with its reason.
    Failed(String),
}

/// Simulates on this thread, until the end or until `stop` is set. A panic is reported as a failure.
pub fn simulate_catching_panics(spec: &Arc<Spec>, seed: u64, stop: &Arc<AtomicBool>) -> SimulationOutcome {
    let job = Job { spec: Arc::clone(spec), seed, events: None, threads: 1 };
    match catch_unwind(AssertUnwindSafe(|| parallel_batch::run_single_job(&job, stop))) {
        Ok(Ok((result, run))) if result.is_complete => SimulationOutcome::Made(Box::new(run)),
        Ok(Ok(_)) => SimulationOutcome::Stopped,
        Ok(Err(error)) => SimulationOutcome::Failed(format!("it cannot be simulated: {error}")),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            SimulationOutcome::Failed(format!("it panicked, which is a bug in the simulator: {text}"))
        }
    }
}
