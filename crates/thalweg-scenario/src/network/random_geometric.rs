//! Random geometric graphs (Gilbert, "Random plane networks", 1961): links between all nodes within a radius.

use super::Drawing;
use super::random_positions::Places;
use crate::diagnostic::Report;
use crate::keys::Geometric;
use crate::source_text::Span;

pub(super) fn draw(table: &Geometric, seed: u64, span: Span, report: &mut Report) -> Option<Drawing> {
    let radius = table.radius.as_ref()?.value.0;
    let places = Places::draw(table.nodes.as_ref(), &table.square, seed, report)?;
    places.join(|distance, _| distance <= radius, &table.square, &table.line, span, report)
}
