//! `thalweg rerun`: reproduces stored results.

use crate::batch_execution::{Execution, Scheme};
use crate::console_output::{CommandResult, Console, Error};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::simulation_arguments::RerunArguments;
use crate::version::version;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_report::output::{Folder, Stored, format_count};
use thalweg_report::results::{Body, Document, Header, MARGIN, Run};

/// Repeats the runs of a folder, each up to its last event, and compares every number.
pub fn rerun(arguments: &RerunArguments, console: &Console) -> CommandResult {
    let stored = Stored::open(&arguments.folder)?;
    let document = &stored.document;
    if document.runs().any(|(_, run)| run.is_live()) {
        return Err(Error::Usage(
            "these are results of real packets and cannot be repeated exactly: `thalweg shell` runs the scenario again".to_owned(),
        ));
    }
    if document.tool.version != version() {
        console.inform(&format!(
            "note: the results are of version {}, this is {}; results of other versions may differ",
            document.tool.version,
            version()
        ));
    }
    let schemes = stored_schemes(&arguments.folder, &stored, &console.registry)?;
    let (duration, warmup) = (schemes[0].spec.duration, schemes[0].spec.warmup);
    let execution = Execution {
        header: Header {
            tool_version: document.tool.version.clone(),
            scenario: document.scenario.clone(),
            duration,
            warmup,
            seeds: document.seeds.clone(),
            deterministic: document.deterministic,
            margin: match &document.body {
                Body::Comparison { margin, .. } => *margin,
                Body::Run { .. } | Body::Replications { .. } => MARGIN,
            },
            unlike_defaults: document.unlike_defaults.clone(),
            contention: document.contention.clone(),
            compared: document.compared.as_ref().map(|of| of.groups.clone()).unwrap_or_default(),
        },
        // The number of stored seeds is the minimum: all are repeated before the interval is checked.
        until: document.until.as_ref().and_then(|until| Some((until.goal()?, document.seeds.len()))),
        events: Some(event_counts(document)),
        schemes,
        jobs: arguments.jobs,
        threads: None,
        captures: None,
        qlogs: None,
        sequences: None,
        lines: None,
        results: None,
        verify: false,
        folder: None,
        keep_series: false,
        replay: None,
        stop: stop_flag_of_caller_or_signals(console)?,
    };
    let (again, _, _) = execution.run(console)?;
    let runs = format_count(again.runs().count() as u64, "run");
    let different = first_difference(document, &again)?;
    match different {
        None => console.print(&format!("Identical: {runs}, every number the same\n")),
        Some(difference) => Err(Error::Failed(format!("the results differ: {difference}"))),
    }
}

/// Returns the schemes of a folder.
fn stored_schemes(folder: &Path, stored: &Stored, registry: &Arc<Registry>) -> Result<Vec<Scheme>, Error> {
    let load = |path: &Path| thalweg_scenario::load_with(path, &[], registry).map_err(Error::Scenario);
    match &stored.document.body {
        Body::Run { .. } | Body::Replications { .. } => Ok(vec![Scheme::new(None, &load(&stored.scenario)?)]),
        Body::Comparison { schemes, .. } => {
            let path = |scheme: &str| folder.join(Folder::scheme_file(scheme));
            let scheme = |scheme: &str| Ok(Scheme::new(Some(scheme), &load(&path(scheme))?));
            let schemes: Result<Vec<Scheme>, Error> = schemes.iter().map(|of| scheme(&of.scheme)).collect();
            schemes.and_then(|schemes| match schemes.is_empty() {
                true => Err(Error::Usage("the results compare no schemes".to_owned())),
                false => Ok(schemes),
            })
        }
    }
}

/// Returns the number of events of each run, in the order of execution: by seed, then scheme. Zero for runs that did
/// not start.
fn event_counts(document: &Document) -> Vec<u64> {
    let schemes: Vec<&[Run]> = match &document.body {
        Body::Run { runs } | Body::Replications { runs, .. } => vec![runs],
        Body::Comparison { schemes, .. } => schemes.iter().map(|of| of.runs.as_slice()).collect(),
    };
    let of_seed = |seed: &u64| {
        let seed = *seed;
        let find = move |runs: &&[Run]| runs.iter().find(|run| run.seed == seed).map_or(0, |run| run.events);
        schemes.iter().map(find).collect::<Vec<u64>>()
    };
    document.seeds.iter().flat_map(of_seed).collect()
}

/// Returns the first difference of two documents, except for runs that did not start in one of them.
fn first_difference(stored: &Document, again: &Document) -> Result<Option<String>, Error> {
    for ((scheme, was), (_, is)) in stored.runs().zip(again.runs()) {
        // The run was complete and now stops earlier: report this, as it explains all other differences.
        if was.complete && !is.complete {
            let scheme = scheme.map(|name| format!("{name}, ")).unwrap_or_default();
            return Ok(Some(format!(
                "{scheme}seed {}: the stored run ended after {} events, and this one has not ended after as many; the \
                 scenario in the folder was changed, or this is another version",
                was.seed, was.events
            )));
        }
        let (was_value, is_value) = (to_json_value(was)?, to_json_value(is)?);
        if let Some(difference) = first_json_difference("", &was_value, &is_value) {
            let scheme = scheme.map(|name| format!("{name}, ")).unwrap_or_default();
            return Ok(Some(format!("{scheme}seed {}: {difference}", was.seed)));
        }
    }
    if !stored.complete {
        return Ok(None);
    }
    Ok(first_json_difference("", &to_json_value(stored)?, &to_json_value(again)?))
}

fn to_json_value(of: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(of).map_err(|error| Error::Failed(error.to_string()))
}

/// Returns the path of the first different value, with both values.
fn first_json_difference(path: &str, was: &Value, is: &Value) -> Option<String> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (was, is) {
        (Value::Object(was), Value::Object(is)) if was.len() == is.len() => {
            was.iter().find_map(|(key, value)| {
                first_json_difference(&at(key), value, is.get(key).unwrap_or(&Value::Null))
            })
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            let pairs = was.iter().zip(is).enumerate();
            pairs
                .into_iter()
                .find_map(|(number, (was, is))| first_json_difference(&at(&number.to_string()), was, is))
        }
        _ => (was != is).then(|| format!("{path} was {was}, is {is}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let was = json!({"a": [1, {"b": 2.5}], "c": null});
        assert_eq!(first_json_difference("", &was, &was), None);
        let is = json!({"a": [1, {"b": 2.0}], "c": null});
        assert_eq!(first_json_difference("", &was, &is).as_deref(), Some("a.1.b was 2.5, is 2.0"));
    }
}
