//! Measures: the quantities of a run that claims are about.

use serde::{Deserialize, Deserializer};
use thalweg_report::output::value;
use thalweg_report::results::{Flow, Metric, Of, Run};
use thalweg_report::statistics::mean;
use thalweg_scenario::nearest;

/// A quantity that decides a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A metric of a group of flows, or of the first direction of a link, by the name that results have for it.
    Of(Metric),
    /// The goodput of the flow that has least of some groups, over the mean of all of them.
    LeastShare,
}

/// The name of [`Measure::LeastShare`].
const LEAST_SHARE: &str = "least_share";

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let all = || Metric::all_of(Of::Group).chain(Metric::all_of(Of::Link));
        let found = all().find(|metric| metric.line().name == name).map(Self::Of);
        let found = found.or_else(|| (name == LEAST_SHARE).then_some(Self::LeastShare));
        found.ok_or_else(|| {
            let names = all().map(|metric| metric.line().name).chain([LEAST_SHARE]);
            let help = nearest(&name, names).map(|near| format!("; did you mean `{near}`?"));
            serde::de::Error::custom(format!("there is no measure `{name}`{}", help.unwrap_or_default()))
        })
    }
}

impl Measure {
    /// True where several groups are measured together.
    pub fn is_of_many(self) -> bool {
        self == Self::LeastShare
    }

    /// The name, as packs say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Of(metric) => metric.line().name,
            Self::LeastShare => LEAST_SHARE,
        }
    }

    /// Its value in a run; none where there is none.
    pub fn value(self, run: &Run, of: &[String]) -> Option<f64> {
        match self {
            Self::Of(metric) => {
                let name = of.first()?;
                let group = run.groups.iter().find(|group| group.name == *name);
                match group {
                    Some(group) => group.get(metric),
                    None => run.links.iter().find(|link| link.name == *name)?.get(metric),
                }
            }
            Self::LeastShare => {
                let goodput = |flow: &Flow| flow.or_zero(Metric::Goodput);
                let own = run.flows.iter().filter(|flow| of.contains(&flow.group));
                let values: Vec<f64> = own.map(goodput).collect();
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                mean(&values).filter(|mean| *mean > 0.0).map(|mean| least / mean)
            }
        }
    }

    /// A value with its unit.
    pub fn words(self, of: f64) -> String {
        match self {
            Self::Of(metric) => value(metric, of),
            Self::LeastShare => format!("{:.1} %", of * 100.0),
        }
    }
}
