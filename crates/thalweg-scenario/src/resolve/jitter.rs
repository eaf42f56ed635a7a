//! Random delays of lines.

use super::super::keys::{Jitter, JitterTable};
use super::super::source::Span;
use super::super::table::At;
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::Duration;
use thalweg_sim::delay::{Each, TimeSpec, VariationSpec};

impl Resolver<'_> {
    /// A line's jitter: what is uniform from zero on for each packet and in order, and anything else.
    pub(super) fn jitter(&mut self, jitter: Option<&At<Jitter>>) -> (Duration, Option<Arc<VariationSpec>>) {
        let Some(at) = jitter else { return (Duration::ZERO, None) };
        let table = match &at.value {
            Jitter::UpTo(time) => return (*time, None),
            Jitter::Table(table) => table,
        };
        let Some(distribution) = self.distribution(table, at.span) else { return (Duration::ZERO, None) };
        if let Some(fault) = distribution.fault() {
            let found = self.report.error("scenario.range", at.span, format!("this random delay: {fault}"));
            if fault.contains("hour") {
                found.help("`max` cuts what is longer, such as max = \"200 ms\"");
            }
            return (Duration::ZERO, None);
        }
        let mut variation = VariationSpec { distribution, each: Each::Packet, keeps_order: true };
        table.drawn().fill(&mut variation);
        // The same by another name.
        match variation {
            VariationSpec {
                distribution: TimeSpec::Uniform { min: Duration::ZERO, max },
                each: Each::Packet,
                keeps_order: true,
            } => (max, None),
            other => (Duration::ZERO, Some(Arc::new(other))),
        }
    }

    fn distribution(&mut self, table: &JitterTable, span: Span) -> Option<TimeSpec> {
        let JitterTable::Measured(table) = table else { return table.spec() };
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
        Some(TimeSpec::Quantiles(times.into()))
    }
}
