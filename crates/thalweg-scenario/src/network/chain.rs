//! Chains of nodes.

use super::{Edge, GeneratedNetwork, is_too_large, is_too_small};
use crate::diagnostic::Report;
use crate::keys::Chain;
use crate::source_text::Span;

pub(super) fn generate(table: &Chain, span: Span, report: &mut Report) -> Option<GeneratedNetwork> {
    if is_too_small(table.nodes.as_ref(), 2, "the number of nodes", report) {
        return None;
    }
    let nodes = table.nodes.as_ref().map_or(0, |at| at.value);
    if is_too_large("this chain", nodes.into(), nodes.into(), span, report) {
        return None;
    }
    let edges = (1..nodes).map(|node| Edge::new(format!("n{node}"), format!("n{}", node + 1), 0)).collect();
    Some(GeneratedNetwork { edges, tiers: vec![table.line.clone()] })
}
