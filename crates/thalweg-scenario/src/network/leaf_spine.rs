//! Two-tier leaf-spine networks: leaves with hosts, and spines with a link to each leaf.

use super::{Edge, GeneratedNetwork, is_too_large, is_too_small, merge_tier};
use crate::diagnostic::Report;
use crate::keys::LeafSpine;
use crate::source_text::Span;

pub(super) fn generate(table: &LeafSpine, span: Span, report: &mut Report) -> Option<GeneratedNetwork> {
    let small = [
        is_too_small(table.leaves.as_ref(), 1, "the number of leaves", report),
        is_too_small(table.spines.as_ref(), 1, "the number of spines", report),
        is_too_small(table.hosts.as_ref(), 1, "the number of hosts at a leaf", report),
    ];
    let [leaves, spines, hosts] = [&table.leaves, &table.spines, &table.hosts]
        .map(|at| at.as_ref().map_or(0, |at| u64::from(at.value)));
    let nodes = leaves.saturating_mul(hosts).saturating_add(leaves + spines);
    let links = leaves.saturating_mul(hosts + spines);
    if small.contains(&true) || is_too_large("this network", nodes, links, span, report) {
        return None;
    }
    let host = |number: u64| Edge::new(format!("h{}", number + 1), format!("l{}", number / hosts + 1), 0);
    let mut edges: Vec<Edge> = (0..leaves * hosts).map(host).collect();
    for leaf in 1..=leaves {
        edges.extend((1..=spines).map(|spine| Edge::new(format!("l{leaf}"), format!("s{spine}"), 1)));
    }
    let tiers = [&table.host, &table.spine].map(|own| merge_tier(own.as_ref(), &table.line));
    Some(GeneratedNetwork { edges, tiers: tiers.to_vec() })
}
