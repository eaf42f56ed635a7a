//! Encoding of batches of runs as bytes, and of the answers.
//!
//! A batch is JSON: a list of fully expanded scenarios, each with seeds. The answer has a line for each run, in the
//! order of the batch: `+` and the run in the store's format, or `-` and the reason for its failure as a JSON string.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Run to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number that identifies the task to the caller.
    pub number: usize,
    /// Expanded scenario.
    pub scenario: Arc<str>,
    /// Seed, replacing the scenario's.
    pub seed: u64,
}

/// Outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Bytes of the run.
    Completed(Vec<u8>),
    /// Reason for the failure.
    Failed(String),
}

/// Runs of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub scenario: String,
    pub seeds: Vec<u64>,
}

/// Encodes a batch.
pub fn pack_tasks(tasks: &[Task]) -> Vec<u8> {
    let mut parts: Vec<Part> = Vec::new();
    for task in tasks {
        match parts.last_mut().filter(|part| *part.scenario == *task.scenario) {
            Some(part) => part.seeds.push(task.seed),
            None => parts.push(Part { scenario: task.scenario.to_string(), seeds: vec![task.seed] }),
        }
    }
    // Cannot fail: plain data.
    serde_json::to_vec(&parts).unwrap_or_default()
}

/// Decodes a batch.
///
/// # Errors
///
/// The bytes are not a valid batch.
pub fn unpack_tasks(bytes: &[u8]) -> Result<Vec<Part>, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("this is not a batch of runs: {error}"))
}

/// Appends the outcome of a run to an answer.
pub fn append_response(answer: &Response, bytes: &mut Vec<u8>) {
    match answer {
        Response::Completed(run) => {
            bytes.push(b'+');
            bytes.extend_from_slice(run);
        }
        Response::Failed(why) => {
            bytes.push(b'-');
            bytes.extend_from_slice(&serde_json::to_vec(why).unwrap_or_default());
        }
    }
    bytes.push(b'\n');
}

/// Decodes the answers.
///
/// # Errors
///
/// The bytes are invalid, or the number of answers is not `expected`.
pub fn decode_responses(bytes: &[u8], expected: usize) -> Result<Vec<Response>, String> {
    let answer = |line: &[u8]| match line.split_first() {
        Some((b'+', run)) => Ok(Response::Completed(run.to_vec())),
        Some((b'-', why)) => {
            let why = serde_json::from_slice(why);
            why.map(Response::Failed).map_err(|error| format!("a reason that is not text: {error}"))
        }
        _ => Err("a line that is neither a run nor a reason".to_owned()),
    };
    let lines = bytes.strip_suffix(b"\n").map(|bytes| bytes.split(|byte| *byte == b'\n'));
    let found: Vec<Response> = lines.into_iter().flatten().map(answer).collect::<Result<_, _>>()?;
    match found.len() == expected {
        true => Ok(found),
        false => Err(format!("{} results of {expected} runs", found.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_answers_read_back() {
        let (one, two): (Arc<str>, Arc<str>) = ("a = \"x\"\n".into(), "b".into());
        let task = |scenario: &Arc<str>, seed| Task { number: 0, scenario: Arc::clone(scenario), seed };
        let bytes = pack_tasks(&[task(&one, 1), task(&one, 2), task(&two, u64::MAX)]);
        let parts = unpack_tasks(&bytes).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].scenario.as_str(), parts[0].seeds.as_slice()), (&*one, &[1, 2][..]));
        assert_eq!(parts[1].seeds, [u64::MAX]);
        assert!(unpack_tasks(b"{}").is_err());

        let sent = [Response::Completed(b"{\"seed\":1}".to_vec()), Response::Failed("two\nlines".to_owned())];
        let mut bytes = Vec::new();
        sent.iter().for_each(|answer| append_response(answer, &mut bytes));
        assert_eq!(decode_responses(&bytes, 2).unwrap(), sent);
        assert_eq!(decode_responses(b"", 0).unwrap(), []);
        for (wrong, expected) in [(bytes.as_slice(), 3), (b"+{}", 1), (b"x\n", 1), (b"-x\n", 1), (b"", 1)] {
            assert!(decode_responses(wrong, expected).is_err(), "{wrong:?}");
        }
    }
}
