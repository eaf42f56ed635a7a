//! The states of congestion controllers in the document.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_sim as sim;

/// A stay of a flow's congestion controller in one of its states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateVisit {
    /// The state's name.
    pub state: String,
    /// The time at which it was first seen, in seconds.
    pub from_s: f64,
    /// The time at which another one was seen, or the end.
    pub until_s: f64,
    /// By name the quantities that the sender and its controller knew.
    pub known: BTreeMap<String, Known>,
}

/// A quantity during a visit. What is unbounded is missing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The value at the beginning.
    pub first: Option<f64>,
    /// The value at the end.
    pub last: Option<f64>,
    /// The least value.
    pub least: Option<f64>,
    /// The greatest value.
    pub most: Option<f64>,
}

impl StateVisit {
    pub(super) fn of(visit: &sim::StateVisit) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        let known = |known: &sim::Known| {
            let sim::Known { name, first, last, least, most } = *known;
            let [first, last, least, most] = [first, last, least, most].map(finite);
            (name.to_owned(), Known { first, last, least, most })
        };
        Self {
            state: visit.state.to_owned(),
            from_s: visit.from.as_secs_f64(),
            until_s: visit.until.as_secs_f64(),
            known: visit.known.iter().map(known).collect(),
        }
    }
}
