//! Measures: the quantities of a run that claims test.

use crate::controller_state_measures::{self, StateMeasure};
use serde::{Deserialize, Deserializer};
use thalweg_proto::congestion::SharedPath;
use thalweg_proto::units::Duration;
use thalweg_report::output::format_value;
use thalweg_report::results::{Flow, Metric, Run, SubjectKind};
use thalweg_report::statistics::mean;
use thalweg_scenario::{Paths, nearest_name, packet_sizes};
use thalweg_sim::simulation_spec::Spec;

/// Quantity that decides a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// Metric of a group of flows, or of the first direction of a link, by its name in results.
    Of(Metric),
    /// Minimum goodput of a flow of some groups, divided by the mean of all their flows.
    MinShare,
    /// Mean goodput of the flows of the first group, over that of all groups.
    ShareOfMean,
    /// Mean queueing delay of a link, divided by the target delay of the flows of a group that share the link alone.
    QueuePerTarget,
    /// Value of the congestion controller's states, for the first flow of a group.
    States(StateMeasure),
}

/// Name of [`Measure::MinShare`].
const MIN_SHARE: &str = "min_share";
/// Name of [`Measure::ShareOfMean`].
const SHARE_OF_MEAN: &str = "share_of_mean";

/// Name of [`Measure::QueuePerTarget`].
const QUEUE_PER_TARGET: &str = "queue_per_target";
/// Names of measures that are not metrics.
const NON_METRIC_MEASURES: [&str; 3] = [MIN_SHARE, SHARE_OF_MEAN, QUEUE_PER_TARGET];

/// Measure in the format of packs.
#[derive(Deserialize)]
#[serde(untagged)]
enum MeasureFormat {
    Name(String),
    States(StateMeasure),
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = match MeasureFormat::deserialize(from)? {
            MeasureFormat::Name(name) => name,
            MeasureFormat::States(measured) => {
                measured.check().map_err(serde::de::Error::custom)?;
                return Ok(Self::States(measured));
            }
        };
        let all = || Metric::all_of(SubjectKind::Group).chain(Metric::all_of(SubjectKind::Link));
        let found = all().find(|metric| metric.line().name == name).map(Self::Of);
        let found = found.or_else(|| (name == MIN_SHARE).then_some(Self::MinShare));
        let found = found.or_else(|| (name == SHARE_OF_MEAN).then_some(Self::ShareOfMean));
        let found = found.or_else(|| (name == QUEUE_PER_TARGET).then_some(Self::QueuePerTarget));
        found.ok_or_else(|| {
            let names = all().map(|metric| metric.line().name).chain(NON_METRIC_MEASURES);
            let help = nearest_name(&name, names).map(|near| format!("; did you mean `{near}`?"));
            serde::de::Error::custom(format!("there is no measure `{name}`{}", help.unwrap_or_default()))
        })
    }
}

impl Measure {
    /// Returns true if several groups are measured together.
    pub fn is_of_many(&self) -> bool {
        matches!(self, Self::MinShare | Self::ShareOfMean | Self::QueuePerTarget)
    }

    /// Returns the name in the format of packs.
    pub fn name(&self) -> String {
        match self {
            Self::Of(metric) => metric.line().name.to_owned(),
            Self::MinShare => MIN_SHARE.to_owned(),
            Self::ShareOfMean => SHARE_OF_MEAN.to_owned(),
            Self::QueuePerTarget => QUEUE_PER_TARGET.to_owned(),
            Self::States(states) => states.name(),
        }
    }

    /// Returns true if the measure does not apply: it needs controller states and the run's controller reports none, or
    /// a target queue of the flows, `queue_target`, and they state none.
    pub fn is_inapplicable(&self, run: &Run, of: &[String], queue_target: Option<Duration>) -> bool {
        match self {
            Self::States(_) => first_flow(run, of).is_none_or(|flow| flow.states.is_empty()),
            Self::QueuePerTarget => queue_target.is_none(),
            _ => false,
        }
    }

    /// Returns the target queueing delay of the flows of a group, for the measure that needs it.
    pub fn queue_target(&self, spec: &Spec, of: &[String]) -> Option<Duration> {
        let Self::QueuePerTarget = self else { return None };
        let number = spec.groups.iter().position(|group| Some(&group.name) == of.first())?;
        let (group, paths) = (&spec.groups[number], Paths::new(spec));
        let path = paths.groups.get(number)?.as_ref()?;
        let (packet, _) = packet_sizes(&group.transport);
        let shared = SharedPath { flows: group.count, rate: path.rate, min_rtt: path.rtt, packet };
        group.transport.properties().queue_target(&shared)
    }

    /// Returns the value in a run; `None` if there is none.
    pub fn value(&self, run: &Run, of: &[String], queue_target: Option<Duration>) -> Option<f64> {
        match self {
            Self::Of(metric) => {
                let name = of.first()?;
                let group = run.groups.iter().find(|group| group.name == *name);
                match group {
                    Some(group) => group.get(*metric),
                    None => run.links.iter().find(|link| link.name == *name)?.get(*metric),
                }
            }
            Self::States(states) => states.value(run, first_flow(run, of)?),
            Self::QueuePerTarget => {
                let link = run.links.iter().find(|link| Some(&link.name) == of.get(1))?;
                let queue = 8.0 * link.get(Metric::QueueMeanBytes)? / link.get(Metric::LinkRate)?;
                queue_target.map(|target| queue / target.as_secs_f64())
            }
            Self::MinShare => {
                let values = group_goodput(run, of);
                let min = values.iter().copied().fold(f64::INFINITY, f64::min);
                mean(&values).filter(|mean| *mean > 0.0).map(|mean| min / mean)
            }
            Self::ShareOfMean => {
                let measured = mean(&group_goodput(run, of.get(..1)?))?;
                mean(&group_goodput(run, of)).filter(|mean| *mean > 0.0).map(|mean| measured / mean)
            }
        }
    }

    /// Formats a value with its unit.
    pub fn format_value(&self, of: f64) -> String {
        match self {
            Self::Of(metric) => format_value(*metric, of),
            Self::States(measured) => {
                controller_state_measures::format_value(&measured.name(), of).unwrap_or_default()
            }
            Self::MinShare | Self::ShareOfMean => format!("{:.1} %", of * 100.0),
            Self::QueuePerTarget => format!("{of:.2}"),
        }
    }
}

/// Returns the goodput of the flows of some groups.
fn group_goodput(run: &Run, of: &[String]) -> Vec<f64> {
    let measured = run.flows.iter().filter(|flow| of.contains(&flow.group));
    measured.map(|flow| flow.or_zero(Metric::Goodput)).collect()
}

/// Returns the first flow of a group.
fn first_flow<'r>(run: &'r Run, of: &[String]) -> Option<&'r Flow> {
    let name = of.first()?;
    run.flows.iter().find(|flow| flow.group == *name)
}
