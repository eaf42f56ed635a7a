//! GraphML (Brandes et al. 2002), with the node and edge attributes of the Internet Topology Zoo (Knight et al. 2011)
//! and SNDlib.

use super::topology_graph::{GraphLink, GraphNode, TopologyGraph};
use super::xml_reading::{self, child_elements, parse_degrees};
use crate::diagnostic::Report;
use crate::source_text::Span;
use roxmltree::Node;
use std::collections::BTreeMap;
use thalweg_proto::units::Rate;

/// Reads the first graph of a document, with `span` for the positions of its elements. Reports invalid numbers.
pub(super) fn read(
    root: Node<'_, '_>,
    span: impl Fn(&Node<'_, '_>) -> Span,
    report: &mut Report,
) -> TopologyGraph {
    // Attributes refer to keys, which have their names.
    let keys: BTreeMap<&str, &str> = child_elements(root, "key")
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    let data = |node: Node<'_, '_>| -> BTreeMap<String, String> {
        let data = child_elements(node, "data").filter_map(|data| {
            let key = data.attribute("key")?;
            let name = keys.get(key).copied().unwrap_or(key);
            Some((name.to_ascii_lowercase(), data.text()?.trim().to_owned()))
        });
        data.collect()
    };
    let Some(graph) = child_elements(root, "graph").next() else { return TopologyGraph::default() };
    let nodes = child_elements(graph, "node").map(|node| {
        let data = data(node);
        let at = [("Latitude", 90.0), ("Longitude", 360.0)].map(|(name, max)| {
            let text = data.get(&name.to_ascii_lowercase())?;
            parse_degrees(name, text, max)
                .map_err(|fault| report.error("scenario.range", span(&node), fault))
                .ok()
        });
        GraphNode {
            id: node.attribute("id").unwrap_or_default().to_owned(),
            label: data.get("label").cloned(),
            coordinates: at[0].zip(at[1]).map(|(latitude, longitude)| [latitude, longitude]),
            span: span(&node),
        }
    });
    let nodes = nodes.collect();
    let are_directed = graph.attribute("edgedefault") == Some("directed");
    let mut unread: Vec<(Span, String)> = Vec::new();
    let links = child_elements(graph, "edge").map(|edge| {
        let data = data(edge);
        let rate = edge_rate(&data).unwrap_or_else(|fault| {
            report.error("scenario.range", span(&edge), fault);
            None
        });
        let ends = ["source", "target"].map(|end| edge.attribute(end).unwrap_or_default().to_owned());
        if let Some(speed) = data.get("linkspeed").filter(|_| rate.is_none()) {
            let unit = data.get("linkspeedunits").map_or("without units", String::as_str);
            unread.push((span(&edge), format!("`{speed}` {unit} from `{}` to `{}`", ends[0], ends[1])));
        }
        let is_directed = edge.attribute("directed").map_or(are_directed, |directed| directed == "true");
        GraphLink { ends, rate, is_directed, span: span(&edge) }
    });
    let links: Vec<GraphLink> = links.collect();
    if let Some((first, _)) = unread.first() {
        let names: Vec<&str> = unread.iter().take(MAX_NAMED).map(|(_, name)| name.as_str()).collect();
        let others = if unread.len() > MAX_NAMED { ", ..." } else { "" };
        let message = format!(
            "the `LinkSpeed` of {} of {} edges cannot be read: {}{others}",
            unread.len(),
            links.len(),
            names.join(", ")
        );
        report.warn("scenario.rate", *first, message).help(
            "these links get the `rate` of the network; a speed is a number with `LinkSpeedUnits` K, M, G or T",
        );
    }
    TopologyGraph { nodes, links, has_drawing_coordinates: false }
}

/// Maximum number of edges named in a warning.
const MAX_NAMED: usize = 4;

/// Returns the rate of an edge: in bit/s; a number with a separate unit, `None` if it is text ("<45", "OC-3"); or
/// SNDlib's capacity in Mbit/s.
fn edge_rate(data: &BTreeMap<String, String>) -> Result<Option<Rate>, String> {
    let number = |name: &str| match data.get(&name.to_ascii_lowercase()) {
        None => Ok(None),
        Some(text) => {
            text.parse::<f64>().map(Some).map_err(|_| format!("`{name}` must be a number, not `{text}`"))
        }
    };
    if let Some(raw) = number("LinkSpeedRaw")? {
        return xml_reading::rate_from_bits("LinkSpeedRaw", raw).map(Some);
    }
    let speed = || {
        let unit = match data.get("linkspeedunits")?.chars().next()? {
            'T' | 't' => 1e12,
            'G' | 'g' => 1e9,
            'M' | 'm' => 1e6,
            'K' | 'k' => 1e3,
            _ => return None,
        };
        Some(data.get("linkspeed")?.parse::<f64>().ok()? * unit)
    };
    if let Some(bits) = speed().filter(|bits| (1.0..=1e15).contains(bits)) {
        return xml_reading::rate_from_bits("LinkSpeed", bits).map(Some);
    }
    // In SNDlib, 0 means no installed capacity.
    match number("capacity")?.filter(|capacity| *capacity != 0.0) {
        Some(capacity) => xml_reading::rate_from_bits("capacity", capacity * 1e6).map(Some),
        None => Ok(None),
    }
}
