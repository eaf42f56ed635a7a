//! Results restricted to some groups of flows.

use super::metric_definition::Aggregation;
use super::metric_list::Metric;
use super::metric_values::{OfGroup, OfNetwork, Values, weighted_mean};
use super::run_results::{Flow, Group, Run};
use crate::statistics;

impl Run {
    /// Returns the run restricted to the groups for which `keeps` is true: flows, groups and totals cover only these.
    /// Percentiles of completion times, and size classes, exist only where exactly one of these groups has transfers.
    #[must_use]
    pub fn narrowed(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let groups: Vec<Group> = self.groups.iter().filter(|group| keeps(&group.name)).cloned().collect();
        let flows: Vec<Flow> = self.flows.iter().filter(|flow| keeps(&flow.group)).cloned().collect();
        let with_transfers: Vec<&Group> =
            groups.iter().filter(|group| group.or_zero(Metric::Completions) > 0.0).collect();
        let sizes = match with_transfers.as_slice() {
            [only] => only.sizes.clone(),
            _ => Vec::new(),
        };
        Self {
            totals: network_totals(&groups, &flows, &with_transfers),
            sizes,
            groups,
            flows,
            ..self.clone()
        }
    }
}

fn network_totals(groups: &[Group], flows: &[Flow], with_transfers: &[&Group]) -> Values<OfNetwork> {
    let of_groups: Vec<&Values<OfGroup>> = groups.iter().map(|group| &group.values).collect();
    Values::from_fn(|metric| {
        let known = || of_groups.iter().filter_map(|values| values.get(metric));
        let sum = || known().reduce(|sum, value| sum + value);
        if metric.line().transfers.is_some() {
            return match (metric, with_transfers) {
                (Metric::Completions | Metric::Unfinished, _) => sum(),
                (_, [only]) => only.get(metric),
                (Metric::CompletionMean | Metric::SlowdownMean, _) => {
                    weighted_mean(&of_groups, metric, Metric::Completions)
                }
                (Metric::CompletionMax | Metric::SlowdownMax, _) => known().reduce(f64::max),
                _ => None,
            };
        }
        match metric.line().network {
            Aggregation::None => None,
            Aggregation::Sum => sum(),
            Aggregation::Max => known().reduce(f64::max),
            Aggregation::WeightedMean(weight) => weighted_mean(&of_groups, metric, weight),
            Aggregation::Computed(_) if metric == Metric::Jain => jain_of_flows(flows),
            Aggregation::Computed(_) => None,
        }
    })
}

/// Returns Jain's index of the backlogged flows; `None` for fewer than two, or if none carries data.
fn jain_of_flows(flows: &[Flow]) -> Option<f64> {
    let wanting = flows.iter().filter(|flow| flow.wanted_more);
    let goodput: Vec<f64> = wanting.map(|flow| flow.or_zero(Metric::Goodput)).collect();
    if goodput.len() > 1 { statistics::jain_index(&goodput) } else { None }
}
