//! Comparisons in which some groups of flows alone have each scheme in turn: their results, and what the others got beside them.

use super::metrics::Metric;
use super::run::Run;
use super::summary::{Difference, Metrics, Paired, Summary};
use super::{Body, Document, Header, SchemeResults};
use crate::statistics::Estimate;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The groups that have each scheme in turn, and the results of them and of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The names of these groups.
    pub groups: Vec<String>,
    /// One for each scheme, in the order asked for.
    pub schemes: Vec<ComparedScheme>,
    /// Each scheme but the first against the first.
    pub differences: Vec<ComparedDifference>,
}

/// Means over the complete runs of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedScheme {
    /// The scheme.
    pub scheme: String,
    /// The goodput of the compared groups over that of all; missing where nothing is carried.
    pub share: Option<Estimate>,
    /// The metrics of the compared groups.
    pub metrics: Metrics,
    /// The metrics of the other groups.
    pub rest: Metrics,
}

/// One scheme against the first, run by run under the same seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedDifference {
    /// The scheme.
    pub scheme: String,
    /// The scheme that it is compared with: the first one.
    pub against: String,
    /// The difference in the share of goodput.
    pub share: Option<Paired>,
    /// The metrics of the compared groups.
    pub metrics: Metrics<Paired>,
    /// The metrics of the other groups.
    pub rest: Metrics<Paired>,
}

/// The documents of the compared groups and of the others, as if the network had no more.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The compared groups, with the links.
    pub compared: Document,
    /// The others, without links; without groups where all are compared.
    pub rest: Document,
}

impl Document {
    /// Returns the documents of the compared groups and of the others; nothing where all flows are compared.
    pub fn parts(&self) -> Option<Parts> {
        let Compared { groups, .. } = self.compared.as_ref()?;
        let Body::Comparison { margin, schemes, .. } = &self.body else { return None };
        Some(self.split(groups, *margin, schemes))
    }

    fn split(&self, groups: &[String], margin: f64, schemes: &[SchemeResults]) -> Parts {
        let is_compared = |name: &str| groups.iter().any(|group| group == name);
        let of = |keeps: &dyn Fn(&str) -> bool, has_links: bool| {
            let narrow = |run: &Run| {
                let run = run.narrowed(keeps);
                if has_links { run } else { Run { links: Vec::new(), ..run } }
            };
            let runs = schemes
                .iter()
                .map(|of| (of.scheme.clone(), of.runs.iter().map(narrow).collect::<Vec<Run>>()));
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
                margin,
                unlike_defaults: Vec::new(),
                contention,
                compared: Vec::new(),
            };
            let document = Self::of_comparison(header, runs.collect());
            Self { duration_s: self.duration_s, warmup_s: self.warmup_s, ..document }
        };
        Parts { compared: of(&is_compared, true), rest: of(&|name| !is_compared(name), false) }
    }

    /// Puts the results of `groups` and of the others into the document of a comparison.
    pub(super) fn with_compared(mut self, groups: Vec<String>) -> Self {
        let Body::Comparison { margin, schemes, .. } = &self.body else { return self };
        if groups.is_empty() {
            return self;
        }
        let Parts { compared, rest } = self.split(&groups, *margin, schemes);
        let (Some((own, own_differences)), Some((others, other_differences))) =
            (compared.compared_schemes(), rest.compared_schemes())
        else {
            return self;
        };
        let shares: Vec<BTreeMap<u64, f64>> =
            schemes.iter().zip(own).map(|(all, own)| shares(&all.runs, &own.runs)).collect();
        let metrics = |summary: &Option<Summary>| {
            summary.as_ref().map(|summary| summary.totals.clone()).unwrap_or_default()
        };
        let of_schemes = own.iter().zip(others).zip(&shares).map(|((own, rest), shares)| ComparedScheme {
            scheme: own.scheme.clone(),
            share: Estimate::of(&shares.values().copied().collect::<Vec<f64>>()),
            metrics: metrics(&own.summary),
            rest: metrics(&rest.summary),
        });
        let schemes: Vec<ComparedScheme> = of_schemes.collect();
        let share = |name: &str| {
            let number = own.iter().position(|of| of.scheme == name)?;
            let of = |number: usize| {
                self.seeds.iter().map(|seed| shares[number].get(seed).copied()).collect::<Vec<_>>()
            };
            Paired::of(&of(0), &of(number), 0.0)
        };
        let differences =
            own_differences.iter().zip(other_differences).map(|(own, rest)| ComparedDifference {
                scheme: own.scheme.clone(),
                against: own.against.clone(),
                share: share(&own.scheme),
                metrics: own.totals.clone(),
                rest: rest.totals.clone(),
            });
        let differences = differences.collect();
        self.compared = Some(Compared { groups, schemes, differences });
        self
    }

    fn compared_schemes(&self) -> Option<(&[SchemeResults], &[Difference])> {
        match &self.body {
            Body::Comparison { schemes, differences, .. } => Some((schemes, differences)),
            Body::Run { .. } | Body::Replications { .. } => None,
        }
    }
}

/// Returns the goodput of the runs of some groups over that of the whole runs; none where nothing is carried.
pub fn goodput_share(all: &[Run], own: &[Run]) -> Option<Estimate> {
    Estimate::of(&shares(all, own).into_values().collect::<Vec<f64>>())
}

/// Returns the share of all goodput that the compared groups have, by the seed of the complete run. Runs that are all the same count as
/// one.
fn shares(all: &[Run], own: &[Run]) -> BTreeMap<u64, f64> {
    let complete = || all.iter().filter(|run| run.complete);
    let is_one = complete().map(|run| &run.fingerprint).collect::<BTreeSet<_>>().len() == 1;
    let pairs = all.iter().zip(own).filter(|(all, _)| all.complete);
    let share = |(all, own): (&Run, &Run)| {
        let whole = all.totals.or_zero(Metric::Goodput);
        (whole > 0.0).then(|| (all.seed, own.totals.or_zero(Metric::Goodput) / whole))
    };
    pairs.filter_map(share).take(if is_one { 1 } else { usize::MAX }).collect()
}

#[cfg(test)]
mod tests {
    //! Proves that compared groups are separated from the others.
    use super::*;
    use crate::results::samples::{header, result};

    fn runs(of: &[(u64, u64)]) -> Vec<Run> {
        of.iter().map(|&(seed, mbits)| Run::of(&result(seed, mbits))).collect()
    }

    fn document(groups: &[&str]) -> Document {
        let compared = groups.iter().map(|name| (*name).to_owned()).collect();
        let schemes =
            vec![("a".to_owned(), runs(&[(1, 60), (2, 62)])), ("b".to_owned(), runs(&[(1, 30), (2, 30)]))];
        Document::of_comparison(Header { compared, ..header(&[1, 2]) }, schemes)
    }

    #[test]
    fn metrics_are_of_the_compared_groups_and_of_the_others() {
        let document = document(&["bold"]);
        let of = document.compared.as_ref().unwrap();
        let goodput = |of: &Metrics| of["goodput_bps"].mean;
        assert_eq!((goodput(&of.schemes[0].metrics), goodput(&of.schemes[1].metrics)), (61e6, 30e6));
        assert_eq!((goodput(&of.schemes[0].rest), goodput(&of.schemes[1].rest)), (20e6, 20e6));
        // One flow cannot be unfair; two that are alike are not.
        assert!(!of.schemes[0].metrics.contains_key("jain"));
        assert_eq!(of.schemes[0].rest["jain"].mean, 1.0);
        let share = of.schemes[1].share.unwrap();
        assert!((share.mean - 0.6).abs() < 1e-12, "{share:?}");
        let difference = &of.differences[0];
        assert_eq!((difference.scheme.as_str(), difference.against.as_str()), ("b", "a"));
        assert_eq!(difference.metrics["goodput_bps"].difference.mean, -31e6);
        assert_eq!(difference.rest["goodput_bps"].difference.mean, 0.0);
        assert!(difference.share.unwrap().difference.mean < -0.1);
        // Totals stay those of all flows.
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
    fn where_all_groups_are_compared_there_are_no_others() {
        let parts = document(&["shy", "bold"]).parts().unwrap();
        let Body::Comparison { schemes, .. } = &parts.rest.body else { panic!() };
        assert!(schemes.iter().all(|of| of.runs.iter().all(|run| run.groups.is_empty())));
        assert!(document(&[]).parts().is_none());
    }
}
