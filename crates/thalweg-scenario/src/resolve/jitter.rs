//! Random delays of lines.

use super::super::keys::{Drawn, Jitter, JitterTable};
use super::super::source::Span;
use super::super::table::{At, Fields};
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::Duration;
use thalweg_sim::delay::{Each, TimeSpec, VariationSpec};

fn time(at: Option<&At<Duration>>) -> Option<Duration> {
    at.map(|at| at.value)
}

impl Resolver<'_> {
    /// A line's jitter: what is uniform from zero on for each packet and in order, and anything else.
    pub(super) fn jitter(&mut self, jitter: Option<&At<Jitter>>) -> (Duration, Option<Arc<VariationSpec>>) {
        let Some(at) = jitter else { return (Duration::ZERO, None) };
        let table = match &at.value {
            Jitter::UpTo(time) => return (*time, None),
            Jitter::Table(table) => table,
        };
        let Some((distribution, drawn)) = self.distribution(table, at.span) else {
            return (Duration::ZERO, None);
        };
        if let Some(fault) = distribution.fault() {
            let found = self.report.error("scenario.range", at.span, format!("this random delay: {fault}"));
            if fault.contains("hour") {
                found.help("`max` cuts what is longer, such as max = \"200 ms\"");
            }
            return (Duration::ZERO, None);
        }
        let mut drawn = drawn.clone();
        drawn.inherit(Fields::defaults());
        let each = drawn.each.as_ref().map_or(Each::Packet, |at| at.value.0);
        let keeps_order = drawn.in_order.as_deref().copied().unwrap_or(true);
        // The same by another name.
        if let (TimeSpec::Uniform { min: Duration::ZERO, max }, Each::Packet, true) =
            (&distribution, each, keeps_order)
        {
            return (*max, None);
        }
        (Duration::ZERO, Some(Arc::new(VariationSpec { distribution, each, keeps_order })))
    }

    fn distribution<'t>(&mut self, table: &'t JitterTable, span: Span) -> Option<(TimeSpec, &'t Drawn)> {
        Some(match table {
            JitterTable::Uniform(table) => {
                let (min, max) = (time(table.min.as_ref()).unwrap_or_default(), time(table.max.as_ref())?);
                (TimeSpec::Uniform { min, max }, &table.drawn)
            }
            JitterTable::Exponential(table) => {
                let (mean, max) = (time(table.mean.as_ref())?, time(table.max.as_ref()));
                (TimeSpec::Exponential { mean, max }, &table.drawn)
            }
            JitterTable::Normal(table) => {
                let (mean, deviation) = (time(table.mean.as_ref())?, time(table.deviation.as_ref())?);
                (TimeSpec::Normal { mean, deviation, max: time(table.max.as_ref()) }, &table.drawn)
            }
            JitterTable::LogNormal(table) => {
                let (median, sigma) = (time(table.median.as_ref())?, table.sigma.as_ref()?.value.0);
                (TimeSpec::LogNormal { median, sigma, max: time(table.max.as_ref()) }, &table.drawn)
            }
            JitterTable::Pareto(table) => {
                let (min, shape) = (time(table.min.as_ref())?, table.shape.as_ref()?.value.0);
                (TimeSpec::Pareto { min, shape, max: time(table.max.as_ref()) }, &table.drawn)
            }
            JitterTable::Measured(table) => {
                let mut times: Vec<Duration> = match (&table.times, &table.file) {
                    (Some(times), None) => times.value.iter().map(|at| at.value).collect(),
                    (None, Some(file)) => self.times_file(file),
                    _ if table.broken => return None,
                    _ => {
                        let help = "either `times` or `file`";
                        self.report
                            .error("scenario.missing", span, "these measured delays are not complete")
                            .help(help);
                        return None;
                    }
                };
                times.sort_unstable();
                (TimeSpec::Quantiles(times.into()), &table.drawn)
            }
        })
    }
}
