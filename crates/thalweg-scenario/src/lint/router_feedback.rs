//! Checks of router feedback: queues without a flow that uses it, and flows without a queue that sends it.

use super::super::diagnostic::Report;
use super::super::path_properties::direction_of_hop;
use super::LintInput;
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{GroupSpec, WorkloadSpec};

/// Returns the link directions that a group's data crosses, including responses.
pub(super) fn data_paths<'a>(checked: &LintInput<'a>, number: usize) -> Vec<&'a [DirectionId]> {
    let (group, path) = (&checked.spec.groups[number], &checked.paths.groups[number]);
    let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
    path.iter()
        .flat_map(|path| core::iter::once(&path.forward[..]).chain(answers.then_some(&path.backward[..])))
        .collect()
}

/// Warns of flows whose scheme uses feedback that no queue on their path sends.
pub(super) fn unserved_flows(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    for (number, (group, origin)) in spec.groups.iter().zip(&checked.origins.groups).enumerate() {
        let Some(kind) = group.transport.properties().router_feedback().needed() else { continue };
        let sends_feedback = |&hop: &DirectionId| {
            direction_of_hop(spec, hop).feedback.is_some_and(|feedback| feedback.policy.kind() == kind)
        };
        if !data_paths(checked, number).into_iter().flatten().any(sends_feedback) {
            let message = format!(
                "`{}` accepts {} feedback, but no queue on its path sends it",
                group.name,
                kind.name()
            );
            let help = "a queue without `feedback` sends the kind that the first flow over it accepts, if it has a limit";
            report.warn("scenario.feedback", origin.scheme, message).help(help);
        }
    }
}

/// Warns of queues that send feedback to flows that ignore it.
pub(super) fn feedback_sources(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    for (number, (link, origin)) in spec.links.iter().zip(&checked.origins.links).enumerate() {
        for (back, line) in [&link.forward, &link.backward].into_iter().enumerate() {
            let Some(feedback) = &line.feedback else { continue };
            let hop = DirectionId::try_from(number * 2 + back).unwrap_or_default();
            let crossing: Vec<&GroupSpec> = (0..spec.groups.len())
                .filter(|&group| {
                    data_paths(checked, group).into_iter().flatten().any(|&crossed| crossed == hop)
                })
                .map(|group| &spec.groups[group])
                .collect();
            // A direction without data has no feedback to send; the opposite direction may have.
            if !crossing.is_empty()
                && !crossing.iter().any(|group| group.transport.receives_feedback(feedback))
            {
                let message = format!(
                    "the queue of `{}` sends {} feedback, but no flow over it accepts it",
                    link.name,
                    feedback.policy.kind().name()
                );
                let help = "give a flow a scheme that accepts feedback; to = \"all\" sends messages that other schemes ignore";
                report.warn("scenario.feedback", origin.queue[back], message).help(help);
                break;
            }
        }
    }
}
