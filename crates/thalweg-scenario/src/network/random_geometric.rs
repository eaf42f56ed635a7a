//! Random geometric graphs (Gilbert, "Random plane networks", 1961): links between all nodes within a radius.

use super::GeneratedNetwork;
use super::random_positions::Positions;
use crate::diagnostic::Report;
use crate::keys::Geometric;
use crate::source_text::Span;

pub(super) fn generate(
    table: &Geometric,
    seed: u64,
    span: Span,
    report: &mut Report,
) -> Option<GeneratedNetwork> {
    let radius = table.radius.as_ref()?.value.0;
    let positions = Positions::draw(table.nodes.as_ref(), &table.square, seed, report)?;
    positions.join(|distance, _| distance <= radius, &table.square, &table.line, span, report)
}
