//! Stars: nodes around a hub.

use super::{Edge, GeneratedNetwork, is_too_large, is_too_small};
use crate::diagnostic::Report;
use crate::keys::Star;
use crate::source_text::Span;

pub(super) fn generate(table: &Star, span: Span, report: &mut Report) -> Option<GeneratedNetwork> {
    if is_too_small(table.nodes.as_ref(), 1, "the number of nodes", report) {
        return None;
    }
    let nodes = table.nodes.as_ref().map_or(0, |at| at.value);
    if is_too_large("this star", u64::from(nodes) + 1, nodes.into(), span, report) {
        return None;
    }
    let edges = (1..=nodes).map(|node| Edge::new(format!("n{node}"), "hub", 0)).collect();
    Some(GeneratedNetwork { edges, tiers: vec![table.line.clone()] })
}
