//! The results of an assessment.

use crate::decide::Outcome;
use crate::transients::Transient;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_report::results::UnlikeDefault;

/// The results of an assessment. Its bytes follow from pack, margins, scheme and version alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// `thalweg-assess`.
    pub format: String,
    /// The version of the layout.
    pub version: u32,
    /// The version of the program.
    pub tool_version: String,
    /// The scheme under test.
    pub scheme: String,
    /// The title of the pack.
    pub pack: String,
    /// The schemes that took its place; the first one decides.
    pub references: Vec<String>,
    /// The first seed, and the number of seeds of each point.
    pub seeds: (u64, u32),
    /// A first look: few points and seeds.
    pub quick: bool,
    /// Authors have to make a statement, as RFC 9743 has it.
    #[serde(default)]
    pub has_statement: bool,
    /// Every point has all of its runs, or failed.
    pub complete: bool,
    /// Points of all sweeps.
    pub points: usize,
    /// Runs of all points, with the scheme and with references.
    pub runs: usize,
    /// The messages of routers that the scheme listens to: no router of the assessment sends any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_routers: Option<String>,
    /// The options that the schemes do not have alike because their defaults differ; missing where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike_defaults: Vec<UnlikeDefault>,
    /// The changes that all scenarios had; missing where there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// The margins and bounds that were used, by name, each with its sentence and the band.
    pub margins: BTreeMap<String, (String, String)>,
    /// The sections.
    pub sections: Vec<SectionResults>,
    /// Points that have no result, with the reason and the command that shows it.
    pub failed: Vec<FailedPoint>,
}

/// The verdict on a claim or a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds at every point.
    Holds,
    /// It does not at some point.
    DoesNot,
    /// It is not decided at this number of runs.
    NotDecided,
    /// There is nothing that decides it.
    NotEvaluated,
}

impl Verdict {
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNot => "does not",
            Self::NotDecided => "not decided",
            Self::NotEvaluated => "not evaluated",
        }
    }

    /// The verdict on a section with such claims.
    pub fn joined(of: impl Iterator<Item = Self>) -> Self {
        let mut known: Vec<Self> = of.filter(|verdict| *verdict != Self::NotEvaluated).collect();
        known.sort_unstable();
        match known.as_slice() {
            [] => Self::NotEvaluated,
            all if all.contains(&Self::DoesNot) => Self::DoesNot,
            all if all.contains(&Self::NotDecided) => Self::NotDecided,
            _ => Self::Holds,
        }
    }
}

/// A section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SectionResults {
    /// Its number.
    pub number: String,
    /// Its title.
    pub title: String,
    /// The verdict on all of its claims.
    pub verdict: Verdict,
    /// The reason for which it was not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_evaluated: Option<String>,
    /// Its experiments.
    pub experiments: Vec<ExperimentResults>,
}

/// An experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExperimentResults {
    /// Its title.
    pub title: String,
    /// The file that `thalweg sweep` runs alone.
    pub sweep: String,
    /// Its claims.
    pub claims: Vec<ClaimResults>,
    /// The course of one run of its first points, where something changes on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transients: Vec<Transient>,
}

/// A claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimResults {
    /// The sentence.
    pub text: String,
    /// The flows or the link that are measured.
    pub of: Vec<String>,
    /// The quantity.
    pub measure: String,
    /// The name of the margin.
    pub margin: String,
    /// Less is better.
    pub less_is_better: bool,
    /// It is decided by the distance from the first reference, not by a bound.
    pub is_relative: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// The corrected p-value of the verdict that it holds.
    pub p_holds: Option<f64>,
    /// The corrected p-value of the verdict that it does not.
    pub p_does_not: Option<f64>,
    /// The verdicts by each reference: on the scheme beside it or, where a bound decides, on the reference itself.
    pub by_reference: BTreeMap<String, Verdict>,
    /// The points.
    pub points: Vec<PointResults>,
}

/// A point of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointResults {
    /// The value of each factor.
    pub values: BTreeMap<String, String>,
    /// The verdict on it.
    pub outcome: Outcome,
    /// The mean over seeds.
    pub mean: Option<f64>,
    /// Half the width of the 95 % interval of that mean.
    pub ci95: Option<f64>,
    /// The worst run's value.
    pub worst: Option<f64>,
    /// The seeds.
    pub seeds: u32,
    /// So many of these runs differ from each other: of 1 the others tell nothing of chance.
    pub different: u32,
    /// The same with each reference in the scheme's place.
    pub references: Vec<ReferenceResults>,
    /// The command that shows its first run.
    pub command: String,
}

/// A point with a reference in the place of the scheme.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReferenceResults {
    /// The reference.
    pub scheme: String,
    /// Its mean over seeds.
    pub mean: Option<f64>,
    /// The mean of the differences of the scheme from it, seed by seed.
    pub difference: Option<f64>,
    /// Half the width of the 95 % interval of that mean.
    pub difference_ci95: Option<f64>,
}

/// A point that has no result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailedPoint {
    /// The sweep's file.
    pub sweep: String,
    /// The value of each factor.
    pub values: BTreeMap<String, String>,
    /// The scheme that it failed with.
    pub scheme: String,
    /// The reason.
    pub why: String,
    /// The command that shows it.
    pub command: String,
}

impl Document {
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        // Plain data, whose keys are texts.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// All claims with their sections.
    pub fn claims(&self) -> impl Iterator<Item = (&SectionResults, &ExperimentResults, &ClaimResults)> {
        self.sections.iter().flat_map(|section| {
            let claims =
                section.experiments.iter().flat_map(|of| of.claims.iter().map(move |claim| (of, claim)));
            claims.map(move |(experiment, claim)| (section, experiment, claim))
        })
    }

    /// The number of claims with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims().filter(|(.., claim)| claim.verdict == verdict).count()
    }
}

impl ClaimResults {
    /// The points with an outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.points.iter().filter(|point| point.outcome == outcome).count()
    }

    /// The point that is worst: of those that fail if any does, else of all.
    pub fn worst(&self) -> Option<&PointResults> {
        let has_failed = self.count(Outcome::DoesNot) > 0;
        let candidates = self.points.iter().filter(|point| !has_failed || point.outcome == Outcome::DoesNot);
        let known = candidates.filter_map(|point| Some((self.badness(point)?, point)));
        known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point)
    }

    /// A number that is the greater the worse a point is: the distance from the reference as a share of the reference or, where a bound
    /// decides, the value itself.
    pub fn badness(&self, point: &PointResults) -> Option<f64> {
        let sign = if self.less_is_better { 1.0 } else { -1.0 };
        if !self.is_relative {
            return Some(sign * point.mean?);
        }
        let reference = point.references.first()?;
        let (difference, mean) = (reference.difference?, reference.mean?);
        Some(
            sign * if mean == 0.0 {
                difference.signum() * f64::from(difference != 0.0)
            } else {
                difference / mean.abs()
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_as_good_as_its_worst_claim() {
        use Verdict::{DoesNot, Holds, NotDecided, NotEvaluated};
        let joined = |of: &[Verdict]| Verdict::joined(of.iter().copied());
        assert_eq!(joined(&[Holds, NotEvaluated]), Holds);
        assert_eq!(joined(&[Holds, NotDecided]), NotDecided);
        assert_eq!(joined(&[NotDecided, DoesNot, Holds]), DoesNot);
        assert_eq!((joined(&[]), joined(&[NotEvaluated])), (NotEvaluated, NotEvaluated));
    }
}
