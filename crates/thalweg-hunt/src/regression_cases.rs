//! Findings as regression tests: a folder of scenarios, and a list of bounds on their scores.

use crate::candidate_score::{NoScore, join_diagnostics, read_candidate, run_for_score};
use crate::failure_goals::Goal;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{read_text, toml_as_json, toml_text};

/// Name of the list in a folder of cases.
pub const LIST_FILE: &str = "cases.toml";

/// Scenario with a known failure mode, as a regression test: an entry of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// Scenario file, in the folder of the list.
    pub file: String,
    /// Name of the goal whose score is checked.
    pub goal: String,
    /// Minimum score: the failure mode is still present.
    pub at_least: Option<f64>,
    /// Maximum score: the failure mode is fixed and stays so.
    pub at_most: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

/// Result of a checked case.
#[derive(Clone, Debug)]
pub struct CheckedCase {
    /// Entry of the list.
    pub case: Case,
    /// Score with the scenario's seed, or the reason why there is none.
    pub score: Result<f64, String>,
}

impl CheckedCase {
    /// Returns true if the score is within its bounds.
    pub fn holds(&self) -> bool {
        let Ok(score) = self.score else { return false };
        self.case.at_least.is_none_or(|min| score >= min) && self.case.at_most.is_none_or(|max| score <= max)
    }
}

/// Reads the cases of a folder.
///
/// # Errors
///
/// A description of the error in the list.
pub fn read_cases(folder: &Path) -> Result<Vec<Case>, String> {
    let path = folder.join(LIST_FILE);
    let shown = path.display().to_string();
    let text = read_text(&path).map_err(|error| format!("`{shown}`: {error}; --keep makes such a list"))?;
    let value = toml_as_json(&shown, &text)?;
    let list: List = serde_json::from_value(value).map_err(|error| format!("`{shown}`: {error}"))?;
    for case in &list.cases {
        let Case { file, goal, .. } = case;
        if Goal::by_name(goal).is_none() {
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
pub fn check_case(case: &Case, folder: &Path, registry: &Arc<Registry>) -> CheckedCase {
    let score = || {
        let path = folder.join(&case.file);
        let text = read_text(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        let goal = Goal::by_name(&case.goal).ok_or_else(|| format!("there is no goal `{}`", case.goal))?;
        score_of(&path.display().to_string(), &text, folder, goal, registry)
    };
    CheckedCase { case: case.clone(), score: score() }
}

/// Returns the score of a scenario with its own seed.
///
/// # Errors
///
/// The reason why it has none.
pub fn score_of(
    name: &str,
    text: &str,
    folder: &Path,
    goal: Goal,
    registry: &Arc<Registry>,
) -> Result<f64, String> {
    let loaded = read_candidate(name, text, folder, registry).map_err(|found| join_diagnostics(&found))?;
    let mut spec = loaded.scenario.spec;
    run_for_score(&mut spec, goal).map_err(|none| match none {
        NoScore::Refused(why) => format!("`{name}` is not a scenario of a hunt: {why}"),
        NoScore::Fault(why) => why,
    })
}

/// Returns the lines of the list for a new case.
pub fn format_case_entry(file: &str, goal: Goal, score: f64) -> String {
    // Allow a margin of 5 % for differences in rounding between builds.
    let min = (score * 0.95 * 100.0).floor() / 100.0;
    format!("[[case]]\nfile = {}\ngoal = \"{}\"\nat-least = {min:?}\n", toml_text(file), goal.name())
}
