//! Lints: checks of a valid scenario for errors and probably unintended values.

mod ecn;
mod flow_routes_and_times;
mod gates;
mod links;
mod memory_estimate;
mod offered_load;
mod phase_effects;
mod queue_depth_and_loss;
mod randomness;
mod reordering;
mod router_feedback;
mod scheme_parameters;
mod unused_settings;

pub(super) use links::{about, bytes};
pub use memory_estimate::{Memory, memory};
pub(super) use offered_load::offered_rate_per_flow;
pub(super) use queue_depth_and_loss::to_four_digits;
pub use randomness::is_random;
pub use reordering::reordered_groups;

use super::diagnostic::Report;
use super::path_properties::Paths;
use super::resolve::Origins;
use thalweg_sim::simulation_spec::Spec;

/// The common input of all checks.
struct Checked<'a> {
    spec: &'a Spec,
    origins: &'a Origins,
    paths: &'a Paths,
}

/// Checks a resolved scenario: reports settings that cannot work as errors, and probable mistakes as warnings.
pub fn lint(spec: &Spec, origins: &Origins, paths: &Paths, report: &mut Report) {
    let checked = Checked { spec, origins, paths };
    links::rates(&checked, report);
    flow_routes_and_times::routes(&checked, report);
    if report.errors() > 0 {
        return; // Round-trip times and derived values are meaningless.
    }
    links::queues(&checked, report);
    links::buckets(&checked, report);
    links::hosts(&checked, report);
    queue_depth_and_loss::check_queue_depth_and_loss(&checked, report);
    offered_load::overload(&checked, report);
    links::schedules(&checked, report);
    flow_routes_and_times::times(&checked, report);
    flow_routes_and_times::start(&checked, report);
    phase_effects::effects(&checked, report);
    flow_routes_and_times::windows(&checked, report);
    flow_routes_and_times::unyielding(&checked, report);
    flow_routes_and_times::readers(&checked, report);
    scheme_parameters::schemes(&checked, report);
    router_feedback::feedback_sources(&checked, report);
    router_feedback::unserved_flows(&checked, report);
    ecn::queues(&checked, report);
    ecn::unserved_flows(&checked, report);
    unused_settings::groups(&checked, report);
    unused_settings::links(&checked, report);
    reordering::late(&checked, report);
    gates::gates(&checked, report);
    for (message, span) in &origins.unused {
        report.warn("scenario.unused", *span, message.clone());
    }
}
