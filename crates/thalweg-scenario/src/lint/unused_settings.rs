//! Checks for settings without effect: the run would be the same without them.

use super::super::diagnostic::Report;
use super::super::source_text::Span;
use super::LintInput;
use super::router_feedback::data_paths;
use std::collections::BTreeSet;
use thalweg_proto::Ecn;
use thalweg_proto::units::{Bytes, Time};
use thalweg_proto::window::Misbehaviour;
use thalweg_queue::EcnTreatment;
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, Metric, Multipath, RoutingSpec};

/// Warns of settings of flow groups without effect.
pub(super) fn unused_group_settings(checked: &LintInput<'_>, report: &mut Report) {
    let end = Time::ZERO + checked.spec.duration;
    for (group, origin) in checked.spec.groups.iter().zip(&checked.origins.groups) {
        let name = &group.name;
        if let Some(span) = origin.stagger.filter(|_| group.count == 1 && !group.stagger.is_zero()) {
            let message = format!("`stagger` is the interval between flows, and `{name}` has one flow");
            report.warn("scenario.unused-stagger", span, message).help("give it a `count`, or a `start`");
        }
        if let Some(stop) = group.stop.filter(|stop| *stop >= end) {
            let message = format!("`{name}` stops at {stop}, and the run ends at {}", checked.spec.duration);
            report
                .warn("scenario.unused-stop", origin.stop, message)
                .help("without `stop` flows send until the end of the run");
        }
        if let Some(span) = origin.misbehaviour
            && group.misbehaviour == Some(Misbehaviour::ConcealsMarks)
            && !may_be_marked(group)
        {
            let message = format!("packets of `{name}` are never marked: there are no marks to conceal");
            report.warn("scenario.unused-misbehaviour", span, message).help("give its scheme `ecn = true`");
        }
    }
}

/// Warns of settings of links and of routing without effect.
pub(super) fn unused_link_settings(checked: &LintInput<'_>, report: &mut Report) {
    let (spec, origins) = (checked.spec, checked.origins);
    if spec.groups.is_empty() || spec.groups.iter().any(|group| group.live_match.is_some()) {
        return; // Real packets may have any size and codepoint.
    }
    let ecn_capable = ecn_capable(checked);
    let is_fixed = spec.routing.failures.is_empty() && spec.routing.paths == Multipath::One;
    let mut unused = UnusedSettings::default();
    for (number, (link, origin)) in spec.links.iter().zip(&origins.links).enumerate() {
        for (back, line) in [&link.forward, &link.backward].into_iter().enumerate() {
            let largest = checked.paths.largest_packet(number, back == 1);
            let name = &link.name;
            // A complete scenario states the weight of every link.
            let weight = if back == 0 { Some(link.weight) } else { link.reverse_weight };
            if spec.routing.metric != Metric::Weight && weight.is_some_and(|weight| weight != 1) {
                let message = format!("no route depends on the `weight` of `{name}`");
                unused.note(
                    "scenario.unused-weight",
                    origin.weight[back],
                    Some((message, "set [routing] metric = \"weight\"")),
                );
            }
            unused.note("scenario.unused-shaper", origin.shaper[back], unused_shaper_remark(line, name));
            unused.note(
                "scenario.unused-black-hole",
                origin.black_hole[back],
                black_hole(line, name, largest),
            );
            let hop = (number * 2 + back) as DirectionId;
            let is_unseen = is_fixed && line.ecn != EcnTreatment::Kept && !ecn_capable.contains(&hop);
            unused.note(
                "scenario.unused-ecn",
                origin.ecn[back],
                is_unseen.then(|| {
                    let message =
                        format!("no ECN-capable packet crosses `{name}`: there is nothing to treat");
                    (message, "`ecn = true` in a scheme makes its packets ECN-capable")
                }),
            );
        }
    }
    unused.report(report);
    if let Some(span) = origins.reroute
        && spec.routing.failures.is_empty()
        && spec.routing.reroute != RoutingSpec::default().reroute
    {
        report
            .warn("scenario.unused-reroute", span, "no link fails, and nothing is rerouted")
            .help("[[failure]] adds failures");
    }
}

/// Message and help of a warning.
type Remark = (String, &'static str);

/// Settings by position, with the message where a direction does not use them. A setting for both directions is
/// reported only if neither uses it.
#[derive(Default)]
struct UnusedSettings {
    unused: Vec<(&'static str, Span, Option<Remark>)>,
}

impl UnusedSettings {
    /// Adds a setting of a direction, with the code of its warning: the message and the help, or `None` if the direction uses it.
    fn note(&mut self, code: &'static str, span: Option<Span>, message: Option<Remark>) {
        let Some(span) = span else { return };
        match self.unused.iter_mut().find(|(of, at, _)| *of == code && *at == span) {
            // Used by one direction, or already noted.
            Some((_, _, earlier)) => *earlier = earlier.take().filter(|_| message.is_some()),
            None => self.unused.push((code, span, message)),
        }
    }

    fn report(self, report: &mut Report) {
        for (code, span, message) in self.unused {
            if let Some((message, help)) = message {
                report.warn(code, span, message).help(help);
            }
        }
    }
}

/// Returns the message on a shaper that never delays a packet.
fn unused_shaper_remark(line: &DirectionSpec, name: &str) -> Option<Remark> {
    let shaper = line.start_delay.shaper?;
    let scheduled = line.schedule.iter().filter_map(|change| change.rate);
    let fastest = scheduled.fold(line.rate, Ord::max);
    let varies = line.capacity.is_some() || line.periodic_variation.is_some();
    (shaper.rate >= fastest && !varies).then(|| {
        let message = format!("the shaper of `{name}` passes {}, and the link sends {fastest}", shaper.rate);
        (message, "give it a lower `rate`")
    })
}

/// Returns the message on a black hole that no packet is too large for.
fn black_hole(line: &DirectionSpec, name: &str, largest: u32) -> Option<Remark> {
    let passes = line.impairment.largest?;
    (largest > 0 && passes >= Bytes::new(u64::from(largest))).then(|| {
        let message =
            format!("the black hole of `{name}` passes {passes}, and no packet has more than {largest} B");
        (message, "give it a smaller size")
    })
}

/// Returns the link directions that ECN-capable data crosses.
fn ecn_capable(checked: &LintInput<'_>) -> BTreeSet<DirectionId> {
    let groups = checked.spec.groups.iter().enumerate();
    let capable = groups.filter(|(_, group)| may_be_marked(group));
    capable.flat_map(|(number, _)| data_paths(checked, number).into_iter().flatten().copied()).collect()
}

/// Returns true if queues mark packets of the group's flows, by ECN or by another bit.
fn may_be_marked(group: &GroupSpec) -> bool {
    let properties = group.transport.properties();
    properties.ecn() != Ecn::NotEct || properties.needs_marks()
}
