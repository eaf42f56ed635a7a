//! Found cases as regression tests: a folder of scenarios, and a list of the scores that they must keep to.

use crate::evaluate::{NoScore, read, run, words};
use crate::goal::Goal;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{read_text, toml_as_json, toml_text};

/// The list in a folder of cases.
pub const LIST: &str = "cases.toml";

/// A case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// The scenario, beside the list.
    pub file: String,
    /// The goal.
    pub goal: String,
    /// The score is at least this: what was found is still there.
    pub at_least: Option<f64>,
    /// The score is at most this: what was found is mended, and stays so.
    pub at_most: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

/// A case that was looked at.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The case.
    pub case: Case,
    /// The score under the scenario's seed, or the reason for which there is none.
    pub score: Result<f64, String>,
}

impl Looked {
    /// True if the score is where it must be.
    pub fn holds(&self) -> bool {
        let Ok(score) = self.score else { return false };
        self.case.at_least.is_none_or(|least| score >= least)
            && self.case.at_most.is_none_or(|most| score <= most)
    }
}

/// The cases of a folder.
///
/// # Errors
///
/// A text that says what is wrong with the list.
pub fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let path = folder.join(LIST);
    let shown = path.display().to_string();
    let text = read_text(&path).map_err(|error| format!("`{shown}`: {error}; --keep makes such a list"))?;
    let value = toml_as_json(&shown, &text)?;
    let list: List = serde_json::from_value(value).map_err(|error| format!("`{shown}`: {error}"))?;
    for case in &list.cases {
        let Case { file, goal, .. } = case;
        if Goal::named(goal).is_none() {
            let known: Vec<&str> = Goal::ALL.into_iter().map(Goal::name).collect();
            return Err(format!(
                "`{shown}`: `{file}`: there is no goal `{goal}`; there are {}",
                known.join(", ")
            ));
        }
        if case.at_least.is_none() && case.at_most.is_none() {
            return Err(format!("`{shown}`: `{file}` needs `at-least` or `at-most`"));
        }
    }
    Ok(list.cases)
}

/// Runs a case.
pub fn look(case: &Case, folder: &Path, registry: &Arc<Registry>) -> Looked {
    let score = || {
        let path = folder.join(&case.file);
        let text = read_text(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        let goal = Goal::named(&case.goal).ok_or_else(|| format!("there is no goal `{}`", case.goal))?;
        score_of(&path.display().to_string(), &text, folder, goal, registry)
    };
    Looked { case: case.clone(), score: score() }
}

/// The score of a scenario under its own seed.
///
/// # Errors
///
/// A text that says why it has none.
pub fn score_of(
    name: &str,
    text: &str,
    folder: &Path,
    goal: Goal,
    registry: &Arc<Registry>,
) -> Result<f64, String> {
    let loaded = read(name, text, folder, registry).map_err(|found| words(&found))?;
    let mut spec = loaded.scenario.spec;
    run(&mut spec, goal).map_err(|none| match none {
        NoScore::Refused(why) => format!("`{name}` is no scenario of a hunt: {why}"),
        NoScore::Fault(why) => why,
    })
}

/// The lines of the list for a new case.
pub fn entry(file: &str, goal: Goal, score: f64) -> String {
    // What is bad by chance of a build's rounding is not asked for: a twentieth less will do.
    let least = (score * 0.95 * 100.0).floor() / 100.0;
    format!("[[case]]\nfile = {}\ngoal = \"{}\"\nat-least = {least:?}\n", toml_text(file), goal.name())
}
