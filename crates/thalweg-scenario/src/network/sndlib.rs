//! The XML of SNDlib (Orlowski et al. 2010): nodes with coordinates, and links with modules of capacity.

use super::map::{Map, Place, Wire};
use crate::source::Span;
use roxmltree::Node;
use thalweg_proto::units::Rate;

/// The network of a document, with `span` for the places of its elements.
pub(super) fn read(root: Node<'_, '_>, span: impl Fn(&Node<'_, '_>) -> Span) -> Map {
    let all = |name: &'static str| {
        root.descendants().filter(move |node| node.is_element() && node.tag_name().name() == name)
    };
    // Other coordinates are those of a drawing.
    let is_on_earth = all("nodes").any(|nodes| nodes.attribute("coordinatesType") == Some("geographical"));
    let places = all("node").map(|node| {
        let degrees = |name| text(node, name)?.parse::<f64>().ok().filter(|degrees| degrees.is_finite());
        let id = node.attribute("id").unwrap_or_default().to_owned();
        let at = degrees("y").zip(degrees("x")).filter(|_| is_on_earth);
        Place { label: Some(id.clone()), id, at: at.map(|(y, x)| [y, x]), span: span(&node) }
    });
    let wires = all("link").map(|link| {
        let installed = link.descendants().find(|of| of.tag_name().name() == "preInstalledModule");
        let capacity = installed.and_then(|module| text(module, "capacity")?.parse::<f64>().ok());
        let rate = capacity.filter(|capacity| (1e-6..1e9).contains(capacity));
        Wire {
            ends: ["source", "target"].map(|end| text(link, end).unwrap_or_default()),
            rate: rate.map(|capacity| Rate::from_bits_per_sec((capacity * 1e6) as u64)),
            span: span(&link),
        }
    });
    Map { places: places.collect(), wires: wires.collect() }
}

/// The text of the first element of a name within another.
fn text(of: Node<'_, '_>, name: &str) -> Option<String> {
    let found = of.descendants().find(|node| node.tag_name().name() == name)?;
    Some(found.text()?.trim().to_owned())
}
