//! Loads of transfers that are shares of what their path carries.

use super::super::diagnostic::Report;
use super::super::path::{Paths, direction, nominal_rate};
use super::super::source::Span;
use thalweg_proto::units::{Duration, Rate};
use thalweg_sim::route::DirectionId;
use thalweg_sim::spec::{Spec, WorkloadSpec};

/// A load that is a share of what the path carries.
#[derive(Debug)]
pub(super) struct PendingLoad {
    pub share: f64,
    pub span: Span,
    pub group: usize,
}

impl PendingLoad {
    /// Spaces the transfers of all flows of the group so that together they offer that share of the path's lowest rate.
    pub fn settle(&self, spec: &mut Spec, paths: &Paths, report: &mut Report) {
        let Some(path) = paths.groups.get(self.group).and_then(Option::as_ref) else { return };
        // Flows that go many ways offer most to the line that most of them cross, by its rate; others all to the slowest.
        let line = |(&hop, &flows): (&DirectionId, &f64)| (flows, nominal_rate(direction(spec, hop)));
        let fuller = |a: &(f64, Rate), b: &(f64, Rate)| (a.0 / a.1.as_f64()).total_cmp(&(b.0 / b.1.as_f64()));
        let busiest = path.loads[0].iter().map(line).max_by(fuller).filter(|_| !path.is_single);
        let group = &mut spec.groups[self.group];
        let (flows, rate) = busiest.unwrap_or((f64::from(group.count), path.rate));
        let WorkloadSpec::Poisson { gap, size } = &mut group.workload else { return };
        if path.rate == Rate::MAX || path.rate.is_zero() {
            report
                .error("scenario.load", self.span, "no line on the way has a rate to take a share of")
                .help("give the load as a rate, such as \"30 Mbit/s\"");
            return;
        }
        *gap = Duration::from_secs_f64(size.mean() * 8.0 * flows / (rate.as_f64() * self.share));
        if gap.is_zero() {
            report.error("scenario.range", self.span, "transfers would arrive all at once, without end");
        }
    }
}
