//! Topology files; the format is detected from the content.

use super::xml_reading::{self, MAX_PARTS, XmlError};
use super::{Edge, graphml, sndlib};
use crate::diagnostic::Report;
use crate::matrix_demand::Demand;
use crate::source_text::{Source, Span};
use roxmltree::{Error, Node};
use std::sync::Arc;

/// The links of a topology file.
#[derive(Debug)]
pub(super) struct Topology {
    pub edges: Vec<Edge>,
    /// The reason for missing delays of links, if some have none.
    pub missing_delay_reason: &'static str,
}

/// Reads the file with source number `source`. Reports errors, at `file` if they concern the whole file. `has_delay`
/// means that the scenario sets a delay for its links.
pub(super) fn read(source: u32, has_delay: bool, file: Span, report: &mut Report) -> Option<Topology> {
    let text: Arc<Source> = Arc::clone(report.source(source));
    let document = match xml_reading::parse(text.text()) {
        Ok(document) => document,
        Err(refused) => {
            report_unsupported_xml(&refused, &text, source, file, report);
            return None;
        }
    };
    let root = document.root_element();
    let span = |node: &Node<'_, '_>| start_tag(&text, source, node);
    let errors = report.errors();
    let graph = match root.tag_name().name() {
        "graphml" => graphml::read(root, span, report),
        "network" => sndlib::read(root, span, report),
        other => {
            report
                .error(
                    "scenario.file",
                    span(&root),
                    format!("`{other}` is neither GraphML nor a network of SNDlib"),
                )
                .help("GraphML begins with <graphml>, SNDlib's XML with <network>");
            return None;
        }
    };
    if report.errors() > errors {
        return None;
    }
    let edges = graph.edges(has_delay, file, report)?;
    Some(Topology { edges, missing_delay_reason: graph.missing_delay_reason() })
}

/// Reads the demands of the SNDlib file with source number `source`, in its unit or in `unit`, in bit/s. Reports errors,
/// at `file` if they concern the whole file.
pub fn read_demands_file(
    source: u32,
    file: Span,
    unit: Option<f64>,
    report: &mut Report,
) -> Option<Vec<Demand>> {
    let text: Arc<Source> = Arc::clone(report.source(source));
    let document = match xml_reading::parse(text.text()) {
        Ok(document) => document,
        Err(refused) => {
            report_unsupported_xml(&refused, &text, source, file, report);
            return None;
        }
    };
    let root = document.root_element();
    let span = |node: &Node<'_, '_>| start_tag(&text, source, node);
    if root.tag_name().name() != "network" {
        let message = format!("`{}` is not a network of SNDlib, and has no demands", root.tag_name().name());
        report.error("scenario.file", span(&root), message);
        return None;
    }
    Some(sndlib::read_demands(root, unit, span, report))
}

/// Returns the position of an element's start tag: an element may be long.
fn start_tag(text: &Source, source: u32, node: &Node<'_, '_>) -> Span {
    let range = node.range();
    let first = text.text()[range.clone()].find('>').map_or(range.end, |end| range.start + end + 1);
    Span::new(source, range.start..first)
}

/// Reports a text that is not supported XML.
fn report_unsupported_xml(refused: &XmlError, text: &Source, source: u32, file: Span, report: &mut Report) {
    let error = match refused {
        XmlError::TooMuch(what, max, range) => {
            let message = format!("there are more than {max} {what}");
            report.error("scenario.range", Span::new(source, range.clone()), message);
            return;
        }
        XmlError::Parser(Error::NodesLimitReached) => {
            let message = format!("this file has more than {MAX_PARTS} elements, attributes and texts");
            report
                .error("scenario.range", file, message)
                .help("a network may have 65536 nodes and as many links");
            return;
        }
        XmlError::Parser(error) => error,
    };
    let at = error.pos();
    let line = text.line_range(at.row as usize);
    report
        .error("scenario.file", Span::new(source, line), format!("this is not GraphML: {error}"))
        .help("a topology file is GraphML, as of the Internet Topology Zoo, or the XML of SNDlib");
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::{Duration, Rate};

    fn edges(text: &str) -> Vec<Edge> {
        let mut report = Report::default();
        let source = report.add_source(Source::new("topology", text));
        let topology = read(source, false, Span::whole(source), &mut report);
        topology.map(|topology| topology.edges).unwrap_or_else(|| panic!("{}", report.take()[0].render()))
    }

    /// Valid and unique labels become names; rates are in bit/s or with units; delays follow from the distance of both
    /// ends. One degree of a meridian is 111.195 km, a delay of 556 us.
    #[test]
    fn graphml_labels_coordinates_and_speeds_are_read() {
        let node = |id: u32, label: &str, latitude: &str| {
            format!("<node id=\"{id}\"><data key=\"d0\">{label}</data>{latitude}</node>")
        };
        let place = |latitude: u32| format!("<data key=\"d1\">{latitude}</data><data key=\"d2\">10</data>");
        let text = format!(
            "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\
             <key id=\"d0\" attr.name=\"label\"/><key id=\"d1\" attr.name=\"Latitude\"/><key id=\"d2\" attr.name=\"Longitude\"/>\
             <key id=\"d3\" attr.name=\"LinkSpeedRaw\"/><key id=\"d4\" attr.name=\"LinkSpeed\"/><key id=\"d5\" attr.name=\"LinkSpeedUnits\"/>\
             <graph>{}{}{}{}\
             <edge source=\"0\" target=\"1\"><data key=\"d3\">2488000000.0</data></edge>\
             <edge source=\"0\" target=\"1\"><data key=\"d4\">155</data><data key=\"d5\">M</data></edge>\
             <edge source=\"2\" target=\"3\"/></graph></graphml>",
            node(0, "North", &place(51)),
            node(1, "South", &place(50)),
            node(2, "Same", ""),
            node(3, "Same", "")
        );
        let edges = edges(&text);
        let ends: Vec<&[String; 2]> = edges.iter().map(|edge| &edge.ends).collect();
        assert_eq!(ends, [&["North", "South"], &["North", "South"], &["Same-n2", "Same-n3"]]);
        let names: Vec<_> = edges.iter().map(|edge| edge.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["North-South", "North-South 2", "Same-n2-Same-n3"]);
        let rates: Vec<_> = edges.iter().map(|edge| edge.rate).collect();
        let mbits = |mbits| Some(Rate::from_mbits_per_sec(mbits));
        assert_eq!(rates, [mbits(2488), mbits(155), None]);
        let delay = edges[0].delay.unwrap();
        assert!(delay.as_secs_f64() > 555.9e-6 && delay < Duration::from_nanos(556_100), "{delay}");
        assert_eq!(edges[2].delay, None);
    }

    #[test]
    fn sndlib_ids_coordinates_and_capacities_are_read() {
        let place = |id: &str, y: u32| {
            format!("<node id=\"{id}\"><coordinates><x>10</x><y>{y}</y></coordinates></node>")
        };
        let text = |kind: &str| {
            format!(
                "<network xmlns=\"http://sndlib.zib.de/network\"><networkStructure><nodes coordinatesType=\"{kind}\">{}{}</nodes><links>\
                 <link id=\"L1\"><source>A</source><target>B</target><preInstalledModule><capacity>40.0</capacity><cost>1</cost>\
                 </preInstalledModule></link></links></networkStructure></network>",
                place("A", 50),
                place("B", 52)
            )
        };
        let found = edges(&text("geographical"));
        assert_eq!(
            (found[0].ends.clone(), found[0].rate),
            (["A".into(), "B".into()], Some(Rate::from_mbits_per_sec(40)))
        );
        assert!((found[0].delay.unwrap().as_secs_f64() - 1112e-6).abs() < 1e-6);
        assert_eq!(edges(&text("pixel"))[0].delay, None);
    }
}
