//! Queue disciplines with their parameters.

use super::super::diagnostic::Report;
use super::super::keys::Queue;
use super::super::table::At;
use thalweg_queue::{DisciplineSpec, Limit};

/// The discipline of a queue, for now without a limit.
pub(super) fn discipline(queue: &At<Queue>, report: &mut Report) -> DisciplineSpec {
    let limit = Limit::Unlimited;
    let Queue::Table(table) = &queue.value else { return DisciplineSpec::fcfs(limit) };
    // What was not understood has been said, and what stands in its place is no fault of its own.
    if table.given.broken {
        return table.discipline.usual(limit);
    }
    match table.discipline.make(&table.given.values, limit) {
        Ok(spec) => {
            if let Err(fault) = spec.check() {
                report.error("scenario.range", queue.span, fault.to_string().replace('_', "-"));
            }
            spec
        }
        Err(fault) => {
            table.given.report(&fault, queue.span, report);
            table.discipline.usual(limit)
        }
    }
}
