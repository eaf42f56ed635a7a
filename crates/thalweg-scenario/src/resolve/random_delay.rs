//! Resolves the keys of random delays to their specification.

use super::super::keys::{Jitter, JitterTable};
use super::super::source_text::Span;
use super::super::table_declarations::Spanned;
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::Duration;
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};

impl Resolver<'_> {
    /// Returns a direction's jitter: the bound of a plain uniform one, per packet and in order, or else any other
    /// distribution.
    pub(super) fn jitter(
        &mut self,
        jitter: Option<&Spanned<Jitter>>,
    ) -> (Duration, Option<Arc<VariationSpec>>) {
        let Some(at) = jitter else { return (Duration::ZERO, None) };
        let table = match &at.value {
            Jitter::UpTo(time) => return (*time, None),
            Jitter::Table(table) => table,
        };
        let Some(distribution) = self.distribution(table, at.span) else { return (Duration::ZERO, None) };
        if let Some(fault) = distribution.fault() {
            let found = self.report.error("scenario.range", at.span, format!("this random delay: {fault}"));
            if fault.contains("hour") {
                found.help("`max` limits the time, such as max = \"200 ms\"");
            }
            return (Duration::ZERO, None);
        }
        self.check_draws(&distribution, at.span);
        let mut variation = VariationSpec::new(distribution);
        table.drawn().fill(&mut variation);
        if let Some(fault) = variation.fault() {
            let span = table.drawn().correlation.as_ref().map_or(at.span, |at| at.span);
            self.report
                .error("scenario.conflict", span, format!("this random delay: {fault}"))
                .help("leave `correlation` out, or choose another distribution for each packet");
            return (Duration::ZERO, None);
        }
        // A table equivalent to a plain time.
        match variation {
            VariationSpec {
                distribution: TimeSpec::Uniform { min: Duration::ZERO, max },
                each: DrawScope::Packet,
                keeps_order: true,
                correlation,
            } if correlation <= 0.0 => (max, None),
            other => (Duration::ZERO, Some(Arc::new(other))),
        }
    }

    /// Warns of draws that are always zero, or often cut.
    fn check_draws(&mut self, distribution: &TimeSpec, span: Span) {
        if distribution.longest().is_zero() {
            let found = self.report.warn("scenario.range", span, "this random delay is always 0");
            found.help("leave it out, or give it a length");
        }
        let (middle, max) = match distribution {
            TimeSpec::Exponential { mean, max: Some(max) }
            | TimeSpec::Normal { mean, max: Some(max), .. } => (("mean", *mean), *max),
            TimeSpec::LogNormal { median, max: Some(max), .. } => (("median", *median), *max),
            _ => return,
        };
        if max < middle.1 {
            let message = format!(
                "the longest of these random delays, {max}, is below their {} of {}: many are cut to it",
                middle.0, middle.1
            );
            self.report.warn("scenario.range", span, message).help("give a larger `max`, or leave it out");
        }
    }

    fn distribution(&mut self, table: &JitterTable, span: Span) -> Option<TimeSpec> {
        let JitterTable::Measured(table) = table else { return table.spec() };
        let mut times: Vec<Duration> = match (&table.times, &table.file) {
            (Some(times), None) => times.value.iter().map(|at| at.value).collect(),
            (None, Some(file)) => self.times_file(file)?,
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
        Some(TimeSpec::Quantiles(times.into()))
    }
}
