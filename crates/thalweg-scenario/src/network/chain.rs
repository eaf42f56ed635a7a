//! Chains of nodes.

use super::{Drawing, Edge, is_too_large, is_too_small};
use crate::diagnostic::Report;
use crate::keys::Chain;
use crate::source_text::Span;

pub(super) fn draw(table: &Chain, span: Span, report: &mut Report) -> Option<Drawing> {
    if is_too_small(table.nodes.as_ref(), 2, "the number of nodes", report) {
        return None;
    }
    let nodes = table.nodes.as_ref().map_or(0, |at| at.value);
    if is_too_large("this chain", nodes.into(), nodes.into(), span, report) {
        return None;
    }
    let edges = (1..nodes).map(|node| Edge::new(format!("n{node}"), format!("n{}", node + 1), 0)).collect();
    Some(Drawing { edges, tiers: vec![table.line.clone()] })
}
