//! GraphML (Brandes et al. 2002), with the attributes that the Internet Topology Zoo (Knight et al. 2011) gives nodes and edges.

use super::map::{Map, Place, Wire};
use crate::diagnostic::Report;
use crate::source::Span;
use roxmltree::Node;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use thalweg_proto::units::Rate;

/// The first graph of a document, with `span` for the places of its elements. Numbers that are none are told.
pub(super) fn read(root: Node<'_, '_>, span: impl Fn(&Node<'_, '_>) -> Span, report: &mut Report) -> Map {
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
        let at = [("Latitude", 90.0), ("Longitude", 360.0)].map(|(name, most)| {
            let words = || format!("a number of degrees from -{most} to {most}");
            number(&data, name, -most..=most, words).unwrap_or_else(|fault| {
                report.error("scenario.range", span(&node), fault);
                None
            })
        });
        Place {
            id: node.attribute("id").unwrap_or_default().to_owned(),
            label: data.get("label").cloned(),
            at: at[0].zip(at[1]).map(|(latitude, longitude)| [latitude, longitude]),
            span: span(&node),
        }
    });
    let places = places.collect();
    let wires = elements(graph, "edge").map(|edge| {
        let rate = rate(&data(edge)).unwrap_or_else(|fault| {
            report.error("scenario.range", span(&edge), fault);
            None
        });
        let ends = ["source", "target"].map(|end| edge.attribute(end).unwrap_or_default().to_owned());
        Wire { ends, rate, span: span(&edge) }
    });
    Map { places, wires: wires.collect() }
}

/// The number of an attribute, if it is given.
fn number(
    data: &BTreeMap<String, String>,
    name: &str,
    range: RangeInclusive<f64>,
    expected: impl Fn() -> String,
) -> Result<Option<f64>, String> {
    let Some(text) = data.get(&name.to_ascii_lowercase()) else { return Ok(None) };
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => Err(format!("`{name}` must be {}, not `{text}`", expected())),
    }
}

/// The child elements of a name.
fn elements<'a, 'i>(of: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    of.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The rate of an edge: in bit/s, or a number with a unit beside it, which may be words ("<45", "OC-3").
fn rate(data: &BTreeMap<String, String>) -> Result<Option<Rate>, String> {
    let raw = number(data, "LinkSpeedRaw", 1.0..=1e15, || "a rate in bit/s from 1 to 1e15".to_owned())?;
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
    let bits = raw.or_else(speed).filter(|bits| (1.0..=1e15).contains(bits));
    Ok(bits.map(|bits| Rate::from_bits_per_sec(bits as u64)))
}
