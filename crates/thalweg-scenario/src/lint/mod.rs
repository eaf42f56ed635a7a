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

pub(super) use links::{queue_capacity_bytes, round_to_three_significant_digits};
pub use memory_estimate::{Memory, estimate_memory};
pub(super) use offered_load::offered_rate_per_flow;
pub(super) use queue_depth_and_loss::round_to_four_significant_digits;
pub use randomness::is_random;
pub use reordering::reordered_groups;

use super::diagnostic::Report;
use super::path_properties::Paths;
use super::resolve::Origins;
use thalweg_sim::simulation_spec::Spec;

/// The common input of all checks.
struct LintInput<'a> {
    spec: &'a Spec,
    origins: &'a Origins,
    paths: &'a Paths,
}

/// Checks a resolved scenario: reports settings that cannot work as errors, and probable mistakes as warnings.
pub fn lint(spec: &Spec, origins: &Origins, paths: &Paths, report: &mut Report) {
    let checked = LintInput { spec, origins, paths };
    links::zero_rates(&checked, report);
    flow_routes_and_times::disconnected_flows(&checked, report);
    if report.errors() > 0 {
        return; // Round-trip times and derived values are meaningless.
    }
    links::too_small_queues(&checked, report);
    links::too_small_token_buckets(&checked, report);
    links::too_small_socket_buffers(&checked, report);
    queue_depth_and_loss::check_queue_depth_and_loss(&checked, report);
    offered_load::overloaded_links(&checked, report);
    links::late_schedule_changes(&checked, report);
    flow_routes_and_times::empty_measurement_times(&checked, report);
    flow_routes_and_times::counted_starts(&checked, report);
    phase_effects::phase_effects(&checked, report);
    flow_routes_and_times::too_small_windows(&checked, report);
    flow_routes_and_times::unyielding_windows(&checked, report);
    flow_routes_and_times::ineffective_readers(&checked, report);
    scheme_parameters::check_schemes(&checked, report);
    router_feedback::feedback_sources(&checked, report);
    router_feedback::unserved_flows(&checked, report);
    ecn::step_thresholds_and_unused_queues(&checked, report);
    ecn::unserved_flows(&checked, report);
    unused_settings::unused_group_settings(&checked, report);
    unused_settings::unused_link_settings(&checked, report);
    reordering::mistaken_losses(&checked, report);
    gates::check_gates_and_priorities(&checked, report);
    for (message, span) in &origins.unused {
        report.warn("scenario.unused", *span, message.clone());
    }
}
