//! Worker side of remote execution: executes the runs of a batch.

use crate::batch_codec::{self, Response};
use crate::run_catching_failures::{SimulationOutcome, simulate_catching_panics};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_scenario::{Diagnostic, LoadedScenario};

/// Executes the runs of a batch sequentially on this thread, and returns the answer. `load` reads a scenario; `memory`
/// is the memory available to one run, if known.
///
/// # Errors
///
/// The batch is invalid, or `stop` was set.
pub fn run_batch(
    batch: &[u8],
    load: impl Fn(&str) -> Result<LoadedScenario, Vec<Diagnostic>>,
    memory: Option<u64>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for job in batch_codec::unpack_tasks(batch)? {
        let loaded = load(&job.scenario).map_err(|found| render_diagnostics(&found));
        let spec = loaded.and_then(|loaded| {
            let memory_error = memory.and_then(|memory| loaded.check_memory(memory));
            memory_error.map_or(Ok(Arc::new(loaded.scenario.spec)), |memory_error| {
                Err(render_diagnostics(&[memory_error]))
            })
        });
        for seed in job.seeds {
            let answer = match &spec {
                Err(why) => Response::Failed(why.clone()),
                Ok(spec) => match simulate_catching_panics(spec, seed, stop) {
                    SimulationOutcome::Made(run) => {
                        Response::Completed(serde_json::to_vec(&run).map_err(|error| error.to_string())?)
                    }
                    SimulationOutcome::Failed(why) => Response::Failed(why),
                    SimulationOutcome::Stopped => return Err("it was stopped".to_owned()),
                },
            };
            batch_codec::append_response(&answer, &mut bytes);
        }
    }
    Ok(bytes)
}

fn render_diagnostics(found: &[Diagnostic]) -> String {
    found.iter().take(3).map(|one| one.render().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
