//! Reads qlog files with Cloudflare's crate `qlog`, whose types follow the drafts. Fails on anything it does not parse:
//! an event or frame with an unknown name, a value of another type, or a member missing from its types. Also checks the
//! requirements of qvis beyond the drafts (`qvis.rs`). Prints the number of events by name.

mod qvis;

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let mut failed = files.is_empty();
    for file in files {
        match read(&file) {
            Ok(counts) => println!("{file}: {counts:?}"),
            Err(error) => {
                eprintln!("{file}: {error}");
                failed = true;
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn read(file: &str) -> Result<BTreeMap<String, usize>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let qlog: qlog::Qlog = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if qlog.qlog_version != qlog::QLOG_VERSION {
        return Err(format!("version {}", qlog.qlog_version));
    }
    let ours: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    // Parsing drops members missing from the types, except in events, which store them separately.
    if let Some(event) =
        qlog.traces.iter().flat_map(|trace| &trace.events).find(|event| !event.ex_data.is_empty())
    {
        return Err(format!("unknown members of an event: {:?}", event.ex_data));
    }
    let theirs = serde_json::to_value(&qlog).map_err(|error| error.to_string())?;
    same(&ours, &theirs, "")?;
    let mut counts = BTreeMap::new();
    qvis::opens(&text, &ours)?;
    for event in qvis::events(&ours) {
        *counts.entry(event["name"].as_str().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    Ok(counts)
}

/// Compares two values; numbers are equal if they are equal as 32-bit floats, the crate's type for times.
fn same(ours: &Value, theirs: &Value, place: &str) -> Result<(), String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            // The drafts let common fields have others (`* text => any`), which the crate drops.
            let is_own = |name: &str| place.ends_with("/common_fields") && name.starts_with("thalweg_");
            let mut known = a.iter().filter(|(name, _)| !is_own(name));
            if let Some((name, _)) = known.clone().find(|(name, _)| !b.contains_key(*name)) {
                return Err(format!("{place}/{name} is not in the schema"));
            }
            if let Some(name) = b.keys().find(|name| !a.contains_key(*name)) {
                return Err(format!("{place}/{name} is missing"));
            }
            known.try_for_each(|(name, value)| same(value, &b[name], &format!("{place}/{name}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.try_for_each(|(at, (a, b))| same(a, b, &format!("{place}/{at}")))
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) if a == b => Ok(()),
            _ if a.as_f64().map(|a| a as f32) == b.as_f64().map(|b| b as f32) => Ok(()),
            _ => Err(format!("{place}: {a} became {b}")),
        },
        (a, b) if a == b => Ok(()),
        (a, b) => Err(format!("{place}: {a} became {b}")),
    }
}
