//! Shortest-path routing: one best path between two nodes, or all equal-cost paths.

use crate::routing_spec::{Metric, Multipath};
use crate::simulation_spec::{NodeId, Spec};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

/// One direction of a link of the specification: `2 * link` from a to b, `2 * link + 1` from b to a.
pub type DirectionId = u32;

/// Returns the directions of the best path between two nodes: minimum cost by the specification's metric, then fewest
/// hops, then the links listed first in the specification. Empty if both nodes are the same; `None` if there is no
/// path.
pub fn shortest_path(spec: &Spec, from: NodeId, to: NodeId) -> Option<Vec<DirectionId>> {
    Routes::new(spec).path(from, to)
}

/// Cost of a path: by the metric, then the number of links.
type Cost = (u64, u32);

/// Path search in one network, with the results for the last source and the last sink cached. A node with a single link
/// uses the paths of its neighbour plus that link: hosts at one switch share a search.
pub struct Routes<'a> {
    spec: &'a Spec,
    /// Directions leaving each node.
    leaving: Vec<Vec<DirectionId>>,
    tree: Option<(NodeId, Vec<Option<DirectionId>>)>,
    dag: Option<(NodeId, Rc<Vec<Vec<DirectionId>>>)>,
}

/// All best paths to one node (its shortest-path DAG).
pub(crate) struct ShortestPathDag {
    to: NodeId,
    /// For a node with a single neighbour, that neighbour and the direction from it: the rest then leads to the
    /// neighbour.
    last: Option<(NodeId, [DirectionId; 1])>,
    /// Directions of the best paths at each node.
    leaving: Rc<Vec<Vec<DirectionId>>>,
}

impl ShortestPathDag {
    /// Returns the first directions of the best paths from a node; empty without a path, and at the destination. Each
    /// leads to a node with fewer links to go, hence there are no loops.
    pub fn leaving(&self, node: NodeId) -> &[DirectionId] {
        match &self.last {
            _ if node == self.to => &[],
            Some((neighbour, last)) if node == *neighbour => last,
            _ => &self.leaving[node.0 as usize],
        }
    }
}

impl<'a> Routes<'a> {
    /// Prepares the search in `spec`; the nodes of all its links must exist.
    pub fn new(spec: &'a Spec) -> Self {
        Self::without_links(spec, &BTreeSet::new())
    }

    /// Prepares the search without failed links.
    pub(crate) fn without_links(spec: &'a Spec, failed: &BTreeSet<u32>) -> Self {
        let mut leaving = vec![Vec::new(); spec.nodes.len()];
        for (index, link) in (0..).zip(&spec.links).filter(|(index, _)| !failed.contains(index)) {
            let forward = 2 * index;
            leaving[link.a.0 as usize].push(forward);
            leaving[link.b.0 as usize].push(forward + 1);
        }
        Self { spec, leaving, tree: None, dag: None }
    }

    /// Returns the neighbour of a node with a single link, and the direction to it.
    fn only_neighbour(&self, node: NodeId) -> Option<(NodeId, DirectionId)> {
        let [only] = self.leaving[node.0 as usize][..] else { return None };
        Some((self.ends(only).1, only))
    }

    /// Returns the path, as [`shortest_path`] does.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<DirectionId>> {
        let first = self.only_neighbour(from).filter(|_| from != to);
        let root = first.map_or(from, |(neighbour, _)| neighbour);
        if self.tree.as_ref().is_none_or(|(of, _)| *of != root) {
            self.tree = Some((root, self.search(root)));
        }
        let (_, arrived_by) = self.tree.as_ref()?;
        let (mut path, mut at) = (Vec::new(), to);
        while at != root {
            let direction = arrived_by[at.0 as usize]?;
            path.push(direction);
            at = self.ends(direction).0;
        }
        path.extend(first.map(|(_, direction)| direction));
        path.reverse();
        Some(path)
    }

    /// Returns the source and destination nodes of a direction.
    pub(crate) fn ends(&self, direction: DirectionId) -> (NodeId, NodeId) {
        let link = &self.spec.links[direction as usize / 2];
        if direction.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
    }

    /// Returns the cost of a path extended by a direction.
    fn extended_cost(&self, (cost, hops): Cost, direction: DirectionId) -> Cost {
        let link = &self.spec.links[direction as usize / 2];
        let (line, weight) = if direction.is_multiple_of(2) {
            (&link.forward, link.weight)
        } else {
            (&link.backward, link.reverse_weight.unwrap_or(link.weight))
        };
        let more = match self.spec.routing.metric {
            Metric::Delay => line.delay.as_picos(),
            Metric::Hops => 1,
            Metric::Weight => weight.into(),
        };
        (cost.saturating_add(more), hops + 1)
    }

    /// Runs Dijkstra's algorithm: returns the direction that reaches each node.
    fn search(&self, root: NodeId) -> Vec<Option<DirectionId>> {
        let mut best = vec![(u64::MAX, u32::MAX); self.spec.nodes.len()];
        let mut arrived_by = vec![None; self.spec.nodes.len()];
        let mut frontier = BinaryHeap::from([Reverse((0, 0, root.0))]);
        best[root.0 as usize] = (0, 0);
        while let Some(Reverse((cost, hops, node))) = frontier.pop() {
            if best[node as usize] < (cost, hops) {
                continue;
            }
            for &direction in &self.leaving[node as usize] {
                let cost = self.extended_cost((cost, hops), direction);
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

    /// Returns all best paths to a node.
    pub(crate) fn shortest_path_dag(&mut self, to: NodeId) -> ShortestPathDag {
        let last = self.only_neighbour(to);
        let root = last.map_or(to, |(neighbour, _)| neighbour);
        let kept = self.dag.take().filter(|(of, _)| *of == root);
        let (_, leaving) = self.dag.insert(kept.unwrap_or_else(|| (root, Rc::new(self.best_leaving(root)))));
        let leaving = Rc::clone(leaving);
        ShortestPathDag { to, last: last.map(|(neighbour, back)| (neighbour, [back ^ 1])), leaving }
    }

    /// Returns the first directions of the best paths from each node to `root`, by Dijkstra's algorithm.
    fn best_leaving(&self, root: NodeId) -> Vec<Vec<DirectionId>> {
        let mut best = vec![(u64::MAX, u32::MAX); self.spec.nodes.len()];
        let mut frontier = BinaryHeap::from([Reverse((0, 0, root.0))]);
        best[root.0 as usize] = (0, 0);
        while let Some(Reverse((cost, hops, node))) = frontier.pop() {
            if best[node as usize] < (cost, hops) {
                continue;
            }
            for &leaving in &self.leaving[node as usize] {
                let cost = self.extended_cost((cost, hops), leaving ^ 1);
                let before = self.ends(leaving).1;
                if cost < best[before.0 as usize] {
                    best[before.0 as usize] = cost;
                    frontier.push(Reverse((cost.0, cost.1, before.0)));
                }
            }
        }
        let is_best = |node: usize, direction: DirectionId| {
            let next = best[self.ends(direction).1.0 as usize];
            next.1 < u32::MAX && self.extended_cost(next, direction) == best[node]
        };
        let mut dag = self.leaving.clone();
        for (node, leaving) in dag.iter_mut().enumerate() {
            leaving.retain(|&direction| node != root.0 as usize && is_best(node, direction));
        }
        dag
    }
}

/// The paths of packets between two nodes, over the whole run.
#[derive(Clone, Debug, Default)]
pub struct FlowPaths {
    /// A best path without failures.
    pub path: Vec<DirectionId>,
    /// Each possible direction, with its share of the packets without failures and with even choices.
    pub shares: Vec<(DirectionId, f64)>,
    /// Pairs of directions that packets may take consecutively.
    pub(crate) steps: Vec<(DirectionId, DirectionId)>,
    /// Directions by which packets may leave the first node, and reach the last.
    pub(crate) first: Vec<DirectionId>,
    pub(crate) last: Vec<DirectionId>,
}

/// Returns the paths of all flows' packets, in both directions, by pair of nodes. Pairs without a path in the absence
/// of failures are omitted.
pub fn all_paths(spec: &Spec) -> BTreeMap<(NodeId, NodeId), FlowPaths> {
    let ends =
        spec.groups.iter().flat_map(|group| group.node_pairs().map(|[from, to]| [(from, to), (to, from)]));
    let mut paths: BTreeMap<(NodeId, NodeId), FlowPaths> = BTreeMap::new();
    let pairs: BTreeSet<(NodeId, NodeId)> = ends.flatten().collect();
    let epochs = spec.routing.epochs();
    let several = epochs.len() > 1;
    for (number, (_, failed)) in epochs.iter().enumerate() {
        let mut routes = Routes::without_links(spec, failed);
        let is_first = number == 0;
        if is_first || spec.routing.paths == Multipath::One {
            // By source node, as the search is per node.
            for &(from, to) in &pairs {
                let Some(path) = routes.path(from, to) else { continue };
                let of = paths.entry((from, to)).or_default();
                if spec.routing.paths == Multipath::One {
                    of.add(path.windows(2).map(|pair| (pair[0], pair[1])), &path[..], is_first);
                    of.first.extend(path.first());
                    of.last.extend(path.last());
                }
                if is_first {
                    of.path = path;
                }
            }
        }
        if spec.routing.paths != Multipath::One {
            let back: BTreeSet<(NodeId, NodeId)> = pairs.iter().map(|&(from, to)| (to, from)).collect();
            let mut traversal = DagTraversal::new(spec.nodes.len());
            for &(to, from) in &back {
                let dag = routes.shortest_path_dag(to);
                if let Some(of) = paths.get_mut(&(from, to)) {
                    traversal.add(&routes, &dag, from, of, is_first);
                }
            }
        }
    }
    for of in paths.values_mut() {
        for list in [&mut of.first, &mut of.last] {
            list.sort_unstable();
            list.dedup();
        }
        // Removes duplicates of several epochs.
        if several {
            of.steps.sort_unstable();
            of.steps.dedup();
        }
    }
    paths
}

impl FlowPaths {
    fn add(
        &mut self,
        steps: impl Iterator<Item = (DirectionId, DirectionId)>,
        taken: &[DirectionId],
        is_first: bool,
    ) {
        self.steps.extend(steps);
        let share = if is_first { 1.0 } else { 0.0 };
        for &direction in taken {
            if is_first || !self.shares.iter().any(|(of, _)| *of == direction) {
                self.shares.push((direction, share));
            }
        }
    }
}

/// Traversal of shortest-path DAGs.
struct DagTraversal {
    /// Share of packets that reach each node.
    shares: Vec<f64>,
    /// Directions on the paths that lead to each node, and the number of those not traversed yet.
    arrived: Vec<Vec<DirectionId>>,
    untraversed: Vec<usize>,
    /// Nodes on the paths.
    reached_nodes: Vec<NodeId>,
}

impl DagTraversal {
    fn new(nodes: usize) -> Self {
        Self {
            shares: vec![0.0; nodes],
            arrived: vec![Vec::new(); nodes],
            untraversed: vec![0; nodes],
            reached_nodes: Vec::new(),
        }
    }

    /// Adds the paths from a node through a shortest-path DAG.
    fn add(
        &mut self,
        routes: &Routes<'_>,
        dag: &ShortestPathDag,
        from: NodeId,
        of: &mut FlowPaths,
        is_first: bool,
    ) {
        for node in self.reached_nodes.drain(..) {
            self.shares[node.0 as usize] = 0.0;
            self.arrived[node.0 as usize].clear();
        }
        self.reached_nodes.push(from);
        let mut stack = vec![from];
        while let Some(node) = stack.pop() {
            for &direction in dag.leaving(node) {
                let next = routes.ends(direction).1;
                let arrived = &mut self.arrived[next.0 as usize];
                if arrived.is_empty() {
                    self.reached_nodes.push(next);
                    stack.push(next);
                }
                arrived.push(direction);
                self.untraversed[next.0 as usize] = arrived.len();
            }
        }
        self.shares[from.0 as usize] = 1.0;
        of.first.extend(dag.leaving(from));
        of.last.extend(&self.arrived[dag.to.0 as usize]);
        // Topological order: each node is reached before it is left.
        stack.push(from);
        while let Some(node) = stack.pop() {
            let leaving = dag.leaving(node);
            let share = self.shares[node.0 as usize] / leaving.len().max(1) as f64;
            for &direction in leaving {
                of.steps.extend(self.arrived[node.0 as usize].iter().map(|&before| (before, direction)));
                // The first epoch has no duplicates.
                if is_first {
                    of.shares.push((direction, share));
                } else if !of.shares.iter().any(|(of, _)| *of == direction) {
                    of.shares.push((direction, 0.0));
                }
                let next = routes.ends(direction).1.0 as usize;
                self.shares[next] += share;
                self.untraversed[next] -= 1;
                if self.untraversed[next] == 0 {
                    stack.push(NodeId(next as u32));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation_spec::{DirectionSpec, LinkSpec, NodeSpec};
    use proptest::prelude::*;
    use thalweg_proto::units::Duration;

    const NODES: u32 = 9;

    /// Builds a network with these links, by node numbers, and their delays in milliseconds.
    fn network(links: &[(u32, u32, u64)]) -> Spec {
        let link = |(number, &(a, b, delay)): (usize, &(u32, u32, u64))| {
            let direction = DirectionSpec::unlimited_rate(Duration::from_millis(delay));
            LinkSpec::new(format!("l{number}"), [a, b].map(NodeId), direction.clone(), direction)
        };
        Spec {
            nodes: (0..NODES).map(|number| NodeSpec::new(format!("n{number}"))).collect(),
            links: links.iter().enumerate().map(link).collect(),
            ..Spec::default()
        }
    }

    proptest! {
        /// A node with a single link has the paths of its neighbour: a search from the node itself finds the same, also
        /// among equal costs.
        #[test]
        fn hosts_have_the_paths_of_their_switch(
            links in prop::collection::vec((0..NODES, 0..NODES, 1_u64..3), 1..14),
        ) {
            let links: Vec<_> = links.into_iter().filter(|(a, b, _)| a != b).collect();
            let spec = network(&links);
            let mut routes = Routes::new(&spec);
            for one in (0..NODES).map(NodeId) {
                let arrived_by = routes.search(one);
                let leaving = routes.best_leaving(one);
                let dag = routes.shortest_path_dag(one);
                for other in (0..NODES).map(NodeId) {
                    let mut path = Vec::new();
                    let mut at = other;
                    while let Some(direction) = arrived_by[at.0 as usize].filter(|_| at != one) {
                        path.push(direction);
                        at = routes.ends(direction).0;
                    }
                    path.reverse();
                    prop_assert_eq!(routes.path(one, other), (at == one).then_some(path));
                    prop_assert_eq!(dag.leaving(other), &leaving[other.0 as usize][..]);
                }
            }
        }
    }
}
