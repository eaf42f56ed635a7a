//! Comparisons in which only some groups of flows use each scheme in turn: their results, and the other groups'
//! results.

use super::metric_list::Metric;
use super::replication_means::{Difference, Metrics, PairedDifference, Summary};
use super::run_results::Run;
use super::{Body, Document, Header, SchemeResults};
use crate::statistics::Estimate;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Groups that use each scheme in turn, with their results and the other groups' results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedGroups {
    /// Names of these groups.
    pub groups: Vec<String>,
    /// Results for each scheme, in the order requested.
    pub schemes: Vec<ComparedScheme>,
    /// Differences of each other scheme from the first.
    pub differences: Vec<ComparedDifference>,
}

/// Means over the complete runs of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedScheme {
    /// Scheme.
    pub scheme: String,
    /// Goodput of the compared groups over that of all; missing where there is none.
    pub share: Option<Estimate>,
    /// Metrics of the compared groups.
    pub metrics: Metrics,
    /// Metrics of the other groups.
    pub rest: Metrics,
}

/// Paired differences of one scheme from the first, by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedDifference {
    /// Scheme.
    pub scheme: String,
    /// Reference scheme: the first one.
    pub against: String,
    /// Difference in the share of goodput.
    pub share: Option<PairedDifference>,
    /// Metrics of the compared groups.
    pub metrics: Metrics<PairedDifference>,
    /// Metrics of the other groups.
    pub rest: Metrics<PairedDifference>,
}

/// Separate documents of the compared groups and of the others.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Compared groups, with the links.
    pub compared: Document,
    /// Other groups, without links; no groups where all are compared.
    pub rest: Document,
}

impl Document {
    /// Returns the documents of the compared groups and of the others; `None` where all flows are compared.
    pub fn parts(&self) -> Option<Parts> {
        let ComparedGroups { groups, .. } = self.compared.as_ref()?;
        let Body::Comparison { margin, schemes, .. } = &self.body else { return None };
        Some(self.split(groups, *margin, schemes))
    }

    fn split(&self, groups: &[String], margin: f64, schemes: &[SchemeResults]) -> Parts {
        let is_compared = |name: &str| groups.iter().any(|group| group == name);
        let of = |keeps: &dyn Fn(&str) -> bool, has_links: bool| {
            let restricted = |run: &Run| {
                let run = run.narrowed(keeps);
                if has_links { run } else { Run { links: Vec::new(), ..run } }
            };
            let runs = schemes
                .iter()
                .map(|of| (of.scheme.clone(), of.runs.iter().map(restricted).collect::<Vec<Run>>()));
            let mut contention = self.contention.clone();
            if let Some(contention) = &mut contention {
                contention.paths.retain(|path| keeps(&path.group));
            }
            let header = Header {
                tool_version: self.tool.version.clone(),
                scenario: self.scenario.clone(),
                duration: thalweg_proto::units::Duration::ZERO,
                warmup: thalweg_proto::units::Duration::ZERO,
                seeds: self.seeds.clone(),
                deterministic: self.deterministic,
                margin,
                unlike_defaults: Vec::new(),
                contention,
                compared: Vec::new(),
            };
            let document = Self::from_comparison(header, runs.collect());
            Self { duration_s: self.duration_s, warmup_s: self.warmup_s, ..document }
        };
        Parts { compared: of(&is_compared, true), rest: of(&|name| !is_compared(name), false) }
    }

    /// Adds the results of `groups` and of the others to a comparison's document.
    pub(super) fn with_compared(mut self, groups: Vec<String>) -> Self {
        let Body::Comparison { margin, schemes, .. } = &self.body else { return self };
        if groups.is_empty() {
            return self;
        }
        let Parts { compared, rest } = self.split(&groups, *margin, schemes);
        let (Some((compared_part, compared_differences)), Some((others, other_differences))) =
            (compared.compared_schemes(), rest.compared_schemes())
        else {
            return self;
        };
        let shares: Vec<BTreeMap<u64, f64>> = schemes
            .iter()
            .zip(compared_part)
            .map(|(all, compared_part)| compared_goodput_shares(&all.runs, &compared_part.runs))
            .collect();
        let metrics = |summary: &Option<Summary>| {
            summary.as_ref().map(|summary| summary.totals.clone()).unwrap_or_default()
        };
        let of_schemes =
            compared_part.iter().zip(others).zip(&shares).map(|((compared_part, rest), shares)| {
                ComparedScheme {
                    scheme: compared_part.scheme.clone(),
                    share: Estimate::from_values(&shares.values().copied().collect::<Vec<f64>>()),
                    metrics: metrics(&compared_part.summary),
                    rest: metrics(&rest.summary),
                }
            });
        let schemes: Vec<ComparedScheme> = of_schemes.collect();
        let share = |name: &str| {
            let number = compared_part.iter().position(|of| of.scheme == name)?;
            let of = |number: usize| {
                self.seeds.iter().map(|seed| shares[number].get(seed).copied()).collect::<Vec<_>>()
            };
            PairedDifference::from_values(&of(0), &of(number), 0.0)
        };
        let differences = compared_differences.iter().zip(other_differences).map(|(compared_part, rest)| {
            ComparedDifference {
                scheme: compared_part.scheme.clone(),
                against: compared_part.against.clone(),
                share: share(&compared_part.scheme),
                metrics: compared_part.totals.clone(),
                rest: rest.totals.clone(),
            }
        });
        let differences = differences.collect();
        self.compared = Some(ComparedGroups { groups, schemes, differences });
        self
    }

    fn compared_schemes(&self) -> Option<(&[SchemeResults], &[Difference])> {
        match &self.body {
            Body::Comparison { schemes, differences, .. } => Some((schemes, differences)),
            Body::Run { .. } | Body::Replications { .. } => None,
        }
    }
}

/// Returns the goodput of some groups' runs over that of the whole runs; `None` where there is none.
pub fn goodput_share(all: &[Run], compared_part: &[Run]) -> Option<Estimate> {
    Estimate::from_values(&compared_goodput_shares(all, compared_part).into_values().collect::<Vec<f64>>())
}

/// Returns the compared groups' share of all goodput, by the seed of the complete run. Identical runs count once.
fn compared_goodput_shares(all: &[Run], compared_part: &[Run]) -> BTreeMap<u64, f64> {
    let complete = || all.iter().filter(|run| run.complete);
    let is_one = complete().map(|run| &run.fingerprint).collect::<BTreeSet<_>>().len() == 1;
    let pairs = all.iter().zip(compared_part).filter(|(all, _)| all.complete);
    let share = |(all, compared_part): (&Run, &Run)| {
        let total = all.totals.or_zero(Metric::Goodput);
        (total > 0.0).then(|| (all.seed, compared_part.totals.or_zero(Metric::Goodput) / total))
    };
    pairs.filter_map(share).take(if is_one { 1 } else { usize::MAX }).collect()
}

#[cfg(test)]
mod tests {
    //! Tests that compared groups are separated from the others.
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};

    fn runs(of: &[(u64, u64)]) -> Vec<Run> {
        of.iter().map(|&(seed, mbits)| Run::from_result(&run_result(seed, mbits))).collect()
    }

    fn document(groups: &[&str]) -> Document {
        let compared = groups.iter().map(|name| (*name).to_owned()).collect();
        let schemes =
            vec![("a".to_owned(), runs(&[(1, 60), (2, 62)])), ("b".to_owned(), runs(&[(1, 30), (2, 30)]))];
        Document::from_comparison(Header { compared, ..test_header(&[1, 2]) }, schemes)
    }

    #[test]
    fn metrics_are_of_the_compared_groups_and_of_the_others() {
        let document = document(&["bold"]);
        let of = document.compared.as_ref().unwrap();
        let goodput = |of: &Metrics| of["goodput_bps"].mean;
        assert_eq!((goodput(&of.schemes[0].metrics), goodput(&of.schemes[1].metrics)), (61e6, 30e6));
        assert_eq!((goodput(&of.schemes[0].rest), goodput(&of.schemes[1].rest)), (20e6, 20e6));
        // A single flow cannot be unfair, and neither can two equal flows.
        assert!(!of.schemes[0].metrics.contains_key("jain"));
        assert_eq!(of.schemes[0].rest["jain"].mean, 1.0);
        let share = of.schemes[1].share.unwrap();
        assert!((share.mean - 0.6).abs() < 1e-12, "{share:?}");
        let difference = &of.differences[0];
        assert_eq!((difference.scheme.as_str(), difference.against.as_str()), ("b", "a"));
        assert_eq!(difference.metrics["goodput_bps"].difference.mean, -31e6);
        assert_eq!(difference.rest["goodput_bps"].difference.mean, 0.0);
        assert!(difference.share.unwrap().difference.mean < -0.1);
        // Totals still cover all flows.
        let Body::Comparison { schemes, .. } = &document.body else { panic!() };
        assert_eq!(schemes[0].summary.as_ref().unwrap().totals["goodput_bps"].mean, 81e6);
    }

    #[test]
    fn documents_with_compared_groups_read_back_as_they_were() {
        let document = document(&["shy"]);
        let mut text = Vec::new();
        document.write_json(&mut text).unwrap();
        assert!(Document::from_json(&String::from_utf8(text).unwrap()).unwrap() == document);
    }

    #[test]
    fn comparing_all_groups_leaves_no_others() {
        let parts = document(&["shy", "bold"]).parts().unwrap();
        let Body::Comparison { schemes, .. } = &parts.rest.body else { panic!() };
        assert!(schemes.iter().all(|of| of.runs.iter().all(|run| run.groups.is_empty())));
        assert!(document(&[]).parts().is_none());
    }
}
