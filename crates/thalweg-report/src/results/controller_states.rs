//! States of congestion controllers in the results document.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_sim as sim;

/// Uninterrupted stay of a flow's congestion controller in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateVisit {
    /// Name of the state.
    pub state: String,
    /// Time of the first observation, in seconds.
    pub from_s: f64,
    /// Time of the first observation of another state, or end of the run, in seconds.
    pub until_s: f64,
    /// State variables of the sender and its controller, by name.
    #[serde(rename = "known")]
    pub state_variables: BTreeMap<String, StateVariable>,
}

/// State variable during a visit. `None` stands for an unbounded value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateVariable {
    /// Value at the start.
    pub first: Option<f64>,
    /// Value at the end.
    pub last: Option<f64>,
    /// Minimum value.
    pub min: Option<f64>,
    /// Maximum value.
    pub max: Option<f64>,
}

impl StateVisit {
    pub(super) fn new(visit: &sim::StateVisit) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        let variable = |variable: &sim::StateVariable| {
            let sim::StateVariable { name, first, last, min, max } = *variable;
            let [first, last, min, max] = [first, last, min, max].map(finite);
            (name.to_owned(), StateVariable { first, last, min, max })
        };
        Self {
            state: visit.state.to_owned(),
            from_s: visit.from.as_secs_f64(),
            until_s: visit.until.as_secs_f64(),
            state_variables: visit.state_variables.iter().map(variable).collect(),
        }
    }
}
