//! Resolves the keys of queue disciplines to their specification.

use super::super::diagnostic::Report;
use super::super::keys::Queue;
use super::super::table_declarations::Spanned;
use thalweg_queue::{DisciplineSpec, Limit};

/// Returns the discipline of a queue, without its limit.
pub(super) fn resolve_discipline(queue: &Spanned<Queue>, report: &mut Report) -> DisciplineSpec {
    let limit = Limit::Unlimited;
    let Queue::Table(table) = &queue.value else { return DisciplineSpec::fcfs(limit) };
    // Invalid values have already been reported; their defaults must not cause follow-up errors.
    if table.explicit_options.broken {
        return table.discipline.default_spec(limit);
    }
    match table.discipline.make(&table.explicit_options.values, limit) {
        Ok(spec) => {
            if let Err(fault) = spec.check() {
                report.error("scenario.range", queue.span, fault.to_string().replace('_', "-"));
            }
            spec
        }
        Err(fault) => {
            table.explicit_options.report(&fault, queue.span, report);
            table.discipline.default_spec(limit)
        }
    }
}
