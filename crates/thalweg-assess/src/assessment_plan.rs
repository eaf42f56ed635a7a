//! Packs: files with the claims, experiments and margins of an assessment.

use crate::equivalence_margins::Margins;
use crate::run_measures::Measure;
use serde::Deserialize;
use std::collections::BTreeMap;
use thalweg_scenario::{MAX_REPS, toml_as_json};

/// Plan of an assessment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AssessmentPlan {
    /// Title of the requirements document.
    pub title: String,
    /// Reference schemes, run in place of the scheme under test; the first one decides.
    pub references: Vec<String>,
    /// True if reports end with a template of the statement that RFC 9743 requires of authors.
    #[serde(default)]
    pub statement: bool,
    /// File of margins, relative to the plan's folder.
    pub margins: String,
    /// Seeds per point.
    pub replications: u32,
    /// Settings of a quick assessment.
    pub quick: QuickPlan,
    /// Sections in order.
    #[serde(rename = "section")]
    pub sections: Vec<Section>,
}

/// Settings of a quick assessment: fewer seeds and points.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickPlan {
    /// Seeds per point.
    pub replications: u32,
    /// Points per sweep.
    pub points: usize,
}

/// Section of the requirements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Section {
    /// Number, such as `5.2.1`.
    pub number: String,
    /// Title in reports.
    pub title: String,
    /// Reason for the lack of experiments.
    pub not_evaluated: Option<String>,
    /// Experiments.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<Experiment>,
}

/// Sweep with the claims decided from it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Sweep file, relative to the plan's folder.
    pub sweep: String,
    /// Title of the experiment.
    pub title: String,
    /// Group of flows whose goodput over time reports show, for experiments with changes during the run.
    pub transient: Option<String>,
    /// Claims.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// Testable claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Sentence.
    pub text: String,
    /// Groups of flows, or a link.
    pub of: Vec<String>,
    /// Measured quantity.
    pub measure: Measure,
    /// Name of the margin.
    pub margin: String,
    /// Points of the claim, as allowed values by factor; empty for all points.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
}

impl AssessmentPlan {
    /// Parses the text of a file; messages refer to it as `name`.
    ///
    /// # Errors
    ///
    /// A description of the error.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let value = toml_as_json(name, text)?;
        let plan: Self = serde_json::from_value(value).map_err(|error| format!("`{name}`: {error}"))?;
        if plan.references.is_empty() {
            return Err(format!("`{name}`: `references` needs a scheme, such as \"cubic\""));
        }
        if plan.replications == 0 || plan.quick.replications == 0 || plan.quick.points == 0 {
            return Err(format!("`{name}`: `replications` and `points` must be at least 1"));
        }
        if plan.replications.max(plan.quick.replications) > MAX_REPS {
            return Err(format!("`{name}`: at most {MAX_REPS} replications are possible"));
        }
        for section in &plan.sections {
            if section.experiments.is_empty() == section.not_evaluated.is_none() {
                let number = &section.number;
                return Err(format!(
                    "`{name}`: section {number} needs either experiments or `not-evaluated` with the reason"
                ));
            }
            for claim in section.experiments.iter().flat_map(|of| &of.claims) {
                if claim.of.is_empty() || claim.of.len() > 1 && !claim.measure.is_of_many() {
                    let text = &claim.text;
                    return Err(format!(
                        "`{name}`: \"{text}\": `of` needs one group or link for this measure"
                    ));
                }
            }
        }
        Ok(plan)
    }

    /// Checks that all margins named by claims exist.
    ///
    /// # Errors
    ///
    /// The first missing one.
    pub fn check_margins(&self, margins: &Margins) -> Result<(), String> {
        let mut claims =
            self.sections.iter().flat_map(|section| &section.experiments).flat_map(|of| &of.claims);
        claims.try_for_each(|claim| margins.find(&claim.margin).map(drop))
    }

    /// Returns the sections in `only`, by number or prefix; all if it is empty.
    ///
    /// # Errors
    ///
    /// A list of the existing sections.
    pub fn sections_matching(&self, only: &[String]) -> Result<Vec<&Section>, String> {
        let is_in = |section: &Section, wanted: &str| {
            let rest = section.number.strip_prefix(wanted.trim_end_matches('.'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some(wanted) =
            only.iter().find(|wanted| !self.sections.iter().any(|section| is_in(section, wanted)))
        {
            let numbers: Vec<&str> = self.sections.iter().map(|section| section.number.as_str()).collect();
            return Err(format!(
                "{} has no section `{wanted}`; there are {}",
                self.title,
                numbers.join(", ")
            ));
        }
        let is_chosen =
            |section: &&Section| only.is_empty() || only.iter().any(|wanted| is_in(section, wanted));
        Ok(self.sections.iter().filter(is_chosen).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "title = \"T\"\nreferences = [\"cubic\"]\nmargins = \"m\"\nreplications = 2\nquick = { replications = 1, points = 1 }\n";

    fn plan(rest: &str) -> Result<AssessmentPlan, String> {
        AssessmentPlan::read("p.toml", &format!("{HEAD}{rest}"))
    }

    #[test]
    fn sections_are_chosen_by_number() {
        let section = |number: &str| {
            format!("[[section]]\nnumber = \"{number}\"\ntitle = \"x\"\nnot-evaluated = \"y\"\n")
        };
        let plan = plan(&["5.2", "5.2.1", "5.20", "6.1"].map(section).concat()).unwrap();
        let chosen = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|of| (*of).to_owned()).collect();
            plan.sections_matching(&only)
                .map(|of| of.iter().map(|section| section.number.clone()).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&["5.2"]).unwrap(), ["5.2", "5.2.1"]);
        assert_eq!(chosen(&["6", "5.2.1"]).unwrap(), ["5.2.1", "6.1"]);
        assert_eq!(chosen(&[]).unwrap().len(), 4);
        assert!(chosen(&["7"]).unwrap_err().contains("there are 5.2, 5.2.1, 5.20, 6.1"));
    }

    #[test]
    fn errors_name_the_expected_form() {
        let empty = "[[section]]\nnumber = \"5\"\ntitle = \"x\"\n";
        assert!(plan(empty).unwrap_err().contains("section 5 needs either experiments"));
        let claim = "[[section.experiment]]\nsweep = \"s\"\ntitle = \"t\"\nclaim = [{ text = \"c\", of = OF, measure = \"M\", margin = \"m\" }]\n";
        let with = |of: &str, measure: &str| {
            plan(&format!("{empty}{}", claim.replace("OF", of).replace("\"M\"", measure)))
        };
        assert!(with("[\"a\"]", "\"gooodput_bps\"").unwrap_err().contains("did you mean `goodput_bps`?"));
        assert!(with("[\"a\", \"b\"]", "\"goodput_bps\"").unwrap_err().contains("needs one group"));
        assert!(with("[\"a\", \"b\"]", "\"min_share\"").is_ok());
        // Its name in development builds.
        let old = with("[\"a\", \"b\"]", "\"least_share\"").unwrap_err();
        assert!(old.contains("did you mean `min_share`?"), "{old}");
        let none = format!("{}{empty}not-evaluated = \"x\"\n", HEAD.replace("[\"cubic\"]", "[]"));
        assert!(AssessmentPlan::read("p.toml", &none).unwrap_err().contains("`references` needs a scheme"));
    }
}
