//! Static shortest paths: least total delay, then fewest hops, then the lowest-numbered next node and edge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Its cost, in picoseconds of propagation.
    pub delay: u64,
}

/// A network as far as routes are concerned.
#[derive(Clone, Debug)]
pub struct Graph {
    edges: Vec<Edge>,
    /// The edges that end at each node: `incoming[starts[n]..starts[n + 1]]`.
    incoming: Vec<u32>,
    starts: Vec<u32>,
}

/// The way from every node to one destination.
#[derive(Clone, Debug)]
pub struct Tree {
    next: Vec<Option<u32>>,
}

impl Graph {
    /// A network of `nodes` nodes. Edges that name other nodes are left out.
    pub fn new(nodes: usize, edges: Vec<Edge>) -> Self {
        let inside = |edge: &Edge| (edge.from as usize) < nodes && (edge.to as usize) < nodes;
        let mut starts = vec![0u32; nodes + 1];
        for edge in edges.iter().filter(|edge| inside(edge)) {
            starts[edge.to as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut place = starts.clone();
        let mut incoming = vec![0; starts[nodes] as usize];
        for (number, edge) in (0u32..).zip(&edges) {
            if inside(edge) {
                let place = &mut place[edge.to as usize];
                incoming[*place as usize] = number;
                *place += 1;
            }
        }
        Self { edges, incoming, starts }
    }

    /// The best way from every node to `destination` (Dijkstra's algorithm, from the destination backwards).
    ///
    /// Each node's next edge lies on a best way of its own, so that following next edges from anywhere arrives: a
    /// hop always leaves less delay, or the same delay and fewer hops.
    pub fn toward(&self, destination: u32) -> Tree {
        let nodes = self.starts.len() - 1;
        let mut cost = vec![(u64::MAX, u32::MAX); nodes];
        let mut next: Vec<Option<u32>> = vec![None; nodes];
        let mut done = vec![false; nodes];
        let mut frontier = BinaryHeap::new();
        if let Some(cost) = cost.get_mut(destination as usize) {
            *cost = (0, 0);
            frontier.push(Reverse((0u64, 0u32, destination)));
        }
        while let Some(Reverse((delay, hops, node))) = frontier.pop() {
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
            for &number in &self.incoming[range] {
                let edge = self.edges[number as usize];
                let from = edge.from as usize;
                let new = (delay.saturating_add(edge.delay), hops + 1);
                let better = new < cost[from];
                let same = new == cost[from]
                    && next[from].is_some_and(|old| (node, number) < (self.edges[old as usize].to, old));
                if better {
                    cost[from] = new;
                    frontier.push(Reverse((new.0, new.1, edge.from)));
                }
                if better || same {
                    next[from] = Some(number);
                }
            }
        }
        Tree { next }
    }

    /// The edges from `from` to the tree's destination; `None` if no way leads there.
    pub fn path(&self, tree: &Tree, from: u32, destination: u32) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut node = from;
        while node != destination {
            let edge = (*tree.next.get(node as usize)?)?;
            path.push(edge);
            node = self.edges[edge as usize].to;
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(nodes: usize, links: &[(u32, u32, u64)]) -> Graph {
        let both = |&(a, b, delay): &(u32, u32, u64)| {
            [Edge { from: a, to: b, delay }, Edge { from: b, to: a, delay }]
        };
        Graph::new(nodes, links.iter().flat_map(both).collect())
    }

    #[test]
    fn the_quicker_way_wins_then_the_shorter_then_the_lower() {
        // 0-1-3 takes 5, 0-2-3 takes 4, 0-3 takes 6.
        let net = graph(4, &[(0, 1, 2), (1, 3, 3), (0, 2, 2), (2, 3, 2), (0, 3, 6)]);
        assert_eq!(net.path(&net.toward(3), 0, 3), Some(vec![4, 6]));
        // The same delay over one hop and over two.
        let net = graph(3, &[(0, 1, 1), (1, 2, 1), (0, 2, 2)]);
        assert_eq!(net.path(&net.toward(2), 0, 2), Some(vec![4]));
        // Two ways that are alike: over node 1, whatever the order of the links.
        let net = graph(4, &[(0, 2, 1), (2, 3, 1), (0, 1, 1), (1, 3, 1)]);
        assert_eq!(net.path(&net.toward(3), 0, 3), Some(vec![4, 6]));
        // Two links that are alike: the first.
        let net = graph(2, &[(0, 1, 1), (0, 1, 1)]);
        assert_eq!(net.path(&net.toward(1), 0, 1), Some(vec![0]));
        assert_eq!(net.path(&net.toward(0), 1, 0), Some(vec![1]));
    }

    #[test]
    fn no_way_is_no_path() {
        let net = graph(3, &[(0, 1, 1)]);
        assert_eq!(net.path(&net.toward(2), 0, 2), None);
        assert_eq!(net.path(&net.toward(9), 0, 9), None);
        assert_eq!(net.path(&net.toward(0), 0, 0), Some(vec![]));
    }

    proptest! {
        /// Against Floyd and Warshall's algorithm: the same cost between all pairs; and paths hang together.
        #[test]
        fn costs_are_the_least(links in proptest::collection::vec((0u32..7, 0u32..7, 0u64..5), 0..14)) {
            let net = graph(7, &links);
            let mut best = vec![vec![(u64::MAX, u32::MAX); 7]; 7];
            for (i, row) in best.iter_mut().enumerate() {
                row[i] = (0, 0);
            }
            for edge in &net.edges {
                let cell = &mut best[edge.from as usize][edge.to as usize];
                *cell = (*cell).min((edge.delay, 1));
            }
            for k in 0..7 {
                for i in 0..7 {
                    for j in 0..7 {
                        let ((a, b), (c, d)) = (best[i][k], best[k][j]);
                        best[i][j] = best[i][j].min((a.saturating_add(c), b.saturating_add(d)));
                    }
                }
            }
            for to in 0..7u32 {
                let tree = net.toward(to);
                for from in 0..7u32 {
                    let found = net.path(&tree, from, to);
                    let best = best[from as usize][to as usize];
                    prop_assert_eq!(found.is_none(), best.0 == u64::MAX);
                    let Some(path) = found else { continue };
                    let mut at = from;
                    let mut delay = 0;
                    for &edge in &path {
                        prop_assert_eq!(net.edges[edge as usize].from, at);
                        at = net.edges[edge as usize].to;
                        delay += net.edges[edge as usize].delay;
                    }
                    prop_assert_eq!(at, to);
                    prop_assert_eq!((delay, path.len() as u32), best);
                }
            }
        }
    }
}
