//! Static shortest-path routing.

use crate::spec::{NodeId, Spec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One direction of one of the specification's links: `2 * link` from a to b, `2 * link + 1` back.
pub type DirectionId = u32;

/// The directions to take from one node to another: the path of least total propagation delay, then of fewest hops,
/// then with the links that come first in the specification. Empty when both are the same; `None` when there is none.
pub fn shortest_path(spec: &Spec, from: NodeId, to: NodeId) -> Option<Vec<DirectionId>> {
    Routes::new(spec).path(from, to)
}

/// Paths through one network, with the search tree of the last source kept.
pub struct Routes<'a> {
    spec: &'a Spec,
    /// The directions that leave each node.
    leaving: Vec<Vec<DirectionId>>,
    tree: Option<(NodeId, Vec<Option<DirectionId>>)>,
}

impl<'a> Routes<'a> {
    /// Prepares the search in `spec`, whose links must be between nodes that exist.
    pub fn new(spec: &'a Spec) -> Self {
        let mut leaving = vec![Vec::new(); spec.nodes.len()];
        for (index, link) in spec.links.iter().enumerate() {
            let forward = 2 * index as DirectionId;
            leaving[link.a.0 as usize].push(forward);
            leaving[link.b.0 as usize].push(forward + 1);
        }
        Self { spec, leaving, tree: None }
    }

    /// The path, as [`shortest_path`] tells it.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<DirectionId>> {
        if self.tree.as_ref().is_none_or(|(root, _)| *root != from) {
            self.tree = Some((from, self.search(from)));
        }
        let (_, arrived_by) = self.tree.as_ref()?;
        let (mut path, mut at) = (Vec::new(), to);
        while at != from {
            let direction = arrived_by[at.0 as usize]?;
            path.push(direction);
            at = self.ends(direction).0;
        }
        path.reverse();
        Some(path)
    }

    fn ends(&self, direction: DirectionId) -> (NodeId, NodeId) {
        let link = &self.spec.links[direction as usize / 2];
        if direction.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
    }

    /// Dijkstra's algorithm: by which direction each node is reached.
    fn search(&self, root: NodeId) -> Vec<Option<DirectionId>> {
        let mut best = vec![(u64::MAX, u32::MAX); self.spec.nodes.len()];
        let mut arrived_by = vec![None; self.spec.nodes.len()];
        let mut frontier = BinaryHeap::from([Reverse((0, 0, root.0))]);
        best[root.0 as usize] = (0, 0);
        while let Some(Reverse((delay, hops, node))) = frontier.pop() {
            if best[node as usize] < (delay, hops) {
                continue;
            }
            for &direction in &self.leaving[node as usize] {
                let link = &self.spec.links[direction as usize / 2];
                let way = if direction.is_multiple_of(2) { &link.forward } else { &link.backward };
                let cost = (delay.saturating_add(way.delay.as_picos()), hops + 1);
                let next = self.ends(direction).1;
                if cost < best[next.0 as usize] {
                    best[next.0 as usize] = cost;
                    arrived_by[next.0 as usize] = Some(direction);
                    frontier.push(Reverse((cost.0, cost.1, next.0)));
                }
            }
        }
        arrived_by
    }
}
