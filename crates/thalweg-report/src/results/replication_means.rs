//! Means over replications, and differences between schemes.

use super::metric_definition::{SubjectKind, Tables};
use super::metric_list::Metric;
use super::run_results::{Group, Link, Run};
use crate::statistics::{Estimate, holm, paired_difference};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Estimates by metric name. A metric without a value in any run is missing.
pub type Metrics<T = Estimate> = BTreeMap<String, T>;

/// Means over the complete runs of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of complete runs.
    pub runs: u64,
    /// Number of distinct complete runs, by deliveries and drops. If it is 1, all runs are identical: they count once,
    /// and significance is unknown. Otherwise the means cover all of them.
    #[serde(default = "default_one")]
    pub different: u64,
    /// Metrics of the whole network.
    pub totals: Metrics,
    /// Groups of flows.
    pub groups: Vec<GroupMetrics>,
    /// Directions of links that were a bottleneck in any run.
    pub links: Vec<LinkMetrics>,
    /// Transfers of the network by size: the classes present in any run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeMetrics>,
}

/// Metrics of transfers in a size class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeMetrics<T = Estimate> {
    /// Lower bound of the size, inclusive, in bytes.
    pub from_bytes: u64,
    /// Upper bound of the size, exclusive, in bytes; missing for the last class.
    pub below_bytes: Option<u64>,
    /// Metrics.
    pub metrics: Metrics<T>,
}

/// Metrics of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupMetrics<T = Estimate> {
    /// Name of the group.
    pub name: String,
    /// Metrics.
    pub metrics: Metrics<T>,
}

/// Metrics of one direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkMetrics<T = Estimate> {
    /// Name of the link.
    pub name: String,
    /// Transmitting end.
    pub from: String,
    /// Receiving end.
    pub to: String,
    /// Metrics.
    pub metrics: Metrics<T>,
}

/// Paired differences of one scheme of a comparison from the first, by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Scheme.
    pub scheme: String,
    /// Reference scheme: the first one.
    pub against: String,
    /// Metrics of the whole network.
    pub totals: Metrics<PairedDifference>,
    /// Groups of flows.
    pub groups: Vec<GroupMetrics<PairedDifference>>,
    /// Directions of links that were a bottleneck in any run of any scheme.
    pub links: Vec<LinkMetrics<PairedDifference>>,
}

/// Paired difference of one metric: the scheme's value less that of the reference scheme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// Difference.
    #[serde(flatten)]
    pub difference: Estimate,
    /// Mean difference over the reference scheme's mean; missing where that is zero.
    pub relative: Option<f64>,
    /// True if the interval excludes zero: the difference alone is significant at the 5 % level. Missing for a single
    /// pair.
    pub excludes_zero: Option<bool>,
    /// P-value of the difference alone (Student's t test); missing where significance is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// P-value corrected by Holm's method for all differences of [`Difference::totals`] that tables show, over all
    /// schemes of the document: below 0.05 the difference is significant among all of them. Missing for other
    /// differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
}

fn default_one() -> u64 {
    1
}

/// Direction of a link: its name and its two endpoints.
pub(super) type LinkKey = (String, String, String);

/// Returns the link directions that were a bottleneck in any of these runs, in document order.
pub(super) fn bottleneck_links(schemes: &[&[Run]]) -> Vec<LinkKey> {
    let mut seen = BTreeSet::new();
    let links = schemes.iter().flat_map(|runs| runs.iter()).flat_map(|run| &run.links);
    links.filter(|link| link.bottleneck).map(link_key).filter(|key| seen.insert(key.clone())).collect()
}

fn link_key(link: &Link) -> LinkKey {
    (link.name.clone(), link.from.clone(), link.to.clone())
}

impl Summary {
    /// Computes the means over the complete runs, without links; `None` if there is none.
    pub fn without_links(runs: &[Run]) -> Option<Self> {
        Self::from_runs(runs, &[])
    }

    /// Computes the means over the complete runs; `None` if there is none.
    pub(super) fn from_runs(runs: &[Run], links: &[LinkKey]) -> Option<Self> {
        let mut complete: Vec<&Run> = runs.iter().filter(|run| run.complete).collect();
        let first = *complete.first()?;
        let all = complete.len() as u64;
        let different = complete.iter().map(|run| &run.fingerprint).collect::<BTreeSet<_>>().len() as u64;
        if different == 1 {
            complete.truncate(1);
        }
        let group = |(position, group): (usize, &Group)| GroupMetrics {
            name: group.name.clone(),
            metrics: estimate_means(
                SubjectKind::Group,
                complete.iter().map(|run| group_values(run, position)),
            ),
        };
        let link = |key: &LinkKey| LinkMetrics {
            name: key.0.clone(),
            from: key.1.clone(),
            to: key.2.clone(),
            metrics: estimate_means(
                SubjectKind::Link,
                complete.iter().map(|run| find_link(run, key).map(|link| link.values.named().collect())),
            ),
        };
        Some(Self {
            runs: all,
            different,
            totals: estimate_means(
                SubjectKind::Network,
                complete.iter().map(|run| Some(run.totals.named().collect())),
            ),
            groups: first.groups.iter().enumerate().map(group).collect(),
            links: links.iter().map(link).collect(),
            sizes: sizes_of(&complete),
        })
    }
}

/// Returns the metrics of each size class present in any of `runs`; times cover only the runs with that class.
fn sizes_of(runs: &[&Run]) -> Vec<SizeMetrics> {
    let classes: BTreeMap<u64, Option<u64>> =
        runs.iter().flat_map(|run| &run.sizes).map(|class| (class.from_bytes, class.below_bytes)).collect();
    // A run without such transfers counts as zero transfers, without times.
    let none = || vec![(Metric::Completions.name(SubjectKind::SizeClass), Some(0.0))];
    let of = |(from_bytes, below_bytes): (u64, Option<u64>)| {
        let values = runs.iter().map(|run| {
            let class = run.sizes.iter().find(|class| class.from_bytes == from_bytes);
            Some(class.map_or_else(none, |class| class.values.named().collect()))
        });
        SizeMetrics { from_bytes, below_bytes, metrics: estimate_means(SubjectKind::SizeClass, values) }
    };
    classes.into_iter().map(of).collect()
}

impl Difference {
    /// Computes the difference of `other` from `base` (each a scheme with its runs), over the seeds with a complete run
    /// of both; `None` without any.
    pub(super) fn between(
        base: &(String, Vec<Run>),
        other: &(String, Vec<Run>),
        links: &[LinkKey],
    ) -> Option<Self> {
        let twin = |run: &Run| other.1.iter().find(|twin| twin.complete && twin.seed == run.seed);
        let complete = base.1.iter().filter(|run| run.complete);
        let mut pairs: Vec<(&Run, &Run)> = complete.filter_map(|run| Some((run, twin(run)?))).collect();
        let (first, _) = *pairs.first()?;
        let marks = |(base, other): &(&Run, &Run)| (base.fingerprint.clone(), other.fingerprint.clone());
        if pairs.iter().map(marks).collect::<BTreeSet<_>>().len() == 1 {
            // All pairs are identical.
            pairs.truncate(1);
        }
        let group = |(position, group): (usize, &Group)| GroupMetrics {
            name: group.name.clone(),
            metrics: paired_differences(SubjectKind::Group, &pairs, |run| group_values(run, position)),
        };
        let link = |key: &LinkKey| LinkMetrics {
            name: key.0.clone(),
            from: key.1.clone(),
            to: key.2.clone(),
            metrics: paired_differences(SubjectKind::Link, &pairs, |run| {
                find_link(run, key).map(|link| link.values.named().collect())
            }),
        };
        Some(Self {
            scheme: other.0.clone(),
            against: base.0.clone(),
            totals: paired_differences(SubjectKind::Network, &pairs, |run| {
                Some(run.totals.named().collect())
            }),
            groups: first.groups.iter().enumerate().map(group).collect(),
            links: links.iter().map(link).collect(),
        })
    }
}

/// Corrects the p-values of the differences that tables show for multiple comparisons.
pub(super) fn correct_p_values(differences: &mut [Difference]) {
    let shown: BTreeSet<&str> = [Tables::TRANSFERS, Tables::MEANS]
        .into_iter()
        .flat_map(Metric::in_table)
        .map(|metric| metric.name(SubjectKind::Network))
        .collect();
    let totals = differences.iter_mut().flat_map(|difference| &mut difference.totals);
    let metrics = totals.filter(|(name, _)| shown.contains(name.as_str())).map(|(_, paired)| paired);
    let mut tested: Vec<&mut PairedDifference> = metrics.filter(|paired| paired.p_value.is_some()).collect();
    let raw: Vec<f64> = tested.iter().filter_map(|paired| paired.p_value).collect();
    for (paired, p) in tested.iter_mut().zip(holm(&raw)) {
        paired.p_holm = Some(p);
    }
}

/// Values of one subject in one run, by metric.
type NamedValues = Vec<(&'static str, Option<f64>)>;

/// Returns the minimum half widths of intervals, as fractions of the values, by metric name.
fn minimum_half_widths(of: SubjectKind) -> BTreeMap<&'static str, f64> {
    Metric::all_of(of).map(|metric| (metric.name(of), metric.exactness())).collect()
}

fn estimate_means(of: SubjectKind, runs: impl Iterator<Item = Option<NamedValues>>) -> Metrics {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.flatten().flatten() {
        values.entry(name).or_default().extend(value);
    }
    let exactness = minimum_half_widths(of);
    let estimate = |(name, values): (&str, Vec<f64>)| {
        let estimate = Estimate::from_values(&values)?;
        let min = exactness.get(name).map_or(0.0, |share| share * estimate.mean.abs());
        Some((name.to_owned(), estimate.with_min_half_width(min)))
    };
    values.into_iter().filter_map(estimate).collect()
}

fn paired_differences(
    of: SubjectKind,
    pairs: &[(&Run, &Run)],
    values: impl Fn(&Run) -> Option<NamedValues>,
) -> Metrics<PairedDifference> {
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for (base, other) in pairs {
        let (Some(base), Some(other)) = (values(base), values(other)) else { continue };
        for ((name, base), (_, other)) in base.into_iter().zip(other) {
            let column = columns.entry(name).or_default();
            column.base.push(base);
            column.other_values.push(other);
        }
    }
    let exactness = minimum_half_widths(of);
    let metric = |(name, column): (&str, Column)| {
        let exactness = exactness.get(name).copied().unwrap_or(0.0);
        Some((name.to_owned(), PairedDifference::from_values(&column.base, &column.other_values, exactness)?))
    };
    columns.into_iter().filter_map(metric).collect()
}

/// Values of one metric under two schemes, by run.
#[derive(Default)]
struct Column {
    base: Vec<Option<f64>>,
    other_values: Vec<Option<f64>>,
}

impl PairedDifference {
    /// Returns true if the difference is significant among all that are tested.
    pub fn is_significant(&self) -> bool {
        self.p_holm.is_some_and(|p| p < 0.05) && self.excludes_zero == Some(true)
    }

    /// Computes the paired difference of `other` from `base`; `exactness` is the relative precision of the values.
    pub(crate) fn from_values(base: &[Option<f64>], other: &[Option<f64>], exactness: f64) -> Option<Self> {
        let difference = paired_difference(base, other)?;
        let paired: Vec<f64> = base.iter().zip(other).filter_map(|(base, other)| other.and(*base)).collect();
        let mean = crate::statistics::mean(&paired)?;
        let relative = (mean != 0.0).then(|| difference.mean / mean);
        let still = |values: &[Option<f64>]| values.windows(2).all(|pair| pair[0] == pair[1]);
        // Where nothing depends on the seed, significance is unknown.
        let p_value = difference.p_value().filter(|_| !(still(base) && still(other)));
        let difference = difference.with_min_half_width(exactness * mean.abs());
        Some(Self { difference, relative, excludes_zero: difference.excludes_zero(), p_value, p_holm: None })
    }
}

fn find_link<'a>(run: &'a Run, key: &LinkKey) -> Option<&'a Link> {
    run.links.iter().find(|link| link.name == key.0 && link.from == key.1 && link.to == key.2)
}

fn group_values(run: &Run, position: usize) -> Option<NamedValues> {
    Some(run.groups.get(position)?.values.named().collect())
}
