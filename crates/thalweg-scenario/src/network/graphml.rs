//! GraphML (Brandes et al. 2002), with the attributes that the Internet Topology Zoo (Knight et al. 2011) gives nodes and edges.

use super::map::{Map, Place, Wire};
use crate::source::Span;
use roxmltree::Node;
use std::collections::BTreeMap;
use thalweg_proto::units::Rate;

/// The first graph of a document, with `span` for the places of its elements.
pub(super) fn read(root: Node<'_, '_>, span: impl Fn(&Node<'_, '_>) -> Span) -> Map {
    // Attributes go by keys, which name them.
    let keys: BTreeMap<&str, &str> = elements(root, "key")
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    let data = |node: Node<'_, '_>| -> BTreeMap<String, String> {
        let data = elements(node, "data").filter_map(|data| {
            let key = data.attribute("key")?;
            let name = keys.get(key).copied().unwrap_or(key);
            Some((name.to_ascii_lowercase(), data.text()?.trim().to_owned()))
        });
        data.collect()
    };
    let Some(graph) = elements(root, "graph").next() else { return Map::default() };
    let places = elements(graph, "node").map(|node| {
        let data = data(node);
        let number = |name: &str| data.get(name)?.parse::<f64>().ok().filter(|number| number.is_finite());
        Place {
            id: node.attribute("id").unwrap_or_default().to_owned(),
            label: data.get("label").cloned(),
            at: number("latitude")
                .zip(number("longitude"))
                .map(|(latitude, longitude)| [latitude, longitude]),
            span: span(&node),
        }
    });
    let wires = elements(graph, "edge").map(|edge| Wire {
        ends: ["source", "target"].map(|end| edge.attribute(end).unwrap_or_default().to_owned()),
        rate: rate(&data(edge)),
        span: span(&edge),
    });
    Map { places: places.collect(), wires: wires.collect() }
}

/// The child elements of a name.
fn elements<'a, 'i>(of: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    of.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The rate of an edge: in bit/s, or a number with a unit beside it.
fn rate(data: &BTreeMap<String, String>) -> Option<Rate> {
    let number = |name: &str| data.get(name)?.parse::<f64>().ok();
    let speed = || {
        let unit = match data.get("linkspeedunits")?.chars().next()? {
            'T' | 't' => 1e12,
            'G' | 'g' => 1e9,
            'M' | 'm' => 1e6,
            'K' | 'k' => 1e3,
            _ => return None,
        };
        Some(number("linkspeed")? * unit)
    };
    let bits = number("linkspeedraw").or_else(speed)?;
    (1.0..1e15).contains(&bits).then(|| Rate::from_bits_per_sec(bits as u64))
}
