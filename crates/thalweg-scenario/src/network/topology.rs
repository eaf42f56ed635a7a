//! Topology files: their format is told by what is in them.

use super::{Edge, graphml, sndlib};
use crate::diagnostic::Report;
use crate::source::{Source, Span};
use roxmltree::{Document, Error, Node, ParsingOptions};
use std::sync::Arc;

/// The most elements, attributes and texts of a file; those of the largest network with a dozen attributes each are fewer.
const MOST_PARTS: u32 = 1 << 22;

/// The links of the file that is source `source`; what is wrong with it is said, and concerns the file as a whole where `file` is named.
pub(super) fn read(source: u32, file: Span, report: &mut Report) -> Option<Vec<Edge>> {
    let text: Arc<Source> = Arc::clone(report.source(source));
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_PARTS, entity_resolver: None };
    let document = match Document::parse_with_options(text.text(), options) {
        Ok(document) => document,
        Err(error) => {
            refuse(&error, &text, source, file, report);
            return None;
        }
    };
    let root = document.root_element();
    let span = |node: &Node<'_, '_>| {
        // Where it begins: an element may be long.
        let range = node.range();
        let first = text.text()[range.clone()].find('>').map_or(range.end, |end| range.start + end + 1);
        Span::new(source, range.start..first)
    };
    let map = match root.tag_name().name() {
        "graphml" => graphml::read(root, span),
        "network" => sndlib::read(root, span),
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
    map.edges(file, report)
}

/// Says why a text is no XML that is read here.
fn refuse(error: &Error, text: &Source, source: u32, file: Span, report: &mut Report) {
    if matches!(error, Error::NodesLimitReached) {
        let message = format!("this file has more than {MOST_PARTS} elements, attributes and texts");
        report
            .error("scenario.range", file, message)
            .help("a network may have 65536 nodes and as many links");
        return;
    }
    let at = error.pos();
    let line = text.line_range(at.row as usize);
    report
        .error("scenario.file", Span::new(source, line), format!("this is no GraphML: {error}"))
        .help("a topology file is GraphML, as of the Internet Topology Zoo, or the XML of SNDlib");
}
