//! The end where the runs of a batch are made.

use crate::parcel::{self, Answer};
use crate::simulate::{Simulated, simulate};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg_scenario::{Diagnostic, Loaded};

/// Makes the runs of a batch, one after the other, on this thread: the bytes that go back. `load` reads a scenario; `memory` is what there
/// is for one run, where it is known.
///
/// # Errors
///
/// It is no batch, or `stop` was set.
pub fn work(
    batch: &[u8],
    load: impl Fn(&str) -> Result<Loaded, Vec<Diagnostic>>,
    memory: Option<u64>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for part in parcel::unpack(batch)? {
        let loaded = load(&part.scenario).map_err(|found| told(&found));
        let spec = loaded.and_then(|loaded| {
            let lacks = memory.and_then(|memory| loaded.check_memory(memory));
            lacks.map_or(Ok(Arc::new(loaded.scenario.spec)), |lacks| Err(told(&[lacks])))
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
            parcel::add(&answer, &mut bytes);
        }
    }
    Ok(bytes)
}

fn told(found: &[Diagnostic]) -> String {
    found.iter().take(3).map(|one| one.render().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
