//! Writes one link direction as keys of a scenario file.

use super::super::keys::{
    ChanceTable, Drawn, JitterTable, LinkDirection, LossTable, NO_REORDER, Reorder, ScheduleEntry,
};
use super::super::table_declarations::Fields;
use super::super::toml_writer::{Entries, toml_string};
use super::queue::{format_capacity as capacity_of, queue_entries};
use super::router_feedback;
use thalweg_catalog::Registry;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::random_delay::VariationSpec;
use thalweg_queue::{CapacityTrace, ImpairmentSpec, LossSpec};
use thalweg_sim::simulation_spec::{Change, DirectionSpec, JitterChange};

/// Returns all keys of a link direction.
pub fn direction_entries(direction: &DirectionSpec, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    match &direction.capacity {
        Some(trace) => entries.put("trace", capacity_entries(trace).inline()),
        None => entries.quantity("rate", direction.rate),
    }
    LinkDirection::write(direction, &mut entries);
    put_jitter(direction.jitter, direction.variation.as_deref(), &mut entries);
    let mut queue = queue_entries(&direction.queue, registry);
    queue.put("feedback", router_feedback::feedback_value(direction.feedback.as_ref()));
    entries.put("queue", queue.inline());
    add_impairment(&direction.impairment, &mut entries);
    let changes = format_schedule(&direction.schedule, direction.capacity.is_some());
    entries.put("schedule", format!("[{}]", changes.join(", ")));
    entries.in_order(LinkDirection::position)
}

fn put_jitter(span: Duration, variation: Option<&VariationSpec>, entries: &mut Entries) {
    match variation {
        None => entries.quantity("jitter", span),
        Some(variation) => entries.put("jitter", format_jitter(variation)),
    }
}

fn format_jitter(variation: &VariationSpec) -> String {
    let mut table = JitterTable::write(&variation.distribution);
    Drawn::write(variation, &mut table);
    table.inline()
}

fn add_impairment(impairment: &ImpairmentSpec, entries: &mut Entries) {
    match &impairment.loss {
        LossSpec::None => entries.number("loss", 0.0),
        LossSpec::Uniform { probability } => entries.number("loss", *probability),
        other => entries.put("loss", LossTable::write(other).inline()),
    }
    let chances = [
        ("duplicate", impairment.duplicate, impairment.duplicate_correlation),
        ("corrupt", impairment.corrupt, impairment.corrupt_correlation),
    ];
    for (key, probability, correlation) in chances {
        if correlation > 0.0 {
            let mut table = Entries::default();
            table.number("probability", probability);
            table.number("correlation", correlation);
            entries.put(key, table.in_order(ChanceTable::position).inline());
        } else {
            entries.number(key, probability);
        }
    }
    let mut reorder = Entries::default();
    Reorder::write(&impairment.reorder.unwrap_or(NO_REORDER), &mut reorder);
    entries.put("reorder", reorder.inline());
}

/// Formats each change as an inline table. A trace-driven direction has no rate, so its stops and starts become outages
/// again.
fn format_schedule(changes: &[Change], traced: bool) -> Vec<String> {
    let mut written = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let mut entry = Entries::default();
        entry.quantity("at", change.at.since(Time::ZERO));
        match change.rate {
            Some(Rate::ZERO) if traced => {
                let start = changes[number + 1..].iter().find(|next| next.rate.is_some());
                entry.quantity("outage", start.map_or(Duration::ZERO, |start| start.at.since(change.at)));
            }
            Some(_) if traced => continue,
            Some(rate) => entry.quantity("rate", rate),
            None => {}
        }
        if let Some(delay) = change.delay {
            entry.quantity("delay", delay);
        }
        if let Some(JitterChange { span, variation }) = &change.jitter {
            put_jitter(*span, variation.as_deref(), &mut entry);
        }
        if let Some(limit) = change.queue {
            entry.put("queue", toml_string(&capacity_of(limit)));
        }
        if let Some(new) = &change.impairment {
            add_impairment(new, &mut entry);
            ScheduleEntry::write(new, &mut entry);
        }
        written.push(entry.in_order(ScheduleEntry::position).inline());
    }
    written
}

/// Returns the keys of a trace, in the largest time unit that divides all its times.
fn capacity_entries(trace: &CapacityTrace) -> Entries {
    let times = trace.opportunities.iter().map(|at| at.as_picos());
    let tick = times.clone().fold(trace.period.as_picos(), gcd).max(1);
    let mut entries = Entries::default();
    entries.quantity("tick", Duration::from_picos(tick));
    entries.put("times", format_list(times.map(|at| at / tick)));
    entries.quantity("period", trace.period);
    entries.quantity("bytes", Bytes::new(u64::from(trace.bytes_per_opportunity)));
    entries
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn format_list(numbers: impl Iterator<Item = impl ToString>) -> String {
    format!("[{}]", numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", "))
}
