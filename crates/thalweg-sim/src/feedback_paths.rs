//! Paths of routers' feedback messages from queues to sources.

use crate::shortest_paths::{DirectionId, Routes};
use crate::simulation_spec::{NodeId, Spec, WorkloadSpec};

/// A queue with feedback to the sources of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FeedbackSource {
    pub queue: DirectionId,
    pub group: u32,
    /// True for data in responses, sent by the sinks of the group's flows.
    pub reply: bool,
}

/// The path from a router to sources at a node.
#[derive(Clone, Debug)]
pub(crate) struct MessagePath {
    /// The links of the path.
    pub path: Vec<DirectionId>,
    /// True if the sources are behind access links of their own.
    pub has_access: bool,
    /// The queues and groups whose messages take this path.
    pub sources: Vec<FeedbackSource>,
}

/// Returns all message paths of a network.
pub(crate) fn message_paths(spec: &Spec, routes: &mut Routes<'_>) -> Vec<MessagePath> {
    let mut requests: Vec<((NodeId, NodeId, bool), FeedbackSource)> = Vec::new();
    if spec.links.iter().all(|link| link.forward.feedback.is_none() && link.backward.feedback.is_none()) {
        return Vec::new();
    }
    for (number, group) in (0..).zip(&spec.groups) {
        let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
        let paths = [(group.from, group.to, false), (group.to, group.from, true)];
        for (source_node, sink, reply) in paths.into_iter().filter(|ends| !ends.2 || answers) {
            for queue in routes.path(source_node, sink).unwrap_or_default() {
                let link = &spec.links[queue as usize / 2];
                let is_forward = queue.is_multiple_of(2);
                let (line, router) =
                    if is_forward { (&link.forward, link.a) } else { (&link.backward, link.b) };
                if line.feedback.as_ref().is_some_and(|feedback| group.transport.receives_feedback(feedback))
                {
                    let source = FeedbackSource { queue, group: number, reply };
                    requests.push(((router, source_node, group.access.is_some()), source));
                }
            }
        }
    }
    // Searches once per router, and adds one route for all of its queues.
    requests.sort_unstable();
    let paths = requests.chunk_by(|(a, _), (b, _)| a == b).filter_map(|same| {
        let (router, source_node, has_access) = same.first()?.0;
        let path = routes.path(router, source_node)?;
        Some(MessagePath { path, has_access, sources: same.iter().map(|&(_, source)| source).collect() })
    });
    paths.collect()
}
