//! Means over replications, and differences between schemes.

use super::metric::{Of, Tables};
use super::metrics::Metric;
use super::run::{Group, Link, Run};
use crate::statistics::{Estimate, holm, paired_difference};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Estimates by the name of the metric. A metric that no run had is missing.
pub type Metrics<T = Estimate> = BTreeMap<String, T>;

/// Means over the complete runs of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of complete runs.
    pub runs: u64,
    /// The number of complete runs that differ in anything that was delivered or dropped. Where it is 1, all runs are
    /// one run: it counts once, and nothing is known of chance. Otherwise the means are over all of them.
    #[serde(default = "one")]
    pub different: u64,
    /// The network as a whole.
    pub totals: Metrics,
    /// Each group of flows.
    pub groups: Vec<GroupMetrics>,
    /// Each direction of a link that was a bottleneck in any run.
    pub links: Vec<LinkMetrics>,
    /// The transfers of the network by size: the classes that any run has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeMetrics>,
}

/// The metrics of transfers of about one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeMetrics<T = Estimate> {
    /// The least size.
    pub from_bytes: u64,
    /// The least size of the next class; missing for the last one.
    pub below_bytes: Option<u64>,
    /// Its metrics.
    pub metrics: Metrics<T>,
}

/// The metrics of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupMetrics<T = Estimate> {
    /// The group's name.
    pub name: String,
    /// Its metrics.
    pub metrics: Metrics<T>,
}

/// The metrics of one direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkMetrics<T = Estimate> {
    /// The link's name.
    pub name: String,
    /// The transmitting end.
    pub from: String,
    /// The receiving end.
    pub to: String,
    /// Its metrics.
    pub metrics: Metrics<T>,
}

/// One scheme of a comparison against the first, run by run under the same seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The scheme.
    pub scheme: String,
    /// The scheme that it is compared with: the first one.
    pub against: String,
    /// The network as a whole.
    pub totals: Metrics<Paired>,
    /// Each group of flows.
    pub groups: Vec<GroupMetrics<Paired>>,
    /// Each direction of a link that was a bottleneck in any run of any scheme.
    pub links: Vec<LinkMetrics<Paired>>,
}

/// The paired difference of one metric: the scheme's value less that of the scheme that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The difference.
    #[serde(flatten)]
    pub difference: Estimate,
    /// The mean difference over the other scheme's mean; missing where that is zero.
    pub relative: Option<f64>,
    /// True if the interval excludes zero: the difference is significant at the 5 % level if it is looked at by itself. Missing
    /// for a single pair.
    pub excludes_zero: Option<bool>,
    /// The p-value of the difference by itself (Student's t test); missing where nothing is known of chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The p-value corrected by Holm's method for all differences of [`Difference::totals`] that tables show, of all schemes of
    /// the document: where it is below 0.05 the difference is more than chance, however many are looked at. Missing for
    /// other differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
}

fn one() -> u64 {
    1
}

/// A direction of a link: its name and its two ends.
pub(super) type LinkKey = (String, String, String);

/// The directions of links that were a bottleneck in any of these runs, in the order in which runs list them.
pub(super) fn bottlenecks(schemes: &[&[Run]]) -> Vec<LinkKey> {
    let mut seen = BTreeSet::new();
    let links = schemes.iter().flat_map(|runs| runs.iter()).flat_map(|run| &run.links);
    links.filter(|link| link.bottleneck).map(link_key).filter(|key| seen.insert(key.clone())).collect()
}

fn link_key(link: &Link) -> LinkKey {
    (link.name.clone(), link.from.clone(), link.to.clone())
}

impl Summary {
    /// The means over the complete ones of `runs`, without links; `None` where none is.
    pub fn without_links(runs: &[Run]) -> Option<Self> {
        Self::of(runs, &[])
    }

    /// The means over the complete ones of `runs`; `None` where none is.
    pub(super) fn of(runs: &[Run], links: &[LinkKey]) -> Option<Self> {
        let mut complete: Vec<&Run> = runs.iter().filter(|run| run.complete).collect();
        let first = *complete.first()?;
        let all = complete.len() as u64;
        let different = complete.iter().map(|run| &run.fingerprint).collect::<BTreeSet<_>>().len() as u64;
        if different == 1 {
            complete.truncate(1);
        }
        let group = |(position, group): (usize, &Group)| GroupMetrics {
            name: group.name.clone(),
            metrics: estimates(Of::Group, complete.iter().map(|run| group_values(run, position))),
        };
        let link = |key: &LinkKey| LinkMetrics {
            name: key.0.clone(),
            from: key.1.clone(),
            to: key.2.clone(),
            metrics: estimates(
                Of::Link,
                complete.iter().map(|run| find_link(run, key).map(|link| link.values.named().collect())),
            ),
        };
        Some(Self {
            runs: all,
            different,
            totals: estimates(Of::Network, complete.iter().map(|run| Some(run.totals.named().collect()))),
            groups: first.groups.iter().enumerate().map(group).collect(),
            links: links.iter().map(link).collect(),
            sizes: sizes_of(&complete),
        })
    }
}

/// The metrics of each size class that any of `runs` has: times over those runs only.
fn sizes_of(runs: &[&Run]) -> Vec<SizeMetrics> {
    let classes: BTreeMap<u64, Option<u64>> =
        runs.iter().flat_map(|run| &run.sizes).map(|class| (class.from_bytes, class.below_bytes)).collect();
    // A run without such transfers had none, but no times of them.
    let none = || vec![(Metric::Completions.name(Of::SizeClass), Some(0.0))];
    let of = |(from_bytes, below_bytes): (u64, Option<u64>)| {
        let values = runs.iter().map(|run| {
            let class = run.sizes.iter().find(|class| class.from_bytes == from_bytes);
            Some(class.map_or_else(none, |class| class.values.named().collect()))
        });
        SizeMetrics { from_bytes, below_bytes, metrics: estimates(Of::SizeClass, values) }
    };
    classes.into_iter().map(of).collect()
}

impl Difference {
    /// The difference of `other` from `base` (each a scheme and its runs), over the seeds of which both have a
    /// complete run; `None` without any.
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
            // All pairs are one pair.
            pairs.truncate(1);
        }
        let group = |(position, group): (usize, &Group)| GroupMetrics {
            name: group.name.clone(),
            metrics: differences(Of::Group, &pairs, |run| group_values(run, position)),
        };
        let link = |key: &LinkKey| LinkMetrics {
            name: key.0.clone(),
            from: key.1.clone(),
            to: key.2.clone(),
            metrics: differences(Of::Link, &pairs, |run| {
                find_link(run, key).map(|link| link.values.named().collect())
            }),
        };
        Some(Self {
            scheme: other.0.clone(),
            against: base.0.clone(),
            totals: differences(Of::Network, &pairs, |run| Some(run.totals.named().collect())),
            groups: first.groups.iter().enumerate().map(group).collect(),
            links: links.iter().map(link).collect(),
        })
    }
}

/// Corrects the p-values of the differences that tables show for there being so many.
pub(super) fn correct(differences: &mut [Difference]) {
    let shown: BTreeSet<&str> = [Tables::TRANSFERS, Tables::MEANS]
        .into_iter()
        .flat_map(Metric::in_table)
        .map(|metric| metric.name(Of::Network))
        .collect();
    let totals = differences.iter_mut().flat_map(|difference| &mut difference.totals);
    let metrics = totals.filter(|(name, _)| shown.contains(name.as_str())).map(|(_, paired)| paired);
    let mut tested: Vec<&mut Paired> = metrics.filter(|paired| paired.p_value.is_some()).collect();
    let raw: Vec<f64> = tested.iter().filter_map(|paired| paired.p_value).collect();
    for (paired, p) in tested.iter_mut().zip(holm(&raw)) {
        paired.p_holm = Some(p);
    }
}

/// The values of one subject in one run, by metric.
type Named = Vec<(&'static str, Option<f64>)>;

/// The least half width of intervals of metrics, as shares of their values, by name.
fn exactness(of: Of) -> BTreeMap<&'static str, f64> {
    Metric::all_of(of).map(|metric| (metric.name(of), metric.exactness())).collect()
}

fn estimates(of: Of, runs: impl Iterator<Item = Option<Named>>) -> Metrics {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.flatten().flatten() {
        values.entry(name).or_default().extend(value);
    }
    let exactness = exactness(of);
    let estimate = |(name, values): (&str, Vec<f64>)| {
        let estimate = Estimate::of(&values)?;
        let least = exactness.get(name).map_or(0.0, |share| share * estimate.mean.abs());
        Some((name.to_owned(), estimate.no_narrower(least)))
    };
    values.into_iter().filter_map(estimate).collect()
}

fn differences(of: Of, pairs: &[(&Run, &Run)], values: impl Fn(&Run) -> Option<Named>) -> Metrics<Paired> {
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for (base, other) in pairs {
        let (Some(base), Some(other)) = (values(base), values(other)) else { continue };
        for ((name, base), (_, other)) in base.into_iter().zip(other) {
            let column = columns.entry(name).or_default();
            column.base.push(base);
            column.other.push(other);
        }
    }
    let exactness = exactness(of);
    let metric = |(name, column): (&str, Column)| {
        let exactness = exactness.get(name).copied().unwrap_or(0.0);
        Some((name.to_owned(), Paired::of(&column.base, &column.other, exactness)?))
    };
    columns.into_iter().filter_map(metric).collect()
}

/// One metric of two schemes, run by run.
#[derive(Default)]
struct Column {
    base: Vec<Option<f64>>,
    other: Vec<Option<f64>>,
}

impl Paired {
    /// True if it is more than chance among all that are tested.
    pub fn survives(&self) -> bool {
        self.p_holm.is_some_and(|p| p < 0.05) && self.excludes_zero == Some(true)
    }

    /// The paired difference of `other` to `base`, whose values are exact to a share of them.
    pub(crate) fn of(base: &[Option<f64>], other: &[Option<f64>], exactness: f64) -> Option<Self> {
        let difference = paired_difference(base, other)?;
        let paired: Vec<f64> = base.iter().zip(other).filter_map(|(base, other)| other.and(*base)).collect();
        let mean = crate::statistics::mean(&paired)?;
        let relative = (mean != 0.0).then(|| difference.mean / mean);
        let still = |values: &[Option<f64>]| values.windows(2).all(|pair| pair[0] == pair[1]);
        // Where nothing changes with the seed, nothing is known of chance.
        let p_value = difference.p_value().filter(|_| !(still(base) && still(other)));
        let difference = difference.no_narrower(exactness * mean.abs());
        Some(Self { difference, relative, excludes_zero: difference.excludes_zero(), p_value, p_holm: None })
    }
}

fn find_link<'a>(run: &'a Run, key: &LinkKey) -> Option<&'a Link> {
    run.links.iter().find(|link| link.name == key.0 && link.from == key.1 && link.to == key.2)
}

fn group_values(run: &Run, position: usize) -> Option<Named> {
    Some(run.groups.get(position)?.values.named().collect())
}
