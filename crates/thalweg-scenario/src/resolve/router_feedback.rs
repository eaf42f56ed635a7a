//! Resolution of router feedback: that of the queue's table, or else that needed by the schemes of the flows through
//! it.

use super::super::diagnostic::Report;
use super::super::keys::{
    FeedbackChoice, FeedbackTable, Messages, SeifFeedback, SeifPolicyKind, SeifPolicyKindName,
};
use super::super::path_properties::{Paths, direction_of_hop, packet_sizes, service_time};
use super::super::source_text::Span;
use super::super::table_declarations::{Fields, Spanned};
use super::packet_sized;
use super::unresolved_link_direction::LinkLocation;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::Duration;
use thalweg_queue::Limit;
use thalweg_queue::feedback::{
    DecBitSpec, FeedbackSpec, OverheadControl, OverheadSpec, PolicySpec, QuenchSpec, RationsSpec, Recipients,
    SeifPolicy, SeifSpec,
};
use thalweg_sim::shortest_paths::{DirectionId, Routes};
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, Spec, WorkloadSpec};

/// The feedback of a queue, pending until all flows are known.
#[derive(Debug)]
pub(super) struct PendingFeedback {
    pub place: LinkLocation,
    /// The choice in the file, if any.
    pub choice: Option<Spanned<FeedbackChoice>>,
    pub span: Span,
}

impl PendingFeedback {
    /// Sets the router's feedback.
    pub fn apply(self, spec: &mut Spec, paths: &Paths, report: &mut Report) {
        let hop = match self.place {
            LinkLocation::Link(link, direction) => {
                DirectionId::try_from(link * 2 + direction).unwrap_or_default()
            }
            LinkLocation::Access(..) => {
                if let Some(Spanned { value: FeedbackChoice::Table(_), span }) = self.choice {
                    let message = "an access link sends no feedback: only the queues of links do";
                    report
                        .error("scenario.feedback", span, message)
                        .help("make it a [[link]] to a separate node");
                }
                return;
            }
        };
        let feedback = match self.choice {
            Some(Spanned { value: FeedbackChoice::None, .. }) => None,
            Some(Spanned { value: FeedbackChoice::Table(table), span }) => build_feedback(
                table,
                spec,
                paths,
                hop,
                if super::is_default(span) { self.span } else { span },
                report,
            ),
            None => feedback_needed(spec, paths, hop).and_then(FeedbackTable::wanted_by).and_then(|table| {
                // A threshold needs a buffer limit; marks and explicit rates do not.
                let limited = direction_of_hop(spec, hop).queue.limit() != Limit::Unlimited
                    || matches!(table, FeedbackTable::DecBit(_) | FeedbackTable::Bbn(_));
                limited.then(|| build_feedback(table, spec, paths, hop, self.span, report)).flatten()
            }),
        };
        if let Some(line) = self.place.direction(spec) {
            line.feedback = feedback;
        }
    }
}

/// Returns the groups of interest whose data crosses a direction, each with the links before it and true if the data
/// are responses.
fn groups_crossing<'a>(
    spec: &'a Spec,
    paths: &'a Paths,
    hop: DirectionId,
    is_of_interest: impl Fn(&GroupSpec) -> bool,
) -> impl Iterator<Item = (&'a GroupSpec, &'a [DirectionId], bool)> {
    // Filter groups before searching paths: a large network calls this for each queue.
    let groups = spec.groups.iter().zip(&paths.groups).filter(move |(group, _)| is_of_interest(group));
    groups.flat_map(move |(group, path)| {
        let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
        let directions = path.iter().flat_map(move |path| {
            let back = answers.then_some((&path.backward[..], true));
            core::iter::once((&path.forward[..], false)).chain(back)
        });
        directions.filter_map(move |(links, reply)| {
            let before = links.iter().position(|&crossed| crossed == hop)?;
            Some((group, &links[..before], reply))
        })
    })
}

/// Returns the feedback that the schemes of the flows over a direction need: the first of several kinds.
fn feedback_needed(spec: &Spec, paths: &Paths, hop: DirectionId) -> Option<FeedbackKind> {
    let wants = |group: &GroupSpec| group.transport.properties().router_feedback().is_needed;
    groups_crossing(spec, paths, hop, wants)
        .find_map(|(group, _, _)| group.transport.properties().router_feedback().kind)
}

fn build_feedback(
    table: FeedbackTable,
    spec: &Spec,
    paths: &Paths,
    hop: DirectionId,
    span: Span,
    report: &mut Report,
) -> Option<FeedbackSpec> {
    let line = direction_of_hop(spec, hop);
    match table {
        FeedbackTable::Seif(mut table) => {
            table.inherit(Fields::defaults());
            let (message_bytes, recipients) = resolve_messages(&table.messages, report)?;
            let kind = FeedbackKind::Seif;
            let response = || longest_response(spec, paths, hop, kind, recipients, message_bytes);
            let policy =
                PolicySpec::Seif(resolve_seif((&table, message_bytes), response, line, span, report)?);
            Some(FeedbackSpec { policy, recipients, message_bytes })
        }
        FeedbackTable::SourceQuench(mut table) => {
            table.inherit(Fields::defaults());
            let (message_bytes, recipients) = resolve_messages(&table.messages, report)?;
            let on_drop = table.on_drop.as_ref()?.value;
            if let Some(at) = table.threshold.as_ref().filter(|_| on_drop) {
                let message = "a threshold has no effect where only drops are reported";
                report.error("scenario.conflict", at.span, message);
            }
            if line.queue.limit() == Limit::Unlimited {
                return report_unlimited_rate("source-quench", span, report);
            }
            let threshold_share = table.threshold.as_ref().map_or(0.5, |at| at.value.0);
            let policy = PolicySpec::SourceQuench(QuenchSpec { threshold_share, on_drop });
            Some(FeedbackSpec { policy, recipients, message_bytes })
        }
        FeedbackTable::DecBit(mut table) => {
            table.inherit(Fields::defaults());
            let policy =
                PolicySpec::DecBit(DecBitSpec { threshold_packets: table.threshold.as_ref()?.value.0 });
            let recipients = table.to.as_ref()?.value.0;
            Some(FeedbackSpec { recipients, ..FeedbackSpec::new(policy) })
        }
        FeedbackTable::Bbn(mut table) => {
            table.inherit(Fields::defaults());
            let (message_bytes, recipients) = resolve_messages(&table.messages, report)?;
            let (target, interval) = (table.target.as_ref()?, table.interval.as_ref()?);
            if target.value.0 <= 0.0 {
                report.error("scenario.range", target.span, "a target must be above 0");
            }
            if interval.value < MIN_RATION_INTERVAL {
                let message = format!("an interval of rations must be at least {MIN_RATION_INTERVAL}");
                report.error("scenario.range", interval.span, message);
            }
            let policy = PolicySpec::Rations(RationsSpec {
                target: target.value.0,
                interval: interval.value,
                routing_interval: table.routing_interval.as_ref()?.value,
            });
            Some(FeedbackSpec { policy, recipients, message_bytes })
        }
    }
}

/// Minimum renewal interval of explicit rates: a shorter one would dominate the run time.
const MIN_RATION_INTERVAL: Duration = Duration::from_micros(10);

fn report_unlimited_rate<T>(kind: &str, span: Span, report: &mut Report) -> Option<T> {
    let message = format!("a queue without a limit never gives {kind} feedback");
    report.error("scenario.feedback", span, message).help("give the queue a `capacity`");
    None
}

fn resolve_messages(table: &Messages, report: &mut Report) -> Option<(u32, Recipients)> {
    let size = table.message.as_ref()?;
    let message = packet_sized(size.value).filter(|&size| size > 0);
    if message.is_none() {
        report.error("scenario.range", size.span, "a message has 1 B to 1 MiB");
    }
    Some((message?, table.to.as_ref()?.value.0))
}

fn resolve_seif(
    (table, message_bytes): (&SeifFeedback, u32),
    response: impl FnOnce() -> Duration,
    line: &DirectionSpec,
    span: Span,
    report: &mut Report,
) -> Option<SeifSpec> {
    if line.queue.limit() == Limit::Unlimited {
        return report_unlimited_rate("seif", span, report);
    }
    let kind = table.policy.as_ref()?.value.0;
    let (alpha, window) = (&table.alpha, &table.window);
    let span_of = |at: &Option<Spanned<Duration>>| at.as_ref().map(|at| at.span);
    let inapplicable = match kind {
        SeifPolicyKind::Dynamic => vec![table.threshold.as_ref().map(|at| at.span)],
        SeifPolicyKind::Static | SeifPolicyKind::Reacting => {
            vec![alpha.as_ref().map(|at| at.span), span_of(&table.response), span_of(window)]
        }
    };
    for span in inapplicable.into_iter().flatten() {
        let message =
            format!("this key has no effect with the policy \"{}\"", SeifPolicyKindName(kind).word());
        let help = "`alpha`, `response` and `window` are of \"dynamic\", `threshold` is of the others";
        report.error("scenario.conflict", span, message).help(help);
    }
    let alpha_value = alpha.as_ref().map_or(0.8, |at| at.value.0);
    if let Some(at) = alpha.as_ref().filter(|_| !(alpha_value > 0.0 && alpha_value <= 1.0)) {
        report.error("scenario.range", at.span, "alpha must be above 0, and at most 1");
    }
    if let Some(at) = window.as_ref().filter(|at| at.value.is_zero()) {
        report.error("scenario.range", at.span, "arrivals are measured over some time").help("1 s without");
    }
    if let Some(at) = table.threshold.as_ref().filter(|at| at.value.0 <= 0.0) {
        let help = "at 0 % every packet that waits would be over it; the thesis has 80 %";
        report.error("scenario.range", at.span, "a threshold must be above 0").help(help);
    }
    let window = window.as_ref().map_or(Duration::from_secs(1), |at| at.value);
    let policy = match kind {
        SeifPolicyKind::Static => SeifPolicy::Static,
        SeifPolicyKind::Reacting => SeifPolicy::Reacting,
        SeifPolicyKind::Dynamic => SeifPolicy::Dynamic {
            alpha: alpha_value,
            response_time: table.response.as_ref().map_or_else(response, |at| at.value),
            window,
        },
    };
    let overhead = table.overhead.as_ref().map(|at| OverheadSpec {
        share: at.value.0,
        control: table.overhead_by.as_ref().map_or(OverheadControl::Growth, |at| at.value.0),
        message_bytes,
    });
    if let Some(at) = table.overhead.as_ref().filter(|at| at.value.0 <= 0.0) {
        let help = "`to` and `reach` select sources; \"none\" disables feedback";
        report.error("scenario.range", at.span, "an overhead must be above 0").help(help);
    }
    if let Some(at) = table.overhead_by.as_ref().filter(|_| overhead.is_none()) {
        report
            .error("scenario.conflict", at.span, "this key has no effect without `overhead`")
            .help("`overhead` is the share of the line's rate that messages may take");
    }
    Some(SeifSpec {
        policy,
        threshold_share: table.threshold.as_ref().map_or(0.8, |at| at.value.0),
        filter: table.filter.as_ref()?.value,
        routing_interval: table.routing_interval.as_ref()?.value,
        max_links: table.reach.as_deref().copied(),
        mark: table.mark.as_ref()?.value,
        overhead,
    })
}

/// Returns the longest time, among the notified sources, from a message to the arrival of the first packet sent in
/// response, on an idle path.
fn longest_response(
    spec: &Spec,
    paths: &Paths,
    hop: DirectionId,
    kind: FeedbackKind,
    recipients: Recipients,
    message: u32,
) -> Duration {
    let mut routes = Routes::new(spec);
    let link = &spec.links[hop as usize / 2];
    let router = if hop.is_multiple_of(2) { link.a } else { link.b };
    let time = |line: &DirectionSpec, size: u32| line.delay + service_time(line, size);
    let is_notified = |group: &GroupSpec| {
        recipients == Recipients::All || group.transport.properties().router_feedback().kind == Some(kind)
    };
    groups_crossing(spec, paths, hop, is_notified)
        .map(|(group, before, reply)| {
            let (data, _) = packet_sizes(&group.transport);
            let home = if reply { group.to } else { group.from };
            let back = routes.path(router, home).unwrap_or_default();
            let own = group.access.as_ref().map(|access| match reply {
                false => time(&access.source_backward, message) + time(&access.source_forward, data),
                true => time(&access.sink_forward, message) + time(&access.sink_backward, data),
            });
            back.iter().map(|&hop| time(direction_of_hop(spec, hop), message)).sum::<Duration>()
                + before.iter().map(|&hop| time(direction_of_hop(spec, hop), data)).sum()
                + own.unwrap_or_default()
        })
        .max()
        .unwrap_or_default()
}
