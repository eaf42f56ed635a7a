//! The XML of SNDlib (Orlowski et al. 2010): nodes with coordinates, and links with capacity modules.

use super::topology_graph::{GraphLink, GraphNode, TopologyGraph};
use super::xml_reading::{self, child_elements, parse_degrees};
use crate::diagnostic::Report;
use crate::matrix_demand::{Demand, MAX_BITS};
use crate::source_text::Span;
use roxmltree::Node;
use std::collections::BTreeSet;

/// Reads the network of a document, with `span` for the positions of its elements. Reports invalid numbers and units.
pub(super) fn read(
    root: Node<'_, '_>,
    span: impl Fn(&Node<'_, '_>) -> Span,
    report: &mut Report,
) -> TopologyGraph {
    let unit = capacity_unit(root, &span, report);
    let within = |of: &'static str, list: &'static str, name: &'static str| {
        child_elements(root, of)
            .flat_map(move |of| child_elements(of, list))
            .flat_map(move |of| child_elements(of, name))
    };
    let nodes = || child_elements(root, "networkStructure").flat_map(|of| child_elements(of, "nodes"));
    // Other coordinates are drawing coordinates.
    let is_on_earth = nodes().any(|nodes| nodes.attribute("coordinatesType") == Some("geographical"));
    let mut graph = TopologyGraph {
        has_drawing_coordinates: !is_on_earth && nodes().next().is_some(),
        ..TopologyGraph::default()
    };
    for node in within("networkStructure", "nodes", "node") {
        let id = node.attribute("id").unwrap_or_default().to_owned();
        let coordinates = child_elements(node, "coordinates").next().filter(|_| is_on_earth);
        let at = coordinates.and_then(|at| child_text(at, "y").zip(child_text(at, "x")));
        let at = at.and_then(|(y, x)| {
            match parse_degrees("y", y, 90.0).and_then(|y| Ok([y, parse_degrees("x", x, 360.0)?])) {
                Ok(at) => Some(at),
                Err(fault) => {
                    report.error("scenario.range", span(&node), fault);
                    None
                }
            }
        });
        graph.nodes.push(GraphNode { label: Some(id.clone()), id, coordinates: at, span: span(&node) });
    }
    for link in within("networkStructure", "links", "link") {
        let ends = ["source", "target"].map(|end| child_text(link, end).unwrap_or_default().to_owned());
        let rate = match link_capacity(link) {
            Ok(Some(capacity)) => xml_reading::rate_from_bits("capacity", capacity * unit).map(Some),
            Ok(None) => Ok(None),
            Err(fault) => Err(fault),
        };
        let rate = rate.unwrap_or_else(|fault| {
            report.error("scenario.range", span(&link), fault);
            None
        });
        graph.links.push(GraphLink { ends, rate, is_directed: false, span: span(&link) });
    }
    // The format does not say if links are directed. In directed networks, such as janos-us, each has an opposite one.
    let ends: BTreeSet<[String; 2]> = graph.links.iter().map(|link| link.ends.clone()).collect();
    let has_opposite = |link: &GraphLink| ends.contains(&[link.ends[1].clone(), link.ends[0].clone()]);
    let are_directed = graph.links.iter().all(has_opposite);
    graph.links.iter_mut().for_each(|link| link.is_directed = are_directed);
    graph
}

/// Reads the demands of a document, in its unit or in `unit`, with `span` for the positions of its elements. Reports
/// invalid numbers.
pub(super) fn read_demands(
    root: Node<'_, '_>,
    unit: Option<f64>,
    span: impl Fn(&Node<'_, '_>) -> Span,
    report: &mut Report,
) -> Vec<Demand> {
    let unit = unit.unwrap_or_else(|| capacity_unit(root, &span, report));
    let mut found = Vec::new();
    let lists = child_elements(root, "demands");
    for demand in lists.flat_map(|demands| child_elements(demands, "demand")) {
        let ends = ["source", "target"].map(|end| child_text(demand, end).unwrap_or_default().to_owned());
        // A demand takes `routingUnit` units of capacity for each unit of its value.
        let [value, routing_unit] = [("demandValue", ""), ("routingUnit", "1")]
            .map(|(name, default)| child_text(demand, name).unwrap_or(default));
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
        let capacity = number(value).zip(number(routing_unit)).map(|(value, unit)| value * unit);
        match capacity.filter(|capacity| capacity * unit <= MAX_BITS) {
            Some(capacity) => found.push(Demand { ends, bits: capacity * unit, span: span(&demand) }),
            None => {
                let (name, value) = match number(value) {
                    Some(_) if number(routing_unit).is_none() => ("routingUnit", routing_unit),
                    _ => ("demandValue", value),
                };
                let message = format!(
                    "`{name}` must be a number of at least 0, and the demand at most 1e15 bit/s, not `{value}`"
                );
                report.error("scenario.range", span(&demand), message);
            }
        }
    }
    found
}

/// Returns the capacity unit in bit/s: `unit` in the file's `meta`, or 1 Mbit/s.
fn capacity_unit(root: Node<'_, '_>, span: impl Fn(&Node<'_, '_>) -> Span, report: &mut Report) -> f64 {
    let Some(unit) = child_elements(root, "meta").flat_map(|meta| child_elements(meta, "unit")).next() else {
        return 1e6;
    };
    let name = unit.text().unwrap_or_default().trim().to_ascii_uppercase();
    let prefix = ["BITPERSEC", "BITSPERSEC"].iter().find_map(|end| name.strip_suffix(end));
    match prefix {
        Some("") => 1.0,
        Some("K") => 1e3,
        Some("M") => 1e6,
        Some("G") => 1e9,
        Some("T") => 1e12,
        _ => {
            report
                .error(
                    "scenario.unit",
                    span(&unit),
                    format!("`{name}` is not a unit of capacities that is known here"),
                )
                .help("SNDlib has BITPERSEC, with K, M, G or T before it; without <unit> it is MBITPERSEC");
            1e6
        }
    }
}

/// Returns the capacity of a link: the installed one, or else that of its smallest module; `None` if both are missing
/// or 0.
fn link_capacity(link: Node<'_, '_>) -> Result<Option<f64>, String> {
    let of = |module: Node<'_, '_>| match child_text(module, "capacity") {
        None => Ok(0.0),
        Some(text) => match text.parse() {
            Ok(capacity) if (0.0..=f64::MAX).contains(&capacity) => Ok(capacity),
            _ => Err(format!("`capacity` must be a number of at least 0, not `{text}`")),
        },
    };
    let mut installed = 0.0;
    for module in child_elements(link, "preInstalledModule") {
        installed += of(module)?;
    }
    if installed > 0.0 {
        return Ok(Some(installed));
    }
    let mut smallest: Option<f64> = None;
    for module in
        child_elements(link, "additionalModules").flat_map(|modules| child_elements(modules, "addModule"))
    {
        let capacity = of(module)?;
        if capacity > 0.0 && smallest.is_none_or(|smallest| capacity < smallest) {
            smallest = Some(capacity);
        }
    }
    Ok(smallest)
}

/// Returns the text of the first child with a name.
fn child_text<'a>(of: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    child_elements(of, name).next()?.text().map(str::trim)
}
