//! Offered loads given as a share of the path's rate.

use super::super::diagnostic::Report;
use super::super::path_properties::Paths;
use super::super::source_text::Span;
use thalweg_proto::units::{Duration, Rate};
use thalweg_sim::simulation_spec::{Spec, WorkloadSpec};

/// An offered load given as a share of the path's rate, pending until the path is known.
#[derive(Debug)]
pub(super) struct PendingLoad {
    pub share: f64,
    pub span: Span,
    pub group: usize,
}

impl PendingLoad {
    /// Sets the gap between transfers: all flows of the group together offer this share of the path's lowest rate.
    pub fn apply(&self, spec: &mut Spec, paths: &Paths, report: &mut Report) {
        let Some(path) = paths.groups.get(self.group).and_then(Option::as_ref) else { return };
        let (flows, rate, _) = path.busiest_direction(spec, &spec.groups[self.group]);
        let group = &mut spec.groups[self.group];
        let WorkloadSpec::Poisson { gap, size } = &mut group.workload else { return };
        if path.rate == Rate::MAX || path.rate.is_zero() {
            report
                .error("scenario.load", self.span, "no link on the path has a rate for a share")
                .help("give the load as a rate, such as \"30 Mbit/s\"");
            return;
        }
        *gap = Duration::from_secs_f64(size.mean() * 8.0 * flows / (rate.as_f64() * self.share));
        if gap.is_zero() {
            report.error("scenario.range", self.span, "transfers would arrive all at once, without end");
        }
    }
}
