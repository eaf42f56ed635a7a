//! Batches of runs as bytes: what goes to where they are made, and what comes back.
//!
//! A batch is JSON: a list of scenarios, written out in full, each with seeds. What comes back has a line for each run, in the order of the
//! batch: `+` and the run as it is kept, or `-` and the reason, as a text of JSON, for which there is none.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A run that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// A number by which who asks knows it again.
    pub number: usize,
    /// The scenario, with everything written out.
    pub scenario: Arc<str>,
    /// The seed, in place of the scenario's.
    pub seed: u64,
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The bytes of the run.
    Made(Vec<u8>),
    /// The reason for which there is none.
    Failed(String),
}

/// Runs of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub scenario: String,
    pub seeds: Vec<u64>,
}

/// The bytes of a batch.
pub fn pack(tasks: &[Task]) -> Vec<u8> {
    let mut parts: Vec<Part> = Vec::new();
    for task in tasks {
        match parts.last_mut().filter(|part| *part.scenario == *task.scenario) {
            Some(part) => part.seeds.push(task.seed),
            None => parts.push(Part { scenario: task.scenario.to_string(), seeds: vec![task.seed] }),
        }
    }
    // Plain data.
    serde_json::to_vec(&parts).unwrap_or_default()
}

/// The batch of these bytes.
///
/// # Errors
///
/// They are none.
pub fn unpack(bytes: &[u8]) -> Result<Vec<Part>, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("this is no batch of runs: {error}"))
}

/// Adds what came of a run to what goes back.
pub fn add(answer: &Answer, bytes: &mut Vec<u8>) {
    match answer {
        Answer::Made(run) => {
            bytes.push(b'+');
            bytes.extend_from_slice(run);
        }
        Answer::Failed(why) => {
            bytes.push(b'-');
            bytes.extend_from_slice(&serde_json::to_vec(why).unwrap_or_default());
        }
    }
    bytes.push(b'\n');
}

/// The answers of these bytes.
///
/// # Errors
///
/// They are none, or not as many as were asked for.
pub fn answers(bytes: &[u8], expected: usize) -> Result<Vec<Answer>, String> {
    let answer = |line: &[u8]| match line.split_first() {
        Some((b'+', run)) => Ok(Answer::Made(run.to_vec())),
        Some((b'-', why)) => {
            let why = serde_json::from_slice(why);
            why.map(Answer::Failed).map_err(|error| format!("a reason that is no text: {error}"))
        }
        _ => Err("a line that is neither a run nor a reason".to_owned()),
    };
    let lines = bytes.strip_suffix(b"\n").map(|bytes| bytes.split(|byte| *byte == b'\n'));
    let found: Vec<Answer> = lines.into_iter().flatten().map(answer).collect::<Result<_, _>>()?;
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
        let bytes = pack(&[task(&one, 1), task(&one, 2), task(&two, u64::MAX)]);
        let parts = unpack(&bytes).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].scenario.as_str(), parts[0].seeds.as_slice()), (&*one, &[1, 2][..]));
        assert_eq!(parts[1].seeds, [u64::MAX]);
        assert!(unpack(b"{}").is_err());

        let sent = [Answer::Made(b"{\"seed\":1}".to_vec()), Answer::Failed("two\nlines".to_owned())];
        let mut bytes = Vec::new();
        sent.iter().for_each(|answer| add(answer, &mut bytes));
        assert_eq!(answers(&bytes, 2).unwrap(), sent);
        assert_eq!(answers(b"", 0).unwrap(), []);
        for (wrong, expected) in [(bytes.as_slice(), 3), (b"+{}", 1), (b"x\n", 1), (b"-x\n", 1), (b"", 1)] {
            assert!(answers(wrong, expected).is_err(), "{wrong:?}");
        }
    }
}
