//! Queue disciplines with their parameters.

use super::super::diagnostic::Report;
use super::super::keys::{FairQueue, Queue, QueueTable};
use super::super::table::{At, Fields};
use thalweg_queue::{DisciplineSpec, FairQueueingConfig, Limit};

/// The discipline of a queue, for now without a limit.
pub(super) fn discipline(queue: &At<Queue>, report: &mut Report) -> DisciplineSpec {
    let limit = Limit::Unlimited;
    let spec = match &queue.value {
        Queue::Capacity(_) | Queue::Table(QueueTable::Fcfs(_)) => DisciplineSpec::Fcfs { limit },
        Queue::Table(QueueTable::RandomDrop(_)) => DisciplineSpec::RandomDrop { limit },
        Queue::Table(QueueTable::Fair(table)) => {
            DisciplineSpec::FairQueueing { limit, config: fair_queueing(&complete(table)) }
        }
    };
    if let Err(fault) = spec.check() {
        report.error("scenario.range", queue.span, fault.to_string().replace('_', "-"));
    }
    spec
}

/// A table with what holds for keys that it does not give.
fn complete<T: Fields + Clone>(table: &T) -> T {
    let mut table = table.clone();
    table.inherit(T::defaults());
    table
}

/// The value of a key that has a default; the type's own where the key was not understood.
fn value<T: Copy + Default>(key: &Option<At<T>>) -> T {
    key.as_deref().copied().unwrap_or_default()
}

fn fair_queueing(table: &FairQueue) -> FairQueueingConfig {
    FairQueueingConfig {
        promptness: value(&table.promptness),
        mark_above: table.mark_above.as_deref().map(|share| share.0),
    }
}
