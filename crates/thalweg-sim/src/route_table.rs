//! The route table of packets, built before the run from the paths between the endpoints of its flows.

use crate::components::ecmp_groups::{Branch, EcmpGroups, FIRST_ECMP_GROUP};
use crate::components::forwarding_state::{END, EXIT};
use crate::routing_spec::Multipath;
use crate::shortest_paths::{DirectionId, Routes, ShortestPathDag};
use crate::simulation_spec::{NodeId, Spec};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::units::Time;

/// A route: source node, destination node, and true if it continues on a link of the packet's own flow.
type RouteKey = (NodeId, NodeId, bool);

/// The route table and the start positions of its routes.
#[derive(Debug)]
pub(crate) struct RouteTable {
    /// Transmitters and ECMP groups, each route ended by [`END`].
    pub routes: Vec<u32>,
    pub ecmp_groups: EcmpGroups,
    /// Times of route changes, without the start of the run.
    pub changes: Vec<Time>,
    /// Start positions by epoch.
    starts: Vec<BTreeMap<RouteKey, u32>>,
}

impl RouteTable {
    /// Builds the routes of all flows.
    pub fn new(spec: &Spec) -> Self {
        let wanted: BTreeSet<RouteKey> = spec
            .groups
            .iter()
            .flat_map(|group| {
                let exits = group.access.is_some();
                group.node_pairs().flat_map(move |[from, to]| [(from, to, exits), (to, from, exits)])
            })
            .collect();
        let mut builder =
            RouteTableBuilder { routes: Vec::new(), ecmp_groups: Vec::new(), branches: Vec::new() };
        let mut starts = Vec::new();
        let epochs = spec.routing.epochs();
        for (_, failed) in &epochs {
            let mut routes = Routes::without_links(spec, failed);
            starts.push(match spec.routing.paths {
                Multipath::One => builder.paths(&mut routes, &wanted),
                Multipath::Flow | Multipath::Packet => builder.add_all_paths(&mut routes, &wanted),
            });
        }
        let by_packet = spec.routing.paths == Multipath::Packet;
        Self {
            routes: builder.routes,
            ecmp_groups: EcmpGroups::new(spec.seed, by_packet, builder.ecmp_groups, builder.branches),
            changes: epochs.iter().skip(1).map(|(at, _)| *at).collect(),
            starts,
        }
    }

    /// Returns the start positions of a route, initially and after each change; `None` without a route. If failures
    /// leave no route, the previous one stays.
    pub fn starts(&self, from: NodeId, to: NodeId, exits: bool) -> Option<Vec<u32>> {
        let mut starts = Vec::with_capacity(self.starts.len());
        for epoch in &self.starts {
            let found = epoch.get(&(from, to, exits)).or(starts.last());
            starts.push(*found?);
        }
        Some(starts)
    }
}

/// Maximum number of route entries to copy.
const LONGEST_COPY: usize = 8;

/// Builder of the route table.
struct RouteTableBuilder {
    routes: Vec<u32>,
    ecmp_groups: Vec<(u32, u32)>,
    branches: Vec<Branch>,
}

impl RouteTableBuilder {
    /// Adds one path for each wanted route.
    fn paths(&mut self, routes: &mut Routes<'_>, wanted: &BTreeSet<RouteKey>) -> BTreeMap<RouteKey, u32> {
        let mut starts = BTreeMap::new();
        for &(from, to, exits) in wanted {
            let Some(path) = routes.path(from, to) else { continue };
            starts.insert((from, to, exits), self.routes.len() as u32);
            self.routes.extend(path);
            self.end(exits);
        }
        starts
    }

    /// Adds all shortest paths; paths to the same node share their common suffix.
    fn add_all_paths(
        &mut self,
        routes: &mut Routes<'_>,
        wanted: &BTreeSet<RouteKey>,
    ) -> BTreeMap<RouteKey, u32> {
        let by_sink: BTreeSet<(NodeId, bool, NodeId)> =
            wanted.iter().map(|&(from, to, exits)| (to, exits, from)).collect();
        let mut starts = BTreeMap::new();
        let mut placed = (None, BTreeMap::new());
        for (to, exits, from) in by_sink {
            if placed.0 != Some((to, exits)) {
                placed = (Some((to, exits)), BTreeMap::new());
            }
            let dag = routes.shortest_path_dag(to);
            if from != to && dag.leaving(from).is_empty() {
                continue;
            }
            self.write_next_hops(routes, &dag, [from, to], exits, &mut placed.1);
            starts.insert((from, to, exits), placed.1[&from]);
        }
        starts
    }

    /// Writes the next hops of a node and of all nodes after it.
    fn write_next_hops(
        &mut self,
        routes: &Routes<'_>,
        dag: &ShortestPathDag,
        [from, to]: [NodeId; 2],
        exits: bool,
        placed: &mut BTreeMap<NodeId, u32>,
    ) {
        let first_branch = self.branches.len();
        let mut left = vec![from];
        while let Some(mut node) = left.pop() {
            while !placed.contains_key(&node) {
                placed.insert(node, self.routes.len() as u32);
                if node == to {
                    self.end(exits);
                    break;
                }
                let leaving = dag.leaving(node);
                let next = |direction: DirectionId| routes.ends(direction).1;
                if let [only] = leaving[..] {
                    let behind = placed.get(&next(only)).copied();
                    if behind.is_none() {
                        self.routes.push(only);
                        node = next(only);
                        continue;
                    }
                    // A short path without a choice is copied rather than jumped to.
                    if let Some(rest) = behind.and_then(|at| self.short_tail(at)) {
                        self.routes.push(only);
                        self.routes.extend(rest);
                        break;
                    }
                }
                // The position of the next hops is not known yet, but their node is.
                self.branches.extend(leaving.iter().map(|&link| Branch { link, next: next(link).0 }));
                self.routes.push(FIRST_ECMP_GROUP + self.ecmp_groups.len() as u32);
                self.ecmp_groups.push((node.0, self.branches.len() as u32));
                left.extend(leaving.iter().map(|&link| next(link)));
            }
        }
        for branch in &mut self.branches[first_branch..] {
            branch.next = placed[&NodeId(branch.next)];
        }
    }

    /// Returns the rest of a route from a position, if it is short and has no choice.
    fn short_tail(&self, at: u32) -> Option<Vec<u32>> {
        let rest = self.routes.get(at as usize..)?;
        let length = rest.iter().take(LONGEST_COPY).position(|&entry| entry == END)? + 1;
        let is_straight = rest[..length].iter().all(|&entry| !(FIRST_ECMP_GROUP..EXIT).contains(&entry));
        is_straight.then(|| rest[..length].to_vec())
    }

    fn end(&mut self, exits: bool) {
        self.routes.extend(exits.then_some(EXIT));
        self.routes.push(END);
    }
}
