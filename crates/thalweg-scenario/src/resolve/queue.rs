//! Queue disciplines with their parameters.

use super::super::diagnostic::Report;
use super::super::keys::{
    CoDelKeys, DrrQueue, FairQueue, FqCoDelQueue, Interval, PieQueue, Queue, QueueTable, RedQueue, SfqQueue,
    Threshold,
};
use super::super::quantity::{Number, Probability};
use super::super::table::{At, Fields};
use thalweg_queue::{
    CoDelConfig, DisciplineSpec, DrrConfig, FairQueueingConfig, FqCoDelConfig, Limit, PieConfig,
    PriorityConfig, RedConfig, RedUnit, SfqConfig,
};

/// The discipline of a queue, for now without a limit.
pub(super) fn discipline(queue: &At<Queue>, report: &mut Report) -> DisciplineSpec {
    let (limit, errors) = (Limit::Unlimited, report.errors());
    let spec = match &queue.value {
        Queue::Capacity(_) | Queue::Table(QueueTable::Fcfs(_)) => DisciplineSpec::Fcfs { limit },
        Queue::Table(QueueTable::RandomDrop(_)) => DisciplineSpec::RandomDrop { limit },
        Queue::Table(QueueTable::Fair(table)) => {
            DisciplineSpec::FairQueueing { limit, config: fair_queueing(&complete(table)) }
        }
        Queue::Table(QueueTable::Sfq(table)) => DisciplineSpec::Sfq { limit, config: sfq(&complete(table)) },
        Queue::Table(QueueTable::Drr(table)) => DisciplineSpec::Drr { limit, config: drr(&complete(table)) },
        Queue::Table(QueueTable::Red(table)) => {
            DisciplineSpec::Red { limit, config: red(&complete(table), report) }
        }
        Queue::Table(QueueTable::CoDel(table)) => {
            DisciplineSpec::CoDel { limit, config: codel(&complete(&table.control)) }
        }
        Queue::Table(QueueTable::FqCoDel(table)) => {
            DisciplineSpec::FqCoDel { limit, config: fq_codel(&complete(table)) }
        }
        Queue::Table(QueueTable::Pie(table)) => DisciplineSpec::Pie { limit, config: pie(&complete(table)) },
        Queue::Table(QueueTable::Priority(table)) => {
            let push_out = value(&complete(table.as_ref()).push_out);
            DisciplineSpec::Priority { limit, config: PriorityConfig { push_out } }
        }
    };
    // What was not understood has been said, and what stands in its place is no fault of its own.
    let understood = report.errors() == errors;
    if let Some(fault) = spec.check().err().filter(|_| understood) {
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

fn sfq(table: &SfqQueue) -> SfqConfig {
    SfqConfig {
        buckets: value(&table.buckets),
        perturbation: table.perturbation.as_deref().and_then(|Interval(every)| *every),
        overflow: table.overflow.as_deref().map(|name| name.0).unwrap_or_default(),
    }
}

fn drr(table: &DrrQueue) -> DrrConfig {
    DrrConfig {
        quantum: value(&table.quantum),
        buckets: table.buckets.as_deref().copied(),
        overflow: table.overflow.as_deref().map(|name| name.0).unwrap_or_default(),
    }
}

fn probability(key: &Option<At<Probability>>) -> f64 {
    key.as_deref().map_or(1.0, |p| p.0)
}

fn red(table: &RedQueue, report: &mut Report) -> RedConfig {
    let thresholds = [&table.min_threshold, &table.max_threshold].map(|key| key.as_deref().copied());
    let [Some(min), Some(max)] = thresholds else { return RedConfig::default() };
    let (unit, min_threshold, max_threshold) = match (min, max) {
        (Threshold::Packets(min), Threshold::Packets(max)) => (RedUnit::Packets, min, max),
        (Threshold::Bytes(min), Threshold::Bytes(max)) => {
            (RedUnit::Bytes, min.get() as f64, max.get() as f64)
        }
        _ => {
            let given = [&table.min_threshold, &table.max_threshold];
            let span = given.into_iter().flatten().map(|at| at.span).find(|&span| !super::is_default(span));
            let message = "the thresholds are in different units";
            report.error("scenario.conflict", span.unwrap_or_default(), message).help(
                "give both in packets or both in bytes; without them they are \"5 pkt\" and \"15 pkt\"",
            );
            return RedConfig::default();
        }
    };
    RedConfig {
        unit,
        min_threshold,
        max_threshold,
        weight: probability(&table.weight),
        max_probability: probability(&table.max_probability),
        gentle: value(&table.gentle),
        ecn: value(&table.ecn),
        mean_packet: value(&table.mean_packet),
    }
}

fn codel(keys: &CoDelKeys) -> CoDelConfig {
    CoDelConfig {
        target: value(&keys.target),
        interval: value(&keys.interval),
        max_packet: value(&keys.max_packet),
        ecn: value(&keys.ecn),
    }
}

fn fq_codel(table: &FqCoDelQueue) -> FqCoDelConfig {
    FqCoDelConfig {
        codel: codel(&complete(&table.control)),
        flows: value(&table.flows),
        quantum: value(&table.quantum),
        drop_batch: value(&table.drop_batch),
    }
}

fn pie(table: &PieQueue) -> PieConfig {
    let number = |key: &Option<At<Number>>| key.as_deref().map_or(1.0, |number| number.0);
    PieConfig {
        target: value(&table.target),
        update: value(&table.update),
        alpha: number(&table.alpha),
        beta: number(&table.beta),
        max_burst: value(&table.max_burst),
        ecn_threshold: probability(&table.ecn_threshold),
        mean_packet: value(&table.mean_packet),
    }
}
