//! Nodes at random positions in a square, the links between them, and their lengths.

use super::{Edge, GeneratedNetwork, is_too_large, is_too_small};
use crate::diagnostic::Report;
use crate::keys::{LinkDirection, Square};
use crate::source_text::Span;
use crate::table_declarations::{Fields, Spanned};
use thalweg_proto::random::RandomStream;

/// Maximum number of nodes at random positions: all pairs are compared.
const MAX_NODES: u32 = 1 << 12;

/// Positions in a square of side 1.
pub(super) struct Positions {
    coordinates: Vec<[f64; 2]>,
    /// The random stream for further draws.
    pub stream: RandomStream,
}

impl Positions {
    /// Draws the positions; returns `None` after reporting that there are too few or too many.
    pub fn draw(
        nodes: Option<&Spanned<u32>>,
        square: &Square,
        seed: u64,
        report: &mut Report,
    ) -> Option<Self> {
        if is_too_small(nodes, 2, "the number of nodes", report) {
            return None;
        }
        let nodes = nodes?;
        if nodes.value > MAX_NODES {
            let message = format!("{} nodes at random places are more than {MAX_NODES}", nodes.value);
            report.error("scenario.range", nodes.span, message);
            return None;
        }
        let mut stream = RandomStream::new(square.seed.as_deref().copied().unwrap_or(seed), "network", 0);
        let at = (0..nodes.value).map(|_| [stream.unit(), stream.unit()]).collect();
        Some(Self { coordinates: at, stream })
    }

    /// Returns the distance between two nodes.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let ([ax, ay], [bx, by]) = (self.coordinates[a], self.coordinates[b]);
        ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
    }

    /// Returns the largest distance between two nodes.
    pub fn widest(&self) -> f64 {
        let of = |a: usize| (0..a).map(move |b| (a, b));
        (0..self.coordinates.len()).flat_map(of).map(|(a, b)| self.distance(a, b)).fold(0.0, f64::max)
    }

    /// Links the pairs selected by `is_linked`, which is called in order, and joins disconnected components.
    pub fn join(
        mut self,
        mut is_linked: impl FnMut(f64, &mut RandomStream) -> bool,
        square: &Square,
        line: &LinkDirection,
        span: Span,
        report: &mut Report,
    ) -> Option<GeneratedNetwork> {
        let count = self.coordinates.len();
        let mut pairs = Vec::new();
        for b in 1..count {
            for a in 0..b {
                let distance = self.distance(a, b);
                if is_linked(distance, &mut self.stream) {
                    pairs.push((a, b));
                }
            }
        }
        if is_too_large("this network", count as u64, pairs.len() as u64, span, report) {
            return None;
        }
        self.connect(&mut pairs);
        pairs.sort_unstable();
        let side_delay = square.side_delay.as_ref().or(Square::defaults().side_delay.as_ref())?.value;
        let edges = pairs.into_iter().map(|(a, b)| {
            let delay = line.delay.is_none().then(|| side_delay.mul_f64(self.distance(a, b)));
            Edge { delay, ..Edge::new(format!("n{}", a + 1), format!("n{}", b + 1), 0) }
        });
        Some(GeneratedNetwork { edges: edges.collect(), tiers: vec![line.clone()] })
    }

    /// Adds the shortest possible links from the first node's component to the others.
    fn connect(&self, pairs: &mut Vec<(usize, usize)>) {
        let count = self.coordinates.len();
        let mut neighbours = vec![Vec::new(); count];
        for &(a, b) in pairs.iter() {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let mut nearest: Vec<(f64, usize)> = vec![(f64::MAX, 0); count];
        let mut is_reached = vec![false; count];
        let mut next = Some(0);
        while let Some(start) = next {
            let mut stack = vec![start];
            is_reached[start] = true;
            while let Some(node) = stack.pop() {
                for (other, near) in nearest.iter_mut().enumerate() {
                    let distance = self.distance(node, other);
                    if distance < near.0 {
                        *near = (distance, node);
                    }
                }
                for &other in &neighbours[node] {
                    if !core::mem::replace(&mut is_reached[other], true) {
                        stack.push(other);
                    }
                }
            }
            let left = (0..count).filter(|&node| !is_reached[node]);
            next = left.min_by(|&a, &b| nearest[a].0.total_cmp(&nearest[b].0));
            if let Some(node) = next {
                let from = nearest[node].1;
                pairs.push((from.min(node), from.max(node)));
            }
        }
    }
}
