//! Assigns cells of the network to the partitions of a parallel run.

use super::{Cells, Edge, MAX_PARTS, Partitioning};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// An assignment of cells to partitions.
pub(super) struct Grouping {
    pub parts: usize,
    /// Partition of each direction and flow.
    pub part: Vec<u16>,
    pub speedup: f64,
    /// Minimum lookahead between partitions.
    pub lookahead: u64,
    /// The heaviest indivisible cell and its share of the work, including the work for packets that cross its boundary.
    pub heaviest: (u32, f64),
    /// First member of each cell.
    pub roots: Vec<u32>,
}

impl Cells<'_> {
    /// Returns the best assignment, if at least two partitions have work.
    pub fn best(&self, threads: usize) -> Option<Grouping> {
        let threads = threads.min(MAX_PARTS);
        let mut lookaheads: Vec<u64> =
            self.edges.iter().map(|edge| edge.lookahead).filter(|&of| of > 0).collect();
        lookaheads.sort_unstable();
        lookaheads.dedup();
        // Tries only some of many different delays.
        let step = lookaheads.len().div_ceil(MAX_TRIED).max(1);
        let tried = lookaheads.iter().step_by(step).chain(lookaheads.is_empty().then_some(&u64::MAX));
        let of = |&lookahead: &u64| self.group(threads, lookahead);
        let parts = tried.filter_map(of);
        parts.reduce(|best, other| if other.speedup > best.speedup { other } else { best })
    }

    /// Merges cells with a lookahead below `min_lookahead`, and assigns the merged cells to partitions.
    fn group(&self, threads: usize, min_lookahead: u64) -> Option<Grouping> {
        let mut sets = self.sets.clone();
        self.edges
            .iter()
            .filter(|edge| edge.lookahead < min_lookahead)
            .for_each(|edge| sets.unite(edge.from, edge.to));
        let roots: Vec<u32> = (0..self.work.len() as u32).map(|of| sets.find(of)).collect();
        let mut work = vec![0.0; roots.len()];
        for (of, &root) in roots.iter().enumerate() {
            work[root as usize] += self.work[of];
        }
        let heaviest =
            roots.iter().copied().max_by(|a, b| work[*a as usize].total_cmp(&work[*b as usize]))?;
        let mut growth = Growth::new(&roots, &work, &self.edges, threads, self.total / threads as f64);
        growth.fill();
        // Cells without work may be anywhere; partitions without work are dropped.
        let mut names: BTreeMap<u16, u16> = BTreeMap::new();
        let mut part: Vec<u16> = roots.iter().map(|&root| growth.part[root as usize]).collect();
        for of in part.iter_mut().filter(|of| **of < UNASSIGNED) {
            let next = names.len() as u16;
            *of = *names.entry(*of).or_insert(next);
        }
        part.iter_mut().filter(|of| **of == UNASSIGNED).for_each(|of| *of = 0);
        let parts = names.len();
        if parts < 2 {
            return None;
        }
        let between = |edge: &&Edge| part[edge.from as usize] != part[edge.to as usize];
        let lookahead =
            self.edges.iter().filter(between).map(|edge| edge.lookahead).min().unwrap_or(u64::MAX);
        let rounds = self.spec.duration.as_picos() as f64 / lookahead as f64;
        let (loads, crowded) = self.loads(&part, &roots, parts, heaviest);
        let max_load = loads.into_iter().fold(0.0, f64::max);
        let speedup = self.total / (max_load * IMBALANCE_FACTOR + rounds * HOPS_A_ROUND);
        let heaviest = (heaviest, (work[heaviest as usize] + crowded) / self.total);
        Some(Grouping { parts, part, speedup, lookahead, heaviest, roots })
    }

    /// Returns the work of each partition, with that of packets crossing its boundary, and the share of the latter that
    /// one cell causes.
    fn loads(&self, part: &[u16], roots: &[u32], parts: usize, cell: u32) -> (Vec<f64>, f64) {
        let mut loads = vec![0.0; parts];
        for (&part, work) in part.iter().zip(&self.work) {
            loads[usize::from(part)] += work;
        }
        let mut outgoing = vec![0.0; part.len()];
        self.edges.iter().for_each(|edge| outgoing[edge.from as usize] += 1.0);
        let mut of_cell = 0.0;
        for &Edge { from, to, .. } in &self.edges {
            let ends = [from, to].map(|of| of as usize);
            if part[ends[0]] != part[ends[1]] {
                let more = OF_BOUNDARY * self.leaving[ends[0]] / outgoing[ends[0]];
                ends.iter().for_each(|&end| loads[usize::from(part[end])] += more);
                of_cell += if ends.iter().any(|&end| roots[end] == cell) { more } else { 0.0 };
            }
        }
        (loads, of_cell)
    }

    pub fn partitioning_of(&self, grouping: &Grouping) -> Partitioning {
        let parts = grouping.parts;
        let mut distance = vec![u64::MAX; parts * parts];
        let mut stride = u64::MAX;
        for edge in &self.edges {
            let [from, to] = [edge.from, edge.to].map(|of| usize::from(grouping.part[of as usize]));
            if from != to {
                let of = &mut distance[from * parts + to];
                *of = edge.lookahead.min(*of);
                stride = edge.lookahead.min(stride);
            }
        }
        for by in 0..parts {
            for from in 0..parts {
                for to in 0..parts {
                    let round = distance[from * parts + by].saturating_add(distance[by * parts + to]);
                    let of = &mut distance[from * parts + to];
                    *of = round.min(*of);
                }
            }
        }
        let (links, ends) = grouping.part.split_at(self.directions as usize);
        let (sources, sinks) = ends.split_at(self.flows as usize);
        let [links, sources, sinks] = [links, sources, sinks].map(<[u16]>::to_vec);
        Partitioning { parts, links, sources, sinks, distance, stride }
    }
}

/// Partitions that grow cell by cell: neighbours stay together, and few packets cross boundaries. In symmetric networks
/// such as fat trees the partitions get similar work even if the estimates are poor.
struct Growth<'a> {
    /// Work of each cell, and target work of each partition.
    work: &'a [f64],
    share: f64,
    loads: Vec<f64>,
    /// Partition of each cell; `UNASSIGNED` if not assigned yet.
    part: Vec<u16>,
    /// Cells with work, in order.
    cells: Vec<u32>,
    /// Adjacent cells, once per direction: those of cell i start at `first[i]`.
    neighbours: Vec<u32>,
    first: Vec<u32>,
}

impl<'a> Growth<'a> {
    fn new(roots: &[u32], work: &'a [f64], edges: &[Edge], threads: usize, share: f64) -> Self {
        let cells: Vec<u32> = (0..)
            .zip(roots)
            .filter(|&(of, &root)| of == root && work[of as usize] > 0.0)
            .map(|(of, _)| of)
            .collect();
        let ends = edges.iter().map(|edge| [roots[edge.from as usize], roots[edge.to as usize]]);
        let outgoing: Vec<[u32; 2]> =
            ends.filter(|[a, b]| a != b).flat_map(|[a, b]| [[a, b], [b, a]]).collect();
        // While filling, the end of each cell's list; afterwards its start.
        let mut first = vec![0; roots.len() + 1];
        outgoing.iter().for_each(|[of, _]| first[*of as usize] += 1);
        for of in 0..roots.len() {
            first[of + 1] += first[of];
        }
        let mut neighbours = vec![0; outgoing.len()];
        for [of, other] in outgoing {
            first[of as usize] -= 1;
            neighbours[first[of as usize] as usize] = other;
        }
        Self {
            work,
            share,
            loads: vec![0.0; threads],
            part: vec![UNASSIGNED; roots.len()],
            cells,
            neighbours,
            first,
        }
    }

    fn fill(&mut self) {
        // Heavy cells first, each to the least loaded partition.
        let mut heavy: Vec<u32> =
            self.cells.iter().copied().filter(|&of| self.work[of as usize] > self.share / 8.0).collect();
        heavy.sort_by(|a, b| self.work[*b as usize].total_cmp(&self.work[*a as usize]));
        for &of in &heavy {
            self.put(of, self.lightest());
        }
        let mut seeds = self.cells.clone().into_iter().peekable();
        for to in 0..self.loads.len() {
            self.grow(to, &heavy, &mut seeds);
        }
        // Cells that fitted into no partition.
        for of in seeds {
            if self.is_free(of) {
                self.put(of, self.lightest());
            }
        }
    }

    /// Adds cells to a partition, which may have heavy cells already: the cell with most neighbours in it, or else the
    /// next in order.
    fn grow(
        &mut self,
        to: usize,
        heavy: &[u32],
        seeds: &mut core::iter::Peekable<impl Iterator<Item = u32>>,
    ) {
        // Number of each cell's neighbours in the partition.
        let mut near = vec![0_u32; self.part.len()];
        let mut frontier = BinaryHeap::new();
        let mut added: Vec<u32> =
            heavy.iter().copied().filter(|&of| usize::from(self.part[of as usize]) == to).collect();
        loop {
            for of in added.drain(..) {
                for &neighbour in self.neighbours_of(of) {
                    if self.is_free(neighbour) {
                        let count = &mut near[neighbour as usize];
                        *count += 1;
                        let all = self.neighbours_of(neighbour).len() as u64;
                        frontier.push((u64::from(*count) * u64::from(u32::MAX) / all, Reverse(neighbour)));
                    }
                }
            }
            let next = loop {
                match frontier.pop() {
                    Some((_, Reverse(of))) if self.is_free(of) => break Some(of),
                    Some(_) => {}
                    None => break None,
                }
            };
            let next = next.or_else(|| {
                while seeds.next_if(|&of| !self.is_free(of)).is_some() {}
                seeds.peek().copied()
            });
            let Some(of) = next else { return };
            if self.loads[to] + self.work[of as usize] / 2.0 > self.share {
                return;
            }
            self.put(of, to);
            added.push(of);
        }
    }

    fn put(&mut self, of: u32, to: usize) {
        self.loads[to] += self.work[of as usize];
        self.part[of as usize] = to as u16;
    }

    fn lightest(&self) -> usize {
        let order = |&a: &usize, &b: &usize| self.loads[a].total_cmp(&self.loads[b]);
        (0..self.loads.len()).min_by(order).unwrap_or(0)
    }

    /// Returns true for an unassigned cell with work.
    fn is_free(&self, of: u32) -> bool {
        self.part[of as usize] == UNASSIGNED && self.work[of as usize] > 0.0
    }

    fn neighbours_of(&self, of: u32) -> &[u32] {
        &self.neighbours[self.first[of as usize] as usize..self.first[of as usize + 1] as usize]
    }
}

/// Partition of an unassigned cell.
const UNASSIGNED: u16 = u16::MAX;
/// Cost of one synchronisation of the threads, in hops; measured, with occasional preemption.
const HOPS_A_ROUND: f64 = 100.0;
/// Work of a partition for a packet that crosses its boundary, in hops; measured where most packets do.
const OF_BOUNDARY: f64 = 0.5;
/// Imbalance factor: the busiest partition differs from round to round, hence all wait for longer than the heaviest
/// partition needs on average.
pub(super) const IMBALANCE_FACTOR: f64 = 1.3;
/// Maximum number of lookaheads tried.
const MAX_TRIED: usize = 6;
