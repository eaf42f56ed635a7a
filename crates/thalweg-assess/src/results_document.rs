//! Results document of an assessment, as JSON.

use crate::claim_decisions::ClaimOutcome;
use crate::transients::Transient;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_report::results::DifferingDefault;

/// Results of an assessment. Plan, margins, scheme and version alone determine its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// `thalweg-assess`.
    pub format: String,
    /// Version of the layout.
    pub version: u32,
    /// Version of the program.
    pub tool_version: String,
    /// Scheme under test.
    pub scheme: String,
    /// Title of the plan.
    pub pack: String,
    /// Reference schemes; the first one decides.
    pub references: Vec<String>,
    /// First seed, and the number of seeds per point.
    pub seeds: (u64, u32),
    /// True for a quick assessment with few points and seeds.
    pub quick: bool,
    /// True if the authors must make a statement (RFC 9743).
    #[serde(default)]
    pub has_statement: bool,
    /// True if every point has all of its runs, or failed.
    pub complete: bool,
    /// Number of points of all sweeps.
    pub points: usize,
    /// Number of runs of all points, with the scheme and with references.
    pub runs: usize,
    /// Router feedback that the scheme uses; no router of the assessment sends any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_routers: Option<String>,
    /// Options that differ between the schemes because of their defaults; missing if none differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike_defaults: Vec<DifferingDefault>,
    /// Changes applied to all scenarios; missing if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// Margins and bounds in use, by name, each with its sentence and the band.
    pub margins: BTreeMap<String, (String, String)>,
    /// Sections.
    pub sections: Vec<SectionResults>,
    /// Points without a result, with the reason and a command that reproduces it.
    pub failed: Vec<FailedPoint>,
}

/// Verdict on a claim or a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The claim holds at every point.
    Holds,
    /// The claim fails at some point.
    #[serde(rename = "does-not")]
    DoesNotHold,
    /// The number of runs is too small for a decision.
    NotDecided,
    /// No data decides the claim.
    NotEvaluated,
}

impl Verdict {
    /// Returns the verdict in words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotDecided => "not decided",
            Self::NotEvaluated => "not evaluated",
        }
    }

    /// Combines the verdicts of claims into a section's verdict.
    pub fn combine(of: impl Iterator<Item = Self>) -> Self {
        let mut known: Vec<Self> = of.filter(|verdict| *verdict != Self::NotEvaluated).collect();
        known.sort_unstable();
        match known.as_slice() {
            [] => Self::NotEvaluated,
            all if all.contains(&Self::DoesNotHold) => Self::DoesNotHold,
            all if all.contains(&Self::NotDecided) => Self::NotDecided,
            _ => Self::Holds,
        }
    }
}

/// Section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SectionResults {
    /// Number.
    pub number: String,
    /// Title.
    pub title: String,
    /// Verdict on all of its claims.
    pub verdict: Verdict,
    /// Reason for a missing evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_evaluated: Option<String>,
    /// Experiments.
    pub experiments: Vec<ExperimentResults>,
}

/// Experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExperimentResults {
    /// Title.
    pub title: String,
    /// Sweep file, also usable with `thalweg sweep`.
    pub sweep: String,
    /// Claims.
    pub claims: Vec<ClaimResults>,
    /// Time series of one run of the first points, for experiments with changes during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transients: Vec<Transient>,
}

/// Claim of a plan with its verdict and the results at all points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimResults {
    /// Claim, as a sentence.
    pub text: String,
    /// Measured flows or link.
    pub of: Vec<String>,
    /// Measured quantity.
    pub measure: String,
    /// Name of the margin.
    pub margin: String,
    /// True if smaller values are better.
    pub less_is_better: bool,
    /// True if the distance from the first reference decides, not a bound.
    pub is_relative: bool,
    /// Verdict after the correction for the number of claims.
    pub verdict: Verdict,
    /// Corrected p-value of the verdict "holds".
    pub p_holds: Option<f64>,
    /// Corrected p-value of the verdict "does not hold".
    pub p_does_not: Option<f64>,
    /// Verdicts by reference: on the scheme relative to it or, if a bound decides, on the reference itself.
    pub by_reference: BTreeMap<String, Verdict>,
    /// Results at each point, in the order of the sweep.
    pub points: Vec<PointResults>,
}

/// Point of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointResults {
    /// Value of each factor.
    pub values: BTreeMap<String, String>,
    /// Verdict on the point.
    pub outcome: ClaimOutcome,
    /// Mean over seeds.
    pub mean: Option<f64>,
    /// Half width of the 95 % confidence interval of the mean.
    pub ci95: Option<f64>,
    /// Value of the worst run.
    pub worst: Option<f64>,
    /// Number of seeds.
    pub seeds: u32,
    /// Number of distinct runs. If it is 1, the others carry no information about random variation.
    pub different: u32,
    /// Results of the same point with each reference in place of the scheme.
    pub references: Vec<ReferenceResults>,
    /// Command that reproduces the first run.
    pub command: String,
}

/// Results of a point with a reference in place of the scheme.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReferenceResults {
    /// Reference scheme.
    pub scheme: String,
    /// Mean over seeds.
    pub mean: Option<f64>,
    /// Mean of the scheme's differences from the reference, paired by seed.
    pub difference: Option<f64>,
    /// Half width of the 95 % confidence interval of that mean.
    pub difference_ci95: Option<f64>,
}

/// Point without a result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailedPoint {
    /// Sweep file.
    pub sweep: String,
    /// Value of each factor.
    pub values: BTreeMap<String, String>,
    /// Scheme of the failed run.
    pub scheme: String,
    /// Reason.
    pub why: String,
    /// Command that reproduces the failure.
    pub command: String,
}

impl Document {
    /// Returns the document as JSON.
    pub fn to_json(&self) -> String {
        // Cannot fail: plain data with string keys.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns all claims with their sections.
    pub fn claims(&self) -> impl Iterator<Item = (&SectionResults, &ExperimentResults, &ClaimResults)> {
        self.sections.iter().flat_map(|section| {
            let claims =
                section.experiments.iter().flat_map(|of| of.claims.iter().map(move |claim| (of, claim)));
            claims.map(move |(experiment, claim)| (section, experiment, claim))
        })
    }

    /// Returns the numbers of the sections with a claim that a margin decides, in order.
    pub fn sections_of_margin(&self, margin: &str) -> Vec<&str> {
        let mut numbers: Vec<&str> = Vec::new();
        for (section, _, claim) in self.claims() {
            if claim.margin == margin && numbers.last() != Some(&section.number.as_str()) {
                numbers.push(&section.number);
            }
        }
        numbers
    }

    /// Returns the number of claims with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims().filter(|(.., claim)| claim.verdict == verdict).count()
    }
}

impl ClaimResults {
    /// Returns the number of points with an outcome.
    pub fn count(&self, outcome: ClaimOutcome) -> usize {
        self.points.iter().filter(|point| point.outcome == outcome).count()
    }

    /// Returns the worst point: of the failing ones if any fails, otherwise of all.
    pub fn worst_point(&self) -> Option<&PointResults> {
        let has_failed = self.count(ClaimOutcome::DoesNotHold) > 0;
        let candidates =
            self.points.iter().filter(|point| !has_failed || point.outcome == ClaimOutcome::DoesNotHold);
        let known = candidates.filter_map(|point| Some((self.severity(point)?, point)));
        known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point)
    }

    /// Returns a severity that increases as a point gets worse: the distance from the reference as a share of the
    /// reference or, where a bound decides, the value itself.
    pub fn severity(&self, point: &PointResults) -> Option<f64> {
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
        use Verdict::{DoesNotHold, Holds, NotDecided, NotEvaluated};
        let joined = |of: &[Verdict]| Verdict::combine(of.iter().copied());
        assert_eq!(joined(&[Holds, NotEvaluated]), Holds);
        assert_eq!(joined(&[Holds, NotDecided]), NotDecided);
        assert_eq!(joined(&[NotDecided, DoesNotHold, Holds]), DoesNotHold);
        assert_eq!((joined(&[]), joined(&[NotEvaluated])), (NotEvaluated, NotEvaluated));
    }
}
