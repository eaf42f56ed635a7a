//! Worker side of remote execution: executes the runs of a batch.

use crate::batch_codec::{self, Answer};
use crate::simulate::{Simulated, simulate};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_scenario::{Diagnostic, Loaded};

/// Executes the runs of a batch sequentially on this thread, and returns the answer. `load` reads a scenario; `memory`
/// is the memory available to one run, if known.
///
/// # Errors
///
/// The batch is invalid, or `stop` was set.
pub fn work(
    batch: &[u8],
    load: impl Fn(&str) -> Result<Loaded, Vec<Diagnostic>>,
    memory: Option<u64>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for part in batch_codec::unpack(batch)? {
        let loaded = load(&part.scenario).map_err(|found| rendered(&found));
        let spec = loaded.and_then(|loaded| {
            let lacks = memory.and_then(|memory| loaded.check_memory(memory));
            lacks.map_or(Ok(Arc::new(loaded.scenario.spec)), |lacks| Err(rendered(&[lacks])))
        });
        for seed in part.seeds {
            let answer = match &spec {
                Err(why) => Answer::Failed(why.clone()),
                Ok(spec) => match simulate(spec, seed, stop) {
                    Simulated::Made(run) => {
                        Answer::Made(serde_json::to_vec(&run).map_err(|error| error.to_string())?)
                    }
                    Simulated::Failed(why) => Answer::Failed(why),
                    Simulated::Stopped => return Err("it was stopped".to_owned()),
                },
            };
            batch_codec::add(&answer, &mut bytes);
        }
    }
    Ok(bytes)
}

fn rendered(found: &[Diagnostic]) -> String {
    found.iter().take(3).map(|one| one.render().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
