//! The plan of a paper: the runs of each experiment.
//!
//! ```toml
//! replications = 5                    # seeds of a scenario with random parts; others are run once
//!
//! [choice.scheme]                     # changes of the scenario for each value of a varied key, as for --set
//! slow-start = ["flow.*.scheme=slow-start", "defaults.link.queue.capacity={buffer} pkt"]
//!
//! [choice.threshold]
//! "*" = ["defaults.link.queue.feedback.threshold={}"]
//!
//! [figure]                            # experiments that --experiment runs for a figure
//! "figure-4.3" = ["table-4.1"]
//!
//! [[experiment]]
//! id = "table-4.1"                    # an id of the published values, or an id in `ours/`
//! title = "What the table shows"
//! scenario = "two-way.toml"           # one of the paper's scenario files
//! set = ["duration=80 s"]             # changes for all of its runs
//! with = { buffer = 10 }              # words for placeholders
//! vary = { scheme = ["slow-start"], threshold = [0.5, 0.8] }
//! only_named = true                   # a long experiment: only with --full, or if --experiment names it in full
//!
//! [short]                             # shorter runs without --full; an experiment may have its own `short`
//! duration = 0.25                     # part of the counted time
//! replications = 2
//! full_minutes = 5                    # processor time of a run with --full, about
//!
//! [quick]                             # changes by --quick
//! set = ["duration=20 s"]
//! replications = 2
//! ```
//!
//! Every combination of the values under `vary` is a run; a list of such tables is a list of sets of combinations. The
//! keys of a run select the published results that it reproduces. In a change, `{}` is the value itself, and `{name}`
//! the value of another varied key or of `with`. Changes apply in this order: `set`, those of the choices (of the
//! scheme first, then of the other keys by name), `[quick]`.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use thalweg_scenario::toml_as_json;

/// A plan in its file format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default = "default_replications")]
    pub replications: u32,
    #[serde(default)]
    pub choice: BTreeMap<String, Map<String, Value>>,
    #[serde(default)]
    pub figure: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub short: ShortRuns,
    #[serde(default)]
    pub quick: QuickPlan,
    #[serde(default)]
    pub experiment: Vec<PlannedExperiment>,
}

/// Shorter lengths and fewer seeds of runs without `--full`, that give the same verdicts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortRuns {
    /// Part of the counted time, above 0 to 1; `None` is all of it.
    pub duration: Option<f64>,
    pub replications: Option<u32>,
    /// Processor time of a full run in minutes; only for the whole plan.
    pub full_minutes: Option<u32>,
}

impl ShortRuns {
    /// Returns this shortening with the values of `other` where it has none.
    fn or(self, other: Self) -> Self {
        Self {
            duration: self.duration.or(other.duration),
            replications: self.replications.or(other.replications),
            full_minutes: other.full_minutes,
        }
    }
}

/// Changes made by `--quick`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickPlan {
    #[serde(default)]
    pub set: Vec<String>,
    pub replications: Option<u32>,
}

/// An experiment of a plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedExperiment {
    pub id: String,
    #[serde(default)]
    pub title: String,
    /// Scenario file; none for values computed without a run.
    pub scenario: Option<String>,
    #[serde(default)]
    pub set: Vec<String>,
    #[serde(default)]
    pub with: Map<String, Value>,
    #[serde(default)]
    pub vary: Vary,
    pub replications: Option<u32>,
    /// True if the output folder keeps its series.
    #[serde(default)]
    pub series: bool,
    /// True for a long experiment, run only with `--full` or when named in full. It is never shortened.
    #[serde(default)]
    pub only_named: bool,
    /// Shortening of this experiment; its values replace those of the plan.
    #[serde(default)]
    pub short: ShortRuns,
}

/// Varied keys, with their values.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Vary {
    /// All combinations of these.
    One(Map<String, Value>),
    /// All combinations of each of these.
    Many(Vec<Map<String, Value>>),
}

impl Default for Vary {
    fn default() -> Self {
        Self::One(Map::new())
    }
}

fn default_replications() -> u32 {
    5
}

/// Keys of a run, and the changes to its scenario.
pub type PlannedRun = (Map<String, Value>, Vec<String>);

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// Returns a description of the error in the plan.
    pub fn read(text: &str) -> Result<Self, String> {
        let value = toml_as_json("the plan", text)?;
        let plan: Self = serde_json::from_value(value).map_err(|error| format!("the plan: {error}"))?;
        let all = plan.experiment.iter().map(|of| (of.id.as_str(), of.short));
        for (id, short) in all.chain([("short", plan.short)]) {
            if short.duration.is_some_and(|part| !(part > 0.0 && part <= 1.0)) {
                return Err(format!(
                    "the plan: {id}: `duration` of `short` is a part, above 0 and at most 1"
                ));
            }
        }
        Ok(plan)
    }

    /// Returns the runs of an experiment: the keys of each, and the changes to its scenario.
    ///
    /// # Errors
    /// Returns the value of a varied key without a choice.
    pub fn runs(&self, of: &PlannedExperiment, quick: bool) -> Result<Vec<PlannedRun>, String> {
        let sets = match &of.vary {
            Vary::One(one) => core::slice::from_ref(one),
            Vary::Many(many) => many.as_slice(),
        };
        let mut runs = Vec::new();
        for set in sets {
            for keys in all_combinations(set) {
                let changes = self.changes(of, &keys, quick)?;
                runs.push((keys, changes));
            }
        }
        Ok(runs)
    }

    /// Returns the shortening of an experiment without `--full`.
    pub fn shortening(&self, of: &PlannedExperiment) -> ShortRuns {
        if of.only_named { ShortRuns::default() } else { of.short.or(self.short) }
    }

    fn changes(
        &self,
        of: &PlannedExperiment,
        keys: &Map<String, Value>,
        quick: bool,
    ) -> Result<Vec<String>, String> {
        let words: Vec<(String, String)> = keys
            .iter()
            .chain(&of.with)
            .map(|(name, value)| (format!("{{{name}}}"), placeholder_text(value)))
            .collect();
        let fill = |change: &str, replacement: Option<&str>| {
            let change = replacement
                .map_or_else(|| change.to_owned(), |replacement| change.replace("{}", replacement));
            words.iter().fold(change, |change, (name, word)| change.replace(name, word))
        };
        let mut changes: Vec<String> = of.set.iter().map(|change| fill(change, None)).collect();
        let (scheme, others): (Vec<_>, Vec<_>) = keys.iter().partition(|(key, _)| *key == "scheme");
        for (key, value) in scheme.into_iter().chain(others) {
            let value = placeholder_text(value);
            let choices = self.choice.get(key);
            let chosen = choices.and_then(|choices| choices.get(&value).or_else(|| choices.get("*")));
            let chosen = chosen.ok_or_else(|| format!("{}: no choice for {key} = {value}", of.id))?;
            let list = chosen.as_array().into_iter().flatten().filter_map(Value::as_str);
            changes.extend(list.map(|change| fill(change, Some(&value))));
        }
        if quick {
            changes.extend(self.quick.set.iter().map(|change| fill(change, None)));
        }
        Ok(changes)
    }
}

/// Returns a value in the form used in a change.
fn placeholder_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns all combinations of values; the first key changes slowest.
fn all_combinations(of: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut all = vec![Map::new()];
    for (key, values) in of {
        let single = core::slice::from_ref(values);
        let values = values.as_array().map_or(single, Vec::as_slice);
        let extend = |keys: &Map<String, Value>| {
            let with = |value: &Value| {
                let mut keys = keys.clone();
                keys.insert(key.clone(), value.clone());
                keys
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(extend).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAN: &str = r#"
        [choice.scheme]
        a = ["flow.*.scheme=a", "queue={x = 1, capacity = '{buffer} pkt'}"]
        b = []
        [choice.buffer_bytes]
        "*" = ["threshold={} of {buffer}"]
        [quick]
        set = ["duration=1 s"]
        [[experiment]]
        id = "t"
        scenario = "s.toml"
        set = ["seed={buffer}"]
        with = { buffer = 10 }
        vary = { scheme = ["a", "b"], buffer_bytes = [0.5, 1] }
    "#;

    #[test]
    fn runs_are_all_combinations_with_their_changes() {
        let plan = Plan::read(PLAN).unwrap();
        let runs = plan.runs(&plan.experiment[0], false).unwrap();
        let keys: Vec<Value> = runs.iter().map(|(keys, _)| json!(keys)).collect();
        assert_eq!(
            json!(keys),
            json!([
                {"buffer_bytes": 0.5, "scheme": "a"}, {"buffer_bytes": 0.5, "scheme": "b"},
                {"buffer_bytes": 1, "scheme": "a"}, {"buffer_bytes": 1, "scheme": "b"},
            ])
        );
        let expected =
            ["seed=10", "flow.*.scheme=a", "queue={x = 1, capacity = '10 pkt'}", "threshold=0.5 of 10"];
        assert_eq!(runs[0].1, expected);
        assert_eq!(runs[3].1, ["seed=10", "threshold=1 of 10"]);
        let quick = plan.runs(&plan.experiment[0], true).unwrap();
        assert_eq!(quick[3].1, ["seed=10", "threshold=1 of 10", "duration=1 s"]);
    }

    #[test]
    fn an_experiment_shortens_what_it_names_and_a_long_one_nothing() {
        let text = "[short]\nduration = 0.5\nreplications = 3\n[[experiment]]\nid = 'a'\nshort = { duration = 0.1 }\n\
                    [[experiment]]\nid = 'b'\nonly_named = true";
        let plan = Plan::read(text).unwrap();
        let of = |place: usize| {
            let short = plan.shortening(&plan.experiment[place]);
            (short.duration, short.replications)
        };
        assert_eq!((of(0), of(1)), ((Some(0.1), Some(3)), (None, None)));
    }

    #[test]
    fn invalid_plans_are_rejected() {
        assert!(Plan::read("x = 1").unwrap_err().contains("unknown field"));
        assert!(Plan::read("x = ").unwrap_err().contains("the plan"));
        for part in ["0", "1.5", "-1"] {
            assert!(
                Plan::read(&format!("short.duration = {part}")).unwrap_err().contains("at most 1"),
                "{part}"
            );
        }
        let plan = Plan::read(&PLAN.replace("\"b\"]", "\"c\"]")).unwrap();
        assert_eq!(plan.runs(&plan.experiment[0], false).unwrap_err(), "t: no choice for scheme = c");
    }
}
