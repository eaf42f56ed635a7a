//! The table of routes that packets follow, made before a run from the ways between the ends of its flows.

use crate::parts::forks::{Branch, FORK, Forks};
use crate::parts::network::{END, EXIT};
use crate::route::{DirectionId, Routes, Web};
use crate::routing::Multipath;
use crate::spec::{NodeId, Spec};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::units::Time;

/// A route: from a node to another, and whether it goes on by a line of the packet's own.
type Ends = (NodeId, NodeId, bool);

/// The table, and where routes begin in it.
#[derive(Debug)]
pub(crate) struct RouteTable {
    /// Transmitters and forks, each route ended by [`END`].
    pub routes: Vec<u32>,
    pub forks: Forks,
    /// The times from which routes are others, without the beginning.
    pub changes: Vec<Time>,
    /// By epoch.
    starts: Vec<BTreeMap<Ends, u32>>,
}

impl RouteTable {
    /// The routes of all flows.
    pub fn new(spec: &Spec) -> Self {
        let wanted: BTreeSet<Ends> = spec
            .groups
            .iter()
            .flat_map(|group| {
                let exits = group.access.is_some();
                group.ends().flat_map(move |[from, to]| [(from, to, exits), (to, from, exits)])
            })
            .collect();
        let mut maker = Maker { routes: Vec::new(), forks: Vec::new(), branches: Vec::new() };
        let mut starts = Vec::new();
        let epochs = spec.routing.epochs();
        for (_, failed) in &epochs {
            let mut routes = Routes::without(spec, failed);
            starts.push(match spec.routing.paths {
                Multipath::One => maker.paths(&mut routes, &wanted),
                Multipath::Flow | Multipath::Packet => maker.webs(&mut routes, &wanted),
            });
        }
        let by_packet = spec.routing.paths == Multipath::Packet;
        Self {
            routes: maker.routes,
            forks: Forks::new(spec.seed, by_packet, maker.forks, maker.branches),
            changes: epochs.iter().skip(1).map(|(at, _)| *at).collect(),
            starts,
        }
    }

    /// The positions at which a route begins, from the beginning on and after each change; `None` where there is none. Where failures
    /// leave none it stays what it was.
    pub fn starts(&self, from: NodeId, to: NodeId, exits: bool) -> Option<Vec<u32>> {
        let mut starts = Vec::with_capacity(self.starts.len());
        for epoch in &self.starts {
            let found = epoch.get(&(from, to, exits)).or(starts.last());
            starts.push(*found?);
        }
        Some(starts)
    }
}

/// The entries of a route that are copied at most.
const LONGEST_COPY: usize = 8;

/// A table that is being made.
struct Maker {
    routes: Vec<u32>,
    forks: Vec<(u32, u32)>,
    branches: Vec<Branch>,
}

impl Maker {
    /// One path for each.
    fn paths(&mut self, routes: &mut Routes<'_>, wanted: &BTreeSet<Ends>) -> BTreeMap<Ends, u32> {
        let mut starts = BTreeMap::new();
        for &(from, to, exits) in wanted {
            let Some(path) = routes.path(from, to) else { continue };
            starts.insert((from, to, exits), self.routes.len() as u32);
            self.routes.extend(path);
            self.end(exits);
        }
        starts
    }

    /// All best paths, of which those to one node share what they have in common.
    fn webs(&mut self, routes: &mut Routes<'_>, wanted: &BTreeSet<Ends>) -> BTreeMap<Ends, u32> {
        let by_sink: BTreeSet<(NodeId, bool, NodeId)> =
            wanted.iter().map(|&(from, to, exits)| (to, exits, from)).collect();
        let mut starts = BTreeMap::new();
        let mut placed = (None, BTreeMap::new());
        for (to, exits, from) in by_sink {
            if placed.0 != Some((to, exits)) {
                placed = (Some((to, exits)), BTreeMap::new());
            }
            let web = routes.web(to);
            if from != to && web.leaving(from).is_empty() {
                continue;
            }
            self.place(routes, &web, [from, to], exits, &mut placed.1);
            starts.insert((from, to, exits), placed.1[&from]);
        }
        starts
    }

    /// Writes down how to go on from a node, and from all behind it.
    fn place(
        &mut self,
        routes: &Routes<'_>,
        web: &Web,
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
                let leaving = web.leaving(node);
                let next = |direction: DirectionId| routes.ends(direction).1;
                if let [only] = leaving[..] {
                    let behind = placed.get(&next(only)).copied();
                    if behind.is_none() {
                        self.routes.push(only);
                        node = next(only);
                        continue;
                    }
                    // A short way without a choice is sooner written twice than jumped to.
                    if let Some(rest) = behind.and_then(|at| self.straight(at)) {
                        self.routes.push(only);
                        self.routes.extend(rest);
                        break;
                    }
                }
                // Where they lead is not known yet, but the node there is.
                self.branches.extend(leaving.iter().map(|&link| Branch { link, next: next(link).0 }));
                self.routes.push(FORK + self.forks.len() as u32);
                self.forks.push((node.0, self.branches.len() as u32));
                left.extend(leaving.iter().map(|&link| next(link)));
            }
        }
        for branch in &mut self.branches[first_branch..] {
            branch.next = placed[&NodeId(branch.next)];
        }
    }

    /// The rest of a route from a place on, if it is short and has no choice.
    fn straight(&self, at: u32) -> Option<Vec<u32>> {
        let rest = self.routes.get(at as usize..)?;
        let length = rest.iter().take(LONGEST_COPY).position(|&entry| entry == END)? + 1;
        let is_straight = rest[..length].iter().all(|&entry| !(FORK..EXIT).contains(&entry));
        is_straight.then(|| rest[..length].to_vec())
    }

    fn end(&mut self, exits: bool) {
        self.routes.extend(exits.then_some(EXIT));
        self.routes.push(END);
    }
}
