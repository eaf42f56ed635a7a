//! Checks of reordering that flows mistake for loss.

use super::super::diagnostic::Report;
use super::super::path_properties::Paths;
use super::super::resolve::Origins;
use super::LintInput;
use super::ecn::directions_of_group;
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::window::Recovery;
use thalweg_queue::random_delay::{DrawScope, VariationSpec};
use thalweg_sim::simulation_spec::{DirectionSpec, Spec};

/// Returns the positions of the groups whose packets may arrive in another order on some path.
pub fn reordered_groups(spec: &Spec, origins: &Origins, paths: &Paths) -> Vec<usize> {
    let checked = LintInput { spec, origins, paths };
    let reorders = |line: &DirectionSpec| {
        line.impairment.reorder.is_some_and(|reorder| reorder.probability > 0.0)
            || line.variation.as_deref().is_some_and(reorders_packets)
    };
    (0..spec.groups.len()).filter(|&number| directions_of_group(&checked, number).any(reorders)).collect()
}

/// Returns true if packets pass each other by their random delays.
fn reorders_packets(variation: &VariationSpec) -> bool {
    variation.each == DrawScope::Packet
        && !variation.keeps_order
        && !variation.distribution.longest().is_zero()
}

/// Warns of window flows with loss detection by duplicate acknowledgements on a path whose random delays reorder
/// packets. The explicit key `reorder` is intended, and ignored.
pub(super) fn mistaken_losses(checked: &LintInput<'_>, report: &mut Report) {
    for (number, (group, origin)) in checked.spec.groups.iter().zip(&checked.origins.groups).enumerate() {
        let EndpointConfigs::Window(ends) = &group.transport.endpoint_configs else { continue };
        if ends.sender.rack.is_some() || ends.sender.recovery != Recovery::Sack {
            continue;
        }
        if directions_of_group(checked, number)
            .any(|line| line.variation.as_deref().is_some_and(reorders_packets))
        {
            let message =
                format!("packets of `{}` pass each other, and late ones are treated as lost", group.name);
            let help = "`rack = true` in the scheme's table finds losses by time, as real paths do here; or leave out `in-order = false`";
            report.warn("scenario.order", origin.scheme, message).help(help);
        }
    }
}
