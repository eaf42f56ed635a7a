//! Queues that cannot mark, or not as they are meant to, and flows that wait for marks where no queue gives any.

use super::super::diagnostic::Report;
use super::super::path::direction;
use super::Checked;
use super::feedback::ways;
use super::links::bytes;
use std::collections::BTreeMap;
use thalweg_catalog::{Ends, Place, Properties as _, Registry, Value};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{CeResponse, FeedbackKind};
use thalweg_proto::units::Bytes;
use thalweg_queue::{DualPi2Config, FairQueueingConfig, FqCoDelConfig, Limit, StepConfig, Threshold};
use thalweg_sim::route::DirectionId;
use thalweg_sim::spec::{DirectionSpec, GroupSpec, WorkloadSpec};

/// Steps that are never reached, and low-latency queues that nothing enters.
pub(super) fn queues(checked: &Checked<'_>, report: &mut Report) {
    let spec = checked.spec;
    // By direction, as what only acknowledgements cross marks nothing.
    let mut crossed: BTreeMap<DirectionId, Kinds<'_>> = BTreeMap::new();
    for (number, group) in spec.groups.iter().enumerate() {
        for &hop in ways(checked, number).into_iter().flatten() {
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
        let (line, name) = (direction(spec, hop), &spec.links[number].name);
        let span = checked.origins.links[number].queue[usize::from(back)];
        if let Some((holds, above)) = never_marks(line, checked.paths.largest_packet(number, back)) {
            let message = format!(
                "the queue of `{name}` holds {holds}: nothing that it takes finds more than {above} waiting"
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
            && !keeps_apart(line)
        {
            let message = format!(
                "`{scalable}` sends ECT(1) and shares the queue of `{name}` with `{classic}`, to which each mark is a loss"
            );
            let help = "a mark takes half of its share from the one and all of a loss from the other, which is left little \
                        (RFC 9331, section 4.3): `dualpi2` couples their shares, `fq-codel` has a queue for each flow";
            report.warn("scenario.marks", span, message).help(help);
        }
    }
}

/// The first group of each kind whose data crosses a line.
#[derive(Clone, Copy, Default)]
struct Kinds<'a> {
    /// Its data is ECT(1).
    scalable: Option<&'a str>,
    /// It takes marks for losses, or hears of losses alone.
    classic: Option<&'a str>,
}

/// Flows whose windows lose as much by a mark as by a loss, or of which the queue drops what it would mark.
fn is_classic(group: &GroupSpec) -> bool {
    let Ends::Window(config) = &group.transport.ends else { return false };
    !config.never_shrinks() && !matches!(config.controller.ce_response(), CeResponse::Own(_))
}

/// Flows with ECT(1) and others do not wait in one queue.
fn keeps_apart(line: &DirectionSpec) -> bool {
    let queue = &line.queue;
    queue.config::<DualPi2Config>().is_some()
        || queue.config::<FqCoDelConfig>().is_some()
        || queue.config::<FairQueueingConfig>().is_some()
}

/// The capacity of a step queue and its threshold, if no arrival that finds room finds more than the threshold waiting. What is
/// counted in unlike units is compared by the largest packet of the line.
fn never_marks(line: &DirectionSpec, packet: u32) -> Option<(String, String)> {
    let config = line.queue.config::<StepConfig>()?;
    let room = bytes(&line.queue, packet).filter(|_| packet > 0)?.get();
    match config.threshold {
        Threshold::Packets(above) => {
            let most = match line.queue.limit() {
                Limit::Packets(packets) => packets,
                _ => room / u64::from(packet),
            };
            let in_packets = |count| format!("{count} pkt");
            // The arrival needs room beside those that it finds.
            (above.saturating_add(1) >= most).then(|| (in_packets(most), in_packets(above)))
        }
        Threshold::Bytes(above) => {
            let in_bytes = |size| Bytes::new(size).to_string();
            (above >= room).then(|| (in_bytes(room), in_bytes(above)))
        }
    }
}

/// Flows whose packets may be marked where no queue on their way does.
pub(super) fn listeners(checked: &Checked<'_>, report: &mut Report) {
    for (number, (group, origin)) in checked.spec.groups.iter().zip(&checked.origins.groups).enumerate() {
        let properties = group.transport.properties();
        // Those who listen to routers are told by the check of feedback.
        let waits = properties.needs_marks() && !properties.needs_feedback();
        if !waits
            || is_usual(group, report.registry())
            || lines(checked, number).any(|line| marks(line, group))
        {
            continue;
        }
        let message =
            format!("the packets of `{}` may be marked, but no queue on their way marks", group.name);
        let usual = report.registry().disciplines().iter();
        let names: Vec<String> = usual
            .filter(|of| of.usual(Limit::Unlimited).marks())
            .map(|of| format!("`{}`", of.name))
            .collect();
        let help = format!(
            "`{}` hears of congestion by losses alone; queues that mark: {}",
            group.transport.scheme,
            names.join(", ")
        );
        report.warn("scenario.marks", origin.scheme, message).help(help);
    }
}

/// The scheme always lets queues mark, as one sense of congestion among others: nobody asked for marks.
fn is_usual(group: &GroupSpec, registry: &Registry) -> bool {
    let Ends::Window(config) = &group.transport.ends else { return false };
    let is_one_of_several = config.controller.ce_response() == CeResponse::AsToLoss;
    let description = registry.scheme(&group.transport.scheme);
    let usual = description.and_then(|scheme| scheme.values(Place::Simulated).get("ecn"));
    is_one_of_several && usual == Some(Value::Switch(true))
}

/// The lines that a group's data crosses, its own too.
pub(super) fn lines<'a>(checked: &'a Checked<'a>, number: usize) -> impl Iterator<Item = &'a DirectionSpec> {
    let group = &checked.spec.groups[number];
    let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
    let own = group.access.iter().flat_map(move |access| {
        let back = [&access.source_backward, &access.sink_backward].into_iter().filter(move |_| answers);
        [&access.source_forward, &access.sink_forward].into_iter().chain(back)
    });
    ways(checked, number).into_iter().flatten().map(|&hop| direction(checked.spec, hop)).chain(own)
}

/// The queue of a line marks packets of the group's flows, by its discipline or by DEC's congestion bit.
fn marks(line: &DirectionSpec, group: &GroupSpec) -> bool {
    let sets_bits = line.feedback.as_ref().is_some_and(|feedback| {
        feedback.policy.kind() == FeedbackKind::DecBit && group.transport.understands(feedback)
    });
    line.queue.marks() && line.ecn.arrives(Ecn::Ect0, line.ecn.seen(Ecn::Ect0).is_capable()).is_ce()
        || sets_bits
}
