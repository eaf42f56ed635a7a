//! Checks of ECN: queues that cannot mark, or not as intended, and flows that depend on marks without a marking queue.

use super::super::diagnostic::Report;
use super::super::path_properties::direction_of_hop;
use super::LintInput;
use super::links::queue_capacity_bytes;
use super::router_feedback::data_paths;
use std::collections::BTreeMap;
use thalweg_catalog::{EndpointConfigs, Environment, Properties as _, Registry, Value};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{CeResponse, FeedbackKind};
use thalweg_proto::units::Bytes;
use thalweg_queue::{
    CakeConfig, DualPi2Config, FairQueueingConfig, FqCoDelConfig, Limit, StepConfig, Threshold,
};
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, WorkloadSpec};

/// Warns of step thresholds that are never reached, and of low-latency queues that no flow enters.
pub(super) fn step_thresholds_and_unused_queues(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    // By direction: a direction with acknowledgements only marks nothing.
    let mut crossed: BTreeMap<DirectionId, Kinds<'_>> = BTreeMap::new();
    for (number, group) in spec.groups.iter().enumerate() {
        for &hop in data_paths(checked, number).into_iter().flatten() {
            let kinds = crossed.entry(hop).or_default();
            if group.transport.properties().ecn() == Ecn::Ect1 {
                kinds.scalable.get_or_insert(&group.name);
            } else if is_classic(group) {
                kinds.classic.get_or_insert(&group.name);
            }
        }
    }
    for (hop, kinds) in crossed {
        let (number, back) = (hop as usize / 2, !hop.is_multiple_of(2));
        let (line, name) = (direction_of_hop(spec, hop), &spec.links[number].name);
        let span = checked.origins.links[number].queue[usize::from(back)];
        if let Some((holds, above)) = never_marks(line, checked.paths.largest_packet(number, back)) {
            let message = format!(
                "the queue of `{name}` holds {holds}: no accepted packet finds more than {above} queued"
            );
            report
                .warn("scenario.threshold", span, message)
                .help("it never marks: give a larger `capacity` or a lower `threshold`");
        }
        if line.queue.config::<DualPi2Config>().is_some() && kinds.scalable.is_none() {
            let message = format!("no flow over `{name}` sends ECT(1): all wait in the classic queue");
            let help = "`prague` does; where no flow is to, a discipline with one queue does the same";
            report.warn("scenario.marks", span, message).help(help);
        }
        if let Kinds { scalable: Some(scalable), classic: Some(classic) } = kinds
            && line.queue.marks()
            && !separates_ect1(line)
        {
            let message = format!(
                "`{scalable}` sends ECT(1) and shares the queue of `{name}` with `{classic}`, to which each mark is a loss"
            );
            let help = "a mark is a small reduction for one and a loss for the other, which starves \
                        (RFC 9331, section 4.3): `dualpi2` couples their shares, `fq-codel` has a queue for each flow";
            report.warn("scenario.marks", span, message).help(help);
        }
    }
}

/// The first group of each kind whose data crosses a link direction.
#[derive(Clone, Copy, Default)]
struct Kinds<'a> {
    /// A group that sends ECT(1).
    scalable: Option<&'a str>,
    /// A group that treats marks as losses, or reacts only to losses.
    classic: Option<&'a str>,
}

/// Returns true for flows whose windows react equally to a mark and to a loss, or whose packets the queue drops instead
/// of marking.
fn is_classic(group: &GroupSpec) -> bool {
    let EndpointConfigs::Window(config) = &group.transport.endpoint_configs else { return false };
    !config.never_shrinks() && !matches!(config.controller.ce_response(), CeResponse::ControllerSpecific(_))
}

/// Returns true if ECT(1) and other flows use separate queues.
fn separates_ect1(line: &DirectionSpec) -> bool {
    let queue = &line.queue;
    queue.config::<DualPi2Config>().is_some()
        || queue.config::<FqCoDelConfig>().is_some()
        || queue.config::<FairQueueingConfig>().is_some()
        || queue.config::<CakeConfig>().is_some_and(|config| config.isolation.separates_flows())
}

/// Returns the capacity and the threshold of a step queue that never marks: no accepted arrival finds more than the
/// threshold queued. Packets and bytes are compared by the largest packet of the link.
fn never_marks(line: &DirectionSpec, packet: u32) -> Option<(String, String)> {
    let config = line.queue.config::<StepConfig>()?;
    let capacity = queue_capacity_bytes(&line.queue, packet).filter(|_| packet > 0)?.get();
    match config.threshold {
        Threshold::Packets(above) => {
            let max = match line.queue.limit() {
                Limit::Packets(packets) => packets,
                _ => capacity / u64::from(packet),
            };
            let in_packets = |count| format!("{count} pkt");
            // The capacity includes the arrival itself.
            (above.saturating_add(1) >= max).then(|| (in_packets(max), in_packets(above)))
        }
        Threshold::Bytes(above) => {
            let in_bytes = |size| Bytes::new(size).to_string();
            (above >= capacity).then(|| (in_bytes(capacity), in_bytes(above)))
        }
    }
}

/// Warns of ECN-capable flows without a marking queue on their path.
pub(super) fn unserved_flows(checked: &LintInput<'_>, report: &mut Report) {
    for (number, (group, origin)) in checked.spec.groups.iter().zip(&checked.origins.groups).enumerate() {
        let properties = group.transport.properties();
        // The feedback check covers flows that need router feedback.
        let waits = properties.needs_marks() && !properties.router_feedback().is_needed;
        if !waits
            || has_ecn_by_default(group, report.registry())
            || directions_of_group(checked, number).any(|line| marks_group(line, group))
        {
            continue;
        }
        let message =
            format!("the packets of `{}` may be marked, but no queue on their way marks", group.name);
        let disciplines = report.registry().disciplines().iter();
        let names: Vec<String> = disciplines
            .filter(|of| of.default_spec(Limit::Unlimited).marks())
            .map(|of| format!("`{}`", of.name))
            .collect();
        let help = format!(
            "`{}` learns of congestion by losses alone; queues that mark: {}",
            group.transport.scheme,
            names.join(", ")
        );
        report.warn("scenario.marks", origin.scheme, message).help(help);
    }
}

/// Returns true if the scheme enables ECN by default, as one congestion signal among others: the scenario did not ask
/// for marks.
fn has_ecn_by_default(group: &GroupSpec, registry: &Registry) -> bool {
    let EndpointConfigs::Window(config) = &group.transport.endpoint_configs else { return false };
    let is_one_of_several = config.controller.ce_response() == CeResponse::AsToLoss;
    let description = registry.scheme(&group.transport.scheme);
    let ecn_default = description.and_then(|scheme| scheme.empty_values(Environment::Simulated).get("ecn"));
    is_one_of_several && ecn_default == Some(Value::Switch(true))
}

/// Returns the link directions that a group's data crosses, including access links.
pub(super) fn directions_of_group<'a>(
    checked: &'a LintInput<'a>,
    number: usize,
) -> impl Iterator<Item = &'a DirectionSpec> {
    let group = &checked.spec.groups[number];
    let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
    let own = group.access.iter().flat_map(move |access| {
        let back = [&access.source_backward, &access.sink_backward].into_iter().filter(move |_| answers);
        [&access.source_forward, &access.sink_forward].into_iter().chain(back)
    });
    data_paths(checked, number)
        .into_iter()
        .flatten()
        .map(|&hop| direction_of_hop(checked.spec, hop))
        .chain(own)
}

/// Returns true if the queue marks packets of the group's flows, by its discipline or by the DEC bit.
fn marks_group(line: &DirectionSpec, group: &GroupSpec) -> bool {
    let sets_bits = line.feedback.as_ref().is_some_and(|feedback| {
        feedback.policy.kind() == FeedbackKind::DecBit && group.transport.receives_feedback(feedback)
    });
    line.queue.marks()
        && line
            .ecn
            .codepoint_on_arrival(Ecn::Ect0, line.ecn.codepoint_at_queue(Ecn::Ect0).is_capable())
            .is_ce()
        || sets_bits
}
