//! Reads qlog files with Cloudflare's crate `qlog`, whose types follow the drafts, and fails if it does not understand
//! something: an event or frame of an unknown name, a value of another type, or a member that its types do not have.
//! Also checks what qvis asks for beyond the drafts (`qvis.rs`). Prints how many events of each name there are.

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
    // Whatever the types do not have is lost on the way through them; an event keeps it aside.
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

/// Compares; numbers are the same if 32 bits of floating point cannot tell them apart, which is how the crate stores
/// times.
fn same(ours: &Value, theirs: &Value, place: &str) -> Result<(), String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            if let Some(name) = a.keys().find(|name| !b.contains_key(*name)) {
                return Err(format!("{place}/{name} is not in the schema"));
            }
            if let Some(name) = b.keys().find(|name| !a.contains_key(*name)) {
                return Err(format!("{place}/{name} is missing"));
            }
            a.iter().try_for_each(|(name, value)| same(value, &b[name], &format!("{place}/{name}")))
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
