//! Checks of gates and priorities without effect, and of turns that are short for the path.

use super::super::diagnostic::Report;
use super::LintInput;
use thalweg_proto::gate::GateConfig;
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, LOWEST_PRIORITY, NodeId, Spec, WorkloadSpec};

/// Returns true if the flows of a group start at the gate of `node`.
fn begins_at(group: &GroupSpec, node: NodeId) -> bool {
    group.from == node && group.access.is_none()
}

/// Runs all checks of gates and priorities.
pub(super) fn check_gates_and_priorities(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    for &(node, span) in &checked.origins.gates {
        let place = &spec.nodes[node.0 as usize];
        let mut behind =
            spec.groups.iter().zip(&checked.paths.groups).filter(|(group, _)| begins_at(group, node));
        if behind.clone().next().is_none() {
            let message = format!("no flow begins at `{}`, so its gate has no effect", place.name);
            report.warn("scenario.gate", span, message).help("flows with `access` begin at separate hosts");
            continue;
        }
        let at_once = behind.clone().find(|(group, _)| {
            let is_sized =
                matches!(group.workload, WorkloadSpec::Transfer(_)) || group.workload.has_transfers();
            is_sized && group.transport.properties().is_unbounded()
        });
        if let Some((group, _)) = at_once {
            let message = format!(
                "`{}` sends all of a transfer at one instant, in which the gate of `{}` cannot stop it",
                group.name, place.name
            );
            report
                .warn("scenario.gate", span, message)
                .help("give the scheme a `rate`, such as scheme = { base = \"udp\", rate = \"1 Mbit/s\" }");
        }
        let mut priorities = behind.clone().map(|(group, _)| group.priority);
        let first = priorities.next();
        let is_congestion =
            matches!(place.gate.as_ref().map(|gate| &gate.config), Some(GateConfig::Congestion(_)));
        if is_congestion && priorities.all(|other| Some(other) == first) {
            let message = format!(
                "all flows that begin at `{}` have one priority, so its gate never pauses any",
                place.name
            );
            report
                .warn("scenario.gate", span, message)
                .help("give those that matter more a `priority` from 1, the highest, to 6");
        }
        let Some(GateConfig::Slots(slots)) = place.gate.as_ref().map(|gate| &gate.config) else { continue };
        let short = behind.find_map(|(group, path)| {
            let turn = slots.slot
                * u64::from(slots.slots[usize::from(group.priority.clamp(1, LOWEST_PRIORITY)) - 1]);
            let rtt = path.as_ref()?.rtt;
            let waits = group.transport.properties().is_reliable();
            (waits && turn < rtt).then_some((group, turn, rtt))
        });
        if let Some((group, turn, rtt)) = short {
            let message =
                format!("a turn of `{}` has {turn}, but its round trip takes {rtt} at least", group.name);
            report
                .warn("scenario.gate", span, message)
                .help("a turn without an answer sends one window; typical: several round trips");
        }
    }
    if !serves_by_priority(spec) {
        for (group, origin) in spec.groups.iter().zip(&checked.origins.groups) {
            let gated = spec.nodes[group.from.0 as usize].gate.is_some() && group.access.is_none();
            if group.priority != LOWEST_PRIORITY && !gated {
                let message = format!("nothing acts on the priority of `{}`", group.name);
                report.warn("scenario.priority", origin.table, message).help(
                    "gates of the node where a flow begins do, and queues with discipline = \"priority\"",
                );
            }
        }
    }
}

/// Returns true if some queue serves by priority.
fn serves_by_priority(spec: &Spec) -> bool {
    let links = spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let access = spec.groups.iter().filter_map(|group| group.access.as_ref()).flat_map(|access| {
        [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
    });
    let is_priority = |line: &DirectionSpec| line.queue.depends_on_priority();
    links.chain(access).any(is_priority)
}
