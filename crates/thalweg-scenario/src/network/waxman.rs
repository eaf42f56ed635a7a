//! Random networks with few long links (Waxman, "Routing of multipoint connections", IEEE JSAC 6(9), 1988).

use super::GeneratedNetwork;
use super::random_positions::Positions;
use crate::diagnostic::Report;
use crate::keys::Waxman;
use crate::source_text::Span;
use crate::table_declarations::Fields;

pub(super) fn generate(
    table: &Waxman,
    seed: u64,
    span: Span,
    report: &mut Report,
) -> Option<GeneratedNetwork> {
    let defaults = Waxman::defaults();
    let alpha = table.alpha.as_ref().or(defaults.alpha.as_ref())?;
    let beta = table.beta.as_ref().or(defaults.beta.as_ref())?;
    for (at, what) in [(alpha, "alpha"), (beta, "beta")] {
        if !(at.value.0 > 0.0 && at.value.0 <= 1.0) {
            report.error("scenario.range", at.span, format!("{what} must be above 0 and at most 1"));
            return None;
        }
    }
    let (alpha, beta) = (alpha.value.0, beta.value.0);
    let positions = Positions::draw(table.nodes.as_ref(), &table.square, seed, report)?;
    let reach = alpha * positions.widest();
    positions.join(
        |distance, stream| stream.chance(beta * libm::exp(-distance / reach)),
        &table.square,
        &table.line,
        span,
        report,
    )
}
