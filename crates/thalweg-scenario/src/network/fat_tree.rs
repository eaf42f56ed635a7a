//! Three-tier fat trees (Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture",
//! SIGCOMM 2008).

use super::{Edge, GeneratedNetwork, is_too_large, merge_tier};
use crate::diagnostic::Report;
use crate::keys::FatTree;
use crate::source_text::Span;

pub(super) fn generate(table: &FatTree, span: Span, report: &mut Report) -> Option<GeneratedNetwork> {
    let at = table.k.as_ref()?;
    let k = u64::from(at.value);
    if k < 2 || !k.is_multiple_of(2) {
        report
            .error(
                "scenario.range",
                at.span,
                format!("a fat tree has switches with an even number of ports, not {k}"),
            )
            .help("half of the ports of a switch lead up, half down");
        return None;
    }
    let half = k / 2;
    let hosts = k.saturating_mul(half).saturating_mul(half);
    let nodes = hosts.saturating_add(k.saturating_mul(k)).saturating_add(half * half);
    if is_too_large(&format!("a fat tree with k = {k}"), nodes, hosts.saturating_mul(3), span, report) {
        return None;
    }
    let mut edges = Vec::new();
    for host in 0..hosts {
        edges.push(Edge::new(format!("h{}", host + 1), format!("e{}", host / half + 1), 0));
    }
    for edge in 0..k * half {
        let pod = edge / half;
        for up in 0..half {
            edges.push(Edge::new(format!("e{}", edge + 1), format!("a{}", pod * half + up + 1), 1));
        }
    }
    // The first aggregation switch of each pod connects to the first k/2 core switches, the second to the next, and so
    // on.
    for aggregation in 0..k * half {
        let place = aggregation % half;
        for up in 0..half {
            edges.push(Edge::new(format!("a{}", aggregation + 1), format!("c{}", place * half + up + 1), 2));
        }
    }
    let tiers = [&table.host, &table.pod, &table.core].map(|own| merge_tier(own.as_ref(), &table.line));
    Some(GeneratedNetwork { edges, tiers: tiers.to_vec() })
}
