//! Checks of the traffic offered to links against their rates.

use super::super::diagnostic::Report;
use super::super::path_properties::{GroupPath, direction_of_hop, nominal_rate};
use super::LintInput;
use std::collections::BTreeMap;
use thalweg_proto::units::Rate;
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{GroupSpec, WorkloadSpec};

/// The help for a load above a queue's service rate.
const BACKLOG_GROWS_HELP: &str = "the backlog grows until the run ends, and results depend on the duration";

/// Returns the long-run payload rate that a group's workload offers per flow, independent of the network; `None` for
/// flows with unlimited data, a finite size, or that wait for responses.
pub(in super::super) fn offered_rate_per_flow(group: &GroupSpec) -> Option<Rate> {
    let bits = match &group.workload {
        WorkloadSpec::ConstantRate { rate, .. } => rate.as_f64(),
        WorkloadSpec::OnOff { on, off, rate: Some(rate), .. } => {
            rate.as_f64() * on.as_secs_f64() / (*on + *off).as_secs_f64()
        }
        WorkloadSpec::Telnet { packet, gap } => packet.get() as f64 * 8.0 / gap.as_secs_f64(),
        WorkloadSpec::Poisson { gap, size } => size.mean() * 8.0 / gap.as_secs_f64(),
        _ => return None,
    };
    (bits.is_finite() && bits >= 0.0).then(|| Rate::from_bits_per_sec(bits as u64))
}

/// Warns of links with more offered load than capacity.
pub(super) fn overloaded_links(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    // By direction: the total offered load, and the group that offers most.
    let mut loads: BTreeMap<DirectionId, (f64, (u64, usize))> = BTreeMap::new();
    for (number, (group, path)) in spec.groups.iter().zip(&checked.paths.groups).enumerate() {
        let (Some(path), Some(offered)) = (path, offered_rate_per_flow(group)) else { continue };
        for (&hop, &flows) in &path.loads[0] {
            let all = offered.as_f64() * flows;
            let load = loads.entry(hop).or_default();
            *load = (load.0 + all, load.1.max((all as u64, number)));
        }
    }
    let mut warned = Vec::new();
    for (hop, (offered, (_, number))) in loads {
        let line = direction_of_hop(spec, hop);
        let policer =
            line.queue.policer().map(|bucket| bucket.rate).filter(|&rate| rate < nominal_rate(line));
        let rate = policer.unwrap_or_else(|| nominal_rate(line));
        let slowest = checked.paths.groups[number].as_ref().and_then(GroupPath::bottleneck_hop);
        let is_first = policer.is_some() || slowest.is_none_or(|slowest| slowest == hop);
        if offered > rate.as_f64() && is_first && !warned.contains(&number) {
            warned.push(number);
            let link = &spec.links[hop as usize / 2].name;
            let offered = Rate::from_bits_per_sec(offered as u64);
            let (what, help) = match (policer, line.start_delay.shaper) {
                (Some(_), _) => {
                    ("whose policer admits", "the excess is dropped, regardless of the link's rate")
                }
                (None, Some(shaper)) if shaper.rate == rate => ("whose shaper passes", BACKLOG_GROWS_HELP),
                _ => ("which carries", BACKLOG_GROWS_HELP),
            };
            let message = format!("{offered} are offered to `{link}`, {what} {rate}");
            report.warn("scenario.load", checked.origins.groups[number].table, message).help(help);
        }
    }
}
