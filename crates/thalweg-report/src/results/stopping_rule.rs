//! Stopping rule: replications until a confidence interval is narrow enough, instead of a fixed number.
//!
//! The rule checks the 95 % intervals of a metric after each replication. It stops when the half width of each is at
//! most a given share of its mean: the sequential procedure for a relative error (Law and Kelton 1982). Repeated checks
//! may stop at a randomly narrow interval: with fewer than ten runs, the coverage of the interval would be clearly
//! below its nominal value.

use super::metric_definition::SubjectKind;
use super::metric_list::Metric;
use super::run_results::Run;
use super::{Body, Document};
use crate::statistics::Estimate;
use core::str::FromStr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thalweg_catalog::spelling_suggestions::nearest_name;

/// Minimum number of replications: with fewer, an interval is often narrow by chance.
pub const MIN_RUNS: usize = 10;

/// Requested confidence interval, such as "goodput 2 %" or "goodput of web 2 %".
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Metric.
    pub metric: Metric,
    /// Group whose interval alone counts; `None` for the network and each group.
    pub group: Option<String>,
    /// Maximum half width of the 95 % interval, relative to its mean; above 0.
    pub share: f64,
}

/// Outcome of a [`Goal`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalOutcome {
    /// Metric, by its name for the network.
    pub metric: String,
    /// Group whose interval alone counts; missing for the network and each group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Requested share of the mean.
    pub share: f64,
    /// Widest interval at the end, as a share of its mean; missing if there is no interval.
    pub widest: Option<f64>,
    /// Scheme and group of that interval; empty for the network of a single scheme.
    pub of: String,
}

/// Widest of several intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Widest {
    /// Half width relative to the mean.
    pub share: f64,
    /// Scheme and group of the interval; empty for the network of a single scheme.
    pub of: String,
}

impl GoalOutcome {
    /// Returns true if every interval is as narrow as requested.
    pub fn is_reached(&self) -> bool {
        self.widest.is_some_and(|widest| widest <= self.share)
    }

    /// Returns true if runs have the metric and it is 0 in all of them.
    pub fn is_always_zero(&self, document: &Document) -> bool {
        let Some(metric) = find_metric(&self.metric) else { return false };
        let of = |run: &Run| {
            let is_meant = |name: &str| self.group.as_deref().is_none_or(|group| group == name);
            let groups = run.groups.iter().filter(|group| is_meant(&group.name));
            let total = run.totals.get(metric).filter(|_| self.group.is_none());
            total.into_iter().chain(groups.filter_map(|group| group.get(metric))).collect::<Vec<f64>>()
        };
        let values: Vec<f64> = document.runs().flat_map(|(_, run)| of(run)).collect();
        !values.is_empty() && values.iter().all(|value| *value == 0.0)
    }

    /// Returns the goal, if this version knows its metric.
    pub fn goal(&self) -> Option<Goal> {
        Some(Goal { metric: find_metric(&self.metric)?, group: self.group.clone(), share: self.share })
    }

    /// Returns the metric's everyday name: "goodput".
    pub fn word(&self) -> String {
        let word =
            find_metric(&self.metric).map_or_else(|| self.metric.clone(), metric_name).replace('_', " ");
        self.group.as_ref().map_or(word.clone(), |group| format!("{word} of {group}"))
    }
}

impl Goal {
    /// Returns the widest interval of `schemes`, each with its name and its runs; `None` with fewer than two runs, or
    /// if none has the metric. If all runs are equal, more of them add no information: their interval counts as empty.
    pub fn widest(&self, schemes: &[(&str, &[Run])]) -> Option<Widest> {
        let mut widest: Option<Widest> = None;
        for (scheme, runs) in schemes {
            let runs: Vec<&Run> = runs.iter().filter(|run| run.complete).collect();
            let fingerprints: BTreeSet<&str> = runs.iter().map(|run| run.fingerprint.as_str()).collect();
            let groups = runs.first().filter(|_| runs.len() > 1)?.groups.as_slice();
            let named = groups.iter().enumerate().map(|(number, group)| (Some(number), group.name.as_str()));
            let is_meant = |name: &str| self.group.as_deref().is_none_or(|group| group == name);
            let all = self.group.is_none().then_some((None, ""));
            for (group, name) in named.filter(|(_, name)| is_meant(name)).chain(all) {
                let value = |run: &&Run| match group {
                    Some(group) => run.groups.get(group)?.get(self.metric),
                    None => run.totals.get(self.metric),
                };
                let Some(estimate) =
                    Estimate::from_values(&runs.iter().filter_map(value).collect::<Vec<_>>())
                else {
                    continue;
                };
                let estimate = estimate.with_min_half_width(self.metric.exactness() * estimate.mean.abs());
                let half = if fingerprints.len() == 1 { Some(0.0) } else { estimate.ci95 };
                let Some(half) = half.filter(|_| estimate.mean != 0.0) else { continue };
                let share = half / estimate.mean.abs();
                if widest.as_ref().is_none_or(|widest| share > widest.share) {
                    let of: Vec<&str> = [*scheme, name].into_iter().filter(|word| !word.is_empty()).collect();
                    widest = Some(Widest { share, of: of.join(", ") });
                }
            }
        }
        widest
    }

    /// Returns the outcome for the runs of a document.
    pub(super) fn outcome(&self, body: &Body) -> GoalOutcome {
        let widest = match body {
            Body::Run { runs } | Body::Replications { runs, .. } => self.widest(&[("", runs)]),
            Body::Comparison { schemes, .. } => {
                let named = schemes.iter().map(|of| (of.scheme.as_str(), of.runs.as_slice()));
                self.widest(&named.collect::<Vec<_>>())
            }
        };
        GoalOutcome {
            metric: self.metric.name(SubjectKind::Network).to_owned(),
            group: self.group.clone(),
            share: self.share,
            widest: widest.as_ref().map(|widest| widest.share),
            of: widest.map(|widest| widest.of).unwrap_or_default(),
        }
    }
}

impl Document {
    /// Adds the outcome of `goal` to the document.
    #[must_use]
    pub fn until(mut self, goal: Option<Goal>) -> Self {
        self.until = goal.map(|goal| goal.outcome(&self.body));
        self
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = "expected a metric and a share, such as \"goodput 2 %\" or \"goodput of web 2 %\"";
        let split = text.trim().strip_suffix('%').and_then(|text| text.trim_end().rsplit_once(' '));
        let (name, percent) = split.ok_or(usage)?;
        let share = percent.parse::<f64>().ok().filter(|percent| percent.is_finite() && *percent > 0.0);
        let share = share.ok_or("expected a share above 0 %, such as 2 %")? / 100.0;
        let (name, group) = match name.split_once(" of ") {
            Some((name, group)) if !group.trim().is_empty() => (name, Some(group.trim().to_owned())),
            _ => (name, None),
        };
        let metric = find_metric(name).ok_or_else(|| {
            let known: Vec<String> = Metric::all_of(SubjectKind::Network).map(metric_name).collect();
            let nearest = nearest_name(name.trim(), known.iter().map(String::as_str));
            let meant = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
            format!("there is no metric `{}`{meant}; known are {}", name.trim(), known.join(", "))
        })?;
        if share < metric.exactness() {
            let min = metric.exactness() * 100.0;
            return Err(format!("percentiles are exact to {min} %: request no less, or a mean"));
        }
        Ok(Self { metric, group, share })
    }
}

/// Returns a metric of the network by its name, with or without its unit; "delay" means the mean delay.
fn find_metric(name: &str) -> Option<Metric> {
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    let called = |exact: &str| {
        Metric::all_of(SubjectKind::Network)
            .find(|metric| metric.name(SubjectKind::Network) == exact || metric_name(*metric) == exact)
    };
    called(&name).or_else(|| called(&format!("{name}_mean")))
}

/// Returns a metric's name without its unit.
fn metric_name(metric: Metric) -> String {
    let name = metric.name(SubjectKind::Network);
    let units = ["_bps", "_s", "_bytes", "_packets"];
    units.iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::test_fixtures::{run_result, test_header};
    use super::*;

    fn runs(goodput: &[u64]) -> Vec<Run> {
        goodput.iter().zip(1..).map(|(&mbits, seed)| Run::from_result(&run_result(seed, mbits))).collect()
    }

    #[test]
    fn a_goal_is_a_metric_and_a_share() {
        let goal: Goal = "goodput 2 %".parse().unwrap();
        assert_eq!((goal.metric, goal.share), (Metric::Goodput, 0.02));
        for (text, metric) in [
            ("goodput_bps 2%", Metric::Goodput),
            ("delay 5 %", Metric::DelayMean),
            ("completion mean 0.5 %", Metric::CompletionMean),
        ] {
            assert_eq!(text.parse::<Goal>().unwrap().metric, metric, "{text}");
        }
        for text in ["goodput", "goodput 0 %", "goodput two %", "2 %", "", "goodput -1 %"] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
        assert!("godput 2 %".parse::<Goal>().unwrap_err().contains("did you mean `goodput`?"));
        assert!("completion p99 1 %".parse::<Goal>().unwrap_err().contains("1.6 %"));
        assert!("completion p99 2 %".parse::<Goal>().is_ok());
    }

    #[test]
    fn the_widest_interval_counts() {
        let goal: Goal = "goodput 2 %".parse().unwrap();
        assert_eq!(goal.widest(&[("", &runs(&[70]))]), None);
        let (calm, wild) = (runs(&[70, 71, 70]), runs(&[50, 80, 60]));
        let narrow_interval = goal.widest(&[("calm", &calm)]).unwrap();
        let wide = goal.widest(&[("calm", &calm), ("wild", &wild)]).unwrap();
        assert!(wide.share > narrow_interval.share && wide.of.starts_with("wild"), "{wide:?}");
        // Student's t for two degrees of freedom is 4.303: for the one group with 50, 80 and 60 the mean is 63.3, the
        // sample deviation 15.3.
        let one = goal.widest(&[("wild", &wild)]).unwrap().share;
        assert!((one - 4.3027 * 15.2753 / 3.0_f64.sqrt() / 63.3333).abs() < 1e-3, "{one}");
    }

    /// The interval of one group alone, and none for an unknown group.
    #[test]
    fn a_goal_may_name_a_group() {
        let runs = runs(&[50, 80, 60]);
        let name = runs[0].groups[0].name.clone();
        let goal: Goal = format!("goodput of {name} 2 %").parse().unwrap();
        assert_eq!(goal.group.as_deref(), Some(name.as_str()));
        let widest = goal.widest(&[("wild", &runs)]).unwrap();
        assert_eq!(widest.of, format!("wild, {name}"));
        let other: Goal = "goodput of nobody 2 %".parse().unwrap();
        assert_eq!(other.widest(&[("wild", &runs)]), None);
        let document = Document::from_runs(test_header(&[1, 2, 3]), runs).until(Some(goal.clone()));
        let until = document.until.unwrap();
        assert_eq!((until.goal(), until.word()), (Some(goal), format!("goodput of {name}")));
    }

    #[test]
    fn a_document_records_whether_the_goal_was_reached() {
        let goal: Goal = "goodput 2 %".parse().unwrap();
        let wild =
            Document::from_runs(test_header(&[1, 2, 3]), runs(&[50, 80, 60])).until(Some(goal.clone()));
        let until = wild.until.unwrap();
        assert!(!until.is_reached() && until.goal() == Some(goal.clone()) && until.word() == "goodput");
        let calm = Document::from_runs(test_header(&[1, 2, 3]), runs(&[70, 70, 70])).until(Some(goal));
        assert!(calm.until.unwrap().is_reached());
    }
}
