//! Grids of up to three dimensions with wrap-around links.

use super::{Edge, GeneratedNetwork, is_too_large, is_too_small};
use crate::diagnostic::Report;
use crate::keys::Torus;
use crate::source_text::Span;

pub(super) fn generate(table: &Torus, span: Span, report: &mut Report) -> Option<GeneratedNetwork> {
    let sides = [(&table.width, "the width"), (&table.height, "the height"), (&table.depth, "the depth")];
    for (side, what) in sides {
        if side.is_some() && is_too_small(side.as_ref(), 1, what, report) {
            return None;
        }
    }
    let [width, height, depth] = sides.map(|(side, _)| side.as_ref().map_or(1, |at| u64::from(at.value)));
    let nodes = width.saturating_mul(height).saturating_mul(depth);
    if is_too_large("this torus", nodes, nodes.saturating_mul(3), span, report) {
        return None;
    }
    if nodes < 2 {
        report.error("scenario.range", span, "this torus is one node, without neighbours");
        return None;
    }
    let mut edges = Vec::new();
    for node in 0..nodes {
        let at = [node % width, node / width % height, node / width / height];
        let mut stride = 1;
        for (place, side) in at.into_iter().zip([width, height, depth]) {
            // In a row of two, both neighbours of a node are the same.
            let is_last = place + 1 == side;
            let next = if is_last { node - place * stride } else { node + stride };
            if side > 2 || side == 2 && !is_last {
                edges.push(Edge::new(format!("n{}", node + 1), format!("n{}", next + 1), 0));
            }
            stride *= side;
        }
    }
    Some(GeneratedNetwork { edges, tiers: vec![table.line.clone()] })
}
