//! The ways of routers' messages: from queues that speak to the sources that they tell.

use crate::route::{DirectionId, Routes};
use crate::spec::{NodeId, Spec, WorkloadSpec};

/// A queue that tells the sources of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Telling {
    pub queue: DirectionId,
    pub group: u32,
    /// The data comes from the sinks of the group's flows, which answer.
    pub reply: bool,
}

/// The way from a router to sources at a node.
#[derive(Clone, Debug)]
pub(crate) struct MessageWay {
    /// The links on the way.
    pub path: Vec<DirectionId>,
    /// The sources are behind access links of their own.
    pub has_access: bool,
    /// Those whose messages take it.
    pub of: Vec<Telling>,
}

/// All ways of messages in a network.
pub(crate) fn message_ways(spec: &Spec, routes: &mut Routes<'_>) -> Vec<MessageWay> {
    let mut wanted: Vec<((NodeId, NodeId, bool), Telling)> = Vec::new();
    if spec.links.iter().all(|link| link.forward.feedback.is_none() && link.backward.feedback.is_none()) {
        return Vec::new();
    }
    for (number, group) in (0..).zip(&spec.groups) {
        let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
        let ways = [(group.from, group.to, false), (group.to, group.from, true)];
        for (home, sink, reply) in ways.into_iter().filter(|way| !way.2 || answers) {
            for queue in routes.path(home, sink).unwrap_or_default() {
                let link = &spec.links[queue as usize / 2];
                let is_forward = queue.is_multiple_of(2);
                let (line, router) =
                    if is_forward { (&link.forward, link.a) } else { (&link.backward, link.b) };
                if line.feedback.as_ref().is_some_and(|feedback| group.transport.understands(feedback)) {
                    let telling = Telling { queue, group: number, reply };
                    wanted.push(((router, home, group.access.is_some()), telling));
                }
            }
        }
    }
    // One search for each router, one route for each that its queues share.
    wanted.sort_unstable();
    let ways = wanted.chunk_by(|(a, _), (b, _)| a == b).filter_map(|same| {
        let (router, home, has_access) = same.first()?.0;
        let path = routes.path(router, home)?;
        Some(MessageWay { path, has_access, of: same.iter().map(|&(_, telling)| telling).collect() })
    });
    ways.collect()
}
